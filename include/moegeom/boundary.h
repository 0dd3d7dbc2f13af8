/** @file
 * Boundary mass BM(w) = P(Delta(X) <= w): how much probability sits near a routing tie; its exponent and constant, its
 * quantiles, and the same of any gap between ranked logits [theory: boundary mass]. */
#ifndef MOEGEOM_BOUNDARY_H
#define MOEGEOM_BOUNDARY_H

#include <moegeom/estimate.h>
#include <moegeom/export.h>
#include <moegeom/job.h>
#include <moegeom/law.h>
#include <moegeom/options.h>
#include <moegeom/router.h>
#include <moegeom/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** BM(w) = P(a_(1) - a_(2) <= w) on a grid of widths, from one pass: moeg_boundary_gap_mass() of the margin. */
MOEG_EXPORT moeg_status moeg_boundary_mass(const moeg_router *router, const moeg_law *law, size_t nw, const double *w,
                                           const moeg_sampling *s, moeg_estimate *mass);

/** P(a_(upper) - a_(lower) <= w) on a grid of widths, from one pass: of order r, BM_r(w) ~ C_r w^r, r + 1 experts
 * nearly tied; or of the top-k gap.
 *
 * Method LINE (of the margin, K = 2, affine router, Gaussian law, or one of moeg_law_margin_create() and logits that
 * differ by a multiple of x_1 alone): closed forms, without cancellation; exact to rounding. LINE also does every gap
 * of any affine router under a Gaussian law: normal masses of intervals on lines [theory: lines, star directions], at
 * any w. Logits that differ in one dimension take one line, in two leave one quadrature (std_error 0); else units are
 * lines, s->n of them in all, along directions that between them see every tie, or along s->directions, and
 * `contributing` counts those that meet a gap <= w on a part that has mass: where three or more experts nearly tie they
 * are few, and a 0 of them all is not taken for one, unless w is 0 or the tie has more experts than the logits have
 * dimensions. AUTO is LINE, but for MC where that is refused, or fails; with more than 128 experts that are not masked
 * (32, of logits that differ in two dimensions), which take long; and where s->n / 2 is below 60 and 2 more for each
 * direction of lines that are drawn, too few for error bars.
 *
 * Method MC: the share of rows, Clopper-Pearson intervals; `contributing` counts the rows with a gap <= w; a gap of
 * +inf is above every w. Under a Gaussian law and an affine router of which K' >= 2 experts, at most d, are not masked,
 * rows are drawn in the router's row space [theory: boundary mass]: the differences of their logits are distributed as
 * under the law, at the cost of K' - 1 normals in place of d; row i is a function of (law, router, seed, i), and not
 * that of sample i of moeg_law_sample(). Under an empirical law with weights, the share of their sum, with the interval
 * of a weighted proportion (moeg_estimate_weighted_proportion()); n counts the rows that have a weight.
 * Lines are drawn around ties that are far from the mean of the law as well [theory: far ties].
 * @param gap   which one
 * @param nw    widths, at least 1
 * @param w     (nw), finite, >= 0, in logit units, in any order
 * @param mass  (nw)
 * @return #MOEG_OK; #MOEG_ECANCELED; #MOEG_EINVAL (also if s->n is too few lines, as for many far ties, or no row of
 * s->directions sees some tie); #MOEG_EUNSUPPORTED (LINE where it does not apply; s->directions where one line is
 * enough); #MOEG_EDOM (fewer than `gap.upper` experts are not masked); #MOEG_ERANGE (a logit overflows); #MOEG_EUNABLE
 * (too few lines for an error bar, or such as saw too little); #MOEG_ENOMEM; what a callback law or router returns.
 * Memory independent of n. Cost per row O(K (d + min(lower, K + 1 - upper)) + d^2 + log nw). */
MOEG_EXPORT moeg_status moeg_boundary_gap_mass(const moeg_router *router, moeg_gap gap, const moeg_law *law, size_t nw,
                                               const double *w, const moeg_sampling *s, moeg_estimate *mass);

/** Hill's estimator of the exponent of P(gap <= t) = C t^alpha, and the constant, over a grid of upper limits w:
 *
 *     alpha(w) = n_w / sum_{0 < gap_i <= w} log(w/gap_i),        C(w) = P(gap <= w) / w^alpha(w),
 *
 * n_w the rows in the sum (`contributing`). alpha has the standard error alpha/sqrt(n_w), and the interval from
 * 2 n_w alpha_true/alpha ~ chi^2(2 n_w), exact at any n_w >= 1 if the power law holds below w (and widened, at small
 * levels, to hold alpha). C has that of the delta method, C sqrt((1 - P)/(n P) + (alpha log w)^2/n_w), and an interval
 * from those of P and alpha, distances from the estimate added as squares on the scale of log C: at w = 1 it is that of
 * P. A single w is a choice: look at alpha over w. Of rows with weights both sums of alpha are weighted, and in the
 * place of n_w stands what the weights v of its rows are worth in equal ones: (sum v)^2/sum v^2, times <r^2> by v over
 * <r^2> by v^2, r = 1 - alpha log(w/gap), which is not 1 where weights go with gaps [theory: boundary mass].
 *
 * Rows with a gap of 0 have no logarithm: they are left out of alpha, and counted. By sampling only: the options'
 * method may be AUTO or MC.
 * @param w      (nw), finite, > 0, in any order
 * @param alpha  (nw); NaN where n_w = 0, infinite where all n_w rows lie at w, both with an infinite error bar
 * @param C      (nw), or NULL; NaN where alpha is not finite; 0 or infinite, with the interval [0, inf], where it is
 *               outside the range of a double
 * @param ties   rows left out; may be NULL
 * @return as moeg_boundary_gap_mass(); #MOEG_EUNABLE where an n_w is below #MOEG_ENOUGH_UNITS, or alpha is infinite, or
 *         C out of range (written). */
MOEG_EXPORT moeg_status moeg_boundary_exponent(const moeg_router *router, moeg_gap gap, const moeg_law *law, size_t nw,
                                               const double *w, const moeg_sampling *s, moeg_estimate *alpha,
                                               moeg_estimate *C, uint64_t *ties);

/** The band that holds the whole curve P(gap <= w), all w at once, with probability at least `level`: Dvoretzky, Kiefer
 * and Wolfowitz's around sampled masses (moeg_dkw()), cut to [0, 1]; the curve and its quadrature error where LINE drew
 * no lines at random. Around means over lines none is known, which AUTO's masses of more than two experts may be:
 * method MC.
 *
 * @param law     of the masses
 * @param mass    (nw), from one call of moeg_boundary_mass() or moeg_boundary_gap_mass()
 * @param level   of the band; the level of the masses does not matter
 * @param lo, hi  (nw)
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, nw = 0, level, or a mass that no such call writes, named by its index: not the
 *         share of its rows, or of other rows than the first); #MOEG_EUNSUPPORTED (the rows of an empirical law have
 *         unequal weights, or masses are means over lines: no such band is known). */
MOEG_EXPORT moeg_status moeg_boundary_band(const moeg_law *law, size_t nw, const moeg_estimate *mass, double level,
                                           double *lo, double *hi);

/** The width for a given boundary mass: q(p) = min {w : P(gap <= w) >= p}, on a grid of p.
 *
 * Method LINE (AUTO where it applies) where the mass has a closed form: its inverse, to rounding. Method MC: with k the
 * smallest count that has k/n >= p, the k-th smallest of the gaps of n rows, the same rows as there; what is between
 * two of them no quantile takes. Mass and quantile are inverse to each other to the last bit: the mass at q is at least
 * p, and that at any smaller width is less. The interval is made of two gaps, whose ranks come from the binomial
 * distribution, hence holds for any law: [lo, hi] are the widths whose mass has a Clopper-Pearson interval with p in
 * it. std_error is half of that interval at level 0.95 over 1.96, whatever the level asked for; infinite if an end of
 * it is. Gaps of +inf are ranked like others. `contributing` is k. Of rows with weights, k is the smallest number of
 * them, by ascending gap, whose share of the weights is at least p, and the ends hold p in the interval of their share
 * in as many equal rows as the weights are worth there (moeg_estimate_weighted_proportion()); masses add these weights
 * in another order, and may differ from p by rounding.
 * @param np        probabilities, at least 1
 * @param p         (np), in (0, 1], in any order
 * @param quantile  (np)
 * @return as moeg_boundary_gap_mass(); #MOEG_EUNABLE where n rows are too few for the level, and an end is at 0 or
 *         infinite for want of a row beyond it (written); #MOEG_EUNSUPPORTED also if the options' runner did not run
 *         the blocks in this process. Memory: n doubles, 5 n with weights. Cost as there, with log np in the place of
 * log nw. */
MOEG_EXPORT moeg_status moeg_boundary_quantile(const moeg_router *router, moeg_gap gap, const moeg_law *law, size_t np,
                                               const double *p, const moeg_sampling *s, moeg_estimate *quantile);

/** The coarea slope lim BM(w)/w = 2 S[1] of an affine router with K = 2 under a Gaussian law: 2 p_s(0), p_s the density
 * of s = a_1 - a_2; 0 if one of the experts is masked. For more experts and other gaps: moeg_surface_slope().
 *
 * @return #MOEG_OK; #MOEG_EINVAL; #MOEG_EUNSUPPORTED (another K, router or law); #MOEG_EDOM (s is constant: no
 * density); #MOEG_ERANGE (a moment of s, or the slope, overflows, or the slope underflows). Cost O(d^2). */
MOEG_EXPORT moeg_status moeg_boundary_slope(const moeg_router *router, const moeg_law *law, double *slope);

/** The papers' pairwise bound BM(w) <= sum_{i<j} P(|a_i - a_j| <= w) for an affine router under a Gaussian law, in
 * closed form: each pair is a case of K = 2. It counts ties below the largest logit too: what it gives away, its slack,
 * is the ratio to BM(w). Masked experts have no part in it.
 *
 * @param w      (nw), finite, >= 0, in any order; may be NULL if nw = 0
 * @param bound  (nw), rounded up, to the smallest double where it underflows; may be above 1
 * @param slope  lim bound/w = 2 sum_{i<j} p_ij(0), p_ij the density of a_i - a_j, to rounding; or NULL
 * @return #MOEG_OK; #MOEG_EINVAL; #MOEG_EUNSUPPORTED (another router or law); #MOEG_EDOM (the slope of two experts that
 *         tie everywhere); #MOEG_ERANGE (a moment of a difference, or the slope, overflows, or the slope underflows).
 * Cost O(K^2 (d^2 + nw)). */
MOEG_EXPORT moeg_status moeg_boundary_pairwise(const moeg_router *router, const moeg_law *law, size_t nw,
                                               const double *w, double *bound, double *slope);

/** The job behind moeg_boundary_gap_mass() and moeg_boundary_exponent() with method MC, for cutting, extending and
 * spreading a run. Keeps router and law alive. w as for moeg_boundary_gap_mass().
 * @return as moeg_boundary_gap_mass(). */
MOEG_EXPORT moeg_status moeg_boundary_job_create(moeg_job **job, const moeg_router *router, moeg_gap gap,
                                                 const moeg_law *law, size_t nw, const double *w,
                                                 const moeg_sampling *s);

/** Results of such a job from what was done of it.
 *
 * @param level  of the intervals
 * @param mass   (nw) or NULL
 * @param alpha  (nw) or NULL
 * @param C      (nw) or NULL
 * @param ties   or NULL
 * @return #MOEG_OK; #MOEG_EUNABLE as the functions above; #MOEG_EINVAL (not such a job, w = 0 with alpha or C
 *         wanted, or a state that no run makes, of an export that was damaged); #MOEG_ENOMEM. Of no rows: a mass of NaN
 * in [0, 1]. */
MOEG_EXPORT moeg_status moeg_boundary_job_result(const moeg_job *job, const moeg_partial *partial, double level,
                                                 moeg_estimate *mass, moeg_estimate *alpha, moeg_estimate *C,
                                                 uint64_t *ties);

#ifdef __cplusplus
}
#endif

#endif
