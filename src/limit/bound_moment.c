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

/* Kish's number of rows that weigh by the variable itself: (sum v)^2/sum v^2 = n/(1 + (M2/n)/mean^2). */
static uint64_t effective_rows(uint64_t n, double mean, double m2)
{
    const double spread = sqrt(m2 / (double)n) / mean;
    return mean > 0 ? (uint64_t)floor((double)n / (1 + spread * spread) * (1 + 1e-10)) : 0;
}

static moeg_status read_moment(const char *function, const moeg_bound_context *c, const double *state, uint64_t n,
                               double level, moeg_estimate *out)
{
    if (c->rows->frozen && n > 0) {
        *out = moeg_support_zero(n, level);
        return MOEG_OK;
    }
    const double mean = state[1], m2 = state[2];
    const moeg_support support = {(uint64_t)state[c->parts.felt], n > 0 ? effective_rows(n, mean, m2) : 0};
    const moeg_status status = moeg_support_estimate(function, "moment", SIZE_MAX, n, mean, m2, support, level, out);
    if (status != MOEG_EUNABLE || n < MOEG_ENOUGH_UNITS)
        return status == MOEG_EUNABLE ? moeg_support_unable(function, "moment", 0, NULL, NULL, n, 0) : status;
    return moeg_fail(MOEG_EUNABLE,
                     "%s: experts differ in %" PRIu64 " of %" PRIu64 " rows, which tell as much as %" PRIu64
                     " of equal weight; fewer than %d do not tell a moment",
                     function, support.felt, n, support.effective, MOEG_ENOUGH_UNITS);
}

static moeg_status read_bounds(const char *function, const moeg_bound_context *c, const double *state, uint64_t n,
                               double level, moeg_support *support, moeg_estimate *out)
{
    const size_t ntau = c->rows->ntau;
    const double *mean = state + 1, *m2 = mean + ntau;
    size_t doubtful = ntau;
    moeg_status worst = MOEG_OK;
    for (size_t t = 0; t < ntau; t++) {
        moeg_status status =
            moeg_support_read(function, state, c->parts.felt + t, c->parts.weight + 2 * t, n, &support[t]);
        if (status == MOEG_OK && n > 0 && (c->rows->frozen || c->rows->tau[t] == 0))
            out[t] = moeg_support_zero(n, level);
        else if (status == MOEG_OK)
            status = moeg_support_estimate(function, "bound", t, n, mean[t], m2[t], support[t], level, &out[t]);
        if (status < 0)
            return status;
        if (status == MOEG_EUNABLE && doubtful == ntau)
            doubtful = t;
        worst = status == MOEG_OK ? worst : status;
    }
    return worst == MOEG_OK ? MOEG_OK
                            : moeg_support_unable(function, "bound", ntau, c->rows->tau, support, n, doubtful);
}

/* The estimates, one or ntau, of what was done; out is written at the end alone. */
static moeg_status read_job(const char *function, const moeg_job *job, const moeg_partial *partial, double level,
                            moeg_estimate *out)
{
    const moeg_bound_context *c = moeg_job_get_spec(job)->context;
    const size_t values = c->parts.values;
    const uint64_t n = moeg_partial_units(partial);
    double *state = moeg_alloc(c->parts.size, sizeof *state);
    moeg_estimate *all = moeg_alloc(values, sizeof *all);
    moeg_support *support = moeg_alloc(values, sizeof *support);
    moeg_status status = state == NULL || all == NULL || support == NULL ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK)
        status = moeg_partial_state(job, partial, state);
    if (status == MOEG_OK)
        status = c->p > 0 ? read_moment(function, c, state, n, level, all)
                          : read_bounds(function, c, state, n, level, support, all);
    if (status >= 0)
        memcpy(out, all, values * sizeof *all);
    moeg_release(state);
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
    if (status == MOEG_OK && moeg_law_weights(law) != NULL)
        status = moeg_fail(MOEG_EUNSUPPORTED, "%s: the law has weights", function);
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
    if (status == MOEG_OK && moeg_law_weights(law) != NULL)
        status = moeg_fail(MOEG_EUNSUPPORTED, "%s: the law has weights", function);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "moment", moment);
    return status == MOEG_OK ? sample(function, moe, teacher, law, mixing, p, 0, NULL, s, moment) : status;
}
