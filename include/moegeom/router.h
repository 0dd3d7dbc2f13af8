/** @file
 * Routers: logits, margins, ordered top-k, gates. Ties break to the lowest index, always. n = 0 rows are fine
 * everywhere; their arrays may be NULL. */
#ifndef MOEGEOM_ROUTER_H
#define MOEGEOM_ROUTER_H

#include <moegeom/export.h>
#include <moegeom/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A router x -> a(x) in R^K: immutable, safe to share between threads. */
typedef struct moeg_router moeg_router;

/** Affine logits a = W x + b.
 *
 * @param K  experts, at least 2
 * @param d  dimension of x, at least 1
 * @param W  (K x d), row-major, finite
 * @param b  (K), finite or -inf (a masked expert; at least one must not be), or NULL for 0
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, K < 2, d = 0, a value that does not fit, named by its index); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_router_affine_create(moeg_router **router, size_t K, size_t d, const double *W,
                                                  const double *b);

/** Frees a router (its memory lives on while mixtures and jobs hold it). NULL is fine. */
MOEG_EXPORT void moeg_router_free(moeg_router *router);

/** Number of experts K; 0 of NULL. */
MOEG_EXPORT size_t moeg_router_experts(const moeg_router *router);

/** Dimension d of x; 0 of NULL. */
MOEG_EXPORT size_t moeg_router_dim(const moeg_router *router);

/** Logits of n rows, by our own kernel with a fixed order of operations: a row has the same logits, bit for bit, alone
 * and in any batch.
 *
 * @param x       (n x d), row-major, finite
 * @param logits  (n x K), row-major
 * @return #MOEG_OK; #MOEG_EINVAL (NULL; x not finite, by row and column); #MOEG_ERANGE (a logit overflows: row and
 *         expert); #MOEG_ENOMEM. Outputs untouched on error, for which the results are made beside them. The logit of a
 *         masked expert is -inf, whatever x. Cost O(n K d). Thread-safe. */
MOEG_EXPORT moeg_status moeg_router_logits(const moeg_router *router, size_t n, const double *x, double *logits);

/** Margins Delta(x) = a_(1) - a_(2) of n rows; statuses and cost as moeg_router_logits(), #MOEG_ERANGE also where the
 * difference overflows.
 *
 * @param margin  (n); +inf where only one expert is not masked */
MOEG_EXPORT moeg_status moeg_router_margin(const moeg_router *router, size_t n, const double *x, double *margin);

/** The k largest logits of n rows, in order: the first index is the hard router's choice k*(x).
 *
 * @param k      1 <= k <= K
 * @param index  (n x k), row-major
 * @return as moeg_router_logits(); #MOEG_EINVAL also for k outside its range; #MOEG_EDOM if k experts are not there
 *         (masked). Cost O(n K (d + k)). */
MOEG_EXPORT moeg_status moeg_router_top(const moeg_router *router, size_t n, const double *x, size_t k, size_t *index);

/** Margins of n rows of K logits: a_(1) - a_(2).
 *
 * @param logits  (n x K), finite or -inf
 * @param margin  (n); +inf where only one logit is finite; 0 on a tie
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, a NaN or +inf, named by row and expert); #MOEG_EDOM (K < 2, or no finite
 *         logit in a row: named); #MOEG_ERANGE (the difference overflows). Outputs untouched on error. */
MOEG_EXPORT moeg_status moeg_margin(size_t n, size_t K, const double *logits, double *margin);

/** The k largest of K logits in each of n rows, in order, ties to the lowest index.
 *
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, k = 0 or k > K, a NaN or +inf); #MOEG_EDOM (fewer than k finite logits in a
 *         row). Outputs untouched on error. Cost O(n K k). */
MOEG_EXPORT moeg_status moeg_top(size_t n, size_t K, const double *logits, size_t k, size_t *index);

/** SOFTMAX gates g_k = exp((a_k - a_(1))/tau) / sum of n rows of K logits; tau = 0: 1 at the largest (ties: the lowest
 * index), 0 elsewhere [theory: gates].
 *
 * Right to 4 epsilon, relative, for all finite logits and every tau, and half a subnormal unit more where the gate is
 * subnormal: the quotient (a_k - a_(1))/tau is carried in double-double. The gates of a row sum to 1 within 2 epsilon.
 * @param logits  (n x K), finite or -inf (gate 0)
 * @param tau     0 or in [1e-300, 1e300], in units of logits
 * @param gates   (n x K); may be the same array as logits
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, K = 0, tau outside its range, a NaN or +inf, named by row and expert);
 *         #MOEG_EDOM (no finite logit in a row). Outputs untouched on error. Cost O(n K). Thread-safe. */
MOEG_EXPORT moeg_status moeg_gates_softmax(size_t n, size_t K, const double *logits, double tau, double *gates);

#ifdef __cplusplus
}
#endif

#endif
