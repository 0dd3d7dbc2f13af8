/* Sets of experts that tie, and the law given that they do [theory: surface integrals]. */
#ifndef MOEG_LIMIT_SURFACE_SETS_H
#define MOEG_LIMIT_SURFACE_SETS_H

#include "line/flat.h"

#include <moegeom/status.h>
#include <stddef.h>

/* One set of r + 1 experts of a frame of R dimensions. Where they tie u = centre + z - B' B z, z ~ N(0, I_R), B the
 * orthonormal rows of their r differences; `line` is a unit vector perpendicular to those, 0 if r = R. */
typedef struct moeg_tie_set {
    int crowded;    /* another expert ties wherever these do, to rounding */
    double density; /* of the differences at 0, > 0 */
    size_t *member; /* (r + 1) */
    moeg_flat flat; /* of their r ties */
    double *line;   /* (R) */
} moeg_tie_set;

typedef struct moeg_tie_sets {
    size_t r, R, count;
    moeg_tie_set *set; /* (count) those whose differences have a density */
    size_t *members;
    double *numbers;
} moeg_tie_sets;

/* All sets of r + 1 experts of the frame's first router, r >= 1, r <= R. To be freed with moeg_tie_sets_free().
 * MOEG_ENOMEM. */
moeg_status moeg_tie_sets_init(const char *function, const moeg_frame *frame, size_t r, moeg_tie_sets *sets);
void moeg_tie_sets_free(moeg_tie_sets *sets);

/* The part of z (R) that is perpendicular to the set's differences and line, in `out`, which may be z. */
void moeg_tie_set_across(const moeg_tie_sets *sets, const moeg_tie_set *set, const double *z, double *out);

/* The probability that no other expert is above the set on its line, the part across which comes from z (R) (step
 * apart), but for those that tie with a crowded one; scratch (2 R). */
double moeg_tie_set_top(const moeg_frame *frame, const moeg_tie_sets *sets, const moeg_tie_set *set, const double *z,
                        size_t step, double *scratch);

#endif
