/* The rows that felt a temperature, and what they allow to be said of a quantity at that temperature. */
#ifndef MOEG_LIMIT_SUPPORT_H
#define MOEG_LIMIT_SUPPORT_H

#include <moegeom/estimate.h>
#include <moegeom/status.h>
#include <stddef.h>
#include <stdint.h>

/* How many rows felt it, and how many of equal weight would tell as much. */
typedef struct moeg_support {
    uint64_t felt, effective;
} moeg_support;

/* The rows of a state that begins as moeg_moments_size() or, if `weighted`, as moeg_weighted_size() has it, and what
 * they are worth in equal ones: of at most `most` rows, and of exactly so many where none has a weight. MOEG_EINVAL if
 * no rows could have made it. */
moeg_status moeg_support_count(const char *function, uint64_t most, int weighted, const double *state, uint64_t *n,
                               double *units);

/* From a state of n rows: state[felt] is the number, state[weight] and the next the sums of their weights and of the
 * squares of these. MOEG_EINVAL if no rows could have made it. */
moeg_status moeg_support_read(const char *function, const double *state, size_t felt, size_t weight, uint64_t n,
                              moeg_support *out);

/* MOEG_EINVAL if a sum of squares is negative. */
moeg_status moeg_support_squares(const char *function, double m2);

/* moeg_estimate_mean() of n rows that are worth `units` equal ones, m2 as if they were n equal ones, with the rows'
 * support, and what overflowed, `what` at temperature t (SIZE_MAX: at none), named. n = 0 is MOEG_EUNABLE, without a
 * message of its own. */
moeg_status moeg_support_estimate(const char *function, const char *what, size_t t, uint64_t n, double units,
                                  double mean, double m2, moeg_support support, double level, moeg_estimate *out);

/* How many equal rows tell no more than what is worth `units` of them, but for rounding. */
uint64_t moeg_support_rows(double units);

/* A quantity that is 0 whatever the input: no sample can make it doubtful. */
moeg_estimate moeg_support_zero(uint64_t n, double level);

/* Adds the noise of a teacher, which is not sampled, to a risk. MOEG_OK or MOEG_ERANGE. */
moeg_status moeg_support_add_noise(const char *function, double noise, moeg_estimate *risk);

/* MOEG_EUNABLE with its sentence. doubtful: the first of the ntau temperatures at which `what` has no error bar, as
 * too few rows felt it or its variance underflows, or ntau if it is a mean over all rows that has none: they, or their
 * weights, which are worth `units` equal ones, may be too few. */
moeg_status moeg_support_unable(const char *function, const char *what, size_t ntau, const double *tau,
                                const moeg_support *support, uint64_t n, double units, size_t doubtful);

/* From a weighted state (moeg_weighted_size()) of p variables the state that equal weights would have left with these
 * means and this covariance of them, or, if not `triangle`, these variances: sums of squares are n (n - 1) times the
 * variances. out may not be in. MOEG_OK or MOEG_ENOMEM. */
moeg_status moeg_support_unweight(const char *function, size_t p, int triangle, const double *in, double *out);

#endif
