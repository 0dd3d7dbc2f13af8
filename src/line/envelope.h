/* The order of K straight lines alpha_k + beta_k t along t, piece by piece [theory: lines].
 *
 * Logits along a line are such lines. Between two crossings of neighbours in their order the experts of the ranks 1 ..
 * levels stay the same, and every gap between two ranks is slope (t - crossing), the crossing of that pair: formed from
 * offsets, it does not cancel however near a tie. Of equal lines the lowest index comes first. */
#ifndef MOEG_LINE_ENVELOPE_H
#define MOEG_LINE_ENVELOPE_H

#include <stddef.h>
#include <stdint.h>

/* A walk along one line: the piece [lo, hi] on which it stands. Differences of two alpha and of two beta are finite. */
typedef struct moeg_envelope {
    size_t K, levels;
    const double *beta; /* (K) */
    double *alpha;      /* (K) */
    uint32_t *order;    /* (K): the experts of ranks 1 .. levels, then the others in no order */
    double lo, hi;      /* lo < hi; -INFINITY at the first piece, INFINITY at the last */
    size_t over, under; /* what swaps at hi: rank `over`, counted from 0, and the place of who takes it */
} moeg_envelope;

/* Doubles of workspace that an envelope of K lines takes. */
size_t moeg_envelope_size(size_t K);

/* For lines of these slopes, of which the ranks 1 .. levels are wanted; 1 <= levels <= K. The slopes and the workspace
 * (64-byte aligned) stay the caller's. No allocation. */
void moeg_envelope_init(moeg_envelope *e, size_t K, size_t levels, const double *beta, double *workspace);

/* To the first piece of the lines with alpha_k = alpha[k * step], k < K, which are copied. Cost O(K levels). */
void moeg_envelope_start(moeg_envelope *e, const double *alpha, size_t step);

/* On to the next piece; 0 if there is none. It begins where the last one ended, at the crossing of two lines that are
 * neighbours in the order, both within the levels or one of them just below: where one of two that tie at an end of a
 * piece is in the order on both sides, lo and hi are bit for bit their moeg_envelope_crossing(). Crossings that
 * rounding brings out of order meet at one point. Cost O(K) a swap; each pair swaps at most once. */
int moeg_envelope_next(moeg_envelope *e);

/* Where two lines meet: the same for (i, j) and (j, i); not finite where they are parallel. */
static inline double moeg_envelope_crossing(const moeg_envelope *e, size_t i, size_t j)
{
    return (e->alpha[j] - e->alpha[i]) / (e->beta[i] - e->beta[j]) + 0;
}

/* A gap on a piece: slope (t - crossing), or `level` all along it where the slope is 0. */
typedef struct moeg_envelope_gap {
    double slope, crossing, level;
} moeg_envelope_gap;

/* The gap of the ranks upper < lower <= levels, counted from 1, on the piece. Its slope is above 0 where the two
 * diverge, and then crossing <= lo, or below where they meet, crossing >= hi: but for the rounding of crossings where
 * three lines or more all but meet. A crossing beyond the range of a double makes the slope 0. */
static inline moeg_envelope_gap moeg_envelope_gap_of(const moeg_envelope *e, size_t upper, size_t lower)
{
    const uint32_t i = e->order[upper - 1], j = e->order[lower - 1];
    const moeg_envelope_gap gap = {e->beta[i] - e->beta[j], moeg_envelope_crossing(e, i, j), e->alpha[i] - e->alpha[j]};
    return gap.crossing - gap.crossing == 0 ? gap : (moeg_envelope_gap){0, 0, gap.level};
}

/* Its value at lo + offset or, of a negative offset, at hi + offset; never below 0. */
static inline double moeg_envelope_gap_at(const moeg_envelope *e, const moeg_envelope_gap *gap, double offset)
{
    const double end = offset < 0 ? e->hi : e->lo;
    const double value = gap->slope != 0 ? gap->slope * ((end - gap->crossing) + offset) : gap->level;
    return value > 0 ? value : 0;
}

#endif
