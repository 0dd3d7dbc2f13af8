/* The ties nearest to the mean of the law: where far ones are likeliest [theory: lines, far ties].
 *
 * Where ranks upper .. lower of a set of lower - upper + 1 experts tie, others above and below them, logits of the
 * frame form a convex polyhedron, whose point nearest to u = 0 has nearly all of its probability around it. */
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

/* Ties of a gap whose density is above e^-cut of that of the nearest one; none if a tie is near. Points are right to
 * some 1e-3 of their distance. To be freed with moeg_ties_free(). MOEG_ENOMEM. Where no tie is near a set costs O(K r)
 * a sweep, some ten of them, less for those whose hyperplanes are far. */
moeg_status moeg_ties_init(const char *function, const moeg_frame_logits *logits, size_t r, moeg_gap gap, double cut,
                           moeg_ties *ties);
void moeg_ties_free(moeg_ties *ties);

/* Whether expert k is one of those that tie. */
int moeg_ties_has(const moeg_ties *ties, size_t tie, size_t k);

#endif
