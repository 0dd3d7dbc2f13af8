/* Factors of covariances whose coordinates have units far apart: rank, factor and errors are those in any other units.
 */
#include "base/linalg.h"
#include "support/check.h"
#include "support/random.h"

enum { MOST = 40 };

/* S = B B', B (n x r) random, of which some rows may be zeros. */
static void draw(size_t n, size_t r, int zeros, uint64_t seed, double *S)
{
    double B[MOST * MOST];
    for (size_t i = 0; i < n * r; i++)
        B[i] = zeros && i / r % 3 == 1 ? 0 : next_uniform(&seed);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            S[i * n + j] = 0;
            for (size_t k = 0; k < r; k++)
                S[i * n + j] += B[i * r + k] * B[j * r + k];
        }
}

/* T = D S D, D = diag(unit). */
static void in_units(size_t n, const double *S, const double *unit, double *T)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            T[i * n + j] = S[i * n + j] * unit[i] * unit[j];
}

/* Units that are powers of two scale the factor, bit by bit: 2^-450 to 2^450. */
static void powers_of_two_scale_the_factor(void **state)
{
    (void)state;
    static double S[MOST * MOST], T[MOST * MOST], L[MOST * MOST], M[MOST * MOST];
    for (size_t n = 1; n <= MOST; n += n < 8 ? 1 : 16)
        for (size_t r = 1; r <= n; r++) {
            double unit[MOST];
            uint64_t seed = 100 * n + r;
            size_t rank, in_unit;
            draw(n, r, r % 2 == 1, seed, S);
            for (size_t i = 0; i < n; i++)
                unit[i] = ldexp(1, (int)(450 * next_uniform(&seed)));
            in_units(n, S, unit, T);
            assert_ok(moeg_linalg_factor("f", n, S, L, &rank));
            assert_ok(moeg_linalg_factor("f", n, T, M, &in_unit));
            assert_int_equal(in_unit, rank);
            for (size_t i = 0; i < n * n; i++)
                assert_near(M[i], L[i] * unit[i / n], 0);
        }
}

/* In other units entries are rounded: L L' is S to n epsilon sqrt(s_ii s_jj), and the rank is that of B. A row of
 * zeros stays one. */
static void any_units_keep_the_rank(void **state)
{
    (void)state;
    static const double units[] = {1, 1e8, 1e-8, 3e-140, 7e130, 1e17};
    static double S[MOST * MOST], T[MOST * MOST], L[MOST * MOST];
    for (size_t n = 1; n <= MOST; n += n < 8 ? 1 : 16)
        for (size_t r = 1; r <= n; r += n < 8 ? 1 : 3) {
            double unit[MOST];
            const int zeros = r + n / 3 < n;
            size_t rank;
            draw(n, r, zeros, 7 * n + r, S);
            for (size_t i = 0; i < n; i++)
                unit[i] = units[(i + r) % 6];
            in_units(n, S, unit, T);
            assert_ok(moeg_linalg_factor("f", n, T, L, &rank));
            assert_int_equal(rank, r);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++) {
                    const double size = sqrt(T[i * n + i]) * sqrt(T[j * n + j]);
                    double product = 0;
                    for (size_t k = 0; k < n; k++)
                        product += L[i * n + k] * L[j * n + k];
                    assert_near(product, T[i * n + j], 4 * (double)(n * n) * EPS * size);
                    assert_true(!zeros || i % 3 != 1 || L[i * n + j] == 0);
                }
        }
}

/* Independent coordinates are regular, whatever their variances. */
static void a_diagonal_is_regular(void **state)
{
    (void)state;
    static const double variances[][3] = {{1, 1e17, 2.385},        {1e-200, 1, 1e200}, {5e-324, 1.7e308, 1e-310},
                                          {1, 1e-16, 1e-17},       {0.25, 1, 4},       {1e300, 1e-300, 1e-300},
                                          {DBL_MAX, DBL_MIN, 1e-5}};
    for (size_t v = 0; v < sizeof variances / sizeof *variances; v++) {
        double S[9] = {0}, L[9];
        size_t rank;
        for (size_t i = 0; i < 3; i++)
            S[4 * i] = variances[v][i];
        assert_ok(moeg_linalg_factor("f", 3, S, L, &rank));
        assert_int_equal(rank, 3);
        for (size_t i = 0; i < 9; i++)
            assert_relative(L[i], i % 4 == 0 ? sqrt(S[i]) : 0, EPS);
    }
    /* A correlation that neither over- nor underflows, though a variance times the other's root would. */
    const double S[4] = {4e300, 6e-10, 6e-10, 1e-318};
    double L[4];
    size_t rank;
    assert_ok(moeg_linalg_factor("f", 2, S, L, &rank));
    assert_int_equal(rank, 2);
    assert_relative(L[2], 3e-160, 4 * EPS);
    assert_relative(hypot(L[2], L[3]), sqrt(1e-318), 4 * EPS);
}

/* [1, rho; rho, 1] has the eigenvalues 1 + rho and 1 - rho; those up to 2 epsilon of the other count as zero, and those
 * below minus that are refused, in any units. */
static void the_threshold_is_that_of_the_scaled_matrix(void **state)
{
    (void)state;
    static const double units[] = {1, 0x1p30, 0x1p-30, 0x1p-400, 0x1p450};
    for (size_t u = 0; u < 5; u++)
        for (int sign = -1; sign <= 1; sign += 2) {
            const double below[] = {16, 1, -1, -16};
            for (size_t b = 0; b < 4; b++) {
                const double rho = sign * (1 - below[b] * EPS), S[4] = {1, rho, rho, 1}, unit[2] = {units[u], 1};
                double T[4], L[4];
                size_t rank = 77;
                in_units(2, S, unit, T);
                if (b == 3) {
                    assert_status(moeg_linalg_factor("f", 2, T, L, &rank), MOEG_EINVAL,
                                  "f: covariance must be positive semidefinite, got an eigenvalue of -8");
                    assert_status(moeg_linalg_factor("f", 2, T, L, &rank), MOEG_EINVAL,
                                  "(the largest is 0.5) once powers of two have scaled its diagonal to [1/4, 1)");
                    assert_int_equal(rank, 77);
                } else {
                    assert_ok(moeg_linalg_factor("f", 2, T, L, &rank));
                    assert_int_equal(rank, b == 0 ? 2 : 1);
                    assert_relative(hypot(L[0], L[1]), unit[0], 4 * EPS);
                    assert_relative(hypot(L[2], L[3]), unit[1], 4 * EPS);
                }
            }
        }
}

static void check_refused(double a, double covariance, double b, const char *text)
{
    const double S[4] = {a, covariance, covariance, b};
    double L[4] = {0.1, 0.2, 0.3, 0.4};
    size_t rank = 77;
    assert_status(moeg_linalg_factor("f", 2, S, L, &rank), MOEG_EINVAL, text);
    assert_near(L[0] + L[1] + L[2] + L[3], 1, EPS);
    assert_int_equal(rank, 77);
}

/* What no rounding explains is named by its place, and nothing overflows on the way. */
static void impossible_entries_are_named(void **state)
{
    (void)state;
    const char *const head = "f: covariance must be positive semidefinite, got ";
    char text[160];
    snprintf(text, sizeof text, "%s%s", head, "a variance of -1e-18 at [1, 1]");
    check_refused(1, 0, -1e-18, text);
    snprintf(text, sizeof text, "%s%s", head, "a variance of -1e+300 at [0, 0]");
    check_refused(-1e300, 1, 1, text);
    snprintf(text, sizeof text, "%s%s", head, "1e-20 at [1, 0] between variances of 0 and 1");
    check_refused(1, 1e-20, 0, text);
    snprintf(text, sizeof text, "%s%s", head, "1.7e+308 at [1, 0] between variances of 0 and 0");
    check_refused(0, 1.7e308, 0, text);
    snprintf(text, sizeof text, "%s%s", head, "-1.7e+308 at [1, 0] between variances of 4.94066e-324 and 4.94066e-324");
    check_refused(5e-324, -1.7e308, 5e-324, text);
    /* A correlation of 1.5 is judged by its eigenvalue: (1 - 1.5)/4. */
    snprintf(text, sizeof text, "%s%s", head, "an eigenvalue of -0.125 (the largest is 0.625)");
    check_refused(1, 1.5 * 0x1p300, 0x1p600, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers_of_two_scale_the_factor), cmocka_unit_test(any_units_keep_the_rank),
        cmocka_unit_test(a_diagonal_is_regular),          cmocka_unit_test(the_threshold_is_that_of_the_scaled_matrix),
        cmocka_unit_test(impossible_entries_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
