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
 * a rate that grows as 1/tau: iff M is not 0, if there is no decay; below a threshold of tau, if there is. Source:
 * [P3]; thresholds with decay, vector outputs and error bars beyond. */
#ifndef MOEGEOM_SYMMETRY_H
#define MOEGEOM_SYMMETRY_H

#include <moegeom/export.h>
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
 * and 0. (With tau = 0, where v.x = 0 is the first.)
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, sizes of 0, a value that is not finite, v = 0, tau outside its range);
 *         #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_halves_teacher_create(const moeg_halves *halves, moeg_teacher **teacher);

#ifdef __cplusplus
}
#endif

#endif
