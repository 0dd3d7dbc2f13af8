/* The leading term of the gap of a line: lim gap/tau [theory: leading term, nodes on a line].
 *
 * Where the experts i and j of the deciding ranks change places, the line crosses from the side of i, with m_i, to that
 * of j, with m_j. Of gates that sum to 1 what is added to the output is q delta or -q delta, q = 1/(1 + e^w) with w the
 * gap over tau; integrals over w > 0 of q and q^2 are ln 2 and ln 2 - 1/2. Both sides have the same share of the line,
 * and their sum knows nothing of m but J = m_i - m_j: by nodes_lead_of() for each gate. */
#include "base/error.h"
#include "base/normal.h"
#include "limit/nodes_block.h"
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double LN_2 = 0.693147180559945309417;

/* The outputs of two experts and the teacher at a crossing. */
typedef struct outputs {
    size_t m, stride;
    const double *over, *under, *before, *after;
    int jumps; /* before and after are not the same row */
} outputs;

/* A sum, and the magnitudes of its terms. */
typedef struct sum {
    double value, size;
} sum;

static void add(sum *s, double term, double size)
{
    s->value += term;
    s->size += size;
}

/* 2 ln 2 c J.delta - c^2 |delta|^2, of loss mixing without the square; c is what of the gates the two share. */
static sum of_shared_gates(const outputs *o, double share, int loss)
{
    sum s = {0, 0};
    for (size_t l = 0, at = 0; l < o->m; l++, at += o->stride) {
        const double delta = o->over[at] - o->under[at], size = fabs(o->over[at]) + fabs(o->under[at]);
        const double jump = o->jumps ? o->before[at] - o->after[at] : 0,
                     both = fabs(o->before[at]) + fabs(o->after[at]);
        if (jump != 0) /* The same pieces give the same bits. */
            add(&s, 2 * LN_2 * share * (jump * delta), 2 * LN_2 * share * (fabs(jump) * size + both * fabs(delta)));
        if (!loss)
            add(&s, -(share * delta) * (share * delta), 2 * share * share * fabs(delta) * size);
    }
    return s;
}

/* 2 ln 2 f.m - (ln 2 + 1/2) |f|^2 of both sides, of loss mixing -ln 2 (|f - m|^2 + noise). */
static sum of_lost_gates(const outputs *o, double noise, int loss)
{
    sum s = {0, 0};
    for (size_t l = 0, at = 0; l < o->m; l++, at += o->stride)
        for (int side = 0; side < 2; side++) {
            const double f = side ? o->under[at] : o->over[at], mean = side ? o->after[at] : o->before[at];
            const double off = f - mean, size = fabs(f) + fabs(mean);
            if (loss)
                add(&s, -LN_2 * (off * off), 2 * LN_2 * fabs(off) * size);
            else
                add(&s, 2 * LN_2 * (f * mean) - (LN_2 + 0.5) * (f * f), 2 * fabs(f) * size);
        }
    if (loss)
        add(&s, -2 * LN_2 * noise, 2 * LN_2 * noise);
    return s;
}

static sum nodes_lead_of(const moeg_risk_context *c, const outputs *o)
{
    const int loss = c->mixing == MOEG_MIX_LOSS;
    if (c->gate.kind == MOEG_GATE_TOPK_RAW && c->gate.k == 1)
        return of_lost_gates(o, c->noise, loss);
    return of_shared_gates(o, c->gate.kind == MOEG_GATE_SUBSET ? 1 / (double)c->gate.k : 1, loss);
}

void moeg_nodes_add_leads(moeg_nodes_work *w)
{
    const moeg_risk_rows *r = &w->rows;
    const size_t m = w->nodes->outputs, place = (1 + w->curve->context->ntau) * w->lines;
    for (size_t i = 0; i < w->panels; i++) {
        const moeg_nodes_panel *of = &w->panel[i];
        if (of->purpose != MOEG_NODES_FOR_LEAD)
            continue;
        const int jumps = i + 1 < w->panels && w->panel[i + 1].purpose == MOEG_NODES_FOR_JUMP;
        const sum s =
            nodes_lead_of(w->curve->context, &(outputs){.m = m,
                                                        .stride = r->stride,
                                                        .over = r->outputs + of->over * m * r->stride + of->first,
                                                        .under = r->outputs + of->under * m * r->stride + of->first,
                                                        .before = r->target + of->first,
                                                        .after = r->target + of->first + jumps,
                                                        .jumps = jumps});
        w->values[place + of->line] += of->weight * s.value;
        w->errors[place + of->line] += 8 * DBL_EPSILON * (1 + of->t * of->t) * of->weight * s.size;
    }
}

/* How near a third expert is, or a jump of the teacher, summed over the crossings of a line: on a share of lines of the
 * order of tau it is not small, and there the gap is not near its leading term. */
static double *near_values(moeg_nodes_work *w, size_t line)
{
    const moeg_nodes_curve *curve = w->curve;
    return w->values + (1 + curve->context->ntau + (curve->with_lead != 0)) * w->lines + line;
}

static void add_near(moeg_nodes_work *w, size_t line, double weight, double gap)
{
    const moeg_risk_context *c = w->curve->context;
    double *near = near_values(w, line);
    for (size_t t = 0; t < c->ntau; t++)
        if (c->tau[t] > 0)
            near[t * w->lines] += weight * exp(-gap / c->tau[t]);
}

/* Share of the line times density over slope. */
static double weight_at(double share, double t, double slope)
{
    return share * moeg_normal_density(t) / fabs(slope);
}

/* MOEG_EUNSUPPORTED: a third expert ties wherever these two do. */
static moeg_status check_third(const moeg_nodes_work *w, size_t over, size_t under)
{
    const moeg_nodes *p = w->nodes;
    const size_t *expert = p->frame.logits[0].expert;
    const uint32_t third = p->third[over * p->K + under];
    if (third == 0)
        return MOEG_OK;
    return moeg_fail(MOEG_EUNSUPPORTED, "%s: experts %zu, %zu and %zu tie wherever two of them do and decide",
                     w->curve->context->name, expert[over], expert[under], expert[third - 1]);
}

moeg_status moeg_nodes_meet(moeg_nodes_work *w, size_t line, double weight, int *met)
{
    const moeg_nodes *p = w->nodes;
    const moeg_envelope *e = &w->student;
    const double t = e->hi, start = 0;
    const moeg_envelope_gap gap = moeg_envelope_gap_of(e, p->rank, p->rank + 1);
    const size_t over = e->order[p->rank - 1], under = e->order[p->rank];
    *met = gap.slope < 0 && gap.crossing <= t;
    if (!*met)
        return MOEG_OK;
    moeg_nodes_set_anchor(w, t);
    weight = weight_at(weight, t, gap.slope);
    moeg_status status = w->curve->needs_lead ? check_third(w, over, under) : MOEG_OK;
    for (size_t j = 0; j < e->K && w->curve->with_near; j++)
        if (j != over && j != under)
            add_near(w, line, weight, fabs(w->lag[j]));
    if (!w->curve->with_lead || status != MOEG_OK)
        return status;
    status = moeg_nodes_open_panel(w, line, 1, p->mixture != NULL, MOEG_NODES_FOR_LEAD);
    if (status != MOEG_OK)
        return status;
    moeg_nodes_panel *of = &w->panel[w->panels - 1];
    of->over = over;
    of->under = under;
    of->t = t;
    of->weight = weight;
    moeg_nodes_fill_panel(w, &t, &start);
    return MOEG_OK;
}

void moeg_nodes_mark_best(moeg_nodes_work *w)
{
    memset(w->lag, 0, w->student.K * sizeof *w->lag);
    for (size_t rank = 0; rank < w->nodes->rank; rank++)
        w->lag[w->student.order[rank]] = 1;
}

moeg_status moeg_nodes_check_marks(const moeg_nodes_work *w)
{
    const moeg_envelope *e = &w->student;
    const size_t rank = w->nodes->rank;
    moeg_status status = MOEG_OK;
    for (size_t i = 0; i < rank; i++)
        for (size_t j = rank; j < e->K && status == MOEG_OK; j++)
            if (w->lag[e->order[i]] == 0 && w->lag[e->order[j]] == 1)
                status = check_third(w, e->order[j], e->order[i]);
    return status;
}

moeg_status moeg_nodes_leave(moeg_nodes_work *w, size_t line)
{
    const double t = w->student.hi, start = 0;
    const moeg_status status = moeg_nodes_open_panel(w, line, 1, 0, MOEG_NODES_FOR_JUMP);
    if (status == MOEG_OK)
        moeg_nodes_fill_panel(w, &t, &start);
    return status;
}

void moeg_nodes_pass_jump(moeg_nodes_work *w, size_t line, double weight, double t)
{
    const moeg_envelope_gap gap = moeg_envelope_gap_of(&w->student, w->nodes->rank, w->nodes->rank + 1);
    if (gap.slope != 0)
        add_near(w, line, weight_at(weight, t, gap.slope), fabs(gap.slope * (t - gap.crossing)));
}

moeg_status moeg_nodes_check_tie(const moeg_nodes_work *w)
{
    const moeg_nodes *p = w->nodes;
    const moeg_envelope_gap gap = moeg_envelope_gap_of(&w->student, p->rank, p->rank + 1);
    const size_t *expert = p->frame.logits[0].expert;
    if (gap.slope != 0 || gap.level != 0)
        return MOEG_OK;
    return moeg_fail(MOEG_EDOM, "%s: experts %zu and %zu tie everywhere where they decide", w->curve->context->name,
                     expert[w->student.order[p->rank - 1]], expert[w->student.order[p->rank]]);
}
