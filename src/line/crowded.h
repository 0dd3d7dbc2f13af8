/* Pairs of experts that do not tie alone: wherever they do, a third one ties with them. */
#ifndef MOEG_LINE_CROWDED_H
#define MOEG_LINE_CROWDED_H

#include "line/frame.h"

#include <moegeom/status.h>
#include <stdint.h>

/* third (K x K) of the frame's first router: 1 + a third expert that ties wherever the two do, to the rounding of the
 * frame; 0 where there is none, or where the two tie nowhere. To be freed with moeg_release(). MOEG_ENOMEM.
 * Cost O(K^2 (r + log K)). */
moeg_status moeg_crowded_pairs(const char *function, const moeg_frame *frame, uint32_t **third);

#endif
