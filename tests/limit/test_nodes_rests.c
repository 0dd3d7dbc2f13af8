/* Leading terms and ties of three that lines do not meet: gaps of loss mixing that are all rest, on these lines or on
 * any, have the error of their rest, or none. */
#include "limit/nodes_problem.h"
#include "limit/nodes_run.h"
#include "limit/plane_problem.h"
#include "limit/rays.h"

/* Four experts of which 0 and 1 are best where x_1 is large, and the teacher jumps at their tie alone. */
static void jump_far_out(double far, struct problem *p)
{
    static const double rows[12] = {1, 1, 1, 1, -1, -1, -1, 1, -1, -1, -1, 1.3};
    static const double constants[6] = {0.5, -1, 2, -0.7, 1.3, -1.1};
    *p = (struct problem){.K = 4, .d = 3, .m = 1, .pieces = 2, .b = {-far, -far}};
    memcpy(p->W, rows, sizeof rows);
    memcpy(p->V, rows, sizeof p->V);
    for (size_t i = 0; i < 3; i++)
        p->covariance[4 * i] = 1;
    for (size_t k = 0; k < 6; k++)
        p->c[k][0] = constants[k];
    p->gate = moeg_gate_softmax();
    problem_build(p);
}

/* 2 ln 2 S[J.delta]: at the tie x = (x_1, s, -s), both are the best where 2 x_1 - far > max(2 s, -2.3 s); the gradient
 * of the difference is 2 sqrt(2), and sqrt(2) s is N(0, 1). */
static double slope_far_out(double far)
{
    double mass = 0;
    const double h = 1.0 / 64;
    for (double y = -12; y <= 12; y += h) {
        const double s = y / sqrt(2), x = (far + fmax(2 * s, -2.3 * s)) / 2;
        mass += h * exp(-y * y / 2) / 2.506628274631 * erfc(x / sqrt(2)) / 2;
    }
    return 2 * log(2) * (1.5 * 2.4) * mass / 2.506628274631 / (2 * sqrt(2));
}

static void leading_terms_that_lines_miss_are_unknown(void **state)
{
    (void)state;
    const double tau = 1e-9;
    struct problem p;
    moeg_estimate slope, gap;
    moeg_sampling s = lines_of(512);
    jump_far_out(16, &p);
    for (s.seed = 1; s.seed < 4; s.seed++) {
        assert_status(moeg_leading_slope(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, &s, &slope), MOEG_EUNABLE,
                      "leading_slope: 512 lines are too few for an error bar");
        assert_true(slope.value == 0 && slope.contributing == 0);
        assert_unknown(&slope);
        assert_int_equal(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, &tau, &s, &gap), MOEG_EUNABLE);
        assert_unknown(&gap);
    }
    problem_free(&p);
    enum { RUNS = 20 };
    const double expected = slope_far_out(2);
    size_t missed = 0;
    jump_far_out(2, &p);
    s.n = 1 << 11;
    s.level = 0.9;
    for (s.seed = 1; s.seed <= RUNS; s.seed++) {
        assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, &tau, &s, &gap));
        assert_true(gap.std_error > 0.03 * expected * tau && gap.std_error < 0.1 * expected * tau);
        missed += !(gap.lo <= expected * tau && expected * tau <= gap.hi);
    }
    assert_true(missed <= 7); /* P(Bin(20, 0.1) > 7) = 4e-4 */
    s.seed = RUNS;
    assert_ok(moeg_leading_slope(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, &s, &slope));
    assert_near(gap.value / tau, slope.value, 1e-6 * expected);
    assert_relative(gap.std_error / tau, slope.std_error, 1e-2);
    problem_free(&p);
}

/* A hard mixture whose pieces are one expert jumps nowhere. */
static void equal_pieces_are_one(void **state)
{
    (void)state;
    const double tau[2] = {0.3, 1e-6};
    const moeg_gate gates[2] = {moeg_gate_softmax(), moeg_gate_topk_raw(2)};
    for (int i = 0; i < 2; i++) {
        struct problem p;
        moeg_estimate gap[2][2], slope;
        moeg_expert *pieces[4];
        moeg_moe *one;
        moeg_teacher *teacher;
        const moeg_sampling s = lines_of(1 << 11);
        tetrahedron(&p);
        moeg_moe *moe = mixture_of(&p, gates[i]);
        for (size_t k = 0; k < 4; k++)
            pieces[k] = problem_expert(&p, 4);
        assert_ok(moeg_moe_create(&one, p.router, moeg_gate_softmax(), pieces));
        assert_ok(moeg_teacher_moe_create(&teacher, one, 0));
        const moeg_status status = moeg_risk_gap(moe, p.teacher, p.law, MOEG_MIX_LOSS, 2, tau, &s, gap[0]);
        assert_int_equal(moeg_risk_gap(moe, teacher, p.law, MOEG_MIX_LOSS, 2, tau, &s, gap[1]), status);
        for (int t = 0; t < 2; t++) {
            assert_near(gap[1][t].value, gap[0][t].value, 1e-12 * fabs(gap[0][t].value));
            if (isfinite(gap[0][t].std_error))
                assert_near(gap[1][t].std_error, gap[0][t].std_error, 1e-12 * gap[0][t].std_error);
            else
                assert_unknown(&gap[1][t]);
        }
        assert_ok(moeg_leading_slope(moe, teacher, p.law, MOEG_MIX_LOSS, &s, &slope));
        assert_zero(&slope, s.n);
        moeg_teacher_free(teacher);
        moeg_moe_free(one);
        moeg_moe_free(moe);
        for (size_t k = 0; k < 4; k++)
            moeg_expert_free(pieces[k]);
        problem_free(&p);
    }
}

/* Behind the student's own router a mean of two jumps where ranks 2 and 3 tie, and never where 1 and 2 do: the gap is
 * all rest. At larger temperatures it is -1.1 tau^2, by lines and by rows. */
static void jumps_of_other_ranks_leave_rests(void **state)
{
    (void)state;
    enum { SEEDS = 8 };
    const double tau = 1e-6, square = tau * tau, large = 0.03;
    struct problem p;
    moeg_estimate gap, slope, rows;
    moeg_sampling s = lines_of(1 << 12);
    size_t known = 0, missed = 0;
    problem_draw(&p, 21, 4, 3, 2);
    p.gate = moeg_gate_topk_raw(2);
    problem_build(&p);
    moeg_moe *mean = mixture_of(&p, moeg_gate_subset(2));
    moeg_teacher *teacher;
    assert_ok(moeg_teacher_moe_create(&teacher, mean, 0));
    assert_ok(moeg_leading_slope(p.moe, teacher, p.law, MOEG_MIX_LOSS, &s, &slope));
    assert_zero(&slope, s.n);
    assert_ok(moeg_risk_gap(p.moe, teacher, p.law, MOEG_MIX_LOSS, 1, &large, &s, &gap));
    moeg_sampling by_rows = s;
    by_rows.method = MOEG_METHOD_MC;
    by_rows.n = 1 << 17;
    assert_ok(moeg_risk_gap(p.moe, teacher, p.law, MOEG_MIX_LOSS, 1, &large, &by_rows, &rows));
    assert_near(gap.value, rows.value, 4 * hypot(gap.std_error, rows.std_error));
    const double rest = gap.value / (large * large);
    assert_near(rest, -1.1, 0.3);
    for (s.seed = 1; s.seed <= SEEDS; s.seed++) {
        const moeg_status status = moeg_risk_gap(p.moe, teacher, p.law, MOEG_MIX_LOSS, 1, &tau, &s, &gap);
        assert_true(status == MOEG_OK || status == MOEG_EUNABLE);
        known += status == MOEG_OK;
        missed += !(gap.lo <= rest * square && rest * square <= gap.hi);
        if (status == MOEG_OK)
            assert_true(gap.std_error > 5 * square && gap.std_error < 50 * square);
    }
    assert_true(known >= SEEDS * 3 / 4 && missed <= 2);
    moeg_teacher_free(teacher);
    moeg_moe_free(mean);
    problem_free(&p);
}

/* The table's plane with a third coordinate, so that the truth is known, along rays; m jumps or not. Intervals at
 * temperatures whose rests hardly a line meets hold it as often as they say, or more. */
static void rests_that_rays_do_not_meet_are_covered(void **state)
{
    (void)state;
    enum { RUNS = 20 };
    struct reference *r = reference_read("gap_k3.csv");
    size_t seen = 0;
    for (size_t row = 0; row < r->row_count; row++) {
        const double tau = (double)reference_value(r, row, "tau"), G = (double)reference_value(r, row, "G");
        if (reference_value(r, row, "k") > 1 || plane_mixing(r, row) != MOEG_MIX_LOSS || (tau != 1e-3 && tau != 1e-6))
            continue;
        struct problem p;
        size_t missed = 0, known = 0;
        moeg_sampling s = lines_of(1 << 13);
        s.level = 0.9;
        plane_in_space(r, row, &p);
        for (s.seed = 1; s.seed <= RUNS; s.seed++) {
            moeg_estimate gap;
            assert_true(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, &tau, &s, &gap) >= 0);
            missed += !(gap.lo <= G && G <= gap.hi);
            known += isfinite(gap.std_error);
        }
        assert_true(known >= RUNS * 3 / 4 && missed <= 7); /* P(Bin(20, 0.1) > 7) = 4e-4 */
        seen++;
        problem_free(&p);
    }
    assert_int_equal(seen, 8);
    free(r);
}

/* The teacher's interface is that of two experts that are never the best: the gap is known to be no zero, no more; off
 * it by 1e-9 it is no tie, and the gap is all rest. */
static void ties_that_never_decide_do_not_stop_the_judging(void **state)
{
    (void)state;
    const double tau = 1e-6;
    for (int off = 0; off < 2; off++) {
        struct problem p;
        moeg_estimate gap, slope;
        const moeg_sampling s = lines_of(1 << 12);
        problem_draw(&p, 77, 6, 3, 1);
        p.b[4] = p.b[5] = -60;
        p.pieces = 2;
        memcpy(p.V, p.W + 12, 6 * sizeof *p.V);
        p.e[0] = p.e[1] = -60;
        p.V[0] *= off ? 1 + 1e-9 : 1;
        for (size_t i = 0; i < 3; i++)
            p.A[7][i] = problem_number(5, i);
        p.c[7][0] = 0.3;
        p.gate = moeg_gate_topk_raw(2);
        problem_build(&p);
        const moeg_status status = moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, &tau, &s, &gap);
        assert_int_equal(moeg_leading_slope(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, &s, &slope),
                         off ? MOEG_OK : MOEG_EUNABLE);
        if (off) {
            assert_ok(status);
            assert_true(gap.std_error > 10 * tau * tau && gap.std_error < 200 * tau * tau);
            assert_zero(&slope, s.n);
        } else {
            assert_int_equal(status, MOEG_EUNABLE);
            assert_unknown(&gap);
            assert_unknown(&slope);
        }
        problem_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leading_terms_that_lines_miss_are_unknown),
        cmocka_unit_test(equal_pieces_are_one),
        cmocka_unit_test(jumps_of_other_ranks_leave_rests),
        cmocka_unit_test(rests_that_rays_do_not_meet_are_covered),
        cmocka_unit_test(ties_that_never_decide_do_not_stop_the_judging),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
