/* Intervals that chapters need and users do not. */
#ifndef MOEG_BASE_INTERVAL_H
#define MOEG_BASE_INTERVAL_H

#include <moegeom/status.h>
#include <stdint.h>

/* moeg_clopper_pearson(), naming `function` in its errors. */
moeg_status moeg_interval_binomial(const char *function, uint64_t count, uint64_t n, double level, double *lo,
                                   double *hi);

/* Clopper and Pearson's interval of a weighted share, of as many equal units as the weights are worth,
 * (sum w)^2/sum w^2 (Korn and Graubard 1998); of whole numbers it is that of moeg_interval_binomial(). MOEG_EINVAL
 * (units outside [1, 2^53], share outside [0, 1], level). */
moeg_status moeg_interval_share(const char *function, double share, double units, double level, double *lo, double *hi);

/* Two-sided interval of a scale that is `value` times Gamma(count)/count, as 2 count alpha_true/alpha ~ chi^2(2 count)
 * of Hill's estimator: value times the chi^2(2 count) quantiles at (1 -+ level)/2 over 2 count. value > 0. At small
 * levels, where the upper quantile is below `value`, widened to hold it: lo <= value <= hi.
 * MOEG_EINVAL (count = 0 or above 2^53, level outside (0, 1), value not positive and finite; `function` named). Cost
 * O(1). */
moeg_status moeg_interval_gamma(const char *function, uint64_t count, double value, double level, double *lo,
                                double *hi);

/* MOEG_OK, or MOEG_EINVAL: "function: level must be in (0, 1), got 1". */
moeg_status moeg_check_level(const char *function, double level);

#endif
