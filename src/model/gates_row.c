/* Gates of one row, and what they differ from those of tau = 0 [theory: gates]. */
#include "model/gates.h"

#include <math.h>
#include <stdint.h>

size_t moeg_rank_row(size_t K, size_t stride, const double *logits, size_t rank)
{
    size_t at = K;
    for (size_t r = 0; r < rank; r++) {
        size_t next = K;
        for (size_t j = 0; j < K; j++) {
            const double a = logits[j * stride];
            const int after = at == K || a < logits[at * stride] || (a == logits[at * stride] && j > at);
            if (after && (next == K || a > logits[next * stride]))
                next = j;
        }
        at = next;
    }
    return at;
}

/* The difference is formed exactly, s + e (TwoDiff); one that overflows is far below -746 tau, where the term is 0. The
 * quotient is q + low, low from the exact remainder of s/tau; exp(q + low) = exp(q)(1 + low) since |low| < 1e-13. The
 * factor 2^64 keeps the term normal down to the smallest gate there is, so that no rounding but that of the final
 * quotient is subnormal: there exp(q + 64 log 2) is taken instead. The error is that of exp and one rounding. */
double moeg_gate_term(double a, double top, double tau)
{
    static const double shift = 0x1.62e42fefa39efp+5, shift_low = 0x1.abc9e3b39803fp-50;
    const double s = a - top, b = s - a;
    const double e = (a - (s - b)) - (top + b);
    const double q = s / tau;
    if (q < -746) /* below half the smallest subnormal number */
        return 0;
    const double low = (fma(-q, tau, s) + e) / tau;
    if (q > -700) {
        const double term = exp(q);
        return MOEG_GATE_SHIFT * fma(term, low, term);
    }
    const double shifted = q + shift;
    const double term = exp(shifted);
    return fma(term, low + ((shift - (shifted - q)) + shift_low), term);
}

moeg_cut moeg_cut_row(size_t K, const double *logits, size_t k)
{
    const size_t last = moeg_rank_row(K, 1, logits, k);
    return (moeg_cut){logits[last], last};
}

/* 1/count on the logits inside the cut; gates may be logits. */
static void hard_row(size_t K, const double *logits, moeg_cut cut, size_t count, double *gates)
{
    for (size_t k = 0; k < K; k++)
        gates[k] = moeg_is_inside(cut, logits[k], k) ? 1 / (double)count : 0;
}

/* The softmax over all, then those outside the cut set to 0. The sum is compensated (TwoSum), so that a gate's error,
 * below 4 epsilon, does not grow with K. */
static void softmax_inside(size_t K, const double *logits, double tau, moeg_cut cut, double *gates)
{
    const double top = logits[moeg_rank_row(K, 1, logits, 1)];
    double sum = 0, lost = 0;
    for (size_t k = 0; k < K; k++) {
        const double term = logits[k] == -INFINITY ? 0 : moeg_gate_term(logits[k], top, tau);
        const double next = sum + term, part = next - sum;
        lost += (sum - (next - part)) + (term - part);
        sum = next;
        gates[k] = moeg_is_inside(cut, logits[k], k) ? term : 0;
    }
    for (size_t k = 0; k < K; k++)
        gates[k] /= sum + lost;
}

void moeg_softmax_row(size_t K, const double *logits, double tau, double *gates)
{
    const moeg_cut none = {-INFINITY, K};
    if (tau == 0)
        hard_row(K, logits, moeg_cut_row(K, logits, 1), 1, gates);
    else
        softmax_inside(K, logits, tau, none, gates);
}

/* Losers have change/k, winners (1 - change)/k, a difference of double-doubles: a winner's probability is at least
 * 1/(n - k + 1). */
static void subset_row(size_t K, size_t k, const double *logits, double tau, double *gates, double *workspace)
{
    static const moeg_twofold one = {MOEG_GATE_SHIFT, 0};
    moeg_subset s;
    moeg_subset_solve(&s, K, k, logits, tau, workspace);
    for (size_t j = 0; j < K; j++)
        gates[j] = 0;
    for (size_t i = 0; i < s.n; i++) {
        const double change = s.change[i].hi, stay = moeg_twofold_add(one, moeg_twofold_minus(s.change[i])).hi;
        gates[s.index[i]] = (i < k ? stay : change) / ((double)k * MOEG_GATE_SHIFT);
    }
}

/* Masks the logits outside the cut; out may be logits. */
static void mask_row(size_t K, const double *logits, moeg_cut cut, double *out)
{
    for (size_t k = 0; k < K; k++)
        out[k] = moeg_is_inside(cut, logits[k], k) ? logits[k] : -INFINITY;
}

size_t moeg_gate_row_workspace(moeg_gate gate, size_t K)
{
    return gate.kind == MOEG_GATE_SUBSET && gate.k > 1 ? moeg_subset_workspace(K, gate.k) : 0;
}

void moeg_gates_row(moeg_gate gate, size_t K, const double *logits, double tau, double *gates, double *workspace)
{
    const int is_subset = gate.kind == MOEG_GATE_SUBSET && gate.k > 1;
    const size_t chosen = is_subset ? gate.k : 1;
    if (tau == 0) {
        hard_row(K, logits, moeg_cut_row(K, logits, chosen), chosen, gates);
    } else if (is_subset) {
        subset_row(K, gate.k, logits, tau, gates, workspace);
    } else if (gate.kind == MOEG_GATE_TOPK_RAW) {
        softmax_inside(K, logits, tau, moeg_cut_row(K, logits, gate.k), gates);
    } else if (gate.kind == MOEG_GATE_TOPK_RENORM) {
        mask_row(K, logits, moeg_cut_row(K, logits, gate.k), gates);
        moeg_softmax_row(K, gates, tau, gates);
    } else {
        moeg_softmax_row(K, logits, tau, gates);
    }
}

double moeg_cut_change(size_t K, const double *logits, moeg_cut cut, double *change)
{
    double lost = 0;
    for (size_t k = 0; k < K; k++)
        if (!moeg_is_inside(cut, logits[k], k)) {
            lost -= change[k];
            change[k] = 0;
        }
    return lost;
}

/* The winner's gate less 1 is minus the sum of all others, which is compensated. */
static void settle_winner(size_t K, size_t best, double *change)
{
    double sum = 0, lost = 0;
    for (size_t k = 0; k < K; k++) {
        const double term = k == best ? 0 : change[k], next = sum + term, part = next - sum;
        lost += (sum - (next - part)) + (term - part);
        sum = next;
    }
    change[best] = -(sum + lost);
}

double moeg_deviation_row(moeg_gate gate, size_t K, const double *logits, double tau, double *change, double *workspace)
{
    if (tau == 0) {
        for (size_t k = 0; k < K; k++)
            change[k] = 0;
        return 0;
    }
    if (gate.kind == MOEG_GATE_SUBSET && gate.k > 1) {
        moeg_subset s;
        moeg_subset_solve(&s, K, gate.k, logits, tau, workspace);
        for (size_t k = 0; k < K; k++)
            change[k] = 0;
        for (size_t i = 0; i < s.n; i++)
            change[s.index[i]] = (i < s.k ? -s.change[i].hi : s.change[i].hi) / ((double)s.k * MOEG_GATE_SHIFT);
        return 0;
    }
    /* Of TOPK_RAW the winner lacks what went to all others, those that are then set to 0 too. */
    const moeg_gate all = {gate.kind == MOEG_GATE_TOPK_RENORM ? gate.kind : MOEG_GATE_SOFTMAX, gate.k};
    moeg_gates_row(all, K, logits, tau, change, workspace);
    settle_winner(K, moeg_rank_row(K, 1, logits, 1), change);
    return gate.kind == MOEG_GATE_TOPK_RAW ? moeg_cut_change(K, logits, moeg_cut_row(K, logits, gate.k), change) : 0;
}
