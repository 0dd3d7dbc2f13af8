/* General lines drawn at random: in strata whose directions between them see every tie (line/strata.h). */
#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/rounds.h"
#include "limit/nodes.h"
#include "limit/ray_estimate.h"
#include "model/model.h"

#include <math.h>

/* e^-45 of the density at 0. */
static const double WINDOW = 9.5;

typedef struct lines {
    moeg_nodes_curve curve;
    moeg_strata strata;
    moeg_nodes_way *way; /* (strata) */
    double *weight;      /* (strata x K x K) */
    size_t ntau;
    const moeg_sampling *s;
} lines;

static double *take(double *base, size_t *used, size_t count)
{
    const size_t at = *used;
    *used += moeg_round_lanes(count);
    return base == NULL ? NULL : base + at;
}

/* u, values and errors: hard risk, gaps and soft risks; then what nodes want. */
static size_t layout(const lines *l, double *base, moeg_line_draw *draw, double **rest)
{
    size_t used = 0;
    draw->u = take(base, &used, l->curve.nodes->drawn * draw->stride);
    draw->values = take(base, &used, (1 + 2 * l->ntau) * draw->stride);
    draw->errors = take(base, &used, (1 + 2 * l->ntau) * draw->stride);
    *rest = take(base, &used, moeg_nodes_workspace(&l->curve, draw->stride));
    return used;
}

static size_t room(const void *self, size_t stride)
{
    double *rest;
    moeg_line_draw draw = {.stride = stride};
    return layout(self, NULL, &draw, &rest);
}

static void place(const void *self, size_t stratum, moeg_line_draw *draw)
{
    double *rest;
    (void)stratum;
    layout(self, draw->base, draw, &rest);
}

static moeg_status evaluate(const void *self, size_t stratum, const moeg_line_draw *draw)
{
    const lines *l = self;
    const size_t stride = draw->stride, ntau = l->ntau;
    double *rest;
    moeg_line_draw again = *draw;
    layout(l, draw->base, &again, &rest);
    const moeg_status status = moeg_nodes_lines(&l->curve, &l->way[stratum], draw->n, stride / 2, stride, draw->u, rest,
                                                draw->values, draw->errors);
    for (size_t i = 0; i < ntau * stride && status == MOEG_OK; i++) {
        draw->values[(1 + ntau) * stride + i] = draw->values[i % stride] + draw->values[stride + i];
        draw->errors[(1 + ntau) * stride + i] = draw->errors[i % stride] + draw->errors[stride + i];
    }
    return status;
}

/* Of the gaps, which the tolerance is for. */
static double excess(const void *self, moeg_ray_result *result)
{
    const lines *l = self;
    double most = 0;
    for (size_t t = 0; t < l->ntau; t++) {
        moeg_estimate gap;
        moeg_ray_estimate(result, 1 + 2 * l->ntau, 1 + t, 0, l->s->level, &gap);
        most = fmax(most, moeg_tolerance_excess(l->s, 1, &gap));
    }
    return most;
}

/* Directions, and what each line's piece weighs by the pair that decides there. */
static moeg_status set_ways(const char *function, const moeg_nodes *p, lines *l)
{
    const size_t K = p->K;
    moeg_status status = moeg_strata_init(function, &p->frame, p->r < 2 ? MOEG_SHARING_WHOLE : MOEG_SHARING_BALANCE,
                                          NULL, 0, NULL, &l->strata);
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

static void release(lines *l)
{
    for (size_t k = 0; l->way != NULL && k < l->strata.count; k++)
        moeg_nodes_way_free(&l->way[k]);
    moeg_release(l->way);
    moeg_release(l->weight);
    moeg_strata_free(&l->strata);
    moeg_nodes_curve_free(&l->curve);
}

moeg_status moeg_nodes_sample(const char *function, const moeg_nodes *p, moeg_mixing mixing, size_t ntau,
                              const double *tau, const moeg_sampling *s, moeg_ray_result *result)
{
    lines l = {.ntau = ntau, .s = s};
    moeg_status status =
        moeg_nodes_curve_init(function, p, mixing, ntau, tau, p->affine ? MOEG_NODES_INTEGRATED : MOEG_NODES_DRAWN,
                              WINDOW, MOEG_FELT, &l.curve);
    if (status == MOEG_OK)
        status = set_ways(function, p, &l);
    if (status == MOEG_OK) {
        const moeg_line_source source = {
            .strata = l.strata.count,
            .drawn = p->drawn,
            .count = 1 + 2 * ntau,
            .excess = excess,
            .aim = 1,
            .aims = ntau,
            .room = room,
            .place = place,
            .evaluate = evaluate,
            .self = &l,
        };
        status = moeg_lines_expect(function, &source, s, result);
    }
    release(&l);
    return status;
}
