/* Jobs that run until their results are good enough: rel_tol and abs_tol of moeg_sampling. */
#ifndef MOEG_BASE_ROUNDS_H
#define MOEG_BASE_ROUNDS_H

#include <moegeom/estimate.h>
#include <moegeom/job.h>

/* Whether there is a tolerance. */
int moeg_has_tolerance(const moeg_sampling *s);

/* The options with tolerances of 0. */
moeg_sampling moeg_without_tolerance(const moeg_sampling *s);

/* The largest ratio, over n estimates, of half the length of the interval to what it may be,
 * max(abs_tol, rel_tol |value|): at most 1 where the tolerance is reached, 0 without one. */
double moeg_tolerance_excess(const moeg_sampling *s, size_t n, const moeg_estimate *estimates);

/* Reads what was done of a job: its excess. MOEG_OK or an error. */
typedef moeg_status (*moeg_rounds_judge)(void *user, const moeg_job *job, const moeg_partial *partial, double *excess);

/* moeg_job_run() of all blocks, or, with a tolerance, of rounds of them, each merged with those before, until judge()
 * finds an excess of at most 1: rounds depend on the results of whole rounds alone, so that the number of threads
 * changes nothing. *excess: that of the result (0 without a tolerance). */
moeg_status moeg_rounds_run(const moeg_job *job, const moeg_sampling *s, moeg_rounds_judge judge, void *user,
                            moeg_partial **partial, double *excess);

/* The status of a result of that excess: the tolerance not reached is MOEG_EUNABLE, unless something is wrong anyway.
 */
moeg_status moeg_rounds_status(const char *function, moeg_status status, const moeg_sampling *s, double excess);

#endif
