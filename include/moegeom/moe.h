/** @file
 * The mixture: router, gate and experts. */
#ifndef MOEGEOM_MOE_H
#define MOEGEOM_MOE_H

#include <moegeom/expert.h>
#include <moegeom/export.h>
#include <moegeom/gate.h>
#include <moegeom/router.h>
#include <moegeom/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A mixture of experts: immutable, safe to share between threads. */
typedef struct moeg_moe moeg_moe;

/** The mixture x -> sum_k g_k(x) f_k(x).
 *
 * @param experts  (K) of the router's number K, all of the router's d and one m; the mixture keeps them and the router
 * alive, so that the caller may free its own handles at any time
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, unknown kind of gate, gate.k outside its range, dimensions that do not fit,
 *         named); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_moe_create(moeg_moe **moe, moeg_router *router, moeg_gate gate,
                                        moeg_expert *const *experts);

/** Frees a mixture. NULL is fine. */
MOEG_EXPORT void moeg_moe_free(moeg_moe *moe);

/** Dimension d of x; 0 of NULL. */
MOEG_EXPORT size_t moeg_moe_dim(const moeg_moe *moe);

/** Dimension m of the output; 0 of NULL. */
MOEG_EXPORT size_t moeg_moe_outputs(const moeg_moe *moe);

/** The router; it belongs to the mixture. NULL of NULL. */
MOEG_EXPORT const moeg_router *moeg_moe_router(const moeg_moe *moe);

/** The gate; {#MOEG_GATE_SOFTMAX, 0} of NULL. */
MOEG_EXPORT moeg_gate moeg_moe_gate(const moeg_moe *moe);

/** Expert k; it belongs to the mixture. NULL if k is not below K, and of NULL. */
MOEG_EXPORT const moeg_expert *moeg_moe_expert(const moeg_moe *moe, size_t k);

/** Outputs of n rows at temperature tau (0: the hard router's expert, or the mean of its k experts where the gate is
 * #MOEG_GATE_SUBSET). An expert whose gate is 0 is left out of the sum. At tau > 0 the gates g of #MOEG_GATE_SOFTMAX
 * are right to |log g| epsilon and a few more, and 0 below e^-708; those of moeg_gates() are right to a few throughout.
 *
 * @param x  (n x d), row-major, finite
 * @param y  (n x m), row-major
 * @return as moeg_expert_forward(), #MOEG_ERANGE also where a logit overflows; #MOEG_EINVAL for a tau outside {0} and
 *         [1e-300, 1e300]; #MOEG_EDOM where the router leaves fewer experts unmasked than gate.k; what a callback
 * router fails with. Cost that of the router, of moeg_gates() and of all experts. */
MOEG_EXPORT moeg_status moeg_moe_forward(const moeg_moe *moe, double tau, size_t n, const double *x, double *y);

#ifdef __cplusplus
}
#endif

#endif
