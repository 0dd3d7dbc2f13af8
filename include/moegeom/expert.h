/** @file
 * Experts: maps x -> f(x) from R^d to R^m. */
#ifndef MOEGEOM_EXPERT_H
#define MOEGEOM_EXPERT_H

#include <moegeom/activation.h>
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

/** Affine maps with an activation s between, and none at the output: z_1 = W_0 x + b_0, z_(l+1) = W_l s(z_l) + b_l,
 * f(x) = z_layers [theory: experts]. With layers = 1 it is an affine expert.
 *
 * @param layers      number of affine maps, at least 1
 * @param widths      (layers + 1), each at least 1: d, the hidden widths, m
 * @param W           (layers) pointers: W[l] (widths[l + 1] x widths[l]), row-major, finite
 * @param b           (layers) pointers: b[l] (widths[l + 1]), finite, or NULL for 0; NULL: all 0
 * @param activation  s
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, a size of 0, an unknown activation, a value not finite: "W[1][2, 0]", by layer
 * and index); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_expert_mlp_create(moeg_expert **expert, size_t layers, const size_t *widths,
                                               const double *const *W, const double *const *b,
                                               moeg_activation activation);

/** A gated expert f(x) = D (s(G x) * (U x)), * by elements: SwiGLU with SiLU, GEGLU with GELU, ReGLU with ReLU
 * [theory: experts].
 *
 * @param d, h, m     dimension of x, hidden width, outputs; at least 1
 * @param gate        G (h x d), row-major, finite
 * @param up          U (h x d), row-major, finite
 * @param down        D (m x h), row-major, finite
 * @param activation  s
 * @return #MOEG_OK; #MOEG_EINVAL (named); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_expert_gated_create(moeg_expert **expert, size_t d, size_t h, size_t m, const double *gate,
                                                 const double *up, const double *down, moeg_activation activation);

/** A function of rows, of a callback expert.
 *
 * Called from several threads at once, with batches of any size; results are reproducible if those of a row depend on
 * that row alone. It must return: no longjmp, no exception.
 * @param n     rows, at least 1
 * @param x     (n x d), row-major
 * @param out   (n x m) for values, (n x m x d) for Jacobians, row-major, to be written in full; NaN on entry
 * @param user  as given to moeg_expert_callback_create()
 * @return 0; anything else stops the run with #MOEG_ECALLBACK. */
typedef int (*moeg_expert_map)(size_t n, const double *x, double *out, void *user);

/** An expert of the user's own.
 *
 * Where its outputs are wanted, a function that returns other than 0 is #MOEG_ECALLBACK, with the value in the message,
 * and an output that is not finite is the #MOEG_ERANGE of outputs that overflow.
 * @param d, m      dimensions of x and of the output, in [1, 2^32)
 * @param forward   f
 * @param jacobian  its Jacobian, or NULL: moeg_expert_jacobian() is then #MOEG_EUNSUPPORTED
 * @param user      handed to both; must live as long as the expert, and what holds it
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, d, m); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_expert_callback_create(moeg_expert **expert, size_t d, size_t m, moeg_expert_map forward,
                                                    moeg_expert_map jacobian, void *user);

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

/** Outputs of n rows: bit for bit the same alone and in any batch, by our own kernels with a fixed order of operations
 * (of a callback expert, if the callback sees to it).
 *
 * @param x  (n x d), row-major, finite
 * @param y  (n x m), row-major
 * @return #MOEG_OK; #MOEG_EINVAL (NULL; x not finite, by row and column); #MOEG_ERANGE (an output overflows: row and
 *         output; a hidden value that overflows is one of all outputs that it reaches); #MOEG_ECALLBACK;
 *         #MOEG_ENOMEM. Outputs untouched on error; n = 0 is fine. Cost O(n) times the number of weights.
 *         Thread-safe. */
MOEG_EXPORT moeg_status moeg_expert_forward(const moeg_expert *expert, size_t n, const double *x, double *y);

/** Jacobians of n rows, exactly differentiated: J[i, j, k] is the derivative of output j by x_k at row i. At a kink of
 * ReLU relu'(0) = 0. The same bits alone and in any batch.
 *
 * @param x  (n x d), row-major, finite
 * @param J  (n x m x d), row-major
 * @return as moeg_expert_forward(), #MOEG_ERANGE naming row, output and input; #MOEG_EUNSUPPORTED (a callback expert
 *         without a Jacobian). Outputs untouched on error. Cost O(n m) times the number of weights; memory O(m d) rows
 *         of 64 at a time, besides a copy of J. Thread-safe. */
MOEG_EXPORT moeg_status moeg_expert_jacobian(const moeg_expert *expert, size_t n, const double *x, double *J);

#ifdef __cplusplus
}
#endif

#endif
