/* The leading term of the gap on general lines: the reference table, two experts in closed form, integrals over
 * interfaces. */
#include "limit/expansion.h"
#include "limit/gates.h"
#include "limit/nodes_problem.h"
#include "limit/nodes_run.h"

#include <moegeom/surface.h>

static int check_digits(const struct expansion *e)
{
    struct problem p;
    moeg_estimate slope, rest;
    const moeg_sampling s = line_options();
    if (e->tau != 0.3 && e->tau != 1e-9)
        return 0;
    reference_problem(e->r, e->row, &p);
    assert_ok(nodes_remainder(&p, e->mixing, 1, &e->tau, &s, &slope, &rest));
    assert_near(slope.value, e->lead, 4e-15 * fabs(e->lead));
    assert_near(slope.value, e->lead, slope.quad_error);
    assert_true(slope.std_error == 0 && slope.n == 1 && slope.quad_error <= 2e-13 * fabs(e->lead));
    assert_near(rest.value, e->rest, rest.quad_error + 2e-17 / e->tau);
    assert_true(rest.quad_error <= 4e-13 * (1 + 1 / e->tau));
    problem_free(&p);
    return 1;
}

/* Of every case. */
static void plane_has_the_digits_of_the_reference(void **state)
{
    (void)state;
    check_expansions(check_digits, 20);
}

/* Every gate and every lay of the teacher. */
static void two_experts_are_the_closed_form(void **state)
{
    (void)state;
    const double tau = 0.05;
    const moeg_sampling s = line_options();
    size_t first = 0;
    for (uint64_t seed = 0; seed < 70; seed++)
        for (int i = 0; i < 2; i++) {
            struct problem p;
            moeg_leading term;
            moeg_estimate slope, rest, gap;
            draw_two(&p, seed, 1 + seed % 4, (enum lay)(seed / 5 % LAYS));
            assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, both[i], &term));
            assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, both[i], 1, &tau, &s, &gap));
            assert_ok(nodes_remainder(&p, both[i], 1, &tau, &s, &slope, &rest));
            const double expected = term.power == 1 ? term.coefficient : 0;
            assert_near(slope.value, expected, 2e-14 * fabs(expected));
            assert_near(slope.value, expected, slope.quad_error);
            assert_near(tau * (slope.value + tau * rest.value), gap.value, 2e-14 * (tau + fabs(gap.value)));
            assert_near(rest.value, (gap.value / tau - expected) / tau, rest.quad_error + 1e-15 * fabs(rest.value));
            first += expected != 0;
            problem_free(&p);
        }
    assert_true(first > 60);
}

/* Every gate of four experts in one dimension and in two, a teacher that jumps where 0 and 1 tie, with noise: O(tau)
 * away. */
static void slopes_are_the_limit_of_gaps(void **state)
{
    (void)state;
    const double tau = 1e-10;
    const moeg_sampling s = line_options();
    moeg_gate gates[MOST_GATES];
    for (uint64_t seed = 0; seed < 2; seed++) {
        struct problem p;
        problem_draw(&p, 700 + seed, 4, 1 + seed, 2);
        p.pieces = 2;
        memcpy(p.V, p.W, sizeof p.V);
        memcpy(p.e, p.b, sizeof p.e);
        memcpy(p.A[5], p.A[2], sizeof p.A[2]);
        p.c[5][0] = -1.3;
        p.noise = 0.385;
        problem_build(&p);
        const size_t n = all_gates(p.K, gates);
        /* In the plane, which takes long, every other one. */
        for (size_t g = 0; g < n; g += 1 + seed) {
            moeg_moe *plain = p.moe;
            p.moe = mixture_of(&p, gates[g]);
            for (int i = 0; i < 2; i++) {
                moeg_estimate slope;
                const struct answer a = nodes_answer(&p, both[i], tau);
                assert_ok(nodes_remainder(&p, both[i], 0, NULL, &s, &slope, NULL));
                assert_near(slope.value, a.gap.value / tau, 300 * tau + 1e-13 * fabs(slope.value));
            }
            moeg_moe_free(p.moe);
            p.moe = plain;
        }
        problem_free(&p);
    }
}

/* What S integrates, for each gate: by outputs at a point where i and j tie. */
struct integrand {
    const struct problem *p;
    moeg_mixing mixing;
};

static void at_point(const moeg_expert *expert, const double *x, double *y)
{
    assert_ok(moeg_expert_forward(expert, 1, x, y));
}

/* The teacher's means on the sides of i and j: of five_experts() he jumps between 0 and 1. */
static void teacher_at(const struct problem *p, const double *x, size_t i, size_t j, double mean[2][MOST_M])
{
    if (p->pieces < 2) {
        assert_ok(moeg_teacher_mean(p->teacher, 0, 1, x, mean[0]));
        memcpy(mean[1], mean[0], sizeof mean[0]);
        return;
    }
    double above = p->e[0] - p->e[1];
    for (size_t l = 0; l < p->d; l++)
        above += (p->V[l] - p->V[p->d + l]) * x[l];
    for (size_t side = 0; side < 2; side++) {
        const int known = i == 0 && j == 1;
        long double y[MOST_M];
        problem_output(p, p->K + (known ? side : above < 0), x, y);
        for (size_t l = 0; l < p->m; l++)
            mean[side][l] = (double)y[l];
    }
}

static double first_order(const struct integrand *q, const double *x, size_t i, size_t j)
{
    const struct problem *p = q->p;
    const double ln2 = log(2);
    const moeg_gate gate = moeg_moe_gate(p->moe);
    double f[2][MOST_M], mean[2][MOST_M], square = 0, jump = 0, product = 0, squares = 0, losses = 0;
    at_point(moeg_moe_expert(p->moe, i), x, f[0]);
    at_point(moeg_moe_expert(p->moe, j), x, f[1]);
    teacher_at(p, x, i, j, mean);
    for (size_t l = 0; l < p->m; l++) {
        square += (f[0][l] - f[1][l]) * (f[0][l] - f[1][l]);
        jump += (f[0][l] - f[1][l]) * (mean[0][l] - mean[1][l]);
        for (int side = 0; side < 2; side++) {
            product += f[side][l] * mean[side][l];
            squares += f[side][l] * f[side][l];
            losses += (f[side][l] - mean[side][l]) * (f[side][l] - mean[side][l]);
        }
    }
    const double k = gate.kind == MOEG_GATE_SUBSET ? (double)gate.k : 1;
    const int loss = q->mixing == MOEG_MIX_LOSS;
    if (gate.kind == MOEG_GATE_TOPK_RENORM && gate.k == 1)
        return 0;
    if (gate.kind == MOEG_GATE_TOPK_RAW && gate.k == 1)
        return loss ? -ln2 * (losses + 2 * p->noise) : 2 * ln2 * product - (ln2 + 0.5) * squares;
    return 2 * ln2 * jump / k - (loss ? 0 : square / k / k);
}

static int integrate(size_t n, const double *x, const size_t *i, const size_t *j, double *q, void *user)
{
    const struct integrand *of = user;
    for (size_t at = 0; at < n; at++)
        q[at] = first_order(of, x + at * of->p->d, i[at], j[at]);
    return 0;
}

/* By the public function, against S of the formula and against the gap itself at 1e-9. */
static void compare(const struct problem *p, moeg_mixing mixing)
{
    struct integrand q = {p, mixing};
    const moeg_gate gate = moeg_moe_gate(p->moe);
    const double tau = 1e-9;
    moeg_estimate slope, S, gap;
    moeg_sampling s = lines_of(1 << 13);
    assert_ok(moeg_leading_slope(p->moe, p->teacher, p->law, mixing, &s, &slope));
    assert_true(slope.method == MOEG_METHOD_LINE && slope.n == 1 << 13);
    s.seed = 4711;
    const size_t rank = gate.kind == MOEG_GATE_SUBSET ? gate.k : 1;
    const moeg_status status = moeg_surface_integral(p->router, rank, p->law, 1, integrate, &q, &s, &S);
    assert_true(status == MOEG_OK || (status == MOEG_EUNABLE && S.value == 0));
    if (S.value == 0) { /* Exactly: every line has 0. */
        assert_true(slope.value == 0 && slope.std_error == 0 && slope.quad_error == 0 && slope.hi == 0);
        return;
    }
    assert_near(slope.value, S.value, 4 * hypot(slope.std_error, S.std_error));
    assert_true(slope.std_error < 0.12 * fabs(slope.value));
    s.n = 2048;
    assert_ok(moeg_risk_gap(p->moe, p->teacher, p->law, mixing, 1, &tau, &s, &gap));
    assert_near(slope.value, gap.value / tau, 4 * hypot(slope.std_error, gap.std_error / tau));
}

static void every_gate_is_the_integral_over_interfaces(void **state)
{
    (void)state;
    const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_topk_renorm(1), moeg_gate_topk_renorm(3),
                               moeg_gate_topk_raw(1), moeg_gate_subset(3)};
    for (size_t g = 0; g < sizeof gates / sizeof *gates; g++)
        for (int i = 0; i < 2; i++) {
            struct problem p;
            five_experts(&p, gates[g]);
            compare(&p, both[i]);
            problem_free(&p);
        }
}

/* Experts that are not affine; a soft teacher, and one that jumps elsewhere. */
static void curved_experts_are_the_integral_over_interfaces(void **state)
{
    (void)state;
    for (int soft = 0; soft < 2; soft++)
        for (int i = 0; i < 2; i++) {
            struct problem p;
            curved(&p, 4, soft);
            compare(&p, both[i]);
            problem_free(&p);
        }
}

/* Interfaces that differ in their last bit only are not the same, on any line: m does not jump at a tie. */
static void a_jump_is_a_matter_of_exact_arithmetic(void **state)
{
    (void)state;
    for (int off = 0; off < 2; off++) {
        struct problem p;
        moeg_estimate slope;
        const moeg_sampling s = lines_of(256);
        five_experts(&p, moeg_gate_subset(2));
        problem_free(&p);
        p.V[0] = off ? nextafter(p.V[0], INFINITY) : p.V[0];
        problem_build(&p);
        assert_true(moeg_leading_slope(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, &s, &slope) >= 0);
        assert_true(off ? slope.value == 0 && slope.std_error == 0 : slope.value > 0.01);
        problem_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plane_has_the_digits_of_the_reference),
        cmocka_unit_test(two_experts_are_the_closed_form),
        cmocka_unit_test(slopes_are_the_limit_of_gaps),
        cmocka_unit_test(every_gate_is_the_integral_over_interfaces),
        cmocka_unit_test(curved_experts_are_the_integral_over_interfaces),
        cmocka_unit_test(a_jump_is_a_matter_of_exact_arithmetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
