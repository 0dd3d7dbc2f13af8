/* Order statistics of kept gaps, and what weights are worth. */
#ifndef MOEG_LIMIT_GAP_ORDER_H
#define MOEG_LIMIT_GAP_ORDER_H

#include <math.h>
#include <moegeom/status.h>
#include <stddef.h>
#include <stdint.h>

/* What `rows` rows are worth in equal ones (Kish), from the sums of their weights and of the squares of these, which
 * may have underflowed; 0 of no rows. */
static inline double moeg_kish_units(uint64_t rows, double weight, double squares)
{
    const double units = weight * weight / squares;
    if (rows == 0)
        return 0;
    return isfinite(units) ? fmax(1, fmin((double)rows, units)) : 1;
}

/* The shares of n >= 1 rows that lie below: c/n of c rows or, of rows with weights, weight[c - 1] of weight[n - 1]. */
typedef struct moeg_gap_shares {
    size_t n;
    const double *weight, *square; /* (n) sums of the weights up to each row, and of their squares; or NULL */
} moeg_gap_shares;

/* The gaps, by rank from 1, that a quantile and its interval are made of. `lo` may be 0 and `hi` n + 1: no row is
 * there. */
typedef struct moeg_gap_ranks {
    size_t value, lo, hi;
} moeg_gap_ranks;

/* The ranks at 0 < p <= 1; `reach` is the normal quantile of the level. MOEG_OK, or MOEG_EINVAL of the interval of a
 * share. Cost some intervals of that. Of rows with weights the limits are those of shares in as many equal rows as the
 * weights are worth where the share is p (moeg_estimate_weighted_proportion()). */
moeg_status moeg_gap_ranks_at(const char *function, const moeg_gap_shares *shares, double p, double level, double reach,
                              moeg_gap_ranks *ranks);

/* Moves the numbers x (n), none of them NaN, so that those of the ranks wanted, counted from 0, ascending, stand where
 * sorting would put them. Expected cost O(n log count), whatever the order of x, ties included. */
void moeg_gap_select(size_t n, double *x, size_t count, const size_t *rank);

/* Moves n gaps so that those of the ranks of np quantiles stand where sorting would put them. MOEG_OK, MOEG_ENOMEM. */
moeg_status moeg_gap_place(const char *function, size_t n, double *gap, size_t np, const moeg_gap_ranks *ranks);

/* The gaps of those of n rows that have a weight, sorted, to the front of `gap`; sums (2n) for *shares, of no rows if
 * none has a weight. MOEG_OK, MOEG_ENOMEM. */
moeg_status moeg_gap_sort_weighed(const char *function, size_t n, double *gap, const double *weights, double *sums,
                                  moeg_gap_shares *shares);

#endif
