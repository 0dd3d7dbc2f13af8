#include "limit/boundary_job.h"

#include <moegeom/estimate.h>

#include "base/error.h"
#include "base/job.h"
#include "base/memory.h"
#include "limit/boundary_exponent.h"

#include <float.h>
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

/* What the rows up to one width add to: how many they are of n, ties among them, and those that are none. For weights,
 * {sum, of squares} of all rows inside and outside. */
typedef struct tally {
    uint64_t below, ties, n;
    moeg_boundary_felt rows;
    double inside[2], outside[2];
} tally;

static moeg_status damaged(const char *function, const char *what, size_t at, double value)
{
    return moeg_fail(MOEG_EINVAL,
                     "%s: the partial result is damaged: %s (state[%zu]) must be at least 0 and finite, got %g",
                     function, what, at, value);
}

/* A state that no rows could have made is refused: of at most `most` rows, and of exactly so many where none has a
 * weight of 0. */
static moeg_status check_state(const char *function, const moeg_boundary_context *c, const double *state, uint64_t most)
{
    const size_t sums = MOEG_BOUNDARY_BINS + c->nw, weights = moeg_boundary_weights(c);
    uint64_t n, rows, ties, left, first = 0;
    moeg_status status = moeg_partial_count(function, "its rows", MOEG_BOUNDARY_ROWS, state[MOEG_BOUNDARY_ROWS],
                                            c->weights == NULL ? most : 0, most, &n);
    left = n;
    for (size_t j = 0; j < c->nw && status == MOEG_OK; j++) {
        const size_t at = MOEG_BOUNDARY_BINS + j;
        status = moeg_partial_count(function, "rows of a bin", at, state[at], 0, left, &rows);
        left -= status == MOEG_OK ? rows : 0;
        first = j == 0 && status == MOEG_OK ? rows : first;
        if (status == MOEG_OK && !(state[sums + j] >= 0 && isfinite(state[sums + j])))
            return damaged(function, "a sum of logarithms", sums + j, state[sums + j]);
    }
    /* No width is negative: ties lie in the first bin. */
    if (status == MOEG_OK)
        status = moeg_partial_count(function, "ties", MOEG_BOUNDARY_TIES, state[MOEG_BOUNDARY_TIES], 0, first, &ties);
    for (size_t at = weights; at < moeg_boundary_state_size(c) && status == MOEG_OK; at++)
        if (!(state[at] >= 0 && state[at] <= (at < moeg_boundary_curves(c) ? (double)n : DBL_MAX)))
            return damaged(function, "a sum of weights", at, state[at]);
    return status;
}

/* Of each width {sum of weights, of their squares} of the rows above it, from the last one down: nothing cancels where
 * little is left. */
static void add_outside(const moeg_boundary_context *c, const double *state, double *outside)
{
    const double *pairs = state + moeg_boundary_weights(c), *next = pairs + MOEG_BOUNDARY_ABOVE;
    for (size_t j = c->nw; j-- > 0; next = pairs + MOEG_BOUNDARY_WEIGHT_BINS + 2 * j)
        for (size_t i = 0; i < 2; i++)
            outside[2 * j + i] = next[i] + (j + 1 < c->nw ? outside[2 * j + 2 + i] : 0);
}

/* Rows below the last width are farther from this one by the logarithm of the widths' ratio: log(w_j/gap) = L + shift.
 */
static void shift_logarithms(double shift, moeg_boundary_felt *r)
{
    r->curve[0] += shift * (2 * r->sum + shift * r->weight);
    r->curve[2] += shift * (2 * r->curve[1] + shift * r->squares);
    r->curve[1] += shift * r->squares;
    r->sum += r->weight * shift;
}

/* On to width j. */
static void tally_add(const moeg_boundary_context *c, const double *state, const double *outside, size_t j, tally *t)
{
    const double *pairs = state + moeg_boundary_weights(c), *bins = pairs + MOEG_BOUNDARY_WEIGHT_BINS;
    moeg_boundary_felt *r = &t->rows;
    if (j > 0 && r->felt > 0)
        shift_logarithms(moeg_log_ratio(c->w[j], c->w[j - 1]), r);
    r->sum += state[MOEG_BOUNDARY_BINS + c->nw + j];
    t->below += (uint64_t)state[MOEG_BOUNDARY_BINS + j];
    r->felt = t->below - t->ties;
    r->weighted = c->weights != NULL;
    if (!r->weighted) {
        r->weight = (double)r->felt;
        return;
    }
    r->weight += bins[2 * j];
    r->squares += bins[2 * j + 1];
    for (size_t i = 0; i < MOEG_BOUNDARY_CURVES; i++)
        r->curve[i] += state[moeg_boundary_curves(c) + MOEG_BOUNDARY_CURVES * j + i];
    t->inside[0] = pairs[MOEG_BOUNDARY_TIED] + r->weight;
    t->inside[1] = pairs[MOEG_BOUNDARY_TIED + 1] + r->squares;
    t->outside[0] = outside[2 * j];
    t->outside[1] = outside[2 * j + 1];
}

/* Of rows all of whose squared weights underflowed nothing is known either. */
static moeg_status estimate_mass(const moeg_boundary_context *c, const tally *t, double level, moeg_estimate *mass)
{
    if (t->n == 0 || (c->weights != NULL && !(t->inside[1] + t->outside[1] > 0))) {
        *mass = unknown_mass(level);
        return MOEG_OK;
    }
    return c->weights == NULL
               ? moeg_estimate_proportion(t->below, t->n, level, MOEG_METHOD_MC, mass)
               : moeg_estimate_weighted_proportion(t->below, t->n, t->inside, t->outside, level, MOEG_METHOD_MC, mass);
}

/* Estimates in the grid's own order, and the places in ascending order of w of an exponent that too few rows tell, and
 * of a constant that is out of range; nw if there is none. */
typedef struct estimates {
    moeg_estimate *mass, *alpha, *C;
    size_t untold, out_of_range;
} estimates;

static moeg_status estimate_power(const char *function, const moeg_boundary_context *c, size_t j, const tally *t,
                                  double level, estimates *e)
{
    const size_t at = c->order[j];
    const moeg_status status = moeg_boundary_hill(function, t->n, &t->rows, level, &e->alpha[at]);
    if (status < 0)
        return status;
    if (status == MOEG_EUNABLE && e->untold == c->nw)
        e->untold = j;
    if (moeg_boundary_constant(c->w[j], &e->mass[at], &e->alpha[at], &e->C[at]) == MOEG_EUNABLE &&
        e->out_of_range == c->nw)
        e->out_of_range = j;
    return MOEG_OK;
}

static moeg_status read_state(const char *function, const moeg_boundary_context *c, const double *state,
                              const double *outside, double level, estimates *e)
{
    tally t = {.ties = (uint64_t)state[MOEG_BOUNDARY_TIES], .n = (uint64_t)state[MOEG_BOUNDARY_ROWS]};
    moeg_status status = MOEG_OK;
    e->untold = e->out_of_range = c->nw;
    for (size_t j = 0; j < c->nw && status == MOEG_OK; j++) {
        tally_add(c, state, outside, j, &t);
        status = estimate_mass(c, &t, level, &e->mass[c->order[j]]);
        if (status == MOEG_OK && c->logarithms && c->w[j] > 0)
            status = estimate_power(function, c, j, &t, level, e);
    }
    return status;
}

/* MOEG_OK, or MOEG_EUNABLE for what of the results is wanted and could not be had. */
static moeg_status judge(const char *function, const moeg_boundary_context *c, const estimates *e,
                         const moeg_boundary_results *results)
{
    if ((results->alpha != NULL || results->C != NULL) && e->untold < c->nw)
        return moeg_fail(MOEG_EUNABLE, "%s: w[%zu] = %g has %" PRIu64 " rows below it that tell an exponent, %s %d",
                         function, c->order[e->untold], c->w[e->untold], e->alpha[c->order[e->untold]].contributing,
                         c->weights == NULL ? "fewer than" : "worth fewer equal ones than", MOEG_ENOUGH_UNITS);
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
    double *state = moeg_alloc(moeg_boundary_state_size(c) + 2 * nw, sizeof *state);
    moeg_estimate *all = moeg_alloc(nw, 3 * sizeof *all);
    moeg_status status = state == NULL || all == NULL ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK)
        status = moeg_partial_state(job, partial, state);
    if (status == MOEG_OK)
        status = check_state(function, c, state, moeg_partial_units(partial));
    if (status == MOEG_OK) {
        double *outside = state + moeg_boundary_state_size(c);
        if (c->weights != NULL)
            add_outside(c, state, outside);
        estimates e = {.mass = all, .alpha = all + nw, .C = all + 2 * nw};
        status = read_state(function, c, state, outside, level, &e);
        if (status == MOEG_OK) {
            write_results(nw, &e, (uint64_t)state[MOEG_BOUNDARY_TIES], results);
            status = judge(function, c, &e, results);
        }
    }
    moeg_release(state);
    moeg_release(all);
    return status;
}
