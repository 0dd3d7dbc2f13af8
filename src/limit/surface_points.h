/* Crossings of interfaces by rays and lines, and what a function has there [theory: surface integrals]. */
#ifndef MOEG_LIMIT_SURFACE_POINTS_H
#define MOEG_LIMIT_SURFACE_POINTS_H

#include "line/sampler.h"

#include <moegeom/surface.h>
#include <stdatomic.h>

typedef struct moeg_surface {
    const moeg_rays *rays;
    size_t k, count, d;
    moeg_surface_function q; /* NULL: 1 */
    void *user;
    double *map;      /* (d x r) L Q': how x moves with a point of the row space */
    size_t extra;     /* d where x has a part that the logits do not see, else 0 */
    uint32_t *third;  /* (K x K) moeg_crowded_pairs() */
    atomic_int *what; /* {what q returned, whether ranks k and k + 1 tie everywhere, or never alone} */
} moeg_surface;

/* The quantity whose expectation is S[q]; self is the surface. */
moeg_ray_quantity moeg_surface_quantity(const moeg_surface *surface);

#endif
