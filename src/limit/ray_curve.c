/* Risks from the values of lines. */
#include "limit/ray_gap.h"

#include "base/error.h"
#include "base/memory.h"
#include "limit/line.h"
#include "limit/ray_mass.h"
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

/* Takes slope_i times the last value, whose mean is 0, from value i. */
static void subtract_control(size_t count, size_t i, double slope, moeg_ray_result *result)
{
    const size_t last = count - 1;
    double *covariance = result->covariance;
    result->value[i] -= slope * result->value[last];
    result->error[i] += fabs(slope) * result->error[last];
    for (size_t j = 0; j < count; j++)
        covariance[i * count + j] -= slope * covariance[last * count + j];
    for (size_t j = 0; j < count; j++)
        covariance[j * count + i] -= slope * covariance[j * count + last];
    covariance[i * count + i] = fmax(covariance[i * count + i], 0);
}

/* The last value has mean 0: each other one less its regression on that, which leaves the mean and takes variance away,
 * at the price of one degree of freedom. Not where the control is little more than rounding: then it is 0. */
static void use_control(size_t count, moeg_ray_result *result)
{
    const size_t last = count - 1;
    const double variance = result->covariance[last * count + last];
    if (!(sqrt(variance * (double)result->lines) > 1e3 * result->error[last]))
        return;
    for (size_t i = 0; i < last; i++) {
        subtract_control(count, i, result->covariance[i * count + last] / variance, result);
        result->freedom[i] -= 1;
    }
}

/* Where three experts nearly tie, on a share of lines of the order of tau, rests are of order 1: their variance is
 * proportional to tau. Whether lines enough are there: what is felt is known to 1/sqrt(MOEG_ENOUGH_UNITS) of itself. */
static int is_felt(const moeg_ray_gap *c, size_t t, const double *felt, const double *felt_variance)
{
    return c->tau[t] == 0 || (felt[t] > 0 && felt[t] * felt[t] >= MOEG_ENOUGH_UNITS * felt_variance[t]);
}

/* Where they are not, the variance is at least that of the last temperature, scaled; unknown if that is not felt. */
static void correct_rests(const moeg_ray_gap *c, size_t first, const double *felt, const double *felt_variance,
                          moeg_ray_result *result)
{
    const size_t count = moeg_ray_gap_count(c), last = c->ntau - 1, reference = first + last;
    const int known = is_felt(c, last, felt, felt_variance);
    for (size_t t = 0; t < c->ntau; t++) {
        if (is_felt(c, t, felt, felt_variance))
            continue;
        double *variance = &result->covariance[(first + t) * (count + 1)];
        *variance = fmax(*variance, result->covariance[reference * (count + 1)] * (c->tau[t] / c->tau[last]));
        result->freedom[first + t] = known ? result->freedom[reference] : 0;
    }
}

/* The values of a set of lines, less their control where lines are drawn; with_felt, the last temperature is one that
 * is felt. To be freed with moeg_ray_result_free(). */
static moeg_status expect(const char *function, moeg_ray_gap *c, const moeg_sampling *s, double width,
                          moeg_ray_result *result)
{
    c->with_control = c->risk->rays.r > 2;
    const moeg_ray_quantity quantity = {
        .count = moeg_ray_gap_count(c),
        .workspace = moeg_ray_gap_workspace,
        .evaluate = moeg_ray_gap_evaluate,
        .self = c,
        .aim = c->with_hard ? 1 : 0,
        .aims = c->ntau + (c->with_lead ? 1 : 0),
        .width = width,
    };
    const moeg_status status = moeg_rays_expect(function, &c->risk->rays, &quantity, s, result);
    if (status < 0 || !c->with_control)
        return status;
    const size_t first = (size_t)(c->with_hard != 0) + (c->with_lead != 0);
    const size_t at = first + (c->with_hard ? 2 : 1) * c->ntau;
    double *felt = moeg_alloc(2 * c->ntau + 1, sizeof *felt);
    if (felt == NULL) {
        moeg_ray_result_free(result);
        return moeg_fail_memory(function);
    }
    for (size_t t = 0; c->with_felt && t < c->ntau; t++) {
        felt[t] = result->value[at + t];
        felt[c->ntau + t] = result->covariance[(at + t) * (quantity.count + 1)];
    }
    use_control(quantity.count, result);
    if (c->with_felt)
        correct_rests(c, first, felt, felt + c->ntau, result);
    moeg_release(felt);
    return status;
}

/* One estimate, of a value in units, and, if it is wanted, the worst status so far. */
static void put(const moeg_ray_result *result, size_t count, size_t j, double unit, double level, int wanted,
                moeg_estimate *out, moeg_status *status)
{
    const moeg_status one = moeg_ray_estimate(result, count, j, level, out);
    out->value *= unit;
    out->std_error *= unit;
    out->quad_error *= unit;
    out->lo *= unit;
    out->hi *= unit;
    *status = *status == MOEG_OK && wanted ? one : *status;
}

/* The gap at tau = 0: no line moves it. */
static moeg_estimate no_gap(const moeg_ray_result *result, double level)
{
    moeg_estimate zero = moeg_line_estimate(0, 0, level);
    zero.n = zero.contributing = result->lines;
    return zero;
}

/* The temperatures and, last, the largest small one, to be freed with moeg_release(); NULL if there is no memory. */
static double *extend_grid(const moeg_ray_gap *c)
{
    double *tau = moeg_alloc(c->ntau + 1, sizeof *tau);
    if (tau != NULL) {
        memcpy(tau, c->tau, c->ntau * sizeof *tau);
        tau[c->ntau] = moeg_ray_gap_small(c);
    }
    return tau;
}

/* All values from one set of lines. */
static moeg_status curve_at_once(const char *function, const moeg_ray_gap *c, const moeg_sampling *s, outcome *out)
{
    const size_t ntau = c->ntau;
    moeg_ray_gap all = *c;
    all.with_felt = c->mixing == MOEG_MIX_LOSS && !c->risk->jumps && c->risk->rays.r > 2;
    double *grid = extend_grid(c);
    if (grid == NULL)
        return moeg_fail_memory(function);
    all.tau = grid;
    all.ntau = ntau + (all.with_felt ? 1 : 0);
    moeg_ray_result result;
    moeg_status status = expect(function, &all, s, 0, &result);
    moeg_release(grid);
    if (status < 0)
        return status;
    const size_t count = moeg_ray_gap_count(&all);
    put(&result, count, 0, 1, s->level, out->want_hard, &out->hard, &status);
    for (size_t t = 0; t < ntau; t++) {
        const double unit = moeg_ray_gap_unit(c, c->tau[t]);
        if (c->tau[t] > 0)
            put(&result, count, 1 + t, unit, s->level, out->want_gap, &out->gap[t], &status);
        else
            out->gap[t] = no_gap(&result, s->level);
        put(&result, count, 1 + all.ntau + t, 1, s->level, out->want_soft, &out->soft[t], &status);
        for (size_t v = 0; v < ntau; v++)
            out->covariance[t * ntau + v] =
                unit * (moeg_ray_gap_unit(c, c->tau[v]) * result.covariance[(1 + t) * count + 1 + v]);
    }
    moeg_ray_result_free(&result);
    return status;
}

/* r = 2: one temperature at a time, each with panels of its own; without hard risk where tau > 0. Covariances are 0. */
static moeg_status curve_by_parts(const char *function, const moeg_ray_gap *c, const moeg_sampling *s, outcome *out)
{
    moeg_ray_result at_0, one;
    moeg_ray_gap part = {.risk = c->risk, .mixing = c->mixing, .with_hard = 1};
    moeg_status status = expect(function, &part, s, 0, &at_0);
    if (status < 0)
        return status;
    put(&at_0, 1, 0, 1, s->level, out->want_hard, &out->hard, &status);
    part.with_hard = 0;
    part.ntau = 1;
    for (size_t t = 0; t < c->ntau && status >= 0; t++) {
        const double unit = moeg_ray_gap_unit(c, c->tau[t]);
        part.tau = c->tau + t;
        const moeg_status run = expect(function, &part, s, c->tau[t], &one);
        if (run < 0) {
            status = run;
            break;
        }
        put(&one, 1, 0, unit, s->level, out->want_gap, &out->gap[t], &status);
        one.value[0] = unit * one.value[0] + at_0.value[0];
        one.error[0] = unit * one.error[0] + at_0.error[0];
        put(&one, 1, 0, 1, s->level, out->want_soft, &out->soft[t], &status);
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
    const moeg_ray_gap c = {.risk = risk, .mixing = mixing, .with_hard = 1, .ntau = ntau, .tau = tau};
    outcome out = {.want_hard = hard != NULL,
                   .want_soft = soft != NULL,
                   .want_gap = gap != NULL || gap_covariance != NULL,
                   .soft = moeg_alloc(ntau, 2 * sizeof *out.soft),
                   .covariance = moeg_alloc_zero(ntau, ntau * sizeof *out.covariance)};
    moeg_status status = out.soft == NULL || out.covariance == NULL ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK) {
        out.gap = out.soft + ntau;
        status = risk->rays.r == 2 ? curve_by_parts(function, &c, s, &out) : curve_at_once(function, &c, s, &out);
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
