#include "base/error.h"
#include "base/guard.h"
#include "base/linalg.h"
#include "base/memory.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

int moeg_linalg_half_exponent(double x)
{
    int exponent;
    frexp(x, &exponent);
    return exponent >= 0 ? (exponent + 1) / 2 : -(-exponent / 2);
}

/* Cholesky, in place, of the lower triangle of A (n x n), which is the upper one to the column-major LAPACK. Returns
 * LAPACK's estimate of the reciprocal condition number in the 1-norm; 0 if there is no Cholesky factor.
 * work (3 n), iwork (n). */
static double cholesky(size_t n, double *A, double *work, lapack_int *iwork)
{
    double norm = 0;
    for (size_t i = 0; i < n; i++) {
        double row = 0;
        for (size_t j = 0; j < n; j++)
            row += fabs(j <= i ? A[i * n + j] : A[j * n + i]);
        norm = fmax(norm, row);
    }
    const lapack_int order = (lapack_int)n;
    double reciprocal = 0;
    moeg_guard_enter();
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', order, A, order) == 0)
        LAPACKE_dpocon_work(LAPACK_COL_MAJOR, 'U', order, A, order, norm, &reciprocal, work, iwork);
    moeg_guard_leave();
    return reciprocal;
}

moeg_status moeg_linalg_eigen(const char *function, size_t n, double *V, double *values)
{
    /* The least workspaces that dsyevd documents; a length is an int, which is checked before anything is allocated. */
    const size_t length = 1 + 6 * n + 2 * n * n;
    const size_t ilength = 3 + 5 * n;
    moeg_status status = moeg_linalg_check_int(function, "the length of the eigenvalue workspace", length);
    if (status != MOEG_OK)
        return status;
    double *work = moeg_alloc(length, sizeof *work);
    lapack_int *iwork = moeg_alloc(ilength, sizeof *iwork);
    if (work == NULL || iwork == NULL) {
        status = moeg_fail_memory(function);
        goto cleanup;
    }
    moeg_guard_enter();
    const lapack_int info = LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'U', (lapack_int)n, V, (lapack_int)n, values,
                                                work, (lapack_int)length, iwork, (lapack_int)ilength);
    moeg_guard_leave();
    if (info != 0)
        status = moeg_fail(MOEG_EFAILED, "%s: the eigenvalues of a %zu x %zu matrix did not converge (dsyevd: %d)",
                           function, n, n, (int)info);
cleanup:
    moeg_release(iwork);
    moeg_release(work);
    return status;
}

/* A = D^-1 S D^-1, D = diag(2^h_i), exactly but for entries that are far below the rounding of its diagonal. */
static void scale_down(size_t n, const double *S, const int *h, double *A)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            A[i * n + j] = ldexp(S[i * n + j], -h[i] - h[j]);
}

/* L = D times the lower triangle of a Cholesky factor. */
static void fill_from_cholesky(size_t n, const double *factor, const int *h, double *L)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            L[i * n + j] = j <= i ? ldexp(factor[i * n + j], h[i]) : 0;
}

/* The place of the largest magnitude, the first on a tie to rounding: A likes ties. */
static size_t largest_entry(size_t n, const double *v)
{
    size_t top = 0;
    for (size_t i = 1; i < n; i++)
        if (fabs(v[i]) > fabs(v[top]) * (1 + 0x1p-20))
            top = i;
    return top;
}

/* L = D V sqrt(Lambda), largest eigenvalue first, the n - rank last columns zero. Each eigenvector's largest entry is
 * made positive, so that L does not depend on LAPACK's choice of sign. Where S has a row of zeros so has L: what
 * rounding leaves there has no scale. */
static void fill_from_eigen(size_t n, size_t rank, const double *V, const double *values, const double *S, const int *h,
                            double *L)
{
    memset(L, 0, n * n * sizeof *L);
    for (size_t c = 0; c < rank; c++) {
        const double *v = V + (n - 1 - c) * n;
        const double root = copysign(sqrt(values[n - 1 - c]), v[largest_entry(n, v)]);
        for (size_t i = 0; i < n; i++)
            L[i * n + c] = S[i * n + i] > 0 ? ldexp(root * v[i], h[i]) : 0;
    }
}

/* MOEG_EINVAL where two variances and their covariance tell that S is not semidefinite, whatever the rounding. What is
 * left has entries below 2 when it is scaled. */
static moeg_status check_entries(const char *function, size_t n, const double *S, const int *h)
{
    for (size_t i = 0; i < n; i++) {
        const double variance = S[i * n + i];
        if (variance < 0)
            return moeg_fail(MOEG_EINVAL,
                             "%s: covariance must be positive semidefinite, got a variance of %g at [%zu, %zu]",
                             function, variance, i, i);
        for (size_t j = 0; j < i; j++) {
            const double entry = S[i * n + j], other = S[j * n + j];
            if (variance == 0 || other == 0 ? entry != 0 : fabs(ldexp(entry, -h[i] - h[j])) >= 2)
                return moeg_fail(MOEG_EINVAL,
                                 "%s: covariance must be positive semidefinite, got %g at [%zu, %zu] between variances "
                                 "of %g and %g",
                                 function, entry, i, j, variance, other);
        }
    }
    return MOEG_OK;
}

/* The rank of a semidefinite matrix from its n ascending eigenvalues, or MOEG_EINVAL if one is too negative. */
static moeg_status semidefinite_rank(const char *function, size_t n, const double *values, size_t *rank)
{
    const double largest = fmax(fabs(values[0]), fabs(values[n - 1]));
    const double threshold = (double)n * DBL_EPSILON * largest;
    if (values[0] < -threshold)
        return moeg_fail(
            MOEG_EINVAL,
            "%s: covariance must be positive semidefinite, got an eigenvalue of %g (the largest is %g) once "
            "powers of two have scaled its diagonal to [1/4, 1)",
            function, values[0], values[n - 1]);
    size_t positive = 0;
    for (size_t i = 0; i < n; i++)
        positive += values[i] > threshold;
    *rank = positive;
    return MOEG_OK;
}

/* The factor of a matrix that is singular, or so near to it that only its eigenvalues can tell. `factor` is its
 * Cholesky factor, taken if the rank turns out full, or NULL if there is none. */
static moeg_status factor_by_eigenvalues(const char *function, size_t n, const double *S, const int *h,
                                         const double *factor, double *L, size_t *rank)
{
    double *V = moeg_alloc(n * n, sizeof *V);
    double *values = moeg_alloc(n, sizeof *values);
    moeg_status status = MOEG_OK;
    if (V == NULL || values == NULL) {
        status = moeg_fail_memory(function);
        goto cleanup;
    }
    scale_down(n, S, h, V);
    status = moeg_linalg_eigen(function, n, V, values);
    if (status == MOEG_OK)
        status = semidefinite_rank(function, n, values, rank);
    if (status != MOEG_OK)
        goto cleanup;
    if (factor != NULL && *rank == n)
        fill_from_cholesky(n, factor, h, L);
    else
        fill_from_eigen(n, *rank, V, values, S, h, L);
cleanup:
    moeg_release(values);
    moeg_release(V);
    return status;
}

/* Cholesky decides where A = D^-1 S D^-1 is clearly regular: 1/cond_2 <= n eps implies 1/cond_1 <= n eps, and the
 * estimate of the latter is right to a factor that is below 10 in practice. Nearer to singular the eigenvalues decide.
 */
static moeg_status factor_scaled(const char *function, size_t n, const double *S, const int *h, double *A, double *L,
                                 size_t *rank)
{
    double *work = moeg_alloc(n, 3 * sizeof *work);
    lapack_int *iwork = moeg_alloc(n, sizeof *iwork);
    moeg_status status = MOEG_OK;
    if (work == NULL || iwork == NULL) {
        status = moeg_fail_memory(function);
        goto cleanup;
    }
    scale_down(n, S, h, A);
    const double reciprocal = n > 0 ? cholesky(n, A, work, iwork) : 1;
    if (reciprocal > 10 * (double)n * DBL_EPSILON) {
        fill_from_cholesky(n, A, h, L);
        *rank = n;
    } else {
        status = factor_by_eigenvalues(function, n, S, h, reciprocal > 0 ? A : NULL, L, rank);
    }
cleanup:
    moeg_release(iwork);
    moeg_release(work);
    return status;
}

moeg_status moeg_linalg_factor(const char *function, size_t n, const double *S, double *L, size_t *rank)
{
    size_t size;
    moeg_status status = moeg_linalg_check_int(function, "the dimension", n);
    if (status == MOEG_OK && moeg_multiply_overflows(n, n, &size))
        status = moeg_fail(MOEG_ERANGE, "%s: the dimension %zu is too large", function, n);
    if (status == MOEG_OK)
        status = moeg_check_finite_matrix(function, "covariance", n, n, S);
    if (status != MOEG_OK)
        return status;
    double *A = moeg_alloc(size, sizeof *A);
    int *h = moeg_alloc(n, sizeof *h);
    if (A == NULL || h == NULL)
        status = moeg_fail_memory(function);
    for (size_t i = 0; i < n && status == MOEG_OK; i++)
        h[i] = moeg_linalg_half_exponent(S[i * n + i]);
    if (status == MOEG_OK)
        status = check_entries(function, n, S, h);
    if (status == MOEG_OK)
        status = factor_scaled(function, n, S, h, A, L, rank);
    moeg_release(h);
    moeg_release(A);
    return status;
}
