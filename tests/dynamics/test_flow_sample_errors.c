/* What a flow of a sample refuses, and failing allocations. */
#include "dynamics/flow_rows.h"
#include "support/failing_alloc.h"

static void test_errors(void **state)
{
    (void)state;
    struct rows r;
    fill(&r);
    moeg_law *law = NULL, *wide = NULL, *flat = NULL;
    moeg_teacher *data = NULL, *halves = NULL;
    const double v[D] = {1, 2, 3}, zero[D] = {0}, singular[4] = {1, 1, 1, 1};
    moeg_flow *flow = NULL;
    moeg_sampling s = moeg_sampling_default();
    moeg_flow_options o = moeg_flow_options_default();
    assert_ok(moeg_law_empirical_create(&law, N, D, r.x, NULL));
    assert_ok(moeg_law_gaussian_create(&wide, D, NULL, NULL));
    assert_ok(moeg_law_gaussian_create(&flat, 2, NULL, singular));
    assert_ok(moeg_teacher_data_create(&data, N, OUTPUTS, r.y));
    halves = halves_teacher(D, v, v, 0);
    assert_status(moeg_flow_sample_create(NULL, law, &s, &o, &flow), MOEG_EINVAL, "teacher");
    assert_status(moeg_flow_sample_create(data, NULL, &s, &o, &flow), MOEG_EINVAL, "law");
    assert_status(moeg_flow_sample_create(data, law, NULL, &o, &flow), MOEG_EINVAL, "options");
    assert_status(moeg_flow_sample_create(data, law, &s, &o, NULL), MOEG_EINVAL, "flow must");
    assert_status(moeg_flow_sample_create(halves, flat, &s, &o, &flow), MOEG_EINVAL, "dimension 3");
    assert_status(moeg_flow_sample_create(data, wide, &s, &o, &flow), MOEG_EINVAL, "437 rows");
    s.n = 0;
    assert_status(moeg_flow_sample_create(data, law, &s, &o, &flow), MOEG_EINVAL, "n must");
    s.n = D;
    assert_status(moeg_flow_sample_create(halves, wide, &s, &o, &flow), MOEG_EDOM, "4 coefficients");
    s.n = 100;
    const double v_flat[2] = {1, 2};
    moeg_teacher *other = halves_teacher(2, v_flat, v_flat, 0);
    assert_status(moeg_flow_sample_create(other, flat, &s, &o, &flow), MOEG_EDOM, "not unique");
    s.method = MOEG_METHOD_LINE;
    assert_status(moeg_flow_sample_create(halves, wide, &s, &o, &flow), MOEG_EUNSUPPORTED, "line");
    s.method = MOEG_METHOD_MC;
    int code = 7;
    o.contrast = moeg_contrast_user(FEATURES, features, &code);
    assert_status(moeg_flow_sample_create(halves, wide, &s, &o, &flow), MOEG_ECALLBACK, "returned 7");
    code = 0;
    assert_status(moeg_flow_sample_create(halves, wide, &s, &o, &flow), MOEG_ERANGE, "feature 2 of sample");
    o = moeg_flow_options_default();
    const double large[D] = {1e308, 1e308, 1e308};
    moeg_teacher *huge = halves_teacher(D, v, large, 0);
    assert_status(moeg_flow_sample_create(huge, wide, &s, &o, &flow), MOEG_ERANGE, "");
    s.n = UINT64_MAX;
    assert_status(moeg_flow_sample_create(halves, wide, &s, &o, &flow), MOEG_ENOMEM, "memory");
    assert_null(flow);
    s.n = 100;
    assert_ok(moeg_flow_sample_create(halves, wide, &s, &o, &flow));
    double at[D + D + D + 1] = {1e300, 1e300}, velocity[D + D + D + 1] = {7}, risk = 7;
    for (int j = 0; j < D; j++)
        at[D + j] = 1e300;
    assert_status(moeg_flow_velocity(flow, at, &risk, velocity), MOEG_ERANGE, "overflows");
    assert_true(risk == 7 && velocity[0] == 7 && zero[0] == 0);
    moeg_flow_free(flow);
    moeg_teacher_free(huge);
    moeg_teacher_free(other);
    moeg_teacher_free(halves);
    moeg_teacher_free(data);
    moeg_law_free(flat);
    moeg_law_free(wide);
    moeg_law_free(law);
}

struct objects {
    moeg_teacher *teacher;
    moeg_law *law;
    moeg_flow_options options;
};

static moeg_status make_and_ask(void *user)
{
    struct objects *objects = user;
    moeg_flow *flow = NULL;
    moeg_sampling s = moeg_sampling_default();
    s.n = 300;
    s.max_threads = 1;
    double at[MOST] = {0.1, 0.2, 0.3, 0.4}, velocity[MOST] = {7}, risk = 7, M[D * FEATURES] = {7};
    moeg_status status = moeg_flow_sample_create(objects->teacher, objects->law, &s, &objects->options, &flow);
    if (status == MOEG_OK)
        status = moeg_flow_velocity(flow, at, &risk, velocity);
    assert_true(status == MOEG_OK ? risk != 7 : risk == 7 && velocity[0] == 7);
    if (status == MOEG_OK)
        status = moeg_flow_operator(flow, M);
    assert_true(status == MOEG_OK || M[0] == 7);
    double times[9], states[9 * MOST];
    moeg_estimate growth = {.value = 7};
    for (int i = 0; i < 9; i++) {
        times[i] = i;
        for (int j = 0; j < MOST; j++)
            states[i * MOST + j] = 1e-9 * exp(0.1 * i);
    }
    if (status == MOEG_OK)
        status = moeg_flow_growth(flow, 9, times, states, 0.9, &growth);
    assert_true(status == MOEG_OK || growth.value == 7);
    moeg_flow_free(flow);
    return status;
}

static void test_memory(void **state)
{
    (void)state;
    const double v[D] = {1, 2, 3};
    struct objects objects = {.teacher = halves_teacher(D, v, v, 0), .options = moeg_flow_options_default()};
    objects.options.contrast = moeg_contrast_user(FEATURES, features, NULL);
    assert_ok(moeg_law_gaussian_create(&objects.law, D, NULL, NULL));
    assert_true(fail_every_allocation(make_and_ask, &objects) >= 15);
    moeg_teacher_free(objects.teacher);
    moeg_law_free(objects.law);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
