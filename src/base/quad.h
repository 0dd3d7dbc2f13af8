/* One-dimensional quadrature by Gauss-Legendre panels graded around a point [theory: graded quadrature]. */
#ifndef MOEG_BASE_QUAD_H
#define MOEG_BASE_QUAD_H

#include <moegeom/status.h>
#include <stddef.h>

/* Values of `count` integrands (output, count) at abscissa centre + offset. Offsets are handed over, not abscissas, so
 * that a feature of width 1e-12 around the centre is resolved exactly. */
typedef void (*moeg_quad_function)(double offset, void *user, double *values);

/* Integrals over offsets [lo, hi], lo <= 0 <= hi not required, of `count` functions at once. Panels start at width
 * `finest` on both sides of offset 0 and double outward until they are `widest`.
 *
 * error[j]: the difference between this rule and the same with half as many nodes a panel … an honest estimate, plus
 * rounding (epsilon times the sum of magnitudes). integral (count), error (count) or NULL. MOEG_EINVAL (finest <= 0,
 * widest < finest, lo > hi, not finite), MOEG_ENOMEM. Cost: panels * 30 calls. */
moeg_status moeg_quad_graded(moeg_quad_function f, void *user, size_t count, double lo, double hi, double finest,
                             double widest, double *integral, double *error);

#endif
