/* Sampled bounds of the moment form, and the moments of the Hoelder form. */
#include <moegeom/bound.h>

#include "base/error.h"
#include "base/job.h"
#include "base/memory.h"
#include "limit/bound_job.h"
#include "limit/check.h"
#include "limit/support.h"
#include "model/model.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What was done: n rows, those of weight 0 not among them; `state` in the form of equal weights; and Kish's numbers,
 * (sum w)^2/sum w^2 and (sum v)^2/sum v^2 of what the first variable weighs, v = w Q^p. */
struct done {
    double *state;
    uint64_t n;
    double units, kish; /* what the rows are worth by their weights alone, and by v */
};

/* sum v = W mean, and sum v^2 = sum w^2 (mean_2^2 + scatter), mean_2 and scatter those under the weights w^2. At most n
 * but for rounding, by Cauchy's inequality, unless squares were lost, as those of small weights beside others are. */
static double kish_number(uint64_t n, double units, double mean, double second_mean, double scatter)
{
    const double ratio = second_mean / mean, spread = sqrt(scatter) / mean;
    const double number = units / (ratio * ratio + spread * spread);
    /* 0 for what overflowed, was lost, or is 0 */
    return number >= 0 && number <= (double)n * (1 + 1e-6) ? fmin(number, (double)n) : 0;
}

/* A state of equal weights is read as it is. */
static moeg_status read_done(const char *function, const moeg_job *job, const moeg_partial *partial, double *raw,
                             struct done *d)
{
    const moeg_bound_context *c = moeg_job_get_spec(job)->context;
    const size_t values = c->parts.values, felt = moeg_moments_size(values);
    const int weighted = c->rows->weights != NULL;
    moeg_status status = moeg_partial_state(job, partial, raw);
    if (status == MOEG_OK)
        status = moeg_support_count(function, moeg_partial_units(partial), weighted, raw, &d->n, &d->units);
    if (status != MOEG_OK)
        return status;
    if (!weighted) {
        d->kish = d->n == 0 ? 0 : kish_number(d->n, d->units, raw[1], raw[1], raw[1 + values] / d->units);
        memcpy(d->state, raw, c->parts.size * sizeof *raw);
        return MOEG_OK;
    }
    const double *means = raw + moeg_weighted_size(values) - values;
    d->kish = d->n == 0 ? 0 : kish_number(d->n, d->units, means[0], raw[4], raw[4 + values] / raw[3]);
    memcpy(d->state + felt, raw + c->parts.felt, 3 * values * sizeof *raw);
    return moeg_support_unweight(function, values, 0, raw, d->state);
}

/* Kish's number counts as by p^2 fewer: the skewness of Q^p, which normal theory leaves out, grows with p, and what
 * rows tell of it comes late. Found by experiment [bound.h]. */
static moeg_status read_moment(const char *function, const moeg_bound_context *c, const struct done *d, double level,
                               moeg_estimate *out)
{
    if (c->rows->frozen && d->n > 0) {
        *out = moeg_support_zero(d->n, level);
        return MOEG_OK;
    }
    const size_t felt = moeg_moments_size(1);
    moeg_support support = {0, moeg_support_rows(d->kish / (c->p * c->p))};
    moeg_status status =
        moeg_partial_count(function, "rows where experts differ", felt, d->state[felt], 0, d->n, &support.felt);
    if (status == MOEG_OK)
        status = moeg_support_estimate(function, "moment", SIZE_MAX, d->n, d->units, d->state[1], d->state[2], support,
                                       level, out);
    if (status != MOEG_EUNABLE || moeg_support_rows(d->units) < MOEG_ENOUGH_UNITS)
        return status == MOEG_EUNABLE ? moeg_support_unable(function, "moment", 0, NULL, NULL, d->n, d->units, 0)
                                      : status;
    if (support.felt >= MOEG_ENOUGH_UNITS && support.effective >= MOEG_ENOUGH_UNITS)
        return moeg_fail(MOEG_EUNABLE, "%s: the variance of the moment underflows", function);
    return moeg_fail(MOEG_EUNABLE,
                     "%s: experts differ in %" PRIu64 " of %" PRIu64 " rows, which tell as much as %" PRIu64
                     " of equal weight; fewer than %d do not tell a moment",
                     function, support.felt, d->n, support.effective, MOEG_ENOUGH_UNITS);
}

static moeg_status read_bounds(const char *function, const moeg_bound_context *c, const struct done *d, double level,
                               moeg_support *support, moeg_estimate *out)
{
    const size_t ntau = c->rows->ntau, felt = moeg_moments_size(ntau);
    const double *mean = d->state + 1, *m2 = mean + ntau;
    size_t doubtful = ntau;
    moeg_status worst = MOEG_OK;
    for (size_t t = 0; t < ntau; t++) {
        moeg_status status = moeg_support_read(function, d->state, felt + t, felt + ntau + 2 * t, d->n, &support[t]);
        if (status == MOEG_OK && d->n > 0 && (c->rows->frozen || c->rows->tau[t] == 0))
            out[t] = moeg_support_zero(d->n, level);
        else if (status == MOEG_OK)
            status =
                moeg_support_estimate(function, "bound", t, d->n, d->units, mean[t], m2[t], support[t], level, &out[t]);
        if (status < 0)
            return status;
        if (status == MOEG_EUNABLE && doubtful == ntau)
            doubtful = t;
        worst = status == MOEG_OK ? worst : status;
    }
    return worst == MOEG_OK
               ? MOEG_OK
               : moeg_support_unable(function, "bound", ntau, c->rows->tau, support, d->n, d->units, doubtful);
}

/* The estimates, one or ntau, of what was done; out is written at the end alone. */
static moeg_status read_job(const char *function, const moeg_job *job, const moeg_partial *partial, double level,
                            moeg_estimate *out)
{
    const moeg_bound_context *c = moeg_job_get_spec(job)->context;
    const size_t values = c->parts.values;
    double *raw = moeg_alloc(c->parts.size, sizeof *raw);
    struct done d = {.state = moeg_alloc(moeg_moments_size(values) + 3 * values, sizeof *d.state)};
    moeg_estimate *all = moeg_alloc(values, sizeof *all);
    moeg_support *support = moeg_alloc(values, sizeof *support);
    moeg_status status =
        raw == NULL || d.state == NULL || all == NULL || support == NULL ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK)
        status = read_done(function, job, partial, raw, &d);
    if (status == MOEG_OK)
        status =
            c->p > 0 ? read_moment(function, c, &d, level, all) : read_bounds(function, c, &d, level, support, all);
    if (status >= 0)
        memcpy(out, all, values * sizeof *all);
    moeg_release(raw);
    moeg_release(d.state);
    moeg_release(all);
    moeg_release(support);
    return status;
}

static moeg_status sample(const char *function, const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                          moeg_mixing mixing, double p, size_t ntau, const double *tau, const moeg_sampling *s,
                          moeg_estimate *out)
{
    int line;
    moeg_job *job = NULL;
    moeg_partial *partial = NULL;
    moeg_status status = moeg_choose_line(function, "the bound is a mean over rows", s->method, &line);
    if (status == MOEG_OK)
        status = moeg_bound_job_make(function, &job, moe, teacher, law, mixing, p, ntau, tau, s);
    if (status == MOEG_OK)
        status = moeg_job_run(job, s, 0, moeg_job_blocks(job), &partial);
    if (status >= 0)
        status = moeg_sampled_status(function, status, read_job(function, job, partial, s->level, out));
    moeg_partial_free(partial);
    moeg_job_free(job);
    return status;
}

moeg_status moeg_bound_moment(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law, moeg_mixing mixing,
                              size_t ntau, const double *tau, const moeg_sampling *s, moeg_estimate *bound)
{
    static const char function[] = "bound_moment";
    moeg_status status = moeg_check_risk_objects(function, moe, teacher, law, mixing);
    if (status == MOEG_OK)
        status = moeg_check_temperatures(function, ntau, tau);
    if (status == MOEG_OK)
        status = moeg_sampling_check(s);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "bound", bound);
    return status == MOEG_OK ? sample(function, moe, teacher, law, mixing, 0, ntau, tau, s, bound) : status;
}

moeg_status moeg_bound_holder_moment(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                     moeg_mixing mixing, double p, const moeg_sampling *s, moeg_estimate *moment)
{
    static const char function[] = "bound_holder_moment";
    moeg_status status = moeg_check_risk_objects(function, moe, teacher, law, mixing);
    if (status == MOEG_OK && !(p > 1 && isfinite(p)))
        status = moeg_fail(MOEG_EINVAL, "%s: p must be above 1 and finite, got %g", function, p);
    if (status == MOEG_OK)
        status = moeg_sampling_check(s);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "moment", moment);
    return status == MOEG_OK ? sample(function, moe, teacher, law, mixing, p, 0, NULL, s, moment) : status;
}
