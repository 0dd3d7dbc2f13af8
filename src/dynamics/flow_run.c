#include "base/error.h"
#include "base/memory.h"
#include "base/vector.h"
#include "dynamics/flow.h"
#include "dynamics/ode.h"

#include <math.h>
#include <string.h>

static const char run_name[] = "flow_run", rest_name[] = "flow_rest";

static moeg_status slope(double t, const double *y, double *out, void *user)
{
    (void)t;
    double risk;
    return moeg_flow_slope(user, run_name, y, &risk, out);
}

static moeg_status check_tolerance(const char *function, const char *name, double tolerance)
{
    if (isfinite(tolerance) && tolerance > 0)
        return MOEG_OK;
    return moeg_fail(MOEG_EINVAL, "%s: %s must be finite and above 0, got %g", function, name, tolerance);
}

static moeg_status check_times(size_t count, const double *times)
{
    if (count == 0)
        return moeg_fail(MOEG_EINVAL, "%s: count must be at least 1, got 0", run_name);
    moeg_status status = moeg_check_rows(run_name, "times", count, 1, times);
    if (status == MOEG_OK && times[0] < 0)
        return moeg_fail(MOEG_EINVAL, "%s: times[0] must be at least 0, got %g", run_name, times[0]);
    for (size_t i = 1; i < count && status == MOEG_OK; i++)
        if (!(times[i] > times[i - 1]))
            status = moeg_fail(MOEG_EINVAL, "%s: times must increase, got times[%zu] = %g after %g", run_name, i,
                               times[i], times[i - 1]);
    return status;
}

static moeg_status check_run(const moeg_flow *flow, const double *u, const double *c, size_t count, const double *times,
                             double rel_tol, double abs_tol, const double *states)
{
    moeg_status status = moeg_check_pointer(run_name, "flow", flow);
    if (status == MOEG_OK)
        status = moeg_check_rows(run_name, "u", flow->d, 1, u);
    if (status == MOEG_OK)
        status = moeg_check_rows(run_name, "c", moeg_flow_q(flow), 1, c);
    if (status == MOEG_OK)
        status = check_times(count, times);
    if (status == MOEG_OK)
        status = check_tolerance(run_name, "rel_tol", rel_tol);
    if (status == MOEG_OK)
        status = check_tolerance(run_name, "abs_tol", abs_tol);
    return status == MOEG_OK ? moeg_check_array(run_name, "states", count, moeg_flow_size(flow), states) : status;
}

/* Risks of the rows; NaN from the first one on that is. */
static moeg_status fill_risks(const moeg_flow *flow, size_t count, const double *states, double *scratch, double *risks)
{
    const size_t size = moeg_flow_size(flow);
    moeg_status status = MOEG_OK;
    for (size_t i = 0; i < count && status == MOEG_OK; i++) {
        risks[i] = NAN;
        if (!isnan(states[i * size]))
            status = moeg_flow_slope(flow, run_name, states + i * size, &risks[i], scratch);
    }
    return status;
}

moeg_status moeg_flow_run(const moeg_flow *flow, const double *u, const double *c, size_t count, const double *times,
                          double rel_tol, double abs_tol, double *states, double *risks)
{
    moeg_status status = check_run(flow, u, c, count, times, rel_tol, abs_tol, states);
    if (status != MOEG_OK)
        return status;
    const size_t d = flow->d, q = moeg_flow_q(flow), size = moeg_flow_size(flow);
    double *start = moeg_alloc(2 * size, sizeof *start), *rows = moeg_alloc(count, size * sizeof *rows);
    double *values = moeg_alloc(count, sizeof *values);
    moeg_status end = start && rows && values ? MOEG_OK : moeg_fail_memory(run_name);
    if (end == MOEG_OK) {
        memcpy(start, u, d * sizeof *start);
        memcpy(start + d, c, q * sizeof *start);
        if (size > d + q)
            memcpy(start + d + q, flow->best, (size - d - q) * sizeof *start);
        end = moeg_ode_run(run_name, size, slope, (void *)(uintptr_t)flow, start, count, times, rel_tol, abs_tol, rows);
    }
    if (end >= 0 && risks != NULL)
        status = fill_risks(flow, count, rows, start + size, values);
    if (end >= 0 && status == MOEG_OK) {
        memcpy(states, rows, count * size * sizeof *states);
        if (risks != NULL)
            memcpy(risks, values, count * sizeof *risks);
    }
    moeg_release(start);
    moeg_release(rows);
    moeg_release(values);
    return status == MOEG_OK ? end : status;
}

static moeg_status check_rest(const moeg_flow *flow, size_t count, const double *states, double tolerance,
                              const size_t *row)
{
    moeg_status status = moeg_check_pointer(rest_name, "flow", flow);
    if (status == MOEG_OK && count == 0)
        status = moeg_fail(MOEG_EINVAL, "%s: count must be at least 1, got 0", rest_name);
    if (status == MOEG_OK)
        status = moeg_check_array(rest_name, "states", count, moeg_flow_size(flow), states);
    if (status == MOEG_OK && !(tolerance > 0 && tolerance < 1))
        status = moeg_fail(MOEG_EINVAL, "%s: tolerance must be in (0, 1), got %g", rest_name, tolerance);
    return status == MOEG_OK ? moeg_check_pointer(rest_name, "row", row) : status;
}

/* The length of the velocity of (u, c) at a row, scratch (size); NaN of a row that is not finite. */
static moeg_status measure(const moeg_flow *flow, const double *state, double *scratch, double *speed)
{
    *speed = NAN;
    for (size_t i = 0; i < moeg_flow_size(flow); i++)
        if (!isfinite(state[i]))
            return MOEG_OK;
    double risk;
    const moeg_status status = moeg_flow_slope(flow, rest_name, state, &risk, scratch);
    const size_t n = flow->d + moeg_flow_q(flow);
    const double largest = status == MOEG_OK ? moeg_largest(n, scratch) : 0;
    double sum = 0;
    for (size_t i = 0; largest > 0 && i < n; i++)
        sum += scratch[i] / largest * (scratch[i] / largest);
    *speed = largest * sqrt(sum);
    return status;
}

moeg_status moeg_flow_rest(const moeg_flow *flow, size_t count, const double *states, double tolerance, size_t *row)
{
    moeg_status status = check_rest(flow, count, states, tolerance, row);
    if (status != MOEG_OK)
        return status;
    const size_t size = moeg_flow_size(flow);
    double *scratch = moeg_alloc(size, sizeof *scratch), *speed = moeg_alloc(count, sizeof *speed), largest = 0;
    status = scratch && speed ? MOEG_OK : moeg_fail_memory(rest_name);
    for (size_t i = 0; i < count && status == MOEG_OK; i++) {
        status = measure(flow, states + i * size, scratch, &speed[i]);
        largest = fmax(largest, speed[i]);
    }
    if (status == MOEG_OK)
        for (*row = count; *row > 0 && speed[*row - 1] <= tolerance * largest;)
            --*row;
    moeg_release(scratch);
    moeg_release(speed);
    return status;
}
