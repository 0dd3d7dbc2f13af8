/* The analytic bounds: their formulas, and their corners. That no gap passes them is tested in test_bound_problems.c.
 */
#include "limit/problem.h"

static double bound(moeg_margin_condition condition, size_t K, double B, double M, double tau)
{
    double value = NAN;
    const moeg_output_limits limits = {.B = B, .M = M};
    assert_ok(moeg_bound_bounded(&condition, moeg_gate_softmax(), MOEG_MIX_OUTPUT, K, &limits, 1, &tau, &value));
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
            /* 5 epsilon times logarithms that add up to 6000 at the most. */
            assert_relative(got, (double)expected, 30000 * EPS);
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

/* At a small tau exp(-t0/tau) is nothing beside the power, and the error of its huge logarithm is nothing either; nor
 * is that of a power below it. */
static void negligible_terms(void **state)
{
    (void)state;
    const moeg_margin_condition c = {1, 1, 1}, steep = {1, 1e18, 1e-17};
    for (double tau = 0.0237; tau > 1e-290; tau /= 13.1) {
        const double power = 8 * tau;
        /* 5 epsilon times logarithms that add up to 1600. */
        assert_relative(bound(c, 2, 1, 1, tau), power + 8 * exp(-1 / tau), 8000 * EPS);
        double holder = NAN;
        assert_ok(moeg_bound_holder(&c, moeg_gate_softmax(), 2, 2, 1, 1, &tau, &holder));
        assert_relative(holder, sqrt(tau / 2 + exp(-2 / tau)), 8000 * EPS);
    }
    assert_relative(bound(steep, 2, 1, 1, 1e-19), 8 * exp(-100), 1000 * EPS);
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

/* mu by gate, q by mixing. */
static void gates(void **state)
{
    (void)state;
    const moeg_margin_condition c = {1.31, 1.7, 0.43};
    const moeg_output_limits small = {2.385, 0.731, 0.9}, far = {0.731, 9.2, 0.9}, none = {0, 9.2, 0.9};
    const double tau = 0.37, mean = 1.31 * tgamma(2.7) * pow(tau, 1.7) + exp(-0.43 / tau);
    const struct {
        moeg_gate gate;
        moeg_mixing mixing;
        size_t K;
        const moeg_output_limits *limits;
        double size;
    } cases[] = {
        {moeg_gate_softmax(), MOEG_MIX_OUTPUT, 1, &small, 0},
        {moeg_gate_softmax(), MOEG_MIX_LOSS, 5, &small, 4 * 4 * 2.385 * 3.116},
        {moeg_gate_topk_renorm(1), MOEG_MIX_LOSS, 5, &small, 0},
        {moeg_gate_topk_renorm(3), MOEG_MIX_OUTPUT, 5, &small, 2 * 4 * 2.385 * 3.116},
        {moeg_gate_topk_raw(1), MOEG_MIX_LOSS, 1, &small, 0},
        {moeg_gate_topk_raw(1), MOEG_MIX_OUTPUT, 5, &far, 4 * 4 * 0.731 * 9.931},
        /* The larger of two. */
        {moeg_gate_topk_raw(1), MOEG_MIX_LOSS, 5, &small, 4 * 4 * 2.385 * 3.116},
        {moeg_gate_topk_raw(1), MOEG_MIX_LOSS, 5, &far, 4 * (9.931 * 9.931 + 0.9)},
        {moeg_gate_topk_raw(4), MOEG_MIX_LOSS, 5, &none, 4 * (9.2 * 9.2 + 0.9)},
        /* Nothing is dropped. */
        {moeg_gate_topk_raw(5), MOEG_MIX_LOSS, 5, &far, 4 * 4 * 0.731 * 9.931},
        {moeg_gate_subset(1), MOEG_MIX_OUTPUT, 5, &small, 4 * 4 * 2.385 * 3.116},
        {moeg_gate_subset(3), MOEG_MIX_LOSS, 5, &small, 2 * 4 * 2.385 * 3.116},
        {moeg_gate_subset(5), MOEG_MIX_LOSS, 5, &small, 0},
        {moeg_gate_softmax(), MOEG_MIX_LOSS, 5, &none, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double got = NAN;
        assert_ok(moeg_bound_bounded(&c, cases[i].gate, cases[i].mixing, cases[i].K, cases[i].limits, 1, &tau, &got));
        assert_relative(got, cases[i].size * mean, 200 * EPS);
        assert_true(cases[i].size != 0 || got == 0);
        /* p = infinity: the same from a bound on Q. */
        const size_t mu = cases[i].gate.kind == MOEG_GATE_SUBSET        ? cases[i].K - cases[i].gate.k
                          : cases[i].gate.kind == MOEG_GATE_TOPK_RENORM ? cases[i].gate.k - 1
                                                                        : cases[i].K - 1;
        assert_ok(moeg_bound_holder(&c, cases[i].gate, cases[i].K, INFINITY, mu == 0 ? 1 : cases[i].size / (double)mu,
                                    1, &tau, &got));
        assert_relative(got, cases[i].size * mean, 200 * EPS);
    }
}

static double holder(moeg_margin_condition condition, double p, double moment, double tau)
{
    double value = NAN;
    assert_ok(moeg_bound_holder(&condition, moeg_gate_softmax(), 5, p, moment, 1, &tau, &value));
    return value;
}

static void holder_formula(void **state)
{
    (void)state;
    static const double ps[] = {1 + 1e-9, 1.01, 1.5, 2, 2.385, 17, 1e9};
    for (size_t i = 0; i < sizeof ps / sizeof *ps; i++)
        for (double alpha = 0.3; alpha < 300; alpha *= 4.1)
            for (double tau = 1e-3; tau < 2; tau *= 7.3) {
                const long double p = ps[i], q = p / (p - 1);
                const long double power = 1.31L * expl(lgammal(alpha + 1) + alpha * logl(tau / q));
                const long double expected = 4 * powl(7.31L, 1 / p) * powl(power + expl(-q * 0.43L / tau), 1 / q);
                const double got = holder((moeg_margin_condition){1.31, alpha, 0.43}, ps[i], 7.31, tau);
                assert_true(got >= (double)expected * (1 - 4 * EPS));
                /* As in formula(): logarithms up to 300 (log 1e-12 + log 1e-3). */
                assert_relative(got, (double)expected, 50000 * EPS);
            }
    const moeg_margin_condition c = {1.31, 1, INFINITY};
    assert_near(holder(c, 2, 7.31, 0), 0, 0);
    assert_near(holder(c, 2, 0, 1), 0, 0);
    assert_near(holder((moeg_margin_condition){0, 1, INFINITY}, 2, 7.31, 1), 0, 0);
    assert_true(isinf(holder(c, 2, DBL_MAX / 64, DBL_MAX)) == 0);
    assert_true(isinf(holder(c, 1e6, DBL_MAX, DBL_MAX)));
    assert_near(holder((moeg_margin_condition){1, 5, INFINITY}, 1e9, 1e-300, 1e-300), DBL_TRUE_MIN, 0);
    assert_true(holder((moeg_margin_condition){1e-320, 1e-320, INFINITY}, 1 + EPS, 1e-320, 1e-320) > 0);
    assert_true(holder((moeg_margin_condition){0, 1, 1e300}, 1 + EPS, 1e308, 1e-320) > 0);
    /* q -> infinity: the condition stops to matter, and what is left is mu E Q. */
    assert_relative(holder((moeg_margin_condition){1, 1, INFINITY}, 1 + EPS, 7.31, 0.1), 4 * 7.31, 1e-12);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    const moeg_margin_condition good = {1, 1, INFINITY};
    const moeg_output_limits one = {1, 1, 0};
    const moeg_gate softmax = moeg_gate_softmax(), odd = {(moeg_gate_kind)7, 1};
    double tau[] = {0.3, 0.1}, out[] = {42, 42};
#define BOUND(c, gate, K, limits, n, tau, out) moeg_bound_bounded(c, gate, MOEG_MIX_OUTPUT, K, limits, n, tau, out)
#define HOLDER(c, gate, K, p, moment, n, tau, out) moeg_bound_holder(c, gate, K, p, moment, n, tau, out)
    assert_status(BOUND(NULL, softmax, 2, &one, 2, tau, out), MOEG_EINVAL, "bound_bounded: condition must not be NULL");
    assert_status(BOUND(&good, softmax, 2, NULL, 2, tau, out), MOEG_EINVAL, "bound_bounded: limits must not be NULL");
    assert_status(BOUND(&good, softmax, 0, &one, 2, tau, out), MOEG_EINVAL, "K must be at least 1, got 0");
    assert_status(BOUND(&good, odd, 2, &one, 2, tau, out), MOEG_EINVAL, "gate.kind must be one of");
    assert_status(BOUND(&good, moeg_gate_subset(3), 2, &one, 2, tau, out), MOEG_EINVAL, "gate.k must be in [1, K = 2]");
    assert_status(BOUND(&good, softmax, 2, &one, 0, tau, out), MOEG_EINVAL, "ntau must be at least 1, got 0");
    assert_status(BOUND(&good, softmax, 2, &one, 2, NULL, out), MOEG_EINVAL, "tau must not be NULL");
    assert_status(BOUND(&good, softmax, 2, &one, 2, tau, NULL), MOEG_EINVAL, "bound must not be NULL");
    assert_status(moeg_bound_bounded(&good, softmax, (moeg_mixing)2, 2, &one, 2, tau, out), MOEG_EINVAL,
                  "mixing must be output (0) or loss (1), got 2");
    assert_status(HOLDER(NULL, softmax, 2, 2, 1, 2, tau, out), MOEG_EINVAL, "bound_holder: condition must not be NULL");
    assert_status(HOLDER(&good, softmax, 0, 2, 1, 2, tau, out), MOEG_EINVAL, "K must be at least 1, got 0");
    assert_status(HOLDER(&good, moeg_gate_softmax(), 2, 1, 1, 2, tau, out), MOEG_EINVAL, "p must be above 1, got 1");
    assert_status(HOLDER(&good, softmax, 2, NAN, 1, 2, tau, out), MOEG_EINVAL, "p must be above 1, got nan");
    assert_status(HOLDER(&good, softmax, 2, 2, 1, 0, tau, out), MOEG_EINVAL, "ntau must be at least 1, got 0");
    assert_status(HOLDER(&good, softmax, 2, 2, 1, 2, NULL, out), MOEG_EINVAL, "tau must not be NULL");
    assert_status(HOLDER(&good, softmax, 2, 2, 1, 2, tau, NULL), MOEG_EINVAL, "bound must not be NULL");
    static const double bad[] = {NAN, INFINITY, -1e-300};
    for (size_t i = 0; i < 3; i++) {
        const moeg_margin_condition c[] = {{bad[i], 1, 1}, {1, bad[i], 1}};
        const moeg_output_limits limits[] = {{bad[i], 1, 0}, {1, bad[i], 0}, {1, 1, bad[i]}};
        static const char *const names[] = {"B must be finite and at", "M must be finite and at",
                                            "noise must be finite"};
        assert_status(BOUND(&c[0], softmax, 2, &one, 2, tau, out), MOEG_EINVAL, "C must be finite and at least 0");
        assert_status(BOUND(&c[1], softmax, 2, &one, 2, tau, out), MOEG_EINVAL, "alpha must be finite and above 0");
        for (size_t j = 0; j < 3; j++)
            assert_status(BOUND(&good, softmax, 2, &limits[j], 2, tau, out), MOEG_EINVAL, names[j]);
        assert_status(HOLDER(&good, softmax, 2, 2, bad[i], 2, tau, out), MOEG_EINVAL, "moment must be finite and at");
        tau[1] = bad[i];
        assert_status(BOUND(&good, softmax, 2, &one, 2, tau, out), MOEG_EINVAL, "tau[1] must be finite and at least 0");
        assert_status(HOLDER(&good, softmax, 2, 2, 1, 2, tau, out), MOEG_EINVAL, "tau[1] must be finite and at least");
        tau[1] = 0.1;
    }
    static const double bad_t0[] = {NAN, 0, -1, -INFINITY};
    for (size_t i = 0; i < 4; i++) {
        const moeg_margin_condition c = {1, 1, bad_t0[i]};
        assert_status(BOUND(&c, softmax, 2, &one, 2, tau, out), MOEG_EINVAL, "t0 must be above 0");
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
        cmocka_unit_test(negligible_terms),
        cmocka_unit_test(subnormal_results),
        cmocka_unit_test(gates),
        cmocka_unit_test(holder_formula),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
