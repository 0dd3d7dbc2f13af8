#include "limit/boundary_job.h"

#include <moegeom/estimate.h>

#include "base/error.h"
#include "base/interval.h"
#include "base/job.h"
#include "base/memory.h"

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

/* Hill's estimate from `felt` rows whose logarithms add to `sum`. Without rows, or with all of them at w, no finite
 * exponent is told from any other. */
static moeg_status estimate_exponent(const char *function, uint64_t n, uint64_t felt, double sum, double level,
                                     moeg_estimate *out)
{
    const double value = felt == 0 ? NAN : (double)felt / sum;
    moeg_estimate e = {
        .value = value,
        .std_error = INFINITY,
        .lo = -INFINITY,
        .hi = INFINITY,
        .level = level,
        .n = n,
        .contributing = felt,
        .method = MOEG_METHOD_MC,
    };
    if (isfinite(value)) {
        const moeg_status status = moeg_interval_gamma(function, felt, value, level, &e.lo, &e.hi);
        if (status != MOEG_OK)
            return status;
        e.std_error = value / sqrt((double)felt);
    }
    *out = e;
    return felt >= MOEG_ENOUGH_UNITS && isfinite(value) ? MOEG_OK : MOEG_EUNABLE;
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

/* The results in ascending order of w into arrays of the grid's own order. *doubtful: the place in ascending order of
 * an exponent that too few rows tell, or nw. */
static moeg_status read_state(const char *function, const moeg_boundary_context *c, const double *sums, uint64_t n,
                              const uint64_t *below, uint64_t ties, double level, moeg_estimate *mass,
                              moeg_estimate *alpha, size_t *doubtful)
{
    double sum = 0;
    *doubtful = c->nw;
    for (size_t j = 0; j < c->nw; j++) {
        /* Rows below the last width are farther from this one by the logarithm of the widths' ratio. */
        if (j > 0 && below[j - 1] > ties)
            sum += (double)(below[j - 1] - ties) * moeg_log_ratio(c->w[j], c->w[j - 1]);
        sum += sums[j];
        moeg_status status = MOEG_OK;
        if (n == 0)
            mass[c->order[j]] = unknown_mass(level);
        else
            status = moeg_estimate_proportion(below[j], n, level, MOEG_METHOD_MC, mass + c->order[j]);
        if (status == MOEG_OK && c->logarithms && c->w[j] > 0)
            status = estimate_exponent(function, n, below[j] - ties, sum, level, alpha + c->order[j]);
        if (status < 0)
            return status;
        if (status == MOEG_EUNABLE && *doubtful == c->nw)
            *doubtful = j;
    }
    return MOEG_OK;
}

moeg_status moeg_boundary_job_read(const char *function, const moeg_job *job, const moeg_partial *partial, double level,
                                   moeg_estimate *mass, moeg_estimate *alpha, uint64_t *ties)
{
    const moeg_boundary_context *c = moeg_boundary_context_of(job);
    const size_t nw = c->nw;
    double *state = moeg_alloc(MOEG_BOUNDARY_BINS + 2 * nw, sizeof *state);
    moeg_estimate *all = moeg_alloc(nw, 2 * sizeof *all);
    uint64_t *below = moeg_alloc(nw, sizeof *below), tied = 0;
    const uint64_t n = moeg_partial_units(partial);
    size_t doubtful;
    moeg_status status = state == NULL || all == NULL || below == NULL ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK)
        status = moeg_partial_state(job, partial, state);
    if (status == MOEG_OK)
        status = read_counts(function, c, state, n, below, &tied);
    if (status == MOEG_OK)
        status =
            read_state(function, c, state + MOEG_BOUNDARY_BINS + nw, n, below, tied, level, all, all + nw, &doubtful);
    if (status == MOEG_OK) {
        for (size_t j = 0; mass != NULL && j < nw; j++)
            mass[j] = all[j];
        for (size_t j = 0; alpha != NULL && j < nw; j++)
            alpha[j] = all[nw + j];
        if (ties != NULL)
            *ties = tied;
        if (alpha != NULL && doubtful < nw)
            status = moeg_fail(MOEG_EUNABLE,
                               "%s: w[%zu] = %g has %" PRIu64 " rows below it that tell an exponent, fewer "
                               "than %d",
                               function, c->order[doubtful], c->w[doubtful], all[nw + c->order[doubtful]].contributing,
                               MOEG_ENOUGH_UNITS);
    }
    moeg_release(state);
    moeg_release(all);
    moeg_release(below);
    return status;
}
