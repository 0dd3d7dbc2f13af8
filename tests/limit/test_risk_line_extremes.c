/* Risks by the one deterministic line where numbers are small, large, far, nearly equal or masked: against closed forms
 * and a double-exponential quadrature. */
#include "limit/double_exponential.h"
#include "limit/lines.h"

/* s = x ~ N(mean, variance), experts -1 and 1 around 0, m = 0.2. */
static void make_plain(struct problem *p, double mean, double variance)
{
    *p = (struct problem){.K = 2, .d = 1, .m = 1, .mean = {mean}, .covariance = {variance}, .W = {1, 0}};
    p->c[0][0] = 1;
    p->c[1][0] = -1;
    p->c[2][0] = 0.2;
    problem_build(p);
}

static void tiny_and_huge_temperatures(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 7, 2, 3, 2);
    moeg_leading leading;
    assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &leading));
    struct answer a = line(&p, MOEG_MIX_OUTPUT, 1e-300);
    assert_relative(a.gap.value, leading.coefficient * 1e-300, 20 * EPS);
    assert_near(a.soft.value, a.hard.value, 0);
    a = line(&p, MOEG_MIX_LOSS, 1e-300); /* Of order 1e-600. */
    assert_near(a.gap.value, 0, a.gap.quad_error);
    assert_true(a.gap.quad_error < 1e-300);
    a = line(&p, MOEG_MIX_OUTPUT, 0);
    assert_near(a.gap.value, 0, 0);
    assert_near(a.gap.quad_error, 0, 0);
    assert_near(a.soft.value, a.hard.value, 0);
    /* At infinite temperature the soft risk is the Gaussian moment of the mean expert's residual. */
    long double expected[2] = {0, 0};
    for (size_t j = 0; j < p.m; j++)
        for (int k = 0; k < 3; k++) { /* 0: the mean expert; 1, 2: each for itself. */
            const double w[3][3] = {{0.5, 0.5, -1}, {1, 0, -1}, {0, 1, -1}};
            long double row[3], mean = 0;
            for (size_t i = 0; i < 3; i++) {
                row[i] = 0;
                for (size_t e = 0; e < 3; e++)
                    row[i] += w[k][e] * p.A[e][j * 3 + i];
                mean += row[i] * p.mean[i];
            }
            for (size_t e = 0; e < 3; e++)
                mean += w[k][e] * p.c[e][j];
            long double square = mean * mean;
            for (size_t i = 0; i < 3; i++)
                for (size_t l = 0; l < 3; l++)
                    square += row[i] * p.covariance[i * 3 + l] * row[l];
            expected[k > 0] += k > 0 ? square / 2 : square;
        }
    for (int i = 0; i < 2; i++) {
        a = line(&p, both[i], 1e300);
        assert_near(a.soft.value, (double)expected[i], a.soft.quad_error);
        assert_relative(a.soft.value, (double)expected[i], 50 * EPS);
    }
    problem_free(&p);
}

static void exponentially_small_gaps(void **state)
{
    (void)state;
    struct problem p;
    /* 200 deviations from the interface: q = e^{-s/tau} to rounding, E e^{-s/tau} = exp(-mean/tau + var/(2 tau^2)). */
    make_plain(&p, 20, 0.01);
    const double small = exp(-200 + 0.5);
    const struct answer a = line(&p, MOEG_MIX_OUTPUT, 0.1);
    assert_relative(a.gap.value, -3.2 * small, 400 * EPS);
    assert_relative(line(&p, MOEG_MIX_LOSS, 0.1).gap.value, 0.8 * small, 400 * EPS);
    assert_true(fabs(a.gap.value + 3.2 * small) <= a.gap.quad_error && a.gap.quad_error < 1e-12 * 3.2 * small);
    assert_relative(a.hard.value, 0.64, 10 * EPS);
    /* Past the smallest double: 0, and its error bar says how far from it. */
    const moeg_estimate under = line(&p, MOEG_MIX_OUTPUT, 0.02).gap;
    assert_near(under.value, 0, 0);
    assert_true(under.quad_error > 0 && under.quad_error < 1e-300);
    problem_free(&p);
    /* 12 deviations away, and so cold that the mode of p q is at the interface. */
    make_plain(&p, -12, 1);
    for (int i = 0; i < 2; i++)
        for (double tau = 0.01; tau < 50; tau *= 3) {
            const moeg_estimate e = line(&p, both[i], tau).gap;
            const long double expected = double_exponential_gap(&p, both[i], tau);
            assert_near(e.value, (double)expected, e.quad_error);
            assert_true(e.quad_error <= 1e-10 * fabs(e.value));
        }
    problem_free(&p);
    /* m is the near expert exactly: the gap is E q^2 |delta|^2 on its side, and nothing may be left of q. */
    make_plain(&p, 20, 0.01);
    moeg_teacher_free(p.teacher);
    assert_ok(moeg_teacher_moe_create(&p.teacher, p.moe, 0)); /* The far expert beyond the interface. */
    assert_relative(line(&p, MOEG_MIX_OUTPUT, 0.1).gap.value, 4 * exp(-400 + 2.0), 800 * EPS);
    moeg_expert *same;
    moeg_teacher_free(p.teacher);
    assert_ok(moeg_expert_constant_create(&same, 1, 1, p.c[0]));
    assert_ok(moeg_teacher_expert_create(&p.teacher, same));
    moeg_expert_free(same);
    assert_relative(line(&p, MOEG_MIX_OUTPUT, 0.1).gap.value, 4 * exp(-400 + 2.0), 800 * EPS);
    assert_near(line(&p, MOEG_MIX_OUTPUT, 0.1).hard.value, 0, 1e-300);
    problem_free(&p);
}

/* Where p q^2 has its mode eleven deviations from that of p q, and p q is multiplied by 0: q^2 = e^{-2s/tau}. */
static void squared_gates_far_from_gates(void **state)
{
    (void)state;
    struct problem p;
    make_plain(&p, 4, 0.01);
    moeg_expert *same;
    moeg_teacher_free(p.teacher);
    assert_ok(moeg_expert_constant_create(&same, 1, 1, p.c[0]));
    assert_ok(moeg_teacher_expert_create(&p.teacher, same));
    moeg_expert_free(same);
    const double tau = 0.1 / 11;
    const long double w = 4 / (long double)tau;
    assert_relative(line(&p, MOEG_MIX_OUTPUT, tau).gap.value, (double)(4 * expl(-2 * w + 0.02L / tau / tau)),
                    2000 * EPS);
    problem_free(&p);
}

/* With a symmetric law the gap of output mixing does not depend on m: -|delta|^2 E q (1 - q). */
static void a_far_teacher_costs_no_digits(void **state)
{
    (void)state;
    for (double tau = 1e-9; tau < 10; tau *= 50) {
        double gap[2];
        for (int i = 0; i < 2; i++) {
            struct problem p;
            make_plain(&p, 0, 1.3);
            p.c[0][0] = 1.1;
            p.c[1][0] = -0.93713;
            p.c[2][0] = i == 0 ? 0.2 : 1.0000003e9;
            problem_free(&p);
            problem_build(&p);
            gap[i] = line(&p, MOEG_MIX_OUTPUT, tau).gap.value;
            problem_free(&p);
        }
        assert_relative(gap[1], gap[0], 20 * EPS);
    }
}

/* A mean a million deviations from the interface, felt because tau is as large: a trapezoid over the Gaussian. */
static void far_from_the_interface(void **state)
{
    (void)state;
    struct problem p;
    problem_draw(&p, 31, 2, 1, 1);
    p.W[0] = 1;
    p.W[1] = 0;
    p.b[0] = p.b[1] = 0;
    p.mean[0] = 1e6 + 0.385;
    p.covariance[0] = 1;
    for (size_t k = 0; k < 3; k++)
        p.c[k][0] -= p.A[k][0] * 1e6; /* Outputs of order 1 where the mass is. */
    problem_build(&p);
    const double tau = 1.7e5;
    for (int i = 0; i < 2; i++) {
        const struct side s = {&p, both[i], tau, 0, 1};
        long double expected = 0;
        for (int k = -240; k <= 240; k++)
            expected += side_gap((long double)p.mean[0] + 0.05L * k, &s) * 0.05L;
        const moeg_estimate e = line(&p, both[i], tau).gap;
        assert_near(e.value, (double)expected, e.quad_error);
        assert_true(e.quad_error <= 1e-8 * fabs(e.value)); /* 1e6 epsilon in t^2: the exponents' conditioning. */
    }
    problem_free(&p);
}

static void constant_difference_of_logits(void **state)
{
    (void)state;
    struct problem p;
    problem_draw(&p, 3, 2, 3, 2);
    for (size_t i = 0; i < 3; i++)
        p.W[3 + i] = p.W[i];
    for (int tie = 0; tie < 2; tie++) {
        p.b[0] = -0.3;
        p.b[1] = tie ? -0.3 : 0.417;
        problem_build(&p);
        const size_t win = tie ? 0 : 1;
        long double square[2] = {0, 0}, mixed = 0;
        const double tau = 0.6;
        const long double s = fabsl((long double)p.b[0] - p.b[1]), q = 1 / (1 + expl(s / tau));
        for (size_t j = 0; j < 2; j++)
            for (int form = 0; form < 3; form++) { /* Winner, loser, mixture. */
                const long double w = form == 0 ? 1 : form == 1 ? 0 : 1 - q;
                long double row[3], mean = 0;
                for (size_t i = 0; i < 3; i++) {
                    row[i] = w * p.A[win][j * 3 + i] + (1 - w) * p.A[1 - win][j * 3 + i] - p.A[2][j * 3 + i];
                    mean += row[i] * p.mean[i];
                }
                mean += w * p.c[win][j] + (1 - w) * p.c[1 - win][j] - p.c[2][j];
                long double value = mean * mean;
                for (size_t i = 0; i < 9; i++)
                    value += row[i / 3] * p.covariance[i] * row[i % 3];
                *(form < 2 ? &square[form] : &mixed) += value;
            }
        const struct answer output = line(&p, MOEG_MIX_OUTPUT, tau), loss = line(&p, MOEG_MIX_LOSS, tau);
        assert_relative(output.hard.value, (double)square[0], 4 * EPS);
        assert_relative(output.soft.value, (double)mixed, 20 * EPS);
        assert_relative(loss.gap.value, (double)(q * (square[1] - square[0])), 20 * EPS);
        assert_near(output.gap.value, (double)(mixed - square[0]), output.gap.quad_error);
        problem_free(&p);
    }
    /* A bias so large that s varies by less than a part in 1e20 is the same. */
    p.W[0] += 1;
    p.b[0] = 1e25;
    problem_build(&p);
    const moeg_estimate cool = line(&p, MOEG_MIX_LOSS, 1e23).gap, warm = line(&p, MOEG_MIX_LOSS, 1e300).gap;
    assert_relative(cool.value, warm.value * 2 / (1 + exp(100)), 100 * EPS);
    assert_true(warm.value != 0);
    problem_free(&p);
    /* A covariance without any variance across the interface is the same. */
    problem_draw(&p, 3, 2, 2, 1);
    const double singular[] = {1, -1, -1, 1};
    memcpy(p.covariance, singular, sizeof singular);
    p.W[0] = p.W[1] = 0.731;
    p.W[2] = p.W[3] = -0.2;
    problem_build(&p);
    double slope = 42;
    assert_status(moeg_boundary_slope(p.router, p.law, &slope), MOEG_EDOM, "constant");
    assert_near(slope, 42, 0);
    const moeg_estimate e = line(&p, MOEG_MIX_LOSS, 0.1).gap;
    assert_true(e.value != 0 && e.quad_error < 1e-13 * fabs(e.value));
    problem_free(&p);
}

static void a_masked_expert_leaves_no_gap(void **state)
{
    (void)state;
    for (size_t masked = 0; masked < 2; masked++) {
        struct problem p;
        problem_draw(&p, 5, 2, 2, 1);
        p.b[masked] = -INFINITY;
        p.A[masked][1] = 1e200; /* Its output is left out, whatever it is. */
        p.c[masked][0] = 1e308;
        problem_build(&p);
        for (int i = 0; i < 2; i++) {
            const struct answer a = line(&p, both[i], 1e300);
            assert_near(a.gap.value, 0, 0);
            assert_near(a.gap.quad_error, 0, 0);
            assert_near(a.soft.value, a.hard.value, 0);
            assert_true(a.hard.value > 0);
        }
        moeg_leading leading = {.coefficient = 42};
        assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &leading));
        assert_near(leading.coefficient, 0, 0);
        problem_free(&p);
    }
}

/* Data far from the origin, where W x + b cancels: b = -(W x rounded), so that the same problem around 0 has exactly
 * fma(W, mean, b), and so for the experts. Products of 106 bits are seen in full. */
static void a_mean_far_from_the_origin(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct problem p, centred;
        problem_draw(&p, 600 + seed, 2, 2, 2);
        centred = p;
        centred.mean[0] = centred.mean[1] = 0;
        p.mean[0] = 1e15 * (1 + 0.385 * problem_number(seed, 1));
        p.mean[1] = 0;
        for (size_t k = 0; k < 3; k++)
            for (size_t j = 0; j < 2; j++) {
                p.c[k][j] = -(p.A[k][2 * j] * p.mean[0]);
                centred.c[k][j] = fma(p.A[k][2 * j], p.mean[0], p.c[k][j]);
            }
        for (size_t k = 0; k < 2; k++) {
            p.b[k] = -(p.W[2 * k] * p.mean[0]);
            centred.b[k] = fma(p.W[2 * k], p.mean[0], p.b[k]);
        }
        problem_build(&p);
        problem_build(&centred);
        for (int i = 0; i < 2; i++) {
            const struct answer a = line(&p, both[i], 0.3), expected = line(&centred, both[i], 0.3);
            assert_relative(a.hard.value, expected.hard.value, 4 * EPS);
            assert_relative(a.soft.value, expected.soft.value, 4 * EPS);
            assert_near(a.gap.value, expected.gap.value, 4 * EPS * a.hard.value);
        }
        double slope, expected;
        assert_ok(moeg_boundary_slope(p.router, p.law, &slope));
        assert_ok(moeg_boundary_slope(centred.router, centred.law, &expected));
        assert_relative(slope, expected, 2 * EPS);
        problem_free(&p);
        problem_free(&centred);
    }
}

/* Two features that are one but for 2^-40: their difference, which decides, has the variance 2^-39 exactly, the small
 * rest of four terms of order 1 that need 106 bits each. */
static void features_that_are_nearly_one(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct problem p;
        double slope;
        problem_draw(&p, 700 + seed, 2, 2, 1);
        const double spread = exp2(-40);
        const double covariance[] = {1, 1 - spread, 1 - spread, 1};
        memcpy(p.covariance, covariance, sizeof covariance);
        p.mean[0] = p.mean[1] = p.W[2] = 0;
        p.b[1] = p.b[0];
        p.W[1] = -p.W[0];
        p.W[3] = 1e-12 * p.W[0] * problem_number(seed, 1);
        problem_build(&p);
        /* v = (k, -k - e): v'Sv = e^2 + 2 k (k + e) spread. */
        const long double k = p.W[0], e = p.W[3], variance = 2 * k * (k + e) * spread + e * e;
        assert_ok(moeg_boundary_slope(p.router, p.law, &slope));
        assert_relative(slope, (double)(2 / sqrtl(2 * 3.14159265358979323846L * variance)), 2 * EPS);
        problem_free(&p);
    }
}

/* The near expert is m, the far one gives `far`; both weigh the same where z = 0. */
static void overflows_are_told(void **state)
{
    (void)state;
    struct problem p;
    double slope = 42;
    moeg_leading leading = {.coefficient = 42};
    moeg_estimate gap = {.value = 42};
    const double tau = 0.3;
    const moeg_sampling s = line_options();
    for (int constant = 0; constant < 2; constant++) {
        problem_draw(&p, 3, 2, 1, 1);
        memset(p.A, 0, sizeof p.A);
        memset(p.b, 0, sizeof p.b);
        p.mean[0] = 0;
        p.W[0] = constant ? p.W[1] : 1 + p.W[1];
        p.c[0][0] = p.c[2][0] = constant ? -0.65e154 : 0;
        p.c[1][0] = constant ? 0.65e154 : 1e154;
        if (constant)
            p.c[2][0] = 0.69e154;
        problem_build(&p);
        assert_status(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &gap), MOEG_ERANGE,
                      "risk_gap: the gap overflows at tau = 0.3");
        problem_free(&p);
    }
    problem_draw(&p, 3, 2, 1, 1);
    p.A[0][0] = p.A[1][0] = 1.2e154;
    problem_build(&p);
    assert_status(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, &tau, &s, &gap), MOEG_ERANGE,
                  "risk_gap: the hard risk overflows");
    problem_free(&p);
    problem_draw(&p, 3, 2, 1, 1);
    p.W[0] = 1e-310;
    p.W[1] = p.b[0] = p.b[1] = p.mean[0] = 0;
    problem_build(&p);
    assert_status(moeg_boundary_slope(p.router, p.law, &slope), MOEG_ERANGE, "boundary_slope: the slope overflows");
    assert_status(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &leading), MOEG_ERANGE,
                  "leading_term: the coefficient overflows");
    assert_true(gap.value == 42 && slope == 42 && leading.coefficient == 42);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_and_huge_temperatures),    cmocka_unit_test(exponentially_small_gaps),
        cmocka_unit_test(squared_gates_far_from_gates),  cmocka_unit_test(a_far_teacher_costs_no_digits),
        cmocka_unit_test(far_from_the_interface),        cmocka_unit_test(constant_difference_of_logits),
        cmocka_unit_test(a_masked_expert_leaves_no_gap), cmocka_unit_test(a_mean_far_from_the_origin),
        cmocka_unit_test(features_that_are_nearly_one),  cmocka_unit_test(overflows_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
