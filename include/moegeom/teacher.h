/** @file
 * Teachers: the regression function m(x) = E[Y | X = x], and the noise of Y around it [theory: risks]. */
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

/** Y = m(X) + noise: the m of `mean`, and noise independent of X with E[noise] = 0 and E |noise|^2 = variance, the sum
 * over the outputs. Risks know it exactly (risk.h); moeg_teacher_sample() draws it. Keeps `mean` alive. Around a mean
 * that has noise itself the variances add up.
 *
 * A data teacher is refused: its rows are Y, noise and all.
 * @param mean      any teacher but a data teacher
 * @param variance  at least 0, finite
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, a data teacher, a variance outside its range); #MOEG_ERANGE (the sum of two
 *         variances overflows); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_teacher_noise_create(moeg_teacher **teacher, const moeg_teacher *mean, double variance);

/** Frees a teacher. NULL is fine. */
MOEG_EXPORT void moeg_teacher_free(moeg_teacher *teacher);

/** Dimension m of the output; 0 of NULL. */
MOEG_EXPORT size_t moeg_teacher_outputs(const moeg_teacher *teacher);

/** E |Y - m(X)|^2 of moeg_teacher_noise_create(); 0 of any other teacher, and of NULL. */
MOEG_EXPORT double moeg_teacher_noise(const moeg_teacher *teacher);

/** m(x) of n rows, rows `first` .. first + n - 1 of the run (a data teacher looks at `first` alone, others at x alone).
 *
 * @param x  (n x d), row-major, finite; may be NULL for a data teacher
 * @param y  (n x m), row-major
 * @return as moeg_expert_forward() and moeg_moe_forward(); #MOEG_EINVAL for rows past the end of the data. */
MOEG_EXPORT moeg_status moeg_teacher_mean(const moeg_teacher *teacher, uint64_t first, size_t n, const double *x,
                                          double *y);

/** Y of n rows, likewise: draws of a teacher with noise, m(x) of one without (of a data teacher the data, which are Y).
 *
 * Output j of row i is m_j(x) + sqrt(variance/m) z, z the normal draw j of unit i of the stream {seed, 3}
 * (moeg_stream_normals()): the noise of a row is a function of (seed, i) alone, and independent of the law's sample i
 * under the same seed.
 * @param seed  all 64 bits count
 * @return as moeg_teacher_mean(). */
MOEG_EXPORT moeg_status moeg_teacher_sample(const moeg_teacher *teacher, uint64_t seed, uint64_t first, size_t n,
                                            const double *x, double *y);

#ifdef __cplusplus
}
#endif

#endif
