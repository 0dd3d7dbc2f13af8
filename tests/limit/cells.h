/* Routers for lines: five experts in three dimensions, the last one inside the hull of the others, so that its cell is
 * bounded and has no star; and one drawn at random, as the speed claims have it, whose cells all have one. */
#ifndef MOEG_TESTS_LIMIT_CELLS_H
#define MOEG_TESTS_LIMIT_CELLS_H

#include "support/check.h"
#include "support/random.h"

#include <moegeom/law.h>
#include <moegeom/router.h>

/* The first four alone are the corners of a tetrahedron. */
static const double five_rows[5 * 3] = {1, 1, 1, 1, -1, -1, -1, 1, -1, -1, -1.3, 1, 0.1, -0.05, 0.02};
static const double five_biases[5] = {0.2, 0, -0.3, 0.1, 1.1};
static const double tilted_mean[3] = {0.2, -0.1, 0.3};
static const double tilted_covariance[9] = {1.1, 0.3, 0, 0.3, 0.7, 0.1, 0, 0.1, 0.9};

/* Under N(0, I), or `tilted`. */
static inline void five_cells(int tilted, moeg_router **router, moeg_law **law)
{
    assert_ok(moeg_router_affine_create(router, 5, 3, five_rows, five_biases));
    assert_ok(moeg_law_gaussian_create(law, 3, tilted ? tilted_mean : NULL, tilted ? tilted_covariance : NULL));
}

/* Entries of W and b are N(0, 1/D). */
enum { DRAWN_K = 8, DRAWN_D = 32 };

static inline void draw_cells(uint64_t *seed, moeg_router **router, moeg_law **law)
{
    double W[DRAWN_K * DRAWN_D], b[DRAWN_K];
    for (int i = 0; i < DRAWN_K * DRAWN_D; i++)
        W[i] = next_normal(seed) / sqrt(DRAWN_D);
    for (int i = 0; i < DRAWN_K; i++)
        b[i] = next_normal(seed) / sqrt(DRAWN_D);
    assert_ok(moeg_router_affine_create(router, DRAWN_K, DRAWN_D, W, b));
    assert_ok(moeg_law_gaussian_create(law, DRAWN_D, NULL, NULL));
}

#endif
