/* SUBSET gates: exchanges of winners for losers, counted by a recurrence of positive terms [theory: gates].
 *
 * Let v_i = exp(-(a_i - a_(k))/tau) of a winner (one of the k largest), u_j = exp((a_j - a_(k+1))/tau) of a loser, both
 * at most 1, and rho = exp(-(a_(k) - a_(k+1))/tau). Against the k winners, the subset without r of them and with r
 * losers has the weight rho^r prod v prod u. So expert i changes sides with the odds x = v alpha or u beta, alpha beta
 * = rho, of an independent trial, given that as many winners as losers do: with r = winners gone minus losers come,
 *
 *     F_r <- F_r + x F_{r-1} (winner),    F_r <- F_r + x F_{r+1} (loser),    over all experts, from r = 0 to r = 0.
 *
 * F before an expert and B, the same from the other end, give P(i changes) = x sum_r F_r B_{r+-1} / total. Nothing is
 * ever subtracted. Sums are in double-double: errors do not grow with K or k, and an error e of all the odds is one of
 * at most 2 e of any P, since the covariances of one with all add up to 0 and all but the variance are negative. */
#include "base/error.h"
#include "model/gates.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static const moeg_twofold zero = {0, 0};

static int wins(const moeg_subset *s, size_t i)
{
    return i < s->k;
}

/* Room for `count` items of `size` bytes, a multiple of 8, at *used. */
static void *take(double *base, size_t *used, size_t count, size_t size)
{
    double *at = base + *used;
    *used += count * (size / sizeof(double));
    return at;
}

size_t moeg_subset_workspace(size_t K, size_t k)
{
    const size_t depth = k < K - k ? k : K - k;
    size_t table;
    if (moeg_multiply_overflows(K + 2, 2 * (depth + 1), &table) || table > SIZE_MAX / 8 || K > SIZE_MAX / 64)
        return SIZE_MAX / 4;
    return table + 6 * K;
}

/* Winners first; those that are not masked. */
static void arrange(moeg_subset *s, size_t K, size_t k, const double *logits, double *workspace)
{
    _Static_assert(sizeof(size_t) <= sizeof(double) && sizeof(moeg_twofold) == 2 * sizeof(double), "room of doubles");
    size_t used = 0;
    s->k = k;
    s->odds = take(workspace, &used, K, sizeof *s->odds);
    s->change = take(workspace, &used, K, sizeof *s->change);
    s->scale = take(workspace, &used, K, sizeof *s->scale);
    s->index = take(workspace, &used, K, sizeof(double));
    const moeg_cut cut = moeg_cut_row(K, logits, k);
    size_t won = 0;
    s->n = k;
    for (size_t j = 0; j < K; j++)
        if (moeg_is_inside(cut, logits[j], j))
            s->index[won++] = j;
        else if (logits[j] != -INFINITY)
            s->index[s->n++] = j;
    s->depth = k < s->n - k ? k : s->n - k;
    s->forward = take(workspace, &used, s->depth + 1, sizeof *s->forward);
    s->back = take(workspace, &used, (s->n + 1) * (s->depth + 1), sizeof *s->back);
}

/* t such that the odds v root/t and u root t let as many winners go as losers come, to within 1/2 on average: then the
 * total is not small, and no change is much larger than its odds. As v_(k) = u_(k+1) = 1 >= root, it lies between
 * 1/(n - k) and k. */
static double balance(const moeg_subset *s, double root)
{
    double lo = 1 / (double)(s->n - s->k), hi = (double)s->k, t = 1;
    for (int step = 0; step < 64; step++) {
        double excess = 0;
        for (size_t i = 0; i < s->n; i++) {
            const double x = s->odds[i].hi / MOEG_GATE_SHIFT * (wins(s, i) ? root / t : root * t);
            excess += wins(s, i) ? -x / (1 + x) : x / (1 + x);
        }
        if (fabs(excess) <= 0.5)
            break;
        if (excess > 0)
            hi = t;
        else
            lo = t;
        t = sqrt(lo * hi);
    }
    return t;
}

/* The odds, times MOEG_GATE_SHIFT; and powers of two that keep the product of all 1 + x so far, times them, near 1. */
static void set_odds(moeg_subset *s, const double *logits, double tau)
{
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < s->n; i++)
        if (wins(s, i))
            least = fmin(least, logits[s->index[i]]);
        else
            most = fmax(most, logits[s->index[i]]);
    for (size_t i = 0; i < s->n; i++) {
        const double a = logits[s->index[i]];
        s->odds[i].hi = wins(s, i) ? moeg_gate_term(least, a, tau) : moeg_gate_term(a, most, tau);
        s->odds[i].lo = 0;
    }
    const double rho = moeg_gate_term(most, least, tau);
    const double root = sqrt(rho) * 0x1p-32; /* rho itself may be subnormal */
    const double beta = root * balance(s, root);
    const moeg_twofold come = {beta, 0};
    const moeg_twofold go = rho == 0 ? zero : moeg_twofold_over((moeg_twofold){rho, 0}, come);
    double product = 1;
    for (size_t i = 0; i < s->n; i++) {
        s->odds[i] = moeg_twofold_times(s->odds[i], wins(s, i) ? go : come);
        if (wins(s, i))
            s->odds[i] = moeg_twofold_scale(s->odds[i], 1 / MOEG_GATE_SHIFT);
        int exponent;
        product = 2 * frexp(product * (1 + s->odds[i].hi / MOEG_GATE_SHIFT), &exponent);
        s->scale[i] = ldexp(1, 1 - exponent);
    }
}

/* An expert that must change only moves r. */
static void advance(const moeg_subset *s, size_t i, int step, int must, const moeg_twofold *in, moeg_twofold *out)
{
    const moeg_twofold x = moeg_twofold_scale(s->odds[i], 1 / MOEG_GATE_SHIFT);
    for (size_t q = 0; q <= s->depth; q++) {
        const size_t r = step > 0 ? q : s->depth - q;
        const int inside = step > 0 ? r < s->depth : r > 0;
        const moeg_twofold moved = !inside ? zero : step > 0 ? in[r + 1] : in[r - 1];
        out[r] = must ? moved : moeg_twofold_scale(moeg_twofold_add(in[r], moeg_twofold_times(x, moved)), s->scale[i]);
    }
}

void moeg_subset_advance(const moeg_subset *s, size_t i, int step, const moeg_twofold *in, moeg_twofold *out)
{
    advance(s, i, step, 0, in, out);
}

/* sum[i] = sum_r F_r B_{r+-1} of every expert i, with `forced` (n: none) among those that change; not of that one.
 * Returns B_0 before the first expert. The states that count are as large as sqrt(rho), and far from subnormal. */
static moeg_twofold sweep(moeg_subset *s, size_t forced, moeg_twofold *sum)
{
    const size_t width = s->depth + 1;
    memset(s->back + s->n * width, 0, width * sizeof *s->back);
    memset(s->forward, 0, width * sizeof *s->forward);
    s->back[s->n * width].hi = 1;
    s->forward[0].hi = 1;
    for (size_t i = s->n; i-- > 0;)
        advance(s, i, wins(s, i) ? 1 : -1, i == forced, s->back + (i + 1) * width, s->back + i * width);
    for (size_t i = 0; i < s->n; i++) {
        const moeg_twofold *after = s->back + (i + 1) * width;
        moeg_twofold total = zero;
        for (size_t r = 0; r < s->depth; r++)
            total = moeg_twofold_add(total, wins(s, i) ? moeg_twofold_times(s->forward[r], after[r + 1])
                                                       : moeg_twofold_times(s->forward[r + 1], after[r]));
        if (i != forced)
            sum[i] = total;
        advance(s, i, wins(s, i) ? -1 : 1, i == forced, s->forward, s->forward);
    }
    return s->back[0];
}

/* x scale sum/total: the probability to change, times MOEG_GATE_SHIFT. */
static moeg_twofold changes(const moeg_subset *s, size_t i, moeg_twofold sum)
{
    return moeg_twofold_times(moeg_twofold_scale(s->odds[i], s->scale[i]), moeg_twofold_over(sum, s->total));
}

void moeg_subset_solve(moeg_subset *s, size_t K, size_t k, const double *logits, double tau, double *workspace)
{
    arrange(s, K, k, logits, workspace);
    memset(s->change, 0, s->n * sizeof *s->change);
    if (s->depth == 0)
        return;
    set_odds(s, logits, tau);
    s->total = sweep(s, s->n, s->change);
    for (size_t i = 0; i < s->n; i++)
        s->change[i] = changes(s, i, s->change[i]);
}

void moeg_subset_pairs(moeg_subset *s, size_t j, moeg_twofold *both)
{
    memset(both, 0, s->n * sizeof *both);
    if (s->depth == 0)
        return;
    sweep(s, j, both);
    for (size_t i = 0; i < s->n; i++)
        both[i] = moeg_twofold_times(moeg_twofold_scale(s->odds[j], s->scale[j]), changes(s, i, both[i]));
}
