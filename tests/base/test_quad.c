#include "base/quad.h"
#include "support/check.h"
#include "support/failing_alloc.h"

#include <string.h>

static const double PI = 3.14159265358979323846;

/* An integrand of the battery: parameters, and what is known of it. */
typedef struct integrand {
    int kind;
    double a, b;
    unsigned long calls;
} integrand;

enum { POLYNOMIAL, GAUSSIAN, LOGISTIC, KINK, PEAK, ODD, ROOT, RATIONAL, STEP };

/* One value of each kind; a is a width or a degree, b an abscissa of the centre. */
static void evaluate(double t, void *user, double *values)
{
    integrand *f = user;
    f->calls++;
    const double u = t / f->a;
    switch (f->kind) {
    case POLYNOMIAL:
        values[0] = pow(t, f->a);
        break;
    case GAUSSIAN: /* density of N(-b, a^2) at offset t */
        values[0] = exp(-0.5 * (t + f->b) * (t + f->b) / (f->a * f->a)) / (f->a * sqrt(2 * PI));
        break;
    case LOGISTIC: /* a soft gate of temperature a */
        values[0] = 1 / (1 + exp(fabs(u)));
        break;
    case KINK:
        values[0] = fabs(t);
        break;
    case PEAK: /* a^2/(t^2 + a^2), Cauchy's peak at the centre */
        values[0] = 1 / (1 + u * u);
        break;
    case ODD:
        values[0] = t * exp(-u * u);
        break;
    case ROOT: /* an endpoint singularity: no panel is fine enough */
        values[0] = sqrt(fabs(t));
        break;
    case RATIONAL: /* a peak of width a that is not where the panels expect it */
        values[0] = 1 / (1 + (t - f->b) * (t - f->b) / (f->a * f->a));
        break;
    case STEP:
        values[0] = t > f->b;
        break;
    default:
        fail();
    }
}

static void integrate(int kind, double a, double b, double lo, double hi, double finest, double widest,
                      double *integral, double *error)
{
    integrand f = {kind, a, b, 0};
    assert_ok(moeg_quad_graded(evaluate, &f, 1, lo, hi, finest, widest, integral, error));
}

/* The true error is within the error bar, and, where the rule must be exact, within `relative` of the integral. */
static void check_case(int kind, double a, double b, double lo, double hi, double finest, double widest,
                       double expected, double relative)
{
    double integral, error;
    integrate(kind, a, b, lo, hi, finest, widest, &integral, &error);
    assert_near(integral, expected, error);
    assert_near(integral, expected, relative * fabs(expected));
}

static void the_rule_is_exact_to_its_degree(void **state)
{
    (void)state;
    for (int degree = 0; degree <= 40; degree++) {
        double kronrod = 0, gauss = 0;
        for (size_t i = 0; i < MOEG_QUAD_NODES; i++) {
            const double power = pow(moeg_quad_rule[i].node, degree);
            const double both = i == 0 ? power : (degree % 2 == 0 ? 2 * power : 0);
            kronrod += both * moeg_quad_rule[i].kronrod;
            gauss += both * moeg_quad_rule[i].gauss;
        }
        const double exact = degree % 2 == 0 ? 2.0 / (degree + 1) : 0;
        assert_near(kronrod, exact, degree <= 31 ? 8 * EPS : 1e-8);
        assert_near(gauss, exact, degree <= 19 ? 8 * EPS : 1e-2);
        if (degree == 32)
            assert_true(fabs(kronrod - exact) > 1e-13);
        if (degree == 20)
            assert_true(fabs(gauss - exact) > 1e-7);
    }
}

/* Soft gates of all temperatures at the centre: 2 eps log(2/(1 + e^(-1/eps))) on [-1, 1]; and times 1e-12 and less. */
static void soft_gates_of_all_widths(void **state)
{
    (void)state;
    for (double eps = 10; eps > 1e-300; eps *= 0.037) {
        const double expected = 2 * eps * (log(2) - log1p(exp(-1 / eps)));
        /* Finest panels from much finer to somewhat coarser than the gate. */
        for (double ratio = 0.25; ratio <= 2; ratio *= 2) {
            if (ratio * eps > 0.5)
                check_case(LOGISTIC, eps, 0, -1, 1, 0.5, 0.5, expected, 1e-14);
            else
                check_case(LOGISTIC, eps, 0, -1, 1, ratio * eps, 0.5, expected, 1e-14);
        }
    }
}

/* phi(t) * 1/(1 + e^|t|/eps) * polynomial, centre at abscissa c, against the same with panels a quarter as wide. */
static void gated_moments(double t, void *user, double *values)
{
    const double *p = user, x = p[1] + t;
    const double base = exp(-0.5 * x * x) / sqrt(2 * PI) / (1 + exp(fabs(t) / p[0]));
    for (size_t j = 0; j < 4; j++)
        values[j] = base * pow(x, (double)j) + (j == 3 ? base * fabs(t) : 0);
}

static void gated_moments_converge(void **state)
{
    (void)state;
    for (double eps = 1; eps > 1e-14; eps *= 0.1)
        for (double centre = -3; centre <= 3; centre += 1.7) {
            double p[] = {eps, centre}, integral[4], error[4], fine[4];
            assert_ok(
                moeg_quad_graded(gated_moments, p, 4, -9 - centre, 9 - centre, fmin(eps, 0.5), 0.5, integral, error));
            assert_ok(
                moeg_quad_graded(gated_moments, p, 4, -9 - centre, 9 - centre, fmin(eps, 0.5) / 4, 0.125, fine, NULL));
            /* Relative to the zeroth moment times 3^j, the size of |x|^j where the mass is. */
            for (size_t j = 0; j < 4; j++) {
                assert_near(integral[j], fine[j], 1e-14 * integral[0] * pow(3.5, (double)j));
                assert_near(integral[j], fine[j], 2 * error[j]);
                assert_true(error[j] <= 1e-12 * integral[0] * pow(3.5, (double)j));
            }
        }
}

/* The error bar over smooth, kinked, peaked and badly chosen integrands; where the panels suit, to rounding. */
static void the_error_bar_is_honest(void **state)
{
    (void)state;
    check_case(POLYNOMIAL, 0, 0, -2.385, 1.5, 0.1, 0.7, 3.885, 4 * EPS);
    check_case(POLYNOMIAL, 7, 0, -0.5, 2, 0.1, 1, (256 - pow(0.5, 8)) / 8, 8 * EPS);
    check_case(POLYNOMIAL, 31, 0, 0, 1, 1, 1, 1.0 / 32, 32 * EPS);
    check_case(KINK, 1, 0, -2, 3, 0.3, 0.3, 6.5, 4 * EPS);
    check_case(KINK, 1, 0, -1e-12, 2e-12, 1e-13, 1, 2.5e-24, 4 * EPS);
    for (double width = 1; width > 1e-15; width /= 7) {
        check_case(PEAK, width, 0, -1, 1, width / 2 < 0.5 ? width / 2 : 0.5, 0.5, 2 * width * atan(1 / width), 1e-14);
        check_case(GAUSSIAN, width, 0, -1, 1, width, 1, erf(1 / width / sqrt(2)), 1e-13);
        /* Off the centre by its own width, and with an end inside. */
        check_case(GAUSSIAN, width, -width, -width, 1, width, 1,
                   0.5 * (erf(2 / sqrt(2)) + erf((1 - width) / width / sqrt(2))), 1e-13);
    }
    /* The peak that QUADPACK's qags misses, N(0.64449662, 0.19^2) over [-1e5, 0.5], with the centre on it. */
    const double c = 0.64449662;
    check_case(GAUSSIAN, 0.19, 0, -1e5 - c, 0.5 - c, 0.19, 1e4, 0.22347533732644603, 1e-14);
    /* Panels too wide for the integrand: a poor integral, and a bar that says so. */
    check_case(ROOT, 1, 0, -1, 1, 0.5, 0.5, 4.0 / 3, 1e-4);
    check_case(GAUSSIAN, 0.05, 0, -1, 1, 1, 1, 1, 0.5);
    for (double width = 1; width > 0.07; width *= 0.8)
        for (double b = -0.9; b < 1; b += 0.17)
            check_case(RATIONAL, width, b, -1, 1, 0.5, 0.5, width * (atan((1 - b) / width) + atan((1 + b) / width)),
                       1e-3);
    for (double b = -0.93; b < 1; b += 0.0713) {
        double integral, error;
        integrate(STEP, 1, b, -1, 1, 0.5, 0.5, &integral, &error);
        assert_near(integral, 1 - b, 0.05);
        assert_true(error > 1e-4 && error < 0.2);
    }
}

/* An integral of zero is a result: both sides cancel to the bit, and the error bar is the rounding of what cancelled.
 */
static void zero_integrals(void **state)
{
    (void)state;
    double integral, error;
    integrate(POLYNOMIAL, 1, 0, -1, 1, 0.25, 0.5, &integral, &error);
    assert_near(integral, 0, 0);
    assert_true(error > 0 && error <= 8 * EPS);
    for (double width = 1; width > 1e-14; width /= 10) {
        integrate(ODD, width, 0, -1, 1, width, 1, &integral, &error);
        assert_near(integral, 0, 0);
        assert_true(error > 0 && error <= 1e-9 * width * width);
    }
    integrate(KINK, 1, 0, 2.385, 2.385, 0.1, 0.1, &integral, &error);
    assert_near(integral, 0, 0);
    assert_near(error, 0, 0);
    integrate(KINK, 1, 0, 0, 0, 0.1, 0.1, &integral, &error);
    assert_near(integral, 0, 0);
}

/* Panels are those of the whole line, cut: parts add up, wherever the ends are. */
static void parts_add_up(void **state)
{
    (void)state;
    const double ends[] = {-7, -2.385, -1e-7, 0, 1e-9, 0.3, 0.75, 5};
    for (size_t i = 0; i + 2 < 8; i++) {
        double whole, left, right;
        integrate(GAUSSIAN, 1, 0.4, ends[i], ends[i + 2], 1e-8, 0.5, &whole, NULL);
        integrate(GAUSSIAN, 1, 0.4, ends[i], ends[i + 1], 1e-8, 0.5, &left, NULL);
        integrate(GAUSSIAN, 1, 0.4, ends[i + 1], ends[i + 2], 1e-8, 0.5, &right, NULL);
        assert_near(left + right, whole, 8 * EPS);
        const double exact = 0.5 * (erf((ends[i + 2] + 0.4) / sqrt(2)) - erf((ends[i] + 0.4) / sqrt(2)));
        assert_near(whole, exact, 8 * EPS);
    }
    /* Far away from offset 0 the panels are simply the widest. */
    check_case(GAUSSIAN, 1, -1e5, 1e5 - 3, 1e5 + 3, 1e-8, 0.5, erf(3 / sqrt(2)), 1e-13);
}

static void cost_is_21_calls_a_panel(void **state)
{
    (void)state;
    double integral;
    integrand f = {KINK, 1, 0, 0};
    /* Right: 1, 2, 4, 4 (cut to 2); left: 1, 2 (cut to 0.5). */
    assert_ok(moeg_quad_graded(evaluate, &f, 1, -1.5, 9, 1, 4, &integral, NULL));
    assert_int_equal(f.calls, 6 * 21);
    f.calls = 0;
    assert_ok(moeg_quad_graded(evaluate, &f, 1, 7.5, 9, 1, 4, &integral, NULL));
    assert_int_equal(f.calls, 21);
    assert_near(integral, 0.5 * (81 - 56.25), 16 * EPS * 12);
}

/* A thousand panels that a plain sum would round a thousand times: the rounding left is that of a panel's own 21 terms,
 * which does not grow with their number. */
static void sums_are_compensated(void **state)
{
    (void)state;
    for (double hi = 500; hi <= 50000; hi *= 10) {
        double integral, error;
        integrate(KINK, 1, 0, 0, hi, 1, 1, &integral, &error);
        assert_relative(integral, 0.5 * hi * hi, 2 * EPS);
        assert_relative(error, 4 * EPS * 0.5 * hi * hi, 0.5);
    }
}

static void bad_value(double t, void *user, double *values)
{
    const double *p = user;
    values[0] = 1;
    values[1] = t < p[1] ? 2.385 : p[0];
}

static void bad_arguments_and_values(void **state)
{
    (void)state;
    double integral[] = {0.1, 0.2}, error[] = {0.3, 0.4};
    double p[] = {NAN, 0.5};
    const double bad[] = {NAN, INFINITY, -INFINITY};
    const char *const texts[] = {"quad_graded: integrand 1 is nan at offset 0.5",
                                 "quad_graded: integrand 1 is inf at offset 0.5",
                                 "quad_graded: integrand 1 is -inf at offset 0.5"};
    for (size_t i = 0; i < 3; i++) {
        p[0] = bad[i];
        assert_status(moeg_quad_graded(bad_value, p, 2, -1, 1, 0.1, 0.5, integral, error), MOEG_ERANGE, texts[i]);
        assert_status(moeg_quad_graded(bad_value, p, 2, bad[i], 1, 0.1, 0.5, integral, error), MOEG_EINVAL,
                      "quad_graded: lo and hi must be finite and lo <= hi, got");
        assert_status(moeg_quad_graded(bad_value, p, 2, -1, bad[i], 0.1, 0.5, integral, error), MOEG_EINVAL,
                      "lo <= hi");
        assert_status(moeg_quad_graded(bad_value, p, 2, -1, 1, bad[i], 0.5, integral, error), MOEG_EINVAL,
                      "quad_graded: must have 0 < finest <= widest < inf, got");
        assert_status(moeg_quad_graded(bad_value, p, 2, -1, 1, 0.1, bad[i], integral, error), MOEG_EINVAL, "finest");
    }
    assert_status(moeg_quad_graded(bad_value, p, 2, 1, -1, 0.1, 0.5, integral, error), MOEG_EINVAL, "got 1 and -1");
    assert_status(moeg_quad_graded(bad_value, p, 2, -1, 1, 0, 0.5, integral, error), MOEG_EINVAL, "got 0 and 0.5");
    assert_status(moeg_quad_graded(bad_value, p, 2, -1, 1, 0.6, 0.5, integral, error), MOEG_EINVAL, "got 0.6 and 0.5");
    assert_status(moeg_quad_graded(bad_value, p, 2, -1, 1e7, 0.1, 0.5, integral, error), MOEG_EINVAL,
                  "quad_graded: [lo, hi] = [-1, 1e+07] must be within 1048576 panels of width 0.5");
    p[0] = 1e308;
    assert_status(moeg_quad_graded(bad_value, p, 2, 0, 8, 0.1, 0.5, integral, error), MOEG_ERANGE,
                  "quad_graded: integral 1 overflows");
    assert_near(integral[0] + integral[1] + error[0] + error[1], 1, 2 * EPS);
    assert_ok(moeg_quad_graded(bad_value, p, 0, 0, 0, 0.1, 0.5, NULL, NULL));
}

static moeg_status scenario(void *user)
{
    double integral = 0.1, error = 0.2;
    const moeg_status status = moeg_quad_graded(evaluate, user, 1, -1, 1, 0.1, 0.5, &integral, &error);
    if (status != MOEG_OK)
        assert_true(integral == 0.1 && error == 0.2);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    integrand f = {KINK, 1, 0, 0};
    assert_int_equal(fail_every_allocation(scenario, &f), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_is_exact_to_its_degree),
        cmocka_unit_test(soft_gates_of_all_widths),
        cmocka_unit_test(gated_moments_converge),
        cmocka_unit_test(the_error_bar_is_honest),
        cmocka_unit_test(zero_integrals),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(cost_is_21_calls_a_panel),
        cmocka_unit_test(sums_are_compensated),
        cmocka_unit_test(bad_arguments_and_values),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
