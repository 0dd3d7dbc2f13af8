/* Differential equations: accuracy against closed solutions, and equations that have no solution so far. */
#include "dynamics/ode.h"
#include "support/check.h"
#include "support/failing_alloc.h"

/* What the equations below are told, and how often they were asked. */
struct told {
    double end;
    long calls;
    moeg_status status;
};

static moeg_status decay(double t, const double *y, double *slope, void *user)
{
    struct told *told = user;
    told->calls++;
    slope[0] = t > told->end ? NAN : -y[0];
    return MOEG_OK;
}

static moeg_status square(double t, const double *y, double *slope, void *user)
{
    (void)t;
    ((struct told *)user)->calls++;
    slope[0] = y[0] * y[0];
    return MOEG_OK;
}

/* An ellipse of eccentricity 0.6, period 2 pi: x'' = -x/|x|^3. */
static moeg_status orbit(double t, const double *y, double *slope, void *user)
{
    (void)t;
    ((struct told *)user)->calls++;
    const double r = hypot(y[0], y[1]), cube = r * r * r;
    slope[0] = y[2];
    slope[1] = y[3];
    slope[2] = -y[0] / cube;
    slope[3] = -y[1] / cube;
    return MOEG_OK;
}

static moeg_status refuse(double t, const double *y, double *slope, void *user)
{
    const struct told *told = user;
    slope[0] = y[0];
    if (t <= told->end)
        return MOEG_OK;
    return told->status;
}

/* y' = -y to 1e-13 of itself where 1e-13 is asked for, at every time, also at 0 and at a time that comes twice. */
static void test_decay(void **state)
{
    (void)state;
    struct told told = {.end = INFINITY};
    const double times[] = {0, 0.25, 0.25, 3.7, 30}, start = 2.385;
    double y[5];
    assert_ok(moeg_ode_run("test", 1, decay, &told, &start, 5, times, 1e-13, 1e-300, y));
    for (size_t i = 0; i < 5; i++)
        assert_relative(y[i], 2.385 * exp(-times[i]), 1e-12);
    assert_true(y[0] == start && y[1] == y[2] && told.calls < 5000);
}

/* After ten turns of an eccentric orbit the error is some hundred tolerances, and less for smaller ones. */
static void test_orbit(void **state)
{
    (void)state;
    const double start[] = {0.4, 0, 0, 2}, end = 20 * 3.14159265358979323846;
    double last = INFINITY;
    for (double tolerance = 1e-6; tolerance > 1e-12; tolerance /= 100) {
        struct told told = {0};
        double y[4];
        assert_ok(moeg_ode_run("test", 4, orbit, &told, start, 1, &end, tolerance, tolerance, y));
        const double error = hypot(hypot(y[0] - 0.4, y[1]), hypot(y[2], y[3] - 2));
        assert_true(error < 2000 * tolerance && error < last && told.calls < 20000);
        last = error;
    }
}

/* Slopes that are NaN for t > 0.5: an error, at 0.5, and no number made up after it. */
static void test_not_finite(void **state)
{
    (void)state;
    struct told told = {.end = 0.5};
    const double times[] = {0.25, 0.5, 0.75, 1}, start = 1;
    double y[4], at;
    assert_status(moeg_ode_run("test", 1, decay, &told, &start, 4, times, 1e-10, 1e-10, y), MOEG_EUNABLE, "not finite");
    assert_int_equal(sscanf(strstr(moeg_last_error(), "time "), "time %lf", &at), 1);
    assert_true(at <= 0.5 && at > 0.4999 && told.calls < 50000);
    assert_relative(y[0], exp(-0.25), 1e-9);
    assert_true(isnan(y[2]) && isnan(y[3]));
    told.end = -1; /* from the start */
    assert_status(moeg_ode_run("test", 1, decay, &told, &start, 1, times, 1e-10, 1e-10, y), MOEG_EUNABLE, "time 0 on");
    assert_true(isnan(y[0]));
}

/* y' = y^2, y(0) = 1, is 1/(1 - t): 2 at 0.5, and no more at 1. */
static void test_blow_up(void **state)
{
    (void)state;
    struct told told = {0};
    const double times[] = {0.5, 0.99, 2}, start = 1;
    double y[3], at;
    assert_status(moeg_ode_run("test", 1, square, &told, &start, 3, times, 1e-12, 1e-12, y), MOEG_EUNABLE, "time ");
    assert_int_equal(sscanf(strstr(moeg_last_error(), "time "), "time %lf", &at), 1);
    assert_near(at, 1, 1e-9);
    assert_relative(y[0], 2.0, 1e-10);
    assert_relative(y[1], 100.0, 1e-8);
    assert_true(isnan(y[2]) && told.calls < 100000);
}

static moeg_status stiff(double t, const double *y, double *slope, void *user)
{
    (void)t;
    (void)user;
    slope[0] = -1e8 * y[0];
    return MOEG_OK;
}

/* A stiff equation wants steps of 1e-7 or less: there is an end to them, and the message says when. */
static void test_too_many_steps(void **state)
{
    (void)state;
    const double times[] = {1e-3, 1}, start = 1;
    double y[2], at;
    assert_status(moeg_ode_run("test", 1, stiff, NULL, &start, 2, times, 1e-3, 1e-3, y), MOEG_EUNABLE,
                  "more than 1000000");
    assert_int_equal(sscanf(strstr(moeg_last_error(), "time "), "time %lf", &at), 1);
    assert_true(at > 0.01 && at < 0.2 && fabs(y[0]) < 0.1 && isnan(y[1]));
}

/* An error of the function's ends the run as it is, with outputs untouched; but for one of range, which asks for a
 * shorter step. */
static void test_errors(void **state)
{
    (void)state;
    const double end = 1, start = 1;
    for (int range = 0; range < 2; range++)
        for (int later = 0; later < 2; later++) {
            struct told told = {.end = later ? 0.5 : -1, .status = range ? MOEG_ERANGE : MOEG_ECALLBACK};
            double y = 2.385;
            const moeg_status status = moeg_ode_run("test", 1, refuse, &told, &start, 1, &end, 1e-9, 1e-9, &y);
            assert_int_equal(status, range ? MOEG_EUNABLE : MOEG_ECALLBACK);
            assert_true(range ? isnan(y) : y == 2.385);
        }
}

static moeg_status ramp(double t, const double *y, double *slope, void *user)
{
    (void)t;
    (void)y;
    (void)user;
    slope[0] = 1;
    return MOEG_OK;
}

/* From 0, with an absolute tolerance that resolves nothing: the first step is short, but a step. */
static void test_tiny_tolerance(void **state)
{
    (void)state;
    static const double tolerances[] = {1e-300, 1e-320};
    const double end = 2, start = 0;
    for (int k = 0; k < 2; k++) {
        double y = NAN;
        assert_ok(moeg_ode_run("test", 1, ramp, NULL, &start, 1, &end, 1e-3, tolerances[k], &y));
        assert_relative(y, 2.0, 1e-3);
        assert_ok(moeg_ode_run("test", 1, ramp, NULL, &start, 1, &end, 10, tolerances[k], &y));
        assert_relative(y, 2.0, 1e-3);
    }
}

static moeg_status run_decay(void *user)
{
    const double times[] = {0.5, 1}, start = 1;
    double y[2] = {7, 7};
    const moeg_status status = moeg_ode_run("test", 1, decay, user, &start, 2, times, 1e-9, 1e-9, y);
    assert_true(status == MOEG_OK ? y[1] < 1 : y[0] == 7 && y[1] == 7);
    return status;
}

static void test_memory(void **state)
{
    (void)state;
    struct told told = {.end = INFINITY};
    assert_true(fail_every_allocation(run_decay, &told) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decay),          cmocka_unit_test(test_orbit),          cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_blow_up),        cmocka_unit_test(test_errors),         cmocka_unit_test(test_memory),
        cmocka_unit_test(test_too_many_steps), cmocka_unit_test(test_tiny_tolerance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
