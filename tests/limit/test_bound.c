/* The certified bound: its formula, its corners, and that no gap passes it. */
#include "limit/problem.h"

static double bound(moeg_margin_condition condition, size_t K, double B, double M, double tau)
{
    double value = NAN;
    assert_ok(moeg_bound_bounded(&condition, K, B, M, 1, &tau, &value));
    return value;
}

static void formula(void **state)
{
    (void)state;
    static const double alphas[] = {0.3, 1, 1.7, 4, 33.3, 169.9, 170.1, 400};
    for (size_t i = 0; i < sizeof alphas / sizeof *alphas; i++)
        for (double tau = 1e-3; tau < 2; tau *= 7.3) {
            const moeg_margin_condition c = {1.31, alphas[i], 0.43};
            const long double gamma = expl(lgammal(alphas[i] + 1) + alphas[i] * logl(tau));
            const long double expected =
                4 * 2.385L * (2.385L + 0.731L) * 4 * (1.31L * gamma + expl(-(long double)c.t0 / tau));
            const double got = bound(c, 5, 2.385, 0.731, tau);
            /* Above, by rounding upward in proportion to the logarithms; never below. */
            assert_true(got >= (double)expected * (1 - 2 * EPS));
            /* 4 epsilon times logarithms that add up to 6000 at the most. */
            assert_relative(got, (double)expected, 25000 * EPS);
        }
}

static void corners(void **state)
{
    (void)state;
    const double inf = INFINITY;
    assert_near(bound((moeg_margin_condition){1, 1, inf}, 2, 1, 1, 0), 0, 0);
    assert_near(bound((moeg_margin_condition){1, 1, inf}, 2, 0, 1, 1e300), 0, 0);
    assert_near(bound((moeg_margin_condition){0, 1, inf}, 2, 1, 1, 1e300), 0, 0);
    assert_relative(bound((moeg_margin_condition){0, 1, 0.5}, 2, 1, 0, 0.5), 4 * exp(-1), 40 * EPS);
    assert_relative(bound((moeg_margin_condition){1, 1, inf}, 2, 1, 0, 0.25), 1.0, 40 * EPS);
    /* Overflow on the way is no overflow of the result. */
    assert_relative(bound((moeg_margin_condition){1, 1000, inf}, 2, 1, 0, 1.0 / 512),
                    (double)(4 * expl(lgammal(1001) - 1000 * logl(512))), 2e-11);
    assert_relative(bound((moeg_margin_condition){1e300, 2, inf}, 2, 1e200, 1e200, 1e-310), 16e80, 1e-11);
    assert_true(isinf(bound((moeg_margin_condition){1e300, 1, 0.1}, 7, 1e300, 1e308, 1)));
    assert_true(isinf(bound((moeg_margin_condition){1, 1e308, inf}, 2, 1, 1, 1)));
    assert_true(isinf(bound((moeg_margin_condition){1, 1, inf}, SIZE_MAX, DBL_MAX, DBL_MAX, DBL_MAX)));
    /* Below the smallest double a bound is still above 0. */
    assert_near(bound((moeg_margin_condition){1, 2, inf}, 2, 1, 1, 1e-300), DBL_TRUE_MIN, 0);
    assert_near(bound((moeg_margin_condition){0, 2, 1e300}, 2, 1, 1, 1e-300), DBL_TRUE_MIN, 0);
    assert_near(bound((moeg_margin_condition){1, 1e308, inf}, 2, 1, 1, 1e-308), 0.0, 1);
    assert_true(bound((moeg_margin_condition){1e-320, 1e-320, inf}, 2, 1e-320, 0, 1e-320) > 0);
}

/* Where the power's logarithm is the small rest of huge terms, its rounding error, far above 1, is part of the bound.
 * Long double knows it to 0.05 there: alpha <= 1e16 times logarithms of 37, in units of 2^-64. */
static void rounding_of_huge_exponents(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 300; i++) {
        const double alpha = exp(32 + 2.4 * problem_number(17, i));
        double tau = exp(1) / alpha;
        for (int step = 0; step < 3; step++, tau = nextafter(tau, 1)) {
            const long double power =
                alpha * (logl(alpha) + logl(tau) - 1) + 0.5L * logl(2 * 3.14159265358979L * alpha);
            const double got = bound((moeg_margin_condition){1, alpha, INFINITY}, 2, 1, 0, tau);
            assert_true(logl(got) >= power + logl(4) - 0.05L);
        }
    }
}

/* Below DBL_MIN rounding is absolute: there, too, the bound stays above. Long double has no subnormals here. */
static void subnormal_results(void **state)
{
    (void)state;
    if (LDBL_MIN_EXP == DBL_MIN_EXP)
        skip();
    for (uint64_t i = 0; i < 1000; i++) {
        const double tau = 0.731, t0 = tau * (727 + 18 * problem_number(18, i));
        const moeg_margin_condition c = {0, 1, t0};
        assert_true(bound(c, 2, 0.5, 0.5, tau) >= 2 * expl(-(long double)t0 / tau));
    }
}

/* Rows of an empirical law: P(Delta <= t) <= C t with C = max_i (i/n)/Delta_(i), and true bounds B and M on them. */
static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double norm(const struct problem *p, size_t k, const double *x)
{
    long double y[MOST_M], sum = 0;
    problem_output(p, k, x, y);
    for (size_t j = 0; j < p->m; j++)
        sum += y[j] * y[j];
    return (double)sqrtl(sum);
}

static void no_gap_passes_it(void **state)
{
    (void)state;
    enum { N = 60, TAUS = 7 };
    static const double taus[TAUS] = {1e-6, 1e-3, 0.02, 0.1, 0.4, 1.7, 30};
    double largest = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct problem p;
        problem_make(&p, 1000 + seed, 2 + seed % 5, 1 + seed % 4, 1 + seed % 3);
        double x[N * MOST_D], margin[N], B = 0, M = 0, C = 0, bounds[TAUS];
        moeg_sampling s = moeg_sampling_default();
        s.n = N;
        s.seed = seed;
        moeg_law *data;
        assert_ok(moeg_law_sample(p.law, seed, 0, N, x));
        assert_ok(moeg_law_empirical_create(&data, N, p.d, x, NULL));
        assert_ok(moeg_router_margin(p.router, N, x, margin));
        qsort(margin, N, sizeof *margin, ascending);
        for (size_t i = 0; i < N; i++) {
            C = fmax(C, (double)(i + 1) / N / margin[i]);
            for (size_t k = 0; k < p.K; k++)
                B = fmax(B, norm(&p, k, x + i * p.d));
            M = fmax(M, norm(&p, p.K, x + i * p.d));
        }
        const moeg_margin_condition condition = {C, 1, INFINITY};
        assert_ok(moeg_bound_bounded(&condition, p.K, B, M, TAUS, taus, bounds));
        for (int mixing = 0; mixing < 2; mixing++) {
            moeg_estimate gap[TAUS];
            assert_true(moeg_risk_gap(p.moe, p.teacher, data, (moeg_mixing)mixing, TAUS, taus, &s, gap) >= 0);
            for (size_t t = 0; t < TAUS; t++) {
                assert_true(fabs(gap[t].value) <= bounds[t]);
                largest = fmax(largest, fabs(gap[t].value) / bounds[t]);
            }
        }
        moeg_law_free(data);
        problem_free(&p);
    }
    /* It is not vacuous either. */
    assert_true(largest > 0.05);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    const moeg_margin_condition good = {1, 1, INFINITY};
    double tau[] = {0.3, 0.1}, out[] = {42, 42};
#define BOUND(c, K, B, M, n, tau, out) moeg_bound_bounded(c, K, B, M, n, tau, out)
    assert_status(BOUND(NULL, 2, 1, 1, 2, tau, out), MOEG_EINVAL, "bound_bounded: condition must not be NULL");
    assert_status(BOUND(&good, 1, 1, 1, 2, tau, out), MOEG_EINVAL, "K must be at least 2, got 1");
    assert_status(BOUND(&good, 2, 1, 1, 0, tau, out), MOEG_EINVAL, "ntau must be at least 1, got 0");
    assert_status(BOUND(&good, 2, 1, 1, 2, NULL, out), MOEG_EINVAL, "tau must not be NULL");
    assert_status(BOUND(&good, 2, 1, 1, 2, tau, NULL), MOEG_EINVAL, "bound must not be NULL");
    static const double bad[] = {NAN, INFINITY, -1e-300};
    for (size_t i = 0; i < 3; i++) {
        const moeg_margin_condition c[] = {{bad[i], 1, 1}, {1, bad[i], 1}};
        assert_status(BOUND(&c[0], 2, 1, 1, 2, tau, out), MOEG_EINVAL, "C must be finite and at least 0");
        assert_status(BOUND(&c[1], 2, 1, 1, 2, tau, out), MOEG_EINVAL, "alpha must be finite and above 0");
        assert_status(BOUND(&good, 2, bad[i], 1, 2, tau, out), MOEG_EINVAL, "B must be finite and at least 0");
        assert_status(BOUND(&good, 2, 1, bad[i], 2, tau, out), MOEG_EINVAL, "M must be finite and at least 0");
        tau[1] = bad[i];
        assert_status(BOUND(&good, 2, 1, 1, 2, tau, out), MOEG_EINVAL, "tau[1] must be finite and at least 0");
        tau[1] = 0.1;
    }
    static const double bad_t0[] = {NAN, 0, -1, -INFINITY};
    for (size_t i = 0; i < 4; i++) {
        const moeg_margin_condition c = {1, 1, bad_t0[i]};
        assert_status(BOUND(&c, 2, 1, 1, 2, tau, out), MOEG_EINVAL, "t0 must be above 0");
    }
    assert_near(out[0], 42, 0);
    assert_near(out[1], 42, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formula),
        cmocka_unit_test(corners),
        cmocka_unit_test(rounding_of_huge_exponents),
        cmocka_unit_test(subnormal_results),
        cmocka_unit_test(no_gap_passes_it),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
