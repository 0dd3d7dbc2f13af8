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
 * With A = D^-1 covariance D^-1, D diagonal, of powers of two, and the diagonal of A in [1/4, 1) (or 0, where D is 1),
 * L = D F: F is the Cholesky factor of A; where A is singular, V sqrt(Lambda) from its eigendecomposition, eigenvalues
 * up to d * epsilon times the largest counting as zero. So the units of the coordinates do not matter: diag(1, 1e17) is
 * regular. A coordinate of variance 0 is its mean.
 * @param d           dimension, in [1, 2^32)
 * @param mean        (d), or NULL for 0
 * @param covariance  (d x d), symmetric positive semidefinite, or NULL for the identity
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, d = 0, a value that is not finite, named by its index; not symmetric to 1e-12
 * of the two standard deviations, or not positive semidefinite, saying where, or the eigenvalue of A below -d * epsilon
 * times the largest that tells); #MOEG_ENOMEM; of an A that has no Cholesky factor #MOEG_EFAILED (its eigenvalues did
 * not converge) and #MOEG_ERANGE (d too large for LAPACK). Cost O(d^3); O(d), also in memory, for the identity. */
MOEG_EXPORT moeg_status moeg_law_gaussian_create(moeg_law **law, size_t d, const double *mean,
                                                 const double *covariance);

/** The empirical law of n rows: X is row i with probability 1/n, or weights[i]/sum weights.
 *
 * Sums over it are exact: every estimator visits each row once, and moeg_sampling::n and seed are not used. Its
 * standard errors and intervals are those for the population that the rows were drawn from, independently. Weights are
 * not counts: a row was drawn once, and its weight says how many of the population it stands for (an importance or
 * survey weight; moeg_weighted_means()). A row of weight 0 is as if it were not there.
 * @param x        (n x d), row-major; copied
 * @param weights  (n), finite, >= 0, not all 0, copied; or NULL for equal ones. Only their ratios matter;
 *                 those below 2^-1021 of the largest may be rounded, or to 0
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, n = 0, d = 0, a value that is not finite, named by row and column, a weight
 * that does not fit); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_law_empirical_create(moeg_law **law, size_t n, size_t d, const double *x,
                                                  const double *weights);

/** A mixture of Gaussian laws: X is distributed as component k with probability weights[k]/sum weights.
 *
 * The component of sample i comes from one uniform of its own (draw 0 of unit i of the stream {seed, 2}), by cumulative
 * weights: one of weight 0 is never chosen. The normals are those that a Gaussian law would use, whatever the
 * component: sample i of the mixture is, bit for bit, sample i of one of its components. Keeps the components alive.
 * @param count       components, in [1, 2^32)
 * @param weights     (count), finite, >= 0, not all 0; their sum may be anything
 * @param components  (count), Gaussian laws of the same d; one may stand there more than once
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, a weight or component that does not fit, named by its index); #MOEG_ENOMEM.
 * Cost of a sample O(d^2 + log count), whatever the component; of a block of samples O(count) more. */
MOEG_EXPORT moeg_status moeg_law_mixture_create(moeg_law **law, size_t count, const double *weights,
                                                moeg_law *const *components);

/** The uniform law on a box: X_j = lo_j + (hi_j - lo_j) u_j, u uniform on (0, 1)^d.
 *
 * lo_j <= X_j <= hi_j always, and only rounding can make it an end.
 * @param d   dimension, in [1, 2^32)
 * @param lo  (d), finite
 * @param hi  (d), finite, hi_j > lo_j
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, d, a value that does not fit, named by its index); #MOEG_ERANGE (a side
 * hi_j - lo_j overflows); #MOEG_ENOMEM. Cost of a sample O(d). */
MOEG_EXPORT moeg_status moeg_law_box_create(moeg_law **law, size_t d, const double *lo, const double *hi);

/** Families of a first coordinate s = X_1 with a known margin exponent. The margin of the router a_1 = x_1, a_2 = 0 is
 * |s|, and P(|s| <= t) = C t^alpha (1 + o(1)) as t -> 0, and never more than C t^alpha, with alpha and C as given here;
 * s is symmetric [theory: laws]. */
typedef enum moeg_margin_family {
    /** s = sign(z) |z|^p, z ~ N(0, 1), p the parameter, in (0, 300]: alpha = 1/p, C = sqrt(2/pi). p = 1 is N(0, 1).
     * Above p = 14, |s| may underflow to 0. */
    MOEG_MARGIN_POWER = 0,
    /** Density |s| e^(-s^2/2)/2: alpha = 2, C = 1/2. The radius of two normals, with the sign of the first. The
     * parameter must be 0. */
    MOEG_MARGIN_RAYLEIGH = 1,
    /** s = sign(z) (Delta_0 + |z|), z ~ N(0, 1), Delta_0 >= 0 the parameter: |s| > Delta_0, alpha is infinite. With
     * Delta_0 = 0 this is N(0, 1): alpha = 1, C = sqrt(2/pi). */
    MOEG_MARGIN_BOUNDED = 2
} moeg_margin_family;

/** X_1 = s of one of these families, X_2 .. X_d ~ N(0, 1), all independent.
 *
 * @param d          dimension, in [1, 2^32)
 * @param family     of X_1
 * @param parameter  of the family
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, d, an unknown family, a parameter that does not fit); #MOEG_ENOMEM. Cost of a
 * sample O(d). */
MOEG_EXPORT moeg_status moeg_law_margin_create(moeg_law **law, size_t d, moeg_margin_family family, double parameter);

/** What the latents of a callback law are. */
typedef enum moeg_latent_kind {
    MOEG_LATENT_NORMAL = 0, /**< independent N(0, 1) */
    MOEG_LATENT_UNIFORM = 1 /**< independent, uniform on (0, 1): never 0, never 1 */
} moeg_latent_kind;

/** The map of a callback law: row i of x from row i of z, for n >= 1 rows.
 *
 * Called from several threads at once, with batches of any size: row i of x must be a function of row i of z (and of
 * `user`, which does not change) alone, the same whatever else is in the batch. That is what makes results
 * reproducible. It must return: no longjmp, no exception.
 * @param n     rows
 * @param z     (n x latents), row-major
 * @param x     (n x d), row-major, to be written in full; NaN on entry
 * @param user  as given to moeg_law_callback_create()
 * @return 0; anything else stops the run with #MOEG_ECALLBACK. */
typedef int (*moeg_law_map)(size_t n, const double *z, double *x, void *user);

/** A law of the user's own: X = T(z), z latents. It is handed latents, never a generator: draws 0 .. latents - 1 of
 * unit i of the stream {seed, 0} for sample i (moeg_stream_normals(), moeg_stream_uniforms()).
 *
 * Where X is drawn, a map that returns other than 0 is #MOEG_ECALLBACK, with the value and the samples of its batch in
 * the message; a value that is not finite is #MOEG_ERANGE, with sample and coordinate. Of several failures it is that
 * of the first block of samples, for any number of threads.
 * @param d        dimension, in [1, 2^32)
 * @param latents  latents of a sample, in [1, 2^32)
 * @param kind     of latents
 * @param map      the map T
 * @param user     handed to it; must live as long as the law, and the jobs that hold it
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, d, latents, an unknown kind); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_law_callback_create(moeg_law **law, size_t d, size_t latents, moeg_latent_kind kind,
                                                 moeg_law_map map, void *user);

/** Frees a law (its memory lives on while jobs hold it, and mixtures). NULL is fine. */
MOEG_EXPORT void moeg_law_free(moeg_law *law);

/** Dimension d; 0 of NULL. */
MOEG_EXPORT size_t moeg_law_dim(const moeg_law *law);

/** Rows of an empirical law; 0 for any other, and of NULL. */
MOEG_EXPORT uint64_t moeg_law_rows(const moeg_law *law);

/** Samples first .. first + n - 1 under the seed; of an empirical law, those rows.
 *
 * Sample i is a function of (law, seed, i) alone.
 * @param x  (n x d), row-major
 * @return #MOEG_OK; #MOEG_EINVAL (NULL; rows past the end of the data, or past 2^64); #MOEG_ENOMEM; of a callback law
 * #MOEG_ECALLBACK and #MOEG_ERANGE. x untouched on error; n = 0 is fine. Cost O(n d^2) for Gaussian laws and their
 * mixtures, O(n d) for the identity and the other kinds. Thread-safe. */
MOEG_EXPORT moeg_status moeg_law_sample(const moeg_law *law, uint64_t seed, uint64_t first, size_t n, double *x);

#ifdef __cplusplus
}
#endif

#endif
