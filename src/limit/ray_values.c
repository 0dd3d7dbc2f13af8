/* Expectations of the values of lines, and estimates of them. */
#include "limit/ray_gap.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/rounds.h"
#include "limit/ray_estimate.h"

#include <math.h>

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
 * proportional to tau. Whether lines enough are there: what is felt, from value `at` on, is known to
 * 1/sqrt(MOEG_ENOUGH_UNITS) of itself. */
static int is_felt(const moeg_ray_gap *c, const moeg_ray_result *result, size_t at, size_t t)
{
    return c->tau[t] == 0 || result->seen[at + t] >= MOEG_ENOUGH_UNITS;
}

/* Where they are not, it is judged by the last temperature, of gaps beside the leading term. */
static void correct_rests(const moeg_ray_gap *c, moeg_ray_result *result)
{
    const size_t count = moeg_ray_gap_count(c), last = c->ntau - 1, first = moeg_ray_gap_first(c);
    const size_t felt = first + (c->with_hard ? 2 : 1) * c->ntau;
    const int leads = !c->with_lead && moeg_ray_gap_may_lead(c);
    moeg_ray_rest rest = {
        .lead = leads ? first - 1 : count,
        .reference = first + last,
        .known = is_felt(c, result, felt, last),
        .scale = 1,
    };
    for (size_t t = 0; t < last; t++) {
        if (is_felt(c, result, felt, t))
            continue;
        rest.share = c->tau[t] / c->tau[last];
        moeg_ray_judge_rest(&rest, count, first + t, result);
    }
}

void moeg_ray_gap_put(const moeg_ray_result *result, size_t count, size_t j, int rare, double unit, double level,
                      int wanted, moeg_estimate *out, moeg_status *status)
{
    const moeg_status one = moeg_ray_estimate(result, count, j, rare, level, out);
    out->value *= unit;
    out->std_error *= unit;
    out->quad_error *= unit;
    out->lo *= unit;
    out->hi *= unit;
    *status = *status == MOEG_OK && wanted ? one : *status;
}

double moeg_ray_gap_scale(const moeg_ray_gap *c, size_t t)
{
    return c->with_lead ? 1 / c->tau[t] : moeg_ray_gap_unit(c, c->tau[t]);
}

/* What lines drawn at random say, less their control. */
static void correct(const moeg_ray_gap *c, moeg_ray_result *result)
{
    use_control(moeg_ray_gap_count(c), result);
    if (c->with_felt)
        correct_rests(c, result);
}

static double excess_of(const moeg_ray_gap *c, const moeg_ray_result *result, size_t j, int rare, double unit)
{
    moeg_estimate e;
    moeg_status status = MOEG_OK;
    moeg_ray_gap_put(result, moeg_ray_gap_count(c), j, rare, unit, c->s->level, 0, &e, &status);
    return moeg_tolerance_excess(c->s, 1, &e);
}

static double excess(const void *self, moeg_ray_result *result)
{
    const moeg_ray_gap *c = self;
    const size_t first = moeg_ray_gap_first(c), ntau = c->ntau - (c->with_felt ? 1 : 0);
    const moeg_ray_risk *risk = c->risk;
    double most = 0;
    correct(c, result);
    if (c->want_hard || c->want_lead)
        most = excess_of(c, result, 0, c->want_lead ? moeg_ray_gap_may_lead(c) : risk->errs, 1);
    for (size_t t = 0; t < ntau; t++) {
        if (c->want_gap && c->tau[t] > 0)
            most = fmax(most, excess_of(c, result, first + t, risk->moves, moeg_ray_gap_scale(c, t)));
        if (c->want_soft)
            most = fmax(most, excess_of(c, result, first + c->ntau + t, risk->errs || risk->moves, 1));
    }
    return most;
}

static size_t workspace(const void *self, const moeg_ray *ray, size_t stride)
{
    return moeg_ray_gap_workspace(self, ray, stride);
}

static void evaluate(const void *self, const moeg_ray *ray, const moeg_ray_block *block, double *scratch,
                     double *values, double *errors)
{
    moeg_ray_gap_evaluate(self, ray, block, scratch, values, errors);
}

moeg_status moeg_ray_gap_expect(const char *function, const moeg_ray_gap *c, double width, moeg_ray_result *result)
{
    const moeg_ray_quantity quantity = {
        .count = moeg_ray_gap_count(c),
        .workspace = workspace,
        .evaluate = evaluate,
        .self = c,
        .excess = excess,
        .aim = c->with_lead ? 0 : moeg_ray_gap_first(c),
        .aims = c->ntau + (c->with_lead ? 1 : 0),
        .gap = moeg_gap_margin(),
        .width = width,
    };
    const moeg_status status = moeg_rays_expect(function, &c->risk->rays, &quantity, c->s, result);
    if (status >= 0 && c->with_control)
        correct(c, result);
    return status;
}

/* For moeg_ray_gap_expect_together(): returns the new grid, or NULL. */
static double *extend(moeg_ray_gap *c)
{
    double *tau = moeg_alloc(c->ntau + 1, sizeof *tau);
    if (tau == NULL)
        return NULL;
    int small = 0;
    for (size_t t = 0; t < c->ntau; t++) {
        tau[t] = c->tau[t];
        small = small || (tau[t] > 0 && tau[t] < moeg_ray_gap_small(c));
    }
    tau[c->ntau] = moeg_ray_gap_small(c);
    c->with_control = c->risk->rays.r > 2;
    c->with_felt = (c->with_lead || c->mixing == MOEG_MIX_LOSS) && c->risk->rays.r > 2 && small;
    c->ntau += c->with_felt ? 1 : 0;
    c->tau = tau;
    return tau;
}

moeg_status moeg_ray_gap_expect_together(const char *function, moeg_ray_gap *c, moeg_ray_result *result)
{
    const double *tau = c->tau;
    double *grid = extend(c);
    if (grid == NULL)
        return moeg_fail_memory(function);
    const moeg_status status = moeg_ray_gap_expect(function, c, 0, result);
    moeg_release(grid);
    c->tau = tau;
    return status;
}
