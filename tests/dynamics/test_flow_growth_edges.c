/* The rate of a run beside modes that decay fast, and over times of any size. */
#include "dynamics/flow_runs.h"

#include <float.h>

static const double kappa = 0.79788456080286535588; /* sqrt(2/pi) */

/* Rows of the flow around 0 of Y = sign(v.x), loss mixing, a constant expert and an affine contrast, as they are
 * exactly: the pair of u_v and the constant grows at the root of g^2 + 2 g = 10 kappa^2 (eta_u = 10, tau = sigma), the
 * other u stands still and the slopes decay at 2 sigma^2. None but the first is in the rate, however large sigma^2 is,
 * and whatever the unit of time. */
static void test_beside_fast_decay(void **state)
{
    (void)state;
    const double zero[2] = {0, 0}, one = 1, g = sqrt(1 + 10 * kappa * kappa) - 1;
    const moeg_halves halves = {.d = 2, .outputs = 1, .v = v2, .beta = zero, .mu = &one};
    for (double variance = 1; variance < 1e9; variance *= 1e4) {
        moeg_flow_options options = moeg_flow_options_default();
        options.mixing = MOEG_MIX_LOSS;
        options.symmetric = MOEG_SYMMETRIC_CONSTANT;
        options.contrast = moeg_contrast_affine();
        options.tau = sqrt(variance);
        options.rates.eta_u = 10;
        moeg_flow *flow = NULL;
        moeg_estimate growth;
        assert_ok(moeg_flow_plane_create(&halves, variance, &options, &flow));
        double times[ROWS], states[ROWS * 6] = {0};
        for (int i = 0; i < ROWS; i++) {
            times[i] = 0.02 * i;
            states[6 * i] = 1e-4 * exp(g * times[i]);
            states[6 * i + 1] = 1e-3;
            states[6 * i + 2] = g / (10 * kappa) * states[6 * i];
        }
        assert_ok(moeg_flow_growth(flow, ROWS, times, states, 0.95, &growth));
        assert_relative(growth.value, g, 1e-6);
        assert_true(growth.n == ROWS && growth.std_error < 1e-6);
        moeg_flow_free(flow);
    }
}

/* The rate is in units of time, of any times: 2^k of them, up to where it overflows. */
static void test_units_of_time(void **state)
{
    (void)state;
    static const int exponents[] = {-1000, -600, 600, 1000};
    moeg_flow *flow = make_plane(0, NULL);
    const size_t size = 4 + moeg_flow_symmetric_size(flow);
    double times[ROWS], *states = run(flow, 1e-6, 3, 5, times, NULL);
    moeg_estimate growth, scaled;
    assert_ok(moeg_flow_growth(flow, ROWS, times, states, 0.95, &growth));
    for (int k = 0; k < 4; k++) {
        double other[ROWS];
        for (int i = 0; i < ROWS; i++)
            other[i] = ldexp(times[i], exponents[k]);
        assert_ok(moeg_flow_growth(flow, ROWS, other, states, 0.95, &scaled));
        assert_relative(scaled.value, ldexp(growth.value, -exponents[k]), 1e-12);
        assert_relative(scaled.std_error, ldexp(growth.std_error, -exponents[k]), 1e-9);
    }
    for (int i = 0; i < ROWS; i++)
        times[i] = i * DBL_TRUE_MIN;
    states[size * 9] *= 2;
    scaled.value = 7;
    assert_status(moeg_flow_growth(flow, ROWS, times, states, 0.95, &scaled), MOEG_ERANGE, "the rate overflows");
    assert_true(scaled.value == 7);
    free(states);
    moeg_flow_free(flow);
}

/* Rows that grow at the rate 0.3, from u_v and c_v: how many are taken. */
static size_t count_near(const moeg_flow *flow, double u, double c)
{
    const size_t size = 4 + moeg_flow_symmetric_size(flow);
    double times[ROWS], states[ROWS * 7] = {0};
    moeg_estimate growth;
    for (int i = 0; i < ROWS; i++) {
        times[i] = 0.01 * i;
        states[size * (size_t)i] = u * exp(0.3 * times[i]);
        states[size * (size_t)i + 2] = c * exp(0.3 * times[i]);
    }
    const moeg_status status = moeg_flow_growth(flow, ROWS, times, states, 0.95, &growth);
    assert_true(status == (growth.n == 0 ? MOEG_EUNABLE : MOEG_OK));
    return growth.n;
}

/* What is near the symmetric state, where squares overflow or underflow: u as a share of tau, h of the residual. */
static void test_near_beyond_squares(void **state)
{
    (void)state;
    static const double units[] = {1e-170, 1, 1e170};
    for (int kind = 0; kind < 2; kind++)
        for (int k = 0; k < 3; k++) {
            const double small = fmin(1, units[k]), v[2] = {1, 0}, beta[2] = {0.7 * small, 1.1 * small};
            const moeg_halves halves = {.d = 2, .outputs = 1, .v = v, .beta = beta};
            moeg_flow_options options = moeg_flow_options_default();
            options.tau = units[k];
            moeg_flow *flow = NULL;
            moeg_teacher *teacher = NULL;
            moeg_law *law = NULL;
            moeg_sampling s = moeg_sampling_default();
            s.n = 1000;
            s.max_threads = 1;
            assert_ok(moeg_halves_teacher_create(&halves, &teacher));
            assert_ok(moeg_law_gaussian_create(&law, 2, NULL, NULL));
            assert_ok(kind ? moeg_flow_sample_create(teacher, law, &s, &options, &flow)
                           : moeg_flow_plane_create(&halves, 1, &options, &flow));
            assert_int_equal(count_near(flow, 0.01 * units[k], 0.005 * small), ROWS);
            assert_int_equal(count_near(flow, 0.1 * units[k], 0.005 * small), 0);
            assert_int_equal(count_near(flow, 0.01 * units[k], 0.1 * small), 0);
            moeg_flow_free(flow);
            moeg_teacher_free(teacher);
            moeg_law_free(law);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beside_fast_decay),
        cmocka_unit_test(test_units_of_time),
        cmocka_unit_test(test_near_beyond_squares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
