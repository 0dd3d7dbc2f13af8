#include "dynamics/flow.h"

#include "base/error.h"
#include "base/memory.h"
#include "dynamics/symmetry.h"
#include "limit/check.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

moeg_flow_options moeg_flow_options_default(void)
{
    return (moeg_flow_options){.tau = 1,
                               .mixing = MOEG_MIX_OUTPUT,
                               .rates = moeg_symmetry_rates_default(),
                               .eta_f = 0,
                               .symmetric = MOEG_SYMMETRIC_AFFINE,
                               .contrast = moeg_contrast_linear()};
}

static moeg_status check_rate(const char *function, const char *name, double rate, int zero)
{
    if (isfinite(rate) && (rate > 0 || (zero && rate == 0)))
        return MOEG_OK;
    return moeg_fail(MOEG_EINVAL, "%s: options->%s must be finite and %s 0, got %g", function, name,
                     zero ? "at least" : "above", rate);
}

moeg_status moeg_check_flow_options(const char *function, const moeg_flow_options *options)
{
    moeg_status status =
        options->tau > 0
            ? moeg_check_tau(function, "options->tau", options->tau)
            : moeg_fail(MOEG_EINVAL, "%s: options->tau must be in [1e-300, 1e300], got %g", function, options->tau);
    if (status == MOEG_OK)
        status = moeg_check_mixing(function, options->mixing);
    if (status == MOEG_OK)
        status = check_rate(function, "rates.eta_u", options->rates.eta_u, 0);
    if (status == MOEG_OK)
        status = check_rate(function, "rates.eta_c", options->rates.eta_c, 0);
    if (status == MOEG_OK)
        status = check_rate(function, "rates.lambda_u", options->rates.lambda_u, 1);
    if (status == MOEG_OK)
        status = check_rate(function, "rates.lambda_c", options->rates.lambda_c, 1);
    if (status == MOEG_OK)
        status = check_rate(function, "eta_f", options->eta_f, 1);
    if (status == MOEG_OK)
        status = moeg_check_symmetric(function, options->symmetric);
    return status == MOEG_OK ? moeg_check_contrast(function, &options->contrast) : status;
}

void moeg_flow_free(moeg_flow *flow)
{
    if (flow == NULL)
        return;
    flow->kind->let_go(flow);
    moeg_release(flow);
}

size_t moeg_flow_router_size(const moeg_flow *flow)
{
    return flow != NULL ? flow->d : 0;
}

size_t moeg_flow_contrast_size(const moeg_flow *flow)
{
    return flow != NULL ? moeg_flow_q(flow) : 0;
}

size_t moeg_flow_symmetric_size(const moeg_flow *flow)
{
    return flow != NULL ? flow->m * flow->features : 0;
}

static moeg_status fail_range(const char *function, const char *what)
{
    return moeg_fail(MOEG_ERANGE, "%s: %s overflows", function, what);
}

moeg_status moeg_flow_operator(const moeg_flow *flow, double *M)
{
    static const char function[] = "flow_operator";
    moeg_status status = moeg_check_pointer(function, "flow", flow);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "M", M);
    if (status != MOEG_OK)
        return status;
    const size_t size = flow->d * moeg_flow_q(flow);
    double *result = moeg_alloc(size, sizeof *result);
    if (result == NULL)
        return moeg_fail_memory(function);
    status = flow->kind->first_order(flow, function, result);
    for (size_t i = 0; i < size && status == MOEG_OK; i++)
        if (!isfinite(result[i]))
            status = fail_range(function, "M");
    if (status == MOEG_OK)
        memcpy(M, result, size * sizeof *M);
    moeg_release(result);
    return status;
}

moeg_status moeg_flow_slope(const moeg_flow *flow, const char *function, const double *state, double *risk,
                            double *velocity)
{
    const size_t d = flow->d, q = moeg_flow_q(flow), size = moeg_flow_size(flow);
    const moeg_flow_options *options = &flow->options;
    const moeg_status status = flow->kind->gradient(flow, function, state, risk, velocity);
    if (status != MOEG_OK)
        return status;
    for (size_t i = 0; i < size; i++) {
        if (i < d)
            velocity[i] = -options->rates.eta_u * velocity[i] - options->rates.lambda_u * state[i];
        else if (i < d + q)
            velocity[i] = -options->rates.eta_c * velocity[i] - options->rates.lambda_c * state[i];
        else
            velocity[i] = options->eta_f > 0 ? -options->eta_f * velocity[i] : 0;
        if (!isfinite(velocity[i]))
            return fail_range(function, "the velocity");
    }
    return isfinite(*risk) ? MOEG_OK : fail_range(function, "the risk");
}

moeg_status moeg_flow_velocity(const moeg_flow *flow, const double *state, double *risk, double *velocity)
{
    static const char function[] = "flow_velocity";
    moeg_status status = moeg_check_pointer(function, "flow", flow);
    if (status == MOEG_OK)
        status = moeg_check_rows(function, "state", 1, moeg_flow_size(flow), state);
    if (status != MOEG_OK)
        return status;
    const size_t size = moeg_flow_size(flow);
    double *result = moeg_alloc(size, sizeof *result), value;
    if (result == NULL)
        return moeg_fail_memory(function);
    status = moeg_flow_slope(flow, function, state, &value, result);
    if (status == MOEG_OK && risk != NULL)
        *risk = value;
    if (status == MOEG_OK && velocity != NULL)
        memcpy(velocity, result, size * sizeof *velocity);
    moeg_release(result);
    return status;
}
