/* What the accumulators share, moments.c, covariance.c and weighted.c: the checks of units, and tiles of them. */
#ifndef MOEG_BASE_MOMENTS_H
#define MOEG_BASE_MOMENTS_H

#include <float.h>
#include <moegeom/status.h>
#include <stddef.h>

/* Units of a tile: a batch is cut into tiles of this fixed size, each summed in two passes and merged in turn. Each
 * merging rounds the mean once more, so that tiles are large. What is centred is summed by chunks of a tile. */
enum { MOEG_MOMENTS_TILE = 4096, MOEG_MOMENTS_CHUNK = 256 };

/* MOEG_OK, or MOEG_EINVAL: a pointer, p, stride or value that does not fit. Values of a unit whose weight is 0 are not
 * looked at; weights (n) may be NULL. */
moeg_status moeg_check_units(const char *function, size_t p, size_t n, size_t stride, const double *values,
                             const double *weights, const double *state);

/* Mean of n >= 1 values: of equal ones exactly these; of others with the rounding of a sum, which the mean of the
 * deviations from it corrects. */
double moeg_tile_mean(size_t n, const double *x);

/* Mean of n >= 1 values under w, or under w^2 if `squared`; `mass` is the sum of those weights. Values of weight 0 are
 * not looked at. */
double moeg_weighted_tile_mean(size_t n, const double *x, const double *w, int squared, double mass);

/* Whether a value of positive weight is not `mean`; w may be NULL. Means of equal values are these to the bit. */
int moeg_values_differ(size_t n, const double *x, const double *w, double mean);

/* A sum of squared deviations, or a variance, of values that `differ`: not 0 where the squares underflow, so that 0
 * says that all are equal. */
static inline double moeg_keep_spread(double spread, int differ)
{
    return spread == 0 && differ ? DBL_TRUE_MIN : spread;
}

/* The variance of the mean of n > 1 units. */
static inline double moeg_mean_variance(double n, double m2)
{
    return moeg_keep_spread(m2 / (n - 1) / n, m2 > 0);
}

/* One tile into a state of moeg_covariance_size(p). With weights (units), each unit counts w^2 times, and `mass`, sum
 * w^2, stands for the units; without, weights is NULL and mass = units. */
void moeg_covariance_tile(size_t p, size_t units, size_t stride, const double *values, const double *weights,
                          double mass, double *state);

/* moeg_covariance_merge() of a right state whose weights are counted in units of `unit` <= 1 of those of the left: its
 * mass and scatter count unit^2 times. */
void moeg_covariance_merge_scaled(size_t p, double unit, const double *right, double *left);

#endif
