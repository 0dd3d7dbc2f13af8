/* Order statistics of kept gaps. */
#ifndef MOEG_LIMIT_GAP_ORDER_H
#define MOEG_LIMIT_GAP_ORDER_H

#include <moegeom/status.h>
#include <stddef.h>

/* The gaps, by rank from 1, that the quantile at p of n rows and its interval are made of. `lo` may be 0 and `hi` n +
 * 1: no row is there. */
typedef struct moeg_gap_ranks {
    size_t value, lo, hi;
} moeg_gap_ranks;

/* The ranks of 0 < p <= 1 in n >= 1 rows; `reach` is the normal quantile of the level. MOEG_OK, or MOEG_EINVAL of
 * moeg_interval_binomial(). Cost some intervals of that. */
moeg_status moeg_gap_ranks_at(const char *function, size_t n, double p, double level, double reach,
                              moeg_gap_ranks *ranks);

/* Moves the numbers x (n), none of them NaN, so that those of the ranks wanted, counted from 0, ascending, stand where
 * sorting would put them. Expected cost O(n log count), whatever the order of x, ties included. */
void moeg_gap_select(size_t n, double *x, size_t count, const size_t *rank);

#endif
