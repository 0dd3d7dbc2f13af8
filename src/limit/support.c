#include "limit/support.h"

#include "base/error.h"
#include "base/job.h"
#include "base/memory.h"
#include "base/moments.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

moeg_status moeg_support_count(const char *function, uint64_t most, int weighted, const double *state, uint64_t *n,
                               double *units)
{
    uint64_t whole;
    moeg_status status = moeg_partial_count(function, "its rows", 0, state[0], weighted ? 0 : most, most, n);
    if (status != MOEG_OK)
        return status;
    *units = weighted ? moeg_weighted_units(state) : (double)*n;
    return moeg_partial_count(function, "rows of equal weight", 0, ceil(*units), *n > 0, *n, &whole);
}

/* Kish's number (sum v)^2/sum v^2 of the rows that felt tau, v the size of what a row adds to the gap: where a few rows
 * hold nearly all of it, normal theory has too little to stand on, however many felt something; and where none adds
 * anything, nothing is known of those that were not drawn. The allowance is for rounding: equal rows count in full. */
moeg_status moeg_support_read(const char *function, const double *state, size_t felt, size_t weight, uint64_t n,
                              moeg_support *out)
{
    const double *v = state + weight;
    uint64_t count, effective = 0;
    moeg_status status = moeg_partial_count(function, "rows that felt", felt, state[felt], 0, n, &count);
    if (status == MOEG_OK && count > 0 && !(v[0] == 0 && v[1] == 0)) {
        /* Rows of so small weights beside the others' that the squares are lost tell nothing. Else at most n, by
         * Cauchy's inequality, but for the rounding of the sums. */
        const int lost = v[1] >= 0 && v[1] < DBL_MIN && v[0] > 0 && v[0] <= (double)n * sqrt(DBL_MIN);
        const double equal = lost ? 0 : floor(v[0] / v[1] * v[0] * (1 + 1e-10));
        status = moeg_partial_count(function, "rows of equal weight", weight, equal, 0, n + n / 1000000, &effective);
    }
    if (status == MOEG_OK)
        *out = (moeg_support){count, effective};
    return status;
}

moeg_status moeg_support_squares(const char *function, double m2)
{
    if (m2 < 0)
        return moeg_fail(MOEG_EINVAL, "%s: the partial result is damaged: a sum of squares is negative, %g", function,
                         m2);
    return MOEG_OK;
}

static moeg_estimate no_units(double level)
{
    return (moeg_estimate){
        .value = NAN,
        .std_error = INFINITY,
        .lo = -INFINITY,
        .hi = INFINITY,
        .level = level,
        .method = MOEG_METHOD_MC,
    };
}

moeg_status moeg_support_estimate(const char *function, const char *what, size_t t, uint64_t n, double units,
                                  double mean, double m2, moeg_support support, double level, moeg_estimate *out)
{
    if (n == 0) {
        *out = no_units(level);
        return MOEG_EUNABLE;
    }
    moeg_status status = moeg_support_squares(function, m2);
    if (status != MOEG_OK)
        return status;
    const uint64_t least = support.effective < support.felt ? support.effective : support.felt;
    const double variance = n > 1 ? moeg_mean_variance((double)n, m2) : m2;
    status = moeg_estimate_weighted_mean(n, units, mean, variance, least, level, MOEG_METHOD_MC, out);
    if (status == MOEG_ERANGE && t == SIZE_MAX)
        return moeg_fail(MOEG_ERANGE, "%s: the %s, or its variance, overflows", function, what);
    if (status == MOEG_ERANGE)
        return moeg_fail(MOEG_ERANGE, "%s: the %s, or its variance, overflows (temperature %zu of the grid)", function,
                         what, t);
    out->contributing = support.felt;
    return status;
}

uint64_t moeg_support_rows(double units)
{
    return (uint64_t)(units * (1 + 1e-10));
}

moeg_estimate moeg_support_zero(uint64_t n, double level)
{
    return (moeg_estimate){.level = level, .n = n, .contributing = n, .method = MOEG_METHOD_MC};
}

moeg_status moeg_support_add_noise(const char *function, double noise, moeg_estimate *risk)
{
    risk->value += noise;
    risk->lo += noise;
    risk->hi += noise;
    if (isinf(risk->value))
        return moeg_fail(MOEG_ERANGE, "%s: a risk overflows with the teacher's noise of %g", function, noise);
    return MOEG_OK;
}

moeg_status moeg_support_unable(const char *function, const char *what, size_t ntau, const double *tau,
                                const moeg_support *support, uint64_t n, double units, size_t doubtful)
{
    if (n == 0)
        return moeg_fail(MOEG_EUNABLE, "%s: no row was finished", function);
    if (n < MOEG_ENOUGH_UNITS)
        return moeg_fail(MOEG_EUNABLE, "%s: %" PRIu64 " rows are fewer than %d", function, n, MOEG_ENOUGH_UNITS);
    if (doubtful == ntau && moeg_support_rows(units) >= MOEG_ENOUGH_UNITS)
        return moeg_fail(MOEG_EUNABLE, "%s: the variance of a mean over all rows underflows", function);
    if (moeg_support_rows(units) < MOEG_ENOUGH_UNITS)
        return moeg_fail(MOEG_EUNABLE, "%s: the weights of %" PRIu64 " rows are worth %g equal ones, fewer than %d",
                         function, n, units, MOEG_ENOUGH_UNITS);
    const moeg_support felt = support[doubtful];
    if (felt.felt >= MOEG_ENOUGH_UNITS && felt.effective >= MOEG_ENOUGH_UNITS)
        return moeg_fail(MOEG_EUNABLE, "%s: a variance at tau[%zu] = %g underflows", function, doubtful, tau[doubtful]);
    if (felt.felt >= MOEG_ENOUGH_UNITS && felt.effective == 0)
        return moeg_fail(MOEG_EUNABLE,
                         "%s: tau[%zu] = %g is felt by %" PRIu64 " of %" PRIu64
                         " rows, but what they add to the %s is 0, or its squares underflow",
                         function, doubtful, tau[doubtful], felt.felt, n, what);
    return moeg_fail(MOEG_EUNABLE,
                     "%s: tau[%zu] = %g is felt by %" PRIu64 " of %" PRIu64 " rows, as much as by %" PRIu64
                     " of equal weight; fewer than %d do not tell a %s",
                     function, doubtful, tau[doubtful], felt.felt, n, felt.effective, MOEG_ENOUGH_UNITS, what);
}

moeg_status moeg_support_unweight(const char *function, size_t p, int triangle, const double *in, double *out)
{
    double *covariance = moeg_alloc(p, p * sizeof *covariance);
    if (covariance == NULL)
        return moeg_fail_memory(function);
    const double n = in[0], scale = n * (n - 1);
    const int known = moeg_weighted_units(in) > 1;
    out[0] = n;
    if (n > 0) {
        moeg_weighted_means(p, in, out + 1, covariance);
        for (size_t i = 0, at = 1 + p; i < p; i++)
            for (size_t j = triangle ? 0 : i; j <= i; j++, at++)
                out[at] = known ? scale * covariance[i * p + j] : 0; /* A variance is at least 2 DBL_TRUE_MIN, or 0. */
    } else {
        memset(out + 1, 0, ((triangle ? moeg_covariance_size(p) : moeg_moments_size(p)) - 1) * sizeof *out);
    }
    moeg_release(covariance);
    return MOEG_OK;
}
