#include <moegeom/bound.h>

#include "base/error.h"
#include "limit/bound_log.h"
#include "limit/check.h"
#include "model/model.h"

#include <math.h>

static moeg_status check_condition(const char *function, const moeg_margin_condition *condition)
{
    const moeg_status status = moeg_check_pointer(function, "condition", condition);
    if (status != MOEG_OK)
        return status;
    if (!(condition->C >= 0 && isfinite(condition->C)))
        return moeg_fail(MOEG_EINVAL, "%s: C must be finite and at least 0, got %g", function, condition->C);
    if (!(condition->alpha > 0 && isfinite(condition->alpha)))
        return moeg_fail(MOEG_EINVAL, "%s: alpha must be finite and above 0, got %g", function, condition->alpha);
    if (!(condition->t0 > 0))
        return moeg_fail(MOEG_EINVAL, "%s: t0 must be above 0, got %g", function, condition->t0);
    return MOEG_OK;
}

static moeg_status check_gate(const char *function, moeg_gate gate, size_t K)
{
    if (K == 0)
        return moeg_fail(MOEG_EINVAL, "%s: K must be at least 1, got 0", function);
    return moeg_check_gate(function, gate, K);
}

/* An analytic bound needs no bounds on its temperatures, but for 0 and infinity. */
static moeg_status check_grid(const char *function, size_t ntau, const double *tau, const double *bound)
{
    if (ntau == 0)
        return moeg_fail(MOEG_EINVAL, "%s: ntau must be at least 1, got 0", function);
    moeg_status status = moeg_check_pointer(function, "tau", tau);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "bound", bound);
    if (status == MOEG_OK)
        status = moeg_check_grid_size(function, ntau, sizeof *bound);
    for (size_t t = 0; status == MOEG_OK && t < ntau; t++)
        if (!(tau[t] >= 0 && isfinite(tau[t])))
            status = moeg_fail(MOEG_EINVAL, "%s: tau[%zu] must be finite and at least 0, got %g", function, t, tau[t]);
    return status;
}

/* size times the 1/q-th power of what bounds E exp(-q gap/tau). */
static void evaluate(const moeg_margin_condition *condition, moeg_logarithm size, double q, double power, size_t ntau,
                     const double *tau, double *bound)
{
    for (size_t t = 0; t < ntau; t++) {
        const moeg_logarithm mean =
            tau[t] == 0 ? moeg_log_of(0) : moeg_log_power(moeg_bound_laplace(condition, q, tau[t]), power);
        bound[t] = moeg_exp_above(moeg_log_product(size, mean));
    }
}

moeg_status moeg_bound_bounded(const moeg_margin_condition *condition, moeg_gate gate, moeg_mixing mixing, size_t K,
                               const moeg_output_limits *limits, size_t ntau, const double *tau, double *bound)
{
    static const char function[] = "bound_bounded";
    moeg_status status = check_condition(function, condition);
    if (status == MOEG_OK)
        status = check_gate(function, gate, K);
    if (status == MOEG_OK)
        status = moeg_check_mixing(function, mixing);
    if (status == MOEG_OK)
        status = moeg_check_limits(function, limits);
    if (status == MOEG_OK)
        status = check_grid(function, ntau, tau, bound);
    if (status == MOEG_OK)
        evaluate(condition, moeg_bound_size(gate, mixing, K, limits), 1, 1, ntau, tau, bound);
    return status;
}

moeg_status moeg_bound_holder(const moeg_margin_condition *condition, moeg_gate gate, size_t K, double p, double moment,
                              size_t ntau, const double *tau, double *bound)
{
    static const char function[] = "bound_holder";
    moeg_status status = check_condition(function, condition);
    if (status == MOEG_OK)
        status = check_gate(function, gate, K);
    if (status == MOEG_OK && !(p > 1))
        status = moeg_fail(MOEG_EINVAL, "%s: p must be above 1, got %g", function, p);
    if (status == MOEG_OK && !(moment >= 0 && isfinite(moment)))
        status = moeg_fail(MOEG_EINVAL, "%s: moment must be finite and at least 0, got %g", function, moment);
    if (status == MOEG_OK)
        status = check_grid(function, ntau, tau, bound);
    if (status != MOEG_OK)
        return status;
    const double q = isinf(p) ? 1 : p / (p - 1), norm_power = isinf(p) ? 1 : 1 / p;
    const moeg_logarithm norm = moeg_log_power(moeg_log_of(moment), norm_power);
    const moeg_logarithm mass = moeg_log_of((double)moeg_bound_mass(gate, K));
    evaluate(condition, moeg_log_product(mass, norm), q, 1 / q, ntau, tau, bound);
    return MOEG_OK;
}
