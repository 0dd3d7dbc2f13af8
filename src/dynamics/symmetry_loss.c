/* Loss mixing: L also has |c.psi|^2, so that a contrast decays at the rate 2 eta_c Psi by itself. */
#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "dynamics/symmetry.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Psi = V' diag(psi) V, psi (p) ascending and not negative, V (p x p). */
static moeg_status decompose_gram(const char *function, size_t p, const double *Psi, double *psi, double *V)
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
    for (size_t k = 0; k < p; k++)
        psi[k] = psi[k] <= rounding ? 0 : psi[k];
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
        status = decompose_gram(function, p, Psi, values, A);
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

/* N = M (2 eta_c Psi + lambda_c)^(-1/2) of each output, in the eigenvectors of Psi; *infinite: M has a part where that
 * matrix is 0. */
static void fill_damped(size_t d, size_t m, size_t p, const double *M, const double *psi, const double *V,
                        const moeg_symmetry_rates *rates, double *N, int *infinite)
{
    double largest = 0;
    for (size_t i = 0; i < d * m * p; i++)
        largest = fmax(largest, fabs(M[i]));
    *infinite = 0;
    for (size_t row = 0; row < d * m; row++)
        for (size_t k = 0; k < p; k++) {
            const double root = hypot(sqrt(2 * psi[k]) * sqrt(rates->eta_c), sqrt(rates->lambda_c));
            double sum = 0;
            for (size_t j = 0; j < p; j++)
                sum += M[row * p + j] * V[k * p + j];
            if (root == 0)
                *infinite |= fabs(sum) > 8 * (double)p * DBL_EPSILON * largest;
            N[row * p + k] = root > 0 ? sum / root : 0;
        }
}

/* From N, which has d rows. */
static moeg_status threshold_of(const char *function, size_t d, size_t q, const double *N, int infinite,
                                const moeg_symmetry_rates *rates, double *sigma, double *tau)
{
    const moeg_status status = moeg_linalg_svd(function, d, q, N, sigma, NULL, NULL);
    if (status != MOEG_OK)
        return status;
    const double value = sigma[0] * (sqrt(rates->eta_u) * (sqrt(rates->eta_c) / sqrt(rates->lambda_u)));
    infinite |= sigma[0] > 0 && rates->lambda_u == 0;
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
    double *psi = moeg_alloc(p, sizeof *psi), *V = moeg_alloc(p * p, sizeof *V);
    double *N = moeg_alloc(d * q, sizeof *N), *sigma = moeg_alloc(d < q ? d : q, sizeof *sigma);
    int infinite = 0;
    if (psi == NULL || V == NULL || N == NULL || sigma == NULL)
        status = moeg_fail_memory(function);
    if (status == MOEG_OK)
        status = decompose_gram(function, p, Psi, psi, V);
    if (status == MOEG_OK) {
        fill_damped(d, m, p, M, psi, V, rates, N, &infinite);
        status = moeg_check_operator_range(function, d, q, N);
    }
    if (status == MOEG_OK)
        status = threshold_of(function, d, q, N, infinite, rates, sigma, tau);
    moeg_release(sigma);
    moeg_release(N);
    moeg_release(V);
    moeg_release(psi);
    return status;
}
