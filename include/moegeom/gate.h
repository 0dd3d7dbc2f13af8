/** @file
 * Gates: how K logits become K weights, and the gaps between logits that decide where the temperature is felt
 * [theory: gates]. Ties break to the lowest index, always. n = 0 rows are fine everywhere; their arrays may be NULL. */
#ifndef MOEGEOM_GATE_H
#define MOEGEOM_GATE_H

#include <moegeom/export.h>
#include <moegeom/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The four ways from logits a to gates g at temperature tau. */
typedef enum moeg_gate_kind {
    MOEG_GATE_SOFTMAX = 0,     /**< g = softmax(a/tau). */
    MOEG_GATE_TOPK_RENORM = 1, /**< Softmax over the k largest logits only (Mixtral). */
    MOEG_GATE_TOPK_RAW =
        2,               /**< Softmax over all, then all but the k largest set to 0: the sum is at most 1 (Switch). */
    MOEG_GATE_SUBSET = 3 /**< g_i = P(i in S)/k, a k-subset S having probability ~ exp(sum_{i in S} a_i/tau). */
} moeg_gate_kind;

/** A kind with its number of active experts. */
typedef struct moeg_gate {
    moeg_gate_kind kind; /**< Which of the four. */
    size_t k;            /**< Experts active in the limit or at all, 1 <= k <= K; 0 for #MOEG_GATE_SOFTMAX. */
} moeg_gate;

/** {#MOEG_GATE_SOFTMAX, 0}. */
MOEG_EXPORT moeg_gate moeg_gate_softmax(void);

/** {#MOEG_GATE_TOPK_RENORM, k}. */
MOEG_EXPORT moeg_gate moeg_gate_topk_renorm(size_t k);

/** {#MOEG_GATE_TOPK_RAW, k}. */
MOEG_EXPORT moeg_gate moeg_gate_topk_raw(size_t k);

/** {#MOEG_GATE_SUBSET, k}. */
MOEG_EXPORT moeg_gate moeg_gate_subset(size_t k);

/** Gates of n rows of K logits. tau = 0, the limit where no tie decides: 1 at the largest logit and 0 elsewhere; for
 * #MOEG_GATE_SUBSET 1/k on the k largest.
 *
 * Right to 8 epsilon, relative, for all finite logits and every tau, and half a subnormal unit more where the gate is
 * subnormal. The gates of a row sum to 1 within 2 epsilon, but for #MOEG_GATE_TOPK_RAW. #MOEG_GATE_SUBSET with k = 1 is
 * #MOEG_GATE_SOFTMAX, and gives 1/k each where k logits are finite.
 * @param logits  (n x K), finite or -inf (gate 0)
 * @param tau     0 or in [1e-300, 1e300], in units of logits
 * @param gates   (n x K); may be the same array as logits
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, K = 0, an unknown kind, k or tau outside its range, a NaN or +inf, named by row
 *         and expert); #MOEG_EDOM (fewer than k finite logits in a row, or none: named); #MOEG_ENOMEM
 *         (#MOEG_GATE_SUBSET only). Outputs untouched on error. Cost O(n K k), of #MOEG_GATE_SOFTMAX O(n K).
 *         Thread-safe. */
MOEG_EXPORT moeg_status moeg_gates(moeg_gate gate, size_t n, size_t K, const double *logits, double tau, double *gates);

/** SOFTMAX gates g_k = exp((a_k - a_(1))/tau) / sum of n rows of K logits; tau = 0: 1 at the largest (ties: the lowest
 * index), 0 elsewhere.
 *
 * moeg_gates() of #MOEG_GATE_SOFTMAX, to 4 epsilon and without a need of memory: the quotient (a_k - a_(1))/tau is
 * carried in double-double. The gates of a row sum to 1 within 2 epsilon.
 * @param logits  (n x K), finite or -inf (gate 0)
 * @param tau     0 or in [1e-300, 1e300], in units of logits
 * @param gates   (n x K); may be the same array as logits
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, K = 0, tau outside its range, a NaN or +inf, named by row and expert);
 *         #MOEG_EDOM (no finite logit in a row). Outputs untouched on error. Cost O(n K). Thread-safe. */
MOEG_EXPORT moeg_status moeg_gates_softmax(size_t n, size_t K, const double *logits, double tau, double *gates);

/** Derivatives dg_k/dtau of the gates of n rows with respect to the temperature. At tau = 0 they are 0.
 *
 * Each is a difference of two terms of one sign (SOFTMAX: g_k u_k/tau^2 and g_k E_g[u]/tau^2, u = a_(1) - a), and right
 * to 8 epsilon of the larger one, and 4e-323 (1 + 1/tau) absolute, with the gate's own error where that is subnormal.
 * The best expert's has one term only (#MOEG_GATE_SUBSET: all of them, where the temperature is low).
 * @param logits      (n x K), finite or -inf (derivative 0)
 * @param tau         0 or in [1e-300, 1e300]
 * @param derivative  (n x K); must not overlap the logits
 * @return as moeg_gates(); #MOEG_EDOM also at tau = 0 where the largest two logits of a row tie (#MOEG_GATE_SUBSET:
 * those of ranks k and k + 1; #MOEG_GATE_TOPK_RENORM with k = 1: never), as the gates jump there. #MOEG_ENOMEM as
 * there. Cost O(n K k), of #MOEG_GATE_SOFTMAX O(n K). Thread-safe. */
MOEG_EXPORT moeg_status moeg_gates_derivative(moeg_gate gate, size_t n, size_t K, const double *logits, double tau,
                                              double *derivative);

/** Jacobians d g_i/d a_j of n rows, in closed form. At tau = 0 they are 0.
 *
 * Diagonal entries are right to 16 epsilon, relative, the others of #MOEG_GATE_SUBSET to 64 epsilon, and all to
 * 4e-323 (1 + 1/tau), absolute: nothing cancels where a gate is close to 1, or a logit's effect small. Rows and columns
 * of masked experts are 0.
 * @param logits    (n x K), finite or -inf
 * @param tau       0 or in [1e-300, 1e300]
 * @param jacobian  (n x K x K): entry (i, j) of a row at i * K + j; must not overlap the logits
 * @return as moeg_gates(); #MOEG_EDOM also where the gates are not differentiable: at tau = 0 where the largest two
 *         logits tie (#MOEG_GATE_SUBSET: those of ranks k and k + 1), at tau > 0 where the ranks k and k + 1 of
 *         #MOEG_GATE_TOPK_RENORM or #MOEG_GATE_TOPK_RAW tie; the row is named. #MOEG_ENOMEM as there. Cost O(n K^2), of
 *         #MOEG_GATE_SUBSET O(n K^2 k). Thread-safe. */
MOEG_EXPORT moeg_status moeg_gate_jacobian(moeg_gate gate, size_t n, size_t K, const double *logits, double tau,
                                           double *jacobian);

#ifdef __cplusplus
}
#endif

#endif
