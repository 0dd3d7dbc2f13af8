/* Teachers that jump on interfaces of the router: several pairs of experts on one hyperplane, several pieces that tie
 * there. The slope of the gap is a sum over interfaces by hand, and the gap over tau at any tau. */
#include "limit/grid.h"
#include "limit/nodes_run.h"

static const double LN2 = 0.693147180559945309417;

/* The best two experts, or the worst, tie on each half of x_1 = 0 and of x_2 = 0, where density over slope is
 * phi(0)/4: pairs (0, 1) and (2, 3), between which m jumps, and (0, 2) and (1, 3). */
static double grid_slope(const struct problem *p, moeg_mixing mixing)
{
    static const size_t pairs[4][2] = {{0, 1}, {2, 3}, {0, 2}, {1, 3}};
    const double k = p->gate.kind == MOEG_GATE_SUBSET ? (double)p->gate.k : 1, J = p->c[4][0] - p->c[5][0];
    double sum = 0;
    for (size_t i = 0; i < 4; i++) {
        const double delta = p->c[pairs[i][0]][0] - p->c[pairs[i][1]][0];
        sum += (i < 2 ? 2 * LN2 * J * delta / k : 0) - (mixing == MOEG_MIX_LOSS ? 0 : delta * delta / k / k);
    }
    return sum / 4 / sqrt(2 * acos(-1));
}

/* The slope is gap/tau at any tau, those included at which rounding of the logits is felt. */
static double slope_is_the_gap_at_any_tau(const struct problem *p, moeg_mixing mixing)
{
    static const double taus[] = {1e-9, 1e-16};
    const moeg_sampling s = line_options();
    moeg_estimate slope, gap[2];
    assert_ok(nodes_remainder(p, mixing, 0, NULL, &s, &slope, NULL));
    assert_true(slope.n == 1 && slope.std_error == 0);
    assert_ok(nodes_curve(p, mixing, 2, taus, &s, NULL, NULL, gap, NULL));
    for (size_t t = 0; t < 2; t++)
        assert_near(gap[t].value / taus[t], slope.value, 20 * taus[t] + slope.quad_error + gap[t].quad_error / taus[t]);
    return slope.value;
}

static void pairs_share_a_hyperplane(void **state)
{
    (void)state;
    const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_subset(1), moeg_gate_subset(3), moeg_gate_topk_raw(2)};
    for (size_t g = 0; g < 4; g++)
        for (int i = 0; i < 2; i++) {
            struct problem p;
            grid(&p, gates[g]);
            problem_build(&p);
            const double expected = grid_slope(&p, both[i]);
            assert_near(slope_is_the_gap_at_any_tau(&p, both[i]), expected, 2e-15);
            problem_free(&p);
            /* Under a law that rounds the crossings of the two pairs apart. */
            for (uint64_t seed = 1; seed < 3 && i == 0 && g % 2 == 0; seed++) {
                p.mean[0] = problem_number(seed, 1);
                p.mean[1] = problem_number(seed, 2);
                p.covariance[0] = 1.1 + 0.5 * problem_number(seed, 3);
                p.covariance[1] = p.covariance[2] = 0.4 * problem_number(seed, 4);
                problem_build(&p);
                slope_is_the_gap_at_any_tau(&p, both[i]);
                problem_free(&p);
            }
        }
}

/* Three pieces whose rows are on one line tie on one interface, where m jumps from the first to the last. */
static moeg_teacher *three_pieces(const struct problem *p)
{
    const double V[] = {0, -6, 0, 0.5, 0, 2}, e[] = {0, 0, 0}, zeros[2] = {0}, c[] = {p->c[5][0], 77, p->c[4][0]};
    moeg_expert *pieces[3];
    moeg_router *router;
    moeg_moe *moe;
    moeg_teacher *teacher;
    for (size_t k = 0; k < 3; k++)
        assert_ok(moeg_expert_affine_create(&pieces[k], 2, 1, zeros, &c[k]));
    assert_ok(moeg_router_affine_create(&router, 3, 2, V, e));
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), pieces));
    assert_ok(moeg_teacher_moe_create(&teacher, moe, 0));
    for (size_t k = 0; k < 3; k++)
        moeg_expert_free(pieces[k]);
    moeg_router_free(router);
    moeg_moe_free(moe);
    return teacher;
}

static void pieces_share_a_hyperplane(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 5; seed++) {
        struct problem p;
        grid(&p, moeg_gate_softmax());
        tilt(seed, &p);
        problem_build(&p);
        moeg_teacher *two = p.teacher;
        const double expected = slope_is_the_gap_at_any_tau(&p, MOEG_MIX_LOSS);
        p.teacher = three_pieces(&p);
        assert_near(slope_is_the_gap_at_any_tau(&p, MOEG_MIX_LOSS), expected, 1e-14);
        moeg_teacher_free(p.teacher);
        p.teacher = two;
        problem_free(&p);
    }
}

/* The mean of the best three pieces of the router's own: on the grid the last two change places where the first two do.
 * Of other rows, where ranks 2 and 3 decide, only the order of the three changes, and nothing jumps. */
static void only_who_wins_counts(void **state)
{
    (void)state;
    const moeg_sampling s = line_options();
    for (uint64_t own = 0; own < 6; own++) {
        struct problem p;
        moeg_estimate slope;
        grid(&p, own ? moeg_gate_subset(2) : moeg_gate_softmax());
        for (size_t l = 0; l < 8 && own; l++) {
            p.W[l] = problem_number(own, l);
            p.c[l / 2][0] = problem_number(own, 20 + l) / 3; /* whose sums round */
        }
        problem_build(&p);
        moeg_moe *mean = mixture_of(&p, moeg_gate_subset(3));
        moeg_teacher *best = p.teacher;
        assert_ok(moeg_teacher_moe_create(&p.teacher, mean, 0));
        assert_ok(moeg_leading_slope(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, &s, &slope));
        const double rows = (p.c[0][0] - p.c[1][0]) * (p.c[2][0] - p.c[3][0]),
                     columns = (p.c[0][0] - p.c[2][0]) * (p.c[1][0] - p.c[3][0]);
        const double expected = 2 * LN2 * 2 * (rows + columns) / 3 / 4 / sqrt(2 * acos(-1));
        if (own)
            assert_true(slope.value == 0 && slope.quad_error == 0);
        else
            assert_near(slope.value, expected, 2e-15);
        moeg_teacher_free(p.teacher);
        moeg_moe_free(mean);
        p.teacher = best;
        problem_free(&p);
    }
}

/* Drawn lines: a fifth expert in a third dimension. */
static void drawn_lines_know_hyperplanes(void **state)
{
    (void)state;
    const double W[] = {1, 1, 0, 1, -1, 0, -1, 1, 0, -1, -1, 0, 0.25, 0.125, 1}, V[] = {0, 2, 0, 0, 0, 0}, tau = 1e-9;
    for (int i = 0; i < 2; i++) {
        struct problem p;
        moeg_estimate slope, gap;
        moeg_sampling s = lines_of(1 << 11);
        grid(&p, moeg_gate_softmax());
        p.K = 5;
        p.d = 3;
        memcpy(p.W, W, sizeof W);
        memcpy(p.V, V, sizeof V);
        p.b[4] = -1;
        p.c[5][0] = 1.3;
        p.c[6][0] = -1.1;
        p.c[4][0] = 0.25;
        for (size_t l = 0; l < 9; l++)
            p.covariance[l] = l % 4 == 0;
        problem_build(&p);
        assert_ok(moeg_leading_slope(p.moe, p.teacher, p.law, both[i], &s, &slope));
        s.seed = 99;
        assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, both[i], 1, &tau, &s, &gap));
        assert_true(slope.n == s.n && slope.std_error < 0.02);
        assert_near(slope.value, gap.value / tau, 4 * hypot(slope.std_error, gap.std_error / tau));
        problem_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_share_a_hyperplane),
        cmocka_unit_test(pieces_share_a_hyperplane),
        cmocka_unit_test(only_who_wins_counts),
        cmocka_unit_test(drawn_lines_know_hyperplanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
