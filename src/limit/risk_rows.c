#include "limit/risk_job.h"

#include "base/kernel.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* The rows that stay in the first-level cache while the temperatures run. */
enum { TILE = 128 };

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
    const int chain = c->gate.kind == MOEG_GATE_SUBSET && !c->by_rows;
    size_t used = 0, scratch = larger(moeg_law_workspace(c->law, stride), moeg_teacher_workspace(c->teacher, stride));
    scratch = larger(scratch, moeg_router_workspace(moeg_moe_router(c->moe), stride));
    scratch = larger(scratch, c->by_rows ? moeg_gate_workspace(c->gate, c->K) : 0);
    scratch = larger(scratch, c->slope ? moeg_slope_workspace(c->gate, c->K) : 0);
    for (size_t k = 0; k < c->K; k++)
        scratch = larger(scratch, moeg_expert_workspace(moeg_moe_expert(c->moe, k), stride));
    rows->n = n;
    rows->stride = stride;
    rows->x = moeg_take(base, &used, c->d * stride);
    rows->logits = moeg_take(base, &used, c->K * stride);
    rows->outputs = moeg_take(base, &used, c->K * c->m * stride);
    rows->target = moeg_take(base, &used, c->m * stride);
    rows->margin = moeg_take(base, &used, stride);
    rows->best = (uint32_t *)moeg_take(base, &used, doubles(stride, sizeof(uint32_t)));
    rows->place = (uint32_t *)moeg_take(base, &used, doubles(stride, sizeof(uint32_t)));
    rows->bin = (uint32_t *)moeg_take(base, &used, doubles(stride, sizeof(uint32_t)));
    rows->index = (uint32_t *)moeg_take(base, &used, c->ranked ? doubles((c->K + 1) * stride, sizeof(uint32_t)) : 0);
    rows->below = moeg_take(base, &used, c->terms * stride);
    rows->apart = moeg_take(base, &used, c->ranked ? stride : 0);
    rows->contrast = moeg_take(base, &used, c->contrasts * c->m * stride);
    rows->residual = moeg_take(base, &used, c->m * stride);
    rows->excess = moeg_take(base, &used, c->mixing == MOEG_MIX_LOSS ? c->contrasts * stride : 0);
    rows->gate = moeg_take(base, &used, c->terms * stride);
    rows->slope = moeg_take(base, &used, c->slope ? c->terms * stride : 0);
    rows->chain = moeg_take(base, &used, chain ? moeg_kernel_chain(c->K, c->gate.k) : 0);
    rows->change = moeg_take(base, &used, c->by_rows ? c->K * stride : 0);
    rows->winner = moeg_take(base, &used, stride);
    rows->spare = moeg_take(base, &used, stride);
    rows->values = moeg_take(base, &used, (1 + c->ntau) * stride);
    rows->soft = moeg_take(base, &used, c->ntau * stride);
    rows->felt = (size_t *)moeg_take(base, &used, doubles(c->ntau + 1, sizeof(size_t)));
    rows->size = moeg_take(base, &used, 2 * c->ntau);
    rows->share = c->weights == NULL ? NULL : moeg_take(base, &used, stride);
    rows->scratch = moeg_take(base, &used, scratch);
    return used;
}

/* Sorts the rows by depth, the number of temperatures that they feel, deepest first, by counting. Leaves felt[t] = the
 * number of rows deeper than t. */
static void sort_rows(const moeg_risk_context *c, moeg_risk_rows *r)
{
    size_t *end = r->felt;
    memset(end, 0, (c->ntau + 1) * sizeof *end);
    moeg_kernel_bins(c->ntau, c->rising, r->n, r->margin, r->bin);
    for (size_t i = 0; i < r->n; i++)
        end[c->ntau - r->bin[i]]++;
    for (size_t t = c->ntau; t > 0; t--)
        end[t - 1] += end[t];
    /* end[t] = rows of depth >= t. They are filled from the back, and end there at the rows of depth > t. */
    for (size_t i = r->n; i > 0; i--)
        r->place[--end[c->ntau - r->bin[i - 1]]] = (uint32_t)(i - 1);
    /* Lanes past the end repeat the last row. */
    for (size_t i = r->n; i < r->stride; i++)
        r->place[i] = r->place[r->n - 1];
}

/* Differences of the losers from the best, of one number that every expert has: expert k's at a + k step, in the rows'
 * own order; those of loser k to out + k out_step, in the order of place. Leaves the best's in r->winner. */
static void arrange_losers(const moeg_risk_context *c, moeg_risk_rows *r, size_t step, const double *a, size_t out_step,
                           double *out)
{
    const size_t stride = r->stride;
    moeg_kernel_winners(step, stride, r->best, a, r->winner);
    for (size_t k = 0; k + 1 < c->K; k++) {
        moeg_kernel_losers(k, stride, r->best, a + k * step, a + (k + 1) * step, r->winner, r->spare);
        moeg_kernel_gather(stride, r->place, r->spare, out + k * out_step);
    }
}

/* A masked expert is left out, whatever it gives: 0 times infinity is no contribution. */
static void mask_contrasts(const moeg_risk_context *c, moeg_risk_rows *r)
{
    const size_t stride = r->stride;
    for (size_t k = 0; k < c->contrasts; k++) {
        const double *below = r->below + k * stride;
        for (size_t i = moeg_kernel_finite(stride, below) ? stride : 0; i < stride; i++)
            for (size_t j = 0; below[i] == -INFINITY && j < c->m; j++)
                r->contrast[(k * c->m + j) * stride + i] = 0;
    }
}

static void arrange_softmax(const moeg_risk_context *c, moeg_risk_rows *r)
{
    const size_t m = c->m, stride = r->stride;
    arrange_losers(c, r, stride, r->logits, stride, r->below);
    for (size_t j = 0; j < m; j++) {
        arrange_losers(c, r, m * stride, r->outputs + j * stride, m * stride, r->contrast + j * stride);
        const double *target = r->target + j * stride;
        for (size_t i = 0; i < stride; i++)
            r->spare[i] = r->winner[i] - target[i];
        moeg_kernel_gather(stride, r->place, r->spare, r->residual + j * stride);
    }
}

void moeg_risk_arrange(const moeg_risk_context *c, moeg_risk_rows *r)
{
    sort_rows(c, r);
    if (c->ranked)
        moeg_risk_arrange_ranks(c, r);
    else
        arrange_softmax(c, r);
    /* The k that the other gates ask for are never masked. */
    if (c->gate.kind == MOEG_GATE_SOFTMAX || c->gate.kind == MOEG_GATE_SUBSET)
        mask_contrasts(c, r);
}

/* The rows that feel temperature order[t], by the sizes of their gaps. */
static void set_size(const moeg_risk_context *c, moeg_risk_rows *r, size_t t)
{
    const size_t at = c->order[t], rows = r->felt[t];
    const double *gap = r->values + (1 + at) * r->stride;
    for (size_t i = 0; r->share != NULL && i < rows; i++)
        r->spare[i] = gap[i] * r->share[i];
    r->size[2 * at] = moeg_kernel_magnitudes(rows, r->share == NULL ? gap : r->spare, &r->size[2 * at + 1]);
}

/* Temperature order[t] of a tile of rows. */
static void evaluate_tile(const moeg_risk_context *c, moeg_risk_rows *r, const moeg_kernel_mixture *mixture, size_t t,
                          size_t first, size_t count)
{
    const size_t at = c->order[t], start = (1 + at) * r->stride + first, soft = at * r->stride + first;
    moeg_kernel_mix(mixture, first, moeg_round_lanes(count), c->tau[at], r->values + start, r->soft + soft);
}

static moeg_kernel_mixture mixture_of(const moeg_risk_context *c, const moeg_risk_rows *r)
{
    const int loss = c->mixing == MOEG_MIX_LOSS, subset = c->gate.kind == MOEG_GATE_SUBSET;
    return (moeg_kernel_mixture){
        .gates = c->by_rows ? MOEG_KERNEL_GIVEN
                 : subset   ? MOEG_KERNEL_SUBSET
                            : MOEG_KERNEL_SOFTMAX,
        .experts = c->by_rows ? c->contrasts : c->terms,
        .contrasts = c->contrasts,
        .winners = c->gate.k,
        .m = loss ? 1 : c->m,
        .stride = r->stride,
        .loss = loss,
        .exact = c->exact,
        .below = r->below,
        .margin = r->apart,
        .contrast = loss ? r->excess : r->contrast,
        .residual = r->residual,
        .hard = r->values,
        .gate = r->gate,
        .chain = r->chain,
    };
}

/* The rows, first ones of the block, that temperature order[t] is evaluated for: those that feel it, or all. */
static size_t rows_at(const moeg_risk_context *c, const moeg_risk_rows *r, size_t t)
{
    return c->tau[c->order[t]] == 0 ? 0 : c->exact ? r->n : r->felt[t];
}

/* By the kernels: all temperatures of a tile of rows, which stays in cache. */
static void evaluate_tiles(const moeg_risk_context *c, moeg_risk_rows *r, const moeg_kernel_mixture *mixture)
{
    for (size_t first = 0; first < r->n; first += TILE)
        for (size_t t = 0; t < c->ntau; t++)
            if (first < rows_at(c, r, t))
                evaluate_tile(c, r, mixture, t, first, smaller(rows_at(c, r, t) - first, TILE));
}

/* From gates that are found row by row, for a temperature after the other; slopes then replace the gaps. */
static void evaluate_by_rows(const moeg_risk_context *c, moeg_risk_rows *r, const moeg_kernel_mixture *mixture)
{
    for (size_t t = 0; t < c->ntau; t++) {
        const size_t rows = rows_at(c, r, t);
        if (rows > 0)
            moeg_risk_evaluate_gates(c, r, c->tau[c->order[t]]);
        for (size_t first = 0; first < rows; first += TILE)
            evaluate_tile(c, r, mixture, t, first, smaller(rows - first, TILE));
        if (c->slope)
            moeg_risk_evaluate_slope(c, r, rows, r->values + (1 + c->order[t]) * r->stride);
    }
}

void moeg_risk_evaluate(const moeg_risk_context *c, moeg_risk_rows *r)
{
    const size_t stride = r->stride;
    const moeg_kernel_mixture mixture = mixture_of(c, r);
    moeg_risk_evaluate_hard(c, r);
    if (c->by_rows)
        evaluate_by_rows(c, r, &mixture);
    else
        evaluate_tiles(c, r, &mixture);
    for (size_t t = 0; t < c->ntau; t++) {
        const size_t rows = rows_at(c, r, t), soft_rows = c->slope ? 0 : rows;
        double *gap = r->values + (1 + c->order[t]) * stride, *soft = r->soft + c->order[t] * stride;
        set_size(c, r, t);
        memset(gap + rows, 0, (stride - rows) * sizeof *gap);
        memcpy(soft + soft_rows, r->values + soft_rows, (stride - soft_rows) * sizeof *soft);
    }
}
