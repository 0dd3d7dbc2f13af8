/* Method AUTO: which one it is for every kind of problem, by name to the bit. */
#include "limit/auto_choice.h"
#include "limit/nodes_problem.h"

static moeg_estimate check_problem(struct problem *p, uint64_t n, moeg_method expected)
{
    const moeg_estimate gap = check_risk(p->moe, p->teacher, p->law, n, expected);
    problem_free(p);
    return gap;
}

/* Routers of K experts in r of d dimensions. */
static void random_router(uint64_t seed, size_t K, size_t d, size_t r, moeg_router **router)
{
    double *W = test_calloc(K * d, sizeof *W), *b = test_malloc(K * sizeof *b);
    for (size_t k = 0; k < K; k++) {
        for (size_t i = 0; i < r; i++)
            W[k * d + i] = next_normal(&seed);
        b[k] = 0.3 * next_normal(&seed);
    }
    assert_ok(moeg_router_affine_create(router, K, d, W, b));
    test_free(W);
    test_free(b);
}

static void masses_are_lines_where_there_are_some(void **state)
{
    (void)state;
    static const struct {
        size_t K, d, r;
        moeg_gap gap;
        uint64_t n;
        moeg_method expected;
    } cases[] = {
        {3, 5, 2, {1, 2}, 1, MOEG_METHOD_LINE},        {6, 2, 2, {2, 4}, 1, MOEG_METHOD_LINE},
        {3, 2, 1, {1, 3}, 1, MOEG_METHOD_LINE},        {3, 2, 0, {1, 2}, 1, MOEG_METHOD_LINE},
        {4, 6, 3, {1, 2}, 1 << 12, MOEG_METHOD_LINE},  {9, 6, 4, {1, 3}, 1 << 12, MOEG_METHOD_LINE},
        {9, 6, 4, {3, 5}, 1 << 12, MOEG_METHOD_LINE},  {128, 4, 4, {1, 2}, 1 << 12, MOEG_METHOD_LINE},
        {129, 4, 4, {1, 2}, 1 << 12, MOEG_METHOD_MC},  {33, 2, 2, {1, 2}, 1 << 12, MOEG_METHOD_MC},
        {32, 2, 2, {1, 2}, 1 << 12, MOEG_METHOD_LINE}, {2, 3, 2, {1, 2}, 1, MOEG_METHOD_LINE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        moeg_router *router;
        moeg_law *law;
        random_router(7 + i, cases[i].K, cases[i].d, cases[i].r, &router);
        assert_ok(moeg_law_gaussian_create(&law, cases[i].d, NULL, NULL));
        const moeg_estimate mass = check_mass(router, law, cases[i].gap, cases[i].n, cases[i].expected);
        assert_true((mass.std_error > 0) == (cases[i].n > 1 && cases[i].r != 2) || mass.method == MOEG_METHOD_MC);
        moeg_router_free(router);
        moeg_law_free(law);
    }
}

/* Four lines for each stratum are drawn by name; the choice wants enough for an error bar. */
static void few_lines_are_left_to_rows(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 75, 4, 5, 1);
    for (uint64_t n = 1; n <= 3; n++)
        check_mass(p.router, p.law, moeg_gap_margin(), n, MOEG_METHOD_MC);
    /* Four cells, 2 pairs of lines each, and 60 pairs. */
    check_mass(p.router, p.law, moeg_gap_margin(), 135, MOEG_METHOD_MC);
    assert_true(isfinite(check_mass(p.router, p.law, moeg_gap_margin(), 136, MOEG_METHOD_LINE).std_error));
    check_risk(p.moe, p.teacher, p.law, 135, MOEG_METHOD_MC);
    check_risk(p.moe, p.teacher, p.law, 136, MOEG_METHOD_LINE);
    problem_free(&p);
    /* General lines; and a plane, which takes no number of them. */
    problem_draw(&p, 75, 4, 5, 1);
    p.gate = moeg_gate_topk_renorm(2);
    problem_build(&p);
    check_risk(p.moe, p.teacher, p.law, 135, MOEG_METHOD_MC);
    check_problem(&p, 1 << 8, MOEG_METHOD_LINE);
    problem_make(&p, 75, 3, 5, 1);
    check_problem(&p, 1, MOEG_METHOD_LINE);
}

static void risks_are_lines_where_they_cost_little(void **state)
{
    (void)state;
    struct problem p;
    const uint64_t n = 1 << 8;
    /* Along rays; with a gate of another kind, or a cell that has no star, along any lines. */
    problem_make(&p, 85, 4, 5, 2);
    assert_true(check_problem(&p, n, MOEG_METHOD_LINE).std_error > 0);
    five_experts(&p, moeg_gate_softmax());
    assert_true(check_problem(&p, n, MOEG_METHOD_LINE).std_error > 0);
    five_experts(&p, moeg_gate_subset(2));
    check_problem(&p, n, MOEG_METHOD_LINE);
    /* Two dimensions are integrated, whatever the experts and the teacher; three with curves are not. */
    for (int soft = 0; soft < 2; soft++) {
        curved(&p, 2, soft);
        assert_true(check_problem(&p, n, MOEG_METHOD_LINE).std_error == 0);
        curved(&p, 3, soft);
        check_problem(&p, n, MOEG_METHOD_MC);
    }
    /* One expert that is not masked; logits that are all parallel. */
    problem_draw(&p, 86, 3, 2, 1);
    p.b[0] = p.b[2] = -INFINITY;
    problem_build(&p);
    check_problem(&p, n, MOEG_METHOD_MC);
    problem_draw(&p, 86, 3, 2, 1);
    for (size_t k = 1; k < 3; k++)
        memcpy(p.W + 2 * k, p.W, 2 * sizeof *p.W);
    problem_build(&p);
    check_problem(&p, n, MOEG_METHOD_MC);
}

static void no_lines_without_a_gaussian_law_or_an_affine_router(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 87, 3, 2, 1);
    const double lo[2] = {-1, -2}, hi[2] = {1, 3}, weights[2] = {0.3, 0.7}, x[6] = {0.1, 0.4, -1, 2, 0.3, -0.3};
    moeg_law *laws[3], *parts[2] = {p.law, p.law};
    assert_ok(moeg_law_box_create(&laws[0], 2, lo, hi));
    assert_ok(moeg_law_mixture_create(&laws[1], 2, weights, parts));
    assert_ok(moeg_law_empirical_create(&laws[2], 3, 2, x, NULL));
    for (int i = 0; i < 3; i++) {
        check_mass(p.router, laws[i], moeg_gap_margin(), 500, MOEG_METHOD_MC);
        check_risk(p.moe, p.teacher, laws[i], 500, MOEG_METHOD_MC);
        moeg_law_free(laws[i]);
    }
    const size_t widths[3] = {2, 3, 3};
    const double second[9] = {1, 0.2, 0, -0.3, 1, 0.4, 0, 0.1, -1}, *W[] = {p.W, second}, *b[] = {p.b, NULL};
    moeg_router *network;
    assert_ok(moeg_router_mlp_create(&network, 2, widths, W, b, MOEG_ACTIVATION_TANH));
    check_mass(network, p.law, moeg_gap_margin(), 500, MOEG_METHOD_MC);
    moeg_router_free(network);
    problem_free(&p);
}

/* K (K + m) is what a line costs: general lines up to 16 experts with one output, rays up to 70;
 * of k-subsets k times as much. */
static void many_experts_are_left_to_rows(void **state)
{
    (void)state;
    static const struct {
        size_t K;
        moeg_gate gate;
        moeg_method expected;
    } cases[] = {{16, {MOEG_GATE_TOPK_RENORM, 2}, MOEG_METHOD_LINE}, {17, {MOEG_GATE_TOPK_RENORM, 2}, MOEG_METHOD_MC},
                 {11, {MOEG_GATE_SUBSET, 2}, MOEG_METHOD_LINE},      {12, {MOEG_GATE_SUBSET, 2}, MOEG_METHOD_MC},
                 {17, {MOEG_GATE_SOFTMAX, 0}, MOEG_METHOD_LINE},     {71, {MOEG_GATE_SOFTMAX, 0}, MOEG_METHOD_MC}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t K = cases[i].K, d = 80;
        moeg_router *router;
        moeg_law *law;
        moeg_moe *moe;
        moeg_teacher *teacher;
        moeg_expert *experts[80];
        random_router(11, K, d, d, &router);
        assert_ok(moeg_law_gaussian_create(&law, d, NULL, NULL));
        for (size_t k = 0; k < K; k++) {
            const double c = problem_number(12, k);
            assert_ok(moeg_expert_constant_create(&experts[k], d, 1, &c));
        }
        assert_ok(moeg_moe_create(&moe, router, cases[i].gate, experts));
        assert_ok(moeg_teacher_expert_create(&teacher, experts[0]));
        check_risk(moe, teacher, law, 4 * K + 120, cases[i].expected);
        moeg_teacher_free(teacher);
        moeg_moe_free(moe);
        moeg_router_free(router);
        moeg_law_free(law);
        for (size_t k = 0; k < K; k++)
            moeg_expert_free(experts[k]);
    }
}

static void threads_change_nothing(void **state)
{
    (void)state;
    struct problem p;
    const double tau[2] = {0.3, 1e-3};
    moeg_estimate one[4], many[4];
    for (int kind = 0; kind < 3; kind++) {
        problem_draw(&p, 91, kind == 2 ? 3 : 4, 5, 1);
        p.gate = kind == 0 ? moeg_gate_softmax() : moeg_gate_topk_renorm(2);
        problem_build(&p);
        for (int threads = 1; threads <= 5; threads += threads < 2 ? 1 : 3) {
            moeg_sampling s = options_by(MOEG_METHOD_AUTO, 1 << 9);
            moeg_estimate *to = threads == 1 ? one : many;
            s.max_threads = threads;
            assert_ok(moeg_boundary_mass(p.router, p.law, 2, tau, &s, to));
            assert_true(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 2, tau, &s, to + 2) >= 0);
            assert_int_equal(to[2].method, MOEG_METHOD_LINE);
            if (threads > 1)
                assert_same_estimates(many, one, 4);
        }
        problem_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masses_are_lines_where_there_are_some),
        cmocka_unit_test(few_lines_are_left_to_rows),
        cmocka_unit_test(risks_are_lines_where_they_cost_little),
        cmocka_unit_test(no_lines_without_a_gaussian_law_or_an_affine_router),
        cmocka_unit_test(many_experts_are_left_to_rows),
        cmocka_unit_test(threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
