/* Exponent and constant of P(gap <= t) = C t^alpha from the rows up to one width [theory: boundary mass]. */
#ifndef MOEG_LIMIT_BOUNDARY_EXPONENT_H
#define MOEG_LIMIT_BOUNDARY_EXPONENT_H

#include <moegeom/estimate.h>
#include <moegeom/status.h>
#include <stdint.h>

/* Rows up to w: `felt` of them, of the weight `weight`; their L = log(w/gap), times the weights v, add to `sum`. Of
 * rows that are `weighted` also sums of v^2, and of v L^2, v^2 L and v^2 L^2. */
typedef struct moeg_boundary_felt {
    uint64_t felt;
    int weighted;
    double weight, sum, squares, curve[3];
} moeg_boundary_felt;

/* Hill's estimate of n rows. Without rows, or with all of them at w, no finite exponent is told from any other.
 * MOEG_OK, or MOEG_EUNABLE (written): infinite, or of too few rows. */
moeg_status moeg_boundary_hill(const char *function, uint64_t n, const moeg_boundary_felt *rows, double level,
                               moeg_estimate *alpha);

/* C = mass/w^alpha from the estimates of both at w > 0. MOEG_OK, or MOEG_EUNABLE (written): C is not in the range of a
 * double. */
moeg_status moeg_boundary_constant(double w, const moeg_estimate *mass, const moeg_estimate *alpha, moeg_estimate *C);

#endif
