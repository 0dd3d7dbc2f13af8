/* What the moment form and the moments of the Hoelder form do not know, refuse, and cannot hold. */
#include "limit/bound_line.h"
#include "support/failing_alloc.h"

/* 1, and for one of them something else that no row sees. */
static int differs_far_out(size_t n, const double *x, double *out, void *user)
{
    for (size_t i = 0; i < n; i++)
        out[i] = user != NULL && x[i] > 60 ? x[i] : 1;
    return 0;
}

/* Rows that feel too little give no finite limit, and gates that cannot change a sure 0. */
static void no_false_bound(void **state)
{
    (void)state;
    struct line_problem p;
    moeg_sampling s = moeg_sampling_default();
    moeg_estimate bound[2], moment;
    const double tiny[2] = {1e-9, 0}, some = 0.7, large = 1e3;
    line_problem_make(&p);
    assert_status(moeg_bound_moment(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tiny, &s, bound), MOEG_EUNABLE,
                  "bound_moment: tau[0] = 1e-09 is felt by 0 of 16384 rows");
    assert_true(isinf(bound[0].hi) && isinf(bound[0].std_error) && bound[0].contributing == 0);
    assert_true(bound[1].hi == 0 && bound[1].lo == 0 && bound[1].contributing == s.n);
    s.n = 29;
    assert_status(moeg_bound_moment(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &some, &s, bound), MOEG_EUNABLE,
                  "29 rows are fewer than 30");
    assert_status(moeg_bound_holder_moment(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, &s, &moment), MOEG_EUNABLE,
                  "29 rows are fewer than 30");
    assert_true(isinf(moment.hi));
    /* The power of one row outweighs all others. */
    s.n = 100;
    assert_status(moeg_bound_holder_moment(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 50, &s, &moment), MOEG_EUNABLE,
                  "bound_holder_moment: experts differ in 100 of 100 rows, which tell as much as");
    assert_true(isinf(moment.hi) && moment.value > 0);
    s.n = 1000;

    /* Experts that agree in all rows seen, and are not known to be one. */
    const moeg_router *router = moeg_moe_router(p.moe);
    moeg_expert *same[2], *far[2];
    moeg_router *own;
    moeg_moe *moe;
    const double W[2] = {1, 0}, one = 1, masks[2] = {0, -INFINITY};
    for (size_t k = 0; k < 2; k++)
        assert_ok(moeg_expert_constant_create(&same[k], 1, 1, &one));
    assert_int_equal(moeg_router_experts(router), 2);
    assert_ok(moeg_router_affine_create(&own, 2, 1, W, NULL));
    for (size_t k = 0; k < 2; k++)
        assert_ok(moeg_expert_callback_create(&far[k], 1, 1, differs_far_out, NULL, k == 0 ? NULL : same[k]));
    assert_ok(moeg_moe_create(&moe, own, moeg_gate_subset(1), far));
    assert_status(moeg_bound_holder_moment(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, &s, &moment), MOEG_EUNABLE,
                  "experts differ in 0 of 1000 rows");
    assert_true(moment.value == 0 && isinf(moment.hi));
    /* All rows feel the temperature, but have nothing to change. */
    assert_status(moeg_bound_moment(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &large, &s, bound), MOEG_EUNABLE,
                  "is felt by 1000 of 1000 rows, but what they add to the bound is 0");
    assert_true(bound[0].value == 0 && isinf(bound[0].hi) && bound[0].contributing == 1000);
    moeg_moe_free(moe);
    moeg_expert_free(far[0]);
    moeg_expert_free(far[1]);

    const moeg_gate frozen[] = {moeg_gate_subset(2), moeg_gate_topk_renorm(1)};
    for (size_t g = 0; g < 3; g++) {
        moeg_router_free(own);
        assert_ok(moeg_router_affine_create(&own, 2, 1, W, g == 2 ? masks : NULL));
        assert_ok(moeg_moe_create(&moe, own, g == 2 ? moeg_gate_softmax() : frozen[g], same));
        assert_ok(moeg_bound_moment(moe, p.teacher, p.law, MOEG_MIX_LOSS, 2, tiny, &s, bound));
        assert_ok(moeg_bound_holder_moment(moe, p.teacher, p.law, MOEG_MIX_LOSS, 2, &s, &moment));
        assert_true(bound[0].hi == 0 && bound[0].value == 0 && moment.hi == 0 && moment.contributing == s.n);
        moeg_moe_free(moe);
    }
    moeg_router_free(own);
    moeg_expert_free(same[0]);
    moeg_expert_free(same[1]);
    line_problem_free(&p);
}

static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    struct line_problem p;
    moeg_sampling s = moeg_sampling_default(), none = s;
    moeg_law *plane;
    moeg_estimate out[2] = {{.value = 42}};
    double tau[2] = {0.3, 0.1};
    line_problem_make(&p);
    none.n = 0;
    assert_ok(moeg_law_gaussian_create(&plane, 2, NULL, NULL));
#define MOMENT(moe, teacher, law, n, s, out) moeg_bound_moment(moe, teacher, law, MOEG_MIX_LOSS, n, tau, s, out)
#define POWER(moe, law, p, s, out) moeg_bound_holder_moment(moe, teacher, law, MOEG_MIX_LOSS, p, s, out)
    const moeg_teacher *teacher = p.teacher;
    assert_status(MOMENT(NULL, teacher, p.law, 2, &s, out), MOEG_EINVAL, "bound_moment: moe must not be NULL");
    assert_status(MOMENT(p.moe, NULL, p.law, 2, &s, out), MOEG_EINVAL, "bound_moment: teacher must not be NULL");
    assert_status(MOMENT(p.moe, teacher, NULL, 2, &s, out), MOEG_EINVAL, "bound_moment: law must not be NULL");
    assert_status(MOMENT(p.moe, teacher, plane, 2, &s, out), MOEG_EINVAL, "takes dimension 1, the law has 2");
    assert_status(MOMENT(p.moe, teacher, p.law, 0, &s, out), MOEG_EINVAL, "ntau must be at least 1, got 0");
    assert_status(MOMENT(p.moe, teacher, p.law, 2, &none, out), MOEG_EINVAL, "n must be at least 1");
    assert_status(MOMENT(p.moe, teacher, p.law, 2, NULL, out), MOEG_EINVAL, "NULL");
    assert_status(MOMENT(p.moe, teacher, p.law, 2, &s, NULL), MOEG_EINVAL, "bound must not be NULL");
    assert_status(moeg_bound_moment(p.moe, teacher, p.law, (moeg_mixing)2, 2, tau, &s, out), MOEG_EINVAL, "mixing");
    assert_status(moeg_bound_moment(p.moe, teacher, p.law, MOEG_MIX_LOSS, 2, NULL, &s, out), MOEG_EINVAL, "tau must");
    static const double off[] = {NAN, INFINITY, -1, 1e-301, 1e301}, powers[] = {1, 0.5, NAN, INFINITY};
    for (size_t i = 0; i < 5; i++) {
        tau[1] = off[i];
        assert_status(MOMENT(p.moe, teacher, p.law, 2, &s, out), MOEG_EINVAL, "bound_moment: tau[1] must be 0 or in");
    }
    tau[1] = 0.1;
    for (size_t i = 0; i < 4; i++)
        assert_status(POWER(p.moe, p.law, powers[i], &s, out), MOEG_EINVAL, "p must be above 1 and finite, got");
    assert_status(POWER(NULL, p.law, 2, &s, out), MOEG_EINVAL, "bound_holder_moment: moe must not be NULL");
    assert_status(POWER(p.moe, p.law, 2, NULL, out), MOEG_EINVAL, "NULL");
    assert_status(POWER(p.moe, p.law, 2, &s, NULL), MOEG_EINVAL, "moment must not be NULL");
    s.method = MOEG_METHOD_LINE;
    assert_status(MOMENT(p.moe, teacher, p.law, 2, &s, out), MOEG_EUNSUPPORTED, "method line does not apply");
    assert_status(POWER(p.moe, p.law, 2, &s, out), MOEG_EUNSUPPORTED, "method line does not apply");
    s.method = MOEG_METHOD_AUTO;
    /* 8 x^2 to the power 1e5 overflows somewhere in (-1, 1), and its square before that. */
    assert_status(POWER(p.moe, p.law, 1e5, &s, out), MOEG_ERANGE, "bound_holder_moment: the term of sample");
    assert_status(POWER(p.moe, p.law, 250, &s, out), MOEG_ERANGE, "the moment, or its variance, overflows");
    assert_near(out[0].value, 42, 0);
    moeg_law_free(plane);
    line_problem_free(&p);
}

/* Numbers of the rows that overflow, named; masked experts may. */
static void overflow_is_named(void **state)
{
    (void)state;
    const double x[2] = {1, 1}, W[2] = {1, 0}, steep[2] = {1e308, 1e308}, far = 1e308, zero = 0, large = 1e200;
    const double masks[2] = {0, -INFINITY};
    const moeg_sampling s = moeg_sampling_default();
    const double tau = 1;
    moeg_law *law;
    moeg_router *router;
    moeg_expert *plain, *inf, *large_one, *pair[2];
    moeg_moe *moe;
    moeg_teacher *teacher, *high;
    moeg_estimate out = {.value = 42};
    assert_ok(moeg_law_empirical_create(&law, 2, 1, x, NULL));
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, NULL));
    assert_ok(moeg_expert_constant_create(&plain, 1, 1, &zero));
    assert_ok(moeg_expert_constant_create(&large_one, 1, 1, &large));
    assert_ok(moeg_expert_affine_create(&inf, 1, 1, steep, &far));
    assert_ok(moeg_teacher_expert_create(&teacher, plain));
    assert_ok(moeg_teacher_expert_create(&high, inf));
    pair[0] = plain;
    pair[1] = inf;
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), pair));
    assert_status(moeg_bound_moment(moe, teacher, law, MOEG_MIX_OUTPUT, 1, &tau, &s, &out), MOEG_ERANGE,
                  "bound_moment: output 0 of expert 1 at sample 0 overflows");
    assert_status(moeg_bound_moment(moe, high, law, MOEG_MIX_LOSS, 1, &tau, &s, &out), MOEG_ERANGE,
                  "bound_moment: output 0 of the teacher at sample 0 overflows");
    moeg_moe_free(moe);
    pair[1] = large_one;
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), pair));
    assert_status(moeg_bound_moment(moe, teacher, law, MOEG_MIX_OUTPUT, 1, &tau, &s, &out), MOEG_ERANGE,
                  "bound_moment: the loss of sample 0 overflows");
    assert_near(out.value, 42, 0);
    moeg_moe_free(moe);
    moeg_router_free(router);
    pair[1] = inf;
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, masks));
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), pair));
    assert_ok(moeg_bound_moment(moe, teacher, law, MOEG_MIX_OUTPUT, 1, &tau, &s, &out));
    assert_near(out.hi, 0, 0);
    moeg_moe_free(moe);
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_topk_raw(2), pair));
    assert_status(moeg_bound_moment(moe, teacher, law, MOEG_MIX_OUTPUT, 1, &tau, &s, &out), MOEG_EDOM,
                  "bound_moment: the router masks all but 1 experts at sample 0, fewer than gate.k = 2");
    moeg_moe_free(moe);
    moeg_router_free(router);
    moeg_law_free(law);
    moeg_teacher_free(teacher);
    moeg_teacher_free(high);
    moeg_expert_free(plain);
    moeg_expert_free(large_one);
    moeg_expert_free(inf);
}

static moeg_status one_run(void *user)
{
    const struct line_problem *p = user;
    moeg_sampling s = moeg_sampling_default();
    const double tau = 0.7;
    moeg_estimate out[2] = {{.value = 42}, {.value = 42}};
    s.n = 1000;
    s.max_threads = 1;
    moeg_status status = moeg_bound_moment(p->moe, p->teacher, p->law, MOEG_MIX_LOSS, 1, &tau, &s, out);
    assert_true(status == MOEG_OK || out[0].value == 42);
    if (status == MOEG_OK)
        status = moeg_bound_holder_moment(p->moe, p->teacher, p->law, MOEG_MIX_LOSS, 2, &s, out + 1);
    assert_true(status == MOEG_OK || out[1].value == 42);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct line_problem p;
    line_problem_make(&p);
    assert_true(fail_every_allocation(one_run, &p) >= 16);
    line_problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_false_bound),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(overflow_is_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
