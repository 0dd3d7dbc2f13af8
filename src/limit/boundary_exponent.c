#include "limit/boundary_exponent.h"

#include "base/interval.h"

#include <float.h>
#include <math.h>

moeg_status moeg_boundary_hill(const char *function, uint64_t n, moeg_boundary_felt rows, double level,
                               moeg_estimate *alpha)
{
    const double value = rows.felt == 0 ? NAN : rows.weight / rows.sum;
    moeg_estimate e = {
        .value = value,
        .std_error = INFINITY,
        .lo = -INFINITY,
        .hi = INFINITY,
        .level = level,
        .n = n,
        .contributing = rows.felt,
        .method = MOEG_METHOD_MC,
    };
    if (isfinite(value)) {
        const moeg_status status = moeg_interval_gamma(function, rows.units, value, level, &e.lo, &e.hi);
        if (status != MOEG_OK)
            return status;
        e.std_error = value / sqrt(rows.units);
    }
    *alpha = e;
    return rows.units >= MOEG_ENOUGH_UNITS && isfinite(value) ? MOEG_OK : MOEG_EUNABLE;
}

/* log C = log P - alpha log w is a difference of two numbers that are independent to first order: given how many rows
 * lie below w, alpha depends on where they lie there. Their intervals are not symmetric, and the squares of the
 * distances from the estimate add on either side by themselves (Zou and Donner 2008): where one of the errors is
 * nothing, that is the interval of the other. */
moeg_status moeg_boundary_constant(double w, const moeg_estimate *mass, const moeg_estimate *alpha, moeg_estimate *C)
{
    *C = *alpha;
    if (!isfinite(alpha->value)) {
        C->value = NAN;
        return MOEG_OK;
    }
    const double log_w = log(w), log_p = log(mass->value), log_C = log_p - alpha->value * log_w;
    const double p_below = log_p - log(mass->lo), p_above = log(mass->hi) - log_p;
    const double a_below = (alpha->value - alpha->lo) * fabs(log_w), a_above = (alpha->hi - alpha->value) * fabs(log_w);
    C->value = exp(log_C);
    C->std_error = C->value * hypot(mass->std_error / mass->value, alpha->std_error * log_w);
    C->lo = exp(log_C - hypot(p_below, log_w > 0 ? a_above : a_below));
    C->hi = exp(log_C + hypot(p_above, log_w > 0 ? a_below : a_above));
    if (C->value >= DBL_MIN && C->value <= DBL_MAX && C->std_error <= DBL_MAX && C->hi <= DBL_MAX)
        return MOEG_OK;
    C->std_error = C->hi = INFINITY;
    C->lo = 0;
    return MOEG_EUNABLE;
}
