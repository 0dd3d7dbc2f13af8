/** @file
 * Integrals over routing interfaces: S[q], the slope of the boundary mass and what the pairwise bound gives away, and
 * the constants of higher order [theory: surface integrals]. For affine routers under Gaussian laws. */
#ifndef MOEGEOM_SURFACE_H
#define MOEGEOM_SURFACE_H

#include <moegeom/estimate.h>
#include <moegeom/export.h>
#include <moegeom/law.h>
#include <moegeom/options.h>
#include <moegeom/router.h>
#include <moegeom/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A function on interfaces, called with batches of points from several threads, unless the options say otherwise.
 *
 * @param n     points
 * @param x     (n x d) points of the interface
 * @param i, j  (n) the two experts that tie there, i < j
 * @param q     (n x count) values, finite
 * @param user  as handed in
 * @return 0; anything else ends the call with #MOEG_ECALLBACK. */
typedef int (*moeg_surface_function)(size_t n, const double *x, const size_t *i, const size_t *j, double *q,
                                     void *user);

/** S[q] = sum_{i<j} integral over Gamma_ij of p q/|grad(a_i - a_j)|, Gamma_ij where experts i and j have the ranks k
 * and k + 1 and tie, p the density of the law; of `count` functions at once. With k = 1 these are the interfaces of
 * hard routing.
 *
 * Lines cross the interfaces, and a crossing counts by its density over its slope. If q is NULL, or d is the number r
 * of dimensions in which the logits differ: one line for r = 1, one quadrature for r = 2 (std_error 0), which sees only
 * by its two rules that q has a kink or a jump; else s->n lines are drawn, x in all of its d dimensions, and
 * `contributing` counts those whose value is not 0: a q that is 0 on all of them has no error bar, and is no zero.
 * Directions as for moeg_boundary_gap_mass(), and far ties [theory: far ties]. Method LINE (AUTO: LINE).
 * @param k         1 <= k < K
 * @param count     values of q, at least 1; 1 if q is NULL
 * @param q         NULL: the constant 1
 * @param integral  (count)
 * @return #MOEG_OK; #MOEG_EUNABLE (too few lines for an error bar, or such as saw too little; written); #MOEG_ECANCELED
 * (written); #MOEG_EINVAL (also s->n too small, or directions that do not see a tie); #MOEG_EUNSUPPORTED (router or
 * law, or method MC); #MOEG_EDOM (fewer than k experts that are not masked; experts that tie everywhere where they have
 * these ranks; two that have them and tie nowhere without a third, to rounding); #MOEG_ERANGE (an overflow, or a q that
 * is not finite); #MOEG_ECALLBACK; #MOEG_ENOMEM. 0 if rank k + 1 is masked. Cost per line O(K (r + pieces)), and d (d +
 * r) for each point of q. */
MOEG_EXPORT moeg_status moeg_surface_integral(const moeg_router *router, size_t k, const moeg_law *law, size_t count,
                                              moeg_surface_function q, void *user, const moeg_sampling *s,
                                              moeg_estimate *integral);

/** lim P(Delta_k <= w)/w = 2 S[1], the slope of the mass of the top-k gap; with k = 1 that of the boundary mass.
 * @return as moeg_surface_integral(). */
MOEG_EXPORT moeg_status moeg_surface_slope(const moeg_router *router, size_t k, const moeg_law *law,
                                           const moeg_sampling *s, moeg_estimate *slope);

/** The slack of the pairwise bound as w -> 0: the ratio, at least 1, of its slope (moeg_boundary_pairwise()) to that of
 * the boundary mass.
 * @return as moeg_surface_integral(); #MOEG_EDOM also if there is no interface, or two experts tie everywhere. */
MOEG_EXPORT moeg_status moeg_surface_slack(const moeg_router *router, const moeg_law *law, const moeg_sampling *s,
                                           moeg_estimate *slack);

/** C_r = lim P(a_(1) - a_(r+1) <= w)/w^r = (r + 1) sum_S p_S(0) P(S is the top set | its experts tie), over the sets of
 * r + 1 experts, p_S the density of their r differences; C_1 is moeg_surface_slope() with k = 1.
 *
 * In closed form if r is the number R of dimensions in which the logits differ, or one less; else s->n points of the
 * conditional laws are drawn, each for a line on which the probability is exact. Method LINE (AUTO: LINE).
 * @param r  1 <= r < K
 * @return as moeg_surface_integral(); #MOEG_EDOM also if r > R, where the mass has no such power of w, or if more
 *         than r + 1 experts tie wherever some r + 1 do at the top (to rounding): the sum would count that again; 0 if
 *         rank r + 1 is masked. Memory and cost of a point O(C(K, r + 1) (r + K) R). */
MOEG_EXPORT moeg_status moeg_surface_order_constant(const moeg_router *router, size_t r, const moeg_law *law,
                                                    const moeg_sampling *s, moeg_estimate *constant);

#ifdef __cplusplus
}
#endif

#endif
