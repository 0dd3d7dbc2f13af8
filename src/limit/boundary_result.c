#include "limit/boundary_job.h"

#include <moegeom/estimate.h>

#include "base/error.h"
#include "base/job.h"
#include "base/memory.h"
#include "limit/boundary_exponent.h"

#include <inttypes.h>
#include <math.h>

/* A probability of which nothing is known yet. */
static moeg_estimate unknown_mass(double level)
{
    return (moeg_estimate){
        .value = NAN,
        .std_error = INFINITY,
        .hi = 1,
        .level = level,
        .method = MOEG_METHOD_MC,
    };
}

/* The counts of a state of n rows: how many have Delta <= w_j, into below (nw), and how many of them are ties. A state
 * that no rows could have made is refused. */
static moeg_status read_counts(const char *function, const moeg_boundary_context *c, const double *state, uint64_t n,
                               uint64_t *below, uint64_t *ties)
{
    const double *sums = state + MOEG_BOUNDARY_BINS + c->nw;
    uint64_t rows, before = 0;
    moeg_status status =
        moeg_partial_count(function, "its rows", MOEG_BOUNDARY_ROWS, state[MOEG_BOUNDARY_ROWS], n, n, &rows);
    for (size_t j = 0; j < c->nw && status == MOEG_OK; j++) {
        status = moeg_partial_count(function, "rows of a bin", MOEG_BOUNDARY_BINS + j, state[MOEG_BOUNDARY_BINS + j], 0,
                                    n - before, &rows);
        if (status != MOEG_OK)
            return status;
        before = below[j] = before + rows;
        if (!(sums[j] >= 0 && isfinite(sums[j])))
            return moeg_fail(MOEG_EINVAL,
                             "%s: the partial result is damaged: a sum of logarithms (state[%zu]) must be at least 0 "
                             "and finite, got %g",
                             function, MOEG_BOUNDARY_BINS + c->nw + j, sums[j]);
    }
    /* No width is negative: ties lie in the first bin. */
    return status == MOEG_OK
               ? moeg_partial_count(function, "ties", MOEG_BOUNDARY_TIES, state[MOEG_BOUNDARY_TIES], 0, below[0], ties)
               : status;
}

/* Estimates in the grid's own order, and the places in ascending order of w of an exponent that too few rows tell, and
 * of a constant that is out of range; nw if there is none. */
typedef struct estimates {
    moeg_estimate *mass, *alpha, *C;
    size_t untold, out_of_range;
} estimates;

static moeg_status read_state(const char *function, const moeg_boundary_context *c, const double *sums, uint64_t n,
                              const uint64_t *below, uint64_t ties, double level, estimates *e)
{
    double sum = 0;
    e->untold = e->out_of_range = c->nw;
    for (size_t j = 0; j < c->nw; j++) {
        const size_t at = c->order[j];
        /* Rows below the last width are farther from this one by the logarithm of the widths' ratio. */
        if (j > 0 && below[j - 1] > ties)
            sum += (double)(below[j - 1] - ties) * moeg_log_ratio(c->w[j], c->w[j - 1]);
        sum += sums[j];
        moeg_status status = MOEG_OK;
        if (n == 0)
            e->mass[at] = unknown_mass(level);
        else
            status = moeg_estimate_proportion(below[j], n, level, MOEG_METHOD_MC, &e->mass[at]);
        if (status == MOEG_OK && c->logarithms && c->w[j] > 0) {
            status = moeg_boundary_hill(function, n, below[j] - ties, sum, level, &e->alpha[at]);
            if (status == MOEG_EUNABLE && e->untold == c->nw)
                e->untold = j;
            if (status >= 0 &&
                moeg_boundary_constant(c->w[j], &e->mass[at], &e->alpha[at], &e->C[at]) == MOEG_EUNABLE &&
                e->out_of_range == c->nw)
                e->out_of_range = j;
        }
        if (status < 0)
            return status;
    }
    return MOEG_OK;
}

/* MOEG_OK, or MOEG_EUNABLE for what of the results is wanted and could not be had. */
static moeg_status judge(const char *function, const moeg_boundary_context *c, const estimates *e,
                         const moeg_boundary_results *results)
{
    if ((results->alpha != NULL || results->C != NULL) && e->untold < c->nw)
        return moeg_fail(MOEG_EUNABLE,
                         "%s: w[%zu] = %g has %" PRIu64 " rows below it that tell an exponent, fewer than %d", function,
                         c->order[e->untold], c->w[e->untold], e->alpha[c->order[e->untold]].contributing,
                         MOEG_ENOUGH_UNITS);
    if (results->C != NULL && e->out_of_range < c->nw)
        return moeg_fail(MOEG_EUNABLE, "%s: C at w[%zu] = %g is out of the range of a double", function,
                         c->order[e->out_of_range], c->w[e->out_of_range]);
    return MOEG_OK;
}

static void write_results(size_t nw, const estimates *e, uint64_t ties, const moeg_boundary_results *results)
{
    for (size_t j = 0; j < nw; j++) {
        if (results->mass != NULL)
            results->mass[j] = e->mass[j];
        if (results->alpha != NULL)
            results->alpha[j] = e->alpha[j];
        if (results->C != NULL)
            results->C[j] = e->C[j];
    }
    if (results->ties != NULL)
        *results->ties = ties;
}

moeg_status moeg_boundary_job_read(const char *function, const moeg_job *job, const moeg_partial *partial, double level,
                                   const moeg_boundary_results *results)
{
    const moeg_boundary_context *c = moeg_boundary_context_of(job);
    const size_t nw = c->nw;
    double *state = moeg_alloc(MOEG_BOUNDARY_BINS + 2 * nw, sizeof *state);
    moeg_estimate *all = moeg_alloc(nw, 3 * sizeof *all);
    uint64_t *below = moeg_alloc(nw, sizeof *below), ties = 0;
    const uint64_t n = moeg_partial_units(partial);
    moeg_status status = state == NULL || all == NULL || below == NULL ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK)
        status = moeg_partial_state(job, partial, state);
    if (status == MOEG_OK)
        status = read_counts(function, c, state, n, below, &ties);
    if (status == MOEG_OK) {
        estimates e = {.mass = all, .alpha = all + nw, .C = all + 2 * nw};
        status = read_state(function, c, state + MOEG_BOUNDARY_BINS + nw, n, below, ties, level, &e);
        if (status == MOEG_OK) {
            write_results(nw, &e, ties, results);
            status = judge(function, c, &e, results);
        }
    }
    moeg_release(state);
    moeg_release(all);
    moeg_release(below);
    return status;
}
