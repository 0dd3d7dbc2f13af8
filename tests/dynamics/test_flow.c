/* Runs of the flow: where they come to rest, and what is refused. */
#include "dynamics/flow_runs.h"
#include "support/failing_alloc.h"

/* Without decay the risk falls along a run, which comes to rest (with loss mixing |u| goes on to grow, ever more
 * slowly), where the risk is lower than that of the symmetric state. A run that has not come so far has no row of rest.
 */
static void test_rest(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        moeg_flow_options options = moeg_flow_options_default();
        options.tau = 0.3;
        options.mixing = kind == 1 ? MOEG_MIX_LOSS : MOEG_MIX_OUTPUT;
        options.eta_f = kind == 2 ? 0.5 : 0;
        moeg_flow *flow = make_plane(0.6, &options);
        double times[ROWS], risks[ROWS];
        double *states = run(flow, 1e-3, 5, 50, times, risks);
        size_t row;
        assert_ok(moeg_flow_rest(flow, ROWS, states, kind == 1 ? 0.1 : 0.02, &row));
        assert_true(row > 0 && row < ROWS);
        for (int i = 1; i < ROWS; i++)
            assert_true(risks[i] <= risks[i - 1] + 1e-9);
        assert_true(risks[ROWS - 1] < (kind == 2 ? 1e-5 : 0.5) * risks[0]);
        assert_ok(moeg_flow_rest(flow, 3, states, 1e-4, &row));
        assert_int_equal(row, 3);
        free(states);
        moeg_flow_free(flow);
    }
}

/* Of a run with an end in NaN. */
static void test_no_run(void **state)
{
    (void)state;
    moeg_flow_options options = moeg_flow_options_default();
    options.tau = 1e-3;
    options.rates.eta_c = 1e305;
    options.rates.eta_u = 1e305;
    moeg_flow *flow = make_plane(0, &options);
    const double u[2] = {1e-3, 1e-3}, c[2] = {1, 1}, times[3] = {0, 1, 2};
    double states[21], risks[3];
    assert_status(moeg_flow_run(flow, u, c, 3, times, 1e-8, 1e-8, states, risks), MOEG_EUNABLE, "time ");
    assert_true(states[0] == u[0] && risks[0] > 0 && isnan(states[7]) && isnan(risks[1]) && isnan(risks[2]));
    size_t row;
    assert_ok(moeg_flow_rest(flow, 3, states, 0.5, &row));
    assert_int_equal(row, 3);
    moeg_estimate growth;
    assert_status(moeg_flow_growth(flow, 3, times, states, 0.95, &growth), MOEG_EUNABLE, "rows");
    assert_true(isinf(growth.std_error) && growth.lo == -INFINITY && growth.hi == INFINITY);
    moeg_flow_free(flow);
}

static void refuse(moeg_flow_options options, const char *text)
{
    const moeg_halves halves = {.d = 2, .outputs = 1, .v = v2, .beta = beta2};
    moeg_flow *flow = NULL;
    assert_status(moeg_flow_plane_create(&halves, 1, &options, &flow), MOEG_EINVAL, text);
    assert_null(flow);
}

/* The default is what the header says, and each option that does not fit is named. */
static void test_options(void **state)
{
    (void)state;
    moeg_flow_options o = moeg_flow_options_default();
    assert_true(o.tau == 1 && o.mixing == MOEG_MIX_OUTPUT && o.eta_f == 0 && o.symmetric == MOEG_SYMMETRIC_AFFINE);
    assert_true(o.contrast.kind == MOEG_CONTRAST_LINEAR && o.rates.eta_u == 1 && o.rates.eta_c == 1);
    assert_true(o.rates.lambda_u == 0 && o.rates.lambda_c == 0);
#define REFUSE(field, value, text)                                                                                     \
    do {                                                                                                               \
        o = moeg_flow_options_default();                                                                               \
        o.field = value;                                                                                               \
        refuse(o, text);                                                                                               \
    } while (0)
    REFUSE(tau, 0, "tau must be in [1e-300");
    REFUSE(tau, NAN, "tau must be in [1e-300");
    REFUSE(tau, INFINITY, "options->tau");
    REFUSE(mixing, (moeg_mixing)2, "mixing");
    REFUSE(rates.eta_u, 0, "rates.eta_u must be finite and above 0, got 0");
    REFUSE(rates.eta_c, -1, "rates.eta_c");
    REFUSE(rates.lambda_u, -1, "rates.lambda_u must be finite and at least 0, got -1");
    REFUSE(rates.lambda_c, INFINITY, "rates.lambda_c");
    REFUSE(eta_f, NAN, "eta_f");
    REFUSE(symmetric, (moeg_symmetric)7, "symmetric");
    REFUSE(contrast.kind, (moeg_contrast_kind)7, "kind");
}

static void test_errors(void **state)
{
    (void)state;
    moeg_flow *flow = make_plane(0, NULL);
    const double u[2] = {1, 2}, c[2] = {3, 4}, times[2] = {0, 1}, nan[7] = {NAN}, back[2] = {1, 1}, minus = -1;
    double states[14] = {0}, risk = 7;
    size_t row = 7;
    moeg_estimate growth;
    assert_int_equal(moeg_flow_router_size(flow), 2);
    assert_int_equal(moeg_flow_contrast_size(flow), 2);
    assert_int_equal(moeg_flow_symmetric_size(flow), 3);
    assert_true(!moeg_flow_router_size(NULL) && !moeg_flow_contrast_size(NULL) && !moeg_flow_symmetric_size(NULL));
    assert_status(moeg_flow_operator(NULL, states), MOEG_EINVAL, "flow");
    assert_status(moeg_flow_operator(flow, NULL), MOEG_EINVAL, "M must");
    assert_status(moeg_flow_velocity(NULL, states, &risk, NULL), MOEG_EINVAL, "flow");
    assert_status(moeg_flow_velocity(flow, NULL, &risk, NULL), MOEG_EINVAL, "state");
    assert_status(moeg_flow_velocity(flow, nan, &risk, NULL), MOEG_EINVAL, "nan");
    assert_ok(moeg_flow_velocity(flow, states, NULL, NULL));
#define RUN(flow_, u_, c_, count_, times_, rel_, abs_, states_)                                                        \
    moeg_flow_run(flow_, u_, c_, count_, times_, rel_, abs_, states_, NULL)
    assert_status(RUN(NULL, u, c, 2, times, 1e-9, 1e-9, states), MOEG_EINVAL, "flow");
    assert_status(RUN(flow, NULL, c, 2, times, 1e-9, 1e-9, states), MOEG_EINVAL, "u must");
    assert_status(RUN(flow, u, nan, 2, times, 1e-9, 1e-9, states), MOEG_EINVAL, "c[0");
    assert_status(RUN(flow, u, c, 0, times, 1e-9, 1e-9, states), MOEG_EINVAL, "count");
    assert_status(RUN(flow, u, c, 2, NULL, 1e-9, 1e-9, states), MOEG_EINVAL, "times");
    assert_status(RUN(flow, u, c, 2, back, 1e-9, 1e-9, states), MOEG_EINVAL, "times must increase");
    assert_status(RUN(flow, u, c, 1, &minus, 1e-9, 1e-9, states), MOEG_EINVAL, "times[0]");
    assert_status(RUN(flow, u, c, 2, times, 0, 1e-9, states), MOEG_EINVAL, "rel_tol");
    assert_status(RUN(flow, u, c, 2, times, 1e-9, NAN, states), MOEG_EINVAL, "abs_tol");
    assert_status(RUN(flow, u, c, 2, times, 1e-9, 1e-9, NULL), MOEG_EINVAL, "states");
    assert_status(moeg_flow_growth(NULL, 2, times, states, 0.9, &growth), MOEG_EINVAL, "flow");
    assert_status(moeg_flow_growth(flow, 0, times, states, 0.9, &growth), MOEG_EINVAL, "count");
    assert_status(moeg_flow_growth(flow, 2, NULL, states, 0.9, &growth), MOEG_EINVAL, "times");
    assert_status(moeg_flow_growth(flow, 2, back, states, 0.9, &growth), MOEG_EINVAL, "increase");
    assert_status(moeg_flow_growth(flow, 2, times, NULL, 0.9, &growth), MOEG_EINVAL, "states");
    assert_status(moeg_flow_growth(flow, 2, times, states, 1, &growth), MOEG_EINVAL, "level");
    assert_status(moeg_flow_growth(flow, 2, times, states, 0.9, NULL), MOEG_EINVAL, "growth");
    assert_status(moeg_flow_rest(NULL, 2, states, 0.1, &row), MOEG_EINVAL, "flow");
    assert_status(moeg_flow_rest(flow, 0, states, 0.1, &row), MOEG_EINVAL, "count");
    assert_status(moeg_flow_rest(flow, 2, NULL, 0.1, &row), MOEG_EINVAL, "states");
    assert_status(moeg_flow_rest(flow, 2, states, 1, &row), MOEG_EINVAL, "tolerance");
    assert_status(moeg_flow_rest(flow, 2, states, 0.1, NULL), MOEG_EINVAL, "row");
    assert_true(risk == 7 && row == 7);
    moeg_flow_free(flow);
    moeg_flow_free(NULL);
}

static moeg_status run_and_measure(void *user)
{
    const moeg_flow *flow = user;
    const double u[2] = {1e-5, 2e-5}, c[2] = {3e-5, 4e-5};
    double times[10], states[70] = {7}, risks[10] = {7};
    for (int i = 0; i < 10; i++)
        times[i] = 0.1 * i;
    moeg_status status = moeg_flow_run(flow, u, c, 10, times, 1e-6, 1e-12, states, risks);
    assert_true(status == MOEG_OK || (states[0] == 7 && risks[0] == 7));
    moeg_estimate growth = {.value = 7};
    if (status == MOEG_OK)
        status = moeg_flow_growth(flow, 10, times, states, 0.95, &growth);
    assert_true(status == MOEG_OK || growth.value == 7);
    size_t row = 7777;
    if (status == MOEG_OK)
        status = moeg_flow_rest(flow, 10, states, 0.1, &row);
    assert_true((status == MOEG_OK) == (row != 7777));
    return status;
}

static void test_memory(void **state)
{
    (void)state;
    moeg_flow *flow = make_plane(0, NULL);
    assert_true(fail_every_allocation(run_and_measure, flow) >= 15);
    moeg_flow_free(flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rest),   cmocka_unit_test(test_no_run), cmocka_unit_test(test_options),
        cmocka_unit_test(test_errors), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
