/* Loss mixing: L also has |c.psi|^2, so that a contrast decays at the rate 2 eta_c Psi by itself. */
#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "base/vector.h"
#include "dynamics/symmetry.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* MOEG_EINVAL unless Psi is symmetric and positive semidefinite. psi (p) and V (p x p) are scratch. */
static moeg_status check_gram(const char *function, size_t p, const double *Psi, double *psi, double *V)
{
    double largest = 0;
    for (size_t i = 0; i < p * p; i++)
        largest = fmax(largest, fabs(Psi[i]));
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j <= i; j++) {
            if (fabs(Psi[i * p + j] - Psi[j * p + i]) > 1e-12 * largest)
                return moeg_fail(MOEG_EINVAL,
                                 "%s: Psi must be symmetric, got %.17g at [%zu, %zu] and %.17g at [%zu, %zu]", function,
                                 Psi[i * p + j], i, j, Psi[j * p + i], j, i);
            V[i * p + j] = V[j * p + i] = Psi[i * p + j] / 2 + Psi[j * p + i] / 2;
        }
    const moeg_status status = moeg_linalg_eigen(function, p, V, psi);
    if (status != MOEG_OK)
        return status;
    const double rounding = (double)p * 8 * DBL_EPSILON * fmax(fabs(psi[0]), fabs(psi[p - 1]));
    if (psi[0] < -rounding)
        return moeg_fail(MOEG_EINVAL,
                         "%s: Psi must be positive semidefinite, got an eigenvalue of %g (the largest is %g)", function,
                         psi[0], psi[p - 1]);
    return MOEG_OK;
}

/* What the two functions check alike; `q` becomes m p. */
static moeg_status check_arguments(const char *function, size_t d, size_t m, size_t p, const double *M,
                                   const double *Psi, const moeg_symmetry_rates *rates, size_t *q)
{
    if (d == 0 || m == 0 || p == 0)
        return moeg_fail(MOEG_EINVAL, "%s: %s must be at least 1, got 0", function, d == 0 ? "d" : m == 0 ? "m" : "p");
    if (moeg_multiply_overflows(m, p, q))
        return moeg_fail(MOEG_EINVAL, "%s: m p = %zu x %zu is more than memory can hold", function, m, p);
    moeg_status status = moeg_check_rows(function, "M", d, *q, M);
    if (status == MOEG_OK)
        status = moeg_check_rows(function, "Psi", p, p, Psi);
    return status == MOEG_OK ? moeg_check_rates(function, rates) : status;
}

/* The matrix made symmetric by the scaling (u, c) -> (u/sqrt(eta_u), c/sqrt(eta_c)); its lower triangle. */
static moeg_status fill_matrix(const char *function, size_t d, size_t q, size_t p, const double *M, const double *Psi,
                               double tau, const moeg_symmetry_rates *rates, double *A)
{
    const size_t n = d + q;
    const double factor = sqrt(rates->eta_u) * sqrt(rates->eta_c);
    memset(A, 0, n * n * sizeof *A);
    for (size_t i = 0; i < d; i++) {
        A[i * n + i] = -rates->lambda_u;
        for (size_t j = 0; j < q; j++)
            A[(d + j) * n + i] = factor * (M[i * q + j] / tau);
    }
    for (size_t a = 0; a < q; a++)
        for (size_t b = a / p * p; b <= a; b++)
            A[(d + a) * n + d + b] = -2 * rates->eta_c * Psi[a % p * p + b % p] - (a == b ? rates->lambda_c : 0);
    for (size_t i = 0; i < n * n; i++)
        if (!isfinite(A[i]))
            return moeg_fail(MOEG_ERANGE, "%s: the matrix of the growth rates overflows", function);
    return MOEG_OK;
}

moeg_status moeg_symmetry_growth_loss(size_t d, size_t m, size_t p, const double *M, const double *Psi, double tau,
                                      const moeg_symmetry_rates *rates, double *growth)
{
    static const char function[] = "symmetry_growth_loss";
    size_t q, size;
    moeg_status status = check_arguments(function, d, m, p, M, Psi, rates, &q);
    if (status == MOEG_OK)
        status = moeg_check_soft_tau(function, tau);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "growth", growth);
    if (status == MOEG_OK)
        status = moeg_linalg_check_int(function, "d + m p", d > SIZE_MAX - q ? SIZE_MAX : d + q);
    if (status != MOEG_OK)
        return status;
    const size_t n = d + q;
    double *A = moeg_multiply_overflows(n, n, &size) ? NULL : moeg_alloc(size, sizeof *A);
    double *values = moeg_alloc(n, sizeof *values);
    if (A == NULL || values == NULL)
        status = moeg_fail_memory(function);
    if (status == MOEG_OK)
        status = check_gram(function, p, Psi, values, A);
    if (status == MOEG_OK)
        status = fill_matrix(function, d, q, p, M, Psi, tau, rates, A);
    if (status == MOEG_OK)
        status = moeg_linalg_eigen(function, n, A, values);
    if (status == MOEG_OK)
        *growth = values[n - 1];
    moeg_release(values);
    moeg_release(A);
    return status;
}

/* exponent[k]: 2^-exponent[k] makes the diagonal of A = 2 eta_c Psi + lambda_c about 1, whatever the units of feature
 * k; 0 where it is 0. */
static void find_units(size_t p, const double *Psi, const moeg_symmetry_rates *rates, int *exponent)
{
    const int rate = moeg_linalg_half_exponent(rates->eta_c), decay = moeg_linalg_half_exponent(rates->lambda_c);
    for (size_t k = 0; k < p; k++) {
        const double psi = Psi[k * p + k];
        const int own = psi > 0 ? rate + moeg_linalg_half_exponent(psi) : 0;
        exponent[k] = rates->lambda_c > 0 && !(psi > 0 && own > decay) ? decay : own;
    }
}

/* Eigenvalues, not negative, and eigenvectors; what is 0 to rounding becomes 0. */
static moeg_status eigen(const char *function, size_t p, double *V, double *values)
{
    const moeg_status status = moeg_linalg_eigen(function, p, V, values);
    for (size_t k = 0; k < p && status == MOEG_OK; k++)
        values[k] = values[k] <= (double)p * 8 * DBL_EPSILON * values[p - 1] ? 0 : values[k];
    return status;
}

/* W = V D lambda_c D V' + diag(psi), D = 2^-exponent, then its diagonal scaled to about 1; V becomes that scale times
 * V D. */
static void add_decay(size_t p, const double *psi, double lambda, const int *exponent, double *V, double *W)
{
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j <= i; j++) {
            W[i * p + j] = i == j ? psi[i] : 0;
            for (size_t k = 0; k < p; k++)
                W[i * p + j] += V[i * p + k] * ldexp(lambda, -2 * exponent[k]) * V[j * p + k];
        }
    for (size_t i = 0; i < p; i++) {
        const int unit = W[i * p + i] > 0 ? moeg_linalg_half_exponent(W[i * p + i]) : 0;
        for (size_t j = 0; j < p; j++) {
            if (j <= i)
                W[i * p + j] = ldexp(W[i * p + j], -unit);
            if (j >= i)
                W[j * p + i] = ldexp(W[j * p + i], -unit);
            V[i * p + j] = ldexp(V[i * p + j], -unit - exponent[j]);
        }
    }
}

/* T (p x p) and a (p), T A T' = diag(a), A = 2 eta_c Psi + lambda_c. Scaled twice, so that neither features of other
 * units nor a small lambda_c are lost in the rounding of the largest. V and W (p x p each) are scratch. */
static moeg_status decompose_decay(const char *function, size_t p, const double *Psi, const moeg_symmetry_rates *rates,
                                   const int *exponent, double *a, double *T, double *V, double *W)
{
    const int rate = moeg_linalg_half_exponent(rates->eta_c);
    const double eta = ldexp(rates->eta_c, -2 * rate);
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j <= i; j++)
            V[i * p + j] = 2 * eta * ldexp(Psi[i * p + j], 2 * rate - exponent[i] - exponent[j]);
    moeg_status status = eigen(function, p, V, a);
    if (status != MOEG_OK)
        return status;
    add_decay(p, a, rates->lambda_c, exponent, V, W);
    status = eigen(function, p, W, a);
    for (size_t i = 0; i < p && status == MOEG_OK; i++)
        for (size_t j = 0; j < p; j++) {
            T[i * p + j] = 0;
            for (size_t k = 0; k < p; k++)
                T[i * p + j] += W[i * p + k] * V[k * p + j];
        }
    return status;
}

/* N = M A^(-1/2) of each output, A = 2 eta_c Psi + lambda_c, up to a rotation; *infinite: M has a part where A is 0. */
static void fill_damped(size_t d, size_t m, size_t p, const double *M, const double *a, const double *T,
                        const int *exponent, double *N, int *infinite)
{
    double largest = 0;
    for (size_t i = 0; i < d * m * p; i++)
        largest = fmax(largest, fabs(ldexp(M[i], -exponent[i % p])));
    *infinite = 0;
    for (size_t row = 0; row < d * m; row++)
        for (size_t k = 0; k < p; k++) {
            const double sum = moeg_dot(p, M + row * p, T + k * p);
            if (a[k] == 0)
                *infinite |= fabs(sum) > 8 * (double)p * DBL_EPSILON * largest;
            N[row * p + k] = a[k] > 0 ? sum / sqrt(a[k]) : 0;
        }
}

/* From N, which has d rows. */
static moeg_status threshold_of(const char *function, size_t d, size_t q, const double *N, int infinite,
                                const moeg_symmetry_rates *rates, double *sigma, double *tau)
{
    const moeg_status status = moeg_linalg_svd(function, d, q, N, sigma, NULL, NULL);
    if (status != MOEG_OK)
        return status;
    infinite |= sigma[0] > 0 && rates->lambda_u == 0;
    const double factors[] = {sigma[0], sqrt(rates->eta_u), sqrt(rates->eta_c)}, divisor = sqrt(rates->lambda_u);
    const double value = infinite ? INFINITY : moeg_symmetry_quotient(0, 3, factors, 1, &divisor);
    if (!infinite && sigma[0] > 0 && !isfinite(value))
        return moeg_fail(MOEG_ERANGE, "%s: the threshold overflows", function);
    *tau = infinite ? INFINITY : sigma[0] > 0 ? value : 0;
    return MOEG_OK;
}

moeg_status moeg_symmetry_threshold_loss(size_t d, size_t m, size_t p, const double *M, const double *Psi,
                                         const moeg_symmetry_rates *rates, double *tau)
{
    static const char function[] = "symmetry_threshold_loss";
    size_t q;
    moeg_status status = check_arguments(function, d, m, p, M, Psi, rates, &q);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "tau", tau);
    if (status != MOEG_OK)
        return status;
    double *a = moeg_alloc(p, sizeof *a), *T = moeg_alloc(p * p, 3 * sizeof *T);
    int *exponent = moeg_alloc(p, sizeof *exponent);
    double *N = moeg_alloc(d * q, sizeof *N), *sigma = moeg_alloc(d < q ? d : q, sizeof *sigma);
    int infinite = 0;
    if (a == NULL || T == NULL || exponent == NULL || N == NULL || sigma == NULL)
        status = moeg_fail_memory(function);
    if (status == MOEG_OK)
        status = check_gram(function, p, Psi, a, T);
    if (status == MOEG_OK) {
        find_units(p, Psi, rates, exponent);
        status = decompose_decay(function, p, Psi, rates, exponent, a, T, T + p * p, T + 2 * p * p);
    }
    if (status == MOEG_OK) {
        fill_damped(d, m, p, M, a, T, exponent, N, &infinite);
        status = moeg_check_operator_range(function, d, q, N);
    }
    if (status == MOEG_OK)
        status = threshold_of(function, d, q, N, infinite, rates, sigma, tau);
    moeg_release(sigma);
    moeg_release(N);
    moeg_release(exponent);
    moeg_release(T);
    moeg_release(a);
    return status;
}
