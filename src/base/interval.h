/* Intervals that chapters need and users do not. */
#ifndef MOEG_BASE_INTERVAL_H
#define MOEG_BASE_INTERVAL_H

#include <moegeom/status.h>
#include <stdint.h>

/* moeg_clopper_pearson(), naming `function` in its errors. */
moeg_status moeg_interval_binomial(const char *function, uint64_t count, uint64_t n, double level, double *lo,
                                   double *hi);

/* Its limits for real numbers of successes and failures, which say what a weighted share tells; at least 1 in all.
 * Widened to hold `share`, successes over both. */
void moeg_interval_share(double count, double failures, double share, double level, double *lo, double *hi);

/* The variance of a share as the ratio of two sums of weights, times the square of all of them: `inside` and `outside`
 * are the sums of their squares, left = 1 - share. */
static inline double moeg_share_scatter(double share, double left, double inside, double outside)
{
    return inside * left * left + outside * share * share;
}

/* Two-sided interval of a scale that is `value` times Gamma(count)/count, as 2 count alpha_true/alpha ~ chi^2(2 count)
 * of Hill's estimator: value times the chi^2(2 count) quantiles at (1 -+ level)/2 over 2 count. value > 0. At small
 * levels, where the upper quantile is below `value`, widened to hold it: lo <= value <= hi.
 * The count need not be whole: of weights, it is what they are worth in equal ones.
 * MOEG_EINVAL (count below 1 or above 2^53, level outside (0, 1), value not positive and finite; `function` named).
 * Cost O(1). */
moeg_status moeg_interval_gamma(const char *function, double count, double value, double level, double *lo, double *hi);

/* MOEG_OK, or MOEG_EINVAL: n outside [1, 2^53], or count > n. */
moeg_status moeg_check_count(const char *function, uint64_t count, uint64_t n);

/* MOEG_OK, or MOEG_EINVAL: "function: level must be in (0, 1), got 1". */
moeg_status moeg_check_level(const char *function, double level);

#endif
