/* dG/dtau from tau dG/dtau, in which nothing overflows before its time [theory: derivatives]. */
#include <moegeom/risk.h>

#include "base/error.h"
#include "base/memory.h"
#include "limit/check.h"
#include "limit/line.h"
#include "limit/risk_result.h"

#include <math.h>
#include <string.h>

/* e / tau; at tau = 0 it is 0 already. */
static moeg_status divide(const char *function, double tau, moeg_estimate *e)
{
    if (tau == 0)
        return MOEG_OK;
    const int bar = isfinite(e->std_error);
    e->value /= tau;
    e->std_error /= tau;
    e->lo /= tau;
    e->hi /= tau;
    if (isinf(e->value) || (bar && !(isfinite(e->std_error) && isfinite(e->lo) && isfinite(e->hi))))
        return moeg_fail(MOEG_ERANGE, "%s: the derivative at tau = %g, or its error bar, overflows", function, tau);
    return MOEG_OK;
}

static moeg_status sample(const char *function, const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                          moeg_mixing mixing, size_t ntau, const double *tau, const moeg_sampling *s,
                          moeg_estimate *derivative)
{
    moeg_status status =
        moeg_risk_sample(function, 1, moe, teacher, law, mixing, ntau, tau, s, NULL, NULL, derivative, NULL);
    for (size_t t = 0; t < ntau && status >= 0; t++) {
        const moeg_status divided = divide(function, tau[t], &derivative[t]);
        status = divided != MOEG_OK ? divided : status;
    }
    return status;
}

static moeg_status integrate(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                             const moeg_law *law, moeg_mixing mixing, size_t ntau, const double *tau, double level,
                             moeg_estimate *derivative)
{
    moeg_line_risk risk;
    moeg_status status = moeg_line_risk_init(function, moe, teacher, law, &risk);
    for (size_t t = 0; t < ntau && status == MOEG_OK; t++) {
        double value = 0, error = 0;
        if (tau[t] == 0 && moeg_line_moves(&risk))
            status = moeg_fail(MOEG_EDOM, "%s: tau[%zu] = 0: the slope of the gap there is that of leading_term",
                               function, t);
        if (status == MOEG_OK && tau[t] > 0)
            status = moeg_line_gap_derivative(function, &risk, mixing, tau[t], &value, &error);
        if (status == MOEG_OK)
            derivative[t] = moeg_line_estimate(value, error, level);
    }
    return status;
}

moeg_status moeg_risk_derivative(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                 moeg_mixing mixing, size_t ntau, const double *tau, const moeg_sampling *s,
                                 moeg_estimate *derivative)
{
    static const char function[] = "risk_derivative";
    int line;
    moeg_status status = moeg_check_pointer(function, "derivative", derivative);
    if (status == MOEG_OK)
        status = moeg_check_risk(function, moe, teacher, law, mixing, ntau, tau, s);
    if (status == MOEG_OK)
        status = moeg_check_no_directions(function, s);
    if (status == MOEG_OK)
        status = moeg_choose_line(function, moeg_line_risk_refusal(moe, teacher, law), s->method, &line);
    if (status != MOEG_OK)
        return status;
    moeg_estimate *all = moeg_alloc(ntau, sizeof *all);
    if (all == NULL)
        return moeg_fail_memory(function);
    status = line ? integrate(function, moe, teacher, law, mixing, ntau, tau, s->level, all)
                  : sample(function, moe, teacher, law, mixing, ntau, tau, s, all);
    if (status >= 0)
        memcpy(derivative, all, ntau * sizeof *all);
    moeg_release(all);
    return status;
}
