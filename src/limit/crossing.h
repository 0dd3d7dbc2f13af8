/* Where a curve of estimates first leaves [-size, size], as do the ends of its intervals [theory: temperature]. */
#ifndef MOEG_LIMIT_CROSSING_H
#define MOEG_LIMIT_CROSSING_H

#include <moegeom/estimate.h>
#include <moegeom/status.h>
#include <stddef.h>

/* Estimates at n ascending abscissas, n <= MOEG_CROSSING_MOST. A status other than MOEG_OK ends the search. */
typedef moeg_status (*moeg_curve)(const void *user, size_t n, const double *tau, moeg_estimate *estimates);
enum { MOEG_CROSSING_MOST = 24 };

/* The magnitudes that are looked at, none smaller than the next: the upper limit of the curve's, its own, the lower
 * limit. */
enum { MOEG_CROSSING_UPPER, MOEG_CROSSING_VALUE, MOEG_CROSSING_LOWER, MOEG_CROSSINGS };

/* The first bracket of a magnitude that rises above the size: above at `above`, not so at `below`. `inside` tells such
 * a bracket from a magnitude that is above at the lower end already (found, at `above`), or nowhere (not found). */
typedef struct moeg_crossing {
    int found, inside;
    double below, above, at_below, at_above;
} moeg_crossing;

typedef struct moeg_search {
    moeg_curve curve;
    const void *user;
    double size, lo, hi; /* 0 < lo < hi */
    double width;        /* of the last brackets, relative; 0: to neighbouring doubles */
} moeg_search;

/* On a geometric grid of at least 8 cells a decade and 8 in all; then each bracket is cut into 8, again and again, all
 * of them in one call of the curve. *last: the estimate at the first abscissa whose value was above, or at hi. */
moeg_status moeg_search_run(const moeg_search *search, moeg_crossing crossing[MOEG_CROSSINGS], moeg_estimate *last);

/* Where in its bracket a crossing is: by interpolation; of neighbouring doubles the lower one. */
double moeg_crossing_locate(const moeg_search *search, const moeg_crossing *crossing);

#endif
