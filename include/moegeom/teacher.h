/** @file
 * Teachers: the regression function m(x) = E[Y | X = x]. */
#ifndef MOEGEOM_TEACHER_H
#define MOEGEOM_TEACHER_H

#include <moegeom/expert.h>
#include <moegeom/export.h>
#include <moegeom/moe.h>
#include <moegeom/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A teacher: immutable, safe to share between threads. */
typedef struct moeg_teacher moeg_teacher;

/** m(x) = f(x): one expert, smooth everywhere. Keeps the expert alive.
 * @return #MOEG_OK, #MOEG_EINVAL (NULL), #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_teacher_expert_create(moeg_teacher **teacher, moeg_expert *expert);

/** m(x) = the mixture at temperature tau; tau = 0: pieces, one expert in each cell of its router. Keeps the mixture
 * alive.
 * @return #MOEG_OK; #MOEG_EINVAL (NULL; tau outside {0} and [1e-300, 1e300]); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_teacher_moe_create(moeg_teacher **teacher, moeg_moe *moe, double tau);

/** Y of row i of an empirical law is row i of y: a data column (or m of them). Only for empirical laws of n rows.
 *
 * @param y  (n x m), row-major, finite; copied
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, n = 0, m = 0, a value that is not finite, by row and column); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_teacher_data_create(moeg_teacher **teacher, size_t n, size_t m, const double *y);

/** Frees a teacher. NULL is fine. */
MOEG_EXPORT void moeg_teacher_free(moeg_teacher *teacher);

/** Dimension m of the output; 0 of NULL. */
MOEG_EXPORT size_t moeg_teacher_outputs(const moeg_teacher *teacher);

/** m(x) of n rows, rows `first` .. first + n - 1 of the run (a data teacher looks at `first` alone, others at x alone).
 *
 * @param x  (n x d), row-major, finite; may be NULL for a data teacher
 * @param y  (n x m), row-major
 * @return as moeg_expert_forward() and moeg_moe_forward(); #MOEG_EINVAL for rows past the end of the data. */
MOEG_EXPORT moeg_status moeg_teacher_mean(const moeg_teacher *teacher, uint64_t first, size_t n, const double *x,
                                          double *y);

#ifdef __cplusplus
}
#endif

#endif
