#include "limit/boundary_exponent.h"

#include "base/interval.h"
#include "limit/gap_order.h"

#include <float.h>
#include <math.h>

/* What rows with weights are worth in equal ones: sum v/sum v L has the relative variance sum v^2 r^2/(sum v)^2 to
 * first order, r = 1 - alpha L. Under a power law of what the rows stand for sum v r^2 is sum v in the mean: dividing
 * by their ratio takes out what r^2 varies by itself, so that of equal weights Kish's number is left, which is all of
 * it where weights do not go with gaps. Few heavy rows do not tell that they are worth more. */
static double worth(const moeg_boundary_felt *rows, double alpha, double kish)
{
    const double *c = rows->curve;
    const double plain = rows->weight - 2 * alpha * rows->sum + alpha * alpha * c[0];
    const double squared = rows->squares - 2 * alpha * c[1] + alpha * alpha * c[2];
    const double ratio = (squared / rows->squares) / (plain / rows->weight);
    const double units = plain > 0 && ratio > 0 ? fmin(fmax(kish / ratio, 1), ldexp(1, 53)) : kish;
    return kish < MOEG_ENOUGH_UNITS ? fmin(kish, units) : units;
}

moeg_status moeg_boundary_hill(const char *function, uint64_t n, const moeg_boundary_felt *rows, double level,
                               moeg_estimate *alpha)
{
    const double value = rows->felt == 0 ? NAN : rows->weight / rows->sum;
    const double kish = rows->weighted ? moeg_kish_units(rows->felt, rows->weight, rows->squares) : (double)rows->felt;
    const double units = rows->weighted && isfinite(value) ? worth(rows, value, kish) : kish;
    moeg_estimate e = {
        .value = value,
        .std_error = INFINITY,
        .lo = -INFINITY,
        .hi = INFINITY,
        .level = level,
        .n = n,
        .contributing = rows->felt,
        .method = MOEG_METHOD_MC,
    };
    if (isfinite(value)) {
        const moeg_status status = moeg_interval_gamma(function, units, value, level, &e.lo, &e.hi);
        if (status != MOEG_OK)
            return status;
        e.std_error = value / sqrt(units);
    }
    *alpha = e;
    return fmin(kish, units) >= MOEG_ENOUGH_UNITS && isfinite(value) ? MOEG_OK : MOEG_EUNABLE;
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
