/* Expectations over lines: E h(X) = sum over cells k of E [ integral over the ray of cell k of density(t) h ] [theory:
 * line sampling]. Cells are strata: a pilot finds how much each varies, and lines go where that is most (Neyman), with
 * a share for all. */
#ifndef MOEG_LINE_SAMPLER_H
#define MOEG_LINE_SAMPLER_H

#include "line/frame.h"
#include "line/ray.h"

#include <moegeom/job.h>
#include <moegeom/options.h>
#include <stdint.h>

/* The rays of all cells of a router. */
typedef struct moeg_rays {
    moeg_frame frame;
    size_t cells, r;
    moeg_ray *ray; /* (cells) */
} moeg_rays;

/* Where a line meets the ray of its cell (ray.h): a block of `stride` lines. */
typedef struct moeg_ray_block {
    size_t stride;
    double *u, *t, *lag; /* (r), (1), (losers) */
    uint32_t *active;    /* (1) */
} moeg_ray_block;

/* What is averaged: integrals over the ray of a line. */
typedef struct moeg_ray_quantity {
    size_t count; /* of values that a line has */
    /* Doubles of scratch that a block takes, in cell k. */
    size_t (*workspace)(const void *self, const moeg_ray *ray, size_t stride);
    /* values (count x stride) and bounds on their quadrature errors, likewise. */
    void (*evaluate)(const void *self, const moeg_ray *ray, const moeg_ray_block *block, double *workspace,
                     double *values, double *errors);
    const void *self;
    size_t aim, aims; /* the values whose errors lines are dealt out to make small: aims of them from aim on; 0: all */
    /* For the plane alone, r = 2, where the values are smooth but for kinks of a crossing that is shifted by
     * shift/slope_j, and change over lengths of `width`/slope around those; 0: do not. */
    double shift, width;
} moeg_ray_quantity;

/* What came out: of `count` values. Lines 1 and covariance 0 where no line was drawn at random. */
typedef struct moeg_ray_result {
    uint64_t lines;
    double *value, *error; /* (count): expectations, and the means of the quadrature errors */
    double *covariance;    /* (count x count), of the values as estimates */
    double *freedom;       /* (count): degrees of freedom of each variance (Welch and Satterthwaite) */
} moeg_ray_result;

/* *refusal: NULL if every cell of the router has a star and the law is Gaussian, else why not; the rays are made on the
 * way. To be freed with moeg_rays_free(), whatever the refusal. MOEG_ENOMEM, MOEG_ERANGE. */
moeg_status moeg_rays_init(const char *function, const moeg_router *router, const moeg_law *law, moeg_rays *rays,
                           const char **refusal);
void moeg_rays_free(moeg_rays *rays);

/* The expectations. One line is enough for r = 1; r = 2 leaves a quadrature over the other coordinate; else s->n lines
 * are drawn, in pairs (an odd one is left out), 4 or more a cell. MOEG_OK; MOEG_ECANCELED (written, over the lines
 * done); MOEG_EINVAL (n too small), MOEG_ENOMEM. To be freed with moeg_ray_result_free(). */
moeg_status moeg_rays_expect(const char *function, const moeg_rays *rays, const moeg_ray_quantity *quantity,
                             const moeg_sampling *s, moeg_ray_result *result);
void moeg_ray_result_free(moeg_ray_result *result);

/* r = 2: the expectations by quadrature over the coordinate perpendicular to each cell's rays (plane.c). */
moeg_status moeg_rays_plane(const char *function, const moeg_rays *rays, const moeg_ray_quantity *quantity,
                            moeg_ray_result *result);

/* Doubles that a block of `stride` lines takes: u, t, lag, active, values, errors and scratch, laid out from `base`. */
typedef struct moeg_ray_buffers {
    moeg_ray_block block;
    double *values, *errors, *scratch;
} moeg_ray_buffers;
size_t moeg_ray_layout(const moeg_ray *ray, const moeg_ray_quantity *quantity, size_t stride, double *base,
                       moeg_ray_buffers *buffers);

#endif
