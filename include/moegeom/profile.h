/** @file
 * Profiled experts: the best experts for a fixed partition. */
#ifndef MOEGEOM_PROFILE_H
#define MOEGEOM_PROFILE_H

#include <moegeom/expert.h>
#include <moegeom/export.h>
#include <moegeom/router.h>
#include <moegeom/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What was fitted in one cell. */
typedef struct moeg_cell_fit {
    size_t rows;     /**< Rows in the cell, of positive weight; 0 gives the zero expert. */
    size_t rank;     /**< Rank of the centred features found, <= min(rows - 1, d). */
    int deficient;   /**< 1 if the slopes are not unique (rank < d): the minimum-norm solution was taken. */
    double residual; /**< Sum over the cell of w |y - f(x)|^2, f the expert returned, evaluated on the rows. */
} moeg_cell_fit;

/** Affine experts by least squares inside each cell of the hard router: argmin_f sum_{i: k*(x_i) = k} w_i |y_i -
 * f(x_i)|^2, with intercept. Where the slopes are not unique those of minimum norm are taken (the intercept is free and
 * not in the norm, so that shifting x or y changes nothing else), and this is reported.
 *
 * Features and outputs are centred in the cell (by Helmert contrasts, which leave rows - 1 equations) and the problem
 * is solved by SVD; singular values up to max(rows - 1, d) * epsilon times the largest count as zero, and so do those
 * up to sqrt(rows) * epsilon * max |x_ij|, over the columns that vary in the cell: that much of x is rounding, and
 * columns that depend on each other but for their rounding are found dependent however far they lie from the origin.
 * Columns are not scaled: the minimum norm is that of the slopes in the units of x, and a column that varies by less
 * than the rounding of another is not seen.
 * @param x        (n x d), row-major, finite, d the router's
 * @param y        (n x m), row-major, finite
 * @param weights  (n) w, finite, >= 0; a row of weight 0 is as if it were not there. NULL: all 1
 * @param experts  (K) handles, each to be freed with moeg_expert_free()
 * @param fit      (K), or NULL
 * @return #MOEG_OK (deficient cells too: look at fit); #MOEG_EINVAL; #MOEG_ERANGE; #MOEG_ENOMEM; #MOEG_EFAILED (the SVD
 *         did not converge). On error no handle is written. Cost O(n d (d + m)), memory O(n (d + m)). Thread-safe. */
MOEG_EXPORT moeg_status moeg_profile_hard(const moeg_router *router, size_t n, const double *x, size_t m,
                                          const double *y, const double *weights, moeg_expert **experts,
                                          moeg_cell_fit *fit);

#ifdef __cplusplus
}
#endif

#endif
