#include "limit/risk_job.h"

#include "base/kernel.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* The rows that a loop holds in registers and first-level cache at once. */
enum { TILE = 64 };

static double *take(double *base, size_t *used, size_t count)
{
    const size_t at = *used;
    *used += moeg_round_lanes(count);
    return base == NULL ? NULL : base + at;
}

/* Doubles that hold `count` items of the size given. */
static size_t doubles(size_t count, size_t size)
{
    return (count * size + sizeof(double) - 1) / sizeof(double);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t moeg_risk_layout(const moeg_risk_context *c, size_t n, size_t stride, double *base, moeg_risk_rows *rows)
{
    size_t used = 0, scratch = larger(moeg_law_workspace(c->law, stride), moeg_teacher_workspace(c->teacher, stride));
    for (size_t k = 0; k < c->K; k++)
        scratch = larger(scratch, moeg_expert_workspace(moeg_moe_expert(c->moe, k), stride));
    rows->n = n;
    rows->stride = stride;
    rows->x = take(base, &used, c->d * stride);
    rows->logits = take(base, &used, c->K * stride);
    rows->outputs = take(base, &used, c->K * c->m * stride);
    rows->target = take(base, &used, c->m * stride);
    rows->margin = take(base, &used, stride);
    rows->best = (uint32_t *)take(base, &used, doubles(stride, sizeof(uint32_t)));
    rows->place = (uint32_t *)take(base, &used, doubles(stride, sizeof(uint32_t)));
    rows->below = take(base, &used, c->K * stride);
    rows->contrast = take(base, &used, c->K * c->m * stride);
    rows->residual = take(base, &used, c->m * stride);
    rows->minus_margin = take(base, &used, stride);
    rows->excess = take(base, &used, c->K * stride);
    rows->gate = take(base, &used, c->K * stride);
    rows->values = take(base, &used, (1 + c->ntau) * stride);
    rows->soft = take(base, &used, c->ntau * stride);
    rows->felt = (size_t *)take(base, &used, doubles(c->ntau + 1, sizeof(size_t)));
    rows->weight = take(base, &used, 2 * c->ntau);
    rows->scratch = take(base, &used, scratch);
    return used;
}

/* How many temperatures a margin feels: those of cut[0 .. depth - 1]. */
static size_t depth_of(const moeg_risk_context *c, double margin)
{
    size_t lo = 0, hi = c->ntau;
    while (lo < hi) {
        const size_t middle = lo + (hi - lo) / 2;
        if (c->cut[middle] >= margin)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* Sorts the rows by depth, deepest first, by counting. Leaves felt[t] = the number of rows deeper than t. */
static void sort_rows(const moeg_risk_context *c, moeg_risk_rows *r)
{
    size_t *end = r->felt;
    memset(end, 0, (c->ntau + 1) * sizeof *end);
    for (size_t i = 0; i < r->n; i++)
        end[depth_of(c, r->margin[i])]++;
    for (size_t t = c->ntau; t > 0; t--)
        end[t - 1] += end[t];
    /* end[t] = rows of depth >= t. They are filled from the back, and end there at the rows of depth > t. */
    for (size_t i = r->n; i > 0; i--)
        r->place[--end[depth_of(c, r->margin[i - 1])]] = (uint32_t)(i - 1);
}

void moeg_risk_arrange(const moeg_risk_context *c, moeg_risk_rows *r)
{
    const size_t K = c->K, m = c->m, stride = r->stride;
    sort_rows(c, r);
    for (size_t i = 0; i < stride; i++) {
        /* Lanes past the end repeat the last row. */
        const size_t from = r->place[i < r->n ? i : r->n - 1], best = r->best[from];
        r->minus_margin[i] = -r->margin[from];
        for (size_t k = 0; k < K; k++)
            r->below[k * stride + i] = r->logits[k * stride + from] - r->logits[best * stride + from];
        for (size_t j = 0; j < m; j++) {
            const double winner = r->outputs[(best * m + j) * stride + from];
            r->residual[j * stride + i] = winner - r->target[j * stride + from];
            for (size_t k = 0; k < K; k++) {
                /* A masked expert is left out, whatever it gives: 0 times infinity is no contribution. */
                const int masked = r->below[k * stride + i] == -INFINITY;
                const double output = r->outputs[(k * m + j) * stride + from];
                r->contrast[(k * m + j) * stride + i] = masked ? 0 : output - winner;
            }
        }
    }
}

/* Hard risks |r|^2 of all rows, and for loss mixing the excess |delta_k|^2 + 2 delta_k.r. */
static void evaluate_hard(const moeg_risk_context *c, moeg_risk_rows *r)
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
    memset(r->excess, 0, c->K * stride * sizeof *r->excess);
    for (size_t k = 0; k < c->K; k++)
        for (size_t j = 0; j < c->m; j++) {
            const double *restrict delta = r->contrast + (k * c->m + j) * stride;
            const double *restrict residual = r->residual + j * stride;
            double *restrict excess = r->excess + k * stride;
            for (size_t i = 0; i < stride; i++)
                excess[i] += delta[i] * (delta[i] + 2 * residual[i]);
        }
}

/* exp((a_k - a_(1))/tau) of `count` rows, and in sum 1/sum_k of it: the gates are their products. The kernel's exp
 * ends at -708; where sums are exact, the subnormal tail comes from the library's. */
static void evaluate_gates(const moeg_risk_context *c, moeg_risk_rows *r, double tau, size_t first, size_t count,
                           double *restrict sum)
{
    memset(sum, 0, count * sizeof *sum);
    for (size_t k = 0; k < c->K; k++) {
        const double *restrict below = r->below + k * r->stride + first;
        double *restrict gate = r->gate + k * r->stride + first;
        double least = 0;
        for (size_t i = 0; i < count; i++) {
            gate[i] = below[i] / tau;
            least = gate[i] < least ? gate[i] : least;
        }
        moeg_kernel_exp(count, gate, gate);
        for (size_t i = 0; c->exact && least < -700 && i < count; i++)
            if (below[i] / tau < -700)
                gate[i] = exp(below[i] / tau);
        for (size_t i = 0; i < count; i++)
            sum[i] += gate[i];
    }
    for (size_t i = 0; i < count; i++)
        sum[i] = 1 / sum[i];
}

/* Adds v = exp(-Delta/tau) and v^2 of `count` rows to the sums: lane by lane, then across. */
static void add_weights(const moeg_risk_rows *r, double tau, size_t first, size_t count, double *sums)
{
    double v[TILE], lane[2][MOEG_LANES] = {{0}};
    const size_t padded = moeg_round_lanes(count);
    for (size_t i = 0; i < padded; i++)
        v[i] = i < count ? r->minus_margin[first + i] / tau : -INFINITY;
    moeg_kernel_exp(padded, v, v);
    for (size_t i = 0; i < padded; i += MOEG_LANES)
        for (size_t l = 0; l < MOEG_LANES; l++) {
            lane[0][l] += v[i + l];
            lane[1][l] += v[i + l] * v[i + l];
        }
    for (size_t l = 0; l < MOEG_LANES; l++) {
        sums[0] += lane[0][l];
        sums[1] += lane[1][l];
    }
}

/* Output mixing, rows first .. first + count - 1: with D = sum_k g_k delta_k, gap = D.(D + 2 r), soft = |r + D|^2. */
static void mix_outputs(const moeg_risk_context *c, const moeg_risk_rows *r, size_t first, size_t count,
                        const double *restrict scale, double *restrict gap, double *restrict soft)
{
    double mixed[TILE];
    memset(gap, 0, count * sizeof *gap);
    memset(soft, 0, count * sizeof *soft);
    for (size_t j = 0; j < c->m; j++) {
        const double *restrict residual = r->residual + j * r->stride + first;
        memset(mixed, 0, sizeof mixed);
        for (size_t k = 0; k < c->K; k++) {
            const double *restrict gate = r->gate + k * r->stride + first;
            const double *restrict delta = r->contrast + (k * c->m + j) * r->stride + first;
            for (size_t i = 0; i < count; i++)
                mixed[i] += gate[i] * delta[i];
        }
        for (size_t i = 0; i < count; i++) {
            const double D = mixed[i] * scale[i], error = residual[i] + D;
            gap[i] += D * (D + 2 * residual[i]);
            soft[i] += error * error;
        }
    }
}

/* Loss mixing: gap = sum_k g_k excess_k, soft = hard + gap, which loses nothing: soft is at least hard/K. */
static void mix_losses(const moeg_risk_context *c, const moeg_risk_rows *r, size_t first, size_t count,
                       const double *restrict scale, double *restrict gap, double *restrict soft)
{
    const double *restrict hard = r->values + first;
    memset(gap, 0, count * sizeof *gap);
    for (size_t k = 0; k < c->K; k++) {
        const double *restrict gate = r->gate + k * r->stride + first, *restrict excess =
                                                                           r->excess + k * r->stride + first;
        for (size_t i = 0; i < count; i++)
            gap[i] += gate[i] * excess[i];
    }
    for (size_t i = 0; i < count; i++) {
        gap[i] *= scale[i];
        soft[i] = hard[i] + gap[i];
    }
}

void moeg_risk_evaluate(const moeg_risk_context *c, moeg_risk_rows *r)
{
    const size_t stride = r->stride;
    evaluate_hard(c, r);
    memset(r->weight, 0, 2 * c->ntau * sizeof *r->weight);
    for (size_t t = 0; t < c->ntau; t++) {
        const double tau = c->tau[c->order[t]];
        double *gap = r->values + (1 + c->order[t]) * stride, *soft = r->soft + c->order[t] * stride;
        const size_t rows = tau == 0 ? 0 : c->exact ? r->n : r->felt[t];
        for (size_t first = 0; first < rows; first += TILE) {
            double scale[TILE];
            const size_t count = smaller(moeg_round_lanes(rows - first), TILE);
            evaluate_gates(c, r, tau, first, count, scale);
            if (first < r->felt[t])
                add_weights(r, tau, first, smaller(r->felt[t] - first, TILE), r->weight + 2 * c->order[t]);
            if (c->mixing == MOEG_MIX_OUTPUT)
                mix_outputs(c, r, first, count, scale, gap + first, soft + first);
            else
                mix_losses(c, r, first, count, scale, gap + first, soft + first);
        }
        memset(gap + rows, 0, (stride - rows) * sizeof *gap);
        memcpy(soft + rows, r->values + rows, (stride - rows) * sizeof *soft);
    }
}
