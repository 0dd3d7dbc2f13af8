/* Checks that the topics of this chapter share. */
#ifndef MOEG_LIMIT_CHECK_H
#define MOEG_LIMIT_CHECK_H

#include <moegeom/law.h>
#include <moegeom/moe.h>
#include <moegeom/options.h>
#include <moegeom/risk.h>
#include <moegeom/router.h>
#include <moegeom/status.h>
#include <moegeom/teacher.h>
#include <stddef.h>

/* MOEG_OK, or MOEG_EINVAL: neither is NULL, and the dimensions fit. */
moeg_status moeg_check_router_law(const char *function, const moeg_router *router, const moeg_law *law);

/* MOEG_OK, or MOEG_EINVAL: neither is NULL, the dimensions fit, and a data teacher has the rows of its empirical law.
 */
moeg_status moeg_check_teacher_law(const char *function, const moeg_teacher *teacher, const moeg_law *law);

/* MOEG_OK, or MOEG_EINVAL: the mixing is one of the list. */
moeg_status moeg_check_mixing(const char *function, moeg_mixing mixing);

/* MOEG_OK, or MOEG_EINVAL: none is NULL, the dimensions fit, a data teacher has the rows of its empirical law, and the
 * mixing is one of the list. */
moeg_status moeg_check_risk_objects(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                                    const moeg_law *law, moeg_mixing mixing);

/* MOEG_OK, or MOEG_ENOMEM: n entries of so many bytes do not fit in memory. To be asked before a grid is read, as there
 * is none of so many. */
moeg_status moeg_check_grid_size(const char *function, size_t n, size_t bytes);

/* MOEG_OK; MOEG_EINVAL: at least one temperature, each 0 or in [1e-300, 1e300]; MOEG_ENOMEM: more than a
 * covariance fits in memory for. */
moeg_status moeg_check_temperatures(const char *function, size_t ntau, const double *tau);

/* Both, and moeg_sampling_check(). */
moeg_status moeg_check_risk(const char *function, const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                            moeg_mixing mixing, size_t ntau, const double *tau, const moeg_sampling *s);

/* Whether to use LINE: `refusal` is NULL if it applies, else why not. MOEG_EUNSUPPORTED if it was asked for by name. */
moeg_status moeg_choose_line(const char *function, const char *refusal, moeg_method method, int *line);

/* MOEG_OK, or MOEG_EUNSUPPORTED: there are no directions, which are of no use here. */
moeg_status moeg_check_no_directions(const char *function, const moeg_sampling *s);

/* MOEG_OK, or MOEG_EUNSUPPORTED: a job's method is not LINE. */
moeg_status moeg_check_job_method(const char *function, const moeg_sampling *s);

/* The status of a sampled call, from those of its run (not an error) and of reading its results. */
moeg_status moeg_sampled_status(const char *function, moeg_status run, moeg_status read);

/* Why a unit of a block of logits (K x stride), the sample of that number, has no gap of the gate's: MOEG_EDOM, too few
 * experts that are not masked, or MOEG_ERANGE, an overflow; `name` is the function's. */
moeg_status moeg_report_logits(const char *name, moeg_gate gate, size_t K, size_t stride, const double *logits,
                               size_t unit, uint64_t sample);

/* Whether the weights of a law's rows that have any are equal: they are then as none, and rows without are no rows. */
int moeg_has_equal_weights(const moeg_law *law);

/* Units of a sampled run: the options' n, or each row of an empirical law once. */
uint64_t moeg_sample_units(const moeg_law *law, const moeg_sampling *s);

#endif
