/* General lines drawn at random: in strata whose directions between them see every tie (line/strata.h). */
#include "limit/nodes_sample.h"
#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/rounds.h"
#include "limit/auto.h"
#include "limit/ray_estimate.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* e^-45 of the density at 0. */
static const double WINDOW = 9.5;

/* What a block has: of the walk (moeg_nodes_lines()) and, from that, of the draw. */
typedef struct block {
    double *values, *errors, *workspace;
} block;

static size_t layout(const moeg_nodes_sampler *l, double *base, moeg_line_draw *draw, block *b)
{
    const size_t stride = draw->stride, walked = moeg_nodes_count(&l->curve);
    size_t used = 0;
    draw->u = moeg_take(base, &used, l->curve.nodes->drawn * stride);
    draw->values = moeg_take(base, &used, (l->count + 1) * stride);
    draw->errors = moeg_take(base, &used, (l->count + 1) * stride);
    b->values = moeg_take(base, &used, walked * stride);
    b->errors = moeg_take(base, &used, walked * stride);
    b->workspace = moeg_take(base, &used, moeg_nodes_workspace(&l->curve, stride));
    return used;
}

static size_t room(const void *self, size_t stride)
{
    block b;
    moeg_line_draw draw = {.stride = stride};
    return layout(self, NULL, &draw, &b);
}

static void place(const void *self, size_t stratum, moeg_line_draw *draw)
{
    block b;
    (void)stratum;
    layout(self, draw->base, draw, &b);
}

/* From values of the walk, stride apart, to those of the draw. */
static void set_values(const moeg_nodes_sampler *l, size_t stride, const double *walk, int errors, double *out)
{
    const size_t ntau = l->ntau, total = l->curve.context->ntau, size = stride * sizeof *out;
    const double *lead = walk + (1 + total) * stride, *near = lead + (l->curve.with_lead ? stride : 0);
    memcpy(out, l->rests ? lead : walk, size);
    for (size_t t = 0; t < total; t++) {
        double *to = out + moeg_nodes_gap_place(l, t) * stride;
        const double *gap = walk + (1 + t) * stride;
        const int less_lead = l->rests || (l->leads && t == ntau);
        for (size_t i = 0; i < stride; i++)
            to[i] = gap[i] / l->unit[t] + (less_lead ? errors ? lead[i] : -lead[i] : 0);
    }
    for (size_t i = 0; !l->rests && i < ntau * stride; i++)
        out[(1 + ntau) * stride + i] = walk[i % stride] + walk[stride + i];
    if (l->leads)
        memcpy(out + moeg_nodes_lead_place(l) * stride, lead, size);
    if (l->curve.with_near)
        memcpy(out + (l->count - total) * stride, near, total * size);
}

static moeg_status evaluate(const void *self, size_t stratum, const moeg_line_draw *draw)
{
    const moeg_nodes_sampler *l = self;
    const size_t stride = draw->stride;
    block b;
    moeg_line_draw again = *draw;
    layout(l, draw->base, &again, &b);
    const moeg_status status = moeg_nodes_lines(&l->curve, &l->way[stratum], draw->n, stride / 2, stride, draw->u,
                                                b.workspace, b.values, b.errors);
    if (status == MOEG_OK) {
        set_values(l, stride, b.values, 0, draw->values);
        set_values(l, stride, b.errors, 1, draw->errors);
    }
    return status;
}

/* What the tolerance is for: the gaps, or slope and remainders. */
static double excess(const void *self, moeg_ray_result *result)
{
    const moeg_nodes_sampler *l = self;
    double most = 0;
    moeg_nodes_correct_rests(l, result);
    for (size_t v = l->rests ? 0 : 1; v <= l->ntau; v++) {
        moeg_estimate e;
        const double scale = v == 0 ? 1 : l->rests ? 1 / l->curve.context->tau[v - 1] : l->unit[v - 1];
        const int rare = v == 0 ? moeg_nodes_may_miss(l->nodes, 1) && moeg_nodes_may_lead(l->nodes, l->mixing)
                                : moeg_nodes_may_miss(l->nodes, l->curve.context->tau[v - 1]);
        moeg_ray_estimate(result, l->count, v, rare, l->s->level, &e);
        moeg_nodes_scale(scale, &e);
        most = fmax(most, moeg_tolerance_excess(l->s, 1, &e));
    }
    return most;
}

/* Directions, and what each line's piece weighs by the pair that decides there. */
static moeg_status set_ways(const char *function, const moeg_nodes *p, moeg_nodes_sampler *l)
{
    const size_t K = p->K;
    const moeg_sampling *s = l->s;
    moeg_status status = MOEG_OK;
    if (s->directions != NULL)
        status = moeg_check_rows(function, "directions", s->direction_count, p->frame.d, s->directions);
    if (status == MOEG_OK)
        status = moeg_strata_init(function, &p->frame,
                                  p->r < 2 && s->directions == NULL ? MOEG_SHARING_WHOLE : MOEG_SHARING_BALANCE, NULL,
                                  s->direction_count, s->directions, &l->strata);
    if (status != MOEG_OK)
        return status;
    l->way = moeg_alloc_zero(l->strata.count, sizeof *l->way);
    l->weight = moeg_alloc(l->strata.count, K * K * sizeof *l->weight);
    if (l->way == NULL || l->weight == NULL)
        return moeg_fail_memory(function);
    for (size_t k = 0; k < l->strata.count && status == MOEG_OK; k++) {
        double *weight = l->weight + k * K * K;
        status = moeg_nodes_way_init(function, p, l->strata.stratum[k].direction, &l->way[k]);
        for (size_t i = 0; i < K * K; i++)
            weight[i] = i / K == i % K ? 0 : moeg_strata_share(&l->strata, k, 0, i / K, i % K);
        l->way[k].weight = weight;
    }
    return status;
}

/* The temperatures: those asked for, and one more to judge rests by. */
static moeg_status set_curve(const char *function, const moeg_nodes *p, moeg_mixing mixing, const double *tau,
                             moeg_nodes_sampler *l)
{
    const size_t ntau = l->ntau;
    const double reference = moeg_nodes_judges_rests(l, mixing, tau);
    const int judged = reference > 0;
    const size_t total = ntau + (judged ? 1 : 0);
    double *grid = moeg_alloc(total, sizeof *grid);
    l->unit = moeg_alloc(total, sizeof *l->unit);
    if (grid == NULL || l->unit == NULL) {
        moeg_release(grid);
        return moeg_fail_memory(function);
    }
    for (size_t t = 0; t < total; t++) {
        grid[t] = t < ntau ? tau[t] : reference;
        l->unit[t] = l->rests || t == ntau ? grid[t] : moeg_nodes_unit(grid[t]);
    }
    l->leads = judged && !l->rests && moeg_nodes_may_lead(p, mixing);
    l->count = 1 + (l->rests ? 1 : 2) * ntau + (judged ? 1 + total : 0) + (l->leads ? 1 : 0);
    const moeg_nodes_hard hard = l->rests ? MOEG_NODES_NO_HARD : p->affine ? MOEG_NODES_INTEGRATED : MOEG_NODES_DRAWN;
    const moeg_status status =
        moeg_nodes_curve_init(function, p, mixing, total, grid, hard, WINDOW, MOEG_FELT, &l->curve);
    l->curve.with_lead = l->rests || l->leads;
    l->curve.needs_lead = l->rests;
    l->curve.with_near = judged;
    moeg_release(grid);
    return status;
}

static int shift_of(const void *self, const moeg_ties *ties, size_t tie, size_t stratum, double *shift)
{
    const moeg_strata *strata = self;
    if (!moeg_strata_sees(strata, stratum, ties, tie))
        return 0;
    moeg_shift_across(ties->r, strata->stratum[stratum].direction, ties->point + tie * ties->r, shift);
    return 1;
}

/* Where ranks that decide tie far from the mean, lines are drawn around there as well. */
static moeg_status make_shifts(const char *function, const moeg_nodes *p, const moeg_strata *strata, uint64_t n,
                               moeg_shifts *shifts)
{
    const moeg_gap gap = {p->rank, p->rank + 1};
    moeg_ties ties;
    moeg_status status = moeg_ties_init(function, &p->frame, gap, 0, MOEG_TIES_CUT_UNLIKE, &ties);
    if (status != MOEG_OK)
        return status;
    status = moeg_shifts_init(function, strata->count, p->r, &ties, shift_of, strata, n, shifts);
    moeg_ties_free(&ties);
    if (status == MOEG_OK && !p->affine) {
        status = moeg_shifts_embed(function, &p->frame, shifts);
        if (status != MOEG_OK)
            moeg_shifts_free(shifts);
    }
    return status;
}

static void release(moeg_nodes_sampler *l)
{
    for (size_t k = 0; l->way != NULL && k < l->strata.count; k++)
        moeg_nodes_way_free(&l->way[k]);
    moeg_release(l->way);
    moeg_release(l->weight);
    moeg_release(l->unit);
    moeg_strata_free(&l->strata);
    moeg_nodes_curve_free(&l->curve);
}

/* Values that are corrected each by a slope of its own (moeg_tally_slopes()) no longer add up: soft risks are made of
 * the others again. */
static void add_up(const moeg_nodes_sampler *l, moeg_ray_result *result)
{
    const size_t count = l->count;
    for (size_t t = 0; t < l->ntau; t++) {
        const size_t gap = 1 + t, soft = 1 + l->ntau + t;
        const double unit = l->unit[t], *C = result->covariance;
        result->value[soft] = result->value[0] + unit * result->value[gap];
        const double variance = C[0] + unit * (2 * C[gap] + unit * C[gap * (count + 1)]);
        result->covariance[soft * (count + 1)] = variance < 0 ? 0 : variance;
    }
}

moeg_status moeg_nodes_sample(const char *function, const moeg_nodes *p, moeg_mixing mixing, size_t ntau,
                              const double *tau, int rests, const moeg_sampling *s, moeg_nodes_result *result)
{
    moeg_nodes_sampler l = {.nodes = p, .mixing = mixing, .ntau = ntau, .rests = rests, .s = s};
    moeg_status status = set_ways(function, p, &l);
    if (status == MOEG_OK && !rests && s->method == MOEG_METHOD_AUTO && !moeg_auto_tells(l.strata.count, s))
        status = moeg_fail(MOEG_EINVAL, "%s: too few lines for their error bars", function);
    if (status == MOEG_OK)
        status = set_curve(function, p, mixing, tau, &l);
    moeg_shifts shifts = {0};
    if (status == MOEG_OK)
        status = make_shifts(function, p, &l.strata, moeg_lines_expected(s), &shifts);
    if (status == MOEG_OK)
        status = moeg_nodes_result_init(function, l.count, result);
    if (status == MOEG_OK) {
        const moeg_line_source source = {
            .shifts = &shifts,
            .drawn = p->drawn,
            .count = l.count,
            .excess = excess,
            .aim = rests ? 0 : 1,
            .aims = ntau + (rests ? 1 : 0),
            .room = room,
            .place = place,
            .evaluate = evaluate,
            .self = &l,
        };
        status = moeg_lines_expect(function, &source, s, &result->sampled);
    }
    if (status >= 0) {
        if (!rests && shifts.count > shifts.strata)
            add_up(&l, &result->sampled);
        moeg_nodes_correct_rests(&l, &result->sampled);
        for (size_t t = 0; t < ntau && !rests; t++)
            result->unit[1 + t] = l.unit[t];
    }
    moeg_shifts_free(&shifts);
    release(&l);
    return status;
}
