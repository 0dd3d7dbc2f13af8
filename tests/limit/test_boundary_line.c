/* Boundary mass, slope and quantile in closed form against quadrature in long double. */
#include "limit/boundary.h"

#include <float.h>

/* P(|z + t| <= h), t ~ N(0, 1), by tanh-sinh quadrature on [-h, h]: no difference of large numbers, and each halving of
 * the step doubles the digits. */
static long double tanh_sinh_mass(long double z, long double h)
{
    const long double step = 1.0L / 128, half_pi = 1.57079632679489661923L;
    const long double end = fminl(h, z + 40), start = -fminl(h, 40), half = (end - start) / 2;
    long double sum = 0;
    for (int k = -512; k <= 512; k++) {
        const long double y = half_pi * sinhl(k * step), t = (start + end) / 2 + half * tanhl(y) - z;
        sum += expl(-t * t / 2) * half_pi * coshl(k * step) / (coshl(y) * coshl(y));
    }
    return sum * half * step / root_two_pi;
}

static void exact_mass_at_every_width(void **state)
{
    (void)state;
    static const double distances[] = {0, 1e-9, 0.385, 1, 2.385, 7.1, 20.3, 33.7}; /* In deviations. */
    static const double widths[] = {0,   1e-310, 1e-300, 1e-100, 1e-9, 2.7e-6, 1e-3, 0.0291, 0.1,
                                    0.3, 0.5,    1.1,    2.385,  7,    20,     30,   45,     1e10};
    enum { NW = sizeof widths / sizeof *widths };
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 1, 1);
    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            struct problem p;
            const double variance = 2.25, slope = 0.5;
            make_plain(&p, sign * distances[i] * 1.5, variance, slope, 0);
            const long double deviation = sqrtl(variance) * slope, z = fabsl(p.mean[0]) * slope / deviation;
            moeg_estimate mass[NW];
            assert_ok(moeg_boundary_mass(p.router, p.law, NW, widths, &s, mass));
            for (size_t j = 0; j < NW; j++) {
                const long double h = widths[j] / deviation;
                const long double expected = h < 100 ? tanh_sinh_mass(z, h) : 1;
                /* Below DBL_MIN precision is absolute; the oracle is good to 1e-17 or so. */
                assert_near(mass[j].value, (double)expected, 4 * EPS * (double)expected + DBL_TRUE_MIN);
                assert_near(mass[j].lo, mass[j].value, 0);
                assert_near(mass[j].hi, mass[j].value, 0);
                assert_near(mass[j].std_error, 0, 0);
                assert_int_equal(mass[j].method, MOEG_METHOD_LINE);
                assert_int_equal(mass[j].n, 1);
            }
            double slope_at_0;
            assert_ok(moeg_boundary_slope(p.router, p.law, &slope_at_0));
            assert_relative(slope_at_0, (double)(2 * expl(-z * z / 2) / root_two_pi / deviation), 4 * EPS);
            problem_free(&p);
        }
}

/* The closed form is continuous where it passes from one expression to the next. */
static void expressions_agree_where_they_meet(void **state)
{
    (void)state;
    for (double z = 1.0000001; z < 30; z *= 1.37) {
        struct problem p;
        make_plain(&p, z, 1, 1, 0);
        const moeg_sampling s = options(MOEG_METHOD_LINE, 1, 1);
        const double at[] = {1 / z, z};
        for (int i = 0; i < 2; i++) {
            const double w[] = {at[i] * (1 - 2 * EPS), at[i] * (1 + 2 * EPS)};
            moeg_estimate mass[2];
            assert_ok(moeg_boundary_mass(p.router, p.law, 2, w, &s, mass));
            /* The mass moves by at most w p(w) dw/w over the step. */
            assert_near(mass[0].value, mass[1].value, (8 + 4 * at[i] * (z + 1)) * EPS * mass[0].value);
        }
        problem_free(&p);
    }
}

static void more_dimensions_and_no_covariance(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 4, 2, 5, 1);
    long double mean = (long double)p.b[0] - p.b[1], variance = 0;
    for (size_t i = 0; i < 5; i++) {
        mean += ((long double)p.W[i] - p.W[5 + i]) * p.mean[i];
        for (size_t j = 0; j < 5; j++)
            variance +=
                ((long double)p.W[i] - p.W[5 + i]) * ((long double)p.W[j] - p.W[5 + j]) * p.covariance[i * 5 + j];
    }
    const double w = 0.731;
    const moeg_sampling s = options(MOEG_METHOD_LINE, 1, 1);
    moeg_estimate mass;
    assert_ok(moeg_boundary_mass(p.router, p.law, 1, &w, &s, &mass));
    assert_relative(mass.value, (double)tanh_sinh_mass(fabsl(mean) / sqrtl(variance), w / sqrtl(variance)), 4 * EPS);
    moeg_law *standard;
    assert_ok(moeg_law_gaussian_create(&standard, 5, NULL, NULL));
    mean = (long double)p.b[0] - p.b[1];
    variance = 0;
    for (size_t i = 0; i < 5; i++)
        variance += ((long double)p.W[i] - p.W[5 + i]) * ((long double)p.W[i] - p.W[5 + i]);
    assert_ok(moeg_boundary_mass(p.router, standard, 1, &w, &s, &mass));
    assert_relative(mass.value, (double)tanh_sinh_mass(fabsl(mean) / sqrtl(variance), w / sqrtl(variance)), 4 * EPS);
    moeg_law_free(standard);
    problem_free(&p);
}

/* A covariance of rank one, and rows whose difference lies in its null space but for rounding: no density. */
static void no_variance_but_for_rounding(void **state)
{
    (void)state;
    struct problem p;
    const double u[] = {0.317, 0.731, 1.1};
    problem_draw(&p, 8, 2, 3, 1);
    for (size_t i = 0; i < 9; i++)
        p.covariance[i] = u[i / 3] * u[i % 3];
    const double across[] = {0.731 * 1.1, 0.317 * 1.1, -2 * 0.317 * 0.731};
    for (size_t i = 0; i < 3; i++)
        p.W[3 + i] = p.W[i] + across[i];
    problem_build(&p);
    double slope;
    assert_status(moeg_boundary_slope(p.router, p.law, &slope), MOEG_EDOM, "constant");
    problem_free(&p);
}

static void constant_and_masked_logits(void **state)
{
    (void)state;
    struct problem p;
    problem_draw(&p, 9, 2, 2, 1);
    p.W[2] = p.W[0];
    p.W[3] = p.W[1];
    p.b[0] = 1.5;
    p.b[1] = 1.25;
    problem_build(&p);
    const double w[] = {0.25, 0.2499, 0};
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 1, 1);
    moeg_estimate mass[3];
    double slope = 42;
    assert_ok(moeg_boundary_mass(p.router, p.law, 3, w, &s, mass));
    assert_near(mass[0].value, 1, 0);
    assert_near(mass[1].value, 0, 0);
    assert_near(mass[2].value, 0, 0);
    assert_status(moeg_boundary_slope(p.router, p.law, &slope), MOEG_EDOM, "boundary_slope: the difference");
    assert_near(slope, 42, 0);
    problem_free(&p);
    p.b[0] = -INFINITY;
    problem_build(&p);
    assert_ok(moeg_boundary_mass(p.router, p.law, 3, w, &s, mass));
    assert_near(mass[0].value, 0, 0);
    assert_ok(moeg_boundary_slope(p.router, p.law, &slope));
    assert_near(slope, 0, 0);
    problem_free(&p);
}

/* P(|z + t| > h), from the tails of the normal distribution. */
static long double tails(long double z, long double h)
{
    const long double root_half = 0.70710678118654752440084436210485L;
    return (erfcl((h - z) * root_half) + erfcl((h + z) * root_half)) / 2;
}

/* The quantile lies between the neighbours of where the mass, or for p > 1/2 its complement, passes p. */
static void quantiles_invert_the_mass(void **state)
{
    (void)state;
    static const double distances[] = {0, 1e-9, 0.385, 1, 2.385, 7.1, 20.3};
    static const double p[] = {5e-324, 1e-310, 1e-300, 1e-30, 1e-3, 0.0291, 0.3, 0.5, 0.500001, 0.9, 1 - 0x1p-53, 1};
    enum { NP = sizeof p / sizeof *p };
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 1, 1);
    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
        struct problem q;
        moeg_estimate quantile[NP];
        make_plain(&q, distances[i] * 1.5, 2.25, -0.5, 0);
        const long double deviation = 0.75L, z = distances[i] * 1.5 * 0.5L / deviation;
        assert_ok(moeg_boundary_quantile(q.router, moeg_gap_margin(), q.law, NP, p, &s, quantile));
        for (size_t j = 0; j < NP; j++) {
            const double w = quantile[j].value;
            assert_true(quantile[j].lo == w && quantile[j].hi == w && quantile[j].std_error == 0);
            assert_int_equal(quantile[j].method, MOEG_METHOD_LINE);
            if (p[j] == 1) {
                assert_near(w, INFINITY, 0);
                continue;
            }
            /* Two epsilon of w; below DBL_MIN a quantile is right to the least double. */
            const long double near = (w - 2 * EPS * w - DBL_TRUE_MIN) / deviation;
            const long double far = (w + 2 * EPS * w + DBL_TRUE_MIN) / deviation;
            if (p[j] <= 0.5)
                assert_true(tanh_sinh_mass(z, near) < p[j] && p[j] <= tanh_sinh_mass(z, far));
            else
                assert_true(tails(z, near) > 1 - p[j] && 1 - p[j] >= tails(z, far));
        }
        problem_free(&q);
    }
}

static void quantiles_of_known_exponents(void **state)
{
    (void)state;
    static const double p[] = {1e-300, 1e-9, 0.2385, 0.7, 1 - 0x1p-40};
    enum { NP = sizeof p / sizeof *p };
    const moeg_sampling s = options(MOEG_METHOD_LINE, 1, 1);
    moeg_router *router;
    moeg_law *law;
    moeg_estimate q[NP], z[NP];
    make_family(1, MOEG_MARGIN_POWER, 1, &router, &law);
    assert_ok(moeg_boundary_quantile(router, moeg_gap_margin(), law, NP, p, &s, z)); /* of |z|, z ~ N(0, 1) */
    moeg_router_free(router);
    moeg_law_free(law);
    assert_relative(z[0].value, 1e-300 * sqrt(acos(-1) / 2), 4 * EPS);
    make_family(0.5, MOEG_MARGIN_POWER, 3, &router, &law);
    assert_ok(moeg_boundary_quantile(router, moeg_gap_margin(), law, NP, p, &s, q));
    for (size_t j = 1; j < NP; j++)
        assert_relative(q[j].value, 0.5 * pow(z[j].value, 3), 8 * EPS);
    assert_near(q[0].value, 0, DBL_TRUE_MIN); /* 1e-900 */
    moeg_router_free(router);
    moeg_law_free(law);
    make_family(-2, MOEG_MARGIN_BOUNDED, 0.7, &router, &law);
    assert_ok(moeg_boundary_quantile(router, moeg_gap_margin(), law, NP, p, &s, q));
    for (size_t j = 0; j < NP; j++)
        assert_relative(q[j].value, 2 * (0.7 + z[j].value), 4 * EPS);
    moeg_router_free(router);
    moeg_law_free(law);
    make_family(3, MOEG_MARGIN_RAYLEIGH, 0, &router, &law);
    assert_ok(moeg_boundary_quantile(router, moeg_gap_margin(), law, NP, p, &s, q));
    for (size_t j = 0; j < NP; j++)
        assert_relative(q[j].value, 3 * (double)sqrtl(-2 * log1pl(-(long double)p[j])), 4 * EPS);
    moeg_router_free(router);
    moeg_law_free(law);
}

/* A margin that does not vary, one that is infinite, and one that is 0. */
static void quantiles_of_constant_margins(void **state)
{
    (void)state;
    static const double p[] = {1e-300, 0.5, 1}, bias[] = {1.5, -INFINITY, 0};
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 1, 1);
    for (size_t i = 0; i < 3; i++) {
        struct problem q;
        moeg_estimate quantile[3];
        problem_draw(&q, 9, 2, 2, 1);
        memcpy(q.W + 2, q.W, 2 * sizeof *q.W);
        q.b[0] = bias[i];
        q.b[1] = 0;
        problem_build(&q);
        assert_ok(moeg_boundary_quantile(q.router, moeg_gap_margin(), q.law, 3, p, &s, quantile));
        for (size_t j = 0; j < 3; j++)
            assert_near(quantile[j].value, fabs(bias[i]), 0);
        problem_free(&q);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_mass_at_every_width),         cmocka_unit_test(expressions_agree_where_they_meet),
        cmocka_unit_test(more_dimensions_and_no_covariance), cmocka_unit_test(no_variance_but_for_rounding),
        cmocka_unit_test(constant_and_masked_logits),        cmocka_unit_test(quantiles_invert_the_mass),
        cmocka_unit_test(quantiles_of_known_exponents),      cmocka_unit_test(quantiles_of_constant_margins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
