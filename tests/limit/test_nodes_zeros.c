/* A 0 that all lines agree on is certain only where algebra says so: along general lines and along rays. */
#include "limit/nodes_problem.h"
#include "limit/nodes_run.h"
#include "limit/rays.h"

/* All experts are 1, and so is m, but for a fifth in a small cell. */
static void a_zero_on_every_line_is_unknown(void **state)
{
    (void)state;
    const double tau = 1e-6;
    const moeg_sampling s = lines_of(512);
    for (int i = 0; i < 4; i++) {
        struct problem p;
        moeg_estimate slope, rest, hard, soft, gap;
        problem_draw(&p, 31, 5, 3, 1);
        memcpy(p.W, five_rows, sizeof five_rows);
        memcpy(p.b, five_biases, sizeof five_biases);
        memset(p.A, 0, sizeof p.A);
        for (size_t k = 0; k < 6; k++)
            p.c[k][0] = k == 4 ? 3 : 1;
        p.b[4] = 0.02;
        p.gate = i < 2 ? moeg_gate_softmax() : moeg_gate_topk_renorm(2);
        problem_build(&p);
        const moeg_mixing mixing = both[i % 2];
        assert_int_equal(moeg_risk_curve(p.moe, p.teacher, p.law, mixing, 1, &tau, &s, &hard, &soft, &gap, NULL),
                         MOEG_EUNABLE);
        assert_true(hard.value == 0 && soft.value == 0 && gap.value == 0 && gap.contributing == 0);
        assert_unknown(&hard);
        assert_unknown(&soft);
        assert_unknown(&gap);
        assert_int_equal(moeg_leading_remainder(p.moe, p.teacher, p.law, mixing, 1, &tau, &s, &slope, &rest),
                         MOEG_EUNABLE);
        assert_unknown(&rest);
        if (mixing == MOEG_MIX_OUTPUT)
            assert_unknown(&slope);
        else /* m does not jump. */
            assert_zero(&slope, s.n);
        problem_free(&p);
    }
}

/* Along rays: outputs whose squares underflow, and experts that are all the same. */
static void zeros_along_rays_are_certain_by_algebra_alone(void **state)
{
    (void)state;
    const double tau = 1e-3;
    const moeg_sampling s = lines_of(256);
    for (int same = 0; same < 2; same++) {
        struct problem p;
        moeg_estimate slope, hard, soft, gap;
        tetrahedron(&p);
        problem_free(&p);
        for (size_t k = 0; k < 5; k++)
            for (size_t i = 0; i < 6; i++) {
                p.A[k][i] = same ? p.A[4][i] : 1e-170 * p.A[k][i];
                p.c[k][i % 2] = same ? p.c[4][i % 2] : p.c[k][i % 2] * (i < 2 ? 1e-170 : 1);
            }
        problem_build(&p);
        const moeg_status expected = same ? MOEG_OK : MOEG_EUNABLE;
        assert_int_equal(
            moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &hard, &soft, &gap, NULL), expected);
        assert_int_equal(moeg_leading_slope(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &s, &slope), expected);
        const moeg_estimate *all[] = {&hard, &soft, &gap, &slope};
        for (int i = 0; i < 4; i++)
            if (same)
                assert_zero(all[i], s.n);
            else
                assert_unknown(all[i]);
        problem_free(&p);
    }
}

/* The hard model itself as the teacher, along rays and along general lines. */
static void the_model_itself_has_no_hard_risk(void **state)
{
    (void)state;
    const double tau = 0.1;
    const moeg_sampling s = lines_of(256);
    const moeg_gate gates[2] = {moeg_gate_softmax(), moeg_gate_subset(2)};
    for (int i = 0; i < 2; i++) {
        struct problem p;
        moeg_estimate hard, soft;
        tetrahedron(&p);
        moeg_moe *moe = mixture_of(&p, gates[i]);
        moeg_teacher *own;
        assert_ok(moeg_teacher_moe_create(&own, moe, 0));
        assert_ok(moeg_risk_curve(moe, own, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &hard, &soft, NULL, NULL));
        if (i == 0)
            assert_zero(&hard, s.n);
        else /* Sums of two outputs, to rounding. */
            assert_true(hard.hi < 1e-30 && isfinite(hard.std_error));
        assert_true(soft.value > 4 * soft.std_error && soft.std_error > 0);
        moeg_teacher_free(own);
        moeg_moe_free(moe);
        problem_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zero_on_every_line_is_unknown),
        cmocka_unit_test(zeros_along_rays_are_certain_by_algebra_alone),
        cmocka_unit_test(the_model_itself_has_no_hard_risk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
