/* The row space of a router under a Gaussian law [theory: boundary mass].
 *
 * Logits a = W (mean + L z) + b, z ~ N(0, I_d), of K experts that no bias masks matter to margins by their differences
 * from one of them alone: K - 1 rows (w_k - w_ref) L. With T Q = those rows, T (K - 1 x r) lower triangular and Q of r
 * orthonormal rows, r = min(d, K - 1), they are a_k - a_ref = constant + T Q z, where Q z ~ N(0, I_r). */
#ifndef MOEG_LIMIT_ROW_SPACE_H
#define MOEG_LIMIT_ROW_SPACE_H

#include <moegeom/law.h>
#include <moegeom/router.h>
#include <moegeom/status.h>

/* A router of the unmasked experts in their order, in r dimensions, and N(0, I_r), whose logits differ as those of
 * `router` under `law`: as random variables, and each logit to the rounding that its terms have in the full space too.
 * Experts with the same row and bias tie exactly here too. Both are to be freed. NULL, NULL where that does not apply:
 * another law or router, r = d, all experts but one masked, or an overflow on the way. MOEG_OK or MOEG_ENOMEM.
 * Cost O(K d^2 + K^2 d). */
moeg_status moeg_row_space(const char *function, const moeg_router *router, const moeg_law *law,
                           moeg_router **small_router, moeg_law **small_law);

#endif
