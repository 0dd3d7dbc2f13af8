/* The flow of a sample does not depend on where its rows are, on their units, or on rows that count for nothing. */
#include "dynamics/flow_rows.h"

static moeg_flow *make_flow(const struct rows *r, const moeg_flow_options *options)
{
    moeg_law *law = NULL;
    moeg_teacher *teacher = NULL;
    moeg_flow *flow = NULL;
    moeg_sampling s = moeg_sampling_default();
    s.max_threads = 1;
    assert_ok(moeg_law_empirical_create(&law, N, D, r->x, r->w));
    assert_ok(moeg_teacher_data_create(&teacher, N, OUTPUTS, r->y));
    assert_ok(moeg_flow_sample_create(teacher, law, &s, options, &flow));
    moeg_law_free(law);
    moeg_teacher_free(teacher);
    return flow;
}

/* Far from 0, with an affine expert: sum w r = 0 = sum w r x, so that the mean may be taken off either factor of M =
 * E[x r x'], and M is that of the rows about 0. Rows are moved by what is exact. The residual, of order 1, has an error
 * of some 1e-16 each, which M has 1e10 times. */
static void test_far_rows(void **state)
{
    (void)state;
    struct rows r, moved;
    fill(&r);
    for (int i = 0; i < N * D; i++)
        r.x[i] = ldexp(nearbyint(ldexp(r.x[i], 30)), -30);
    moved = r;
    for (int i = 0; i < N * D; i++)
        moved.x[i] += 131072;
    const moeg_flow_options o = moeg_flow_options_default();
    moeg_flow *near = make_flow(&r, &o), *far = make_flow(&moved, &o);
    double M[2][D * OUTPUTS * D];
    assert_ok(moeg_flow_operator(near, M[0]));
    assert_ok(moeg_flow_operator(far, M[1]));
    for (int i = 0; i < D * OUTPUTS * D; i++)
        assert_near(M[1][i], M[0][i], 1e-4);
    moeg_flow_free(near);
    moeg_flow_free(far);
}

/* Coordinates of other units, powers of 2: M of the linear contrast in those. */
static void test_units(void **state)
{
    (void)state;
    static const int exponents[2][D] = {{40, 40, 40}, {0, -57, 30}};
    struct rows r;
    fill(&r);
    const moeg_flow_options o = moeg_flow_options_default();
    double M[2][D * OUTPUTS * D];
    moeg_flow *flow = make_flow(&r, &o);
    assert_ok(moeg_flow_operator(flow, M[0]));
    moeg_flow_free(flow);
    for (int k = 0; k < 2; k++) {
        struct rows other = r;
        for (int i = 0; i < N * D; i++)
            other.x[i] = ldexp(r.x[i], exponents[k][i % D]);
        flow = make_flow(&other, &o);
        assert_ok(moeg_flow_operator(flow, M[1]));
        for (int i = 0; i < D; i++)
            for (int j = 0; j < OUTPUTS * D; j++) {
                const double scaled = ldexp(M[1][i * OUTPUTS * D + j], -exponents[k][i] - exponents[k][j % D]);
                assert_near(scaled, M[0][i * OUTPUTS * D + j], 1e-13);
            }
        moeg_flow_free(flow);
    }
}

/* Whatever stands in rows of weight 0: the same bits. */
static void test_rows_of_no_weight(void **state)
{
    (void)state;
    struct rows r, other;
    fill(&r);
    other = r;
    for (int i = 0; i < N; i++)
        if (r.w[i] == 0) {
            other.x[i * D] = i % 2 ? 1e200 : -1e300;
            other.y[i * OUTPUTS] = 1e250;
        }
    const moeg_flow_options o = moeg_flow_options_default();
    moeg_flow *flow = make_flow(&r, &o), *same = make_flow(&other, &o);
    double at[MOST], velocity[2][MOST] = {{0}}, M[2][D * OUTPUTS * D], risk[2];
    uint64_t seed = 8;
    for (int i = 0; i < MOST; i++)
        at[i] = next_uniform(&seed);
    assert_ok(moeg_flow_velocity(flow, at, &risk[0], velocity[0]));
    assert_ok(moeg_flow_velocity(same, at, &risk[1], velocity[1]));
    assert_ok(moeg_flow_operator(flow, M[0]));
    assert_ok(moeg_flow_operator(same, M[1]));
    assert_memory_equal(velocity[0], velocity[1], sizeof velocity[0]);
    assert_memory_equal(M[0], M[1], sizeof M[0]);
    assert_true(risk[0] == risk[1]);
    moeg_flow_free(flow);
    moeg_flow_free(same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_far_rows),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_rows_of_no_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
