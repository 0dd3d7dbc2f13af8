/* One-dimensional quadrature by Gauss-Kronrod panels graded around a point [theory: graded quadrature]. */
#ifndef MOEG_BASE_QUAD_H
#define MOEG_BASE_QUAD_H

#include <moegeom/status.h>
#include <stddef.h>

/* Values of `count` integrands (output, count) at abscissa centre + offset. Offsets are handed over, not abscissas, so
 * that a feature of width 1e-12 around the centre is resolved exactly. */
typedef void (*moeg_quad_function)(double offset, void *user, double *values);

/* Integrals over offsets [lo, hi] of `count` functions at once; offset 0 need not lie inside. Panels start at width
 * `finest` on both sides of offset 0 and double outward until they are `widest`, each with the 21-point Kronrod rule:
 * what changes over distances of the order of its distance to offset 0 (plus `finest`), or of `widest`, is integrated
 * to rounding. A kink or a peak elsewhere than at offset 0, narrower than its panel, is not what this is for.
 *
 * error[j]: the sum over panels of the difference to the 10-point Gauss rule on half of the nodes, which is the error
 * of that much poorer rule, and 4 epsilon times the integral of |f_j|, for rounding here and in f. An estimate, no
 * bound: the true error is far below it where f is as above, and near it where the panels are too wide.
 * integral (count), error (count) or NULL; equal parts of opposite sign on the two sides cancel exactly.
 * MOEG_EINVAL (finest <= 0, widest < finest, lo > hi, not finite, |lo| or |hi| past 2^20 widest), MOEG_ERANGE (an
 * integrand is not finite, or an integral overflows), MOEG_ENOMEM. Outputs untouched on error. Cost: 21 calls a panel,
 * in a fixed order. */
moeg_status moeg_quad_graded(moeg_quad_function f, void *user, size_t count, double lo, double hi, double finest,
                             double widest, double *integral, double *error);

/* The rule of one panel, on [-1, 1]: nodes >= 0, those of 0 < node stand for two; weight in the Kronrod rule, and in
 * the Gauss rule (0 at the nodes that it does not have). */
typedef struct moeg_quad_node {
    double node, kronrod, gauss;
} moeg_quad_node;
enum { MOEG_QUAD_NODES = 11 };
extern const moeg_quad_node moeg_quad_rule[MOEG_QUAD_NODES];

#endif
