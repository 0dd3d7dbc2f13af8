#include "limit/risk_result.h"

#include <moegeom/estimate.h>

#include "base/error.h"
#include "base/job.h"
#include "base/memory.h"
#include "base/rounds.h"
#include "limit/check.h"
#include "limit/support.h"
#include "model/model.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Whether the gap at tau is 0 for every input. */
static int vanishes(const moeg_risk_context *c, size_t t)
{
    return c->tau[t] == 0 || c->frozen;
}

/* The supports (ntau) of a state of n rows, which is refused if no rows could have made it. Of a gap that vanishes it
 * is all rows. */
static moeg_status read_counts(const char *function, const moeg_risk_context *c, const double *state, uint64_t n,
                               double units, moeg_support *support)
{
    const moeg_risk_parts parts = moeg_risk_state_parts(c->ntau, 0);
    const double *m2 = state + 2 + c->ntau, *soft_m2 = state + parts.soft + 1 + c->ntau;
    uint64_t rows;
    moeg_status status = moeg_partial_count(function, "its rows", parts.soft, state[parts.soft], n, n, &rows);
    for (size_t t = 0; t < c->ntau && status == MOEG_OK; t++)
        status = moeg_support_read(function, state, parts.felt + t, parts.weight + 2 * t, n, &support[t]);
    for (size_t t = 0; t < c->ntau; t++)
        if (vanishes(c, t))
            support[t] = (moeg_support){n, moeg_support_rows(units)};
    for (size_t t = 0; t <= c->ntau && status == MOEG_OK; t++)
        status = moeg_support_squares(function, fmin(m2[t * (t + 3) / 2], t > 0 ? soft_m2[t - 1] : 0));
    return status;
}

/* Risks have the noise of the teacher besides, which is not sampled. */
static moeg_status add_noise(const char *function, const moeg_risk_context *c, moeg_estimate *hard, moeg_estimate *soft)
{
    moeg_status status = moeg_support_add_noise(function, c->noise, hard);
    for (size_t t = 0; t < c->ntau && status == MOEG_OK; t++)
        status = moeg_support_add_noise(function, c->noise, &soft[t]);
    return status;
}

/* What stands for the gaps. */
static const char *quantity(const moeg_risk_context *c)
{
    return c->slope ? "derivative" : "gap";
}

/* All estimates from a state of n units, into hard and the arrays soft and gap. *doubtful: the first temperature that
 * too few rows felt, or ntau. */
static moeg_status read_state(const char *function, const moeg_risk_context *c, const double *state, uint64_t n,
                              double units, const moeg_support *support, double level, moeg_estimate *hard,
                              moeg_estimate *soft, moeg_estimate *gap, size_t *doubtful)
{
    const moeg_risk_parts parts = moeg_risk_state_parts(c->ntau, 0);
    const double *mean = state + 1, *m2 = mean + 1 + c->ntau;
    const double *soft_mean = state + parts.soft + 1, *soft_m2 = soft_mean + c->ntau;
    const moeg_support all = {n, moeg_support_rows(units)};
    *doubtful = c->ntau;
    moeg_status worst =
        moeg_support_estimate(function, "hard risk", SIZE_MAX, n, units, mean[0], m2[0], all, level, hard);
    for (size_t t = 0; t < c->ntau && worst >= 0; t++) {
        const moeg_support felt = support[t];
        const size_t diagonal = (t + 1) * (t + 4) / 2; /* Entry (t + 1, t + 1) of a lower triangle by rows. */
        moeg_status status =
            moeg_support_estimate(function, "soft risk", t, n, units, soft_mean[t], soft_m2[t], felt, level, soft + t);
        if (status >= 0 && vanishes(c, t))
            gap[t] = moeg_support_zero(n, level);
        else if (status >= 0)
            status = moeg_support_estimate(function, quantity(c), t, n, units, mean[1 + t], m2[diagonal], felt, level,
                                           gap + t);
        if (status == MOEG_EUNABLE && *doubtful == c->ntau)
            *doubtful = t;
        worst = status != MOEG_OK && (worst == MOEG_OK || status < 0) ? status : worst;
    }
    const moeg_status noisy = worst >= 0 ? add_noise(function, c, hard, soft) : MOEG_OK;
    return noisy != MOEG_OK ? noisy : worst;
}

/* Covariance of the gap estimates: M2/(n (n - 1)), unknown where an error bar is infinite. */
static void write_covariance(const moeg_risk_context *c, const double *state, const moeg_estimate *gap, double *out)
{
    const double *m2 = state + 2 + c->ntau;
    for (size_t t = 0; t < c->ntau; t++)
        for (size_t u = 0; u <= t; u++) {
            const double n = (double)gap[t].n;
            double value = m2[(t + 1) * (t + 2) / 2 + u + 1] / (n * (n - 1));
            if (vanishes(c, t) || vanishes(c, u))
                value = 0;
            else if (isinf(gap[t].std_error) || isinf(gap[u].std_error))
                value = t == u ? INFINITY : NAN;
            out[t * c->ntau + u] = out[u * c->ntau + t] = value;
        }
}

/* The state of a job, in the form of equal weights, with its rows, and how many equal ones they are worth. */
static moeg_status get_state(const char *function, const moeg_risk_context *c, const moeg_job *job,
                             const moeg_partial *partial, double *state, uint64_t *n, double *units)
{
    const uint64_t most = moeg_partial_units(partial);
    if (c->weights == NULL) {
        const moeg_status status = moeg_partial_state(job, partial, state);
        return status == MOEG_OK ? moeg_support_count(function, most, 0, state, n, units) : status;
    }
    const moeg_risk_parts from = moeg_risk_state_parts(c->ntau, 1), to = moeg_risk_state_parts(c->ntau, 0);
    double *weighted = moeg_alloc(from.size, sizeof *weighted);
    moeg_status status = weighted == NULL ? moeg_fail_memory(function) : moeg_partial_state(job, partial, weighted);
    if (status == MOEG_OK)
        status = moeg_support_count(function, most, 1, weighted, n, units);
    if (status == MOEG_OK)
        status = moeg_support_unweight(function, 1 + c->ntau, 1, weighted, state);
    if (status == MOEG_OK)
        status = moeg_support_unweight(function, c->ntau, 0, weighted + from.soft, state + to.soft);
    if (status == MOEG_OK)
        memcpy(state + to.felt, weighted + from.felt, 3 * c->ntau * sizeof *state);
    moeg_release(weighted);
    return status;
}

moeg_status moeg_risk_job_read(const char *function, const moeg_job *job, const moeg_partial *partial, double level,
                               moeg_estimate *hard, moeg_estimate *soft, moeg_estimate *gap, double *gap_covariance)
{
    const moeg_risk_context *c = moeg_risk_context_of(job);
    const size_t ntau = c->ntau;
    double *state = moeg_alloc(moeg_risk_state_parts(ntau, 0).size, sizeof *state);
    moeg_estimate *all = moeg_alloc(ntau, 2 * sizeof *all), first;
    moeg_support *support = moeg_alloc(ntau, sizeof *support);
    moeg_status status;
    if (state == NULL || all == NULL || support == NULL) {
        status = moeg_fail_memory(function);
        goto cleanup;
    }
    uint64_t n;
    double units;
    if ((status = get_state(function, c, job, partial, state, &n, &units)) != MOEG_OK)
        goto cleanup;
    if ((status = read_counts(function, c, state, n, units, support)) != MOEG_OK)
        goto cleanup;
    size_t doubtful;
    status = read_state(function, c, state, n, units, support, level, &first, all, all + ntau, &doubtful);
    if (status < 0)
        goto cleanup;
    if (hard != NULL)
        *hard = first;
    if (soft != NULL)
        memcpy(soft, all, ntau * sizeof *all);
    if (gap != NULL)
        memcpy(gap, all + ntau, ntau * sizeof *all);
    if (gap_covariance != NULL)
        write_covariance(c, state, all + ntau, gap_covariance);
    if (status == MOEG_EUNABLE)
        status = moeg_support_unable(function, quantity(c), ntau, c->tau, support, n, units, doubtful);
cleanup:
    moeg_release(state);
    moeg_release(all);
    moeg_release(support);
    return status;
}

/* A gap has no derivative at tau = 0, where a row on an interface jumps, but where it is 0 at every tau. */
static moeg_status check_limit(const char *function, const moeg_risk_context *c)
{
    for (size_t t = 0; t < c->ntau && !c->frozen; t++)
        if (c->tau[t] == 0)
            return moeg_fail(MOEG_EDOM, "%s: tau[%zu] = 0, where sampled gaps have no derivative", function, t);
    return MOEG_OK;
}

/* What a round is judged by: the outputs that are asked for. */
typedef struct judged {
    const char *function;
    moeg_sampling s;
    int hard, soft, gap;
    size_t ntau;
    moeg_estimate *room; /* (1 + 2 ntau) */
} judged;

static moeg_status judge(void *user, const moeg_job *job, const moeg_partial *partial, double *excess)
{
    const judged *j = user;
    moeg_estimate *hard = j->room, *soft = hard + 1, *gap = soft + j->ntau;
    const moeg_status status = moeg_risk_job_read(j->function, job, partial, j->s.level, j->hard ? hard : NULL,
                                                  j->soft ? soft : NULL, j->gap ? gap : NULL, NULL);
    if (status < 0)
        return status;
    *excess = fmax(moeg_tolerance_excess(&j->s, j->hard ? 1 : 0, hard),
                   fmax(moeg_tolerance_excess(&j->s, j->soft ? j->ntau : 0, soft),
                        moeg_tolerance_excess(&j->s, j->gap ? j->ntau : 0, gap)));
    return MOEG_OK;
}

moeg_status moeg_risk_sample(const char *function, int slope, const moeg_moe *moe, const moeg_teacher *teacher,
                             const moeg_law *law, moeg_mixing mixing, size_t ntau, const double *tau,
                             const moeg_sampling *s, moeg_estimate *hard, moeg_estimate *soft, moeg_estimate *gap,
                             double *gap_covariance)
{
    moeg_job *job = NULL;
    moeg_partial *partial = NULL;
    double excess = 0;
    judged run = {function,     slope || moeg_law_rows(law) != 0 ? moeg_without_tolerance(s) : *s,
                  hard != NULL, soft != NULL,
                  gap != NULL,  ntau,
                  NULL};
    moeg_status status = moeg_risk_job_make(function, &job, slope, moe, teacher, law, mixing, ntau, tau, s);
    if (status == MOEG_OK && slope)
        status = check_limit(function, moeg_risk_context_of(job));
    if (status == MOEG_OK && (run.room = moeg_alloc(1 + 2 * ntau, sizeof *run.room)) == NULL)
        status = moeg_fail_memory(function);
    if (status == MOEG_OK)
        status = moeg_rounds_run(job, &run.s, judge, &run, &partial, &excess);
    if (status >= 0)
        status = moeg_sampled_status(
            function, status, moeg_risk_job_read(function, job, partial, s->level, hard, soft, gap, gap_covariance));
    status = moeg_rounds_status(function, status, s, excess);
    moeg_release(run.room);
    moeg_partial_free(partial);
    moeg_job_free(job);
    return status;
}
