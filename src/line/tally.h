/* What pairs of lines say of the values that they have: the state of a sampled job (sampler.c), stratum by stratum. */
#ifndef MOEG_LINE_TALLY_H
#define MOEG_LINE_TALLY_H

#include <moegeom/status.h>
#include <stddef.h>
#include <stdint.h>

/* What came out: of `count` values. Lines 1 where none was drawn at random: then only values and errors matter. */
typedef struct moeg_ray_result {
    uint64_t lines;
    double *value, *error;  /* (count): expectations, and the means of the quadrature errors */
    double *covariance;     /* (count x count), of the values as estimates */
    double *freedom;        /* (count): degrees of freedom of each variance (Welch and Satterthwaite) */
    uint64_t *contributing; /* (count): lines whose value is not 0 */
    double *seen;           /* (count): <|v|>^2 over the variance of the estimate <|v|>, v the mean of a pair */
} moeg_ray_result;

/* Room for `count` values, zeroed. MOEG_ENOMEM. */
moeg_status moeg_ray_result_init(const char *function, size_t count, moeg_ray_result *result);
void moeg_ray_result_free(moeg_ray_result *result);

/* Doubles of the state of one stratum: the covariance state of the values of its pairs, then of each value the sum of
 * errors, the sum of |v| and the lines that contribute. All zeros is the empty state. */
size_t moeg_tally_size(size_t count);

/* Pairs i < n of lines i and stride/2 + i: values and errors (count x stride), the values left as those of pairs.
 * MOEG_EINVAL if one is not finite, MOEG_OK. */
moeg_status moeg_tally_add(size_t count, size_t n, size_t stride, double *values, const double *errors, double *state);

void moeg_tally_merge(size_t count, const double *right, double *left);

/* Sums over strata of means, of the covariances of means, and of errors, to a result of zeros; lines of a stratum that
 * none reached, in a canceled run, leave no number. */
void moeg_tally_read(size_t strata, size_t count, const double *states, moeg_ray_result *result);

/* The sum of squared deviations of value j, less `slope` times the last of the `count` values. */
double moeg_tally_scatter(size_t count, const double *state, size_t j, double slope);

/* Of states of count + 1 values the regression of the others, as sums over each group of neighbouring strata, on the
 * last, where that is half of their variance; else 0: slope (strata x count), the same in all strata of a group. */
void moeg_tally_slopes(size_t strata, const uint32_t *group, size_t count, const double *states, double *slope);

/* The same as moeg_tally_read() of states of count + 1 values, the last of which has means that add up to 1 over each
 * group of neighbouring strata: of the others less their slopes times that (control variates). The slopes are to be
 * from other lines: of the same ones they would follow their errors. */
void moeg_tally_read_controlled(size_t strata, const uint32_t *group, size_t count, const double *states,
                                const double *slope, moeg_ray_result *result);

#endif
