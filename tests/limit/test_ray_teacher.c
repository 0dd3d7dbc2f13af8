/* Which teachers in pieces have the cells of the student's router, in exact arithmetic; and that they are then solved
 * along rays. */
#include "limit/ray_teacher.h"

#include "limit/lines.h"
#include "limit/rays.h"
#include "support/failing_alloc.h"

/* A hard teacher of the problem's own experts, in turn (the next one's), behind W x + b. */
static moeg_teacher *behind(const struct problem *p, const double *W, const double *b, moeg_gate gate, double tau)
{
    moeg_router *router;
    moeg_moe *moe;
    moeg_teacher *teacher;
    moeg_expert *experts[MOST_K];
    for (size_t k = 0; k < p->K; k++)
        experts[k] = problem_expert(p, (k + 1) % p->K);
    assert_ok(moeg_router_affine_create(&router, p->K, p->d, W, b));
    assert_ok(moeg_moe_create(&moe, router, gate, experts));
    assert_ok(moeg_teacher_moe_create(&teacher, moe, tau));
    moeg_router_free(router);
    moeg_moe_free(moe);
    for (size_t k = 0; k < p->K; k++)
        moeg_expert_free(experts[k]);
    return teacher;
}

static const char *refusal_of(const struct problem *p, moeg_teacher *teacher)
{
    const char *refusal;
    assert_ok(moeg_ray_teacher_refusal("test", p->moe, teacher, &refusal));
    moeg_teacher_free(teacher);
    return refusal;
}

/* Logits times `factor` plus a common summand: exact, for all numbers here are multiples of 2^-30 of that size. */
static void transform(const struct problem *p, double factor, double summand, double *W, double *b)
{
    for (size_t i = 0; i < p->K * p->d; i++)
        W[i] = factor * p->W[i] + summand * (double)(1 + i % p->d);
    for (size_t k = 0; k < p->K; k++)
        b[k] = factor * p->b[k] + summand / 4;
}

/* The tetrahedron with numbers of 24 bits. */
static void make_problem(struct problem *p)
{
    tetrahedron(p);
    problem_free(p);
    for (size_t i = 0; i < p->K * p->d; i++)
        p->W[i] = (float)p->W[i];
    for (size_t k = 0; k < p->K; k++)
        p->b[k] = (float)p->b[k];
    problem_build(p);
}

static void cells_are_compared_exactly(void **state)
{
    (void)state;
    struct problem p;
    double W[MOST_K * MOST_D], b[MOST_K];
    const char *other = "the teacher's pieces are not the cells of the router";
    make_problem(&p);
    const moeg_gate hard = moeg_gate_softmax();
    assert_null(refusal_of(&p, behind(&p, p.W, p.b, hard, 0)));
    transform(&p, 0.375, -2.5, W, b);
    assert_null(refusal_of(&p, behind(&p, W, b, hard, 0)));
    assert_null(refusal_of(&p, behind(&p, W, b, moeg_gate_topk_raw(2), 0)));
    assert_null(refusal_of(&p, behind(&p, W, b, moeg_gate_subset(1), 0)));
    assert_string_equal(refusal_of(&p, behind(&p, W, b, moeg_gate_subset(2), 0)), "the teacher is a mean of experts");
    assert_string_equal(refusal_of(&p, behind(&p, W, b, hard, 0.1)), "the teacher is soft");
    b[2] = nextafter(b[2], 9);
    assert_string_equal(refusal_of(&p, behind(&p, W, b, hard, 0)), other);
    transform(&p, 0.375, -2.5, W, b);
    W[7] = nextafter(W[7], 9);
    assert_string_equal(refusal_of(&p, behind(&p, W, b, hard, 0)), other);
    transform(&p, -1, 0, W, b);
    assert_string_equal(refusal_of(&p, behind(&p, W, b, hard, 0)), other);
    transform(&p, 0, 1, W, b);
    assert_string_equal(refusal_of(&p, behind(&p, W, b, hard, 0)), other);
    transform(&p, 1, 0, W, b);
    b[3] = -INFINITY;
    assert_string_equal(refusal_of(&p, behind(&p, W, b, hard, 0)), other);
    problem_free(&p);
}

/* A fifth expert that both mask, whatever its rows. */
static void masks_must_agree(void **state)
{
    (void)state;
    struct problem p;
    double W[MOST_K * MOST_D], b[MOST_K];
    make_problem(&p);
    problem_free(&p);
    p.K = 5;
    memcpy(p.W + 12, p.W + 9, 3 * sizeof *p.W);
    p.b[4] = p.b[3];
    p.b[3] = -INFINITY; /* Expert 4 stands in the place of 3, which has any row. */
    problem_build(&p);
    transform(&p, 2, 0.5, W, b);
    W[9] = 17;
    assert_null(refusal_of(&p, behind(&p, W, b, moeg_gate_softmax(), 0)));
    b[3] = 0;
    assert_non_null(refusal_of(&p, behind(&p, W, b, moeg_gate_softmax(), 0)));
    problem_free(&p);
}

/* All numbers by lines, against samples; the same whatever factor and summand the teacher's logits have. */
static void pieces_are_solved_along_rays(void **state)
{
    (void)state;
    enum { NT = 2 };
    struct problem p;
    double W[MOST_K * MOST_D], b[MOST_K];
    const double tau[NT] = {0.5, 0.05};
    make_problem(&p);
    transform(&p, 0.375, -2.5, W, b);
    moeg_teacher *teachers[] = {behind(&p, p.W, p.b, moeg_gate_softmax(), 0), behind(&p, W, b, moeg_gate_softmax(), 0)};
    for (int mix = 0; mix < 2; mix++) {
        moeg_estimate gap[2][NT], hard[2], mc_gap[NT], mc_hard;
        moeg_sampling s = line_options();
        s.n = 4096;
        for (int i = 0; i < 2; i++)
            assert_ok(moeg_risk_curve(p.moe, teachers[i], p.law, both[mix], NT, tau, &s, &hard[i], NULL, gap[i], NULL));
        s.method = MOEG_METHOD_MC;
        s.n = 1 << 15;
        s.seed = 99;
        assert_ok(moeg_risk_curve(p.moe, teachers[1], p.law, both[mix], NT, tau, &s, &mc_hard, NULL, mc_gap, NULL));
        assert_near(hard[0].value, mc_hard.value, 4.5 * hypot(hard[0].std_error, mc_hard.std_error));
        assert_near(hard[0].value, hard[1].value, 0);
        for (int t = 0; t < NT; t++) {
            assert_near(gap[0][t].value, gap[1][t].value, 0);
            assert_near(gap[0][t].value, mc_gap[t].value, 4.5 * hypot(gap[0][t].std_error, mc_gap[t].std_error));
        }
    }
    moeg_teacher_free(teachers[0]);
    moeg_teacher_free(teachers[1]);
    problem_free(&p);
}

static moeg_status everything(void *user)
{
    const struct setup *p = user;
    moeg_estimate gap;
    const double tau = 0.1;
    moeg_sampling s = line_options();
    s.n = 32;
    s.max_threads = 1;
    const moeg_status status = moeg_risk_gap(p->moe, p->own, p->law, MOEG_MIX_OUTPUT, 1, &tau, &s, &gap);
    return status == MOEG_EUNABLE ? MOEG_OK : status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct setup p;
    make(3, 1, &p);
    assert_true(fail_every_allocation(everything, &p) > 60);
    unmake(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_compared_exactly),
        cmocka_unit_test(masks_must_agree),
        cmocka_unit_test(pieces_are_solved_along_rays),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
