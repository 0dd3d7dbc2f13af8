/* Exponent and constant of P(gap <= t) = C t^alpha from the rows up to one width [theory: boundary mass]. */
#ifndef MOEG_LIMIT_BOUNDARY_EXPONENT_H
#define MOEG_LIMIT_BOUNDARY_EXPONENT_H

#include <moegeom/estimate.h>
#include <moegeom/status.h>
#include <stdint.h>

/* Hill's estimate from `felt` rows of n that weigh `weight`, as much as `units` equal rows, and whose log(w/gap), times
 * the rows' weights, add to `sum`; of equal rows weight and units are their number. Without rows, or with all of them
 * at w, no finite exponent is told from any other. MOEG_OK, or MOEG_EUNABLE (written): infinite, or of too few rows. */
typedef struct moeg_boundary_felt {
    uint64_t felt;
    double weight, units, sum;
} moeg_boundary_felt;
moeg_status moeg_boundary_hill(const char *function, uint64_t n, moeg_boundary_felt rows, double level,
                               moeg_estimate *alpha);

/* C = mass/w^alpha from the estimates of both at w > 0. MOEG_OK, or MOEG_EUNABLE (written): C is not in the range of a
 * double. */
moeg_status moeg_boundary_constant(double w, const moeg_estimate *mass, const moeg_estimate *alpha, moeg_estimate *C);

#endif
