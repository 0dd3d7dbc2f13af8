#include <moegeom/estimate.h>

#include "base/error.h"
#include "base/interval.h"
#include "base/moments.h"
#include "base/tail.h"

#include <float.h>
#include <math.h>

/* What both means ask of their arguments; `spread` is m2 or variance. */
static moeg_status check_mean(const char *function, uint64_t n, double mean, const char *name, double spread,
                              uint64_t contributing, double level, const moeg_estimate *out)
{
    moeg_status status = moeg_check_pointer(function, "out", out);
    if (status == MOEG_OK && n == 0)
        status = moeg_fail(MOEG_EINVAL, "%s: n must be at least 1, got 0", function);
    if (status == MOEG_OK && contributing > n)
        status = moeg_fail(MOEG_EINVAL, "%s: contributing must be at most n = %llu, got %llu", function,
                           (unsigned long long)n, (unsigned long long)contributing);
    if (status == MOEG_OK)
        status = moeg_check_level(function, level);
    if (status == MOEG_OK && !(isfinite(mean) && isfinite(spread)))
        status = moeg_fail(MOEG_ERANGE, "%s: mean and %s must be finite, got %g and %g", function, name, mean, spread);
    if (status == MOEG_OK && spread < 0)
        status = moeg_fail(MOEG_EINVAL, "%s: %s must be at least 0, got %g", function, name, spread);
    return status;
}

/* Student's interval with units - 1 degrees of freedom, or none. */
static moeg_status estimate_mean(const char *function, uint64_t n, double units, double mean, double variance,
                                 uint64_t contributing, double level, moeg_method method, moeg_estimate *out)
{
    *out = (moeg_estimate){.value = mean,
                           .std_error = INFINITY,
                           .lo = -INFINITY,
                           .hi = INFINITY,
                           .level = level,
                           .n = n,
                           .contributing = contributing,
                           .method = method};
    if (contributing < MOEG_ENOUGH_UNITS)
        return moeg_fail(MOEG_EUNABLE, "%s: %llu units of %llu contributed, fewer than %d: no error bar", function,
                         (unsigned long long)contributing, (unsigned long long)n, MOEG_ENOUGH_UNITS);
    /* Units of equal weight are worth as many, but for rounding. */
    if (units < MOEG_ENOUGH_UNITS * (1 - 1e-10))
        return moeg_fail(MOEG_EUNABLE,
                         "%s: the weights of %llu units are worth %g equal ones, fewer than %d: no error "
                         "bar",
                         function, (unsigned long long)n, units, MOEG_ENOUGH_UNITS);
    if (variance > 0 && variance < DBL_MIN)
        return moeg_fail(MOEG_EUNABLE, "%s: the variance of the mean underflows: no error bar", function);
    out->std_error = sqrt(variance);
    const double reach = out->std_error * moeg_tail_student_reach(units - 1, level);
    out->lo = mean - reach;
    out->hi = mean + reach;
    return MOEG_OK;
}

moeg_status moeg_estimate_mean(uint64_t n, double mean, double m2, uint64_t contributing, double level,
                               moeg_method method, moeg_estimate *out)
{
    static const char function[] = "estimate_mean";
    const moeg_status status = check_mean(function, n, mean, "m2", m2, contributing, level, out);
    if (status != MOEG_OK)
        return status;
    const double variance = moeg_mean_variance((double)n, m2);
    return estimate_mean(function, n, (double)n, mean, variance, contributing, level, method, out);
}

moeg_status moeg_estimate_weighted_mean(uint64_t n, double units, double mean, double variance, uint64_t contributing,
                                        double level, moeg_method method, moeg_estimate *out)
{
    static const char function[] = "estimate_weighted_mean";
    /* The variance of what is worth one unit is unknown. */
    const double spread = units <= 1 && variance == INFINITY ? 0 : variance;
    const moeg_status status = check_mean(function, n, mean, "variance", spread, contributing, level, out);
    if (status != MOEG_OK)
        return status;
    if (!(units >= 1 && units <= (double)n))
        return moeg_fail(MOEG_EINVAL, "%s: units must be in [1, n = %llu], got %g", function, (unsigned long long)n,
                         units);
    return estimate_mean(function, n, units, mean, spread, contributing, level, method, out);
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

/* {sum w, sum w^2} of `count` units, or nothing. */
static moeg_status check_sums(const char *function, const char *name, uint64_t count, const double *sums)
{
    const moeg_status status = count == 0 ? MOEG_OK : moeg_check_pointer(function, name, sums);
    for (size_t i = 0; i < 2 && count > 0 && status == MOEG_OK; i++)
        if (!(sums[i] >= 0 && isfinite(sums[i])))
            return moeg_fail(MOEG_EINVAL, "%s: %s[%zu] must be finite and at least 0, got %g", function, name, i,
                             sums[i]);
    return status;
}

/* The sums that count, and whether n weights can have made them: (sum w)^2 is between sum w^2 and n times as much. The
 * allowance is for the rounding of sums of very many. */
static moeg_status read_sums(const char *function, uint64_t count, uint64_t n, const double *inside,
                             const double *outside, double *in, double *rest)
{
    moeg_status status = check_sums(function, "inside", count, inside);
    if (status == MOEG_OK)
        status = check_sums(function, "outside", n - count, outside);
    if (status != MOEG_OK)
        return status;
    for (size_t i = 0; i < 2; i++) {
        in[i] = count > 0 ? inside[i] : 0;
        rest[i] = count < n ? outside[i] : 0;
    }
    const double sum = in[0] + rest[0], units = sum * (sum / (in[1] + rest[1]));
    if (!(units >= 1 - 1e-6 && units <= (double)n * (1 + 1e-6)))
        return moeg_fail(MOEG_EINVAL,
                         "%s: inside and outside must be sums of weights and of their squares of n = %llu units, got "
                         "%g and %g in all",
                         function, (unsigned long long)n, sum, in[1] + rest[1]);
    return MOEG_OK;
}

moeg_status moeg_estimate_weighted_proportion(uint64_t count, uint64_t n, const double *inside, const double *outside,
                                              double level, moeg_method method, moeg_estimate *out)
{
    static const char function[] = "estimate_weighted_proportion";
    double in[2], rest[2], lo, hi;
    moeg_status status = moeg_check_pointer(function, "out", out);
    if (status == MOEG_OK)
        status = moeg_check_count(function, count, n);
    if (status == MOEG_OK)
        status = moeg_check_level(function, level);
    if (status == MOEG_OK)
        status = read_sums(function, count, n, inside, outside, in, rest);
    if (status != MOEG_OK)
        return status;
    const double sum = in[0] + rest[0], share = in[0] / sum, left = rest[0] / sum;
    const double scatter = moeg_share_scatter(share, left, in[1], rest[1]);
    /* Units over the sum of weights, from either. */
    const double worth = fmin(sum / (in[1] + rest[1]), share * left * sum / scatter);
    moeg_interval_share(in[0] * worth, rest[0] * worth, share, level, &lo, &hi);
    *out = (moeg_estimate){.value = share,
                           .std_error = sqrt(scatter) / sum,
                           .lo = lo,
                           .hi = hi,
                           .level = level,
                           .n = n,
                           .contributing = count,
                           .method = method};
    return MOEG_OK;
}
