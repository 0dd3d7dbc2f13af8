/* Corners of the levels of an affine router in a plane, r = 2 [theory: lines]: where what a gap decides by changes. */
#ifndef MOEG_LINE_VERTEX_H
#define MOEG_LINE_VERTEX_H

#include "line/frame.h"

#include <moegeom/router.h>
#include <moegeom/status.h>
#include <stddef.h>

typedef struct moeg_vertices {
    size_t count, room, K;
    double *point; /* (room x 2) */
    /* (count x K) whether each expert may have the rank `upper` there (MOEG_MAY_UPPER), and `lower` (MOEG_MAY_LOWER),
     * within rounding. */
    unsigned char *may;
} moeg_vertices;

enum { MOEG_MAY_UPPER = 1, MOEG_MAY_LOWER = 2 };

/* Points u at which three experts tie of which one has a rank upper .. lower; two experts tie at the one rank of the
 * gap, two others at the other; or, shift > 0, the gap is `shift` and a third expert ties with one of its two. Points
 * where that may be so within rounding are among them; such as rounding alone tells apart may be one. frame->r = 2. To
 * be freed with moeg_vertices_free(). MOEG_ENOMEM. Cost O(K^3) and O(K) more for each point, O(K^4) where lower > 2. */
moeg_status moeg_vertices_find(const char *function, const moeg_frame *frame, moeg_gap gap, double shift,
                               moeg_vertices *vertices);

/* Whether experts i and j may be those of the gap at point v. */
static inline int moeg_vertices_decide(const moeg_vertices *vertices, size_t v, size_t i, size_t j)
{
    const unsigned char *may = vertices->may + v * vertices->K;
    return (may[i] & MOEG_MAY_UPPER && may[j] & MOEG_MAY_LOWER) || (may[j] & MOEG_MAY_UPPER && may[i] & MOEG_MAY_LOWER);
}

/* pairs (K x K), to 1 where experts i and j are those of the gap anywhere, else 0: between the vertices, of which all
 * are needed, seen along a direction that no tie has, nothing changes across it. MOEG_ENOMEM. */
moeg_status moeg_vertices_pairs(const char *function, const moeg_frame *frame, moeg_gap gap,
                                const moeg_vertices *vertices, unsigned char *pairs);
void moeg_vertices_free(moeg_vertices *vertices);

#endif
