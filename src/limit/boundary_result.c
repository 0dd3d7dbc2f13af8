#include "limit/boundary_job.h"

#include <moegeom/estimate.h>

#include "base/error.h"
#include "base/interval.h"
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

/* The results in ascending order of w into arrays of the grid's own order. *doubtful: the place in ascending order of
 * an exponent that too few rows tell, or nw. */
static moeg_status read_state(const char *function, const moeg_boundary_context *c, const double *state, double level,
                              moeg_estimate *mass, moeg_estimate *alpha, size_t *doubtful)
{
    const double *counts = state + MOEG_BOUNDARY_BINS, *sums = counts + c->nw;
    const uint64_t n = (uint64_t)state[MOEG_BOUNDARY_ROWS], ties = (uint64_t)state[MOEG_BOUNDARY_TIES];
    uint64_t below = 0;
    double sum = 0;
    *doubtful = c->nw;
    for (size_t j = 0; j < c->nw; j++) {
        /* Rows below the last width are farther from this one by the logarithm of the widths' ratio. */
        if (j > 0 && below > ties)
            sum += (double)(below - ties) * moeg_log_ratio(c->w[j], c->w[j - 1]);
        below += (uint64_t)counts[j];
        sum += sums[j];
        moeg_status status = MOEG_OK;
        if (n == 0)
            mass[c->order[j]] = unknown_mass(level);
        else
            status = moeg_estimate_proportion(below, n, level, MOEG_METHOD_MC, mass + c->order[j]);
        if (status == MOEG_OK && c->logarithms && c->w[j] > 0)
            status = estimate_exponent(function, n, below - ties, sum, level, alpha + c->order[j]);
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
    size_t doubtful;
    moeg_status status = state == NULL || all == NULL ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK)
        status = moeg_partial_state(job, partial, state);
    if (status == MOEG_OK)
        status = read_state(function, c, state, level, all, all + nw, &doubtful);
    if (status == MOEG_OK) {
        for (size_t j = 0; mass != NULL && j < nw; j++)
            mass[j] = all[j];
        for (size_t j = 0; alpha != NULL && j < nw; j++)
            alpha[j] = all[nw + j];
        if (ties != NULL)
            *ties = (uint64_t)state[MOEG_BOUNDARY_TIES];
        if (alpha != NULL && doubtful < nw)
            status = moeg_fail(MOEG_EUNABLE,
                               "%s: w[%zu] = %g has %" PRIu64 " rows below it that tell an exponent, fewer "
                               "than %d",
                               function, c->order[doubtful], c->w[doubtful], all[nw + c->order[doubtful]].contributing,
                               MOEG_ENOUGH_UNITS);
    }
    moeg_release(state);
    moeg_release(all);
    return status;
}
