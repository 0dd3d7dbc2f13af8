/* dladdr and RTLD_DEFAULT are GNU extensions. */
#define _GNU_SOURCE
#include "base/linalg.h"
#include "support/check.h"
#include "support/failing_alloc.h"
#include "support/random.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>

static void fill(size_t n, uint64_t seed, double *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = next_uniform(&seed);
}

/* C = A B or A B', the obvious way. */
static void slow_multiply(size_t m, size_t n, size_t k, const double *A, const double *B, int transpose_b, double *C)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            C[i * n + j] = 0;
            for (size_t l = 0; l < k; l++)
                C[i * n + j] += A[i * k + l] * (transpose_b ? B[j * k + l] : B[l * n + j]);
        }
}

static void blas_is_openblas(void **state)
{
    (void)state;
    /* Not &cblas_dgemm, which may be a stub inside this program. */
    void *const resolved = dlsym(RTLD_DEFAULT, "cblas_dgemm");
    Dl_info info;
    assert_non_null(resolved);
    assert_int_not_equal(dladdr(resolved, &info), 0);
    assert_non_null(strstr(info.dli_fname, "openblas"));
}

/* Sizes past int are refused before anything is read or allocated. */
static void sizes_past_int_are_refused(void **state)
{
    (void)state;
    const size_t big = (size_t)INT_MAX + 1;
    double x[1] = {2.385}, y[1] = {0.75};
    size_t rank = 77;
    assert_status(moeg_linalg_factor("f", big, x, y, &rank), MOEG_ERANGE,
                  "f: the dimension must be at most 2147483647, got 2147483648");
    assert_status(moeg_linalg_least_squares("f", big, 1, 1, x, x, 0, y, &rank), MOEG_ERANGE, "rows or columns");
    assert_status(moeg_linalg_least_squares("f", 1, big, 1, x, x, 0, y, &rank), MOEG_ERANGE, "rows or columns");
    assert_status(moeg_linalg_least_squares("f", 1, 1, big, x, x, 0, y, &rank), MOEG_ERANGE, "right-hand sides");
    /* Each size fits, the workspace does not. */
    assert_status(moeg_linalg_least_squares("f", 100000, 100000, 100000, x, x, 0, y, &rank), MOEG_ERANGE,
                  "the length of the least squares workspace must be at most 2147483647");
    assert_status(moeg_linalg_svd("f", 0, big, x, y, NULL, NULL), MOEG_ERANGE, "rows or columns");
    assert_near(y[0], 0.75, 0);
    assert_int_equal(rank, 77);
}

/* Largest |L L' - S| over the entries. */
static double factor_defect(size_t n, const double *S, const double *L)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += L[i * n + k] * L[j * n + k];
            worst = fmax(worst, fabs(sum - S[i * n + j]));
        }
    return worst;
}

/* S = B B', B (n x r) random: rank r, entries of magnitude up to r times `scale`. */
static void random_semidefinite(size_t n, size_t r, uint64_t seed, double scale, double *S)
{
    double B[16 * 16];
    fill(n * r, seed, B);
    slow_multiply(n, n, r, B, B, 1, S);
    for (size_t i = 0; i < n * n; i++)
        S[i] *= scale;
}

static void factor_gives_cholesky_of_a_regular_matrix(void **state)
{
    (void)state;
    const double S[] = {4, 2, -1, 2, 10, 0.5, -1, 0.5, 6.25};
    /* By hand: the rows of L in turn. */
    const double expected[] = {2, 0, 0, 1, 3, 0, -0.5, 1.0 / 3, sqrt(6.25 - 0.25 - 1.0 / 9)};
    double L[9];
    size_t rank;
    assert_ok(moeg_linalg_factor("f", 3, S, L, &rank));
    assert_int_equal(rank, 3);
    for (size_t i = 0; i < 9; i++)
        assert_near(L[i], expected[i], 4 * EPS);
    double above[] = {4, NAN, 2, 10};
    above[1] = 1e300; /* only the lower triangle counts */
    assert_ok(moeg_linalg_factor("f", 2, above, L, &rank));
    assert_near(L[3], 3, 4 * EPS);
}

/* Of a factor by eigenvalues, D F: r columns of F, each no longer than the one before, the largest entry positive; then
 * zeros. */
static void check_columns(size_t n, size_t r, const double *S, const double *L)
{
    double before = INFINITY;
    for (size_t j = 0; j < n; j++) {
        double top = 0, norm = 0;
        for (size_t i = 0; i < n; i++) {
            const double entry = ldexp(L[i * n + j], -moeg_linalg_half_exponent(S[i * n + i]));
            if (fabs(entry) > fabs(top))
                top = entry;
            norm = hypot(norm, entry);
        }
        assert_true(j < r ? top > 0 : top == 0);
        assert_true(norm <= before);
        before = norm * (1 + 8 * EPS);
    }
}

/* Every rank from 0 to n, in many sizes; the scale must not matter, from subnormal to the largest. */
static void factor_finds_every_rank(void **state)
{
    (void)state;
    const double scales[] = {1, 1e-9, 1e300, 1e-300};
    for (size_t n = 1; n <= 16; n++)
        for (size_t r = 0; r <= n; r++)
            for (size_t s = 0; s < 4; s++) {
                double S[256], L[256];
                size_t rank;
                random_semidefinite(n, r, 100 * n + r, scales[s], S);
                assert_ok(moeg_linalg_factor("f", n, S, L, &rank));
                assert_int_equal(rank, r);
                /* Backward stable: n epsilon of the norm, which is at most n r; and what counted as zero, as much. */
                assert_true(factor_defect(n, S, L) <= 4 * (double)(n * n * (r + 1)) * EPS * scales[s]);
                if (r == n)
                    for (size_t i = 0; i < n; i++)
                        for (size_t j = i + 1; j < n; j++)
                            assert_near(L[i * n + j], 0, 0);
                if (r < n)
                    check_columns(n, r, S, L);
            }
}

static void factor_rank_has_no_unit(void **state)
{
    (void)state;
    const double units[] = {1e-9, 1e300, 1.7e308, 5e-324, 1e-310};
    for (size_t u = 0; u < 5; u++) {
        const double S[] = {units[u], 0, 0, 0, units[u], 0, 0, 0, units[u]};
        double L[9];
        size_t rank;
        assert_ok(moeg_linalg_factor("f", 3, S, L, &rank));
        assert_int_equal(rank, 3);
        assert_relative(L[0], sqrt(units[u]), 2 * EPS);
        assert_relative(L[8], sqrt(units[u]), 2 * EPS);
    }
}

static void factor_refuses_what_is_not_semidefinite(void **state)
{
    (void)state;
    double S[] = {1, 2, 2, 1}, L[] = {0.1, 0.2, 0.3, 0.4};
    size_t rank = 77;
    assert_status(moeg_linalg_factor("f", 2, S, L, &rank), MOEG_EINVAL,
                  "f: covariance must be positive semidefinite, got an eigenvalue of -0.25 (the largest is 0.75)");
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t b = 0; b < 3; b++)
        for (size_t i = 0; i < 4; i++) {
            double T[] = {2, 1, 1, 2};
            T[i] = bad[b];
            char text[64];
            snprintf(text, sizeof text, "f: covariance[%zu, %zu] must be finite", i / 2, i % 2);
            assert_status(moeg_linalg_factor("f", 2, T, L, &rank), MOEG_EINVAL, text);
        }
    assert_near(L[0] + L[1] + L[2] + L[3], 1, EPS);
    assert_int_equal(rank, 77);
    assert_ok(moeg_linalg_factor("f", 0, S, L, &rank));
    assert_int_equal(rank, 0);
}

/* Sign and order of the eigenvectors are fixed: largest eigenvalue first, largest entry positive, the first on a tie.
 * That of the first, scaled, has such a tie. */
static void factor_of_a_singular_matrix_is_unique(void **state)
{
    (void)state;
    const double S[][4] = {{1, -2, -2, 4}, {0.3, -sqrt(0.27), -sqrt(0.27), 0.9}};
    const double expected[][4] = {{1, 0, -2, 0}, {-sqrt(0.3), 0, sqrt(0.9), 0}};
    for (size_t s = 0; s < 2; s++) {
        double L[4];
        size_t rank;
        assert_ok(moeg_linalg_factor("f", 2, S[s], L, &rank));
        assert_int_equal(rank, 1);
        for (size_t i = 0; i < 4; i++)
            assert_near(L[i], expected[s][i], 8 * EPS);
    }
}

/* Solution of the regular normal equations A'A X = A'B by elimination with pivots: good to cond(A)^2 epsilon. */
static void normal_equations(size_t m, size_t n, size_t p, const double *A, const double *B, double *X)
{
    double G[16 * 16] = {0};
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            for (size_t r = 0; r < m; r++)
                G[i * n + j] += A[r * n + i] * A[r * n + j];
        for (size_t j = 0; j < p; j++) {
            X[i * p + j] = 0;
            for (size_t r = 0; r < m; r++)
                X[i * p + j] += A[r * n + i] * B[r * p + j];
        }
    }
    for (size_t c = 0; c < n; c++)
        for (size_t i = 0; i < n; i++) {
            if (i == c)
                continue;
            const double ratio = G[i * n + c] / G[c * n + c];
            for (size_t j = 0; j < n; j++)
                G[i * n + j] -= ratio * G[c * n + j];
            for (size_t j = 0; j < p; j++)
                X[i * p + j] -= ratio * X[c * p + j];
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < p; j++)
            X[i * p + j] /= G[i * n + i];
}

static void least_squares_solves_the_normal_equations(void **state)
{
    (void)state;
    enum { M = 200, N = 9, P = 3 };
    double A[M * N], B[M * P], X[N * P], expected[N * P];
    fill(M * N, 5, A);
    fill(M * P, 6, B);
    for (size_t m = N + 4; m <= M; m += 17) {
        size_t rank;
        assert_ok(moeg_linalg_least_squares("f", m, N, P, A, B, 0, X, &rank));
        assert_int_equal(rank, N);
        normal_equations(m, N, P, A, B, expected);
        /* cond(A)^2 is below 1e4 here. */
        for (size_t i = 0; i < N * P; i++)
            assert_near(X[i], expected[i], 1e4 * EPS);
    }
}

/* m < n: A X = B exactly, and X is orthogonal to the null space, that is, X = A' Z: its residual on the rows is 0. */
static void least_squares_takes_the_minimum_norm(void **state)
{
    (void)state;
    enum { M = 4, N = 7, P = 2 };
    double A[M * N], B[M * P], X[N * P], At[N * M], Z[M * P];
    fill(M * N, 7, A);
    fill(M * P, 8, B);
    size_t rank;
    assert_ok(moeg_linalg_least_squares("f", M, N, P, A, B, 0, X, &rank));
    assert_int_equal(rank, M);
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < P; j++) {
            double sum = -B[i * P + j];
            for (size_t k = 0; k < N; k++)
                sum += A[i * N + k] * X[k * P + j];
            assert_near(sum, 0, 100 * EPS);
        }
    for (size_t i = 0; i < M; i++)
        for (size_t k = 0; k < N; k++)
            At[k * M + i] = A[i * N + k];
    normal_equations(N, M, P, At, X, Z);
    for (size_t k = 0; k < N; k++)
        for (size_t j = 0; j < P; j++) {
            double sum = -X[k * P + j];
            for (size_t i = 0; i < M; i++)
                sum += At[k * M + i] * Z[i * P + j];
            assert_near(sum, 0, 1e4 * EPS);
        }
}

/* Rank 2 of 3: the third column repeats the first, so that the minimum-norm weights of the two are equal. */
static void least_squares_shares_between_equal_columns(void **state)
{
    (void)state;
    enum { M = 40 };
    double A[M * 3], B[M], X[3];
    uint64_t seed = 9;
    for (size_t i = 0; i < M; i++) {
        A[i * 3] = A[i * 3 + 2] = next_uniform(&seed);
        A[i * 3 + 1] = next_uniform(&seed);
        B[i] = 2.385 * A[i * 3] - 0.7 * A[i * 3 + 1];
    }
    size_t rank;
    assert_ok(moeg_linalg_least_squares("f", M, 3, 1, A, B, 0, X, &rank));
    assert_int_equal(rank, 2);
    assert_near(X[0], 2.385 / 2, 100 * EPS);
    assert_near(X[1], -0.7, 100 * EPS);
    assert_near(X[2], 2.385 / 2, 100 * EPS);
}

static void least_squares_rank_has_no_unit(void **state)
{
    (void)state;
    double *ones = malloc(1000 * sizeof *ones), B[500], X[9];
    for (size_t i = 0; i < 1000; i++)
        ones[i] = 1;
    for (size_t i = 0; i < 500; i++)
        B[i] = 2.385;
    size_t rank;
    assert_ok(moeg_linalg_least_squares("f", 500, 2, 1, ones, B, 0, X, &rank));
    assert_int_equal(rank, 1);
    assert_near(X[0], 2.385 / 2, 100 * EPS);
    assert_near(X[1], 2.385 / 2, 100 * EPS);
    free(ones);
    const double small[] = {1e-9, 0, 0, 0, 1e-9, 0, 0, 0, 1e-9}, right[] = {3, 0, 0, 0, -5, 0, 0, 0, 7};
    assert_ok(moeg_linalg_least_squares("f", 3, 3, 3, small, right, 0, X, &rank));
    assert_int_equal(rank, 3);
    for (size_t i = 0; i < 9; i++)
        assert_near(X[i], right[i] * 1e9, 16 * EPS * 7e9);
    const double large[] = {1e300, 0, 0, 1e300}, unit[] = {1, 0, 0, 1};
    assert_ok(moeg_linalg_least_squares("f", 2, 2, 2, large, unit, 0, X, &rank));
    assert_int_equal(rank, 2);
    assert_relative(X[0], 1e-300, 16 * EPS);
    assert_near(X[1], 0, 16 * EPS * 1e-300);
}

/* Singular values 3, 1e-3, 1e-6: the rounding decides how many of them count, down to none. */
static void least_squares_leaves_out_what_is_rounding(void **state)
{
    (void)state;
    const double A[] = {3, 0, 0, 0, 1e-3, 0, 0, 0, 1e-6}, B[] = {2.385, 0.7, -1.9};
    const double rounding[] = {0, 1e-7, 1e-5, 1e-2, 2.999, 3, 1e9};
    const size_t ranks[] = {3, 3, 2, 1, 1, 0, 0};
    for (size_t s = 0; s < 7; s++) {
        double X[3];
        size_t rank;
        assert_ok(moeg_linalg_least_squares("f", 3, 3, 1, A, B, rounding[s], X, &rank));
        assert_int_equal(rank, ranks[s]);
        for (size_t i = 0; i < 3; i++)
            assert_near(X[i], i < rank ? B[i] / A[4 * i] : 0, 16 * EPS * 2e6);
    }
}

static void least_squares_of_nothing_is_zero(void **state)
{
    (void)state;
    double X[] = {NAN, 3, NAN, 4};
    const double A[] = {1, 2}, zero[] = {0, 0};
    size_t rank = 77;
    assert_ok(moeg_linalg_least_squares("f", 0, 2, 2, NULL, NULL, 0, X, &rank));
    assert_int_equal(rank, 0);
    for (size_t i = 0; i < 4; i++)
        assert_near(X[i], 0, 0);
    assert_ok(moeg_linalg_least_squares("f", 2, 0, 1, NULL, A, 0, NULL, &rank));
    assert_int_equal(rank, 0);
    assert_ok(moeg_linalg_least_squares("f", 2, 1, 1, zero, A, 0, X, &rank));
    assert_int_equal(rank, 0);
    assert_near(X[0], 0, 0);
    assert_ok(moeg_linalg_least_squares("f", 1, 2, 0, A, NULL, 0, NULL, &rank));
    assert_int_equal(rank, 1);
}

/* Infinity would make the SVD run for ever: it must not get there. */
static void least_squares_screens_its_input(void **state)
{
    (void)state;
    double X[] = {0.1, 0.2, 0.3};
    size_t rank = 77;
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t b = 0; b < 3; b++)
        for (size_t i = 0; i < 9; i++) {
            double ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, B[] = {1, 2, 3};
            char text[64];
            ones[i] = bad[b];
            snprintf(text, sizeof text, "f: A[%zu, %zu] must be finite", i / 3, i % 3);
            assert_status(moeg_linalg_least_squares("f", 3, 3, 1, ones, B, 0, X, &rank), MOEG_EINVAL, text);
            ones[i] = 1;
            B[i / 3] = bad[b];
            snprintf(text, sizeof text, "f: B[%zu, 0] must be finite", i / 3);
            assert_status(moeg_linalg_least_squares("f", 3, 3, 1, ones, B, 0, X, &rank), MOEG_EINVAL, text);
        }
    const double tiny[] = {1e-200}, huge[] = {1e200};
    assert_status(moeg_linalg_least_squares("f", 1, 1, 1, tiny, huge, 0, X, &rank), MOEG_ERANGE,
                  "f: the least squares solution overflows at [0, 0]");
    assert_near(X[0] + X[1] + X[2], 0.6, 2 * EPS);
    assert_int_equal(rank, 77);
}

/* A = left diag(sigma) right with orthonormal columns and rows, of tall, wide and square matrices, by both drivers of
 * LAPACK, which agree on sigma. */
static void singular_values_make_up_the_matrix(void **state)
{
    (void)state;
    enum { most = 30 };
    const size_t shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {4, 4}, {5, 30}, {30, 5}, {30, 30}};
    for (size_t s = 0; s < 14; s++) {
        const size_t m = shapes[s / 2][0], n = shapes[s / 2][1], k = m < n ? m : n;
        double A[most * most], sigma[most], other[most], left[most * most], right[most * most];
        fill(m * n, 30 + s, A);
        if (s % 2 == 0) {
            assert_ok(moeg_linalg_svd("f", m, n, A, sigma, left, right));
            assert_ok(moeg_linalg_svd_plain("f", m, n, A, other, NULL, NULL));
        } else {
            assert_ok(moeg_linalg_svd_plain("f", m, n, A, sigma, left, right));
            assert_ok(moeg_linalg_svd("f", m, n, A, other, NULL, NULL));
        }
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < n; j++) {
                double sum = 0;
                for (size_t a = 0; a < k; a++)
                    sum += left[i * k + a] * sigma[a] * right[a * n + j];
                assert_near(sum, A[i * n + j], 40 * EPS * sigma[0]);
            }
        for (size_t a = 0; a < k; a++) {
            assert_near(sigma[a], other[a], 20 * EPS * sigma[0]);
            assert_true(a == 0 || sigma[a] <= sigma[a - 1]);
            for (size_t b = 0; b < k; b++) {
                double columns = 0, rows = 0;
                for (size_t i = 0; i < m; i++)
                    columns += left[i * k + a] * left[i * k + b];
                for (size_t j = 0; j < n; j++)
                    rows += right[a * n + j] * right[b * n + j];
                assert_near(columns, a == b, 40 * EPS);
                assert_near(rows, a == b, 40 * EPS);
            }
        }
    }
}

static void singular_values_screen_their_input(void **state)
{
    (void)state;
    const double bad[] = {1, 2, INFINITY, 4}, x[] = {1};
    double sigma[2] = {5, 5};
    assert_status(moeg_linalg_svd("f", 2, 2, bad, sigma, NULL, NULL), MOEG_EINVAL,
                  "f: M[1, 0] must be finite, got inf");
    assert_status(moeg_linalg_svd_plain("f", 2, 2, bad, sigma, NULL, NULL), MOEG_EINVAL, "f: M[1, 0] must be finite");
    assert_true(sigma[0] == 5);
    assert_ok(moeg_linalg_svd("f", 1, 1, x, sigma, NULL, NULL));
    assert_near(sigma[0], 1, 0);
}

static moeg_status svd_scenario(void *user)
{
    (void)user;
    const double A[] = {1, 2, 3, 4, 5, 7};
    double sigma[2] = {5, 5};
    const moeg_status status = moeg_linalg_svd("f", 2, 3, A, sigma, NULL, NULL);
    assert_true((status == MOEG_OK) == (sigma[0] != 5));
    return status;
}

static moeg_status factor_scenario(void *user)
{
    const double regular[] = {2, 1, 1, 2}, singular[] = {1, 1, 1, 1};
    double L[4] = {NAN, NAN, NAN, NAN};
    size_t rank = 77;
    const moeg_status status = moeg_linalg_factor("f", 2, *(int *)user ? singular : regular, L, &rank);
    if (status != MOEG_OK)
        for (size_t i = 0; i < 4; i++)
            assert_true(isnan(L[i]) && rank == 77);
    return status;
}

static moeg_status least_squares_scenario(void *user)
{
    (void)user;
    const double A[] = {2, 1, 1, 2, 3, 1}, B[] = {1, 2, 3};
    double X[2] = {NAN, NAN};
    size_t rank = 77;
    const moeg_status status = moeg_linalg_least_squares("f", 3, 2, 1, A, B, 0, X, &rank);
    if (status != MOEG_OK)
        assert_true(isnan(X[0]) && isnan(X[1]) && rank == 77);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    int singular = 0;
    assert_int_equal(fail_every_allocation(factor_scenario, &singular), 4);
    singular = 1;
    assert_int_equal(fail_every_allocation(factor_scenario, &singular), 8);
    assert_int_equal(fail_every_allocation(least_squares_scenario, NULL), 5);
    assert_int_equal(fail_every_allocation(svd_scenario, NULL), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blas_is_openblas),
        cmocka_unit_test(sizes_past_int_are_refused),
        cmocka_unit_test(factor_gives_cholesky_of_a_regular_matrix),
        cmocka_unit_test(factor_finds_every_rank),
        cmocka_unit_test(factor_rank_has_no_unit),
        cmocka_unit_test(factor_refuses_what_is_not_semidefinite),
        cmocka_unit_test(factor_of_a_singular_matrix_is_unique),
        cmocka_unit_test(least_squares_solves_the_normal_equations),
        cmocka_unit_test(least_squares_takes_the_minimum_norm),
        cmocka_unit_test(least_squares_shares_between_equal_columns),
        cmocka_unit_test(least_squares_rank_has_no_unit),
        cmocka_unit_test(least_squares_leaves_out_what_is_rounding),
        cmocka_unit_test(least_squares_of_nothing_is_zero),
        cmocka_unit_test(least_squares_screens_its_input),
        cmocka_unit_test(singular_values_make_up_the_matrix),
        cmocka_unit_test(singular_values_screen_their_input),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
