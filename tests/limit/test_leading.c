/* The leading term under a Gaussian law: the table's, finite differences of the gap, and the corners of the contract.
 */
#include "limit/problem.h"
#include "support/failing_alloc.h"

/* G(tau)/tau as tau -> 0, of problems of several dimensions and outputs. */
static void it_is_the_limit_of_the_gap(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct problem p;
        problem_make(&p, seed, 2, 1 + seed % 4, 1 + seed % 3);
        const moeg_sampling s = moeg_sampling_default();
        const double tau[] = {1e-9, 1e-30};
        moeg_estimate gap[2];
        moeg_leading c;
        assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &c));
        assert_true(c.coefficient < 0 && c.power == 1 && c.rate == 0);
        assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tau, &s, gap));
        assert_relative(gap[1].value / tau[1], c.coefficient, 40 * EPS);
        /* O(tau^2) away from it; slopes here are of order 10. */
        assert_relative(gap[0].value / tau[0], c.coefficient, 100 * tau[0]);
        assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, &c));
        assert_true(c.power == 2 && c.rate == 0);
        assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 2, tau, &s, gap));
        assert_relative(gap[1].value / tau[1] / tau[1], c.coefficient, 100 * EPS);
        assert_relative(gap[0].value / tau[0] / tau[0], c.coefficient, 100 * tau[0]);
        problem_free(&p);
    }
}

/* s = x, X ~ N(0, 1), f = +-1: -4/sqrt(2 pi) = -1.595769..., whatever m is. */
static void closed_form(void **state)
{
    (void)state;
    struct problem p = {.K = 2, .d = 1, .m = 1, .covariance = {1}, .W = {1, 0}};
    p.c[0][0] = 1;
    p.c[1][0] = -1;
    for (int i = 0; i < 3; i++) {
        p.c[2][0] = 0.2 + 1e3 * i;
        problem_build(&p);
        moeg_leading c;
        assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &c));
        assert_relative(c.coefficient, -1.5957691216057307117597842397375, 4 * EPS);
        problem_free(&p);
    }
}

static moeg_status allocating(void *user)
{
    const struct problem *p = user;
    moeg_leading c = {42, 42, 42};
    const moeg_status status = moeg_leading_term(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, &c);
    if (status != MOEG_OK)
        assert_near(c.coefficient + c.power + c.rate, 126, 0);
    return status;
}

static void errors(void **state)
{
    (void)state;
    struct problem p, wide;
    moeg_leading c = {42, 42, 42};
    problem_make(&p, 3, 2, 2, 1);
    problem_make(&wide, 3, 2, 3, 2);
#define TERM(moe, teacher, law, mixing, out) moeg_leading_term(moe, teacher, law, mixing, out)
    assert_status(TERM(NULL, p.teacher, p.law, 0, &c), MOEG_EINVAL, "leading_term: moe must not be NULL");
    assert_status(TERM(p.moe, NULL, p.law, 0, &c), MOEG_EINVAL, "teacher must not be NULL");
    assert_status(TERM(p.moe, p.teacher, NULL, 0, &c), MOEG_EINVAL, "law must not be NULL");
    assert_status(TERM(p.moe, p.teacher, p.law, 0, NULL), MOEG_EINVAL, "leading must not be NULL");
    assert_status(TERM(p.moe, p.teacher, p.law, (moeg_mixing)2, &c), MOEG_EINVAL, "mixing must be");
    assert_status(TERM(p.moe, wide.teacher, p.law, 0, &c), MOEG_EINVAL, "has 1 outputs, the teacher 2");
    assert_status(TERM(p.moe, p.teacher, wide.law, 0, &c), MOEG_EINVAL, "takes dimension 2, the law has 3");
    assert_true(fail_every_allocation(allocating, &p) >= 2);
    moeg_teacher *soft;
    assert_ok(moeg_teacher_moe_create(&soft, p.moe, 0.1));
    assert_status(TERM(p.moe, soft, p.law, 0, &c), MOEG_EUNSUPPORTED, "leading_term: the teacher is soft");
    moeg_teacher_free(soft);
    problem_free(&wide);
    problem_make(&wide, 3, 3, 2, 1);
    assert_status(TERM(wide.moe, wide.teacher, wide.law, 0, &c), MOEG_EUNSUPPORTED, "more than two experts");
    problem_free(&wide);
    moeg_law *data;
    assert_ok(moeg_law_empirical_create(&data, 1, 2, p.W, NULL));
    assert_status(TERM(p.moe, p.teacher, data, 0, &c), MOEG_EUNSUPPORTED, "the law is not Gaussian");
    moeg_law_free(data);
    problem_free(&p);
    p.W[2] = p.W[0];
    p.W[3] = p.W[1];
    problem_build(&p);
    assert_status(TERM(p.moe, p.teacher, p.law, 0, &c), MOEG_EDOM, "is constant and has no density");
    problem_free(&p);
    p.A[0][0] = 1e200;
    p.W[0] = 3.1;
    problem_build(&p);
    assert_status(TERM(p.moe, p.teacher, p.law, 0, &c), MOEG_ERANGE, "overflows");
    problem_free(&p);
    assert_near(c.coefficient + c.power + c.rate, 126, 0);
    /* A masked expert has no interface. */
    p.A[0][0] = 0.3;
    p.b[1] = -INFINITY;
    problem_build(&p);
    assert_ok(TERM(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &c));
    assert_near(c.coefficient, 0, 0);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_limit_of_the_gap),
        cmocka_unit_test(closed_form),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
