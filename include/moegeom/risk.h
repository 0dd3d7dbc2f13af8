/** @file
 * Soft risk L_tau, hard risk L_0 and the gap between them [theory: risks]. */
#ifndef MOEGEOM_RISK_H
#define MOEGEOM_RISK_H

#include <moegeom/estimate.h>
#include <moegeom/export.h>
#include <moegeom/job.h>
#include <moegeom/law.h>
#include <moegeom/moe.h>
#include <moegeom/options.h>
#include <moegeom/status.h>
#include <moegeom/teacher.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How the experts' outputs are mixed before they are judged. */
typedef enum moeg_mixing {
    MOEG_MIX_OUTPUT = 0, /**< L_tau = E |Y - sum_k g_k f_k|^2 */
    MOEG_MIX_LOSS = 1    /**< L_tau = E sum_k g_k |Y - f_k|^2 */
} moeg_mixing;

/** Soft risks L_tau, the hard risk L_0 = E |Y - f_{k*}|^2 and the gaps G(tau) = L_tau - L_0, from one pass.
 *
 * The gap is formed row by row as -2 D.(m - f_{k*}) + |D|^2, D = sum_{k != k*} g_k (f_k - f_{k*}) (output mixing):
 * L_tau and L_0 are never subtracted. The noise of a teacher, sigma^2 = moeg_teacher_noise(), is in the risks, exactly:
 * hard and soft have sigma^2 more than what is sampled. The gap has none of it, but for #MOEG_GATE_TOPK_RAW with loss
 * mixing, whose gates do not sum to 1: there -sigma^2 E[1 - sum_k g_k] is in the gap and in the soft risk.
 *
 * Method LINE of two experts (AUTO where it applies) leaves one integral over s = a_1 - a_2, a graded quadrature;
 * std_error is 0 and quad_error bounds what quadrature and rounding may have done. It is for K = 2, an affine router
 * and any gate, and
 *
 * - a Gaussian law, constant or affine experts, and a teacher of one such expert or a hard mixture (tau = 0) of two,
 *   whose interface may be that of the router, parallel to it or oblique; or
 * - a law of moeg_law_margin_create(), logits that differ by a multiple of x_1 alone, constant experts, and a teacher
 * of one constant expert or a hard mixture of two that splits at x_1 = 0 too.
 *
 * Where two interfaces are the same is decided in exact arithmetic on the rows of the routers; where a singular
 * covariance confines x, on what is left of them there, to rounding. A soft risk far below the hard one is an integral
 * of its own, and keeps its digits.
 *
 * LINE also does K > 2: SOFTMAX, an affine router whose rows are all corners of their hull (in the
 * metric of the law), a Gaussian law, constant or affine experts and a teacher of one such, or a hard mixture of such
 * whose pieces are the cells of the router: its logits are those of the router times one positive factor plus one
 * affine function, exactly, with the same masks. Lines run along the star direction of each expert, which meets its
 * cell in one ray [theory: star directions]; along a ray the integral is a quadrature at any tau, and the error does
 * not grow as tau -> 0. Logits that differ in two dimensions leave one more quadrature (std_error 0); else units are
 * lines, s->n of them in all, in antithetic pairs (an odd one is left out), and std_error is that over pairs;
 * `contributing` counts the lines whose gap, or risk, is not 0. Where every tie is far from the mean of the law, more
 * lines are drawn around those that are nearest [theory: far ties]; s->n too small for that is #MOEG_EINVAL.
 *
 * Where an affine router under a Gaussian law has no such rays, LINE takes general lines [theory: nodes on a line]: any
 * of the gates, experts of any kind, cells without a star, and a teacher that is an expert, a soft mixture, or a hard
 * one behind an affine router, which may jump where the router ties or elsewhere. Units, pairs and error bars are as
 * above, along directions that between them see every tie, or along s->directions, with which they are taken in the
 * place of rays too. All temperatures of the grid share one set of nodes; quad_error is honest for what varies along a
 * line, but sees only by its two rules that an expert has a kink, or that a soft teacher's own temperature is small.
 * Experts and teachers that are not affine are evaluated at the nodes, hundreds for a line and 40 more a decade from
 * the largest to the smallest tau, and the hard risk is then that of one point a line. A gap or risk that is 0 on all
 * lines is no zero, but has no error bar, unless algebra proves it: no temperature moves the gates, or experts are one
 * affine map; m is the hard model itself. Logits that vary in one or two dimensions are integrated over these
 * (std_error 0) if nothing else has to be drawn: experts and teacher are affine, or d is no more. Gaps of loss mixing
 * have, beside the error of tau times the slope, that of a remainder, which is all of it where m jumps at no tie
 * (moeg_leading_remainder()); where m may jump at one, but too few lines met that, they have no error bar.
 *
 * AUTO is LINE along rays, and along general lines if experts and teacher are all constant or affine, or if nothing is
 * left to be drawn (one or two dimensions). It is MC where LINE is refused; where experts (not masked) are so many that
 * lines take long: K above 128, K (K + m) above 5000 along rays or, but in one dimension, above 300 along general
 * lines (300/k of SUBSET), K above 32 along rays in two dimensions; where s->n / 2 is below 60 and 2 more for each
 * direction of lines that are drawn, too few for error bars; and where lines fail.
 *
 * Method MC: units are rows; `contributing` of a gap counts the rows with Delta <= 45 tau, which alone feel the
 * temperature. They add v = |gap of the row|: fewer than #MOEG_ENOUGH_UNITS of them, or as many as weigh no more than
 * so many equal ones, (sum v)^2 < #MOEG_ENOUGH_UNITS sum v^2, give that gap (and that soft risk) an infinite error bar
 * and the call #MOEG_EUNABLE, never a false zero. Rows beyond 45 tau are skipped under a sampled law, and what they
 * would add, less than K e^-45 of their losses, is not in the error bar: gaps of that size, where all margins are above
 * tens of tau, are for method LINE. Under an empirical law every row is summed, so that the sums over the data are
 * exact. Every row adds its loss to the hard risk, whose error bar is that of a plain mean: a large loss where hardly a
 * row falls is not seen by samples that have not met it. Where the law has weights w, the risks are weighted means
 * (moeg_weighted_means()), v = w |gap of the row|, and rows that are worth fewer than #MOEG_ENOUGH_UNITS equal ones
 * (moeg_weighted_units()) give infinite error bars. Rows of weight 0 count nowhere, not in n either, and nothing of
 * theirs overflows or is refused.
 *
 * All four gates. The hard risk is that of the gate's own limit: of the best expert, for SUBSET of the mean of the k
 * best outputs (output mixing) or the mean of their losses (loss mixing), where Delta is the top-k gap. D is in general
 * sum_k (g_k(tau) - g_k(0)) f_k, the differences formed without cancellation.
 *
 * A gap that is 0 whatever the input has the interval [0, 0] and all rows contributing: at tau = 0, with experts that
 * are one affine map (and gates that sum to 1), one expert or all but one masked, under TOPK_RENORM with k = 1, under
 * SUBSET with k experts that are not masked; where it is a callback router that masks, this is not known beforehand,
 * and rows with one expert left feel no temperature. Experts masked by a logit of -inf are left out, whatever their
 * outputs.
 * @param ntau  temperatures, at least 1
 * @param tau   (ntau), each 0 or in [1e-300, 1e300], in any order; the gap at 0 is exactly 0
 * @param hard  one estimate, or NULL
 * @param soft  (ntau), or NULL
 * @param gap   (ntau), or NULL
 * @param gap_covariance  (ntau x ntau) of the gap estimates, or NULL; zeros for a deterministic method; where an error
 *        bar is infinite, infinity on the diagonal and NaN beside it, but 0 beside a gap that is 0 whatever the input
 * @return #MOEG_OK; #MOEG_EUNABLE, #MOEG_ECANCELED (written, over the rows done); #MOEG_EINVAL (also dimensions that do
 * not fit, a data teacher without its empirical law); #MOEG_EUNSUPPORTED (LINE where it does not apply, s->directions
 * where no lines are drawn along them); #MOEG_ERANGE (an overflow); #MOEG_EDOM (fewer experts that are not masked than
 * the gate's k); #MOEG_ENOMEM; what a callback law returns (moeg_law_callback_create()). Memory independent of n. Cost
 * per row O(d^2 + K m d + ntau K m). */
MOEG_EXPORT moeg_status moeg_risk_curve(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                        moeg_mixing mixing, size_t ntau, const double *tau, const moeg_sampling *s,
                                        moeg_estimate *hard, moeg_estimate *soft, moeg_estimate *gap,
                                        double *gap_covariance);

/** The gaps alone: moeg_risk_curve() without the rest. */
MOEG_EXPORT moeg_status moeg_risk_gap(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                      moeg_mixing mixing, size_t ntau, const double *tau, const moeg_sampling *s,
                                      moeg_estimate *gap);

/** Derivatives dG/dtau = dL_tau/dtau of the gaps of moeg_risk_curve(), of all gates and both mixings.
 *
 * Method MC: each row's is formed from the derivatives of its gates (moeg_gates_derivative()), never as a difference
 * over tau: 2 D'.(D - (m - f_{k*})) of output mixing, sum_k g'_k |Y - f_k|^2 of loss mixing, its terms relative to the
 * hard loss. Rows, weights and error bars are those of the gaps, and so is what too few rows that feel tau mean for
 * them. Method LINE where one line is enough (two experts; then AUTO's choice, else #MOEG_EUNSUPPORTED):
 * the derivative of the integral, with its own quadrature.
 *
 * Where no temperature moves the gates derivatives are exactly 0, at tau = 0 too.
 * @param ntau        temperatures, at least 1
 * @param tau         (ntau), each 0 or in [1e-300, 1e300], in any order
 * @param derivative  (ntau)
 * @return as moeg_risk_curve(); #MOEG_EDOM also for tau = 0, where a row on an interface makes a sampled gap jump (the
 *         slope of G itself there is moeg_leading_term()'s). Cost of a row and temperature that of its gates'
 *         derivatives and O(K m). */
MOEG_EXPORT moeg_status moeg_risk_derivative(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                             moeg_mixing mixing, size_t ntau, const double *tau, const moeg_sampling *s,
                                             moeg_estimate *derivative);

/** The temperature at which the gap reaches a size: the largest tau in [tau_lo, tau_hi] with |G(tau')| <= gap for all
 * tau' from tau_lo to tau. G need not be monotone: what counts is the first crossing.
 *
 * It is looked for on a geometric grid of at least 8 temperatures a decade and at least 9 in all: where |G| rises above
 * `gap` and falls again between two neighbours, that is not seen. The first cell at whose end |G| is above is cut into
 * 8 parts, of which the first such one is cut again, and so on, on the same rows (method MC: until interpolation is
 * right to about 1e-9; method LINE, where one line is enough: to neighbouring doubles, so that the value is the
 * root to rounding and |G| <= gap there, by the computed G).
 *
 * The limits are the same first crossings of the two ends of the pointwise interval of |G|: lo where its upper end
 * rises above `gap`, hi where its lower end does. Method MC: std_error is that of G over |dG/dtau|, `contributing` that
 * of the gap. Method LINE: std_error is 0, and quad_error the distance to the farther limit.
 *
 * What does not lie in the range is said by #MOEG_EUNABLE and the numbers: |G| above `gap` at tau_lo already has the
 * value 0 (at tau = 0 the gap is 0), nowhere above it the value tau_hi, both with an infinite std_error; lo is 0 where
 * the upper end of the interval is above at tau_lo already (too few rows feel tau_lo: it is infinite), and tau_hi where
 * it nowhere is; hi is tau_lo and infinity, likewise.
 * @param gap             positive, finite
 * @param tau_lo, tau_hi  1e-300 <= tau_lo < tau_hi <= 1e300
 * @param s               read as by moeg_risk_gap(); progress is told of each pass over the rows; LINE where one line
 * is enough
 * @return #MOEG_OK: value and both limits lie in the range; #MOEG_EUNABLE (written: one does not, or the slope at the
 *         value is not known; the message says which); #MOEG_ECANCELED (written: a value of NaN between 0 and
 * infinity); errors as moeg_risk_gap(). Cost of moeg_risk_gap() at 8 temperatures a decade of the range up to the
 * answer, 16 to a pass over the rows, and four or five passes more. */
MOEG_EXPORT moeg_status moeg_risk_temperature(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                              moeg_mixing mixing, double gap, double tau_lo, double tau_hi,
                                              const moeg_sampling *s, moeg_estimate *tau);

/** The job behind moeg_risk_curve() with method MC, for cutting, extending and spreading a run. Keeps its objects
 * alive.
 * @return as moeg_risk_curve(). */
MOEG_EXPORT moeg_status moeg_risk_job_create(moeg_job **job, const moeg_moe *moe, const moeg_teacher *teacher,
                                             const moeg_law *law, moeg_mixing mixing, size_t ntau, const double *tau,
                                             const moeg_sampling *s);

/** Results of such a job from what was done of it; outputs as moeg_risk_curve().
 * @return #MOEG_OK; #MOEG_EUNABLE; #MOEG_EINVAL (not such a job, a level outside (0, 1), or a state that no run makes,
 *         of an export that was damaged); #MOEG_ERANGE; #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_risk_job_result(const moeg_job *job, const moeg_partial *partial, double level,
                                             moeg_estimate *hard, moeg_estimate *soft, moeg_estimate *gap,
                                             double *gap_covariance);

#ifdef __cplusplus
}
#endif

#endif
