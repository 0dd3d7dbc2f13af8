#include "base/interval.h"

#include "base/error.h"
#include "base/tail.h"

#include <math.h>
#include <moegeom/estimate.h>

/* Counts up to here are exact as doubles. */
#define LARGEST_COUNT ((uint64_t)1 << 53)

moeg_status moeg_check_level(const char *function, double level)
{
    if (!(level > 0 && level < 1))
        return moeg_fail(MOEG_EINVAL, "%s: level must be in (0, 1), got %g", function, level);
    return MOEG_OK;
}

static moeg_status check_size(const char *function, const char *name, uint64_t count)
{
    if (count == 0 || count > LARGEST_COUNT)
        return moeg_fail(MOEG_EINVAL, "%s: %s must be at least 1 and at most 2^53, got %llu", function, name,
                         (unsigned long long)count);
    return MOEG_OK;
}

/* The p at which `count` of n or more have this probability, and 1 - p: P(Bin(n, p) >= c) = P(Beta(c, n - c + 1) <= p).
 * That also says what counts between the whole numbers have (Korn and Graubard 1998). `failures` = n - count. */
static void lower_limit(double count, double failures, double probability, double *p, double *q)
{
    const double n = count + failures;
    if (count < 1.0 / 1100) {
        /* Of so few, p <= probability^(1/count) <= 2^-1100. */
        *p = 0;
        *q = 1;
    } else if (failures == 0) {
        const double log_p = log(probability) / n;
        *p = exp(log_p);
        *q = -expm1(log_p);
    } else {
        moeg_tail_beta_quantile(count, failures + 1, probability, p, q);
    }
}

/* The upper limit is the lower one of the failures, seen from 1. The share lies between both, which at small levels are
 * closer to it than their rounding. */
void moeg_interval_share(double count, double failures, double share, double level, double *lo, double *hi)
{
    double rest;
    lower_limit(count, failures, 0.5 * (1 - level), lo, &rest);
    lower_limit(failures, count, 0.5 * (1 - level), &rest, hi);
    *lo = fmin(*lo, share);
    *hi = fmax(*hi, share);
}

moeg_status moeg_check_count(const char *function, uint64_t count, uint64_t n)
{
    const moeg_status status = check_size(function, "n", n);
    if (status == MOEG_OK && count > n)
        return moeg_fail(MOEG_EINVAL, "%s: count must be at most n = %llu, got %llu", function, (unsigned long long)n,
                         (unsigned long long)count);
    return status;
}

moeg_status moeg_interval_binomial(const char *function, uint64_t count, uint64_t n, double level, double *lo,
                                   double *hi)
{
    moeg_status status = moeg_check_count(function, count, n);
    if (status == MOEG_OK)
        status = moeg_check_level(function, level);
    if (status != MOEG_OK)
        return status;
    moeg_interval_share((double)count, (double)(n - count), (double)count / (double)n, level, lo, hi);
    return MOEG_OK;
}

moeg_status moeg_clopper_pearson(uint64_t count, uint64_t n, double level, double *lo, double *hi)
{
    moeg_status status = moeg_check_pointer("clopper_pearson", "lo", lo);
    if (status == MOEG_OK)
        status = moeg_check_pointer("clopper_pearson", "hi", hi);
    if (status == MOEG_OK)
        status = moeg_interval_binomial("clopper_pearson", count, n, level, lo, hi);
    return status;
}

moeg_status moeg_dkw(uint64_t n, double level, double *half_width)
{
    moeg_status status = moeg_check_pointer("dkw", "half_width", half_width);
    if (status == MOEG_OK && n == 0)
        status = moeg_fail(MOEG_EINVAL, "dkw: n must be at least 1, got 0");
    if (status == MOEG_OK)
        status = moeg_check_level("dkw", level);
    if (status == MOEG_OK)
        *half_width = sqrt(log(2 / (1 - level)) / (2 * (double)n));
    return status;
}

moeg_status moeg_bernstein_upper(uint64_t n, double mean, double m2, double range, double level, double *upper)
{
    static const char function[] = "bernstein_upper";
    moeg_status status = moeg_check_pointer(function, "upper", upper);
    if (status == MOEG_OK && n == 0)
        status = moeg_fail(MOEG_EINVAL, "%s: n must be at least 1, got 0", function);
    if (status == MOEG_OK && !(range > 0 && isfinite(range)))
        status = moeg_fail(MOEG_EINVAL, "%s: range must be positive and finite, got %g", function, range);
    if (status == MOEG_OK && !(mean >= 0 && mean <= range))
        status = moeg_fail(MOEG_EINVAL, "%s: mean must be in [0, range = %g], got %g", function, range, mean);
    if (status == MOEG_OK && !(m2 >= 0 && isfinite(m2)))
        status = moeg_fail(MOEG_EINVAL, "%s: m2 must be finite and at least 0, got %g", function, m2);
    if (status == MOEG_OK)
        status = moeg_check_level(function, level);
    if (status != MOEG_OK)
        return status;
    if (n == 1) {
        *upper = range;
        return MOEG_OK;
    }
    const double dof = (double)(n - 1), L = log(2 / (1 - level));
    *upper = fmin(range, mean + sqrt(2 * L * (m2 / dof / (double)n)) + 7 * L / (3 * dof) * range);
    return MOEG_OK;
}

moeg_status moeg_interval_gamma(const char *function, double count, double value, double level, double *lo, double *hi)
{
    if (!(count >= 1 && count <= (double)LARGEST_COUNT))
        return moeg_fail(MOEG_EINVAL, "%s: count must be at least 1 and at most 2^53, got %g", function, count);
    moeg_status status = moeg_check_level(function, level);
    if (status == MOEG_OK && !(value > 0 && isfinite(value)))
        status = moeg_fail(MOEG_EINVAL, "%s: value must be positive and finite, got %g", function, value);
    if (status != MOEG_OK)
        return status;
    /* At small levels both quantiles are near the median, which is below the mean: the interval is widened to hold the
     * estimate. */
    *lo = fmin(value, value * (moeg_tail_gamma_quantile(count, 0.5 * (1 - level), 0) / count));
    *hi = fmax(value, value * (moeg_tail_gamma_quantile(count, 0.5 * (1 - level), 1) / count));
    return MOEG_OK;
}
