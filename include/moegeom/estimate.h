/** @file
 * Estimates, their intervals, and the accumulators behind them. */
#ifndef MOEGEOM_ESTIMATE_H
#define MOEGEOM_ESTIMATE_H

#include <moegeom/export.h>
#include <moegeom/options.h>
#include <moegeom/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A number with its error bar. There is no estimate without one, and no false zero: a sampled result to which fewer
 * than #MOEG_ENOUGH_UNITS units contributed, or units that weigh no more than as many equal ones (risk.h), gets a
 * Clopper-Pearson interval where the quantity is a probability, else infinite limits and an infinite std_error, and the
 * call returns #MOEG_EUNABLE; so does a mean whose variance is not 0 but below DBL_MIN, where squares underflow. Lines
 * are too few also where they do not know the mean of |value| to 1/sqrt(#MOEG_ENOUGH_UNITS) of itself, for then few of
 * them carry it [theory: lines]; limits of probabilities are then 0 and 1. What hardly a unit meets, a small cell
 * beside large ones or a large loss on few rows, is not in the error bar of a sample that has not met it. */
typedef struct moeg_estimate {
    double value;          /**< The estimate. NaN if no unit was finished (a canceled run). */
    double std_error;      /**< Standard error over units; 0 if all are equal, or none drawn; infinite where unknown. */
    double lo;             /**< Lower end of the two-sided interval at `level`, quad_error included. */
    double hi;             /**< Upper end. */
    double level;          /**< Confidence level of [lo, hi]. */
    double quad_error;     /**< Bound estimate of the quadrature error; 0 where nothing is discretised. */
    uint64_t n;            /**< Units. */
    uint64_t contributing; /**< Units that felt the event: see the quantity's own comment. Of lines that were drawn,
                                those whose value is not 0; all, where it is proven to be 0 on each. */
    moeg_method method;    /**< What was used; never AUTO. */
} moeg_estimate;

/** Fewest contributing units for which a normal-theory interval is given. */
#define MOEG_ENOUGH_UNITS 30

/** Clopper-Pearson interval of a binomial proportion: exact, never shorter than nominal.
 *
 * lo is the p with P(Bin(n, p) >= count) = (1 - level)/2 (0 if count = 0), hi the p with
 * P(Bin(n, p) <= count) = (1 - level)/2 (1 if count = n). lo <= count/n <= hi.
 * @param count  successes, 0 <= count <= n
 * @param n      trials, at least 1, at most 2^53
 * @param level  in (0, 1)
 * @return #MOEG_OK, #MOEG_EINVAL. Each limit p is right to about 1e-12 min(p, 1 - p), or to rounding. Cost: O(1), some
 * 100 microseconds. Thread-safe. */
MOEG_EXPORT moeg_status moeg_clopper_pearson(uint64_t count, uint64_t n, double level, double *lo, double *hi);

/** Half-width of the Dvoretzky-Kiefer-Wolfowitz band: sqrt(log(2/(1 - level))/(2 n)).
 *
 * With probability at least `level`, an empirical distribution function of n units is nowhere farther than this from
 * the true one (Massart's constant).
 * @return #MOEG_OK, #MOEG_EINVAL (n = 0, or level outside (0, 1)). Thread-safe. */
MOEG_EXPORT moeg_status moeg_dkw(uint64_t n, double level, double *half_width);

/** Empirical-Bernstein upper limit of the mean of a variable in [0, range], from n independent units: with
 * L = log(2/(1 - level)) and the sample variance V = m2/(n - 1),
 *
 *   upper = mean + sqrt(2 V L/n) + 7 range L/(3 (n - 1)),
 *
 * or `range` where that is larger, or n = 1. The true mean lies above it with probability at most 1 - level, whatever
 * the distribution [Maurer, Pontil 2009, theorem 4]. Where the variance is small it shrinks like 1/n, not like
 * 1/sqrt(n).
 * @param n         units, at least 1
 * @param mean, m2  of the variable (see moeg_moments_size()): 0 <= mean <= range, m2 >= 0, finite
 * @param range     above 0, finite
 * @param level     in (0, 1), one-sided
 * @param upper     the limit, at most range
 * @return #MOEG_OK; #MOEG_EINVAL (the argument that does not fit, named; upper untouched). Cost O(1). Thread-safe. */
MOEG_EXPORT moeg_status moeg_bernstein_upper(uint64_t n, double mean, double m2, double range, double level,
                                             double *upper);

/** Means and variances of p variables, in one pass, mergeable: a flat state of moeg_moments_size(p) doubles,
 * {n, mean (p), M2 (p)}, M2 the sum of squared deviations from the mean: 0 where all values are equal and nowhere else,
 * at least the least positive double where squares underflow. All zeros is the empty state. The size is SIZE_MAX if it
 * overflows. Differences that matter are formed per unit before they are added: no two large means are subtracted. */
MOEG_EXPORT size_t moeg_moments_size(size_t p);

/** Adds n units to a state of p variables, by a two-pass sweep over the units given and Chan's update.
 *
 * @param values  (p x stride), variable-major: unit i of variable j at values[j * stride + i]; stride >= n
 * @return #MOEG_OK, or #MOEG_EINVAL (NULL, p = 0, stride < n, p stride past the size of memory, a value that is not
 *         finite, named by its index; state untouched). Where a sum overflows the state is no longer finite, which
 * moeg_estimate_mean() reports. Cost O(n p). Allocates nothing. */
MOEG_EXPORT moeg_status moeg_moments_add(size_t p, size_t n, size_t stride, const double *values, double *state);

/** left <- left + right, exactly in n, by Chan's update. Both are states of p variables. Never fails. */
MOEG_EXPORT void moeg_moments_merge(size_t p, const double *right, double *left);

/** As moeg_moments_size(), with the full covariance: {n, mean (p), M2 (p (p + 1)/2)}, M2 the lower triangle by rows. */
MOEG_EXPORT size_t moeg_covariance_size(size_t p);

/** As moeg_moments_add(), with the full covariance. Cost O(n p^2). Allocates nothing. */
MOEG_EXPORT moeg_status moeg_covariance_add(size_t p, size_t n, size_t stride, const double *values, double *state);

/** As moeg_moments_merge(), with the full covariance. */
MOEG_EXPORT void moeg_covariance_merge(size_t p, const double *right, double *left);

/** As moeg_covariance_size(), of units with weights w: {rows, e, W, Q, means under w^2 (p), scatter under w^2 about
 * those, the lower triangle by rows (p (p + 1)/2), means under w (p)}. Rows are the units of positive weight, W = sum w
 * and Q = sum w^2 in units of 2^e and its square, 2^e just above the largest weight. */
MOEG_EXPORT size_t moeg_weighted_size(size_t p);

/** As moeg_covariance_add(), with weights (n), finite, >= 0: a unit of weight 0 is as if it were not there, whatever
 * its values. Only the ratios of weights matter: all of them times a power of two change nothing but e. Cost O(n p^2).
 * Allocates nothing.
 * @return #MOEG_OK; #MOEG_EINVAL as moeg_moments_add(), also for a weight that does not fit. */
MOEG_EXPORT moeg_status moeg_weighted_add(size_t p, size_t n, size_t stride, const double *values,
                                          const double *weights, double *state);

/** As moeg_covariance_merge(), for weighted states. */
MOEG_EXPORT void moeg_weighted_merge(size_t p, const double *right, double *left);

/** Weighted means sum w v/sum w, and their covariance as estimates. Weights are not counts: each unit was drawn once,
 * and its weight says how many it stands for. The mean is a ratio of two sums, and its covariance that of the ratio,
 * linearised, sum w^2 (v - mean)(v - mean)'/(sum w)^2 u/(u - 1), u what the weights are worth (moeg_weighted_units());
 * of equal weights it is that of an ordinary mean.
 *
 * @param mean        (p)
 * @param covariance  (p x p), or NULL; where u = 1, infinite, and NaN beside the diagonal; on it 0 of equal values only
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, p = 0, a state without rows). */
MOEG_EXPORT moeg_status moeg_weighted_means(size_t p, const double *state, double *mean, double *covariance);

/** What the weights of a state are worth in equal units, (sum w)^2/sum w^2 (Kish 1965): from 1 to its rows; 0 of none.
 */
MOEG_EXPORT double moeg_weighted_units(const double *state);

/** The estimate of a mean from n units: value, Student-t interval at `level`, however small, no false zero.
 *
 * @param n             units
 * @param mean, m2      of the variable (see moeg_moments_size())
 * @param contributing  units that felt the event; fewer than #MOEG_ENOUGH_UNITS give an infinite error bar
 * @return #MOEG_OK; #MOEG_EUNABLE (written, with an infinite error bar; also if m2 > 0, m2/(n (n - 1)) < DBL_MIN);
 *         #MOEG_EINVAL (level, n = 0, contributing > n, m2 < 0); #MOEG_ERANGE (mean or m2 not finite). Cost O(1). */
MOEG_EXPORT moeg_status moeg_estimate_mean(uint64_t n, double mean, double m2, uint64_t contributing, double level,
                                           moeg_method method, moeg_estimate *out);

/** The estimate of a weighted mean: as moeg_estimate_mean(), by Student's t with units - 1 degrees of freedom. Units
 * that are worth fewer than #MOEG_ENOUGH_UNITS equal ones give an infinite error bar too.
 *
 * @param n               units of positive weight
 * @param units           what they are worth (moeg_weighted_units()), in [1, n]
 * @param mean, variance  of the mean (moeg_weighted_means())
 * @return as moeg_estimate_mean(); #MOEG_EINVAL also for units outside [1, n], and #MOEG_ERANGE for an infinite
 * variance with units > 1. */
MOEG_EXPORT moeg_status moeg_estimate_weighted_mean(uint64_t n, double units, double mean, double variance,
                                                    uint64_t contributing, double level, moeg_method method,
                                                    moeg_estimate *out);

/** The estimate of a probability from `count` of n units: Clopper-Pearson interval, std_error sqrt(p (1 - p)/n).
 *
 * With count = 0 (or n) std_error is 0 but the interval is not: read the interval. contributing = count.
 * @return #MOEG_OK, #MOEG_EINVAL as moeg_clopper_pearson(). */
MOEG_EXPORT moeg_status moeg_estimate_proportion(uint64_t count, uint64_t n, double level, moeg_method method,
                                                 moeg_estimate *out);

/** The estimate of a probability p from the weights of n units, of which `count` are those of the event: the share
 * sum w/(sum of all w), and the interval of Clopper and Pearson for share * units of `units` equal ones, as Korn and
 * Graubard (1998) have it [theory: laws]. std_error is that of the ratio, linearised; where it is wider than the
 * weights alone would make it, as that of an event with large weights is, fewer units are left: units is the least of
 * (sum w)^2/sum w^2 and p (1 - p)/std_error^2. With equal weights it is moeg_estimate_proportion(). What has not been
 * seen is taken to weigh as much as the rest.
 *
 * @param count    of the n units, those with the event; n counts the units of positive weight
 * @param inside   {sum w, sum w^2} over those, not looked at if count = 0
 * @param outside  the same over the others, not looked at if count = n
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, n = 0, count > n, sums that are not finite, negative, or of no n weights;
 * level). Cost O(1). */
MOEG_EXPORT moeg_status moeg_estimate_weighted_proportion(uint64_t count, uint64_t n, const double *inside,
                                                          const double *outside, double level, moeg_method method,
                                                          moeg_estimate *out);

#ifdef __cplusplus
}
#endif

#endif
