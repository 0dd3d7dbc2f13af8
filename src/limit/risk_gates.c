/* What the gates make of the rows: the order of the experts, what each contrasts with, and the hard risk.
 *
 * With h = sum_k g_k(0) f_k the hard output, f_best but for SUBSET, and r = h - y, a row's risk moves by what the gates
 * g(tau) - g(0) add. Output mixing: D = sum_k g_k delta_k, where
 *
 *     SOFTMAX, TOPK_RENORM   delta_k = f_k - h            of all but the best
 *     TOPK_RAW               delta_k = f_k - h            of rank 2 .. k,    - h of those left out, whose share is lost
 *     SUBSET                 delta_k = f_k - h of losers, h - f_k of winners; g_k is the share that changes sides
 *
 * hard = |r|^2, gap = D.(D + 2 r). Loss mixing: gap = sum_k g_k e_k, where with l_k = |f_k - y|^2 e_k = l_k - |r|^2,
 * of those left out - (hard + noise), of winners of SUBSET |r|^2 - l_k; there hard = |r|^2 + sum_winners |delta_k|^2/k.
 */
#include "limit/risk_job.h"

#include "base/kernel.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* Whether binomial coefficient(K, k) may stand in a double, with room for what it is multiplied by. */
static int fits_double(size_t K, size_t k)
{
    double coefficient = 1;
    for (size_t j = 0; j < k && coefficient < 1e300; j++)
        coefficient *= (double)(K - j) / (double)(j + 1);
    return coefficient < 1e300;
}

void moeg_risk_set_terms(moeg_risk_context *c)
{
    const size_t K = c->K, k = c->gate.k;
    c->ranked = c->gate.kind != MOEG_GATE_SOFTMAX || c->slope;
    c->by_rows = c->slope;
    switch (c->gate.kind) {
    case MOEG_GATE_SOFTMAX:
        c->terms = c->contrasts = K - 1;
        break;
    case MOEG_GATE_TOPK_RENORM:
        c->terms = c->contrasts = k - 1;
        break;
    case MOEG_GATE_TOPK_RAW:
        c->terms = K - 1;
        c->contrasts = k < K ? k : K - 1;
        break;
    case MOEG_GATE_SUBSET:
        c->terms = c->contrasts = K;
        c->by_rows |= c->exact || !fits_double(K, k < K - k ? k : K - k);
        break;
    }
}

/* Winners of SUBSET, whose terms count what goes; how many ranks are before the first term; the contrasts that are not
 * shared. */
static size_t winners_of(const moeg_risk_context *c)
{
    return c->gate.kind == MOEG_GATE_SUBSET ? c->gate.k : 0;
}

static size_t skipped_of(const moeg_risk_context *c)
{
    return c->gate.kind == MOEG_GATE_SUBSET ? 0 : 1;
}

static size_t own_of(const moeg_risk_context *c)
{
    const int shares = c->gate.kind == MOEG_GATE_TOPK_RAW && c->gate.k < c->K;
    return c->contrasts - (shares ? 1 : 0);
}

/* What experts index[i] have, less `base` and, if there is one, a `shift` of that, or, if `sign` is negative, the
 * negative, to `out` in the order of place. What an expert has stands `step` after what the one before has; -inf less
 * whatever it may be stays -inf. */
static void place_difference(moeg_risk_rows *r, int sign, size_t step, const uint32_t *index, const double *a,
                             const double *base, const double *shift, double *out)
{
    moeg_kernel_winners(step, r->stride, index, a, r->spare);
    for (size_t i = 0; i < r->stride; i++)
        r->spare[i] = r->spare[i] == -INFINITY ? -INFINITY : r->spare[i] - base[i];
    for (size_t i = 0; shift != NULL && i < r->stride; i++)
        r->spare[i] -= shift[i];
    for (size_t i = 0; sign < 0 && i < r->stride; i++)
        r->spare[i] = -r->spare[i];
    moeg_kernel_gather(r->stride, r->place, r->spare, out);
}

/* Experts by rank, as far as the gate asks for it; and the logits of the terms. */
static void arrange_logits(const moeg_risk_context *c, moeg_risk_rows *r)
{
    const size_t K = c->K, k = c->gate.k, stride = r->stride, winners = winners_of(c);
    const size_t ranks = c->gate.kind == MOEG_GATE_SOFTMAX ? 1 : winners > 0 && k < K ? k + 1 : k;
    moeg_kernel_ranks(K, ranks, stride, r->logits, r->index);
    if (c->gate.kind != MOEG_GATE_TOPK_RENORM)
        moeg_kernel_rest(K, ranks, stride, r->index);
    moeg_kernel_winners(stride, stride, r->index + (winners > 0 ? k - 1 : 0) * stride, r->logits, r->winner);
    for (size_t q = 0; q < c->terms; q++) {
        if (q == winners && winners > 0)
            moeg_kernel_winners(stride, stride, r->index + k * stride, r->logits, r->winner);
        place_difference(r, q < winners ? -1 : 1, stride, r->index + (q + skipped_of(c)) * stride, r->logits, r->winner,
                         NULL, r->below + q * stride);
    }
    moeg_kernel_gather(stride, r->place, r->margin, r->apart);
}

/* Output j of the hard gates in r->winner: that of the best expert; of SUBSET what the mean of the winners is above the
 * target, from differences, so that nothing cancels where they are nearly copies. */
static void find_hard_output(const moeg_risk_context *c, moeg_risk_rows *r, size_t j)
{
    const size_t stride = r->stride, step = c->m * stride;
    const double *f = r->outputs + j * stride, *target = r->target + j * stride, share = 1 / (double)c->gate.k;
    moeg_kernel_winners(step, stride, r->index, f, r->winner);
    if (c->gate.kind != MOEG_GATE_SUBSET)
        return;
    for (size_t i = 0; i < stride; i++)
        r->winner[i] = share * (r->winner[i] - target[i]);
    for (size_t q = 1; q < c->gate.k; q++) {
        moeg_kernel_winners(step, stride, r->index + q * stride, f, r->spare);
        for (size_t i = 0; i < stride; i++)
            r->winner[i] += share * (r->spare[i] - target[i]);
    }
}

void moeg_risk_arrange_ranks(const moeg_risk_context *c, moeg_risk_rows *r)
{
    const size_t stride = r->stride, step = c->m * stride;
    const size_t winners = winners_of(c), skipped = skipped_of(c), own = own_of(c);
    arrange_logits(c, r);
    for (size_t j = 0; j < c->m; j++) {
        const double *target = r->target + j * stride;
        find_hard_output(c, r, j);
        for (size_t q = 0; q < own; q++)
            place_difference(r, q < winners ? -1 : 1, step, r->index + (q + skipped) * stride, r->outputs + j * stride,
                             winners > 0 ? target : r->winner, winners > 0 ? r->winner : NULL,
                             r->contrast + q * step + j * stride);
        for (size_t i = 0; i < stride; i++)
            r->spare[i] = winners > 0 ? r->winner[i] : r->winner[i] - target[i];
        moeg_kernel_gather(stride, r->place, r->spare, r->residual + j * stride);
        for (size_t i = 0; i < stride; i++)
            r->spare[i] = -r->winner[i];
        if (own < c->contrasts)
            moeg_kernel_gather(stride, r->place, r->spare, r->contrast + own * step + j * stride);
    }
}

/* Adds what a contrast makes of the risk with a full gate: of a winner of SUBSET -|delta|^2 + 2 delta.r. */
static void add_excess(const moeg_risk_context *c, const moeg_risk_rows *r, size_t q, double *restrict excess)
{
    const size_t stride = r->stride;
    const double sign = q < winners_of(c) ? -1 : 1;
    memset(excess, 0, stride * sizeof *excess);
    for (size_t j = 0; j < c->m; j++) {
        const double *restrict delta = r->contrast + (q * c->m + j) * stride;
        const double *restrict residual = r->residual + j * stride;
        for (size_t i = 0; i < stride; i++)
            excess[i] += delta[i] * (sign * delta[i] + 2 * residual[i]);
    }
}

/* Of SUBSET the losses of the winners scatter around that of their mean. */
static void add_scatter(const moeg_risk_context *c, const moeg_risk_rows *r, double *restrict hard)
{
    const double share = 1 / (double)c->gate.k;
    for (size_t q = 0; q < c->gate.k * c->m; q++) {
        const double *restrict delta = r->contrast + q * r->stride;
        for (size_t i = 0; i < r->stride; i++)
            hard[i] += share * (delta[i] * delta[i]);
    }
}

void moeg_risk_evaluate_hard(const moeg_risk_context *c, moeg_risk_rows *r)
{
    const size_t stride = r->stride;
    double *restrict hard = r->values;
    memset(hard, 0, stride * sizeof *hard);
    for (size_t j = 0; j < c->m; j++) {
        const double *restrict residual = r->residual + j * stride;
        for (size_t i = 0; i < stride; i++)
            hard[i] += residual[i] * residual[i];
    }
    if (c->mixing != MOEG_MIX_LOSS)
        return;
    if (c->gate.kind == MOEG_GATE_SUBSET)
        add_scatter(c, r, hard);
    for (size_t q = 0; q < own_of(c); q++)
        add_excess(c, r, q, r->excess + q * stride);
    for (size_t i = 0; own_of(c) < c->contrasts && i < stride; i++)
        r->excess[own_of(c) * stride + i] = -(hard[i] + c->noise);
}

/* Changes of the experts' gates, and what they add up to, in r->change and r->spare, to those of the contrasts. */
static void place_gates(const moeg_risk_context *c, moeg_risk_rows *r, double *gate)
{
    const size_t stride = r->stride, own = own_of(c);
    for (size_t i = 0; own < c->contrasts && i < stride; i++)
        r->spare[i] = -r->spare[i];
    if (own < c->contrasts)
        moeg_kernel_gather(stride, r->place, r->spare, gate + own * stride);
    for (size_t q = 0; q < own; q++) {
        moeg_kernel_winners(stride, stride, r->index + (q + skipped_of(c)) * stride, r->change, r->spare);
        for (size_t i = 0; q < winners_of(c) && i < stride; i++)
            r->spare[i] = -r->spare[i];
        moeg_kernel_gather(stride, r->place, r->spare, gate + q * stride);
    }
}

void moeg_risk_evaluate_gates(const moeg_risk_context *c, moeg_risk_rows *r, double tau)
{
    moeg_deviation_block(c->gate, c->K, r->stride, r->logits, tau, r->change, r->spare, r->scratch);
    place_gates(c, r, r->gate);
    if (!c->slope)
        return;
    moeg_slope_block(c->gate, c->K, r->stride, r->logits, tau, r->change, r->spare, r->scratch);
    place_gates(c, r, r->slope);
}

/* With g' = tau dg/dtau in the place of g, of output mixing 2 D'.(D + r), D + r being what the soft output is off the
 * mean; of loss mixing, which is linear in g, the gap's own sum. */
void moeg_risk_evaluate_slope(const moeg_risk_context *c, const moeg_risk_rows *r, size_t rows, double *slope)
{
    const size_t stride = r->stride;
    memset(slope, 0, stride * sizeof *slope);
    for (size_t q = 0; c->mixing == MOEG_MIX_LOSS && q < c->contrasts; q++)
        for (size_t i = 0; i < rows; i++)
            slope[i] += r->slope[q * stride + i] * r->excess[q * stride + i];
    for (size_t j = 0; c->mixing != MOEG_MIX_LOSS && j < c->m; j++)
        for (size_t i = 0; i < rows; i++) {
            double error = r->residual[j * stride + i], moving = 0;
            for (size_t q = 0; q < c->contrasts; q++) {
                const double contrast = r->contrast[(q * c->m + j) * stride + i];
                error += r->gate[q * stride + i] * contrast;
                moving += r->slope[q * stride + i] * contrast;
            }
            slope[i] += 2 * moving * error;
        }
}
