/* Sampled gaps as a job: counts and sums of logarithms in the bins of a grid of widths. */
#ifndef MOEG_LIMIT_BOUNDARY_JOB_H
#define MOEG_LIMIT_BOUNDARY_JOB_H

#include "limit/gap_order.h"
#include "limit/gap_rows.h"

#include <moegeom/boundary.h>

#include <math.h>

typedef struct moeg_boundary_context {
    moeg_gap_rows rows;
    size_t nw;
    int logarithms;        /* Whether to add them: they are wanted for the exponent alone. */
    const double *weights; /* of the rows of an empirical law that has some, or NULL; they belong to the law */
    double *w;             /* (nw) ascending */
    size_t *order;         /* (nw), the index of w[j] in the grid as given */
} moeg_boundary_context;

/* State: {rows, ties (gap 0), rows in bin j (nw), sum over bin j of log(w_j/gap), gap > 0 (nw)}; bin j holds
 * w_(j - 1) < gap <= w_j. Of rows with weights these are the rows of positive weight, and the sum is of weight times
 * logarithm L; then, from moeg_boundary_weights() on, follow sums of weights and of their squares: {of ties, of rows
 * above the last width, of the rest of bin j (nw)}, two numbers each; and of these rests {w L^2, w^2 L, w^2 L^2} (nw).
 */
enum { MOEG_BOUNDARY_ROWS, MOEG_BOUNDARY_TIES, MOEG_BOUNDARY_BINS };
enum { MOEG_BOUNDARY_TIED = 0, MOEG_BOUNDARY_ABOVE = 2, MOEG_BOUNDARY_WEIGHT_BINS = 4, MOEG_BOUNDARY_CURVES = 3 };

static inline size_t moeg_boundary_weights(const moeg_boundary_context *c)
{
    return MOEG_BOUNDARY_BINS + 2 * c->nw;
}

static inline size_t moeg_boundary_state_size(const moeg_boundary_context *c)
{
    return moeg_boundary_weights(c) +
           (c->weights == NULL ? 0 : MOEG_BOUNDARY_WEIGHT_BINS + (2 + MOEG_BOUNDARY_CURVES) * c->nw);
}

/* Where the sums of squares begin, MOEG_BOUNDARY_CURVES of each bin. */
static inline size_t moeg_boundary_curves(const moeg_boundary_context *c)
{
    return moeg_boundary_weights(c) + MOEG_BOUNDARY_WEIGHT_BINS + 2 * c->nw;
}

/* log(w/v), 0 < v <= w: exact near v = w, and where the quotient overflows. */
static inline double moeg_log_ratio(double w, double v)
{
    const double excess = (w - v) / v;
    return isfinite(excess) ? log1p(excess) : log(w) - log(v);
}

/* moeg_boundary_job_create() after its checks, on behalf of `function`: in the router's row space where it has fewer
 * dimensions (row_space.h), as users get it, or (row_space = 0) in the full space, for tests and benchmarks to compare.
 */
moeg_status moeg_boundary_job_make(const char *function, moeg_job **job, const moeg_router *router, moeg_gap gap,
                                   const moeg_law *law, size_t nw, const double *w, int logarithms, int row_space,
                                   const moeg_sampling *s);

/* The context of a boundary job, or NULL if it is another job. */
const moeg_boundary_context *moeg_boundary_context_of(const moeg_job *job);

/* Where results go, in the grid's own order; each may be NULL. */
typedef struct moeg_boundary_results {
    moeg_estimate *mass, *alpha, *C; /* (nw) */
    uint64_t *ties;
} moeg_boundary_results;

/* moeg_boundary_job_result() after its checks, on behalf of `function`. */
moeg_status moeg_boundary_job_read(const char *function, const moeg_job *job, const moeg_partial *partial, double level,
                                   const moeg_boundary_results *results);

#endif
