/* The empirical-Bernstein limit: its formula, and that it is passed no more often than its level allows. */
#include "support/check.h"
#include "support/coverage.h"

#include <moegeom/moegeom.h>

static void formula(void **state)
{
    (void)state;
    static const double levels[] = {0.05, 0.5, 0.95, 1 - 1e-9};
    for (size_t i = 0; i < 4; i++)
        for (uint64_t n = 2; n < 1000000000; n *= 7) {
            const double range = 2.385, mean = 0.0713, m2 = 0.0037 * (double)n;
            const long double L = logl(2 / (1 - (long double)levels[i])), N = (long double)n;
            const long double expected = mean + sqrtl(2 * (m2 / (N - 1)) * L / N) + 7 * range * L / (3 * (N - 1));
            double upper;
            assert_ok(moeg_bernstein_upper(n, mean, m2, range, levels[i], &upper));
            /* 1 - level is exact, and its logarithm right to rounding. */
            assert_relative(upper, (double)fminl(expected, range), 8 * EPS);
        }
    double upper;
    assert_ok(moeg_bernstein_upper(1, 0.3, 0, 0.7, 0.95, &upper));
    assert_near(upper, 0.7, 0);
    assert_ok(moeg_bernstein_upper(2, 0, 0, 1e-300, 0.95, &upper));
    assert_near(upper, 1e-300, 0);
    assert_ok(moeg_bernstein_upper(UINT64_MAX, 0, 0, 1e300, 0.95, &upper));
    assert_relative(upper, 7 * log(40) / 3 * (1e300 / 0x1p64), 8 * EPS);
    assert_ok(moeg_bernstein_upper(1000, 1, 0, 1, 0.95, &upper));
    assert_near(upper, 1, 0);
}

/* 1000 samples each of: rare events, a skew variable in [0, 1], one that is constant. */
static void is_seldom_passed(void **state)
{
    (void)state;
    enum { RUNS = 1000, N = 200 };
    static const double levels[] = {0.5, 0.9};
    for (size_t kind = 0; kind < 3; kind++)
        for (size_t l = 0; l < 2; l++) {
            size_t covered = 0, least, most;
            const double truth = kind == 0 ? 0.02 : kind == 1 ? 0.2 : 0.37;
            for (uint64_t run = 0; run < RUNS; run++) {
                double u[N], moments[3] = {0}, upper;
                assert_ok(moeg_stream_uniforms((moeg_stream){COVERAGE_SEED + run, 4711}, 0, N, 1, u));
                for (size_t i = 0; i < N; i++)
                    u[i] = kind == 0 ? u[i] < truth : kind == 1 ? u[i] * u[i] * u[i] * u[i] : truth;
                assert_ok(moeg_moments_add(1, N, N, u, moments));
                assert_ok(moeg_bernstein_upper(N, moments[1], moments[2], 1, levels[l], &upper));
                covered += upper >= truth;
            }
            coverage_band(RUNS, levels[l], 0.0005, &least, &most);
            /* Here it covers more often than it says, as limits without a hypothesis do. */
            assert_true(covered >= least);
        }
}

static void arguments_are_checked(void **state)
{
    (void)state;
    double upper = 42;
    assert_status(moeg_bernstein_upper(9, 0.5, 1, 1, 0.95, NULL), MOEG_EINVAL,
                  "bernstein_upper: upper must not be NULL");
    assert_status(moeg_bernstein_upper(0, 0.5, 1, 1, 0.95, &upper), MOEG_EINVAL, "n must be at least 1, got 0");
    static const double ranges[] = {0, -1, NAN, INFINITY}, means[] = {-1e-300, 1.1, NAN},
                        m2s[] = {-1e-9, NAN, INFINITY};
    static const double levels[] = {0, 1, NAN};
    for (size_t i = 0; i < 4; i++)
        assert_status(moeg_bernstein_upper(9, 0.5, 1, ranges[i], 0.95, &upper), MOEG_EINVAL,
                      "range must be positive and finite, got");
    for (size_t i = 0; i < 3; i++) {
        assert_status(moeg_bernstein_upper(9, means[i], 1, 1, 0.95, &upper), MOEG_EINVAL,
                      "mean must be in [0, range = 1], got");
        assert_status(moeg_bernstein_upper(9, 0.5, m2s[i], 1, 0.95, &upper), MOEG_EINVAL,
                      "m2 must be finite and at least 0, got");
        assert_status(moeg_bernstein_upper(9, 0.5, 1, 1, levels[i], &upper), MOEG_EINVAL, "level must be in (0, 1)");
    }
    assert_near(upper, 42, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formula),
        cmocka_unit_test(is_seldom_passed),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
