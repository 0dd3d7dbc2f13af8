/* Risks from the values of lines. */
#include "limit/ray_gap.h"

#include "base/error.h"
#include "base/memory.h"
#include "limit/ray_estimate.h"
#include "limit/support.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* All estimates of a curve, to be handed out when nothing can fail any more. An error bar that is not known matters
 * where the estimate is wanted. */
typedef struct outcome {
    int want_hard, want_soft, want_gap;
    moeg_estimate hard, *soft, *gap;
    double *covariance; /* (ntau x ntau) */
} outcome;

/* All values from one set of lines. */
static moeg_status at_once(const char *function, const moeg_ray_gap *c, const moeg_sampling *s, outcome *out)
{
    const size_t ntau = c->ntau;
    moeg_ray_gap all = *c;
    moeg_ray_result result;
    moeg_status status = moeg_ray_gap_expect_together(function, &all, &result);
    if (status < 0)
        return status;
    const size_t count = moeg_ray_gap_count(&all), first = moeg_ray_gap_first(&all);
    const int errs = c->risk->errs, moves = c->risk->moves;
    moeg_ray_gap_put(&result, count, 0, errs, 1, s->level, out->want_hard, &out->hard, &status);
    for (size_t t = 0; t < ntau; t++) {
        const double unit = moeg_ray_gap_unit(c, c->tau[t]);
        if (c->tau[t] > 0)
            moeg_ray_gap_put(&result, count, first + t, moves, unit, s->level, out->want_gap, &out->gap[t], &status);
        else
            out->gap[t] = moeg_ray_zero(result.lines, s->level); /* no line moves it */
        moeg_ray_gap_put(&result, count, first + all.ntau + t, errs || moves, 1, s->level, out->want_soft,
                         &out->soft[t], &status);
    }
    for (size_t t = 0; t < ntau; t++)
        for (size_t v = 0; v < ntau; v++) {
            const double units = moeg_ray_gap_unit(c, c->tau[v]) * result.covariance[(first + t) * count + first + v];
            out->covariance[t * ntau + v] =
                moeg_ray_covariance(&out->gap[t], &out->gap[v], moeg_ray_gap_unit(c, c->tau[t]) * units);
        }
    moeg_ray_result_free(&result);
    return status;
}

/* r = 2: one temperature at a time, each with panels of its own; without hard risk where tau > 0. Covariances are 0. */
static moeg_status by_parts(const char *function, const moeg_ray_gap *c, const moeg_sampling *s, outcome *out)
{
    moeg_ray_result at_0, one;
    moeg_ray_gap part = {.s = s, .risk = c->risk, .mixing = c->mixing, .with_hard = 1};
    moeg_status status = moeg_ray_gap_expect(function, &part, 0, &at_0);
    if (status < 0)
        return status;
    moeg_ray_gap_put(&at_0, 1, 0, 0, 1, s->level, out->want_hard, &out->hard, &status);
    part.with_hard = 0;
    part.ntau = 1;
    for (size_t t = 0; t < c->ntau && status >= 0; t++) {
        const double unit = moeg_ray_gap_unit(c, c->tau[t]);
        part.tau = c->tau + t;
        const moeg_status run = moeg_ray_gap_expect(function, &part, c->tau[t], &one);
        if (run < 0) {
            status = run;
            break;
        }
        moeg_ray_gap_put(&one, 1, 0, 0, unit, s->level, out->want_gap, &out->gap[t], &status);
        one.value[0] = unit * one.value[0] + at_0.value[0];
        one.error[0] = unit * one.error[0] + at_0.error[0];
        moeg_ray_gap_put(&one, 1, 0, 0, 1, s->level, out->want_soft, &out->soft[t], &status);
        moeg_ray_result_free(&one);
    }
    moeg_ray_result_free(&at_0);
    return status;
}

/* The risks with the teacher's noise. The status says what went wrong, if anything did. */
static moeg_status add_noise(const char *function, const moeg_ray_gap *c, outcome *out)
{
    moeg_status status = moeg_support_add_noise(function, c->risk->noise, &out->hard);
    for (size_t t = 0; t < c->ntau && status == MOEG_OK; t++)
        status = moeg_support_add_noise(function, c->risk->noise, &out->soft[t]);
    return status;
}

moeg_status moeg_ray_risk_curve(const char *function, const moeg_ray_risk *risk, moeg_mixing mixing, size_t ntau,
                                const double *tau, const moeg_sampling *s, moeg_estimate *hard, moeg_estimate *soft,
                                moeg_estimate *gap, double *gap_covariance)
{
    const moeg_ray_gap c = {.s = s,
                            .want_hard = hard != NULL,
                            .want_soft = soft != NULL,
                            .want_gap = gap != NULL,
                            .risk = risk,
                            .mixing = mixing,
                            .with_hard = 1,
                            .ntau = ntau,
                            .tau = tau};
    outcome out = {.want_hard = hard != NULL,
                   .want_soft = soft != NULL,
                   .want_gap = gap != NULL || gap_covariance != NULL,
                   .soft = moeg_alloc(ntau, 2 * sizeof *out.soft),
                   .covariance = moeg_alloc_zero(ntau, ntau * sizeof *out.covariance)};
    moeg_status status = out.soft == NULL || out.covariance == NULL ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK) {
        out.gap = out.soft + ntau;
        status = risk->rays.r == 2 ? by_parts(function, &c, s, &out) : at_once(function, &c, s, &out);
    }
    const moeg_status noisy = status >= 0 ? add_noise(function, &c, &out) : status;
    status = noisy < 0 ? noisy : status;
    if (status >= 0 && hard != NULL)
        *hard = out.hard;
    if (status >= 0 && soft != NULL)
        memcpy(soft, out.soft, ntau * sizeof *soft);
    if (status >= 0 && gap != NULL)
        memcpy(gap, out.gap, ntau * sizeof *gap);
    if (status >= 0 && gap_covariance != NULL)
        memcpy(gap_covariance, out.covariance, ntau * ntau * sizeof *gap_covariance);
    moeg_release(out.soft);
    moeg_release(out.covariance);
    return status;
}
