/** @file
 * The nonlinear gradient flow of two experts that part [theory: the flow].
 *
 * Of the risk L(u, c, B) = E |Y - B x~ - tanh(u.x/(2 tau)) h(x)|^2, h_o = c_o.psi(x) (output mixing), or, of loss
 * mixing, E[g+ |Y - B x~ - h|^2 + g- |Y - B x~ + h|^2], g+- = (1 +- tanh(u.x/(2 tau)))/2,
 *
 *     u' = -eta_u dL/du - lambda_u u,    c' = -eta_c dL/dc - lambda_c c,    B' = -eta_f dL/dB.
 *
 * B (m x features, row-major) are the coefficients of the symmetric expert in x~ = (), (1), x or (1, x); it starts at
 * its best for u = 0, c = 0, and stays there if eta_f = 0. A state is u (d), c (q = m p, feature j of output o at o p +
 * j) and B, one after another. */
#ifndef MOEGEOM_FLOW_H
#define MOEGEOM_FLOW_H

#include <moegeom/estimate.h>
#include <moegeom/export.h>
#include <moegeom/law.h>
#include <moegeom/options.h>
#include <moegeom/risk.h>
#include <moegeom/status.h>
#include <moegeom/symmetry.h>
#include <moegeom/teacher.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A flow: immutable, safe to share between threads. */
typedef struct moeg_flow moeg_flow;

/** What does not depend on the law. Get one from moeg_flow_options_default(). */
typedef struct moeg_flow_options {
    double tau;                /**< In [1e-300, 1e300]; default 1. */
    moeg_mixing mixing;        /**< Default output. */
    moeg_symmetry_rates rates; /**< Default 1, 1, no decay. */
    double eta_f;              /**< Of the symmetric expert; at least 0. Default 0: it is held. */
    moeg_symmetric symmetric;  /**< Default affine. */
    moeg_contrast contrast;    /**< Default linear. */
} moeg_flow_options;

/** The default options. Thread-safe; never fails. */
MOEG_EXPORT moeg_flow_options moeg_flow_options_default(void);

/** The population flow of a teacher in halves of one output under N(0, variance I), in the plane of v and beta: x is
 * then (a, b), a along v and b perpendicular to it, the flow has d = 2, v = (|v|, 0), and beta = (beta.v/|v|, what is
 * left of it, >= 0). A flow that starts in that plane stays there. Expectations are integrals over the component of x
 * along u, in which the temperature is felt, by quadrature to rounding however thin its layer is; those over the other
 * component are closed for a hard teacher, and by quadrature too for a soft one.
 *
 * @param halves    of one output and at least 2 dimensions; not kept
 * @param variance  of each coordinate, above 0, finite
 * @param options   features constant, linear or affine; NULL: the default
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, or a value outside its range, named); #MOEG_EUNSUPPORTED (more than one output,
 *         one dimension, which has no plane, features of your own); #MOEG_ERANGE (overflow); #MOEG_ENOMEM. A velocity
 *         costs some 0.03 ms of a hard teacher, 0.1 to 0.5 ms of a soft one, and more the thinner the router's layer.
 */
MOEG_EXPORT moeg_status moeg_flow_plane_create(const moeg_halves *halves, double variance,
                                               const moeg_flow_options *options, moeg_flow **flow);

/** The flow of a sample: expectations are means over s->n rows of the law (of an empirical law: over all of its rows,
 * by their weights; what is in one of weight 0 does not matter), which are drawn once, with seed s->seed, and kept; any
 * dimension, outputs and features. Y is the mean m(x) of the teacher; noise is in the risk alone, exactly. The same
 * bits for any number of threads (s->max_threads).
 *
 * @param s        seed, n, threads and the runner are looked at; method AUTO or MC. A runner must outlive the flow
 * @param options  NULL: the default. Features of your own are computed once, here, in one thread
 * @return #MOEG_OK; #MOEG_EINVAL (NULL; a value outside its range, named; dimensions that do not fit); #MOEG_EDOM (the
 *         best symmetric expert is not unique: more coefficients than rows, or x confined to a plane);
 * #MOEG_EUNSUPPORTED (method LINE); #MOEG_ERANGE (overflow, or a feature or output that is not finite);
 * #MOEG_ECALLBACK; #MOEG_EFAILED (no convergence); #MOEG_ENOMEM. Memory O(n (d + m p)), or O(n (d + m)) but for
 * features of your own; to make one O(n d^2), for the best expert; a velocity O(n (d + m p)). */
MOEG_EXPORT moeg_status moeg_flow_sample_create(const moeg_teacher *teacher, const moeg_law *law,
                                                const moeg_sampling *s, const moeg_flow_options *options,
                                                moeg_flow **flow);

/** Frees a flow. NULL is fine. */
MOEG_EXPORT void moeg_flow_free(moeg_flow *flow);

/** Dimension d of u; 0 of NULL. */
MOEG_EXPORT size_t moeg_flow_router_size(const moeg_flow *flow);
/** Size q = m p of c; 0 of NULL. */
MOEG_EXPORT size_t moeg_flow_contrast_size(const moeg_flow *flow);
/** Size of B; 0 of NULL, and of a symmetric expert that is 0. */
MOEG_EXPORT size_t moeg_flow_symmetric_size(const moeg_flow *flow);

/** M of the flow (d x q), row-major, with B at its best (symmetry.h): of the plane by the quadrature of the flow, of a
 * sample that of its rows; so that growth can be foretold.
 * @return #MOEG_OK; #MOEG_EINVAL (NULL); #MOEG_ERANGE (overflow); #MOEG_ENOMEM; of a sample as its runner. */
MOEG_EXPORT moeg_status moeg_flow_operator(const moeg_flow *flow, double *M);

/** The risk at a state, and the right side of the flow there: minus the gradient times the rates, less decay.
 * @param state     (d + q + size of B)
 * @param risk      may be NULL
 * @param velocity  as the state; may be NULL. That of B is 0 if eta_f = 0
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, or a state that is not finite); #MOEG_ERANGE (overflow); #MOEG_ENOMEM; of a
 *         sample as its runner. Thread-safe. */
MOEG_EXPORT moeg_status moeg_flow_velocity(const moeg_flow *flow, const double *state, double *risk, double *velocity);

/** Follows the flow from (u, c) at time 0, B at its best, to the given times, by an embedded Runge-Kutta method of
 * order 8 (Prince and Dormand) with steps as the tolerances want. It is explicit: a stiff flow, one that decays at a
 * rate far above 1 over the time it is followed, wants steps of about 1 over that rate, and a run has no end but its
 * limit of a million of them.
 *
 * @param u, c      (d), (q)
 * @param count     of times, at least 1
 * @param times     (count), increasing, the first at least 0
 * @param rel_tol, abs_tol  above 0: of each step, each coordinate's error stays below abs_tol + rel_tol |coordinate|
 * @param states    (count x (d + q + size of B))
 * @param risks     (count), may be NULL
 * @return #MOEG_OK; #MOEG_EUNABLE (a step that is not finite, none that is short enough, or more than a million steps:
 *         rows up to the last good time are written, those after it are NaN; the message has the time); #MOEG_EINVAL;
 *         #MOEG_ENOMEM; of a sample as its runner. */
MOEG_EXPORT moeg_status moeg_flow_run(const moeg_flow *flow, const double *u, const double *c, size_t count,
                                      const double *times, double rel_tol, double abs_tol, double *states,
                                      double *risks);

/** The early rate of growth along a run: the slope of log |z| over time, by least squares.
 *
 * z is the part of (u/sqrt(eta_u), c/sqrt(eta_c)) in the directions that grow fastest: the eigenvectors of the largest
 * eigenvalue, to 1e-6 of it, of the linear flow around the symmetric state, which is symmetric in these coordinates, so
 * that its other modes, slow or decaying, are orthogonal to them and change nothing. Only that choice is the linear
 * flow's: the rate is the run's own. It is read off the rows, from the first one on, where both experts are still near
 * to one another, E (u.x)^2 <= (0.06 tau)^2 and E |h|^2 <= 0.03^2 E |Y - f|^2: what is nonlinear is then some 1e-3 of
 * the rate or less. Where M is 0, to rounding, nothing grows at a rate, and z is all of (u, c): its slope tends to 0
 * with the start.
 *
 * @param times, states  (count), (count x size), as moeg_flow_run() gives them; rows from one on whose u or c has a NaN
 *                are left out, while B is not looked at
 * @param level   in (0, 1)
 * @param growth  n is the number of rows taken; method is MC, of a run that is not random too; the error is half of the
 * difference of the slopes of their first and second half, by a normal law for want of a better one
 * @return #MOEG_OK; #MOEG_EUNABLE (fewer than 8 rows are near enough: written, with an infinite error bar);
 * #MOEG_EINVAL (also times that do not increase); #MOEG_EFAILED (eigenvalues do not converge); #MOEG_ERANGE
 *         (overflow, also of the rate over times that are tiny); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_flow_growth(const moeg_flow *flow, size_t count, const double *times, const double *states,
                                         double level, moeg_estimate *growth);

/** Where a run has come to rest: the first row from which on the velocity of (u, c) is at most `tolerance` of its
 * largest length over the rows, or count if there is none.
 * @param states     (count x size); a run that ends in NaN has not come to rest
 * @param tolerance  in (0, 1)
 * @return #MOEG_OK; #MOEG_EINVAL; as moeg_flow_velocity(). */
MOEG_EXPORT moeg_status moeg_flow_rest(const moeg_flow *flow, size_t count, const double *states, double tolerance,
                                       size_t *row);

#ifdef __cplusplus
}
#endif

#endif
