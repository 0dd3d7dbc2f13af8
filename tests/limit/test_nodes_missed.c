/* Experts that are not affine and differ where hardly a line goes. */
#include "limit/lines.h"

/* One expert is max(x_1 - far, 0), or if `same` 0 as the others are, and m is 1 and curved. */
static void differ_far_out(double far, int same, struct problem *p)
{
    const double rows[3 * 3] = {0.3, 1, 0, -0.2, -0.8, 0.5, 0.1, 0, -1}, first[3] = {1, 0, 0}, one = 1, shift = -far;
    const double zero = 0, nothing[3] = {0, 0, 0}, *W[] = {first, &one}, *b[] = {&shift, &zero};
    const double *flat[] = {nothing, &one}, *high[] = {&one, &zero};
    const size_t widths[] = {3, 1, 1};
    moeg_expert *experts[3], *mean;
    *p = (struct problem){.d = 3};
    for (int k = 0; k < 3; k++)
        assert_ok(k > 0 || same ? moeg_expert_constant_create(&experts[k], 3, 1, &zero)
                                : moeg_expert_mlp_create(&experts[k], 2, widths, W, b, MOEG_ACTIVATION_RELU));
    assert_ok(moeg_expert_mlp_create(&mean, 2, widths, flat, high, MOEG_ACTIVATION_RELU));
    assert_ok(moeg_law_gaussian_create(&p->law, 3, NULL, NULL));
    assert_ok(moeg_router_affine_create(&p->router, 3, 3, rows, NULL));
    assert_ok(moeg_moe_create(&p->moe, p->router, moeg_gate_softmax(), experts));
    assert_ok(moeg_teacher_expert_create(&p->teacher, mean));
    for (int k = 0; k < 3; k++)
        moeg_expert_free(experts[k]);
    moeg_expert_free(mean);
}

/* Hardly a line meets where experts differ, or none: what few lines say is no error bar, and what none says no zero;
 * but where they do not differ it is one. */
static void what_lines_may_have_missed_is_unknown(void **state)
{
    (void)state;
    const double tau[3] = {0.01, 3, 0}, fars[3] = {4, 12, 12};
    const moeg_sampling s = line_options();
    for (int which = 0; which < 3; which++) {
        struct problem p;
        moeg_estimate hard, soft[3], gap[3];
        double covariance[9];
        const int same = which == 2;
        differ_far_out(fars[which], same, &p);
        assert_status(
            moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 3, tau, &s, &hard, soft, gap, covariance),
            same ? MOEG_OK : MOEG_EUNABLE, "risk_curve: 16384 lines are too few for an error bar");
        for (int t = 0; t < 2; t++) {
            assert_true(same ? gap[t].hi == 0 : gap[t].lo == -INFINITY && gap[t].hi == INFINITY);
            assert_true(same ? gap[t].std_error == 0 && isfinite(soft[t].std_error)
                             : isinf(gap[t].std_error) && isinf(soft[t].std_error));
        }
        if (which == 0)
            assert_true(gap[0].contributing < 30 && gap[1].contributing >= 30 && gap[1].contributing < 1000);
        else
            assert_true(gap[0].value == 0 && gap[0].contributing == (same ? s.n : 0));
        assert_true(gap[2].value == 0 && gap[2].std_error == 0 && isfinite(soft[2].std_error));
        for (int mix = 0; mix < 2 && which == 1; mix++) {
            moeg_estimate slope, rest;
            assert_int_equal(moeg_leading_remainder(p.moe, p.teacher, p.law, both[mix], 1, tau, &s, &slope, &rest),
                             MOEG_EUNABLE);
            /* m does not jump: of loss mixing there is no slope. */
            assert_true(rest.hi == INFINITY && slope.value == 0 && (mix == 1 ? slope.hi == 0 : slope.hi == INFINITY));
        }
        assert_true(same ? covariance[0] == 0 : isinf(covariance[0]) && isnan(covariance[1]) && covariance[2] == 0);
        problem_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_lines_may_have_missed_is_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
