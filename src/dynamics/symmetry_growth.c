#include "base/error.h"
#include "base/memory.h"
#include "base/vector.h"
#include "dynamics/symmetry.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

moeg_symmetry_rates moeg_symmetry_rates_default(void)
{
    return (moeg_symmetry_rates){.eta_u = 1, .eta_c = 1};
}

static moeg_status check_above_zero(const char *function, const char *name, double value)
{
    if (value > 0 && isfinite(value))
        return MOEG_OK;
    return moeg_fail(MOEG_EINVAL, "%s: %s must be finite and above 0, got %g", function, name, value);
}

static moeg_status check_at_least_zero(const char *function, const char *name, double value)
{
    if (value >= 0 && isfinite(value))
        return MOEG_OK;
    return moeg_fail(MOEG_EINVAL, "%s: %s must be finite and at least 0, got %g", function, name, value);
}

moeg_status moeg_check_rates(const char *function, const moeg_symmetry_rates *rates)
{
    moeg_status status = moeg_check_pointer(function, "rates", rates);
    if (status == MOEG_OK)
        status = check_above_zero(function, "rates->eta_u", rates->eta_u);
    if (status == MOEG_OK)
        status = check_above_zero(function, "rates->eta_c", rates->eta_c);
    if (status == MOEG_OK)
        status = check_at_least_zero(function, "rates->lambda_u", rates->lambda_u);
    return status == MOEG_OK ? check_at_least_zero(function, "rates->lambda_c", rates->lambda_c) : status;
}

moeg_status moeg_check_soft_tau(const char *function, double tau)
{
    if (tau >= 1e-300 && tau <= 1e300)
        return MOEG_OK;
    return moeg_fail(MOEG_EINVAL, "%s: tau must be in [1e-300, 1e300], got %g", function, tau);
}

double moeg_symmetry_quotient(int exponent, size_t n, const double *factors, size_t m, const double *divisors)
{
    double mantissa = 1;
    for (size_t k = 0; k < n + m; k++) {
        int own;
        const double part = frexp(k < n ? factors[k] : divisors[k - n], &own);
        mantissa = k < n ? mantissa * part : mantissa / part;
        exponent += k < n ? own : -own;
    }
    return ldexp(mantissa, exponent);
}

/* With q = sqrt(lambda_u lambda_c) and r = sqrt(eta_u eta_c) sigma/tau, (r - q) (r + q) over the sum of the two terms
 * that would cancel where r is near q. */
moeg_status moeg_symmetry_growth(double sigma, double tau, const moeg_symmetry_rates *rates, double *growth)
{
    static const char function[] = "symmetry_growth";
    moeg_status status = check_at_least_zero(function, "sigma", sigma);
    if (status == MOEG_OK)
        status = moeg_check_soft_tau(function, tau);
    if (status == MOEG_OK)
        status = moeg_check_rates(function, rates);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "growth", growth);
    if (status != MOEG_OK)
        return status;
    const double r = moeg_symmetry_quotient(0, 3, (double[]){sqrt(rates->eta_u), sqrt(rates->eta_c), sigma}, 1, &tau);
    const double q = sqrt(rates->lambda_u) * sqrt(rates->lambda_c);
    const double half_u = rates->lambda_u / 2, half_c = rates->lambda_c / 2;
    const double sum = half_u + half_c + hypot(half_u - half_c, r);
    if (!isfinite(sum) || !isfinite(r + q))
        return moeg_fail(MOEG_ERANGE, "%s: the growth rate overflows", function);
    *growth = sum > 0 ? (r - q) * ((r + q) / sum) : 0;
    return MOEG_OK;
}

moeg_status moeg_symmetry_threshold(double sigma, const moeg_symmetry_rates *rates, double *tau)
{
    static const char function[] = "symmetry_threshold";
    moeg_status status = check_at_least_zero(function, "sigma", sigma);
    if (status == MOEG_OK)
        status = moeg_check_rates(function, rates);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "tau", tau);
    if (status != MOEG_OK)
        return status;
    const int without_decay = rates->lambda_u == 0 || rates->lambda_c == 0;
    const double value = without_decay
                             ? INFINITY
                             : moeg_symmetry_quotient(0, 3, (double[]){sigma, sqrt(rates->eta_u), sqrt(rates->eta_c)},
                                                      2, (double[]){sqrt(rates->lambda_u), sqrt(rates->lambda_c)});
    if (sigma > 0 && !without_decay && !isfinite(value))
        return moeg_fail(MOEG_ERANGE, "%s: the threshold overflows", function);
    *tau = sigma == 0 ? 0 : value;
    return MOEG_OK;
}

/* Psi_ij, the feature 1 being number d. */
static double second_moment(size_t d, const double *mean, const double *covariance, size_t i, size_t j)
{
    const double a = i == d ? 1 : mean[i], b = j == d ? 1 : mean[j];
    const double c = i == d || j == d ? 0 : covariance != NULL ? covariance[i * d + j] : i == j;
    return c + a * b;
}

moeg_status moeg_symmetry_feature_gram(const moeg_law *law, const moeg_contrast *contrast, double *Psi)
{
    static const char function[] = "symmetry_feature_gram";
    moeg_status status = moeg_check_pointer(function, "Psi", Psi);
    if (status == MOEG_OK)
        status = moeg_check_operator(function, law, moeg_law_dim(law), 1, MOEG_SYMMETRIC_ZERO, contrast, Psi);
    if (status != MOEG_OK)
        return status;
    const double *mean, *covariance;
    if (!moeg_law_gaussian_parts(law, &mean, &covariance))
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: the law must be Gaussian", function);
    const size_t d = moeg_law_dim(law), p = moeg_contrast_features(contrast, d);
    const size_t first = contrast->kind == MOEG_CONTRAST_LINEAR ? 0 : d; /* features in the order of the contrast */
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < p; i++)
            for (size_t j = 0; j < p; j++) {
                const size_t a = first == d ? (i + d) % (d + 1) : i, b = first == d ? (j + d) % (d + 1) : j;
                const double value = second_moment(d, mean, covariance, a, b);
                if (pass == 1)
                    Psi[i * p + j] = value;
                else if (!isfinite(value))
                    return moeg_fail(MOEG_ERANGE, "%s: the moment of features %zu and %zu overflows", function, i, j);
            }
    return MOEG_OK;
}

/* eta_u/tau M_i.c, products scaled by the largest factors. */
static double drift_along(size_t q, const double *row, const double *c, double eta_u, double tau)
{
    int large_row, large_c;
    double sum = 0;
    frexp(moeg_largest(q, row), &large_row);
    frexp(moeg_largest(q, c), &large_c);
    for (size_t j = 0; j < q; j++)
        sum += ldexp(row[j], -large_row) * ldexp(c[j], -large_c);
    return moeg_symmetry_quotient(large_row + large_c, 2, (double[]){eta_u, sum}, 1, &tau);
}

moeg_status moeg_symmetry_drift(size_t d, size_t q, const double *M, const double *c, double eta_u, double tau,
                                double *velocity)
{
    static const char function[] = "symmetry_drift";
    moeg_status status = moeg_check_matrix(function, d, q, M);
    if (status == MOEG_OK)
        status = moeg_check_rows(function, "c", q, 1, c);
    if (status == MOEG_OK)
        status = check_above_zero(function, "eta_u", eta_u);
    if (status == MOEG_OK)
        status = moeg_check_soft_tau(function, tau);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "velocity", velocity);
    if (status != MOEG_OK)
        return status;
    double *result = moeg_alloc(d, sizeof *result);
    if (result == NULL)
        return moeg_fail_memory(function);
    for (size_t i = 0; i < d && status == MOEG_OK; i++) {
        result[i] = drift_along(q, M + i * q, c, eta_u, tau);
        if (!isfinite(result[i]))
            status = moeg_fail(MOEG_ERANGE, "%s: velocity[%zu] overflows", function, i);
    }
    if (status == MOEG_OK)
        memcpy(velocity, result, d * sizeof *velocity);
    moeg_release(result);
    return status;
}
