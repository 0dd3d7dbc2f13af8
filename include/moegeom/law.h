/** @file
 * Laws: distributions of the input x, each a map from latents.
 *
 * Sizes whose product no memory could hold are #MOEG_EINVAL, here and in all of this chapter. */
#ifndef MOEGEOM_LAW_H
#define MOEGEOM_LAW_H

#include <moegeom/export.h>
#include <moegeom/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A law of X in R^d: immutable, safe to share between threads. */
typedef struct moeg_law moeg_law;

/** X = mean + L z, z ~ N(0, I_d), L L' = covariance [theory: laws].
 *
 * L is the Cholesky factor; of a singular covariance, V sqrt(Lambda) from its eigendecomposition, eigenvalues below
 * d * epsilon times the largest counting as zero.
 * @param d           dimension, in [1, 2^32)
 * @param mean        (d), or NULL for 0
 * @param covariance  (d x d), symmetric positive semidefinite, or NULL for the identity
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, d = 0, a value that is not finite, named by its index; not symmetric to 1e-12
 * of its largest entry, or not positive semidefinite, saying where or by how much); #MOEG_ENOMEM; of a covariance that
 * has no Cholesky factor #MOEG_EFAILED (its eigenvalues did not converge) and #MOEG_ERANGE (d too large for LAPACK).
 * Cost O(d^3); O(d), also in memory, for the identity. */
MOEG_EXPORT moeg_status moeg_law_gaussian_create(moeg_law **law, size_t d, const double *mean,
                                                 const double *covariance);

/** The empirical law of n rows: X is row i with probability 1/n.
 *
 * Sums over it are exact: every estimator visits each row once, and moeg_sampling::n and seed are not used. Its
 * standard errors and intervals are those for the population that the rows were drawn from, independently.
 * @param x  (n x d), row-major; copied
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, n = 0, d = 0, a value that is not finite, named by row and column);
 *         #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_law_empirical_create(moeg_law **law, size_t n, size_t d, const double *x);

/** Frees a law (its memory lives on while jobs hold it). NULL is fine. */
MOEG_EXPORT void moeg_law_free(moeg_law *law);

/** Dimension d; 0 of NULL. */
MOEG_EXPORT size_t moeg_law_dim(const moeg_law *law);

/** Rows of an empirical law; 0 for any other, and of NULL. */
MOEG_EXPORT uint64_t moeg_law_rows(const moeg_law *law);

/** Samples first .. first + n - 1 under the seed; of an empirical law, those rows.
 *
 * Sample i is a function of (law, seed, i) alone.
 * @param x  (n x d), row-major
 * @return #MOEG_OK; #MOEG_EINVAL (NULL; rows past the end of the data, or past 2^64); #MOEG_ENOMEM. x untouched on
 * error; n = 0 is fine. Cost O(n d^2), O(n d) for the identity and for data. Thread-safe. */
MOEG_EXPORT moeg_status moeg_law_sample(const moeg_law *law, uint64_t seed, uint64_t first, size_t n, double *x);

#ifdef __cplusplus
}
#endif

#endif
