/** @file
 * Experts: maps x -> f(x) from R^d to R^m. */
#ifndef MOEGEOM_EXPERT_H
#define MOEGEOM_EXPERT_H

#include <moegeom/export.h>
#include <moegeom/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An expert: immutable, safe to share between threads. */
typedef struct moeg_expert moeg_expert;

/** f(x) = c.
 *
 * @param d, m  dimensions of x and of the output, at least 1
 * @param c     (m), finite
 * @return #MOEG_OK; #MOEG_EINVAL (named); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_expert_constant_create(moeg_expert **expert, size_t d, size_t m, const double *c);

/** f(x) = A x + c.
 *
 * @param A  (m x d), row-major, finite
 * @param c  (m), finite, or NULL for 0
 * @return #MOEG_OK; #MOEG_EINVAL (named); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_expert_affine_create(moeg_expert **expert, size_t d, size_t m, const double *A,
                                                  const double *c);

/** Frees an expert (its memory lives on while mixtures hold it). NULL is fine. */
MOEG_EXPORT void moeg_expert_free(moeg_expert *expert);

/** Dimension d of x; 0 of NULL. */
MOEG_EXPORT size_t moeg_expert_dim(const moeg_expert *expert);

/** Dimension m of the output; 0 of NULL. */
MOEG_EXPORT size_t moeg_expert_outputs(const moeg_expert *expert);

/** The affine form f(x) = A x + c of an affine or constant expert.
 *
 * @param A  (m x d) or NULL; zeros for a constant expert
 * @param c  (m) or NULL
 * @return #MOEG_OK; #MOEG_EINVAL (NULL); #MOEG_EUNSUPPORTED (an expert that is not affine). */
MOEG_EXPORT moeg_status moeg_expert_affine_form(const moeg_expert *expert, double *A, double *c);

/** Outputs of n rows. Those of affine and constant experts are, bit for bit, the same alone and in any batch.
 *
 * @param x  (n x d), row-major, finite
 * @param y  (n x m), row-major
 * @return #MOEG_OK; #MOEG_EINVAL (NULL; x not finite, by row and column); #MOEG_ERANGE (an output overflows: row and
 *         output); #MOEG_ENOMEM. Outputs untouched on error; n = 0 is fine. Cost O(n m d). Thread-safe. */
MOEG_EXPORT moeg_status moeg_expert_forward(const moeg_expert *expert, size_t n, const double *x, double *y);

#ifdef __cplusplus
}
#endif

#endif
