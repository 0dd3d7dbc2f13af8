/* The walk along lines: where their panels lie. */
#include "limit/nodes_block.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/normal.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* Panels double from an end outward up to this width, over which no density changes much; those of the hard risk, a
 * density times a quadratic, may be wider. */
static const double WIDEST = 0.5, WIDEST_HARD = 1.5;

/* A panel from `from` to `to` past the anchor, to the side that `sign` says. */
static moeg_status add_panel(moeg_nodes_work *w, size_t line, double weight, double anchor, double sign, double from,
                             double to, moeg_nodes_purpose purpose)
{
    const double half = (to - from) / 2, middle = from + half;
    double t[MOEG_NODES_PANEL], offset[MOEG_NODES_PANEL];
    const moeg_status status = moeg_nodes_open_panel(w, line, MOEG_NODES_PANEL, 0, purpose);
    for (size_t i = 0, row = w->used - MOEG_NODES_PANEL; i < MOEG_NODES_PANEL && status == MOEG_OK; i++, row++) {
        const moeg_quad_node *node = &moeg_quad_rule[(i + 1) / 2]; /* 0, +1, -1, +2, -2, ... */
        offset[i] = sign * (middle + (i % 2 == 1 ? half : -half) * node->node);
        t[i] = anchor + offset[i];
        const double density = weight * half * moeg_normal_density(t[i]);
        w->kronrod[row] = node->kronrod * density;
        w->gauss[row] = node->gauss * density;
    }
    if (status == MOEG_OK)
        moeg_nodes_fill_panel(w, t, offset);
    return status;
}

/* How far from the anchor the last of the experts that part from the deciding one, or near it, stops to be felt:
 * beyond, up to `reach`, only such count as keep their distance, and terms are as smooth as the density. */
static double settles(const moeg_nodes_work *w, double sign, double reach)
{
    const double most = w->curve->felt * w->curve->context->tau[w->curve->context->order[0]];
    double last = 0;
    for (size_t j = 0; j < w->nodes->K; j++) {
        const double slope = sign * w->slope[j], distance = fabs(w->lag[j]);
        if (slope == 0)
            continue;
        if (distance > 0 && (slope > 0) != (w->lag[j] > 0))
            last = distance - fabs(slope) * reach > most ? last : reach;
        else
            last = fmax(last, (most - distance) / fabs(slope));
    }
    return last;
}

/* Panels from an end of a piece inward, up to `reach`. */
static moeg_status add_side(moeg_nodes_work *w, size_t line, double weight, double anchor, double sign, double reach,
                            double first)
{
    moeg_status status = MOEG_OK;
    moeg_nodes_set_anchor(w, anchor);
    const double settled = settles(w, sign, reach);
    for (double from = 0; from < reach && status == MOEG_OK;) {
        const double width = from >= settled ? WIDEST : fmin(fmax(first, from), WIDEST),
                     to = from + 1.5 * width < reach ? from + width : reach;
        status = add_panel(w, line, weight, anchor, sign, from, to, MOEG_NODES_FOR_GAPS);
        from = to;
    }
    return status;
}

/* The first panel at an end where the gap is this: no term changes much over it at the least temperature felt there. */
static double first_width(const moeg_nodes_work *w, double gap)
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
static moeg_status add_gaps(moeg_nodes_work *w, size_t line, double weight, double lo, double hi)
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
static moeg_status add_hard(moeg_nodes_work *w, size_t line, double weight, double lo, double hi)
{
    moeg_status status = MOEG_OK;
    if (w->curve->hard == MOEG_NODES_DRAWN) {
        const double t = w->height[line], anchor = t - lo < hi - t ? lo : hi, offset = t - anchor;
        if (!(lo < t && t <= hi))
            return MOEG_OK;
        status = moeg_nodes_open_panel(w, line, 1, 0, MOEG_NODES_FOR_HARD);
        if (status != MOEG_OK)
            return status;
        moeg_nodes_set_anchor(w, anchor);
        moeg_nodes_fill_panel(w, &t, &offset);
        w->kronrod[w->used - 1] = w->gauss[w->used - 1] = weight;
        return MOEG_OK;
    }
    const size_t panels = 1 + (size_t)((hi - lo) / (w->nodes->affine ? WIDEST_HARD : WIDEST));
    moeg_nodes_set_anchor(w, lo);
    for (size_t i = 0; i < panels && status == MOEG_OK; i++)
        status = add_panel(w, line, weight, lo, 1, (hi - lo) * (double)i / (double)panels,
                           (hi - lo) * (double)(i + 1) / (double)panels, MOEG_NODES_FOR_HARD);
    return status;
}

/* Which shared interface the teacher's next step is at, or 0. */
static uint32_t next_twin(const moeg_nodes_work *w)
{
    const moeg_nodes *p = w->nodes;
    const moeg_envelope *e = &w->teacher;
    return e->hi == INFINITY ? 0 : p->twin[e->order[e->over] * p->pieces + e->order[e->under]];
}

/* Which shared interface the deciding ranks tie on, or 0. */
static uint32_t deciding_twin(const moeg_nodes_work *w)
{
    const moeg_nodes *p = w->nodes;
    const uint32_t *order = w->student.order + p->rank - 1;
    return p->student_twin[order[0] * p->K + order[1]];
}

/* Whether the teacher's next step is where the deciding ranks tie because it is the same interface, not by rounding. */
static int steps_at_tie(const moeg_nodes_work *w)
{
    return w->nodes->mixture != NULL && next_twin(w) != 0 && next_twin(w) == deciding_twin(w);
}

/* Where the line leaves the teacher's piece: at the crossing of the deciding ranks if that is the same interface. Other
 * pairs on it cross there too, but for rounding. */
static double teacher_end(const moeg_nodes_work *w)
{
    if (w->nodes->mixture == NULL)
        return INFINITY;
    if (!steps_at_tie(w))
        return w->teacher.hi;
    const uint32_t *order = w->student.order + w->nodes->rank - 1;
    const double crossing = moeg_envelope_crossing(&w->student, order[0], order[1]);
    return isfinite(crossing) ? crossing : w->teacher.hi;
}

/* The ends of pieces, or of what is looked at of them, whichever comes first; the weight of what lies before. */
typedef struct stretch {
    double from, to, teacher_end, weight;
} stretch;

static stretch next_stretch(const moeg_nodes_work *w, double lo)
{
    const moeg_nodes *p = w->nodes;
    const double end = fmax(teacher_end(w), lo), window = w->curve->window;
    const uint32_t *order = w->student.order + p->rank - 1;
    return (stretch){.from = fmax(lo, -window),
                     .to = fmin(fmin(w->student.hi, end), window),
                     .teacher_end = end,
                     .weight = w->way->weight == NULL ? 1 : w->way->weight[order[0] * p->K + order[1]]};
}

/* What there is before the end of a stretch. */
static moeg_status add_stretch(moeg_nodes_work *w, size_t line, const stretch *at)
{
    const moeg_nodes_curve *curve = w->curve;
    const int moves = !w->nodes->frozen;
    moeg_status status = MOEG_OK;
    if (!(at->from < at->to && at->weight > 0))
        return status;
    if (curve->hard != MOEG_NODES_NO_HARD)
        status = add_hard(w, line, at->weight, at->from, at->to);
    if (moves && curve->context->ntau > 0 && status == MOEG_OK)
        status = add_gaps(w, line, at->weight, at->from, at->to);
    if (moves && curve->needs_lead && status == MOEG_OK)
        status = moeg_nodes_check_tie(w);
    return status;
}

/* The teacher's step, over all of his pieces that tie on the interface where he is. */
static void step_teacher(moeg_nodes_work *w)
{
    const uint32_t twin = next_twin(w);
    do
        moeg_envelope_next(&w->teacher);
    while (twin != 0 && next_twin(w) == twin);
}

/* Whether the teacher's mean is of other pieces than at the last panel: not if only their order changed. */
static int others_win(const moeg_nodes_work *w)
{
    const size_t winners = w->nodes->winners;
    const uint32_t *before = w->winner + (w->panels - 1) * winners;
    size_t found = 0;
    for (size_t i = 0; i < winners * winners; i++)
        found += before[i / winners] == w->teacher.order[i % winners];
    return found < winners;
}

/* From the end of a stretch on to the next pieces: of the student, of the teacher, or of both. */
static moeg_status step(moeg_nodes_work *w, size_t line, const stretch *at)
{
    const moeg_nodes_curve *curve = w->curve;
    const double end = at->teacher_end, t = fmin(end, w->student.hi);
    const int teacher = end <= w->student.hi && end < INFINITY, student = w->student.hi <= end && t < INFINITY;
    const int looks =
        (curve->with_lead || curve->with_near) && !w->nodes->frozen && at->weight > 0 && fabs(t) < curve->window;
    int met = 0;
    moeg_status status = MOEG_OK;
    if (looks && student)
        status = moeg_nodes_meet(w, line, at->weight, &met);
    const int jumps = met && teacher && steps_at_tie(w);
    if (looks && teacher && !jumps && curve->with_near)
        moeg_nodes_pass_jump(w, line, at->weight, t);
    if (teacher)
        step_teacher(w);
    if (jumps && curve->with_lead && status == MOEG_OK && others_win(w))
        status = moeg_nodes_leave(w, line);
    const int hides = looks && student && !met && curve->needs_lead && status == MOEG_OK;
    if (hides)
        moeg_nodes_mark_best(w);
    if (student)
        moeg_envelope_next(&w->student);
    return hides ? moeg_nodes_check_marks(w) : status;
}

/* One line: along both envelopes at once. */
static moeg_status add_line(moeg_nodes_work *w, size_t line)
{
    const moeg_nodes *p = w->nodes;
    moeg_status status = MOEG_OK;
    moeg_envelope_start(&w->student, w->alpha + line, w->lines);
    if (p->mixture != NULL)
        moeg_envelope_start(&w->teacher, w->alpha + p->K * w->lines + line, w->lines);
    for (double lo = -INFINITY; lo < INFINITY && status == MOEG_OK;) {
        const stretch at = next_stretch(w, lo);
        lo = fmax(lo, fmin(w->student.hi, at.teacher_end));
        status = add_stretch(w, line, &at);
        if (status == MOEG_OK)
            status = step(w, line, &at);
    }
    return status;
}

size_t moeg_nodes_count(const moeg_nodes_curve *curve)
{
    const size_t ntau = curve->context->ntau;
    return 1 + ntau + (size_t)(curve->with_lead != 0) + (curve->with_near ? ntau : 0);
}

moeg_status moeg_nodes_lines(const moeg_nodes_curve *curve, const moeg_nodes_way *way, size_t n, size_t period,
                             size_t stride, const double *z, double *workspace, double *values, double *errors)
{
    const moeg_nodes *p = curve->nodes;
    const size_t count = moeg_nodes_count(curve) * stride;
    moeg_nodes_work w = {.curve = curve, .nodes = p, .way = way, .lines = stride, .values = values, .errors = errors};
    const size_t used = moeg_nodes_layout(curve, stride, workspace, &w);
    memset(workspace, 0, used * sizeof *workspace);
    memset(values, 0, count * sizeof *values);
    memset(errors, 0, count * sizeof *errors);
    moeg_nodes_set_lines(&w, z);
    moeg_envelope_init(&w.student, p->K, p->levels, way->beta, w.student_room);
    if (p->mixture != NULL)
        moeg_envelope_init(&w.teacher, p->pieces, p->winners, way->beta + p->K, w.teacher_room);
    moeg_status status = MOEG_OK;
    for (size_t i = 0; i < stride && status == MOEG_OK; i++)
        status = i % period < n ? add_line(&w, i) : MOEG_OK;
    if (status == MOEG_OK)
        status = moeg_nodes_flush(&w);
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
