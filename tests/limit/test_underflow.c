/* No false zero: sampled means whose values are so small that their squares underflow, and true constants. */
#include "limit/gates.h"
#include "limit/problem.h"

enum { TAUS = 2 };
static const double taus[TAUS] = {0.1, 0.7};

static moeg_sampling sampled(uint64_t n)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_MC;
    s.n = n;
    return s;
}

/* Experts of constants +-scale and a teacher of a fifth of that. */
static void make_small(struct problem *p, double scale, moeg_gate gate)
{
    problem_draw(p, 12, 2, 3, 1);
    p->pieces = 1;
    p->gate = gate;
    memset(p->A, 0, sizeof p->A);
    p->c[0][0] = scale;
    p->c[1][0] = -scale;
    p->c[2][0] = 0.2 * scale;
    problem_build(p);
}

static void assert_no_error_bar(const moeg_estimate *e)
{
    assert_true(isfinite(e->value) && e->std_error == INFINITY && e->lo == -INFINITY && e->hi == INFINITY);
}

/* Gaps of 1e-160 have variances of 1e-320 and less, of 1e-170 none at all. */
static void small_gaps_have_no_false_error_bar(void **state)
{
    (void)state;
    static const double scales[] = {1e-80, 1e-85, 1e-100};
    const moeg_sampling s = sampled(16384);
    for (size_t i = 0; i < 3; i++) {
        struct problem p;
        moeg_estimate hard, soft[TAUS], gap[TAUS], derivative[TAUS], bound[TAUS], moment;
        double covariance[TAUS * TAUS];
        make_small(&p, scales[i], moeg_gate_softmax());
        assert_status(
            moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, TAUS, taus, &s, &hard, soft, gap, covariance),
            MOEG_EUNABLE, "rows, but what they add to the gap is 0, or its squares underflow");
        assert_no_error_bar(&hard);
        for (size_t t = 0; t < TAUS; t++) {
            assert_no_error_bar(&soft[t]);
            assert_no_error_bar(&gap[t]);
            assert_int_equal(gap[t].n, s.n);
        }
        assert_true(isinf(covariance[0]) && isnan(covariance[1]));
        assert_status(moeg_risk_derivative(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, TAUS, taus, &s, derivative),
                      MOEG_EUNABLE, "rows, but what they add to the derivative is 0, or its squares underflow");
        assert_no_error_bar(&derivative[1]);
        assert_status(moeg_bound_moment(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, TAUS, taus, &s, bound), MOEG_EUNABLE,
                      "what they add to the bound is 0, or its squares underflow");
        assert_no_error_bar(&bound[0]);
        /* Q is the same in all rows of an expert, and not that of the other's. */
        assert_status(moeg_bound_holder_moment(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1.001, &s, &moment),
                      MOEG_EUNABLE, "bound_holder_moment: the variance of the moment underflows");
        assert_no_error_bar(&moment);
        problem_free(&p);
    }
}

/* Where squares are normal numbers nothing is amiss. */
static void larger_ones_have_theirs(void **state)
{
    (void)state;
    struct problem p, one;
    moeg_estimate gap, same;
    const moeg_sampling s = sampled(5000);
    make_small(&p, 0x1p-240, moeg_gate_softmax());
    make_small(&one, 1, moeg_gate_softmax());
    assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, taus, &s, &gap));
    assert_ok(moeg_risk_gap(one.moe, one.teacher, one.law, MOEG_MIX_OUTPUT, 1, taus, &s, &same));
    assert_relative(gap.value, ldexp(same.value, -480), 8 * EPS);
    assert_relative(gap.std_error, ldexp(same.std_error, -480), 8 * EPS);
    problem_free(&p);
    problem_free(&one);
}

/* Gates that tau does not move, and a risk that is the noise alone or one constant, however small. */
static void constants_have_an_error_bar_of_0(void **state)
{
    (void)state;
    static const double scales[] = {1, 1e-80, 1e-100};
    const moeg_sampling s = sampled(5000);
    for (size_t i = 0; i < 3; i++) {
        struct problem p;
        moeg_estimate hard, soft[TAUS], gap[TAUS];
        problem_draw(&p, 12, 2, 3, 1);
        p.pieces = 1;
        p.gate = moeg_gate_softmax();
        memset(p.A, 0, sizeof p.A);
        p.c[0][0] = p.c[1][0] = scales[i];
        p.c[2][0] = -scales[i];
        problem_build(&p);
        assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, TAUS, taus, &s, &hard, soft, gap, NULL));
        assert_true(hard.value == 4 * scales[i] * scales[i] && hard.std_error == 0 && hard.lo == hard.hi);
        for (size_t t = 0; t < TAUS; t++) {
            assert_true(soft[t].std_error == 0 && soft[t].value == hard.value);
            assert_true(gap[t].value == 0 && gap[t].std_error == 0 && gap[t].hi == 0);
        }
        problem_free(&p);
        make_small(&p, scales[i], moeg_gate_topk_renorm(1));
        /* The gap is 0 for sure, the risks are as good as their error bars. */
        const moeg_status status = moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, TAUS, taus, &s, gap);
        check_status_at(status, i == 0 ? MOEG_OK : MOEG_EUNABLE, "risk_gap: a variance at tau[0] = 0.1 underflows",
                        "status", __FILE__, __LINE__);
        assert_true(gap[0].value == 0 && gap[0].std_error == 0 && gap[1].hi == 0);
        problem_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_gaps_have_no_false_error_bar),
        cmocka_unit_test(larger_ones_have_theirs),
        cmocka_unit_test(constants_have_an_error_bar_of_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
