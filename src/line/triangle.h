/* Rows as a lower triangle times orthonormal ones, with what rounding makes of their rank. */
#ifndef MOEG_LINE_TRIANGLE_H
#define MOEG_LINE_TRIANGLE_H

#include <float.h>
#include <math.h>
#include <stddef.h>

/* What sums over d coordinates lose of their terms. */
static inline double moeg_triangle_rounding(size_t d)
{
    return 4 * DBL_EPSILON * sqrt((double)d);
}

/* The lower triangle of rows (count x d) by Householder reflections, row by row, in place; those of the r dimensions
 * found stay in v (r x d). Each row is first scaled by a power of two, kept in `exponent`, so that no square over- or
 * underflows. A row whose rest is no more than the rounding of the differences that it came from takes no reflection,
 * and no dimension: that rest is cut off. Where rounding is known to be more, `lost` (count), so is what that may be,
 * with that of the dimensions before; of those, lost / norm is kept in its place. */
size_t moeg_triangulate(size_t count, size_t d, double *row, double *lost, int *exponent, double *v);

/* Q, the first r rows of the product of the reflections, the last first. */
void moeg_triangle_basis(size_t d, size_t r, const double *v, double *Q);

#endif
