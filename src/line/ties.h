/* The ties nearest to the mean of the law: where far ones are likeliest [theory: lines, far ties].
 *
 * Where ranks upper .. lower of a set of lower - upper + 1 experts tie, given others above and the rest below them, the
 * points u form a convex polyhedron, and the one nearest to 0 has nearly all of its probability around it. Above are
 * those that are so at the point nearest to 0 where the set ties. Lines are to be drawn around these points: a set that
 * is missed costs precision, and no truth. */
#ifndef MOEG_LINE_TIES_H
#define MOEG_LINE_TIES_H

#include "line/frame.h"

#include <moegeom/router.h>
#include <moegeom/status.h>
#include <stddef.h>

/* Lines drawn around the mean know ties well whose nearest points are no farther than this from where they run: the
 * variance of a probability p e^(-|s|^2/2) seen from s away is up to e^(|s|^2) of its square. */
#define MOEG_TIES_NEAR 1.25

typedef struct moeg_ties {
    size_t r, size, count; /* sets of `size` experts */
    double *square;        /* (count) of the distance, increasing */
    size_t *member;        /* (count x size), numbers in the frame, increasing */
    double *point;         /* (count x r) */
} moeg_ties;

/* Ties of a gap whose density is above e^-cut of that of the nearest one; none if one is nearer than `near`, or all
 * are farther than 40. A point is
 * found when no constraint moves it by more than 1e-3 of its distance; sets with constraints so nearly parallel that it
 * moves by 3e-2 after 1000 sweeps are left out. Of more than 4096 sets pairs at the upper rank stand for them. To be
 * freed with moeg_ties_free(). MOEG_ENOMEM. A set costs O(K r) a sweep, some ten of them, less for those whose
 * hyperplanes are far. */
moeg_status moeg_ties_init(const char *function, const moeg_frame *frame, moeg_gap gap, double near, double cut,
                           moeg_ties *ties);
void moeg_ties_free(moeg_ties *ties);

/* Whether expert k is one of those that tie. */
int moeg_ties_has(const moeg_ties *ties, size_t tie, size_t k);

#endif
