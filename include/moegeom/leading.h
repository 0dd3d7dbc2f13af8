/** @file
 * The exact leading term of the gap as tau -> 0 [theory: leading term]. */
#ifndef MOEGEOM_LEADING_H
#define MOEGEOM_LEADING_H

#include <moegeom/estimate.h>
#include <moegeom/export.h>
#include <moegeom/law.h>
#include <moegeom/moe.h>
#include <moegeom/options.h>
#include <moegeom/risk.h>
#include <moegeom/status.h>
#include <moegeom/teacher.h>

#ifdef __cplusplus
extern "C" {
#endif

/** coefficient * tau^power * exp(-rate/tau). */
typedef struct moeg_leading {
    double coefficient; /**< finite */
    double power;       /**< > 0: the margin exponent alpha, or 2 (see below); 1 where there is a rate */
    double rate;        /**< >= 0, the smallest margin: 0 where the margin comes down to 0 */
} moeg_leading;

/** The leading term of G(tau) as tau -> 0: G = (leading term) (1 + o(1)) unless its coefficient is 0; for K = 2, an
 * affine router and any gate. delta = f_1 - f_2, J = m_1 - m_2 the jump of m at the interface s = 0, from the sides of
 * 1 and of 2: 0 if m is one expert, or if its own interface crosses s = 0 or lies apart.
 *
 * Gaussian law, constant or affine experts, teacher of one such expert or a hard mixture (tau = 0) of two: alpha = 1,
 * and with S[q] = p_s(0) E[q(X) | s = 0] and sigma^2 = moeg_teacher_noise() the coefficient is
 *
 * - of gates that sum to 1 (SOFTMAX, k = 2 of TOPK_RENORM and TOPK_RAW, k = 1 of SUBSET), output mixing:
 *   2 ln 2 S[J.delta] - S[|delta|^2], loss mixing: 2 ln 2 S[J.delta];
 * - of TOPK_RAW with k = 1, output: S[2 ln 2 (f_1.m_1 + f_2.m_2) - (ln 2 + 1/2)(|f_1|^2 + |f_2|^2)],
 *   loss: -ln 2 S[|f_1 - m_1|^2 + |f_2 - m_2|^2 + 2 sigma^2];
 * - of gates that tau does not move (TOPK_RENORM with k = 1, SUBSET with k = 2): 0.
 *
 * Where S[J.delta] is 0, by exact arithmetic on the rows of m and the router, loss mixing of gates that sum to 1 is of
 * the second order: power = 2 and the coefficient is -(pi^2/6) d/ds {p_s(s) E[|f_1 - m|^2 - |f_2 - m|^2 | s]} at s = 0
 * (the mean of the two one-sided derivatives where m has a kink there). With a masked expert there is no interface: 0.
 *
 * Law of moeg_law_margin_create(), logits that differ by a multiple of x_1 alone, constant experts, a teacher of one
 * constant expert or a hard mixture of two that splits at x_1 = 0 too: with P(|s| <= t) ~ C t^alpha and Dirichlet's
 * eta, the coefficient is C Gamma(alpha + 1) {A eta(alpha) - B eta(alpha - 1)}, of loss mixing C Gamma(alpha + 1) A
 * eta(alpha). For gates that sum to 1, A = J.delta and B = |delta|^2; for TOPK_RAW with k = 1 B = (|f_1|^2 + |f_2|^2)/2
 * and A = f_1.m_1 + f_2.m_2 - B, of loss mixing A = -(|f_1 - m_1|^2 + |f_2 - m_2|^2)/2 - sigma^2. Where |s| > rate, it
 * is C {A - B}, of loss mixing C A, C the density of |s| there; if A = B in output mixing, because m is the winner's
 * output, C B/2 with twice the rate.
 * @return #MOEG_OK; #MOEG_EINVAL; #MOEG_EUNSUPPORTED (anything else in place of the above); #MOEG_EDOM (s is constant,
 *         and tau moves the gates; fewer experts that are not masked than the gate's k); #MOEG_ERANGE (also a
 *         coefficient that underflows); #MOEG_ENOMEM. leading untouched on error. Cost O(d^2 m). */
MOEG_EXPORT moeg_status moeg_leading_term(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                          moeg_mixing mixing, moeg_leading *leading);

/** The slope of the gap at tau = 0, lim G(tau)/tau, for any number of experts. With S[q] = sum_{i<j} of the integrals
 * of p q/|grad(a_i - a_j)| over the interface of i and j, where the best expert changes (SUBSET: where they have the
 * ranks k and k + 1), and delta = f_i - f_j and J = m_i - m_j across it, it is
 *
 * - of SOFTMAX, TOPK_RENORM and TOPK_RAW with k >= 2: 2 ln 2 S[J.delta] - S[|delta|^2], loss mixing 2 ln 2 S[J.delta];
 * - of SUBSET: 2 ln 2 S[J.delta]/k - S[|delta|^2]/k^2, loss mixing 2 ln 2 S[J.delta]/k;
 * - of TOPK_RAW with k = 1: S[2 ln 2 (f_i.m_i + f_j.m_j) - (ln 2 + 1/2)(|f_i|^2 + |f_j|^2)], loss mixing
 *   -ln 2 S[|f_i - m_i|^2 + |f_j - m_j|^2 + 2 sigma^2];
 * - of gates that tau does not move: 0.
 *
 * Where one line is enough (K = 2, moeg_leading_term()) it is that term's coefficient if its power is 1, 0 if it is
 * more. Else it is for what method LINE is for of moeg_risk_curve(): along the rays of all cells, each interface seen
 * from both sides, or, where these do not apply or s->directions are given, on general lines, which have its integrand
 * where they cross: any gate, experts of any kind, any teacher but one known by rows or behind a router that is not
 * affine. std_error is that over lines, or 0 where everything varies in one or two dimensions. Exactly 0, with no
 * error: loss mixing of gates that sum to 1 and an m that jumps at none of the interfaces, which is decided as for
 * moeg_risk_curve(); another 0 that all lines drawn agree on has no error bar.
 * @param s      method AUTO or LINE
 * @param slope  value untouched on error
 * @return #MOEG_OK; #MOEG_EUNABLE (too few lines for an error bar); #MOEG_ECANCELED (written, over the lines done);
 *         #MOEG_EINVAL (also n < 4 lines a direction, or no row of s->directions sees some tie); #MOEG_EUNSUPPORTED
 *         (MC, or no lines; both reasons in the message; s->directions where none is drawn; three experts that tie
 *         wherever two of them do, where they decide, to rounding); #MOEG_EDOM (as moeg_leading_term(), and where its
 *         power is below 1; experts that tie everywhere where they decide); #MOEG_ERANGE; what experts and teacher
 *         return (moeg_expert_forward()); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_leading_slope(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                           moeg_mixing mixing, const moeg_sampling *s, moeg_estimate *slope);

/** What the gap has beyond its slope at 0: remainders R(tau) = (G(tau) - tau slope)/tau^2, which tend to a constant as
 * tau -> 0.
 *
 * Gap and slope are differences line by line, on rays formed without cancellation, so that the error of R is its own:
 * it does not hold the error of the slope. It grows like tau^(-1/2), for R is made where three experts nearly tie, or
 * the teacher jumps near a tie, on a share of lines of the order of tau; where too few lines are there, the error is
 * that of a larger temperature, scaled. Where nothing is drawn R is the difference of two numbers. Where rounding may
 * have done more than value and error are, the remainder is blank: a NaN between infinite limits, and the status
 * #MOEG_EUNABLE.
 * @param ntau       temperatures, at least 1
 * @param tau        (ntau), each in [1e-300, 1e300], in any order
 * @param slope      as moeg_leading_slope()'s, from the same lines, or NULL
 * @param remainder  (ntau)
 * @return as moeg_leading_slope(); #MOEG_EDOM also for tau = 0. Outputs untouched on error. */
MOEG_EXPORT moeg_status moeg_leading_remainder(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                               moeg_mixing mixing, size_t ntau, const double *tau,
                                               const moeg_sampling *s, moeg_estimate *slope, moeg_estimate *remainder);

#ifdef __cplusplus
}
#endif

#endif
