/* Risks on general lines drawn at random: every gate, experts of any kind, teachers in pieces and bounded cells inside
 * the error bars of sampling; errors that do not grow as tau falls; what is refused, threads and memory. */
#include "limit/gates.h"
#include "limit/nodes_robust.h"
#include "limit/rays.h"

enum { NT = 3 };
static const double taus[NT] = {0.3, 0.03, 0};

/* By the public function, against rows. */
static void compare(const struct problem *p, moeg_mixing mixing)
{
    moeg_estimate hard, soft[NT], gap[NT], mc_hard, mc_soft[NT], mc_gap[NT];
    double covariance[NT * NT];
    moeg_sampling s = lines_of(256);
    assert_ok(moeg_risk_curve(p->moe, p->teacher, p->law, mixing, NT, taus, &s, &hard, soft, gap, covariance));
    s.method = MOEG_METHOD_MC;
    s.n = 1 << 14;
    assert_ok(moeg_risk_curve(p->moe, p->teacher, p->law, mixing, NT, taus, &s, &mc_hard, mc_soft, mc_gap, NULL));
    assert_near(hard.value, mc_hard.value, 4.5 * hypot(hard.std_error, mc_hard.std_error));
    for (int t = 0; t < NT; t++) {
        assert_true(gap[t].method == MOEG_METHOD_LINE && gap[t].n == 256);
        assert_near(gap[t].value, mc_gap[t].value, 4.5 * hypot(gap[t].std_error, mc_gap[t].std_error));
        assert_near(soft[t].value, mc_soft[t].value, 4.5 * hypot(soft[t].std_error, mc_soft[t].std_error));
        assert_near(soft[t].value, hard.value + gap[t].value, 1e-12);
        assert_near(covariance[t * NT + t], gap[t].std_error * gap[t].std_error, 1e-12 * covariance[t * NT + t]);
    }
    assert_true(gap[NT - 1].value == 0 && gap[NT - 1].std_error == 0 && gap[NT - 1].quad_error == 0);
}

static void every_gate_is_inside_sampling(void **state)
{
    (void)state;
    const struct {
        moeg_gate gate;
        moeg_mixing mixing;
    } cases[] = {
        {moeg_gate_softmax(), MOEG_MIX_OUTPUT},      {moeg_gate_topk_renorm(1), MOEG_MIX_LOSS},
        {moeg_gate_topk_renorm(3), MOEG_MIX_OUTPUT}, {moeg_gate_topk_raw(1), MOEG_MIX_LOSS},
        {moeg_gate_topk_raw(2), MOEG_MIX_OUTPUT},    {moeg_gate_topk_raw(2), MOEG_MIX_LOSS},
        {moeg_gate_subset(2), MOEG_MIX_OUTPUT},      {moeg_gate_subset(2), MOEG_MIX_LOSS},
        {moeg_gate_subset(5), MOEG_MIX_LOSS},
    };
    for (size_t g = 0; g < sizeof cases / sizeof *cases; g++) {
        struct problem p;
        five_experts(&p, cases[g].gate);
        compare(&p, cases[g].mixing);
        problem_free(&p);
    }
}

static void curved_experts_are_inside_sampling(void **state)
{
    (void)state;
    for (int soft = 0; soft < 2; soft++) {
        struct problem p;
        curved(&p, 4, soft);
        compare(&p, both[soft]);
        problem_free(&p);
    }
}

/* SUBSET, K = 8, d = 32; five cells with a jump where those of 0 and 1 meet, and with the loss mixing of TOPK_RAW: gaps
 * are of first order in tau and their errors a fixed share of them, on the same lines. */
static void errors_do_not_grow_as_tau_falls(void **state)
{
    (void)state;
    enum { N = 4 };
    const double tau[N] = {1e-2, 1e-5, 1e-9, 1e-12};
    for (int which = 0; which < 3; which++) {
        struct setup drawn;
        struct problem p;
        moeg_estimate gap[N];
        make(5, 0, &drawn);
        five_experts(&p, which == 1 ? moeg_gate_softmax() : moeg_gate_topk_raw(1));
        moeg_expert *experts[K];
        for (size_t k = 0; k < K; k++)
            experts[k] = (moeg_expert *)(uintptr_t)moeg_moe_expert(drawn.moe, k);
        moeg_moe *subset;
        moeg_router *router = (moeg_router *)(uintptr_t)moeg_moe_router(drawn.moe);
        assert_ok(moeg_moe_create(&subset, router, moeg_gate_subset(2), experts));
        const struct problem wide = {.moe = subset, .teacher = drawn.teacher, .law = drawn.law};
        const moeg_sampling s = lines_of(256);
        assert_ok(nodes_curve(which == 0 ? &wide : &p, which == 2 ? MOEG_MIX_LOSS : MOEG_MIX_OUTPUT, N, tau, &s, NULL,
                              NULL, gap, NULL));
        for (int t = 0; t < N; t++) {
            const double spread = gap[t].std_error * sqrt((double)gap[t].n) / fabs(gap[t].value);
            assert_true(spread < 0.75);
            assert_true(gap[t].quad_error < 1e-13 * fabs(gap[t].value));
        }
        assert_relative(gap[3].std_error / tau[3], gap[1].std_error / tau[1], 0.02);
        assert_relative(gap[3].value / tau[3], gap[2].value / tau[2], 1e-6);
        moeg_moe_free(subset);
        unmake(&drawn);
        problem_free(&p);
    }
}

/* The gaps to a tenth, with no more lines than that takes. */
static void tolerances_are_reached(void **state)
{
    (void)state;
    struct problem p;
    moeg_estimate gap[NT];
    moeg_sampling s = lines_of(1 << 14);
    s.rel_tol = 0.1;
    five_experts(&p, moeg_gate_topk_raw(2));
    assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, NT, taus, &s, gap));
    for (int t = 0; t < NT; t++)
        assert_true(gap[t].n < 4096 && gap[t].hi - gap[t].lo <= 0.2 * fabs(gap[t].value));
    problem_free(&p);
}

/* Where rays go too. */
static void rays_are_lines(void **state)
{
    (void)state;
    struct problem p;
    moeg_estimate hard[2], soft[2], gap[2];
    const double tau = 0.02;
    tetrahedron(&p);
    moeg_sampling s = lines_of(1024);
    assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, hard, soft, gap, NULL));
    assert_ok(nodes_curve(&p, MOEG_MIX_OUTPUT, 1, &tau, &s, hard + 1, soft + 1, gap + 1, NULL));
    for (int i = 0; i < 2; i++)
        assert_near(soft[i].value, hard[i].value + gap[i].value, 1e-12);
    assert_near(hard[0].value, hard[1].value, 4.5 * hypot(hard[0].std_error, hard[1].std_error));
    assert_near(gap[0].value, gap[1].value, 4.5 * hypot(gap[0].std_error, gap[1].std_error));
    assert_true(gap[0].value != gap[1].value);
    gap[0].value = 42;
    s = lines_of(7);
    assert_int_equal(nodes_curve(&p, MOEG_MIX_OUTPUT, 1, &tau, &s, NULL, NULL, gap, NULL), MOEG_EINVAL);
    assert_near(gap[0].value, 42, 0);
    problem_free(&p);
}

static int fails(size_t n, const double *x, double *out, void *user)
{
    const int *code = user;
    for (size_t i = 0; i < n; i++)
        out[i] = *code == 0 ? 1e200 + x[i] : 0;
    return *code;
}

static int jumps(size_t n, const double *x, double *logits, void *user)
{
    (void)user;
    for (size_t i = 0; i < 3 * n; i++)
        logits[i] = x[i / 3 * 4] * (double)(i % 3);
    return 0;
}

/* A teacher behind a router of the user's, hard. */
static moeg_teacher *unknown_jumps(const struct problem *p)
{
    moeg_router *router;
    moeg_moe *moe;
    moeg_teacher *teacher;
    moeg_expert *experts[3];
    for (size_t k = 0; k < 3; k++)
        experts[k] = (moeg_expert *)(uintptr_t)moeg_moe_expert(p->moe, k);
    assert_ok(moeg_router_callback_create(&router, 3, 4, jumps, NULL));
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), experts));
    assert_ok(moeg_teacher_moe_create(&teacher, moe, 0));
    moeg_router_free(router);
    moeg_moe_free(moe);
    return teacher;
}

static void what_fails_says_so(void **state)
{
    (void)state;
    struct problem p;
    moeg_estimate gap = {.value = 42};
    const double tau = 0.1;
    const moeg_sampling s = lines_of(64);
    curved(&p, 4, 0);
    moeg_teacher *plain = p.teacher, *unknown = unknown_jumps(&p);
    assert_status(moeg_risk_gap(p.moe, unknown, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &gap), MOEG_EUNSUPPORTED,
                  "nor do many lines: the teacher jumps, and its router is not affine");
    for (int code = 0; code < 8; code += 7) {
        moeg_expert *expert;
        assert_ok(moeg_expert_callback_create(&expert, 4, 1, fails, NULL, &code));
        assert_ok(moeg_teacher_expert_create(&p.teacher, expert));
        assert_status(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &gap),
                      code == 0 ? MOEG_ERANGE : MOEG_ECALLBACK, code == 0 ? "along a line overflows" : "7");
        moeg_expert_free(expert);
        moeg_teacher_free(p.teacher);
    }
    moeg_teacher_free(unknown);
    p.teacher = plain;
    problem_free(&p);
    problem_draw(&p, 3, 4, 3, 1);
    p.b[1] = p.b[3] = -INFINITY;
    p.gate = moeg_gate_topk_raw(3);
    problem_build(&p);
    assert_status(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &gap), MOEG_EDOM,
                  "risk_gap: the router masks all but 2 experts, fewer than gate.k = 3");
    assert_near(gap.value, 42, 0);
    problem_free(&p);
}

/* As if the masked one were not there. */
static void masked_experts_are_left_out(void **state)
{
    (void)state;
    struct problem p;
    moeg_estimate gap[2], hard[2];
    const double tau = 0.1;
    const moeg_sampling s = lines_of(128);
    for (int masked = 0; masked < 2; masked++) {
        problem_draw(&p, 31, 4, 3, 1);
        p.gate = moeg_gate_subset(2);
        if (masked) { /* A fifth in the place of the fourth, which moves up. */
            p.K = 5;
            memcpy(p.W + 12, p.W + 9, 3 * sizeof *p.W);
            memcpy(p.A[5], p.A[4], sizeof p.A[4]);
            memcpy(p.c[5], p.c[4], sizeof p.c[4]);
            memcpy(p.A[4], p.A[3], sizeof p.A[4]);
            memcpy(p.c[4], p.c[3], sizeof p.c[4]);
            p.b[4] = p.b[3];
            p.b[3] = -INFINITY;
            p.A[3][0] = 1e300;
        }
        problem_build(&p);
        assert_ok(nodes_curve(&p, MOEG_MIX_LOSS, 1, &tau, &s, &hard[masked], NULL, &gap[masked], NULL));
        problem_free(&p);
    }
    assert_same_estimates(gap, gap + 1, 1);
    assert_same_estimates(hard, hard + 1, 1);
}

static moeg_status everything(const struct problem *p, moeg_mixing mixing, const moeg_sampling *s, moeg_estimate *all)
{
    return moeg_risk_curve(p->moe, p->teacher, p->law, mixing, NT, taus, s, all, all + 1, all + 1 + NT, NULL);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    assert_threads_change_no_bit(everything, 2 * NT + 1, 256);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_every_allocation_may_fail(everything, MOEG_MIX_LOSS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gate_is_inside_sampling),
        cmocka_unit_test(curved_experts_are_inside_sampling),
        cmocka_unit_test(errors_do_not_grow_as_tau_falls),
        cmocka_unit_test(tolerances_are_reached),
        cmocka_unit_test(rays_are_lines),
        cmocka_unit_test(what_fails_says_so),
        cmocka_unit_test(masked_experts_are_left_out),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
