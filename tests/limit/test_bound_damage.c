/* Sampled bounds from what no rows can have left, and from rows so light beside others that their squares are lost. */
#include "limit/damage.h"
#include "support/check.h"

enum { ROWS = 100 };

struct scene {
    moeg_law *law;
    moeg_moe *moe;
    moeg_teacher *teacher;
};

/* Two experts, x and 0, under a router that is tied at 0: `agreeing` rows at x = 0, where they agree, of weight 1, and
 * the rest between 0.1 and 1, of weight `light`. */
static void scene_make(struct scene *c, int weighted, size_t agreeing, double light)
{
    const double W[2] = {1, 0}, slopes[2] = {1, 0}, aim = 0.3;
    double x[ROWS], w[ROWS];
    moeg_router *router;
    moeg_expert *experts[3];
    for (size_t i = 0; i < ROWS; i++) {
        x[i] = i < agreeing ? 0 : 0.1 + 0.009 * (double)i;
        w[i] = i < agreeing ? 1 : light;
    }
    assert_ok(moeg_law_empirical_create(&c->law, ROWS, 1, x, weighted ? w : NULL));
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, NULL));
    for (size_t k = 0; k < 2; k++)
        assert_ok(moeg_expert_affine_create(&experts[k], 1, 1, &slopes[k], NULL));
    assert_ok(moeg_expert_constant_create(&experts[2], 1, 1, &aim));
    assert_ok(moeg_moe_create(&c->moe, router, moeg_gate_softmax(), experts));
    assert_ok(moeg_teacher_expert_create(&c->teacher, experts[2]));
    moeg_router_free(router);
    for (size_t k = 0; k < 3; k++)
        moeg_expert_free(experts[k]);
}

static void scene_free(struct scene *c)
{
    moeg_law_free(c->law);
    moeg_moe_free(c->moe);
    moeg_teacher_free(c->teacher);
}

static void check_damage(const struct scene *c, size_t at, double value)
{
    const double tau = 2.385;
    struct damage damage = {at, value};
    const moeg_runner runner = {run_and_damage, &damage};
    moeg_sampling s = moeg_sampling_default();
    moeg_estimate out = {.value = 42};
    s.runner = &runner;
    assert_status(moeg_bound_moment(c->moe, c->teacher, c->law, MOEG_MIX_OUTPUT, 1, &tau, &s, &out), MOEG_EINVAL,
                  "bound_moment: the partial result is damaged: ");
    assert_status(moeg_bound_holder_moment(c->moe, c->teacher, c->law, MOEG_MIX_OUTPUT, 1.7, &s, &out), MOEG_EINVAL,
                  "bound_holder_moment: the partial result is damaged: ");
    assert_near(out.value, 42, 0);
}

/* State of one variable: {rows, mean, squares, felt} or, with weights, {rows, e, W, Q, mean, squares, mean, felt}. */
static void damaged_results_are_refused(void **state)
{
    (void)state;
    for (int weighted = 0; weighted < 2; weighted++) {
        struct scene c;
        scene_make(&c, weighted, 40, 0.7);
        for (size_t i = 0; i < NO_COUNTS; i++) {
            check_damage(&c, 0, no_counts[i]);
            check_damage(&c, weighted ? 7 : 3, no_counts[i]);
        }
        check_damage(&c, 0, ROWS + 1);
        check_damage(&c, weighted ? 7 : 3, ROWS + 1);
        if (weighted)
            check_damage(&c, 2, NAN);
        else
            check_damage(&c, 0, ROWS - 1);
        check_damage(&c, weighted ? 5 : 2, -2.385);
        scene_free(&c);
    }
}

/* Rows that hold all of a moment, and whose weights are lost beside those of the others: how many equal ones they are
 * worth is not known, and so no error bar. */
static void light_rows_tell_nothing(void **state)
{
    (void)state;
    static const double lights[] = {1e-200, 1e-170, 1e-300};
    const moeg_sampling s = moeg_sampling_default();
    const double tau = 0.4;
    for (size_t i = 0; i < 3; i++) {
        struct scene c;
        moeg_estimate moment, bound;
        scene_make(&c, 1, 40, lights[i]);
        assert_status(moeg_bound_holder_moment(c.moe, c.teacher, c.law, MOEG_MIX_OUTPUT, 2, &s, &moment), MOEG_EUNABLE,
                      "bound_holder_moment: experts differ in 60 of 100 rows, which tell as much as 0 of equal weight");
        assert_true(moment.value > 0 && isinf(moment.std_error) && isinf(moment.hi) && moment.contributing == 60);
        /* All rows feel tau, and those of weight 1 add nothing. */
        assert_status(moeg_bound_moment(c.moe, c.teacher, c.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &bound), MOEG_EUNABLE,
                      "is felt by 100 of 100 rows, but what they add to the bound is 0, or its squares underflow");
        assert_true(bound.value > 0 && isinf(bound.std_error) && isinf(bound.hi));
        scene_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_results_are_refused),
        cmocka_unit_test(light_rows_tell_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
