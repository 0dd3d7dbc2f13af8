/* Star directions: lines along which one cell of an affine router is met in one ray [theory: star directions].
 *
 * In the frame (frame.h) logits are a_k = constant_k + T_k.u. For cell k the unit vector e that maximises
 * min_j e.(T_k - T_j) is p/|p|, p the point of smallest norm in the convex hull of the T_k - T_j, and the maximum is
 * |p|. If |p| > 0, every a_k - a_j grows along e: a line along e lies in cell k from one point on. */
#ifndef MOEG_LINE_STAR_H
#define MOEG_LINE_STAR_H

#include <moegeom/status.h>
#include <stddef.h>

/* The point of smallest norm in the convex hull of n points (n x r), by Wolfe's active set method: point (r) and its
 * squared norm, right to some 1e-12 of the largest squared norm of a point. MOEG_ENOMEM. Cost O(n r) a step plus
 * O(min(n, r)^3), and some r steps. */
moeg_status moeg_hull_nearest(const char *function, size_t n, size_t r, const double *points, double *point,
                              double *square);

/* A line that meets an interface at a sine below MOEG_STAR_GRAZING meets it seldom and then counts for much: a sample
 * that has not met it knows nothing of its error. Such cells are left to other lines (strata.h), and so are those whose
 * slopes are too different for one set of panels. */
#define MOEG_STAR_GRAZING 0.1
#define MOEG_STAR_FLATTEST 1e-3

/* The star direction of cell k of K: direction (r), slope (K - 1) of a_k - a_j along it, j != k in order, all positive.
 * *exists: 0 if there is none, or if its least slope is below MOEG_STAR_FLATTEST of its
 * largest, or that to a row below MOEG_STAR_GRAZING of their distance; then
 * direction and slope have no meaning. T (K x r), K >= 2, r >= 1. MOEG_ENOMEM. */
moeg_status moeg_star_direction(const char *function, size_t K, size_t r, const double *T, size_t k, double *direction,
                                double *slope, int *exists);

#endif
