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

/* Ties whose density is below e^-MOEG_TIES_CUT of that of the nearest one are left to lines that are there anyway. */
#define MOEG_TIES_CUT 11.5

typedef struct moeg_shifts {
    size_t r, strata, count;
    uint32_t *stratum; /* (count) increasing */
    double *shift;     /* (count x r) */
} moeg_shifts;

/* The part of a tie's nearest point that lines of a stratum would have to be shifted by to meet it: 0 if they do not
 * see the tie, else 1, and the shift (r). */
typedef int (*moeg_shift_of)(const void *self, const moeg_ties *ties, size_t tie, size_t stratum, double *shift);

/* Parts for each of `strata`, without ties (NULL) one each; with them one more for each tie that is not near to any of
 * its parts, the nearest ties first. At most `most` more in all: MOEG_EINVAL if ties would be left out then that count;
 * the message says so of `n` lines. MOEG_ENOMEM. To be freed with moeg_shifts_free(). */
moeg_status moeg_shifts_init(const char *function, size_t strata, size_t r, const moeg_ties *ties,
                             moeg_shift_of shift_of, const void *self, uint64_t n, moeg_shifts *shifts);
void moeg_shifts_free(moeg_shifts *shifts);

/* x less its part along a unit vector. */
void moeg_shift_across(size_t r, const double *direction, const double *x, double *out);

/* From shifts of u to shifts of z, u = Q z (frame.h). MOEG_ENOMEM. */
moeg_status moeg_shifts_embed(const char *function, const moeg_frame *frame, moeg_shifts *shifts);

/* What lines u (r x stride) of part c count for, of `n` lines: share (n). */
void moeg_shifts_share(const moeg_shifts *shifts, size_t c, size_t n, size_t stride, const double *u, double *share);

#endif
