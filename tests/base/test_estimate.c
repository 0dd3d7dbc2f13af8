#include "support/check.h"
#include "support/estimates.h"
#include "support/random.h"

#include <moegeom/moegeom.h>

static void mean_has_a_student_interval(void **state)
{
    (void)state;
    moeg_estimate e;
    /* 40 units of variance 2.5: t(39) at 0.975 is 2.0226909200367604 (mpmath). */
    assert_ok(moeg_estimate_mean(40, -2.385, 39 * 2.5, 33, 0.95, MOEG_METHOD_MC, &e));
    assert_near(e.value, -2.385, 0);
    assert_relative(e.std_error, sqrt(2.5 / 40), 4 * EPS);
    assert_relative(e.lo, -2.385 - 2.0226909200367604 * sqrt(2.5 / 40), 64 * EPS);
    assert_relative(e.hi, -2.385 + 2.0226909200367604 * sqrt(2.5 / 40), 64 * EPS);
    assert_near(e.level, 0.95, 0);
    assert_near(e.quad_error, 0, 0);
    assert_int_equal(e.n, 40);
    assert_int_equal(e.contributing, 33);
    assert_int_equal(e.method, MOEG_METHOD_MC);
    /* Very many units: normal limits. */
    assert_ok(moeg_estimate_mean((uint64_t)1 << 53, 0.25, 3e15, 1u << 30, 0.99, MOEG_METHOD_LINE, &e));
    assert_relative((e.hi - e.lo) / 2, 2.5758293035489004 * e.std_error, 1e-9);
    assert_int_equal(e.method, MOEG_METHOD_LINE);
    /* No spread among enough units is an answer. */
    assert_ok(moeg_estimate_mean(30, 0.75, 0, 30, 0.95, MOEG_METHOD_MC, &e));
    assert_near(e.std_error, 0, 0);
    assert_near(e.lo, 0.75, 0);
    assert_near(e.hi, 0.75, 0);
}

static void too_few_units_give_no_error_bar(void **state)
{
    (void)state;
    const uint64_t cases[][2] = {{1, 0}, {1, 1}, {29, 29}, {100000, 29}, {100000, 0}};
    for (size_t i = 0; i < 5; i++) {
        moeg_estimate e;
        assert_status(moeg_estimate_mean(cases[i][0], 0.75, 0, cases[i][1], 0.95, MOEG_METHOD_MC, &e), MOEG_EUNABLE,
                      "contributed, fewer than 30: no error bar");
        assert_near(e.value, 0.75, 0);
        assert_true(e.std_error == INFINITY && e.lo == -INFINITY && e.hi == INFINITY);
        assert_int_equal(e.n, cases[i][0]);
        assert_int_equal(e.contributing, cases[i][1]);
    }
}

/* t(99): f(0) = Gamma(50)/(Gamma(49.5) sqrt(99 pi)) = 0.39793569617214437; reach = level/(2 f(0)) to second order. */
static void the_smallest_levels_have_an_interval(void **state)
{
    (void)state;
    moeg_estimate e;
    const double slope = 1 / (2 * exp(lgamma(50) - lgamma(49.5)) / sqrt(99 * 4 * atan(1)));
    for (double level = 1e-5; level > 0; level *= 1e-3) {
        assert_ok(moeg_estimate_mean(100, 0, 9900, 100, level, MOEG_METHOD_MC, &e));
        /* lgamma near 145 is rounded at 3e-14; the next order is level^2; below DBL_MIN precision is absolute. */
        assert_near(e.hi, slope * level, 1e-12 * slope * level + pow(slope * level, 3) + 4 * DBL_TRUE_MIN);
        assert_near(e.lo, -e.hi, 0);
        assert_true(e.lo <= e.value && e.value <= e.hi);
        assert_ok(moeg_estimate_mean(1000, 2.385, 17.1, 40, level, MOEG_METHOD_MC, &e));
        assert_true(e.lo <= e.value && e.value <= e.hi);
    }
}

static void mean_refuses(void **state)
{
    (void)state;
    moeg_estimate e = {.value = 0.1}, before = e;
    assert_status(moeg_estimate_mean(40, 1, 1, 40, 0.95, MOEG_METHOD_MC, NULL), MOEG_EINVAL,
                  "estimate_mean: out must not be NULL");
    assert_status(moeg_estimate_mean(0, 1, 1, 0, 0.95, MOEG_METHOD_MC, &e), MOEG_EINVAL,
                  "estimate_mean: n must be at least 1, got 0");
    assert_status(moeg_estimate_mean(40, 1, 1, 41, 0.95, MOEG_METHOD_MC, &e), MOEG_EINVAL,
                  "estimate_mean: contributing must be at most n = 40, got 41");
    const double levels[] = {0, 1, NAN, -1};
    for (size_t i = 0; i < 4; i++)
        assert_status(moeg_estimate_mean(40, 1, 1, 40, levels[i], MOEG_METHOD_MC, &e), MOEG_EINVAL,
                      "estimate_mean: level must be in (0, 1), got");
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        assert_status(moeg_estimate_mean(40, bad[i], 1, 40, 0.95, MOEG_METHOD_MC, &e), MOEG_ERANGE,
                      "estimate_mean: mean and m2 must be finite");
        assert_status(moeg_estimate_mean(40, 1, bad[i], 40, 0.95, MOEG_METHOD_MC, &e), MOEG_ERANGE,
                      "estimate_mean: mean and m2 must be finite");
    }
    assert_status(moeg_estimate_mean(40, 1, -0.5, 40, 0.95, MOEG_METHOD_MC, &e), MOEG_EINVAL,
                  "estimate_mean: m2 must be at least 0, got -0.5");
    assert_same_estimates(&e, &before, 1);
}

static void proportion_has_an_exact_interval(void **state)
{
    (void)state;
    moeg_estimate e;
    double lo, hi;
    for (uint64_t count = 0; count <= 77; count += 11) {
        assert_ok(moeg_estimate_proportion(count, 77, 0.9, MOEG_METHOD_MC, &e));
        assert_ok(moeg_clopper_pearson(count, 77, 0.9, &lo, &hi));
        const double p = (double)count / 77;
        assert_near(e.value, p, 0);
        assert_near(e.std_error, sqrt(p * (1 - p) / 77), 4 * EPS);
        assert_near(e.lo, lo, 0);
        assert_near(e.hi, hi, 0);
        assert_near(e.level, 0.9, 0);
        assert_near(e.quad_error, 0, 0);
        assert_int_equal(e.n, 77);
        assert_int_equal(e.contributing, count);
        assert_int_equal(e.method, MOEG_METHOD_MC);
    }
    /* No false zero: nothing seen, yet the interval is open above. */
    assert_ok(moeg_estimate_proportion(0, 77, 0.9, MOEG_METHOD_MC, &e));
    assert_near(e.std_error, 0, 0);
    assert_true(e.lo == 0 && e.hi > 0.03);
}

static void proportion_refuses(void **state)
{
    (void)state;
    moeg_estimate e = {.value = 0.1}, before = e;
    assert_status(moeg_estimate_proportion(1, 2, 0.9, MOEG_METHOD_MC, NULL), MOEG_EINVAL,
                  "estimate_proportion: out must not be NULL");
    assert_status(moeg_estimate_proportion(0, 0, 0.9, MOEG_METHOD_MC, &e), MOEG_EINVAL,
                  "estimate_proportion: n must be at least 1");
    assert_status(moeg_estimate_proportion(3, 2, 0.9, MOEG_METHOD_MC, &e), MOEG_EINVAL,
                  "estimate_proportion: count must be at most n = 2, got 3");
    assert_status(moeg_estimate_proportion(1, 2, 1, MOEG_METHOD_MC, &e), MOEG_EINVAL,
                  "estimate_proportion: level must be in (0, 1), got 1");
    assert_same_estimates(&e, &before, 1);
}

/* The error bar itself, on means of 40 normal variables, where Student's interval is exact: coverage within the
 * binomial 99.9 % band of the level, RMS reported error over the spread of the means within 4 of its own standard
 * deviations. Seeds fixed in advance. */
static void the_error_bar_is_honest(void **state)
{
    (void)state;
    enum { SEEDS = 4000, N = 40 };
    const double level = 0.9, truth = 2.385;
    double squared_error = 0, squared_bar = 0;
    int covered = 0;
    for (uint64_t run = 0; run < SEEDS; run++) {
        uint64_t seed = 1000000 * run;
        double x[N], moments[3] = {0};
        moeg_estimate e;
        for (size_t i = 0; i < N; i++)
            x[i] = truth + 0.7 * next_normal(&seed);
        assert_ok(moeg_moments_add(1, N, N, x, moments));
        assert_ok(moeg_estimate_mean(N, moments[1], moments[2], N, level, MOEG_METHOD_MC, &e));
        covered += e.lo <= truth && truth <= e.hi;
        squared_error += (e.value - truth) * (e.value - truth);
        squared_bar += e.std_error * e.std_error;
    }
    assert_near((double)covered / SEEDS, level, 3.29 * sqrt(level * (1 - level) / SEEDS));
    /* Relative standard deviations: 1/sqrt(2 SEEDS) of the spread, 1/sqrt(2 (N - 1) SEEDS) of the RMS bar. */
    const double sd = sqrt(0.5 / SEEDS * (1 + 1.0 / (N - 1)));
    assert_near(sqrt(squared_bar / squared_error), 1, 4 * sd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_has_a_student_interval),
        cmocka_unit_test(too_few_units_give_no_error_bar),
        cmocka_unit_test(the_smallest_levels_have_an_interval),
        cmocka_unit_test(mean_refuses),
        cmocka_unit_test(proportion_has_an_exact_interval),
        cmocka_unit_test(proportion_refuses),
        cmocka_unit_test(the_error_bar_is_honest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
