/** @file
 * Routers: logits, margins and gaps, ordered top-k. Ties break to the lowest index, always. A logit that is not there
 * is as a masked one, -inf: the one expert of K = 1 has the margin +inf. n = 0 rows are fine everywhere; their arrays
 * may be NULL. */
#ifndef MOEGEOM_ROUTER_H
#define MOEGEOM_ROUTER_H

#include <moegeom/activation.h>
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
 * @param K  experts, at least 1
 * @param d  dimension of x, at least 1
 * @param W  (K x d), row-major, finite
 * @param b  (K), finite or -inf (a masked expert; at least one must not be), or NULL for 0
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, K = 0, d = 0, a value that does not fit, named by its index); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_router_affine_create(moeg_router **router, size_t K, size_t d, const double *W,
                                                  const double *b);

/** Logits by affine maps with an activation between, and none at the output, as moeg_expert_mlp_create(). With
 * layers = 1 it is an affine router.
 *
 * @param layers      number of affine maps, at least 1
 * @param widths      (layers + 1): d, the hidden widths, K; each at least 1
 * @param W           (layers) pointers: W[l] (widths[l + 1] x widths[l]), row-major, finite
 * @param b           (layers) pointers: b[l] (widths[l + 1]), finite, or NULL for 0; in the last one -inf masks an
 * expert (at least one must not be); NULL: all 0
 * @param activation  between the maps
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, a size of 0, an unknown activation, a value that does not fit, named by
 *         layer and index); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_router_mlp_create(moeg_router **router, size_t layers, const size_t *widths,
                                               const double *const *W, const double *const *b,
                                               moeg_activation activation);

/** The logits of a callback router.
 *
 * Called from several threads at once, with batches of any size. For a row to be routed alike alone and in any batch,
 * its logits must depend on that row alone, to the last bit. It must return: no longjmp, no exception.
 * @param n       rows, at least 1
 * @param x       (n x d), row-major
 * @param logits  (n x K), row-major, to be written in full, finite or -inf (a masked expert); NaN on entry
 * @param user    as given to moeg_router_callback_create()
 * @return 0; anything else stops the run with #MOEG_ECALLBACK. */
typedef int (*moeg_router_map)(size_t n, const double *x, double *logits, void *user);

/** A router of the user's own.
 *
 * Where its logits are wanted, a function that returns other than 0 is #MOEG_ECALLBACK, with the value in the message;
 * a NaN or +inf is the #MOEG_ERANGE of logits that overflow; a row of which every logit is -inf is #MOEG_EDOM.
 * @param K       experts, in [1, 2^32)
 * @param d       dimension of x, in [1, 2^32)
 * @param logits  the logits
 * @param user    handed to it; must live as long as the router, and what holds it
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, K, d); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_router_callback_create(moeg_router **router, size_t K, size_t d, moeg_router_map logits,
                                                    void *user);

/** Frees a router (its memory lives on while mixtures and jobs hold it). NULL is fine. */
MOEG_EXPORT void moeg_router_free(moeg_router *router);

/** Number of experts K; 0 of NULL. */
MOEG_EXPORT size_t moeg_router_experts(const moeg_router *router);

/** Dimension d of x; 0 of NULL. */
MOEG_EXPORT size_t moeg_router_dim(const moeg_router *router);

/** Logits of n rows, by our own kernels with a fixed order of operations: a row has the same logits, bit for bit, alone
 * and in any batch (of a callback router, if the callback sees to it).
 *
 * @param x       (n x d), row-major, finite
 * @param logits  (n x K), row-major
 * @return #MOEG_OK; #MOEG_EINVAL (NULL; x not finite, by row and column); #MOEG_ERANGE (a logit overflows: row and
 *         expert); #MOEG_ENOMEM; of a callback router #MOEG_ECALLBACK and #MOEG_EDOM. Outputs untouched on error, for
 * which the results are made beside them. The logit of a masked expert is -inf, whatever x. Cost O(n) times the number
 * of weights. Thread-safe. */
MOEG_EXPORT moeg_status moeg_router_logits(const moeg_router *router, size_t n, const double *x, double *logits);

/** Margins Delta(x) = a_(1) - a_(2) of n rows; statuses and cost as moeg_router_logits(), #MOEG_ERANGE also where the
 * difference overflows.
 *
 * @param margin  (n); +inf where only one expert is not masked, or there is but one */
MOEG_EXPORT moeg_status moeg_router_margin(const moeg_router *router, size_t n, const double *x, double *margin);

/** A gap between ranked logits, a_(upper) - a_(lower), 1 <= upper < lower <= K + 1. Logits that are masked, or not
 * there, have the last ranks: it is +inf where fewer than `lower` are finite. */
typedef struct moeg_gap {
    size_t upper; /**< Rank of the logit above: 1 is that of the largest. */
    size_t lower; /**< Rank of the logit below. */
} moeg_gap;

/** The margin Delta = a_(1) - a_(2). */
MOEG_EXPORT moeg_gap moeg_gap_margin(void);

/** The gap of order r, a_(1) - a_(r+1): small where r + 1 experts nearly tie; of order 1 the margin. */
MOEG_EXPORT moeg_gap moeg_gap_order(size_t r);

/** The top-k gap a_(k) - a_(k+1): for k = 1 the margin. */
MOEG_EXPORT moeg_gap moeg_gap_top(size_t k);

/** Gaps of the logits of n rows, as moeg_logit_gap(); statuses and cost as moeg_router_margin(); #MOEG_EINVAL also for
 * ranks outside their range, #MOEG_EDOM where fewer than `gap.upper` experts are not masked.
 *
 * @param out  (n); +inf where fewer than `gap.lower` experts are not masked */
MOEG_EXPORT moeg_status moeg_router_gap(const moeg_router *router, size_t n, const double *x, moeg_gap gap,
                                        double *out);

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
 * @param margin  (n); +inf where only one logit is finite, as for K = 1; 0 on a tie
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, K = 0, a NaN or +inf, named by row and expert); #MOEG_EDOM (no finite logit in
 *         a row: named); #MOEG_ERANGE (the difference overflows). Outputs untouched on error. */
MOEG_EXPORT moeg_status moeg_margin(size_t n, size_t K, const double *logits, double *margin);

/** Gaps of n rows of K logits.
 *
 * @param logits  (n x K), finite or -inf
 * @param gap     which one
 * @param out     (n); +inf where fewer than `gap.lower` logits are finite; 0 on a tie
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, K = 0, ranks outside their range, a NaN or +inf, named by row and expert);
 *         #MOEG_EDOM (fewer than `gap.upper` finite logits in a row: named); #MOEG_ERANGE (the difference overflows).
 *         Outputs untouched on error. Cost O(n K lower). Thread-safe. */
MOEG_EXPORT moeg_status moeg_logit_gap(size_t n, size_t K, const double *logits, moeg_gap gap, double *out);

/** The k largest of K logits in each of n rows, in order, ties to the lowest index.
 *
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, k = 0 or k > K, a NaN or +inf); #MOEG_EDOM (fewer than k finite logits in a
 *         row). Outputs untouched on error. Cost O(n K k). */
MOEG_EXPORT moeg_status moeg_top(size_t n, size_t K, const double *logits, size_t k, size_t *index);

#ifdef __cplusplus
}
#endif

#endif
