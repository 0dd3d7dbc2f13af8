/** @file
 * Options common to everything that samples. */
#ifndef MOEGEOM_OPTIONS_H
#define MOEGEOM_OPTIONS_H

#include <moegeom/export.h>
#include <moegeom/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a number is, or was, computed. */
typedef enum moeg_method {
    /** LINE where one line is enough, and where many lines are for the problem, cost little (seconds at 2^14 of them)
     * and can tell their error, else MC: each function says where. Never in a result. Where lines fail (an overflow
     * that no row comes to, a callback far out) it is MC too, but for #MOEG_ENOMEM. */
    MOEG_METHOD_AUTO = 0,
    MOEG_METHOD_MC = 1,  /**< One unit = one row. Under an empirical law: every row of the data once. */
    MOEG_METHOD_LINE = 2 /**< One unit = one line; where one line suffices, exact up to quadrature. */
} moeg_method;

/** The name of a method ("mc"), as a static string; "unknown" outside the list. Thread-safe; never fails. */
MOEG_EXPORT const char *moeg_method_name(moeg_method method);

/** Called as units are finished, never twice at the same time, but from any worker thread.
 *
 * @param done   units finished so far in this run
 * @param total  units of this run
 * @param user   moeg_sampling::progress_user
 * @return 0 to go on; anything else cancels the run, which then returns #MOEG_ECANCELED. */
typedef int (*moeg_progress)(uint64_t done, uint64_t total, void *user);

struct moeg_runner;

/** How to sample.
 *
 * With a tolerance units are drawn in rounds, each as long as the errors of those before foresee. Only the results of
 * whole rounds decide, so that threads change nothing; progress is told of each round. It is for moeg_risk_curve(),
 * moeg_risk_gap(), moeg_leading_slope(), moeg_leading_remainder(), moeg_boundary_mass() and moeg_boundary_gap_mass(),
 * and for all estimates that are asked for; other functions, jobs, and sums over the rows of an empirical law take n
 * units. A tolerance that n units do not reach is #MOEG_EUNABLE, with the estimates written. That a run ends where its
 * error bar happens to be short costs intervals less than 2 % of their coverage.
 *
 * Get one from moeg_sampling_default() and change what differs.
 *
 * Results depend only on (inputs, seed, n): bit for bit the same, on one build and processor type, for any number of
 * threads, any runner and any cut into parts (`docs/architecture.md`, Reproducibility). */
typedef struct moeg_sampling {
    uint64_t seed; /**< All 64 bits count. Default 1. */
    uint64_t n;    /**< Units in total; default 2^14, at least 1. An empirical law always uses each of its rows once. */
    moeg_method method; /**< Default #MOEG_METHOD_AUTO. */
    double level;       /**< Confidence level of intervals, in (0, 1). Default 0.95. */
    /** Stop where half of every interval is at most max(abs_tol, rel_tol |value|), with n units at the latest. Finite,
     * at least 0; 0 and 0, the default: at n. */
    double rel_tol;
    double abs_tol;  /**< See rel_tol. */
    int max_threads; /**< 0, the default: as OpenMP decides (OMP_NUM_THREADS). */
    /** Directions of lines of your own, (direction_count x d), as gradients: the direction of a line is the one in
     * which w.x grows fastest beside its spread under the law, as for a row w of a router. For functions that say so
     * (others refuse them: #MOEG_EUNSUPPORTED), and method LINE by name: masses, surface integrals, risks, and their
     * leading slopes and remainders, where lines are drawn. Default NULL and 0: they choose. Not owned. */
    const double *directions;
    size_t direction_count;           /**< How many; 0, the default, without any. */
    const struct moeg_runner *runner; /**< NULL, the default: OpenMP threads of this process. Not owned. */
    moeg_progress progress;           /**< NULL, the default: none. */
    void *progress_user;              /**< Handed to progress. */
} moeg_sampling;

/** The default options. Thread-safe; never fails. */
MOEG_EXPORT moeg_sampling moeg_sampling_default(void);

/** Whether the options make sense: n >= 1, a known method, 0 < level < 1, tolerances finite and at least 0,
 * max_threads >= 0; directions if and only if
 * direction_count > 0, and then method LINE.
 *
 * Every function that takes options checks them with this.
 * @return #MOEG_OK, or #MOEG_EINVAL (options NULL, or the first field that does not fit, named). */
MOEG_EXPORT moeg_status moeg_sampling_check(const moeg_sampling *options);

#ifdef __cplusplus
}
#endif

#endif
