/** @file
 * Boundary mass BM(w) = P(Delta(X) <= w): how much probability sits near a routing tie [theory: boundary mass]. */
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

/** BM(w) = P(a_(1) - a_(2) <= w) on a grid of widths, from one pass.
 *
 * Method LINE (AUTO where it applies: K = 2, affine router, Gaussian law, or one of moeg_law_margin_create() and logits
 * that differ by a multiple of x_1 alone): closed forms, without cancellation; exact to rounding. Method MC: the share
 * of rows, Clopper-Pearson intervals; `contributing` counts the rows with Delta <= w. Under a Gaussian law and an
 * affine router of which K' >= 2 experts, at most d, are not masked, rows are drawn in the router's row space [theory:
 * boundary mass]: the differences of their logits are distributed as under the law, at the cost of K' - 1 normals in
 * place of d; row i is a function of (law, router, seed, i), and not that of sample i of moeg_law_sample().
 * @param nw    widths, at least 1
 * @param w     (nw), finite, >= 0, in logit units, in any order
 * @param mass  (nw)
 * @return #MOEG_OK; #MOEG_ECANCELED; #MOEG_EINVAL; #MOEG_EUNSUPPORTED (LINE where it does not apply); #MOEG_ERANGE (a
 *         logit overflows); #MOEG_ENOMEM; what a callback law returns (moeg_law_callback_create()). Memory independent
 * of n. Cost per row O(K d + d^2 + log nw). */
MOEG_EXPORT moeg_status moeg_boundary_mass(const moeg_router *router, const moeg_law *law, size_t nw, const double *w,
                                           const moeg_sampling *s, moeg_estimate *mass);

/** Hill's estimator of the margin exponent, over a grid of upper limits w:
 * alpha(w) = n_w / sum_{0 < Delta_i <= w} log(w/Delta_i), standard error alpha/sqrt(n_w), n_w the rows in the sum
 * (`contributing`); interval from 2 n_w alpha_true/alpha ~ chi^2(2 n_w), which is exact at any n_w >= 1 if
 * P(Delta <= t) = C t^alpha below w (and widened, at small levels, to hold alpha). A single w is a choice: look at
 * alpha over w.
 *
 * Rows with Delta = 0 have no logarithm: they are left out, and counted. By sampling only: the options' method may be
 * AUTO or MC.
 * @param w      (nw), finite, > 0, in any order
 * @param alpha  (nw); NaN where n_w = 0, infinite where all n_w rows lie at w, both with an infinite error bar
 * @param ties   rows left out; may be NULL
 * @return as moeg_boundary_mass(); #MOEG_EUNABLE where an n_w is below #MOEG_ENOUGH_UNITS, or alpha
 *         is infinite (written). */
MOEG_EXPORT moeg_status moeg_boundary_exponent(const moeg_router *router, const moeg_law *law, size_t nw,
                                               const double *w, const moeg_sampling *s, moeg_estimate *alpha,
                                               uint64_t *ties);

/** The coarea slope lim BM(w)/w = 2 S[1] of an affine router with K = 2 under a Gaussian law: 2 p_s(0), p_s the density
 * of s = a_1 - a_2; 0 if one of the experts is masked.
 *
 * @return #MOEG_OK; #MOEG_EINVAL; #MOEG_EUNSUPPORTED (another K, router or law); #MOEG_EDOM (s is constant: no
 * density); #MOEG_ERANGE (a moment of s, or the slope, overflows). Cost O(d^2). */
MOEG_EXPORT moeg_status moeg_boundary_slope(const moeg_router *router, const moeg_law *law, double *slope);

/** The job behind moeg_boundary_mass() and moeg_boundary_exponent() with method MC, for cutting, extending and
 * spreading a run. Keeps router and law alive. w as for moeg_boundary_mass().
 * @return as moeg_boundary_mass(). */
MOEG_EXPORT moeg_status moeg_boundary_job_create(moeg_job **job, const moeg_router *router, const moeg_law *law,
                                                 size_t nw, const double *w, const moeg_sampling *s);

/** Results of such a job from what was done of it.
 *
 * @param level  of the intervals
 * @param mass   (nw) or NULL
 * @param alpha  (nw) or NULL
 * @param ties   or NULL
 * @return #MOEG_OK; #MOEG_EUNABLE as the functions above; #MOEG_EINVAL (not such a job, w = 0 with alpha
 *         wanted, or a state that no run makes, of an export that was damaged); #MOEG_ENOMEM. Of no rows: a mass of NaN
 * in [0, 1]. */
MOEG_EXPORT moeg_status moeg_boundary_job_result(const moeg_job *job, const moeg_partial *partial, double level,
                                                 moeg_estimate *mass, moeg_estimate *alpha, uint64_t *ties);

#ifdef __cplusplus
}
#endif

#endif
