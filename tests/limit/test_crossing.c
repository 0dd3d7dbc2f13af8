/* First crossings of curves that the test makes up. */
#include "limit/crossing.h"
#include "support/check.h"

#include <moegeom/moegeom.h>

/* value and half-width of the interval at tau; counts the calls and refuses past `most` of them. */
struct curve {
    double (*value)(double tau), (*half)(double tau);
    size_t calls, points, most;
};

static moeg_status look(const void *user, size_t n, const double *tau, moeg_estimate *estimates)
{
    struct curve *c = (struct curve *)(uintptr_t)user;
    assert_true(n >= 1 && n <= MOEG_CROSSING_MOST);
    c->calls++;
    c->points += n;
    if (c->calls > c->most)
        return MOEG_ECANCELED;
    for (size_t t = 0; t < n; t++) {
        const double value = c->value(tau[t]), half = c->half(tau[t]);
        estimates[t] = (moeg_estimate){.value = value, .lo = value - half, .hi = value + half, .n = (uint64_t)c->calls};
    }
    return MOEG_OK;
}

static double falling(double tau)
{
    return -pow(tau, 1.3);
}

static double share(double tau)
{
    return 0.1 * pow(tau, 1.3);
}

static double none(double tau)
{
    (void)tau;
    return 0;
}

static moeg_search search_of(struct curve *c, double size, double lo, double hi, double width)
{
    return (moeg_search){look, c, size, lo, hi, width};
}

static void limits_and_value_are_the_roots(void **state)
{
    (void)state;
    for (int exact = 0; exact < 2; exact++) {
        struct curve c = {falling, share, .most = SIZE_MAX};
        moeg_crossing found[MOEG_CROSSINGS];
        moeg_estimate last;
        const moeg_search search = search_of(&c, 2.385, 1e-4, 1e3, exact ? 0 : 1e-4);
        assert_ok(moeg_search_run(&search, found, &last));
        for (int which = 0; which < MOEG_CROSSINGS; which++) {
            const double root = pow(2.385 / (1.1 - 0.1 * which), 1 / 1.3);
            assert_true(found[which].found && found[which].inside);
            /* Interpolation: (1e-4)^2/8 of the curvature, 0.4. Doubles: of the power. */
            assert_relative(moeg_crossing_locate(&search, &found[which]), root, exact ? 8 * EPS : 1e-9);
            assert_true(found[which].at_below <= 2.385 && found[which].at_above > 2.385);
            if (exact)
                assert_near(nextafter(found[which].below, INFINITY), found[which].above, 0);
        }
        /* 7 decades, of which it looks at 16 temperatures at a time; 4 passes, or 17 for 52 bits. */
        assert_true(c.calls <= (exact ? 21 : 8));
        assert_true(last.value < -2.385 && last.value > -2.385 * 1.5);
    }
}

/* Two bumps, at 1e-2 and at 1e1, and zero at 0.3 where the sign changes. */
static double bumps(double tau)
{
    const double l = log10(tau);
    return exp(-8 * (l + 2) * (l + 2)) - 3 * exp(-8 * (l - 1) * (l - 1));
}

static void the_first_of_several_counts(void **state)
{
    (void)state;
    struct curve c = {bumps, none, .most = SIZE_MAX};
    moeg_crossing found[MOEG_CROSSINGS];
    moeg_estimate last;
    moeg_search search = search_of(&c, 0.5, 1e-5, 1e3, 0);
    assert_ok(moeg_search_run(&search, found, &last));
    for (int which = 0; which < MOEG_CROSSINGS; which++)
        assert_relative(found[which].below, pow(10, -2 - sqrt(log(2) / 8)), 64 * EPS);
    search.size = 1.5;
    assert_ok(moeg_search_run(&search, found, &last));
    assert_relative(found[MOEG_CROSSING_VALUE].below, pow(10, 1 - sqrt(log(2) / 8)), 64 * EPS);
    search.size = 3.01;
    assert_ok(moeg_search_run(&search, found, &last));
    assert_true(!found[MOEG_CROSSING_VALUE].found && !found[MOEG_CROSSING_VALUE].inside);
    search.lo = 1e-2;
    search.size = 0.99;
    assert_ok(moeg_search_run(&search, found, &last));
    assert_true(found[MOEG_CROSSING_VALUE].found && !found[MOEG_CROSSING_VALUE].inside);
    assert_near(last.value, 1, 1e-10);
}

/* The interval knows nothing below 1e-2. */
static double blind(double tau)
{
    return tau < 1e-2 ? INFINITY : share(tau);
}

static void infinite_limits_are_above(void **state)
{
    (void)state;
    struct curve c = {falling, blind, .most = SIZE_MAX};
    moeg_crossing found[MOEG_CROSSINGS];
    moeg_estimate last;
    const moeg_search search = search_of(&c, 2.385, 1e-4, 1e3, 1e-4);
    assert_ok(moeg_search_run(&search, found, &last));
    assert_true(found[MOEG_CROSSING_UPPER].found && !found[MOEG_CROSSING_UPPER].inside);
    assert_true(isinf(found[MOEG_CROSSING_UPPER].at_above));
    assert_true(found[MOEG_CROSSING_VALUE].inside && found[MOEG_CROSSING_LOWER].inside);
    assert_relative(moeg_crossing_locate(&search, &found[MOEG_CROSSING_VALUE]), pow(2.385, 1 / 1.3), 1e-9);
}

static double step(double tau)
{
    return tau < 0.123 ? 0.1 : INFINITY;
}

/* A bracket whose upper end is infinite is not interpolated into. */
static void a_jump_to_infinity(void **state)
{
    (void)state;
    struct curve c = {step, none, .most = SIZE_MAX};
    moeg_crossing found[MOEG_CROSSINGS];
    moeg_estimate last;
    const moeg_search search = search_of(&c, 2.385, 1e-4, 1e3, 1e-4);
    assert_ok(moeg_search_run(&search, found, &last));
    const double at = moeg_crossing_locate(&search, &found[MOEG_CROSSING_VALUE]);
    assert_true(at < 0.123 && at > 0.123 * (1 - 2e-4));
}

static void the_ends_of_double(void **state)
{
    (void)state;
    struct curve c = {falling, share, .most = SIZE_MAX};
    moeg_crossing found[MOEG_CROSSINGS];
    moeg_estimate last;
    const moeg_search search = search_of(&c, 2.385, 1e-300, 1e300, 0);
    assert_ok(moeg_search_run(&search, found, &last));
    assert_relative(found[MOEG_CROSSING_VALUE].below, pow(2.385, 1 / 1.3), 8 * EPS);
    /* Neighbours as ends: a grid of 9 that are not all different. */
    const moeg_search none_between = search_of(&c, 1, 1 - EPS, 1 + EPS, 0);
    assert_ok(moeg_search_run(&none_between, found, &last));
    assert_near(found[MOEG_CROSSING_VALUE].below, 1, EPS);
}

static void a_curve_that_stops_is_obeyed(void **state)
{
    (void)state;
    for (size_t most = 0; most < 7; most++) {
        struct curve c = {falling, share, .most = most};
        moeg_crossing found[MOEG_CROSSINGS];
        moeg_estimate last;
        const moeg_search search = search_of(&c, 2.385, 1e-4, 1e3, 1e-4);
        assert_int_equal(moeg_search_run(&search, found, &last), MOEG_ECANCELED);
        assert_int_equal(c.calls, most + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_and_value_are_the_roots),
        cmocka_unit_test(the_first_of_several_counts),
        cmocka_unit_test(infinite_limits_are_above),
        cmocka_unit_test(a_jump_to_infinity),
        cmocka_unit_test(the_ends_of_double),
        cmocka_unit_test(a_curve_that_stops_is_obeyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
