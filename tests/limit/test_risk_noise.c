/* Risks under a teacher with noise: what noise adds, to the bit where it adds nothing. */
#include "limit/gates.h"
#include "limit/problem.h"
#include "support/check.h"

#include <stdlib.h>

enum { NTAU = 4 };
static const double taus[NTAU] = {2.385, 0.31, 0, 0.04};

struct curve {
    moeg_estimate hard, soft[NTAU], gap[NTAU];
    double covariance[NTAU * NTAU];
};

static void measure(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law, moeg_mixing mixing,
                    struct curve *c)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_MC;
    s.n = 3000;
    assert_ok(moeg_risk_curve(moe, teacher, law, mixing, NTAU, taus, &s, &c->hard, c->soft, c->gap, c->covariance));
}

static void assert_shifted(const moeg_estimate *noisy, const moeg_estimate *plain, double noise)
{
    assert_near(noisy->value, plain->value + noise, 0);
    assert_near(noisy->lo, plain->lo + noise, 0);
    assert_near(noisy->hi, plain->hi + noise, 0);
    assert_near(noisy->std_error, plain->std_error, 0);
}

/* Every gate and both mixings: risks have the variance more, gaps and error bars the same bits; but for TOPK_RAW with
 * loss mixing, whose own test is that of test_risk_gates.c against the definition. */
static void risks_are_shifted_and_gaps_are_not(void **state)
{
    (void)state;
    struct problem p;
    moeg_gate gates[MOST_GATES + 1] = {{0}};
    moeg_teacher *noisy;
    struct curve with, without;
    problem_make(&p, 3, 4, 3, 2);
    assert_ok(moeg_teacher_noise_create(&noisy, p.teacher, 17.3));
    const size_t n = 1 + all_gates(p.K, gates + 1);
    for (size_t g = 0; g < 2 * n; g++) {
        const moeg_mixing mixing = g % 2 == 0 ? MOEG_MIX_OUTPUT : MOEG_MIX_LOSS;
        if (gates[g / 2].kind == MOEG_GATE_TOPK_RAW && mixing == MOEG_MIX_LOSS)
            continue;
        moeg_moe *moe = mixture_of(&p, gates[g / 2]);
        measure(moe, noisy, p.law, mixing, &with);
        measure(moe, p.teacher, p.law, mixing, &without);
        assert_shifted(&with.hard, &without.hard, 17.3);
        for (size_t t = 0; t < NTAU; t++) {
            assert_shifted(&with.soft[t], &without.soft[t], 17.3);
            assert_shifted(&with.gap[t], &without.gap[t], 0);
        }
        assert_memory_equal(with.covariance, without.covariance, sizeof with.covariance);
        moeg_moe_free(moe);
    }
    moeg_teacher_free(noisy);
    problem_free(&p);
}

/* Risks of draws of Y: within five standard errors of those that know the variance. */
static void sampled_noise_agrees(void **state)
{
    (void)state;
    enum { ROWS = 20000 };
    struct problem p;
    moeg_teacher *noisy, *data;
    moeg_law *rows;
    problem_make(&p, 5, 4, 3, 2);
    double *x = malloc(ROWS * p.d * sizeof *x), *y = malloc(ROWS * p.m * sizeof *y);
    assert_non_null(x);
    assert_non_null(y);
    assert_ok(moeg_teacher_noise_create(&noisy, p.teacher, 2.385));
    assert_ok(moeg_law_sample(p.law, 9, 0, ROWS, x));
    assert_ok(moeg_teacher_sample(noisy, 9, 0, ROWS, x, y));
    assert_ok(moeg_law_empirical_create(&rows, ROWS, p.d, x, NULL));
    assert_ok(moeg_teacher_data_create(&data, ROWS, p.m, y));
    const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_topk_raw(1), moeg_gate_topk_raw(2)};
    for (size_t g = 0; g < 6; g++) {
        struct curve known, drawn;
        const moeg_mixing mixing = g % 2 == 0 ? MOEG_MIX_OUTPUT : MOEG_MIX_LOSS;
        moeg_moe *moe = mixture_of(&p, gates[g / 2]);
        measure(moe, noisy, rows, mixing, &known);
        measure(moe, data, rows, mixing, &drawn);
        assert_near(drawn.hard.value, known.hard.value, 5 * drawn.hard.std_error);
        for (size_t t = 0; t < NTAU; t++) {
            assert_near(drawn.soft[t].value, known.soft[t].value, 5 * drawn.soft[t].std_error);
            assert_near(drawn.gap[t].value, known.gap[t].value, 5 * drawn.gap[t].std_error);
        }
        moeg_moe_free(moe);
    }
    moeg_teacher_free(noisy);
    moeg_teacher_free(data);
    moeg_law_free(rows);
    problem_free(&p);
    free(x);
    free(y);
}

/* One row, three experts, TOPK_RAW with k = 2 and loss mixing: what is left out, the third gate, is 1e-30 and the noise
 * 1e20. The gap, of -1e-10 from the noise and less from the losses, has all its digits: 1 - sum_k g_k is not formed as
 * it is written. */
static void lost_gates_do_not_cancel(void **state)
{
    (void)state;
    enum { K = 3 };
    const double x = 1, noise = 1e20, tau = 1, b[K] = {0.25, 1, -69}, W[K] = {0};
    moeg_law *law;
    moeg_router *router;
    moeg_expert *experts[K];
    moeg_moe *moe;
    moeg_teacher *mean, *noisy;
    assert_ok(moeg_law_empirical_create(&law, 1, 1, &x, NULL));
    assert_ok(moeg_router_affine_create(&router, K, 1, W, b));
    for (size_t k = 0; k < K; k++)
        assert_ok(moeg_expert_constant_create(&experts[k], 1, 1, &W[k]));
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_topk_raw(2), experts));
    assert_ok(moeg_teacher_expert_create(&mean, experts[0]));
    assert_ok(moeg_teacher_noise_create(&noisy, mean, noise));
    moeg_sampling s = moeg_sampling_default();
    moeg_estimate gap;
    assert_status(moeg_risk_gap(moe, noisy, law, MOEG_MIX_LOSS, 1, &tau, &s, &gap), MOEG_EUNABLE, "1 rows are fewer");
    const double lost = exp(b[2] - b[1]) / (1 + exp(b[0] - b[1]) + exp(b[2] - b[1]));
    assert_relative(gap.value, -noise * lost, 8 * EPS);
    moeg_teacher_free(mean);
    moeg_teacher_free(noisy);
    moeg_moe_free(moe);
    moeg_router_free(router);
    for (size_t k = 0; k < K; k++)
        moeg_expert_free(experts[k]);
    moeg_law_free(law);
}

static void an_overflow_is_named(void **state)
{
    (void)state;
    struct problem p;
    moeg_teacher *noisy;
    moeg_estimate hard = {.value = 2.385};
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_MC;
    problem_draw(&p, 3, 4, 3, 2);
    p.c[p.K][0] = 1e150;
    problem_build(&p);
    assert_ok(moeg_teacher_noise_create(&noisy, p.teacher, DBL_MAX));
    assert_status(moeg_risk_curve(p.moe, noisy, p.law, MOEG_MIX_OUTPUT, NTAU, taus, &s, &hard, NULL, NULL, NULL),
                  MOEG_ERANGE, "risk_curve: a risk overflows with the teacher's noise of 1.79769e+308");
    assert_near(hard.value, 2.385, 0);
    moeg_teacher_free(noisy);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(risks_are_shifted_and_gaps_are_not),
        cmocka_unit_test(sampled_noise_agrees),
        cmocka_unit_test(lost_gates_do_not_cancel),
        cmocka_unit_test(an_overflow_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
