/* The nodes of a block of lines, and what becomes of them. */
#include "limit/nodes.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/normal.h"
#include "base/quad.h"
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { PANEL = 2 * MOEG_QUAD_NODES - 1 };

/* Panels double from an end outward up to this width, over which no density changes much; those of the hard risk, a
 * density times a quadratic, may be wider. */
static const double WIDEST = 0.5, WIDEST_HARD = 1.5;

/* Nodes of one panel: rows first .. first + count - 1 of the block. */
typedef struct panel {
    size_t line, first, count;
    int hard;
} panel;

typedef struct work {
    const moeg_nodes_curve *curve;
    const moeg_nodes *nodes;
    const moeg_nodes_way *way;
    size_t lines; /* stride of what lines have */
    double *values, *errors;
    double *base, *u, *height; /* (drawn) z without its part along the lines, (r), (1) that part */
    double *x, *output;        /* (d) or ((K + pieces) outputs): where t = 0 */
    double *alpha;             /* (K + pieces) */
    moeg_envelope student, teacher;
    double *student_room, *teacher_room;
    double *lag, *slope; /* (K) of a_j - a_ref, at an end of a piece */

    moeg_risk_rows rows; /* the block of nodes */
    size_t used, panels;
    panel *panel;            /* (rows) */
    uint32_t *winner;        /* (rows x winners) pieces that the teacher takes its mean of */
    double *kronrod, *gauss; /* (rows) weights */
    double *sorted, *piece;  /* (rows), (m x rows) scratch */
    double *scratch;         /* of experts and teacher */
} work;

static double *take(double *base, size_t *used, size_t count)
{
    const size_t at = *used;
    *used += moeg_round_lanes(count);
    return base == NULL ? NULL : base + at;
}

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

static size_t layout(const moeg_nodes_curve *curve, size_t lines, double *base, work *w)
{
    const moeg_nodes *p = curve->nodes;
    const size_t rows = curve->rows, count = p->K + p->pieces;
    size_t used = moeg_round_lanes(moeg_risk_layout(curve->context, rows, rows, base, &w->rows));
    w->base = take(base, &used, p->drawn * lines);
    w->u = take(base, &used, p->r * lines);
    w->height = take(base, &used, lines);
    w->x = take(base, &used, p->affine ? 0 : p->frame.d * lines);
    w->output = take(base, &used, p->affine ? count * p->outputs * lines : 0);
    w->alpha = take(base, &used, count * lines);
    w->student_room = take(base, &used, moeg_envelope_size(p->K));
    w->teacher_room = take(base, &used, moeg_envelope_size(p->pieces));
    w->lag = take(base, &used, p->K);
    w->slope = take(base, &used, p->K);
    w->panel = (panel *)take(base, &used, (rows * sizeof(panel) + sizeof(double) - 1) / sizeof(double));
    w->winner = (uint32_t *)take(base, &used, rows * p->winners);
    w->kronrod = take(base, &used, rows);
    w->gauss = take(base, &used, rows);
    w->sorted = take(base, &used, rows);
    w->piece = take(base, &used, p->affine ? 0 : p->m * rows);
    w->scratch = take(base, &used, point_scratch(p, rows));
    return used;
}

size_t moeg_nodes_workspace(const moeg_nodes_curve *curve, size_t stride)
{
    work w;
    return layout(curve, stride, NULL, &w);
}

/* What a block of lines has at t = 0. */
static void set_lines(work *w, const double *z)
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
static moeg_status evaluate_points(work *w)
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
            const panel *of = &w->panel[i / p->winners];
            for (size_t j = 0; w->winner[i] == q && j < m; j++)
                for (size_t row = of->first; row < of->first + of->count; row++)
                    r->target[j * stride + row] += w->piece[j * stride + row] / (double)p->winners;
        }
    }
    return status;
}

/* Adds value v of the nodes, sorted as they stand, to the lines' of the panels that are for it. */
static void add_panels(work *w, size_t v)
{
    double *value = w->values + v * w->lines, *error = w->errors + v * w->lines;
    for (size_t i = 0; i < w->panels; i++) {
        const panel *of = &w->panel[i];
        double fine = 0, coarse = 0, size = 0;
        if (of->hard != (v == 0))
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

/* Evaluates the nodes of the block, and empties it. */
static moeg_status flush(work *w)
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
    /* The hard risk feels no temperature. */
    for (size_t i = 0; i < w->panels; i++)
        for (size_t j = 0; w->panel[i].hard && j < w->panel[i].count; j++)
            r->margin[w->panel[i].first + j] = INFINITY;
    moeg_risk_arrange(c, r);
    moeg_risk_evaluate(c, r);
    for (size_t v = 0; v <= c->ntau; v++) {
        for (size_t i = 0; i < r->n; i++)
            w->sorted[r->place[i]] = r->values[v * r->stride + i];
        add_panels(w, v);
    }
    w->used = w->panels = 0;
    return MOEG_OK;
}

/* Differences of the logits from the one of the deciding rank, at `anchor`, on the piece where the walk stands. Their
 * signs are known from the order. */
static void set_anchor(work *w, double anchor)
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

/* Fills the rows of the last panel: nodes of a line at t = anchor + offset. */
static void set_nodes(work *w, const double *t, const double *offset)
{
    const moeg_nodes *p = w->nodes;
    moeg_risk_rows *r = &w->rows;
    const panel *of = &w->panel[w->panels - 1];
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

/* Room for a panel of `count` nodes of a line, on the teacher's piece where the walk stands. */
static moeg_status open_panel(work *w, size_t line, size_t count, int hard)
{
    const moeg_nodes *p = w->nodes;
    moeg_status status = w->used + count > w->rows.stride ? flush(w) : MOEG_OK;
    if (status != MOEG_OK)
        return status;
    for (size_t q = 0; q < p->winners; q++)
        w->winner[w->panels * p->winners + q] = p->mixture == NULL ? 0 : w->teacher.order[q];
    w->panel[w->panels++] = (panel){line, w->used, count, hard};
    w->used += count;
    return MOEG_OK;
}

/* A panel from `from` to `to` past the anchor, to the side that `sign` says. */
static moeg_status add_panel(work *w, size_t line, double weight, double anchor, double sign, double from, double to,
                             int hard)
{
    const double half = (to - from) / 2, middle = from + half;
    double t[PANEL], offset[PANEL];
    const moeg_status status = open_panel(w, line, PANEL, hard);
    for (size_t i = 0, row = w->used - PANEL; i < PANEL && status == MOEG_OK; i++, row++) {
        const moeg_quad_node *node = &moeg_quad_rule[(i + 1) / 2]; /* 0, +1, -1, +2, -2, ... */
        offset[i] = sign * (middle + (i % 2 == 1 ? half : -half) * node->node);
        t[i] = anchor + offset[i];
        const double density = weight * half * moeg_normal_density(t[i]);
        w->kronrod[row] = node->kronrod * density;
        w->gauss[row] = node->gauss * density;
    }
    if (status == MOEG_OK)
        set_nodes(w, t, offset);
    return status;
}

/* Panels from an end of a piece inward, up to `reach`. */
static moeg_status add_side(work *w, size_t line, double weight, double anchor, double sign, double reach, double first)
{
    moeg_status status = MOEG_OK;
    set_anchor(w, anchor);
    for (double from = 0; from < reach && status == MOEG_OK;) {
        const double width = fmin(fmax(first, from), WIDEST), to = from + 1.5 * width < reach ? from + width : reach;
        status = add_panel(w, line, weight, anchor, sign, from, to, 0);
        from = to;
    }
    return status;
}

/* The first panel at an end where the gap is this: no term changes much over it at the least temperature felt there. */
static double first_width(const work *w, double gap)
{
    const moeg_risk_context *c = w->curve->context;
    double tau = 0;
    for (size_t t = 0; t < c->ntau; t++)
        if (c->tau[c->order[t]] > 0 && gap <= w->curve->felt * c->tau[c->order[t]])
            tau = c->tau[c->order[t]];
    return tau / w->way->spread;
}

/* What a temperature feels of [lo, hi], a part of one piece: all of it, from both ends, or the end where the gap is
 * small. */
static moeg_status add_gaps(work *w, size_t line, double weight, double lo, double hi)
{
    const moeg_risk_context *c = w->curve->context;
    const moeg_envelope_gap gap = moeg_envelope_gap_of(&w->student, w->nodes->rank, w->nodes->rank + 1);
    const double at_lo = gap.slope != 0 ? fmax(gap.slope * (lo - gap.crossing), 0) : gap.level;
    const double at_hi = gap.slope != 0 ? fmax(gap.slope * (hi - gap.crossing), 0) : gap.level;
    const double most = w->curve->felt * c->tau[c->order[0]];
    const double reach = hi - lo, steep = fabs(gap.slope);
    if (most == 0 || !(fmin(at_lo, at_hi) <= most))
        return MOEG_OK;
    if (at_hi > most)
        return add_side(w, line, weight, lo, 1, fmin(reach, (most - at_lo) / steep), first_width(w, at_lo));
    if (at_lo > most)
        return add_side(w, line, weight, hi, -1, fmin(reach, (most - at_hi) / steep), first_width(w, at_hi));
    const moeg_status status = add_side(w, line, weight, lo, 1, reach / 2, first_width(w, at_lo));
    return status != MOEG_OK ? status : add_side(w, line, weight, hi, -1, reach / 2, first_width(w, at_hi));
}

/* The hard risk of the same. */
static moeg_status add_hard(work *w, size_t line, double weight, double lo, double hi)
{
    moeg_status status = MOEG_OK;
    if (w->curve->hard == MOEG_NODES_DRAWN) {
        const double t = w->height[line], anchor = t - lo < hi - t ? lo : hi, offset = t - anchor;
        if (!(lo < t && t <= hi))
            return MOEG_OK;
        status = open_panel(w, line, 1, 1);
        if (status != MOEG_OK)
            return status;
        set_anchor(w, anchor);
        set_nodes(w, &t, &offset);
        w->kronrod[w->used - 1] = w->gauss[w->used - 1] = weight;
        return MOEG_OK;
    }
    const size_t panels = 1 + (size_t)((hi - lo) / (w->nodes->affine ? WIDEST_HARD : WIDEST));
    set_anchor(w, lo);
    for (size_t i = 0; i < panels && status == MOEG_OK; i++)
        status = add_panel(w, line, weight, lo, 1, (hi - lo) * (double)i / (double)panels,
                           (hi - lo) * (double)(i + 1) / (double)panels, 1);
    return status;
}

/* Where the line leaves the teacher's piece: at the student's own crossing if that is the same interface. */
static double teacher_end(const work *w)
{
    const moeg_nodes *p = w->nodes;
    const moeg_envelope *e = &w->teacher;
    if (p->mixture == NULL || e->hi == INFINITY)
        return INFINITY;
    const uint32_t twin = p->twin[e->order[e->over] * p->pieces + e->order[e->under]];
    return twin == 0 ? e->hi : moeg_envelope_crossing(&w->student, (twin - 1) / p->K, (twin - 1) % p->K);
}

/* One line: along both envelopes at once. */
static moeg_status add_line(work *w, size_t line)
{
    const moeg_nodes *p = w->nodes;
    const moeg_nodes_curve *curve = w->curve;
    moeg_status status = MOEG_OK;
    moeg_envelope_start(&w->student, w->alpha + line, w->lines);
    if (p->mixture != NULL)
        moeg_envelope_start(&w->teacher, w->alpha + p->K * w->lines + line, w->lines);
    for (double lo = -INFINITY; lo < INFINITY && status == MOEG_OK;) {
        const double end = fmax(teacher_end(w), lo), hi = fmin(w->student.hi, end);
        const double from = fmax(lo, -curve->window), to = fmin(hi, curve->window);
        const uint32_t *order = w->student.order + p->rank - 1;
        const double weight = w->way->weight == NULL ? 1 : w->way->weight[order[0] * p->K + order[1]];
        if (from < to && weight > 0 && curve->hard != MOEG_NODES_NO_HARD)
            status = add_hard(w, line, weight, from, to);
        if (from < to && weight > 0 && !p->frozen && curve->context->ntau > 0 && status == MOEG_OK)
            status = add_gaps(w, line, weight, from, to);
        if (end <= w->student.hi && end < INFINITY)
            moeg_envelope_next(&w->teacher);
        if (w->student.hi <= end && w->student.hi < INFINITY)
            moeg_envelope_next(&w->student);
        lo = fmax(lo, hi);
    }
    return status;
}

moeg_status moeg_nodes_lines(const moeg_nodes_curve *curve, const moeg_nodes_way *way, size_t n, size_t period,
                             size_t stride, const double *z, double *workspace, double *values, double *errors)
{
    const moeg_nodes *p = curve->nodes;
    const size_t count = (1 + curve->context->ntau) * stride;
    work w = {.curve = curve, .nodes = p, .way = way, .lines = stride, .values = values, .errors = errors};
    const size_t used = layout(curve, stride, workspace, &w);
    memset(workspace, 0, used * sizeof *workspace);
    memset(values, 0, count * sizeof *values);
    memset(errors, 0, count * sizeof *errors);
    set_lines(&w, z);
    moeg_envelope_init(&w.student, p->K, p->levels, way->beta, w.student_room);
    if (p->mixture != NULL)
        moeg_envelope_init(&w.teacher, p->pieces, p->winners, way->beta + p->K, w.teacher_room);
    moeg_status status = MOEG_OK;
    for (size_t i = 0; i < stride && status == MOEG_OK; i++)
        status = i % period < n ? add_line(&w, i) : MOEG_OK;
    if (status == MOEG_OK)
        status = flush(&w);
    for (size_t i = 0; i < count && status == MOEG_OK; i++)
        if (!isfinite(values[i]))
            status = moeg_fail(MOEG_ERANGE, "%s: the loss along a line overflows", curve->context->name);
    return status;
}

moeg_status moeg_nodes_curve_init(const char *function, const moeg_nodes *p, moeg_mixing mixing, size_t ntau,
                                  const double *tau, moeg_nodes_hard hard, double window, double felt,
                                  moeg_nodes_curve *curve)
{
    moeg_risk_rows rows;
    moeg_risk_context *c = moeg_risk_context_create(function, p->moe, p->teacher, p->law, mixing, ntau, tau, 0);
    *curve = (moeg_nodes_curve){.nodes = p, .context = c, .hard = hard, .window = window, .felt = felt};
    if (c == NULL)
        return moeg_fail_memory(function);
    c->K = p->K;
    c->m = p->outputs;
    c->d = p->affine ? 0 : p->frame.d;
    moeg_risk_set_terms(c);
    for (size_t t = 0; t < ntau; t++)
        c->rising[t] = c->rising[t] > 0 ? c->rising[t] / MOEG_FELT * felt : -1;
    curve->rows = moeg_block_rows_from(moeg_risk_layout(c, MOEG_BLOCK_PROBE, MOEG_BLOCK_PROBE, NULL, &rows));
    return MOEG_OK;
}

void moeg_nodes_curve_free(moeg_nodes_curve *curve)
{
    if (curve->context != NULL)
        moeg_risk_context_free(curve->context);
    *curve = (moeg_nodes_curve){0};
}
