#include <moegeom/estimate.h>

#include "base/error.h"
#include "base/interval.h"
#include "base/tail.h"

#include <math.h>

static moeg_status check_mean(uint64_t n, double mean, double m2, uint64_t contributing, double level,
                              const moeg_estimate *out)
{
    moeg_status status = moeg_check_pointer("estimate_mean", "out", out);
    if (status == MOEG_OK && n == 0)
        status = moeg_fail(MOEG_EINVAL, "estimate_mean: n must be at least 1, got 0");
    if (status == MOEG_OK && contributing > n)
        status = moeg_fail(MOEG_EINVAL, "estimate_mean: contributing must be at most n = %llu, got %llu",
                           (unsigned long long)n, (unsigned long long)contributing);
    if (status == MOEG_OK)
        status = moeg_check_level("estimate_mean", level);
    if (status == MOEG_OK && !(isfinite(mean) && isfinite(m2)))
        status = moeg_fail(MOEG_ERANGE, "estimate_mean: mean and m2 must be finite, got %g and %g", mean, m2);
    if (status == MOEG_OK && m2 < 0)
        status = moeg_fail(MOEG_EINVAL, "estimate_mean: m2 must be at least 0, got %g", m2);
    return status;
}

moeg_status moeg_estimate_mean(uint64_t n, double mean, double m2, uint64_t contributing, double level,
                               moeg_method method, moeg_estimate *out)
{
    const moeg_status status = check_mean(n, mean, m2, contributing, level, out);
    if (status != MOEG_OK)
        return status;
    *out = (moeg_estimate){.value = mean,
                           .std_error = INFINITY,
                           .lo = -INFINITY,
                           .hi = INFINITY,
                           .level = level,
                           .n = n,
                           .contributing = contributing,
                           .method = method};
    if (contributing < MOEG_ENOUGH_UNITS)
        return moeg_fail(MOEG_EUNABLE, "estimate_mean: %llu units of %llu contributed, fewer than %d: no error bar",
                         (unsigned long long)contributing, (unsigned long long)n, MOEG_ENOUGH_UNITS);
    const double dof = (double)(n - 1);
    out->std_error = sqrt(m2 / dof / (double)n);
    const double reach = out->std_error * moeg_tail_student_reach(dof, level);
    out->lo = mean - reach;
    out->hi = mean + reach;
    return MOEG_OK;
}

moeg_status moeg_estimate_proportion(uint64_t count, uint64_t n, double level, moeg_method method, moeg_estimate *out)
{
    double lo, hi;
    moeg_status status = moeg_check_pointer("estimate_proportion", "out", out);
    if (status == MOEG_OK)
        status = moeg_interval_binomial("estimate_proportion", count, n, level, &lo, &hi);
    if (status != MOEG_OK)
        return status;
    const double share = (double)count / (double)n, rest = (double)(n - count) / (double)n;
    *out = (moeg_estimate){.value = share,
                           .std_error = sqrt(share * rest / (double)n),
                           .lo = lo,
                           .hi = hi,
                           .level = level,
                           .n = n,
                           .contributing = count,
                           .method = method};
    return MOEG_OK;
}

moeg_status moeg_estimate_weighted_proportion(double share, double units, uint64_t count, uint64_t n, double level,
                                              moeg_method method, moeg_estimate *out)
{
    static const char function[] = "estimate_weighted_proportion";
    double lo, hi;
    moeg_status status = moeg_check_pointer(function, "out", out);
    if (status == MOEG_OK && count > n)
        status = moeg_fail(MOEG_EINVAL, "%s: count must be at most n = %llu, got %llu", function, (unsigned long long)n,
                           (unsigned long long)count);
    if (status == MOEG_OK && !(units <= (double)n * (1 + 1e-12)))
        status = moeg_fail(MOEG_EINVAL, "%s: units must be at most n = %llu, got %g", function, (unsigned long long)n,
                           units);
    if (status == MOEG_OK)
        status = moeg_interval_share(function, share, units, level, &lo, &hi);
    if (status != MOEG_OK)
        return status;
    *out = (moeg_estimate){.value = share,
                           .std_error = sqrt(share * (1 - share) / units),
                           .lo = lo,
                           .hi = hi,
                           .level = level,
                           .n = n,
                           .contributing = count,
                           .method = method};
    return MOEG_OK;
}
