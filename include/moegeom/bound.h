/** @file
 * Certified bounds on the gap [theory: certified bounds]. */
#ifndef MOEGEOM_BOUND_H
#define MOEGEOM_BOUND_H

#include <moegeom/export.h>
#include <moegeom/law.h>
#include <moegeom/router.h>
#include <moegeom/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The margin condition P(Delta <= t) <= C t^alpha for 0 < t <= t0. */
typedef struct moeg_margin_condition {
    double C;     /**< >= 0, finite. */
    double alpha; /**< > 0, finite. */
    double t0;    /**< > 0; infinity if it holds for every t. */
} moeg_margin_condition;

/** A margin condition that is proven, with K = 2 and an affine router, rounded so that it stays true.
 *
 * Gaussian law, s ~ N(mean, sigma^2): alpha = 1, every t, and C = 2 p_s(0), which is the smallest there is, if |mean|
 * <= sigma; else C = (1 + e^(-mean^2/(2 sigma^2)))/(sigma sqrt(2 pi)). If one expert is masked or s is constant there
 * is no mass up to t0: C = 0. Law of moeg_law_margin_create(), s = c x_1: its alpha, and its C times |c|^-alpha, every
 * t; if |s| > |c| Delta_0 > 0, C = 0 with t0 = |c| Delta_0 (and any alpha; it is 1).
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, dimensions that do not fit); #MOEG_EUNSUPPORTED (anything else in place of the
 *         above); #MOEG_EDOM (the logits tie everywhere); #MOEG_ERANGE (C or alpha overflow). condition untouched on
 *         error. */
MOEG_EXPORT moeg_status moeg_bound_margin_condition(const moeg_router *router, const moeg_law *law,
                                                    moeg_margin_condition *condition);

/** The bounded form |L_tau - L_0| <= 4 B (B + M) (K - 1) [ C Gamma(alpha + 1) tau^alpha + exp(-t0/tau) ], SOFTMAX
 * gates, both mixings: a proven bound, no estimate [P1 theorem on the soft-to-hard gap].
 *
 * @param K      experts, at least 2
 * @param B      bound on |f_k(X)| for every k, >= 0
 * @param M      bound on |m(X)|, >= 0
 * @param tau    (ntau), >= 0, finite
 * @param bound  (ntau), rounded upward; +inf where it overflows (still a true bound), the smallest double where it
 *        underflows, 0 at tau = 0
 * @return #MOEG_OK; #MOEG_EINVAL (the argument that does not fit, named). Thread-safe. */
MOEG_EXPORT moeg_status moeg_bound_bounded(const moeg_margin_condition *condition, size_t K, double B, double M,
                                           size_t ntau, const double *tau, double *bound);

#ifdef __cplusplus
}
#endif

#endif
