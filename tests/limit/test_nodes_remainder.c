/* What the gap has beyond its slope at 0, on general lines drawn at random: against rays and the plane in disguise;
 * what is exactly 0, what is refused, threads and memory. */
#include "limit/expansion.h"
#include "limit/nodes_robust.h"
#include "limit/rays.h"

/* Where rays go too; with and without a jump. */
static void rays_are_lines(void **state)
{
    (void)state;
    const double tau[2] = {0.3, 0.02};
    for (int i = 0; i < 4; i++) {
        struct problem p;
        moeg_estimate slope[2], rest[2][2];
        const moeg_sampling s = lines_of(1 << 12);
        tetrahedron(&p);
        moeg_teacher *own, *plain = p.teacher;
        assert_ok(moeg_teacher_moe_create(&own, p.moe, 0));
        p.teacher = i < 2 ? plain : own;
        assert_ok(moeg_leading_remainder(p.moe, p.teacher, p.law, both[i % 2], 2, tau, &s, &slope[0], rest[0]));
        assert_ok(nodes_remainder(&p, both[i % 2], 2, tau, &s, &slope[1], rest[1]));
        assert_near(slope[0].value, slope[1].value, 4 * hypot(slope[0].std_error, slope[1].std_error));
        assert_true(i == 1 ? slope[1].std_error == 0 : slope[1].std_error < 0.03 * fabs(slope[1].value));
        for (int t = 0; t < 2; t++)
            assert_near(rest[0][t].value, rest[1][t].value, 4 * hypot(rest[0][t].std_error, rest[1][t].std_error));
        moeg_teacher_free(own);
        p.teacher = plain;
        problem_free(&p);
    }
}

static int check_remainder(const struct expansion *e)
{
    struct problem p;
    moeg_estimate slope, rest;
    const moeg_sampling s = lines_of(1 << 13);
    if (!e->softmax || e->tau != (e->mixing == MOEG_MIX_LOSS ? 1e-3 : 1e-6))
        return 0;
    plane_in_space(e->r, e->row, &p);
    assert_ok(nodes_remainder(&p, e->mixing, 1, &e->tau, &s, &slope, &rest));
    assert_near(slope.value, e->lead, 4 * slope.std_error);
    assert_near(rest.value, e->rest, 4 * rest.std_error);
    assert_true(rest.std_error * 90 <= 6 / sqrt(e->tau) && rest.std_error > 0);
    problem_free(&p);
    return 1;
}

/* The table's plane with a third coordinate: the truth is known, at any temperature, and the error is that of lines
 * that meet three experts. */
static void remainders_have_an_error_of_their_own(void **state)
{
    (void)state;
    check_expansions(check_remainder, 8);
}

static int check_second_order(const struct expansion *e)
{
    struct problem p;
    moeg_estimate gap;
    if (!e->softmax || e->mixing != MOEG_MIX_LOSS || e->leads || (e->tau != 1e-3 && e->tau != 1e-6))
        return 0;
    plane_in_space(e->r, e->row, &p);
    moeg_sampling s = lines_of(1 << 13);
    assert_ok(nodes_curve(&p, MOEG_MIX_LOSS, 1, &e->tau, &s, NULL, NULL, &gap, NULL));
    assert_near(gap.value, e->gap, 4 * gap.std_error);
    const double unit = pow(e->tau, 1.5);
    assert_true(gap.std_error * 90 > 0.3 * unit && gap.std_error * 90 < 2 * unit);
    s.n = 64;
    assert_int_equal(nodes_curve(&p, MOEG_MIX_LOSS, 1, &e->tau, &s, NULL, NULL, &gap, NULL), MOEG_EUNABLE);
    assert_unknown(&gap);
    problem_free(&p);
    return 1;
}

/* The same of the gaps themselves where m is continuous: O(tau^2), with errors of O(tau^(3/2)). */
static void gaps_of_second_order_have_no_false_errors(void **state)
{
    (void)state;
    check_expansions(check_second_order, 4);
}

/* By the public function: too few lines near a tie of three for a remainder at 1e-5, enough for the slope. */
static void too_few_lines_say_so(void **state)
{
    (void)state;
    struct problem p;
    moeg_estimate slope, rest;
    const double tau = 1e-5;
    const moeg_sampling s = lines_of(256);
    five_experts(&p, moeg_gate_topk_raw(2));
    assert_status(moeg_leading_remainder(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &slope, &rest),
                  MOEG_EUNABLE, "leading_remainder: 256 lines are too few for an error bar");
    assert_true(isfinite(slope.std_error));
    assert_unknown(&rest);
    problem_free(&p);
}

/* Whose squares underflow. */
static void gaps_of_any_size_have_error_bars(void **state)
{
    (void)state;
    struct problem p;
    moeg_estimate gap[2];
    const double tau[2] = {1e-12, 1e-200};
    const moeg_sampling s = lines_of(256);
    five_experts(&p, moeg_gate_topk_raw(2));
    assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tau, &s, gap));
    assert_relative(gap[1].value / tau[1], gap[0].value / tau[0], 1e-9);
    assert_relative(gap[1].std_error / tau[1], gap[0].std_error / tau[0], 1e-9);
    problem_free(&p);
}

/* Slopes to a twentieth, and remainders to 0.3, with no more lines than that takes. */
static void tolerances_are_reached(void **state)
{
    (void)state;
    struct problem p;
    moeg_estimate slope, rest;
    const double tau = 0.1;
    moeg_sampling s = lines_of(1 << 16);
    five_experts(&p, moeg_gate_topk_raw(2));
    s.rel_tol = 0.05;
    assert_ok(moeg_leading_slope(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &s, &slope));
    assert_true(slope.n < 8192 && slope.hi - slope.lo <= 0.1 * fabs(slope.value));
    s.rel_tol = 0;
    s.abs_tol = 0.3;
    assert_ok(moeg_leading_remainder(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, NULL, &rest));
    assert_true(rest.n > slope.n && rest.n < 1 << 16 && rest.hi - rest.lo <= 0.6);
    problem_free(&p);
}

static void frozen_gates_leave_exact_zeros(void **state)
{
    (void)state;
    const double tau[2] = {0.3, 1e-12};
    for (int K_ = 2; K_ < 5; K_ += 2)
        for (int which = 0; which < (K_ == 2 ? 2 : 1); which++) {
            struct problem p;
            moeg_estimate all[3];
            const moeg_sampling s = lines_of(64);
            problem_draw(&p, 5, (size_t)K_, 3, 2);
            p.gate = which == 0 ? moeg_gate_topk_renorm(1) : moeg_gate_subset(2);
            problem_build(&p);
            assert_ok(moeg_leading_remainder(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tau, &s, all, all + 1));
            for (int i = 0; i < 3; i++)
                assert_true(all[i].value == 0 && all[i].lo == 0 && all[i].hi == 0 && all[i].std_error == 0);
            problem_free(&p);
        }
}

static void what_has_no_leading_term_says_so(void **state)
{
    (void)state;
    struct problem p;
    moeg_estimate slope = {.value = 42}, rest = {.value = 42};
    const double tau = 0.1, line[] = {1.3, 0.7, -0.4};
    const moeg_sampling s = lines_of(64);
    problem_draw(&p, 3, 4, 3, 1);
    memcpy(p.W + 9, p.W + 3, 3 * sizeof *p.W);
    p.b[3] = p.b[1];
    problem_build(&p);
    assert_status(moeg_leading_slope(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &s, &slope), MOEG_EDOM,
                  "leading_slope: experts 1 and 3 tie everywhere where they decide");
    problem_free(&p);
    /* On one line exactly, or to rounding; the tenth of 3 is not three times that of 1. */
    for (int off = 0; off < 2; off++) {
        problem_draw(&p, 3, 4, 3, 1);
        for (size_t l = 0; l < 3; l++)
            for (size_t k = 0; k < 3; k++)
                p.W[3 * k + l] = off ? (double)(k + 1) / 10 * line[l] : ((double)k - 1) * line[l];
        for (size_t k = 0; k < 3; k++)
            p.b[k] = off ? 0.7 * ((double)(k + 1) / 10) : 0.2;
        problem_build(&p);
        assert_int_equal(moeg_leading_remainder(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &slope, &rest),
                         MOEG_EUNSUPPORTED);
        assert_non_null(strstr(moeg_last_error(), "tie wherever two of them do and decide"));
        problem_free(&p);
    }
    /* The second and the third of all three decide, whoever comes first. */
    for (size_t first = 0; first < 6; first++) {
        const double rows[3] = {-0.12956374140668586, 0.50428087341523309, 1.0650852542823466};
        const size_t second = (first + 1 + first / 3) % 3;
        p = (struct problem){
            .K = 3, .d = 1, .m = 1, .mean = {-0.67439581212286215}, .covariance = {1}, .c = {{0}, {5}, {1}}};
        p.W[first % 3] = rows[0];
        p.W[second] = rows[1];
        p.W[3 - first % 3 - second] = rows[2];
        p.gate = moeg_gate_subset(2);
        problem_build(&p);
        assert_status(moeg_leading_slope(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &s, &slope), MOEG_EUNSUPPORTED,
                      "tie wherever two of them do and decide");
        problem_free(&p);
    }
    /* They do not decide. */
    problem_draw(&p, 3, 4, 3, 1);
    for (size_t l = 0; l < 3; l++)
        for (size_t k = 0; k < 3; k++)
            p.W[3 * k + l] = ((double)k - 1) * line[l];
    p.b[0] = p.b[1] = p.b[2] = 0.2;
    p.b[3] = 60;
    p.gate = moeg_gate_topk_raw(2);
    problem_build(&p);
    assert_ok(moeg_leading_slope(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &s, &slope));
    assert_true(slope.value > -1e-100 && slope.value < 0 && slope.n == 1); /* 40 standard deviations away */
    problem_free(&p);
}

static moeg_status everything(const struct problem *p, moeg_mixing mixing, const moeg_sampling *s, moeg_estimate *all)
{
    const double tau[2] = {0.1, 1e-3};
    return moeg_leading_remainder(p->moe, p->teacher, p->law, mixing, 2, tau, s, all, all + 1);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_every_allocation_may_fail(everything, MOEG_MIX_OUTPUT);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    assert_threads_change_no_bit(everything, 3, 512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rays_are_lines),
        cmocka_unit_test(remainders_have_an_error_of_their_own),
        cmocka_unit_test(gaps_of_second_order_have_no_false_errors),
        cmocka_unit_test(too_few_lines_say_so),
        cmocka_unit_test(gaps_of_any_size_have_error_bars),
        cmocka_unit_test(tolerances_are_reached),
        cmocka_unit_test(frozen_gates_leave_exact_zeros),
        cmocka_unit_test(what_has_no_leading_term_says_so),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(threads_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
