/** @file
 * The exact leading term of the gap as tau -> 0 [theory: leading term]. */
#ifndef MOEGEOM_LEADING_H
#define MOEGEOM_LEADING_H

#include <moegeom/export.h>
#include <moegeom/law.h>
#include <moegeom/moe.h>
#include <moegeom/risk.h>
#include <moegeom/status.h>
#include <moegeom/teacher.h>

#ifdef __cplusplus
extern "C" {
#endif

/** coefficient * tau^power * exp(-rate/tau). */
typedef struct moeg_leading {
    double coefficient; /**< finite */
    double power;       /**< > 0: the margin exponent alpha; 1 where there is a rate */
    double rate;        /**< >= 0, the smallest margin: 0 where the margin comes down to 0 */
} moeg_leading;

/** The leading term of G(tau) as tau -> 0: G = (leading term) (1 + o(1)) unless its coefficient is 0; for K = 2 and an
 * affine router. delta = f_1 - f_2, J = m_1 - m_2 the jump of m at the interface s = 0.
 *
 * Gaussian law, constant or affine experts, teacher of one such expert: alpha = 1, and m is continuous, J = 0. With
 * S[q] = p_s(0) E[q(X) | s = 0] the coefficient is -S[|delta|^2] of output mixing (the soft risk is below the hard one)
 * and 0 of loss mixing (the gap is O(tau^2)). With a masked expert there is no interface, and it is 0.
 *
 * Law of moeg_law_margin_create(), logits that differ by a multiple of x_1 alone, constant experts, a teacher of one
 * constant expert or a hard mixture (tau = 0) of two that splits at x_1 = 0 too: with P(|s| <= t) ~ C t^alpha and
 * Dirichlet's eta, the coefficient is C Gamma(alpha + 1) {J.delta eta(alpha) - |delta|^2 eta(alpha - 1)}, of loss
 * mixing without the second term. Where |s| > rate, it is C {J.delta - |delta|^2}, of loss mixing without the second
 * term, C the density of |s| there; if J = delta in output mixing, C |delta|^2/2 with twice the rate.
 * @return #MOEG_OK; #MOEG_EINVAL; #MOEG_EUNSUPPORTED (anything else in place of the above); #MOEG_EDOM (s is constant);
 *         #MOEG_ERANGE (also a coefficient that underflows); #MOEG_ENOMEM. leading untouched on error. Cost O(d^2 m).
 */
MOEG_EXPORT moeg_status moeg_leading_term(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                          moeg_mixing mixing, moeg_leading *leading);

#ifdef __cplusplus
}
#endif

#endif
