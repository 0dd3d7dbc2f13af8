/* The flats on which experts of a frame tie, to the rounding of its logits [theory: surface integrals]. */
#ifndef MOEG_LINE_FLAT_H
#define MOEG_LINE_FLAT_H

#include "line/frame.h"

#include <stddef.h>

/* Experts i and j of the frame's router number `which`, where the logit of i less that of j is 0. */
typedef struct moeg_tie {
    size_t which, i, j;
} moeg_tie;

/* The points where `count` independent ties hold: centre, and what is perpendicular to the basis from there. */
typedef struct moeg_flat {
    size_t count;
    double *basis;  /* (count x r) orthonormal */
    double *centre; /* (r) the point nearest to 0 */
    double *lost;   /* (count) what rounding may have done to the numbers of each row */
} moeg_flat;

/* Doubles for a flat of up to `most` ties. */
static inline size_t moeg_flat_size(size_t r, size_t most)
{
    return most * (r + 1) + r;
}

/* The whole row space, laid out in memory of moeg_flat_size(). */
void moeg_flat_begin(size_t r, size_t most, double *memory, moeg_flat *flat);

/* What of the flat is on the tie too. Returns the length of the part of the difference's slope that is along the flat,
 * by which the difference falls to 0 at the distance *y from the old centre; or 0, and the flat as it was, if that is
 * no more than rounding: then the tie is parallel to it. Cost O(r (count + 1)). */
double moeg_flat_cut(const moeg_frame *frame, const moeg_tie *tie, moeg_flat *flat, double *y);

/* Whether the tie holds all over the flat, to rounding. scratch (r). Cost O(r (count + 1)). */
int moeg_flat_holds(const moeg_frame *frame, const moeg_flat *flat, const moeg_tie *tie, double *scratch);

/* x less its part in the span of `count` orthonormal rows (count x r); twice, for the rounding of the first time. */
void moeg_flat_project(size_t count, size_t r, const double *basis, double *x);

#endif
