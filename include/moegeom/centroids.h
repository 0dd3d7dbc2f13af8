/** @file
 * k-means, read as an affine router. */
#ifndef MOEGEOM_CENTROIDS_H
#define MOEGEOM_CENTROIDS_H

#include <moegeom/export.h>
#include <moegeom/router.h>
#include <moegeom/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** k-means++ seeding (Arthur, Vassilvitskii 2007), then Lloyd's iteration until no row changes its centroid.
 *
 * Ties go to the lowest index. A centroid that loses all its rows is put on the row farthest from its own centroid. At
 * the end every centroid is the mean of its rows and every row is at its nearest centroid. A function of (x, weights,
 * K, seed) alone, whatever the number of threads (as OpenMP decides); the draws are those of stream {seed, 1}.
 * Distances are formed from differences: data far from the origin lose nothing.
 * @param x           (n x d), row-major, finite
 * @param weights     (n), finite, >= 0, not all 0: of rows in seeding and in means; a row of weight 0 is assigned, and
 * is else as if it were not there. NULL: all 1
 * @param K           centroids, 1 <= K <= number of distinct rows of positive weight
 * @param centroids   (K x d)
 * @param assignment  (n), or NULL
 * @param iterations  Lloyd sweeps done, or NULL
 * @return #MOEG_OK; #MOEG_EUNABLE (10000 sweeps did not suffice; written); #MOEG_EINVAL (NULL, a size of 0, K > n, a
 * value not finite, a weight that does not fit); #MOEG_EDOM (fewer than K distinct rows: says how many); #MOEG_ERANGE
 * (squared distances overflow, or all underflow); #MOEG_ENOMEM. Cost O(n K d) a sweep, memory O(n d). Thread-safe. */
MOEG_EXPORT moeg_status moeg_centroids(size_t n, size_t d, const double *x, const double *weights, size_t K,
                                       uint64_t seed, double *centroids, size_t *assignment, size_t *iterations);

/** The affine router of K centroids: a_k(x) = c_k.x - |c_k|^2/2, so that the hard router picks the nearest centroid and
 * a_j - a_k = (|x - c_k|^2 - |x - c_j|^2)/2. Rounding of a logit is of order epsilon |c| (|x| + |c|): centre data that
 * lie far from the origin first.
 *
 * @param centroids  (K x d), row-major, finite
 * @return as moeg_router_affine_create(); #MOEG_ERANGE (a squared norm overflows). Cost O(K d). */
MOEG_EXPORT moeg_status moeg_router_centroids_create(moeg_router **router, size_t K, size_t d, const double *centroids);

#ifdef __cplusplus
}
#endif

#endif
