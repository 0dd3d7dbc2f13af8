/* A row space of two dimensions: for each cell a quadrature over the coordinate y perpendicular to its rays. The
 * crossings are lines level_j + slope y, so that what is averaged is smooth between the points where the last two meet;
 * there panels are graded from the width over which it changes. */
#include "line/sampler.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "line/panel.h"

#include <math.h>

/* Beyond, the density is 0 in double. */
static const double EDGE = 38.5;
/* Widest panel, and how far crossings may go along their lines on it: the density is smooth over either. */
static const double WIDEST = 0.5, FARTHEST = 2;
/* Crossings count as level if they are this near, beside their size. */
static const double NEAR = 1e-9;

typedef struct plane {
    const moeg_rays *rays;
    size_t stratum;
    const moeg_ray *ray;
    const moeg_ray_quantity *quantity;
    double normal[2]; /* perpendicular to the rays */
    size_t lines;     /* losers, or twice as many where crossings are shifted too */
    double *level, *slope;
    double *kink;
    size_t kinks;
    double finest, widest;
    double *memory, *sums; /* sums (count x 3) */
    moeg_ray_buffers buffers;
} plane;

/* Whether, within rounding, line a is the last crossing at y, or of those that are shifted that of the rank up to which
 * the gap is below the shift. Where others meet, nothing changes but by what is felt of them: that falls off from an
 * end of the piece, as their lag is convex. */
static int is_limit(const plane *p, size_t a, double y)
{
    const size_t J = p->ray->losers, first = a < J ? 0 : J, rank = a < J ? 1 : p->quantity->gap.lower - 1;
    const double value = p->level[a] + p->slope[a] * y, size = fabs(p->level[a]) + fabs(p->slope[a] * y);
    size_t above = 0, level = 0;
    for (size_t j = first; j < first + J && above < rank; j++) {
        const double difference = p->level[j] + p->slope[j] * y - value;
        /* Of either: a crossing through 0 has no size of its own. */
        const double tolerance = NEAR * (size + fabs(p->level[j]) + fabs(p->slope[j] * y));
        above += difference > tolerance;
        level += fabs(difference) <= tolerance;
    }
    return above < rank && rank <= above + level;
}

/* Where two limits meet. */
static void find_kinks(plane *p)
{
    const double width = p->quantity->width;
    double steepest = 0;
    p->kinks = 0;
    p->widest = WIDEST;
    p->kink[p->kinks++] = -EDGE;
    for (size_t a = 0; a < p->lines; a++) {
        p->widest = fmin(p->widest, FARTHEST / fabs(p->slope[a]));
        for (size_t b = 0; b < a; b++) {
            const double bend = p->slope[a] - p->slope[b], y = (p->level[b] - p->level[a]) / bend;
            steepest = fmax(steepest, fabs(bend));
            if (bend != 0 && fabs(y) < EDGE && is_limit(p, a, y) && is_limit(p, b, y))
                p->kink[p->kinks++] = y;
        }
    }
    p->kink[p->kinks++] = EDGE;
    p->kinks = moeg_panel_merge(p->kinks, p->kink);
    p->finest = width > 0 && steepest > 0 ? fmin(p->widest, width / (p->ray->steepest * steepest)) : p->widest;
}

static int prepare(const moeg_rays *rays, size_t k, const moeg_ray_quantity *quantity, plane *p)
{
    const moeg_ray *ray = &rays->ray[k];
    const size_t J = ray->losers, stride = moeg_round_lanes(MOEG_PANEL);
    *p = (plane){.rays = rays,
                 .stratum = k,
                 .ray = ray,
                 .quantity = quantity,
                 .normal = {-ray->direction[1], ray->direction[0]}};
    p->lines = quantity->shift > 0 ? 2 * J : J;
    p->level = moeg_alloc(2 * p->lines, sizeof *p->level);
    p->kink = moeg_alloc(p->lines * p->lines + 2, sizeof *p->kink);
    p->memory = moeg_alloc_zero(moeg_rays_layout(rays, k, quantity, stride, NULL, &p->buffers), sizeof *p->memory);
    p->sums = moeg_alloc(quantity->count, 3 * sizeof *p->sums);
    if (p->level == NULL || p->kink == NULL || p->memory == NULL || p->sums == NULL)
        return 0;
    p->slope = p->level + p->lines;
    moeg_rays_layout(rays, k, quantity, stride, p->memory, &p->buffers);
    for (size_t j = 0; j < p->lines; j++) {
        const double *tilt = ray->tilt + 2 * (j % J);
        p->level[j] = ray->level[j % J] + (j < J ? 0 : quantity->shift / ray->slope[j % J]);
        p->slope[j] = tilt[0] * p->normal[0] + tilt[1] * p->normal[1];
    }
    find_kinks(p);
    return 1;
}

static void finish(plane *p)
{
    moeg_release(p->level);
    moeg_release(p->kink);
    moeg_release(p->memory);
    moeg_release(p->sums);
}

static void add_panel(plane *p, double anchor, double lo, double hi, moeg_ray_result *result)
{
    moeg_panel_sum(p->rays, p->stratum, p->quantity, p->normal, anchor, lo, hi, &p->buffers, p->sums);
    for (size_t j = 0; j < p->quantity->count; j++) {
        result->value[j] += p->sums[3 * j];
        result->error[j] += p->sums[3 * j + 1] + p->sums[3 * j + 2];
    }
}

/* Panels from a kink outward, to one side (sign) and up to `reach`. */
static void add_side(plane *p, double kink, double sign, double reach, moeg_ray_result *result)
{
    for (double from = 0; from < reach;) {
        const double width = fmin(fmax(p->finest, from), p->widest),
                     to = from + 1.5 * width < reach ? from + width : reach;
        if (sign > 0)
            add_panel(p, kink, from, to, result);
        else
            add_panel(p, kink, -to, -from, result);
        from = to;
    }
}

moeg_status moeg_rays_plane(const char *function, const moeg_rays *rays, const moeg_ray_quantity *quantity,
                            moeg_ray_result *result)
{
    for (size_t k = 0; k < rays->cells; k++) {
        plane p;
        if (!prepare(rays, k, quantity, &p)) {
            finish(&p);
            return moeg_fail_memory(function);
        }
        for (size_t i = 0; i + 1 < p.kinks; i++) {
            const double half = (p.kink[i + 1] - p.kink[i]) / 2;
            add_side(&p, p.kink[i], 1, half, result);
            add_side(&p, p.kink[i + 1], -1, half, result);
        }
        finish(&p);
    }
    return MOEG_OK;
}
