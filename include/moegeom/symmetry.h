/** @file
 * Symmetry breaking: how two experts that are alike part [theory: symmetry breaking].
 *
 * Experts f+ = f + h and f- = f - h behind a router of logits a_1 - a_2 = u.x mix, at temperature tau, to
 * f + tanh(u.x/(2 tau)) h, with a contrast h = c.psi(x) of each output over p features. Around the symmetric state u =
 * 0, c = 0, with f the best symmetric expert of its class and r = m - f its residual,
 *
 *     L(u, c) = L(0, 0) - u' M c/tau + ...,    M = E[ X (r(X) psi(X)) ]    (d x m p),
 *
 * the column of feature j of output o at o p + j. Gradient flow of L = E |Y - output|^2 (no factor 1/2) with rates eta
 * and decay lambda, u' = (eta_u/tau) M c - lambda_u u, c' = (eta_c/tau) M'u - lambda_c c, leaves the symmetric state at
 * a rate that grows as 1/tau: iff M is not 0, if there is no decay; below a threshold of tau, if there is.
 *
 * Source: [P1]; thresholds with decay, vector outputs and error bars beyond. */
#ifndef MOEGEOM_SYMMETRY_H
#define MOEGEOM_SYMMETRY_H

#include <moegeom/estimate.h>
#include <moegeom/export.h>
#include <moegeom/law.h>
#include <moegeom/options.h>
#include <moegeom/status.h>
#include <moegeom/teacher.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The class of the symmetric expert, the best of which, by least squares, is f. */
typedef enum moeg_symmetric {
    MOEG_SYMMETRIC_ZERO = 0,     /**< f = 0. */
    MOEG_SYMMETRIC_CONSTANT = 1, /**< A constant. */
    MOEG_SYMMETRIC_LINEAR = 2,   /**< Linear in x, without an intercept. */
    MOEG_SYMMETRIC_AFFINE = 3    /**< Affine in x. */
} moeg_symmetric;

/** The kinds of features psi of a contrast. */
typedef enum moeg_contrast_kind {
    MOEG_CONTRAST_CONSTANT = 0, /**< (1). */
    MOEG_CONTRAST_LINEAR = 1,   /**< x. */
    MOEG_CONTRAST_AFFINE = 2,   /**< (1, x). */
    MOEG_CONTRAST_USER = 3      /**< Your own. */
} moeg_contrast_kind;

/** Features of your own, of n >= 1 rows.
 *
 * Called from several threads at once, with batches of any size: row i of psi must be a function of row i of x alone.
 * It must return: no longjmp, no exception.
 * @param n     rows
 * @param x     (n x d), row-major
 * @param psi   (n x p), row-major, to be written in full
 * @param user  as given to moeg_contrast_user()
 * @return 0; anything else stops the run with #MOEG_ECALLBACK. */
typedef int (*moeg_features_function)(size_t n, const double *x, double *psi, void *user);

/** A contrast: make one with one of the four functions below. */
typedef struct moeg_contrast {
    moeg_contrast_kind kind;         /**< Which features. */
    size_t features;                 /**< p of your own, at least 1; else not looked at. */
    moeg_features_function function; /**< Your own; else not looked at. */
    void *user;                      /**< Handed to function. */
} moeg_contrast;

/** psi = (1). Never fails. */
MOEG_EXPORT moeg_contrast moeg_contrast_constant(void);

/** psi = x. Never fails. */
MOEG_EXPORT moeg_contrast moeg_contrast_linear(void);

/** psi = (1, x). Never fails. */
MOEG_EXPORT moeg_contrast moeg_contrast_affine(void);

/** p features of your own. Never fails: functions that take a contrast check it. */
MOEG_EXPORT moeg_contrast moeg_contrast_user(size_t p, moeg_features_function function, void *user);

/** p for x in d dimensions; 0 of a kind that is none, and of NULL. */
MOEG_EXPORT size_t moeg_contrast_features(const moeg_contrast *contrast, size_t d);

/** A teacher in two halves, Y_o = t(v.x) (beta_o.x + mu_o), o < m: t(s) = tanh(s/(2 tau)), or sign(s) at tau = 0. */
typedef struct moeg_halves {
    size_t d;           /**< At least 1. */
    size_t outputs;     /**< m, at least 1. */
    const double *v;    /**< (d), not 0. */
    const double *beta; /**< (m x d), row-major. */
    const double *mu;   /**< (m), or NULL: 0. */
    double tau;         /**< 0, or in [1e-300, 1e300]. */
} moeg_halves;

/** The same as a teacher for everything else: a mixture of two affine experts, +-(beta x + mu), behind the logits v.x
 * and 0. (With tau = 0, where v.x = 0 is the first.) Y is the weighted sum of the two, known to about 1e-16 |beta x +
 * mu|: where tau is so large that t(v.x) is about that small, it is rounding.
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, sizes of 0, a value that is not finite, v = 0, tau outside its range);
 *         #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_halves_teacher_create(const moeg_halves *halves, moeg_teacher **teacher);

/** M in closed form, of a teacher in halves under a Gaussian law of mean 0 and any covariance, features constant,
 * linear or affine: through E[z tanh(z/(2 s))] and E[z^3 tanh(z/(2 s))], z ~ N(0, 1), by quadrature to rounding.
 * @param M  (d x m p), row-major
 * @return #MOEG_OK; #MOEG_EINVAL (as moeg_halves_teacher_create(); a kind or class that is none; a law of another
 *         dimension); #MOEG_EUNSUPPORTED (a law that is not Gaussian, or has another mean; features of your own);
 *         #MOEG_EDOM (v.x does not vary, to rounding); #MOEG_ERANGE (an overflow); #MOEG_ENOMEM. Cost O(m d (d + p)).
 */
MOEG_EXPORT moeg_status moeg_symmetry_closed(const moeg_halves *halves, const moeg_law *law, moeg_symmetric symmetric,
                                             const moeg_contrast *contrast, double *M);

/** Y as a function of a = v.x and b = w.x.
 * @param n     points, at least 1
 * @param a, b  (n) each
 * @param y     (n x m), row-major, to be written in full; NaN on entry
 * @param user  as given to moeg_symmetry_plane()
 * @return 0; anything else stops the run with #MOEG_ECALLBACK. */
typedef int (*moeg_plane_function)(size_t n, const double *a, const double *b, double *y, void *user);

/** M of any teacher that is a function of two coordinates, by quadrature over their plane under a Gaussian law of any
 * mean and covariance; the rest is integrated exactly. Y may jump at v.x = 0, or change there within any width;
 * elsewhere, and along b, it is to be smooth over distances of the order of a standard deviation of v.x and of w.x.
 * Features constant, linear or affine.
 * @param v      (d), not 0
 * @param w      (d), may be 0 or a multiple of v: then b adds nothing
 * @param m      outputs, at least 1
 * @param y      Y; called from this thread, some 3000 times with 420 points (1 if b adds nothing)
 * @param M      (d x m p), row-major
 * @param error  (d x m p), or NULL: what quadrature and rounding may have done to each entry, an estimate: the
 * difference to a poorer rule, what lies between 9 and 10 standard deviations, and the roundings' sizes
 * @return #MOEG_OK; #MOEG_EUNABLE (written: an error is above 1e-8 of the sizes of the terms of M); #MOEG_EINVAL (NULL,
 * v = 0, m = 0, a value that is not finite, a kind or class that is none); #MOEG_EUNSUPPORTED (a law that is not
 *         Gaussian; features of your own); #MOEG_EDOM (v.x does not vary, to rounding; class LINEAR, a singular
 * covariance and a mean other than 0: M jumps where the mean leaves the support); #MOEG_ERANGE (Y is not finite; an
 *         overflow); #MOEG_ECALLBACK; #MOEG_ENOMEM. Cost of 1.2e6 points, and O(d (d + m p)). */
MOEG_EXPORT moeg_status moeg_symmetry_plane(const moeg_law *law, const double *v, const double *w, size_t m,
                                            moeg_plane_function y, void *user, moeg_symmetric symmetric,
                                            const moeg_contrast *contrast, double *M, double *error);

/** M of any teacher under any law, by sampling, f fitted to the same rows by least squares [theory: symmetry breaking].
 * Method MC (AUTO: MC). Rows go by once for the fit and again for M, and where the third moments of the law are not
 * known (any law but a Gaussian one, or features of your own) some of them for these; progress is told of each of these
 * passes. Up to 32 MiB of rows are kept from one pass to the next, more are drawn again: memory does not grow with n
 * (but by 8 bytes for each row of data). Of a teacher with noise only m(X) matters.
 *
 * Under a sampled law the sums of x r psi are divided by n less the number of coefficients of the class: residuals of a
 * fit are that much too small. Under an empirical law M is the sum over its rows, exactly, f the best expert for these
 * (and their weights), and error bars are those for the population that the rows were drawn from (law.h).
 *
 * Error bars are over 64 to 127 groups of rows (fewer rows are a group each): of each the mean of x r psi, less what a
 * refit to that group alone would take from it, A[delta] = E[x psi' (delta.(1, x))], delta to first order. A is exact
 * where third moments are known, else from as many rows as cost 4 times what the products of M do, and at least 64 for
 * each coefficient. Rows of data are put in an order of chance first, always the same, so that it does not matter how
 * they are sorted. Rows that are worth (law.h) fewer than #MOEG_ENOUGH_UNITS beyond the number of coefficients, or
 * groups fewer than so many, have infinite error bars. Of a class that is linear in x, or affine, M of the feature 1 is
 * 0 whatever the rows are. They rest on what the rows show: under very skewed laws few rows rarely show the tail, and
 * 95 % error bars may cover far less (57 % for Y = |x| under 0.95 N(0, 1) + 0.05 N(3, 64) and 200 rows).
 * @param M  (d x m p) estimates, row-major; contributing: all rows
 * @return #MOEG_OK; #MOEG_EUNABLE (written: too few rows for error bars, a square of one below the range of doubles,
 *         or a tolerance that n rows do not reach);
 *         #MOEG_ECANCELED (written, over the rows done in the last pass); #MOEG_EINVAL (also dimensions that do not
 *         fit, a data teacher without its empirical law); #MOEG_EUNSUPPORTED (method LINE); #MOEG_EDOM (the best expert
 *         of the class is not unique: more coefficients than rows, or x confined to a plane, to rounding); #MOEG_ERANGE
 *         (an overflow; a feature of yours that is not finite, or was not written); #MOEG_ECALLBACK; #MOEG_ENOMEM.
 *         Cost per row O(d (d + m p)), memory O(d (d + m p)) a thread, and O(d^2 p) for third moments. */
MOEG_EXPORT moeg_status moeg_symmetry_sample(const moeg_teacher *teacher, const moeg_law *law, moeg_symmetric symmetric,
                                             const moeg_contrast *contrast, const moeg_sampling *s, moeg_estimate *M);

/** Singular values of M (d x q), and the pair of the largest, which grows fastest.
 *
 * @param d, q       at least 1
 * @param M          (d x q), row-major
 * @param tolerance  in [0, 1): singular values of at least (1 - tolerance) times the largest count as the largest;
 * rounding alone needs some 1e-12
 * @param sigma      (min(d, q)), decreasing
 * @param u          (d), or NULL: the left vector of the largest, its entry of largest modulus positive
 * @param c          (q), or NULL: the right vector of the largest, M'u/sigma
 * @param multiple   or NULL: how many singular values are the largest; if more than 1, u and c are one pair of many (of
 *                   M = 0 all are 0, and u and c any)
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, a size of 0, a value that is not finite, a tolerance outside [0, 1));
 *         #MOEG_EFAILED (no convergence); #MOEG_ERANGE (too large for LAPACK); #MOEG_ENOMEM. Cost O(d q min(d, q)). */
MOEG_EXPORT moeg_status moeg_symmetry_spectrum(size_t d, size_t q, const double *M, double tolerance, double *sigma,
                                               double *u, double *c, size_t *multiple);

/** The modulus of the cosine between a vector v (d), not 0, and the directions of u that grow fastest: the least and
 * the most over all of these. Where the largest singular value is simple both are |u.v|/|v|; where it is multiple, u
 * may have any direction in a plane or more, and the least is 0.
 * @param tolerance  as in moeg_symmetry_spectrum()
 * @return as moeg_symmetry_spectrum(); #MOEG_EDOM if M = 0, which has no such direction. */
MOEG_EXPORT moeg_status moeg_symmetry_alignment(size_t d, size_t q, const double *M, double tolerance, const double *v,
                                                double *least, double *most);

/** Rates and decays of the flow. Of a router of two rows that each move at the rate eta, and experts likewise: eta_u =
 * 2 eta, eta_c = eta/2. */
typedef struct moeg_symmetry_rates {
    double eta_u;    /**< Of u; above 0. Default 1. */
    double eta_c;    /**< Of c; above 0. Default 1. */
    double lambda_u; /**< Decay of u; at least 0. Default 0. */
    double lambda_c; /**< Decay of c; at least 0. Default 0. */
} moeg_symmetry_rates;

/** The default rates: 1, 1 and no decay. Never fails. */
MOEG_EXPORT moeg_symmetry_rates moeg_symmetry_rates_default(void);

/** The largest growth rate around the symmetric state, output mixing, of the largest singular value sigma:
 * -(lambda_u + lambda_c)/2 + sqrt(((lambda_u - lambda_c)/2)^2 + eta_u eta_c sigma^2/tau^2), without cancellation at the
 * threshold. Negative: the state is stable. Without decay, sqrt(eta_u eta_c) sigma/tau.
 * @param sigma  finite, at least 0
 * @param tau    in [1e-300, 1e300]
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, sigma, tau or rates outside their ranges); #MOEG_ERANGE (an overflow). */
MOEG_EXPORT moeg_status moeg_symmetry_growth(double sigma, double tau, const moeg_symmetry_rates *rates,
                                             double *growth);

/** The temperature below which the symmetric state is left, output mixing: sigma sqrt(eta_u eta_c/(lambda_u lambda_c));
 * infinite without decay of u or of c; 0 if sigma is 0, whose growth rate is nowhere above 0.
 * @return as moeg_symmetry_growth(). */
MOEG_EXPORT moeg_status moeg_symmetry_threshold(double sigma, const moeg_symmetry_rates *rates, double *tau);

/** The largest growth rate with loss mixing, whose second order also has c_o' Psi c_o for each output o, Psi =
 * E[psi psi']: the largest eigenvalue of [[-lambda_u, eta_u M/tau], [eta_c M'/tau, -2 eta_c Psi - lambda_c]], to
 * rounding of the largest modulus of an eigenvalue.
 * @param d, m, p  sizes of x, outputs and features, at least 1
 * @param M        (d x m p)
 * @param Psi      (p x p), symmetric, positive semidefinite; moeg_symmetry_feature_gram()
 * @param tau      in [1e-300, 1e300]
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, a size of 0, a value that is not finite or outside its range, a Psi that is not
 *         symmetric to 1e-12 of its largest entry, or not positive semidefinite to rounding); #MOEG_EFAILED (no
 *         convergence); #MOEG_ERANGE (an overflow; too large for LAPACK); #MOEG_ENOMEM. Cost O((d + m p)^3). */
MOEG_EXPORT moeg_status moeg_symmetry_growth_loss(size_t d, size_t m, size_t p, const double *M, const double *Psi,
                                                  double tau, const moeg_symmetry_rates *rates, double *growth);

/** The temperature below which the symmetric state is left, loss mixing: the largest singular value of
 * M (2 eta_c Psi + lambda_c)^(-1/2), times sqrt(eta_u eta_c/lambda_u). Infinite if lambda_u = 0 and M is not 0, or if
 * lambda_c = 0 and M has a part in what Psi leaves out; 0 if M = 0.
 * @return as moeg_symmetry_growth_loss(). Cost O(p^3 + d m p^2 + d m p min(d, m p)). */
MOEG_EXPORT moeg_status moeg_symmetry_threshold_loss(size_t d, size_t m, size_t p, const double *M, const double *Psi,
                                                     const moeg_symmetry_rates *rates, double *tau);

/** Psi = E[psi psi'] (p x p) of features constant, linear or affine under a Gaussian law.
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, a kind that is none); #MOEG_EUNSUPPORTED (another law; features of your own);
 *         #MOEG_ERANGE (an overflow). */
MOEG_EXPORT moeg_status moeg_symmetry_feature_gram(const moeg_law *law, const moeg_contrast *contrast, double *Psi);

/** The velocity of u (d) at u = 0 under a contrast c (q): (eta_u/tau) M c.
 * @param eta_u  finite, above 0
 * @param tau    in [1e-300, 1e300]
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, a size of 0, a value that is not finite or outside its range); #MOEG_ERANGE (an
 *         overflow); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_symmetry_drift(size_t d, size_t q, const double *M, const double *c, double eta_u,
                                            double tau, double *velocity);

#ifdef __cplusplus
}
#endif

#endif
