/* Mass moves from the winners, active at tau = 0, to the losers. Output mixing: with F the soft output and F_0 the hard
 * one, |F - F_0| <= T D for the largest distance D of a winner and a loser, and the gap of the row is at most
 *
 *   |F - F_0| |F + F_0 - 2 m| <= T D (2 |F_0 - m| + T D).
 *
 * Loss mixing: it is at most T times the largest difference of two losses,
 *
 *   | |f_i - m|^2 - |f_j - m|^2 | <= |f_i - f_j| (2 |f_j - m| + |f_i - f_j|).
 *
 * TOPK_RAW drops the mass of the experts left out: it goes to an expert of output 0, or of loss 0, where others have
 * the noise of the teacher besides. */
#include "limit/bound_rows.h"

#include "base/kernel.h"
#include "model/model.h"

#include <math.h>

size_t moeg_bound_layout(const moeg_risk_context *c, size_t n, size_t stride, double *base, moeg_bound_rows *rows)
{
    const int softmax = c->gate.kind == MOEG_GATE_SOFTMAX;
    const moeg_gate subset = moeg_gate_subset(c->gate.k);
    const size_t risk = moeg_round_lanes(moeg_risk_layout(c, n, stride, base, &rows->rows));
    const size_t sizes[] = {stride, stride, softmax ? 0 : c->K * stride,
                            softmax ? 0 : moeg_gate_workspace(subset, c->K),
                            (c->K * sizeof *rows->role + sizeof(double) - 1) / sizeof(double)};
    double *at[5];
    size_t used = risk;
    for (int i = 0; i < 5; i++) {
        at[i] = base == NULL ? NULL : base + used;
        used += moeg_round_lanes(sizes[i]);
    }
    rows->change = at[0];
    rows->mass = at[1];
    rows->active = at[2];
    rows->scratch = at[3];
    rows->role = (moeg_role *)at[4];
    return used;
}

/* The roles of row i, and mu; *dropped: whether mass is lost. */
static double assign_roles(const moeg_risk_context *c, const moeg_bound_rows *b, size_t i, int *dropped)
{
    const moeg_risk_rows *r = &b->rows;
    const moeg_gate_kind kind = c->gate.kind;
    size_t best = c->K, live = 0;
    for (size_t k = 0; k < c->K; k++) {
        const double a = r->logits[k * r->stride + i];
        live += a != -INFINITY;
        if (best == c->K || a > r->logits[best * r->stride + i])
            best = k;
    }
    for (size_t k = 0; k < c->K; k++) {
        const int masked = r->logits[k * r->stride + i] == -INFINITY;
        const int active = kind == MOEG_GATE_SOFTMAX ? !masked : b->active[k * r->stride + i] != 0;
        b->role[k] = k == best || (kind == MOEG_GATE_SUBSET && active)          ? MOEG_ROLE_WINNER
                     : !masked && (kind == MOEG_GATE_SUBSET ? !active : active) ? MOEG_ROLE_LOSER
                                                                                : MOEG_ROLE_NONE;
    }
    *dropped = kind == MOEG_GATE_TOPK_RAW && live > c->gate.k;
    return (double)(kind == MOEG_GATE_SUBSET        ? live - c->gate.k
                    : kind == MOEG_GATE_TOPK_RENORM ? c->gate.k - 1
                                                    : live - 1);
}

/* |a - b| of two vectors in a row's column; b = NULL is 0. */
static double distance(const moeg_risk_rows *r, size_t m, size_t i, const double *a, const double *b)
{
    double sum = 0;
    for (size_t j = 0; j < m; j++) {
        const double d = a[j * r->stride + i] - (b == NULL ? 0 : b[j * r->stride + i]);
        sum += d * d;
    }
    return sqrt(sum);
}

/* |F_0 - m|, F_0 the mean of the winners, from differences. */
static double hard_residual(const moeg_risk_context *c, const moeg_bound_rows *b, size_t i)
{
    const moeg_risk_rows *r = &b->rows;
    double sum = 0;
    for (size_t j = 0; j < c->m; j++) {
        double residual = 0, count = 0;
        for (size_t k = 0; k < c->K; k++)
            if (b->role[k] == MOEG_ROLE_WINNER)
                residual +=
                    (r->outputs[(k * c->m + j) * r->stride + i] - r->target[j * r->stride + i] - residual) / ++count;
        sum += residual * residual;
    }
    return sqrt(sum);
}

/* The larger one, or NaN. */
static double larger(double a, double b)
{
    return a >= b || isnan(a) ? a : b;
}

static double change_of_row(const moeg_risk_context *c, const moeg_bound_rows *b, size_t i, int dropped)
{
    const moeg_risk_rows *r = &b->rows;
    const int loss = c->mixing == MOEG_MIX_LOSS;
    const size_t step = c->m * r->stride;
    double change = 0;
    const double hard = loss ? 0 : hard_residual(c, b, i);
    for (size_t k = 0; k < c->K; k++) {
        const double *winner = r->outputs + k * step;
        if (b->role[k] != MOEG_ROLE_WINNER)
            continue;
        const double residual = loss ? distance(r, c->m, i, winner, r->target) : hard;
        for (size_t l = 0; l < c->K; l++)
            if (b->role[l] == MOEG_ROLE_LOSER) {
                const double far = distance(r, c->m, i, r->outputs + l * step, winner);
                change = larger(change, far * (2 * residual + far));
            }
        if (dropped) {
            const double size = distance(r, c->m, i, winner, NULL);
            change = larger(change, loss ? residual * residual + c->noise : size * (2 * residual + size));
        }
    }
    return change;
}

void moeg_bound_measure(const moeg_risk_context *c, moeg_bound_rows *b)
{
    const moeg_risk_rows *r = &b->rows;
    if (c->gate.kind != MOEG_GATE_SOFTMAX)
        moeg_gates_block(moeg_gate_subset(c->gate.k), c->K, r->stride, r->logits, 0, b->active, b->scratch);
    for (size_t i = 0; i < r->n; i++) {
        int dropped;
        b->mass[i] = assign_roles(c, b, i, &dropped);
        b->change[i] = b->mass[i] == 0 ? 0 : change_of_row(c, b, i, dropped);
    }
}
