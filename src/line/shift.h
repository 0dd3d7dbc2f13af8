/* Where lines are drawn: around the mean of the law, and around far ties [theory: far ties].
 *
 * The lines of a stratum have u ~ N(s_c, I), one part of them for each of its shifts s_c, the first of which is 0. A
 * line counts in each part for 1/sum_c' exp(s_c'.u - |s_c'|^2/2), whatever part it is of: the expectations of the parts
 * add up to that over N(0, I), and no line counts for more than it would without the other parts. */
#ifndef MOEG_LINE_SHIFT_H
#define MOEG_LINE_SHIFT_H

#include "line/frame.h"
#include "line/ties.h"

#include <moegeom/status.h>
#include <stddef.h>
#include <stdint.h>

/* Ties whose density is below e^-cut of that of the nearest one are left to lines that are there anyway: where all ties
 * count alike, and where some may count for nothing and others for much. */
#define MOEG_TIES_CUT_ALIKE 11.5
#define MOEG_TIES_CUT_UNLIKE 25.

typedef struct moeg_shifts {
    size_t r, strata, count;
    uint32_t *stratum; /* (count) increasing */
    double *shift;     /* (count x r) */
    double *height;    /* (count) -|s|^2/2 */
} moeg_shifts;

/* The part of a tie's nearest point that lines of a stratum would have to be shifted by to meet it: 0 if they do not
 * see the tie, else 1, and the shift (r). */
typedef int (*moeg_shift_of)(const void *self, const moeg_ties *ties, size_t tie, size_t stratum, double *shift);

/* Parts for each of `strata`, without ties (NULL) one each; with them more for each tie that is not near to any of its
 * parts, there and on the way there, the nearest ties first. There are up to one for every 16 of `n` lines, or 64
 * beside a tie that is near: MOEG_EINVAL if ties that count are left out then, and none is near. MOEG_ENOMEM. To be
 * freed with moeg_shifts_free(). */
moeg_status moeg_shifts_init(const char *function, size_t strata, size_t r, const moeg_ties *ties,
                             moeg_shift_of shift_of, const void *self, uint64_t n, moeg_shifts *shifts);
void moeg_shifts_free(moeg_shifts *shifts);

/* x less its part along a unit vector. */
void moeg_shift_across(size_t r, const double *direction, const double *x, double *out);

/* From shifts of u to shifts of z, u = Q z (frame.h). MOEG_ENOMEM. */
moeg_status moeg_shifts_embed(const char *function, const moeg_frame *frame, moeg_shifts *shifts);

/* The most parts that a stratum has. */
size_t moeg_shifts_most(const moeg_shifts *shifts);

/* What lines u (r x stride) of part c count for, at the beginning of a workspace of moeg_shifts_most() stride. */
void moeg_shifts_share(const moeg_shifts *shifts, size_t c, size_t stride, const double *u, double *workspace);

#endif
