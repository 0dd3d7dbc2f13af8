#include "limit/surface_points.h"

#include "base/kernel.h"
#include "base/normal.h"
#include "line/envelope.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Points that q sees at a time. */
enum { BATCH = 64 };

/* A crossing at t of line `lane`, of experts i and j of the frame; weight: density over slope, and share. */
typedef struct crossing {
    double t, weight;
    size_t lane, i, j;
} crossing;

/* Crossings of a block of lines on their way into q. */
typedef struct gathering {
    const moeg_surface *surface;
    const double *direction, *u; /* (r), ((r + extra) x stride) */
    size_t stride;
    double *values, *errors;
    size_t n, lane; /* gathered; the line whose part of x is in `base`, SIZE_MAX for none */
    double *x, *q, *weight, *at, *base;
    size_t *from, *i, *j;
} gathering;

/* Lays out its arrays; returns the doubles that they need. */
static size_t layout(const moeg_surface *s, double *memory, gathering *g)
{
    size_t used = 0;
    g->x = moeg_take(memory, &used, BATCH * s->d);
    g->q = moeg_take(memory, &used, BATCH * s->count);
    g->weight = moeg_take(memory, &used, BATCH);
    g->at = moeg_take(memory, &used, BATCH);
    g->from = (size_t *)moeg_take(memory, &used, BATCH);
    g->i = (size_t *)moeg_take(memory, &used, BATCH);
    g->j = (size_t *)moeg_take(memory, &used, BATCH);
    g->base = moeg_take(memory, &used, 3 * s->d + s->rays->r);
    return used;
}

static size_t points_size(const moeg_surface *s)
{
    gathering g;
    return layout(s, NULL, &g);
}

static gathering gather(const moeg_surface *s, const double *direction, size_t stride, const double *u, double *memory,
                        double *values, double *errors)
{
    gathering g = {s, direction, u, stride, values, errors, .lane = SIZE_MAX};
    memset(values, 0, s->count * stride * sizeof *values);
    memset(errors, 0, s->count * stride * sizeof *errors);
    if (s->q != NULL)
        layout(s, memory, &g);
    return g;
}

static void add_value(const gathering *g, size_t j, size_t lane, double t, double value)
{
    g->values[j * g->stride + lane] += value;
    g->errors[j * g->stride + lane] += 16 * DBL_EPSILON * (1 + t * t) * fabs(value);
}

static void flush(gathering *g)
{
    const moeg_surface *s = g->surface;
    if (g->n == 0)
        return;
    const int failed = s->q(g->n, g->x, g->i, g->j, g->q, s->user);
    if (failed != 0)
        atomic_store(&s->what[0], failed);
    for (size_t p = 0; p < g->n; p++)
        for (size_t j = 0; j < s->count; j++)
            add_value(g, j, g->from[p], g->at[p], failed != 0 ? NAN : g->weight[p] * g->q[p * s->count + j]);
    g->n = 0;
}

/* The part of x that is the same all along a line: mean + L (zeta - Q' Q zeta), zeta the line's further normals. */
static void set_base(gathering *g, size_t lane)
{
    const moeg_surface *s = g->surface;
    const moeg_frame *frame = &s->rays->frame;
    const size_t d = s->d, r = s->rays->r;
    double *base = g->base, *zeta = base + d, *seen = zeta + d;
    memcpy(base, frame->mean, d * sizeof *base);
    g->lane = lane;
    if (s->extra == 0)
        return;
    for (size_t c = 0; c < d; c++)
        zeta[c] = g->u[(r + c) * g->stride + lane];
    for (size_t l = 0; l < r; l++) {
        seen[l] = 0;
        for (size_t c = 0; c < d; c++)
            seen[l] += frame->Q[l * d + c] * zeta[c];
    }
    for (size_t c = 0; c < d; c++) {
        double moved = frame->factor == NULL ? zeta[c] : 0;
        for (size_t e = 0; frame->factor != NULL && e < d; e++)
            moved += frame->factor[c * d + e] * zeta[e];
        for (size_t l = 0; l < r; l++)
            moved -= s->map[c * r + l] * seen[l];
        base[c] += moved;
    }
}

static void add_crossing(gathering *g, const crossing *c)
{
    const moeg_surface *s = g->surface;
    const size_t d = s->d, r = s->rays->r, *expert = s->rays->frame.logits[0].expert;
    if (s->third[c->i * s->rays->frame.logits[0].K + c->j] && c->weight > 0)
        atomic_store(&s->what[2], 1);
    if (s->q == NULL) {
        add_value(g, 0, c->lane, c->t, c->weight);
        return;
    }
    if (g->lane != c->lane)
        set_base(g, c->lane);
    double along = c->t, *x = g->x + g->n * d;
    for (size_t l = 0; l < r; l++)
        along -= g->direction[l] * g->u[l * g->stride + c->lane];
    memcpy(x, g->base, d * sizeof *x);
    for (size_t l = 0; l < r; l++) {
        const double place = g->u[l * g->stride + c->lane] + along * g->direction[l];
        for (size_t e = 0; e < d; e++)
            x[e] += s->map[e * r + l] * place;
    }
    g->i[g->n] = expert[c->i < c->j ? c->i : c->j];
    g->j[g->n] = expert[c->i < c->j ? c->j : c->i];
    g->from[g->n] = c->lane;
    g->at[g->n] = c->t;
    g->weight[g->n++] = c->weight;
    if (g->n == BATCH)
        flush(g);
}

static size_t ray_workspace(const void *self, const moeg_ray *ray, size_t stride)
{
    (void)ray;
    (void)stride;
    return points_size(self);
}

/* Rays cross an interface from either side: each takes half. */
static void evaluate_rays(const void *self, const moeg_ray *ray, const moeg_ray_block *block, double *workspace,
                          double *values, double *errors)
{
    gathering g = gather(self, ray->direction, block->stride, block->u, workspace, values, errors);
    for (size_t lane = 0; lane < block->stride; lane++) {
        const size_t loser = block->active[lane];
        const crossing c = {
            .t = block->t[lane],
            .weight = moeg_normal_density(block->t[lane]) / ray->slope[loser] / 2,
            .lane = lane,
            .i = ray->cell,
            .j = loser < ray->cell ? loser : loser + 1,
        };
        add_crossing(&g, &c);
    }
    flush(&g);
}

static size_t line_workspace(const void *self, const moeg_strata *strata, size_t stride)
{
    (void)stride;
    return moeg_round_lanes(moeg_envelope_size(strata->K)) + points_size(self);
}

/* The tie at an end of a piece, with half of its weight, for the piece on its other side has the other half; 0 if there
 * is none. */
static int tie_at(const moeg_surface *s, const moeg_strata *strata, size_t l, const moeg_envelope *e, int end,
                  crossing *c)
{
    const moeg_envelope_gap gap = moeg_envelope_gap_of(e, s->k, s->k + 1);
    const uint32_t i = e->order[s->k - 1], j = e->order[s->k];
    const double share = moeg_strata_share(strata, l, e->order[0], i, j);
    if (gap.slope == 0 && share > 0 && moeg_strata_level(strata, l, i, j, gap.level) == 0)
        atomic_store(&s->what[1], 1);
    if (!(share > 0) || (end ? !(gap.slope < 0 && gap.crossing <= e->hi) : !(gap.slope > 0 && gap.crossing >= e->lo)))
        return 0;
    c->t = gap.crossing;
    c->weight = share * moeg_normal_density(c->t) / fabs(gap.slope) / 2;
    c->i = i;
    c->j = j;
    return 1;
}

/* Both halves of a crossing are one point for q where the same two experts tie on both sides. */
static void add_line(gathering *g, const moeg_strata *strata, size_t l, moeg_envelope *e, size_t lane)
{
    crossing last = {.lane = lane}, next = {.lane = lane};
    int waits = 0;
    do {
        if (tie_at(g->surface, strata, l, e, 0, &next)) {
            const int same = waits && next.t == last.t && next.i == last.j && next.j == last.i;
            if (same)
                next.weight += last.weight;
            else if (waits)
                add_crossing(g, &last);
            add_crossing(g, &next);
        } else if (waits) {
            add_crossing(g, &last);
        }
        waits = tie_at(g->surface, strata, l, e, 1, &last);
    } while (moeg_envelope_next(e));
}

static void evaluate_lines(const void *self, const moeg_strata *strata, size_t l, const moeg_line_block *block,
                           double *workspace, double *values, double *errors)
{
    const moeg_surface *s = self;
    moeg_envelope e;
    moeg_envelope_init(&e, strata->K, s->k + 1, strata->stratum[l].slope, workspace);
    gathering g = gather(s, strata->stratum[l].direction, block->stride, block->u,
                         workspace + moeg_round_lanes(moeg_envelope_size(strata->K)), values, errors);
    for (size_t lane = 0; lane < block->stride; lane++) {
        moeg_envelope_start(&e, block->alpha + lane, block->stride);
        add_line(&g, strata, l, &e, lane);
    }
    flush(&g);
}

moeg_ray_quantity moeg_surface_quantity(const moeg_surface *surface)
{
    return (moeg_ray_quantity){
        .count = surface->count,
        .workspace = ray_workspace,
        .evaluate = evaluate_rays,
        .line_workspace = line_workspace,
        .line_evaluate = evaluate_lines,
        .self = surface,
        .extra = surface->extra,
        .gap = {surface->k, surface->k + 1},
        .alike = surface->q == NULL,
    };
}
