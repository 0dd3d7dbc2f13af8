/* Growth rates and thresholds of output mixing, drift: the reference cases, the ends of their ranges, errors. */
#include "dynamics/symmetry_cases.h"
#include "support/failing_alloc.h"

static void rates_equal_the_reference(void **state)
{
    (void)state;
    struct symmetry_case *cases = symmetry_cases();
    const moeg_symmetry_rates plain = moeg_symmetry_rates_default();
    const double factors[] = {0.5, 0.9, 2};
    size_t count = 0;
    for (size_t k = 0; k < CASES; k++) {
        const struct symmetry_case *c = &cases[k];
        double growth, tau;
        for (size_t t = 0; t < c->taus; t++, count++) {
            assert_ok(moeg_symmetry_growth(c->sigma[0], c->rate_tau[t], &plain, &growth));
            assert_relative(growth, c->growth[t], 4 * EPS);
        }
        for (size_t t = 0; t < c->decays; t++, count++) {
            assert_ok(moeg_symmetry_threshold(c->sigma[0], &c->decay[t], &tau));
            assert_relative(tau, c->tau_c[t], 8 * EPS);
            for (size_t f = 0; f < 3; f++) {
                assert_ok(moeg_symmetry_growth(c->sigma[0], c->tau_c[t] * factors[f], &c->decay[t], &growth));
                /* Over the distance to the threshold, a tenth of its two terms. */
                assert_relative(growth, c->decayed_growth[t][f], 100 * EPS);
            }
        }
    }
    assert_int_equal(count, 31 * (CASE_TAUS + CASE_DECAYS));
    free(cases);
}

static double growth_at(double sigma, double tau, const moeg_symmetry_rates *rates)
{
    double growth;
    assert_ok(moeg_symmetry_growth(sigma, tau, rates, &growth));
    return growth;
}

/* Ends: no decay of one or of both, sigma = 0, the threshold itself, products that would overflow. */
static void growth_at_its_ends(void **state)
{
    (void)state;
    moeg_symmetry_rates rates = moeg_symmetry_rates_default();
    double tau;
    assert_true(growth_at(0, 1, &rates) == 0);
    assert_relative(growth_at(1.5, 1e-300, &rates), 1.5e300, 2 * EPS);
    assert_relative(growth_at(1.5, 1e300, &rates), 1.5e-300, 2 * EPS);
    rates = (moeg_symmetry_rates){1e300, 1e300, 0, 0};
    assert_relative(growth_at(1e-10, 1, &rates), 1e290, 4 * EPS);
    assert_ok(moeg_symmetry_threshold(1e-10, &rates, &tau));
    assert_true(tau == INFINITY);
    assert_ok(moeg_symmetry_threshold(0, &rates, &tau));
    assert_true(tau == 0);
    rates = (moeg_symmetry_rates){0.8, 1.5, 0.3, 0};
    assert_ok(moeg_symmetry_threshold(1, &rates, &tau));
    assert_true(tau == INFINITY);
    /* -0.15 + sqrt(0.15^2 + r^2) = r^2/0.3 at small r = 1e-12 sqrt 1.2, where the difference would be 0. */
    assert_relative(growth_at(1, 1e12, &rates), 1.2e-24 / 0.3, 8 * EPS);
    rates = (moeg_symmetry_rates){2, 0.5, 0.05, 0.6};
    assert_near(growth_at(0, 1, &rates), -0.05, EPS);
    assert_ok(moeg_symmetry_threshold(0.7, &rates, &tau));
    assert_near(growth_at(0.7, tau, &rates), 0, 2 * EPS);
    assert_true(growth_at(0.7, tau * (1 - 1e-14), &rates) > 0);
    assert_true(growth_at(0.7, tau * (1 + 1e-14), &rates) < 0);
    rates = (moeg_symmetry_rates){1e300, 1e300, 1e300, 1e300};
    assert_relative(growth_at(3, 2, &rates), 0.5e300, 8 * EPS);
}

static void drift(void **state)
{
    (void)state;
    const double M[] = {1, 2, 3, -4, 0.5, 6}, c[] = {0.5, -1, 2}, bad[] = {0.5, INFINITY, 2}, big[] = {1e308, 1e308, 0};
    double velocity[2] = {5, 5};
    assert_ok(moeg_symmetry_drift(2, 3, M, c, 3, 0.5, velocity));
    assert_near(velocity[0], 27, 20 * EPS);
    assert_near(velocity[1], 57, 20 * EPS);
    assert_status(moeg_symmetry_drift(0, 3, M, c, 3, 0.5, velocity), MOEG_EINVAL,
                  "symmetry_drift: d must be at least 1");
    assert_status(moeg_symmetry_drift(2, 0, M, c, 3, 0.5, velocity), MOEG_EINVAL, "q must be at least 1");
    assert_status(moeg_symmetry_drift(2, 3, NULL, c, 3, 0.5, velocity), MOEG_EINVAL, "M must not be NULL");
    assert_status(moeg_symmetry_drift(2, 3, M, NULL, 3, 0.5, velocity), MOEG_EINVAL, "c must not be NULL");
    assert_status(moeg_symmetry_drift(2, 3, M, bad, 3, 0.5, velocity), MOEG_EINVAL, "c[1, 0] must be finite, got inf");
    assert_status(moeg_symmetry_drift(2, 3, M, c, 0, 0.5, velocity), MOEG_EINVAL, "eta_u must be finite and above 0");
    assert_status(moeg_symmetry_drift(2, 3, M, c, 3, 0, velocity), MOEG_EINVAL,
                  "tau must be in [1e-300, 1e300], got 0");
    assert_status(moeg_symmetry_drift(2, 3, M, c, 3, 0.5, NULL), MOEG_EINVAL, "velocity must not be NULL");
    assert_status(moeg_symmetry_drift(2, 3, M, big, 3, 0.5, velocity), MOEG_ERANGE, "velocity[0] overflows");
    assert_true(velocity[0] == 27 && velocity[1] == 57);
}

static void errors_of_rates(void **state)
{
    (void)state;
    const moeg_symmetry_rates good = moeg_symmetry_rates_default(), decays = {1e308, 1e308, 1e-308, 1e-308};
    const moeg_symmetry_rates bad[] = {{0, 1, 0, 0}, {1, NAN, 0, 0}, {1, 1, -1, 0}, {1, 1, 0, INFINITY}};
    const char *names[] = {"rates->eta_u must be finite and above 0", "rates->eta_c must be finite and above 0",
                           "rates->lambda_u must be finite and at least 0",
                           "rates->lambda_c must be finite and at least 0"};
    double value = 5;
    for (size_t k = 0; k < 4; k++) {
        assert_status(moeg_symmetry_growth(1, 1, &bad[k], &value), MOEG_EINVAL, names[k]);
        assert_status(moeg_symmetry_threshold(1, &bad[k], &value), MOEG_EINVAL, names[k]);
    }
    assert_status(moeg_symmetry_growth(-1, 1, &good, &value), MOEG_EINVAL,
                  "symmetry_growth: sigma must be finite and at");
    assert_status(moeg_symmetry_growth(1, 1e-301, &good, &value), MOEG_EINVAL,
                  "symmetry_growth: tau must be in [1e-300");
    assert_status(moeg_symmetry_growth(1, 1, NULL, &value), MOEG_EINVAL, "symmetry_growth: rates must not be NULL");
    assert_status(moeg_symmetry_growth(1, 1, &good, NULL), MOEG_EINVAL, "symmetry_growth: growth must not be NULL");
    assert_status(moeg_symmetry_growth(1e300, 1e-300, &good, &value), MOEG_ERANGE, "the growth rate overflows");
    assert_status(moeg_symmetry_threshold(INFINITY, &good, &value), MOEG_EINVAL, "symmetry_threshold: sigma must be");
    assert_status(moeg_symmetry_threshold(1, NULL, &value), MOEG_EINVAL, "symmetry_threshold: rates must not be NULL");
    assert_status(moeg_symmetry_threshold(1, &good, NULL), MOEG_EINVAL, "symmetry_threshold: tau must not be NULL");
    assert_status(moeg_symmetry_threshold(1, &decays, &value), MOEG_ERANGE, "the threshold overflows");
    assert_true(value == 5);
}

enum { d = 3, m = 2, p = 2 };

static const double matrix[d * m * p] = {1, 2, -0.5, 0.3, 0.9, -1.1, 0.2, 0.8, 1.4, -0.6, 0.7, 0.1};

static moeg_status drift_scenario(void *user)
{
    (void)user;
    double velocity[d] = {5, 5, 5};
    const moeg_status status = moeg_symmetry_drift(d, m * p, matrix, matrix, 1, 0.5, velocity);
    assert_true((status == MOEG_OK) == (velocity[0] != 5));
    return status;
}

static void out_of_memory(void **state)
{
    (void)state;
    assert_int_equal(fail_every_allocation(drift_scenario, NULL), 1);
}

/* Factors of which partial products leave the range of doubles, and the result does not. */
static void partial_products_do_not_overflow(void **state)
{
    (void)state;
    const double small[] = {1e-200}, zero[] = {0}, mixed[] = {1e200, 1e-250}, c[] = {1e150, 1e-10};
    double result;
    assert_ok(moeg_symmetry_drift(1, 1, small, small, 1, 1e-300, &result));
    assert_relative(result, 1e-100, 10 * EPS);
    assert_ok(moeg_symmetry_drift(1, 1, zero, small, 1e308, 1e-300, &result));
    assert_true(result == 0);
    assert_ok(moeg_symmetry_drift(1, 2, mixed, c, 1e-200, 1e100, &result));
    assert_relative(result, 1e50, 10 * EPS);
    moeg_symmetry_rates rates = {1e-200, 1e-200, 0, 0};
    assert_ok(moeg_symmetry_growth(1e300, 1e-200, &rates, &result)); /* sigma/tau is 1e500 */
    assert_relative(result, 1e300, 10 * EPS);
    assert_status(moeg_symmetry_growth(1e308, 1e-208, &rates, &result), MOEG_ERANGE, "overflows");
    rates = (moeg_symmetry_rates){1e300, 1e300, 1e-300, 1e-300};
    assert_ok(moeg_symmetry_threshold(1e-305, &rates, &result)); /* of rates 1e600 */
    assert_relative(result, 1e295, 10 * EPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partial_products_do_not_overflow),
        cmocka_unit_test(rates_equal_the_reference),
        cmocka_unit_test(growth_at_its_ends),
        cmocka_unit_test(drift),
        cmocka_unit_test(errors_of_rates),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
