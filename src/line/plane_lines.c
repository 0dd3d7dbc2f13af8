/* A row space of two dimensions: for each stratum of lines a quadrature over the coordinate y perpendicular to them.
 * What is averaged is smooth between the corners of the levels (vertex.h); between those, panels are halved until two
 * rules agree. */
#include "line/sampler.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "line/panel.h"
#include "line/vertex.h"

#include <math.h>

/* Beyond EDGE the density is 0 in double; within BULK it is all but 1e-18 of the probability. */
static const double EDGE = 38.5, BULK = 9;
/* Widest panels to begin with, in the bulk and outside. */
static const double WIDEST = 1, WIDEST_OUTSIDE = 4;
/* A panel is halved until its error is this share of the whole. */
static const double ENOUGH = 1e-14;
/* A tie that lies so nearly along the lines that it is crossed within a panel: tangent of the angle. It is within this
 * reach of the middle of lines for as small a part of a panel, which must not slip between its nodes. */
static const double STEEP = 0.1, REACH = 8;

/* Where it is not smooth for all that, halving ends after so many panels of a stratum: the error then says so. */
enum { DEPTH = 44, MOST_HALVED = 1 << 13 };

typedef struct plane {
    const moeg_rays *rays;
    size_t l; /* of the lines */
    const moeg_ray_quantity *quantity;
    double normal[2]; /* perpendicular to the lines */
    double *kink;
    size_t kinks, halved;
    double finest;
    unsigned char *pairs; /* (K x K) that decide anywhere */
    double *size;         /* (count) what errors are measured by */
    double *sums;         /* (DEPTH + 1) x {integral, difference of rules, rounding} (count) */
    double *memory;
    moeg_ray_buffers buffers;
} plane;

static void add_kink(plane *p, double y)
{
    if (fabs(y) < EDGE)
        p->kink[p->kinks++] = y;
}

/* The pair that has all of the lines' share; 0 if others have some. */
static int is_of_pair(const plane *p)
{
    return p->rays->lines.sharing == MOEG_SHARING_PAIR;
}

/* Whether the tie of two experts may bound what the lines see. */
static int is_bound(const plane *p, size_t i, size_t j)
{
    const moeg_stratum *s = &p->rays->lines.stratum[p->l];
    return !is_of_pair(p) || i == s->i || i == s->j || j == s->i || j == s->j;
}

/* Where a tie at an angle to the lines, `turn` its tangent, comes within reach, is in the middle, and goes. */
static void add_passage(plane *p, double middle, double turn)
{
    add_kink(p, middle - REACH * turn);
    add_kink(p, middle);
    add_kink(p, middle + REACH * turn);
}

/* Ties along the lines, or nearly so. */
static void add_steep(plane *p)
{
    const moeg_strata *strata = &p->rays->lines;
    const moeg_stratum *s = &strata->stratum[p->l];
    const double shift = p->quantity->shift;
    for (size_t i = 0; i < strata->K; i++)
        for (size_t j = 0; j < i; j++) {
            const double *a = s->tilt + 2 * i, *b = s->tilt + 2 * j;
            const double across = (a[0] - b[0]) * p->normal[0] + (a[1] - b[1]) * p->normal[1];
            const double level = strata->constant[i] - strata->constant[j];
            const double turn = fabs(s->slope[i] - s->slope[j]) / fabs(across);
            if (!is_bound(p, i, j) || !(turn < STEEP))
                continue;
            add_passage(p, -level / across, turn);
            if (shift > 0) {
                add_passage(p, (shift - level) / across, turn);
                add_passage(p, (-shift - level) / across, turn);
            }
        }
}

static void find_kinks(const moeg_vertices *vertices, plane *p)
{
    const moeg_strata *strata = &p->rays->lines;
    const moeg_stratum *s = &strata->stratum[p->l];
    double steepest = 0;
    p->kinks = 0;
    p->kink[p->kinks++] = -EDGE;
    p->kink[p->kinks++] = EDGE;
    for (size_t i = 0; i < vertices->count; i++)
        if (!is_of_pair(p) || moeg_vertices_decide(vertices, i, s->i, s->j))
            add_kink(p, vertices->point[2 * i] * p->normal[0] + vertices->point[2 * i + 1] * p->normal[1]);
    add_steep(p);
    p->kinks = moeg_panel_merge(p->kinks, p->kink);
    for (size_t k = 0; k < 2 * strata->K; k++)
        steepest = fmax(steepest, fabs(p->rays->frame.logits[0].T[k]));
    p->finest = p->quantity->width > 0 ? fmin(WIDEST, p->quantity->width / steepest) : WIDEST;
}

static int prepare(const moeg_rays *rays, const moeg_ray_quantity *quantity, const moeg_vertices *vertices, plane *p)
{
    const size_t K = rays->lines.K, stride = moeg_round_lanes(MOEG_PANEL), count = quantity->count;
    *p = (plane){.rays = rays, .quantity = quantity};
    p->kink = moeg_alloc(vertices->count + 5 * K * K + 2, sizeof *p->kink);
    p->pairs = moeg_alloc(K, K * sizeof *p->pairs);
    p->size = moeg_alloc_zero(count, sizeof *p->size);
    p->sums = moeg_alloc(3 * (DEPTH + 1), count * sizeof *p->sums);
    p->memory =
        moeg_alloc_zero(moeg_rays_layout(rays, rays->cells, quantity, stride, NULL, &p->buffers), sizeof *p->memory);
    if (p->kink == NULL || p->pairs == NULL || p->size == NULL || p->sums == NULL || p->memory == NULL)
        return 0;
    moeg_rays_layout(rays, rays->cells, quantity, stride, p->memory, &p->buffers);
    return 1;
}

static void finish(plane *p)
{
    moeg_release(p->kink);
    moeg_release(p->pairs);
    moeg_release(p->size);
    moeg_release(p->sums);
    moeg_release(p->memory);
}

/* The sums of a panel of this depth. */
static const double *sum_panel(plane *p, double lo, double hi, size_t depth)
{
    double *sums = p->sums + 3 * p->quantity->count * depth;
    moeg_panel_sum(p->rays, p->rays->cells + p->l, p->quantity, p->normal, 0, lo, hi, &p->buffers, sums);
    return sums;
}

/* Recursive: halves are halved again. */
static void add_panel(plane *p, double lo, double hi, size_t depth, moeg_ray_result *result)
{
    const double *sums = sum_panel(p, lo, hi, depth), middle = lo + (hi - lo) / 2;
    int enough = 1;
    for (size_t j = 0; j < p->quantity->count; j++)
        enough = enough && !(sums[3 * j + 1] > ENOUGH * p->size[j] + sums[3 * j + 2]);
    if (!enough && depth < DEPTH && p->halved < MOST_HALVED && middle > lo && middle < hi) {
        p->halved++;
        add_panel(p, lo, middle, depth + 1, result);
        add_panel(p, middle, hi, depth + 1, result);
        return;
    }
    for (size_t j = 0; j < p->quantity->count; j++) {
        result->value[j] += sums[3 * j];
        result->error[j] += sums[3 * j + 1] + sums[3 * j + 2];
    }
}

/* All panels: their sizes alone (result NULL), or their integrals. */
static void walk(plane *p, moeg_ray_result *result)
{
    for (size_t i = 0; i + 1 < p->kinks; i++) {
        const double lo = p->kink[i], hi = p->kink[i + 1];
        for (double from = lo; from < hi;) {
            /* From either kink outward. */
            const double distance = fmin(from - lo, (hi - from) / 2),
                         most = fabs(from) < BULK ? WIDEST : WIDEST_OUTSIDE;
            const double width = fmin(fmax(p->finest, distance), most);
            const double to = from + 1.5 * width < hi ? from + width : hi;
            if (result != NULL) {
                add_panel(p, from, to, 0, result);
            } else {
                const double *sums = sum_panel(p, from, to, 0);
                for (size_t j = 0; j < p->quantity->count; j++)
                    p->size[j] += fabs(sums[3 * j]);
            }
            from = to;
        }
    }
}

/* All that a stratum sees. */
static void walk_stratum(plane *p, const moeg_vertices *vertices, moeg_ray_result *result)
{
    const moeg_stratum *s = &p->rays->lines.stratum[p->l];
    if (is_of_pair(p) && !p->pairs[s->i * p->rays->lines.K + s->j])
        return;
    p->normal[0] = -s->direction[1];
    p->normal[1] = s->direction[0];
    p->halved = 0;
    find_kinks(vertices, p);
    walk(p, result);
}

moeg_status moeg_rays_plane_lines(const char *function, const moeg_rays *rays, const moeg_ray_quantity *quantity,
                                  moeg_ray_result *result)
{
    const moeg_strata *strata = &rays->lines;
    moeg_vertices vertices = {0};
    plane p = {0};
    if (strata->count == 0)
        return MOEG_OK;
    moeg_status status = moeg_vertices_find(function, &rays->frame, quantity->gap, quantity->shift, &vertices);
    if (status == MOEG_OK && !prepare(rays, quantity, &vertices, &p))
        status = moeg_fail_memory(function);
    if (status == MOEG_OK)
        status = moeg_vertices_pairs(function, &rays->frame, quantity->gap, &vertices, p.pairs);
    for (size_t j = 0; j < quantity->count && status == MOEG_OK; j++)
        p.size[j] = fabs(result->value[j]);
    for (int pass = 0; pass < 2 && status == MOEG_OK; pass++)
        for (p.l = 0; p.l < strata->count; p.l++)
            walk_stratum(&p, &vertices, pass == 0 ? NULL : result);
    finish(&p);
    moeg_vertices_free(&vertices);
    return status;
}
