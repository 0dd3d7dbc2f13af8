/* Pairs of experts that do not tie alone: wherever they do, a third one ties with them. */
#ifndef MOEG_LIMIT_CROWDED_H
#define MOEG_LIMIT_CROWDED_H

#include "line/frame.h"

#include <moegeom/status.h>
#include <stddef.h>

/* crowded (K x K, symmetric) of the frame's first router: whether the pair is one of those, to rounding. To be freed
 * with moeg_release(). MOEG_ENOMEM. Cost O(K^2 (r + log K)). */
moeg_status moeg_crowded_pairs(const char *function, const moeg_frame *frame, unsigned char **crowded);

#endif
