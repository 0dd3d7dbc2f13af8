/* Estimates from what lines say (line/sampler.h). */
#ifndef MOEG_LIMIT_RAY_ESTIMATE_H
#define MOEG_LIMIT_RAY_ESTIMATE_H

#include "line/tally.h"

#include <moegeom/estimate.h>

/* The estimate of value j of a result of `count`: of lines drawn at random, or of one that is exact up to quadrature.
 * Its error bar is unknown if fewer than MOEG_ENOUGH_UNITS lines contribute, or if the mean of |value| is not known to
 * 1/sqrt(MOEG_ENOUGH_UNITS) of itself: then a few lines carry it. If none contributes, the value is 0 whatever the line
 * and all count, unless it is `rare`: then lines may have missed what there is. That is so unless algebra tells that it
 * is 0. MOEG_OK or MOEG_EUNABLE (the error bar is unknown). */
moeg_status moeg_ray_estimate(const moeg_ray_result *result, size_t count, size_t j, int rare, double level,
                              moeg_estimate *out);

/* Values that few lines make: what a gap over tau has beyond its leading term, of order 1 on a share of lines of the
 * order of tau. Where lines do not meet them, what is known is the leading term and the rest at a larger temperature.
 */
typedef struct moeg_ray_rest {
    size_t lead, reference; /* which values these are; lead = count: 0 whatever the line */
    int known;              /* whether lines enough are there at the larger temperature */
    double share;           /* the temperature over the larger one */
    double scale;           /* from lead and reference to the units of the value */
} moeg_ray_rest;

/* Makes the variance of value `at` of a result of `count` at least that of the leading term and the share of the
 * reference's, and it no better known than these are, but for a rest that is far below the leading term: a leading term
 * that is 0 on all lines may have been missed. */
void moeg_ray_judge_rest(const moeg_ray_rest *rest, size_t count, size_t at, moeg_ray_result *result);

/* Makes its error bar unknown. */
void moeg_ray_forget(moeg_estimate *e);

/* 0 whatever the line. */
moeg_estimate moeg_ray_zero(uint64_t lines, double level);

/* The covariance `value` of two estimates of a curve, which may be one and the same: where an error bar is infinite it
 * is unknown, infinity if they are the same and else NaN, but 0 beside an estimate without error. */
double moeg_ray_covariance(const moeg_estimate *a, const moeg_estimate *b, double value);

/* Says, of n estimates (or NULL) of a run that ended with `status`, that `lines` are too few, where that is what is
 * wrong: else it is a tolerance that was not reached, which has been said. */
void moeg_ray_explain(const char *function, moeg_status status, uint64_t lines, size_t n, const moeg_estimate *all);

#endif
