/* Orders of convergence: exact power laws, intervals between neighbours, and what is left out. */
#include "limit/order_gaps.h"
#include "support/estimates.h"
#include "support/failing_alloc.h"

static moeg_estimate exact(double value, double quad_error)
{
    return (moeg_estimate){
        .value = value, .level = 0.9, .quad_error = quad_error, .n = 1, .contributing = 1, .method = MOEG_METHOD_LINE};
}

/* Whatever the temperatures, G = c tau^p gives p and c to rounding: logarithms up to 700, of values rounded once. */
static void exact_power_laws(void **state)
{
    (void)state;
    const double tau[] = {1e-180, 1e-9, 1.0000001e-9, 0.37, 1e3, 0.38}, p[] = {1, 1.7, 1.0 / 3, -0.25};
    enum { N = sizeof tau / sizeof *tau };
    for (size_t l = 0; l < sizeof p / sizeof *p; l++) {
        moeg_estimate gap[N], order[N - 1];
        moeg_power_law fit;
        const double c = l % 2 == 0 ? 2.385 : -0.0123;
        for (size_t i = 0; i < N; i++)
            gap[i] = exact((double)(c * powl(tau[i], p[l])), 0);
        assert_ok(moeg_order_local(N, tau, gap, NULL, 0.9, order));
        for (size_t i = 0; i + 1 < N; i++) {
            /* Both gaps are rounded. */
            const double rounding = 4 * EPS * (1 + fabs(p[l])) / fmin(1, fabs(log(tau[i + 1] / tau[i])));
            assert_near(order[i].value, p[l], rounding);
            assert_near(order[i].std_error + order[i].quad_error, 0, 0);
            assert_near(order[i].lo, order[i].value, 0);
            assert_near(order[i].hi, order[i].value, 0);
            assert_int_equal(order[i].method, MOEG_METHOD_LINE);
        }
        assert_ok(moeg_order_fit(N, tau, gap, NULL, 0.9, &fit));
        assert_relative(fit.order.value, p[l], 4 * EPS);
        assert_relative(fit.constant.value, c, 64 * EPS);
        assert_near(fit.order.std_error + fit.constant.std_error, 0, 0);
        assert_true(fit.order.lo == fit.order.value && fit.order.hi == fit.order.value);
        assert_int_equal(fit.used, N);
        assert_true(fit.chi_square < 1e-6);
    }
}

/* At the ends of a local order's interval G_j - rho G_i is t of its own standard errors from 0. */
static void local_intervals_are_fiellers(void **state)
{
    (void)state;
    const double t = 1.64638034541496;
    for (uint64_t seed = 1; seed < 40; seed++) {
        enum { N = 4 };
        double tau[N], covariance[N * N];
        moeg_estimate gap[N], order[N - 1], reversed[N - 1];
        draw_gaps(seed, N, 0.15, tau, gap, covariance);
        assert_ok(moeg_order_local(N, tau, gap, covariance, 0.9, order));
        for (size_t i = 0; i + 1 < N; i++) {
            const double a = gap[i].value, b = gap[i + 1].value, ratio = tau[i + 1] / tau[i];
            const double u = covariance[i * N + i], v = covariance[(i + 1) * N + i + 1];
            const double w = covariance[(i + 1) * N + i];
            assert_relative(order[i].value, log(b / a) / log(ratio), 16 * EPS);
            assert_relative(order[i].std_error, sqrt(u / a / a + v / b / b - 2 * w / a / b) / log(ratio), 1e-12);
            for (int end = 0; end < 2; end++) {
                const double rho = pow(ratio, end == 0 ? order[i].lo : order[i].hi);
                const double z = (b - rho * a) / sqrt(v - 2 * rho * w + rho * rho * u);
                assert_relative(fabs(z), t, 1e-10);
            }
            assert_true(order[i].lo < order[i].value && order[i].value < order[i].hi);
        }
        /* Falling temperatures are as good. */
        double back[N], back_covariance[N * N];
        moeg_estimate back_gap[N];
        for (size_t i = 0; i < N; i++) {
            back[i] = tau[N - 1 - i];
            back_gap[i] = gap[N - 1 - i];
            for (size_t j = 0; j < N; j++)
                back_covariance[i * N + j] = covariance[(N - 1 - i) * N + N - 1 - j];
        }
        assert_ok(moeg_order_local(N, back, back_gap, back_covariance, 0.9, reversed));
        for (size_t i = 0; i + 1 < N; i++) {
            assert_relative(reversed[N - 2 - i].value, order[i].value, 64 * EPS);
            assert_relative(reversed[N - 2 - i].lo, order[i].lo, 1e-12);
            assert_relative(reversed[N - 2 - i].hi, order[i].hi, 1e-12);
        }
    }
}

/* Errors that all gaps share, and two runs at one temperature: the order is exact, the constant has the shared error.
 */
static void singular_covariances_are_fine(void **state)
{
    (void)state;
    enum { N = 5 };
    const double tau[N] = {0.1, 0.2, 0.05, 0.2, 0.4}, size = 0.02;
    double covariance[N * N];
    moeg_estimate gap[N], order[N - 1];
    moeg_power_law fit;
    for (size_t i = 0; i < N; i++)
        gap[i] = sampled(2.385 * pow(tau[i], 0.7), size * 2.385 * pow(tau[i], 0.7));
    for (size_t i = 0; i < N * N; i++)
        covariance[i] = gap[i / N].std_error * gap[i % N].std_error;
    assert_ok(moeg_order_fit(N, tau, gap, covariance, 0.9, &fit));
    assert_relative(fit.order.value, 0.7, 1e-12);
    assert_near(fit.order.std_error, 0, 1e-9);
    assert_relative(fit.constant.value, 2.385 * exp(size * size / 2), size * size * size * size);
    assert_relative(fit.constant.std_error, fit.constant.value * size, size * size);
    assert_ok(moeg_order_local(N, tau, gap, covariance, 0.9, order));
    for (size_t i = 0; i + 1 < N; i++) {
        assert_relative(order[i].value, 0.7, 1e-12);
        assert_near(order[i].hi - order[i].lo, 0, 1e-7);
    }
}

static void assert_same(const moeg_estimate *a, const moeg_estimate *b)
{
    assert_near(a->value, b->value, 0);
    assert_near(a->std_error, b->std_error, 0);
    assert_near(a->lo, b->lo, 0);
    assert_near(a->hi, b->hi, 0);
}

/* Independent gaps: NULL is the diagonal covariance. */
static void without_a_covariance(void **state)
{
    (void)state;
    enum { N = 6 };
    double tau[N], covariance[N * N];
    moeg_estimate gap[N], order[2][N - 1];
    moeg_power_law fit[2];
    draw_gaps(5, N, 0.05, tau, gap, covariance);
    for (size_t i = 0; i < N * N; i++)
        covariance[i] = i / N == i % N ? gap[i / N].std_error * gap[i / N].std_error : 0;
    assert_ok(moeg_order_fit(N, tau, gap, covariance, 0.9, &fit[0]));
    assert_ok(moeg_order_fit(N, tau, gap, NULL, 0.9, &fit[1]));
    assert_same(&fit[0].order, &fit[1].order);
    assert_same(&fit[0].constant, &fit[1].constant);
    assert_ok(moeg_order_local(N, tau, gap, covariance, 0.9, order[0]));
    assert_ok(moeg_order_local(N, tau, gap, NULL, 0.9, order[1]));
    for (size_t i = 0; i + 1 < N; i++)
        assert_same(&order[0][i], &order[1][i]);
}

/* Exact gaps weigh the same, but for those that quadrature knows badly; its errors are those of the weighted sum. */
static void quadrature_errors_count(void **state)
{
    (void)state;
    const double tau[] = {1, 10, 100};
    moeg_estimate gap[] = {exact(2, 1e-14), exact(21, 3e-13), exact(230, 1e-13)}, order[2];
    moeg_power_law fit;
    assert_ok(moeg_order_fit(3, tau, gap, NULL, 0.9, &fit));
    assert_relative(fit.order.value, log10(115) / 2, 1e-14);
    assert_relative(fit.order.quad_error, (1e-14 / 2 + 1e-13 / 230) / log(100), 1e-6);
    assert_near(fit.order.hi - fit.order.value, fit.order.quad_error, 2 * EPS);
    assert_relative(fit.constant.hi - fit.constant.value, fit.constant.quad_error, 0.01);
    assert_relative(fit.constant.value - fit.constant.lo, fit.constant.quad_error, 0.01);
    assert_near(fit.order.std_error, 0, 0);
    gap[2] = exact(230, 23);
    assert_ok(moeg_order_fit(3, tau, gap, NULL, 0.9, &fit));
    assert_relative(fit.order.value, log10(10.5), 1e-12);
    gap[2] = exact(230, 231); /* may be 0 */
    assert_ok(moeg_order_fit(3, tau, gap, NULL, 0.9, &fit));
    assert_int_equal(fit.used, 2);
    assert_status(moeg_order_local(3, tau, gap, NULL, 0.9, order), MOEG_EUNABLE, "tau[1] = 10 and tau[2] = 100");
    assert_relative(order[0].quad_error, (1e-14 / 2 + 3e-13 / 21) / log(10), 1e-6);
    assert_true(order[0].lo < order[0].value && order[0].value < order[0].hi);
    assert_true(isinf(order[1].std_error) && isinf(order[1].lo) && isinf(order[1].hi));
    assert_relative(order[1].value, log10(230.0 / 21), 1e-14);
}

/* A log-log slope with a zero: from the two positive values, one left out; and each other reason to leave one out. */
static void what_is_left_out_is_counted(void **state)
{
    (void)state;
    const double tau[] = {1e-3, 1e-2, 1e-1};
    const moeg_estimate good = sampled(1e-2, 1e-4),
                        bad[] = {
                            sampled(0, 0),           sampled(0, INFINITY),  sampled(-1e-3, 1e-5),
                            sampled(1e-3, INFINITY), sampled(1e-3, 2.6e-4), sampled(NAN, INFINITY),
                        };
    moeg_estimate gap[] = {bad[0], good, sampled(1e-1, 1e-3)}, order[2];
    moeg_power_law fit;
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        gap[0] = bad[b];
        if (b == 2) {
            /* A change of sign is held against the lowest temperature: here it leaves one gap. */
            assert_status(moeg_order_fit(3, tau, gap, NULL, 0.9, &fit), MOEG_EDOM,
                          "order_fit: 1 of 3 gaps are told from 0, with one sign; an order takes 2");
        } else {
            assert_ok(moeg_order_fit(3, tau, gap, NULL, 0.9, &fit));
            assert_int_equal(fit.used, 2);
            assert_relative(fit.order.value, 1.0, 1e-12);
            assert_true(fit.chi_square < 1e-12);
        }
        const moeg_status status = moeg_order_local(3, tau, gap, NULL, 0.9, order);
        if (b == 4) { /* told by its own interval, not by four standard errors */
            assert_int_equal(status, MOEG_OK);
        } else {
            assert_status(status, MOEG_EUNABLE,
                          "order_local: the gaps at tau[0] = 0.001 and tau[1] = 0.01 do not tell an order");
            assert_true(isinf(order[0].std_error) && order[0].lo == -INFINITY && order[0].hi == INFINITY);
            assert_int_equal(isnan(order[0].value), b != 3);
        }
        assert_relative(order[1].value, 1.0, 1e-12);
    }
    gap[0] = good;
    gap[2] = sampled(-1, 1e-3);
    assert_ok(moeg_order_fit(3, tau, gap, NULL, 0.9, &fit));
    assert_int_equal(fit.used, 2);
    gap[1] = sampled(1e-2, 1e-2);
    assert_status(moeg_order_fit(3, tau, gap, NULL, 0.9, &fit), MOEG_EDOM, "1 of 3 gaps");
    /* Too few units for an error bar; tau = 0. */
    gap[1] = good;
    gap[1].n = 29;
    assert_status(moeg_order_fit(3, tau, gap, NULL, 0.9, &fit), MOEG_EDOM, "1 of 3 gaps");
    const double zero[] = {0, 1e-2, 0.3}, same[] = {0.3, 0.3, 0.3};
    gap[0] = sampled(1e-3, 1e-5); /* of no law that there is */
    gap[1] = sampled(1e-2, 1e-2 / 4.1);
    gap[2] = sampled(0.3, 1e-3);
    gap[2].contributing = 400;
    assert_ok(moeg_order_fit(3, zero, gap, NULL, 0.9, &fit));
    assert_int_equal(fit.used, 2);
    assert_status(moeg_order_local(3, zero, gap, NULL, 0.9, order), MOEG_EUNABLE, "tau[0] = 0 and");
    assert_int_equal(order[1].contributing, 400);
    assert_status(moeg_order_fit(3, same, gap, NULL, 0.9, &fit), MOEG_EDOM,
                  "order_fit: the 3 gaps that are told from 0 are all at tau = 0.3");
}

static void every_error_is_named_and_touches_nothing(void **state)
{
    (void)state;
    double tau[] = {0.1, 0.2, 0.4}, covariance[9] = {1e-6, 0, 0, 0, 1e-6, 0, -1e-6, -1e-6, 1e-6};
    moeg_estimate gap[] = {sampled(1, 1e-3), sampled(2, 1e-3), sampled(4, 1e-3)}, order[2];
    const moeg_estimate keep = {.value = 2.385};
    moeg_power_law fit = {.order = keep};
    order[0] = keep;
    for (int f = 0; f < 2; f++) {
#define CALL(n, t, g, c, level, out)                                                                                   \
    (f == 0 ? moeg_order_local(n, t, g, c, level, (out) ? order : NULL)                                                \
            : moeg_order_fit(n, t, g, c, level, (out) ? &fit : NULL))
        assert_status(CALL(1, tau, gap, NULL, 0.9, 1), MOEG_EINVAL, "ntau must be at least 2, got 1");
        assert_status(CALL(0, tau, gap, NULL, 0.9, 1), MOEG_EINVAL, "ntau must be at least 2, got 0");
        assert_status(CALL(3, NULL, gap, NULL, 0.9, 1), MOEG_EINVAL, "tau must not be NULL");
        assert_status(CALL(3, tau, NULL, NULL, 0.9, 1), MOEG_EINVAL, "gap must not be NULL");
        assert_status(CALL(3, tau, gap, NULL, 0.9, 0), MOEG_EINVAL,
                      f == 0 ? "order_local: order must not be NULL" : "order_fit: fit must not be NULL");
        assert_status(CALL(3, tau, gap, NULL, 1, 1), MOEG_EINVAL, "level must be in (0, 1), got 1");
        assert_status(CALL(3, tau, gap, NULL, NAN, 1), MOEG_EINVAL, "level must be in (0, 1), got nan");
        tau[1] = NAN;
        assert_status(CALL(3, tau, gap, NULL, 0.9, 1), MOEG_EINVAL, "tau[1] must be 0 or in [1e-300, 1e300], got nan");
        tau[1] = 0.2;
        gap[2].std_error = -1e-3;
        assert_status(CALL(3, tau, gap, NULL, 0.9, 1), MOEG_EINVAL, "the errors of gap[2] must be at least 0");
        gap[2].std_error = 1e-3;
        gap[0].quad_error = NAN;
        assert_status(CALL(3, tau, gap, NULL, 0.9, 1), MOEG_EINVAL,
                      "the errors of gap[0] must be at least 0, got 0.001 and nan");
        gap[0].quad_error = 0;
        covariance[4] = -1e-9;
        assert_status(CALL(3, tau, gap, covariance, 0.9, 1), MOEG_EINVAL,
                      "covariance[1, 1] must be at least 0, got -1e-09");
        covariance[4] = 1e-6;
        const double wrong[] = {1.1e-6, NAN, -INFINITY};
        for (size_t w = 0; w < 3; w++) {
            covariance[7] = wrong[w];
            assert_status(CALL(3, tau, gap, covariance, 0.9, 1), MOEG_EINVAL,
                          "covariance[2, 1] must be at most 1e-06 in magnitude, as the variances of the gaps are, got");
        }
        covariance[7] = -1e-6;
    }
    assert_status(moeg_order_fit(3, tau, gap, covariance, 0.9, &fit), MOEG_EINVAL,
                  "order_fit: covariance must be positive semidefinite, but its first 3 rows are not");
    tau[2] = tau[1];
    assert_status(moeg_order_local(3, tau, gap, NULL, 0.9, order), MOEG_EINVAL,
                  "order_local: tau[2] must differ from its neighbour, got 0.2 twice");
    const double low[] = {1e-200, 1.1e-200};
    assert_status(moeg_order_fit(2, low, gap, NULL, 0.9, &fit), MOEG_ERANGE, "order_fit: the constant, exp(");
    assert_same_estimates(&order[0], &keep, 1);
    assert_same_estimates(&fit.order, &keep, 1);
}

static moeg_status allocating(void *user)
{
    (void)user;
    const double tau[] = {0.1, 0.2};
    const moeg_estimate gap[] = {sampled(1, 1e-3), sampled(2, 1e-3)};
    moeg_power_law fit = {.used = 4711};
    const moeg_status status = moeg_order_fit(2, tau, gap, NULL, 0.9, &fit);
    assert_int_equal(fit.used, status == MOEG_OK ? 2 : 4711);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(fail_every_allocation(allocating, NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_power_laws),
        cmocka_unit_test(local_intervals_are_fiellers),
        cmocka_unit_test(singular_covariances_are_fine),
        cmocka_unit_test(without_a_covariance),
        cmocka_unit_test(quadrature_errors_count),
        cmocka_unit_test(what_is_left_out_is_counted),
        cmocka_unit_test(every_error_is_named_and_touches_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
