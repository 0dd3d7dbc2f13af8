/* Corners of the levels of an affine router in a plane, r = 2 [theory: lines]: where what a gap decides by changes. */
#ifndef MOEG_LINE_VERTEX_H
#define MOEG_LINE_VERTEX_H

#include "line/frame.h"

#include <moegeom/router.h>
#include <moegeom/status.h>
#include <stddef.h>

typedef struct moeg_vertices {
    size_t count, room;
    double *point; /* (room x 2) */
} moeg_vertices;

/* Points u, |u| <= reach, at which three experts tie of which one has a rank upper .. lower; two experts tie at the one
 * rank of the gap, two others at the other; or, shift > 0, the gap is `shift` and a third expert ties with one of its
 * two. Points where that may be so within rounding are among them. frame->r = 2. To be freed with
 * moeg_vertices_free(). MOEG_ENOMEM. Cost O(K^4), O(K^5) where lower > 2. */
moeg_status moeg_vertices_find(const char *function, const moeg_frame *frame, moeg_gap gap, double shift, double reach,
                               moeg_vertices *vertices);
void moeg_vertices_free(moeg_vertices *vertices);

#endif
