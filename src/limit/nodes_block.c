/* The nodes of a block of lines, and what becomes of them. */
#include "limit/nodes_block.h"

#include "base/error.h"
#include "base/kernel.h"
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <string.h>

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Doubles that experts and the teacher want for a block of nodes. */
static size_t point_scratch(const moeg_nodes *p, size_t rows)
{
    size_t most = p->affine ? 0 : moeg_teacher_workspace(p->teacher, rows);
    for (size_t k = 0; !p->affine && k < moeg_router_experts(moeg_moe_router(p->moe)); k++)
        most = larger(most, moeg_expert_workspace(moeg_moe_expert(p->moe, k), rows));
    for (size_t k = 0; !p->affine && p->mixture != NULL && k < moeg_router_experts(moeg_moe_router(p->mixture)); k++)
        most = larger(most, moeg_expert_workspace(moeg_moe_expert(p->mixture, k), rows));
    return most;
}

size_t moeg_nodes_layout(const moeg_nodes_curve *curve, size_t lines, double *base, moeg_nodes_work *w)
{
    const moeg_nodes *p = curve->nodes;
    const size_t rows = curve->rows, count = p->K + p->pieces;
    size_t used = moeg_round_lanes(moeg_risk_layout(curve->context, rows, rows, base, &w->rows));
    w->base = moeg_take(base, &used, p->drawn * lines);
    w->u = moeg_take(base, &used, p->r * lines);
    w->height = moeg_take(base, &used, lines);
    w->x = moeg_take(base, &used, p->affine ? 0 : p->frame.d * lines);
    w->output = moeg_take(base, &used, p->affine ? count * p->outputs * lines : 0);
    w->alpha = moeg_take(base, &used, count * lines);
    w->student_room = moeg_take(base, &used, moeg_envelope_size(p->K));
    w->teacher_room = moeg_take(base, &used, moeg_envelope_size(p->pieces));
    w->lag = moeg_take(base, &used, p->K);
    w->slope = moeg_take(base, &used, p->K);
    w->panel = (moeg_nodes_panel *)moeg_take(base, &used,
                                             (rows * sizeof(moeg_nodes_panel) + sizeof(double) - 1) / sizeof(double));
    w->winner = (uint32_t *)moeg_take(base, &used, rows * p->winners);
    w->kronrod = moeg_take(base, &used, rows);
    w->gauss = moeg_take(base, &used, rows);
    w->sorted = moeg_take(base, &used, rows);
    w->piece = moeg_take(base, &used, p->affine ? 0 : p->m * rows);
    w->scratch = moeg_take(base, &used, point_scratch(p, rows));
    return used;
}

size_t moeg_nodes_workspace(const moeg_nodes_curve *curve, size_t stride)
{
    moeg_nodes_work w;
    return moeg_nodes_layout(curve, stride, NULL, &w);
}

void moeg_nodes_set_lines(moeg_nodes_work *w, const double *z)
{
    const moeg_nodes *p = w->nodes;
    const size_t lines = w->lines, d = p->frame.d;
    memset(w->height, 0, lines * sizeof *w->height);
    for (size_t j = 0; j < p->drawn; j++)
        for (size_t i = 0; i < lines; i++)
            w->height[i] += w->way->ahead[j] * z[j * lines + i];
    for (size_t j = 0; j < p->drawn; j++)
        for (size_t i = 0; i < lines; i++)
            w->base[j * lines + i] = z[j * lines + i] - w->way->ahead[j] * w->height[i];
    if (p->affine) {
        memcpy(w->u, w->base, p->r * lines * sizeof *w->u);
        moeg_kernel_affine((p->K + p->pieces) * p->outputs, p->r, p->slope, p->value, lines, w->u, w->output);
    } else {
        moeg_kernel_affine(p->r, d, p->frame.Q, NULL, lines, w->base, w->u);
        if (p->frame.factor != NULL)
            moeg_kernel_affine(d, d, p->frame.factor, p->frame.mean, lines, w->base, w->x);
        for (size_t j = 0; p->frame.factor == NULL && j < d; j++)
            for (size_t i = 0; i < lines; i++)
                w->x[j * lines + i] = p->frame.mean[j] + w->base[j * lines + i];
    }
    for (size_t i = 0, at = 0; i < p->frame.routers; at += p->frame.logits[i++].K)
        moeg_kernel_affine(p->frame.logits[i].K, p->r, p->frame.logits[i].T, p->frame.logits[i].constant, lines, w->u,
                           w->alpha + at * lines);
}

/* Outputs at the points of the nodes: every expert that is not masked, at all of them. */
static moeg_status evaluate_points(moeg_nodes_work *w)
{
    const moeg_nodes *p = w->nodes;
    moeg_risk_rows *r = &w->rows;
    const size_t stride = r->stride, m = p->m;
    moeg_status status = MOEG_OK;
    for (size_t k = 0; k < p->K && status == MOEG_OK; k++)
        status = moeg_expert_forward_block(moeg_moe_expert(p->moe, p->frame.logits[0].expert[k]), r->n, stride, r->x,
                                           r->outputs + k * m * stride, w->scratch);
    if (p->mixture == NULL && status == MOEG_OK)
        return moeg_teacher_mean_block(p->teacher, 0, r->n, stride, r->x, r->target, w->scratch);
    memset(r->target, 0, m * stride * sizeof *r->target);
    for (size_t q = 0; q < p->pieces && status == MOEG_OK; q++) {
        status = moeg_expert_forward_block(moeg_moe_expert(p->mixture, p->frame.logits[1].expert[q]), r->n, stride,
                                           r->x, w->piece, w->scratch);
        for (size_t i = 0; i < w->panels * p->winners; i++) {
            const moeg_nodes_panel *of = &w->panel[i / p->winners];
            for (size_t j = 0; w->winner[i] == q && j < m; j++)
                for (size_t row = of->first; row < of->first + of->count; row++)
                    r->target[j * stride + row] += w->piece[j * stride + row] / (double)p->winners;
        }
    }
    return status;
}

/* Adds value v of the nodes, sorted as they stand, to the lines' of the panels that are for it. */
static void add_panels(moeg_nodes_work *w, size_t v)
{
    double *value = w->values + v * w->lines, *error = w->errors + v * w->lines;
    for (size_t i = 0; i < w->panels; i++) {
        const moeg_nodes_panel *of = &w->panel[i];
        double fine = 0, coarse = 0, size = 0;
        if (of->purpose != (v == 0 ? MOEG_NODES_FOR_HARD : MOEG_NODES_FOR_GAPS))
            continue;
        for (size_t row = of->first; row < of->first + of->count; row++) {
            fine += w->kronrod[row] * w->sorted[row];
            coarse += w->gauss[row] * w->sorted[row];
            size += w->kronrod[row] * fabs(w->sorted[row]);
        }
        value[of->line] += fine;
        error[of->line] += fabs(fine - coarse) + 16 * DBL_EPSILON * size;
    }
}

moeg_status moeg_nodes_flush(moeg_nodes_work *w)
{
    const moeg_risk_context *c = w->curve->context;
    moeg_risk_rows *r = &w->rows;
    if (w->used == 0)
        return MOEG_OK;
    r->n = w->used;
    moeg_status status = w->nodes->affine ? MOEG_OK : evaluate_points(w);
    if (status != MOEG_OK)
        return status;
    const size_t good = c->gate.kind == MOEG_GATE_SOFTMAX
                            ? moeg_margin_block(c->K, r->n, r->stride, r->logits, r->best, r->margin)
                            : moeg_gate_gap_block(c->gate, c->K, r->n, r->stride, r->logits, r->margin);
    if (good < r->n)
        return moeg_fail(MOEG_ERANGE, "%s: logits along a line overflow", c->name);
    /* What is not for the gaps feels no temperature. */
    for (size_t i = 0; i < w->panels; i++)
        for (size_t j = 0; w->panel[i].purpose != MOEG_NODES_FOR_GAPS && j < w->panel[i].count; j++)
            r->margin[w->panel[i].first + j] = INFINITY;
    moeg_risk_arrange(c, r);
    moeg_risk_evaluate(c, r);
    for (size_t v = 0; v <= c->ntau; v++) {
        for (size_t i = 0; i < r->n; i++)
            w->sorted[r->place[i]] = r->values[v * r->stride + i];
        add_panels(w, v);
    }
    moeg_nodes_add_leads(w);
    w->used = w->panels = 0;
    return MOEG_OK;
}

void moeg_nodes_set_anchor(moeg_nodes_work *w, double anchor)
{
    const moeg_envelope *e = &w->student;
    const size_t rank = w->nodes->rank, reference = e->order[rank - 1];
    for (size_t q = 0; q < e->K; q++) {
        const size_t j = e->order[q];
        const double slope = e->beta[j] - e->beta[reference], crossing = moeg_envelope_crossing(e, reference, j);
        const double lag = isfinite(crossing) ? slope * (anchor - crossing)
                           : j == reference   ? 0
                                              : e->alpha[j] - e->alpha[reference];
        w->slope[j] = slope;
        w->lag[j] = q + 1 < rank ? fmax(lag, 0) : q + 1 > rank ? fmin(lag, 0) : 0;
    }
}

/* row[i] = value + slope t_i. */
static void set_row(size_t count, double value, double slope, const double *restrict t, double *restrict row)
{
    for (size_t i = 0; i < count; i++)
        row[i] = value + slope * t[i];
}

void moeg_nodes_fill_panel(moeg_nodes_work *w, const double *t, const double *offset)
{
    const moeg_nodes *p = w->nodes;
    moeg_risk_rows *r = &w->rows;
    const moeg_nodes_panel *of = &w->panel[w->panels - 1];
    const uint32_t *winners = w->winner + (w->panels - 1) * p->winners;
    const size_t stride = r->stride, m = p->outputs, lines = w->lines, at = of->first, n = of->count;
    for (size_t j = 0; j < p->K; j++)
        set_row(n, w->lag[j], w->slope[j], offset, r->logits + j * stride + at);
    for (size_t j = 0; !p->affine && j < p->frame.d; j++)
        set_row(n, w->x[j * lines + of->line], w->way->step[j], t, r->x + j * stride + at);
    for (size_t j = 0; p->affine && j < p->K * m; j++)
        set_row(n, w->output[j * lines + of->line], w->way->along[j], t, r->outputs + j * stride + at);
    for (size_t j = 0; p->affine && j < m; j++) {
        double value = 0, slope = 0;
        for (size_t q = 0; q < p->winners; q++) {
            const size_t piece = (p->K + winners[q]) * m + j;
            value += w->output[piece * lines + of->line];
            slope += w->way->along[piece];
        }
        set_row(n, value / (double)p->winners, slope / (double)p->winners, t, r->target + j * stride + at);
    }
}

moeg_status moeg_nodes_open_panel(moeg_nodes_work *w, size_t line, size_t count, size_t more,
                                  moeg_nodes_purpose purpose)
{
    const moeg_nodes *p = w->nodes;
    moeg_status status = w->used + count + more > w->rows.stride ? moeg_nodes_flush(w) : MOEG_OK;
    if (status != MOEG_OK)
        return status;
    for (size_t q = 0; q < p->winners; q++)
        w->winner[w->panels * p->winners + q] = p->mixture == NULL ? 0 : w->teacher.order[q];
    w->panel[w->panels++] = (moeg_nodes_panel){.line = line, .first = w->used, .count = count, .purpose = purpose};
    w->used += count;
    return MOEG_OK;
}
