/* Sampling in a router's row space (line/frame.h). */
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
