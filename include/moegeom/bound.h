/** @file
 * Certified bounds on the gap [theory: certified bounds].
 *
 * All come from one inequality. At temperature tau a gate moves the mass T away from the hard choice, and
 *
 *   T <= mu exp(-gap/tau),   mu = K - 1 (SOFTMAX, TOPK_RAW), k - 1 (TOPK_RENORM), K - k (SUBSET),
 *
 * gap being the margin, for SUBSET the top-k gap. So |L_tau - L_0| <= mu E[Q exp(-gap/tau)], where Q bounds what a unit
 * of mass changes. Where a gate cannot change (mu = 0: one expert, TOPK_RENORM with k = 1, SUBSET with k = K) every
 * bound is 0; so it is at tau = 0. K may be the number of experts that are not masked, where the router masks the same
 * ones everywhere; K itself is always valid. */
#ifndef MOEGEOM_BOUND_H
#define MOEGEOM_BOUND_H

#include <moegeom/estimate.h>
#include <moegeom/export.h>
#include <moegeom/gate.h>
#include <moegeom/law.h>
#include <moegeom/moe.h>
#include <moegeom/options.h>
#include <moegeom/risk.h>
#include <moegeom/router.h>
#include <moegeom/status.h>
#include <moegeom/teacher.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The margin condition P(gap <= t) <= C t^alpha for 0 < t <= t0. */
typedef struct moeg_margin_condition {
    double C;     /**< >= 0, finite. */
    double alpha; /**< > 0, finite. */
    double t0;    /**< > 0; infinity if it holds for every t. */
} moeg_margin_condition;

/** Sizes that are never passed, with probability 1. */
typedef struct moeg_output_limits {
    double B;     /**< |f_k(X)| <= B for every k that is not masked; >= 0, finite. */
    double M;     /**< |m(X)| <= M; >= 0, finite. */
    double noise; /**< E[|Y - m(X)|^2 given X] <= noise; >= 0, finite. Of the four gates and two mixings TOPK_RAW with
                       loss mixing alone looks at it: the mass that it drops has no loss, not even that of the noise. */
} moeg_output_limits;

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

/** The bounded form: |L_tau - L_0| <= q mu [ C Gamma(alpha + 1) tau^alpha + exp(-t0/tau) ], q = 4 B (B + M); for
 * TOPK_RAW with loss mixing and k < K the larger of that and (B + M)^2 + noise. A proven bound, no estimate [P1 theorem
 * on the soft-to-hard gap, SOFTMAX; theory: certified bounds, the others].
 *
 * @param condition  on the margin, for SUBSET on the top-k gap
 * @param gate       any of the four
 * @param K          experts, at least 1
 * @param limits     sizes of outputs and noise
 * @param tau        (ntau), >= 0, finite
 * @param bound      (ntau), rounded upward; +inf where it overflows (still a true bound), the smallest double where it
 *        underflows, 0 at tau = 0
 * @return #MOEG_OK; #MOEG_EINVAL (the argument that does not fit, named; bound untouched). Thread-safe. */
MOEG_EXPORT moeg_status moeg_bound_bounded(const moeg_margin_condition *condition, moeg_gate gate, moeg_mixing mixing,
                                           size_t K, const moeg_output_limits *limits, size_t ntau, const double *tau,
                                           double *bound);

/** The moment form, estimated: mu E[Q exp(-gap/tau)], for outputs without bounds and laws without a margin condition.
 *
 * Row by row, of experts that are not masked alone, mu with K that number: Q = max |f_i - f_j| (2 R_j + |f_i - f_j|)
 * over i that mass goes to and j that it comes from. SOFTMAX: j = k*, i the others. TOPK_RENORM: j = k*, i of the k
 * best. TOPK_RAW: the same, and the expert 0, if some are left out. SUBSET: j of the k best, i of the others. R_j = |m
 * - F_0|, F_0 the hard output, for output mixing, |m - f_j| for loss mixing. With TOPK_RAW and loss mixing the mass
 * left out counts |m - f_k*|^2 + moeg_teacher_noise().
 *
 * `hi` is the upper confidence limit: that of the two-sided interval at s->level, so that it is passed with probability
 * (1 - level)/2 only, as far as the normal theory holds. Rules for infinite error bars as in risk.h: of a bound that
 * too few rows feel `hi` is infinite. Under an empirical law `value` is the sum over the data, which bounds their gap
 * whatever the error bar; its weights count as in risk.h. At tau = 0 and for gates that cannot change, the bound is 0
 * with the interval [0, 0].
 * @param tau    (ntau), each 0 or in [1e-300, 1e300]
 * @param bound  (ntau)
 * @return as moeg_risk_curve(); #MOEG_EUNSUPPORTED for method LINE. Cost per row O(d^2 + K m d + ntau), for SUBSET
 *         O(K k m) more. */
MOEG_EXPORT moeg_status moeg_bound_moment(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                          moeg_mixing mixing, size_t ntau, const double *tau, const moeg_sampling *s,
                                          moeg_estimate *bound);

/** The Hoelder form: mu moment^(1/p) [ C Gamma(alpha + 1) (tau/q)^alpha + exp(-q t0/tau) ]^(1/q), 1/p + 1/q = 1, of
 * order tau^(alpha/q): proven if moment >= E Q^p, Q as in moeg_bound_moment().
 *
 * @param p       > 1; infinity: q = 1, and `moment` bounds Q itself
 * @param moment  >= 0, finite
 * @param bound   (ntau), rounded upward as that of moeg_bound_bounded()
 * @return #MOEG_OK; #MOEG_EINVAL (the argument that does not fit, named; bound untouched). Thread-safe. */
MOEG_EXPORT moeg_status moeg_bound_holder(const moeg_margin_condition *condition, moeg_gate gate, size_t K, double p,
                                          double moment, size_t ntau, const double *tau, double *bound);

/** E Q^p for moeg_bound_holder(), estimated; Q as in moeg_bound_moment(). `hi` is its upper confidence limit.
 *
 * contributing: rows with Q > 0. Fewer than #MOEG_ENOUGH_UNITS, or such as weigh by Q^p less than p^2 times so many
 * equal ones, give an infinite error bar. What is left: large Q are rare, and a sample without them has both a small
 * mean and a small error. With just so many rows `hi` is passed in up to 9 % of samples in the place of 2.5 %, with ten
 * times as many in up to 4 % (outputs affine in a normal X, p = 2 to 3). It is no certificate. A gate that cannot
 * change has the moment 0.
 * @param p  > 1, finite
 * @return as moeg_bound_moment(). */
MOEG_EXPORT moeg_status moeg_bound_holder_moment(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                                 moeg_mixing mixing, double p, const moeg_sampling *s,
                                                 moeg_estimate *moment);

/** The data version of the bounded form: q mu U, q as in moeg_bound_bounded() and U the empirical-Bernstein upper limit
 * of E exp(-gap/tau) at s->level (moeg_bernstein_upper()), without a margin condition. Holds at each tau with
 * probability at least s->level, over the samples, or over rows of an empirical law that were drawn from the population
 * whose gap it is, independently of router and experts. It falls with tau down to a floor, U = 7 log(2/(1 - level))/(3
 * (n - 1)). K is that of the router, less the experts that its bias masks.
 *
 * @param tau     (ntau), each 0 or in [1e-300, 1e300]
 * @param bound   (ntau), rounded upward; of a canceled run over the rows done
 * @return #MOEG_OK; #MOEG_ECANCELED; #MOEG_EINVAL; #MOEG_EUNSUPPORTED (method LINE, or an empirical law with unequal
 * weights, of which the inequality does not speak); #MOEG_EDOM (fewer experts that are not masked than the gate's k);
 * #MOEG_ERANGE (logits overflow); #MOEG_ENOMEM; what callbacks return. Cost per row O(d^2 + K d + ntau). */
MOEG_EXPORT moeg_status moeg_bound_bernstein(const moeg_router *router, moeg_gate gate, moeg_mixing mixing,
                                             const moeg_law *law, const moeg_output_limits *limits, size_t ntau,
                                             const double *tau, const moeg_sampling *s, double *bound);

#ifdef __cplusplus
}
#endif

#endif
