/* Risks of TOPK_RENORM, TOPK_RAW and SUBSET against their definition: all k-subsets enumerated, in long double. */
#include "limit/gates.h"
#include "limit/problem.h"
#include "support/check.h"

#include <stdlib.h>

enum { ROWS = 400, NTAU = 5 };
static const double taus[NTAU] = {2.385, 0.31, 0, 0.04, 1e-3};

struct sums {
    real hard, soft, gap, terms;
};

/* One row's hard and soft risk and their difference; terms: the size of what the difference is made of. Of loss mixing
 * every loss has the noise; of output mixing the risk has. */
static struct sums oracle_row(const struct problem *p, moeg_gate gate, moeg_mixing mixing, real noise, const double *x,
                              real tau)
{
    real a[MOST_K], f[MOST_K + 1][MOST_M], hard[MOST_K], change[MOST_K];
    for (size_t k = 0; k < p->K; k++) {
        a[k] = p->b[k];
        for (size_t j = 0; j < p->d; j++)
            a[k] += (real)p->W[k * p->d + j] * x[j];
    }
    for (size_t k = 0; k <= p->K; k++)
        for (size_t o = 0; o < p->m; o++) {
            f[k][o] = p->c[k][o];
            for (size_t j = 0; j < p->d; j++)
                f[k][o] += (real)p->A[k][o * p->d + j] * x[j];
        }
    oracle_gates(gate, p->K, a, tau, hard, change);
    struct sums s = {0};
    if (mixing == MOEG_MIX_LOSS)
        for (size_t k = 0; k < p->K; k++) {
            real loss = noise;
            for (size_t o = 0; o < p->m; o++)
                loss += (f[k][o] - f[p->K][o]) * (f[k][o] - f[p->K][o]);
            s.hard += hard[k] * loss;
            s.gap += change[k] * loss;
            s.terms += fabsl(change[k]) * loss;
        }
    else
        for (size_t o = 0; o < p->m; o++) {
            real r = -f[p->K][o], D = 0, size = 0;
            for (size_t k = 0; k < p->K; k++) {
                r += hard[k] * f[k][o];
                D += change[k] * f[k][o];
                size += fabsl(change[k] * f[k][o]);
            }
            s.hard += r * r;
            s.gap += D * (D + 2 * r);
            s.terms += size * (size + 2 * fabsl(r));
        }
    s.hard += mixing == MOEG_MIX_OUTPUT ? noise : 0;
    s.soft = s.hard + s.gap;
    return s;
}

/* Sums of rows are right to some roundings of their terms; a double product or sum in each row, then ROWS of them. */
static const double rounding = 200 * EPS;

static void compare(const struct problem *p, moeg_gate gate, moeg_mixing mixing, double noise, const moeg_law *law,
                    const double *x, double cut)
{
    moeg_teacher *teacher;
    assert_ok(moeg_teacher_noise_create(&teacher, p->teacher, noise));
    moeg_moe *moe = mixture_of(p, gate);
    moeg_sampling s = moeg_sampling_default();
    moeg_estimate hard, soft[NTAU], gap[NTAU];
    s.n = ROWS;
    s.method = MOEG_METHOD_MC;
    const moeg_status status = moeg_risk_curve(moe, teacher, law, mixing, NTAU, taus, &s, &hard, soft, gap, NULL);
    assert_true(status == MOEG_OK || status == MOEG_EUNABLE);
    for (size_t t = 0; t < NTAU; t++) {
        struct sums mean = {0};
        for (size_t i = 0; i < ROWS; i++) {
            const struct sums row = oracle_row(p, gate, mixing, noise, x + i * p->d, taus[t]);
            mean.hard += row.hard / ROWS;
            mean.soft += row.soft / ROWS;
            mean.gap += row.gap / ROWS;
            mean.terms += row.terms / ROWS;
        }
        assert_relative(hard.value, (double)mean.hard, rounding);
        /* Logits of size 10 are rounded to 10 epsilon, their gates to that over tau. */
        const double gates = rounding + (taus[t] > 0 ? 20 * EPS / taus[t] : 0);
        assert_near(soft[t].value, (double)mean.soft, rounding * (double)mean.hard + gates * (double)mean.terms);
        assert_near(gap[t].value, (double)mean.gap, gates * (double)mean.terms + cut);
        const int frozen = taus[t] == 0 || (gate.kind == MOEG_GATE_TOPK_RENORM && gate.k == 1) ||
                           (gate.kind == MOEG_GATE_SUBSET && gate.k == p->K);
        if (frozen) {
            assert_near(gap[t].value, 0, 0);
            assert_near(gap[t].lo, 0, 0);
            assert_near(gap[t].hi, 0, 0);
            assert_int_equal(gap[t].contributing, ROWS);
        } else {
            assert_true(gap[t].std_error > 0);
        }
    }
    moeg_teacher_free(teacher);
    moeg_moe_free(moe);
}

static void rows_are_as_defined(void **state)
{
    (void)state;
    struct problem p;
    double *x = malloc(ROWS * MOST_D * sizeof *x);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        moeg_gate gates[MOST_GATES];
        moeg_law *data;
        problem_draw(&p, seed, 2 + seed % 5, 1 + seed % 3, 1 + seed % 2);
        problem_build(&p);
        assert_ok(moeg_law_sample(p.law, 1, 0, ROWS, x));
        assert_ok(moeg_law_empirical_create(&data, ROWS, p.d, x, NULL));
        const size_t n = all_gates(p.K, gates);
        for (size_t g = 0; g < n; g++)
            for (int loss = 0; loss < 2; loss++) {
                /* Under a sampled law rows beyond 45 tau are left out; under data none is. */
                compare(&p, gates[g], loss ? MOEG_MIX_LOSS : MOEG_MIX_OUTPUT, 0, p.law, x, 1e-18);
                compare(&p, gates[g], loss ? MOEG_MIX_LOSS : MOEG_MIX_OUTPUT, 3.77, data, x, 0);
            }
        moeg_law_free(data);
        problem_free(&p);
    }
    free(x);
}

static void subset_of_one_is_softmax(void **state)
{
    (void)state;
    struct problem p;
    moeg_sampling s = moeg_sampling_default();
    moeg_estimate a[NTAU], b[NTAU];
    problem_draw(&p, 7, 5, 3, 2);
    problem_build(&p);
    moeg_moe *moe = mixture_of(&p, moeg_gate_subset(1));
    s.method = MOEG_METHOD_MC;
    for (int loss = 0; loss < 2; loss++) {
        const moeg_mixing mixing = loss ? MOEG_MIX_LOSS : MOEG_MIX_OUTPUT;
        const moeg_status status = moeg_risk_gap(p.moe, p.teacher, p.law, mixing, NTAU, taus, &s, a);
        assert_true(status >= 0);
        assert_int_equal(moeg_risk_gap(moe, p.teacher, p.law, mixing, NTAU, taus, &s, b), status);
        for (size_t t = 0; t < NTAU; t++) {
            assert_near(a[t].value, b[t].value, 1e3 * EPS * fabs(a[t].value) + 1e3 * EPS * taus[t]);
            assert_int_equal(a[t].contributing, b[t].contributing);
        }
    }
    moeg_moe_free(moe);
    problem_free(&p);
}

/* There are more subsets than a double can count; the gates are then those of moeg_gates(). */
static void subsets_may_be_beyond_counting(void **state)
{
    (void)state;
    enum { K = 1040, ACTIVE = K / 2 };
    static double W[K], b[K], a[K], hard[K], soft[K];
    static moeg_expert *experts[K];
    const double tau = 1e3, zero = 0;
    moeg_law *law;
    moeg_router *router;
    moeg_moe *moe;
    moeg_teacher *teacher;
    moeg_sampling s = moeg_sampling_default();
    moeg_estimate gap;
    double x, h = 0, D = 0, size = 0;
    s.method = MOEG_METHOD_MC;
    s.n = 1;
    for (size_t k = 0; k < K; k++) {
        W[k] = problem_number(29, 3 * k);
        b[k] = problem_number(29, 3 * k + 1);
        const double output = problem_number(29, 3 * k + 2);
        assert_ok(moeg_expert_constant_create(&experts[k], 1, 1, &output));
    }
    assert_ok(moeg_law_gaussian_create(&law, 1, NULL, NULL));
    assert_ok(moeg_router_affine_create(&router, K, 1, W, b));
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_subset(ACTIVE), experts));
    assert_ok(moeg_teacher_expert_create(&teacher, experts[0]));
    assert_status(moeg_risk_gap(moe, teacher, law, MOEG_MIX_OUTPUT, 1, &tau, &s, &gap), MOEG_EUNABLE, "");
    assert_ok(moeg_law_sample(law, s.seed, 0, 1, &x));
    assert_ok(moeg_router_logits(router, 1, &x, a));
    assert_ok(moeg_gates(moeg_gate_subset(ACTIVE), 1, K, a, zero, hard));
    assert_ok(moeg_gates(moeg_gate_subset(ACTIVE), 1, K, a, tau, soft));
    for (size_t k = 0; k < K; k++) {
        const double f = problem_number(29, 3 * k + 2);
        h += hard[k] * f;
        D += (soft[k] - hard[k]) * f;
        size += fabs(f) / ACTIVE;
    }
    h -= problem_number(29, 2);
    assert_near(gap.value, D * (D + 2 * h), 100 * EPS * size * (fabs(h) + size));
    for (size_t k = 0; k < K; k++)
        moeg_expert_free(experts[k]);
    moeg_teacher_free(teacher);
    moeg_moe_free(moe);
    moeg_router_free(router);
    moeg_law_free(law);
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    struct problem p;
    moeg_sampling s = moeg_sampling_default();
    moeg_estimate one[NTAU], many[NTAU];
    s.method = MOEG_METHOD_MC;
    problem_draw(&p, 11, 6, 3, 2);
    problem_build(&p);
    moeg_moe *moe = mixture_of(&p, moeg_gate_subset(3));
    s.max_threads = 1;
    assert_true(moeg_risk_gap(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, NTAU, taus, &s, one) >= 0);
    for (int threads = 2; threads <= 5; threads += 3) {
        s.max_threads = threads;
        assert_true(moeg_risk_gap(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, NTAU, taus, &s, many) >= 0);
        for (size_t t = 0; t < NTAU; t++) {
            assert_memory_equal(&one[t].value, &many[t].value, sizeof(double));
            assert_memory_equal(&one[t].std_error, &many[t].std_error, sizeof(double));
        }
    }
    moeg_moe_free(moe);
    problem_free(&p);
}

/* Experts that are nearly copies: what they differ by, and what they miss, keeps its digits. */
static void near_copies_do_not_cancel(void **state)
{
    (void)state;
    enum { K = 5 };
    const double tau = 0.7, unit = 0x1p-50;
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_MC;
    for (size_t k = 1; k < K; k++) {
        struct problem p;
        moeg_estimate hard, gap, soft, want_hard, want_gap, want_soft;
        problem_draw(&p, 31 + k, K, 2, 1);
        for (size_t e = 0; e <= K; e++) {
            memset(p.A[e], 0, sizeof p.A[e]);
            p.c[e][0] = rint(20 * p.c[e][0]);
        }
        problem_build(&p);
        moeg_moe *moe = mixture_of(&p, moeg_gate_subset(k));
        assert_ok(moeg_risk_curve(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &want_hard, &want_soft,
                                  &want_gap, NULL));
        moeg_moe_free(moe);
        problem_free(&p);
        for (size_t e = 0; e <= K; e++)
            p.c[e][0] = 1 + unit * p.c[e][0]; /* exact */
        problem_build(&p);
        moe = mixture_of(&p, moeg_gate_subset(k));
        assert_ok(moeg_risk_curve(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &hard, &soft, &gap, NULL));
        assert_relative(hard.value, unit * unit * want_hard.value, 100 * EPS);
        assert_relative(soft.value, unit * unit * want_soft.value, 100 * EPS);
        assert_relative(gap.value, unit * unit * want_gap.value, 1000 * EPS);
        moeg_moe_free(moe);
        problem_free(&p);
    }
}

static void no_false_zero(void **state)
{
    (void)state;
    struct problem p;
    moeg_sampling s = moeg_sampling_default();
    const double tau = 1e-12;
    moeg_estimate gap;
    s.method = MOEG_METHOD_MC;
    problem_draw(&p, 13, 5, 3, 1);
    problem_build(&p);
    moeg_moe *moe = mixture_of(&p, moeg_gate_subset(2));
    assert_status(moeg_risk_gap(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &gap), MOEG_EUNABLE, "tau[0]");
    assert_true(isinf(gap.std_error) && isinf(gap.lo) && isinf(gap.hi));
    moeg_moe_free(moe);
    problem_free(&p);
}

static void refuses_what_cannot_be(void **state)
{
    (void)state;
    struct problem p;
    moeg_sampling s = moeg_sampling_default();
    moeg_estimate gap[NTAU];
    moeg_leading leading = {.coefficient = 2.385};
    problem_draw(&p, 17, 4, 2, 1);
    p.b[0] = p.b[2] = p.b[3] = -INFINITY;
    problem_build(&p);
    moeg_moe *moe = mixture_of(&p, moeg_gate_subset(2));
    gap[0].value = 2.385;
    assert_status(moeg_risk_gap(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, NTAU, taus, &s, gap), MOEG_EDOM,
                  "masks all but 1 experts at sample 0, fewer than gate.k = 2");
    assert_near(gap[0].value, 2.385, 0);
    moeg_moe_free(moe);
    problem_free(&p);

    problem_draw(&p, 19, 2, 2, 1);
    p.b[1] = -INFINITY;
    problem_build(&p);
    moe = mixture_of(&p, moeg_gate_topk_raw(2));
    s.method = MOEG_METHOD_LINE;
    assert_status(moeg_risk_gap(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, NTAU, taus, &s, gap), MOEG_EDOM,
                  "risk_gap: the router masks all but 1 experts, fewer than gate.k = 2");
    assert_status(moeg_leading_term(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &leading), MOEG_EDOM,
                  "leading_term: the router masks all but 1 experts");
    assert_near(leading.coefficient, 2.385, 0);
    moeg_moe_free(moe);
    problem_free(&p);

    problem_draw(&p, 23, 3, 2, 1);
    p.W[0] = 1e308;
    p.W[2] = -1e308;
    problem_build(&p);
    moe = mixture_of(&p, moeg_gate_subset(2));
    s.method = MOEG_METHOD_MC;
    assert_status(moeg_risk_gap(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, NTAU, taus, &s, gap), MOEG_ERANGE,
                  "logits of sample");
    moeg_moe_free(moe);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_as_defined),
        cmocka_unit_test(subset_of_one_is_softmax),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(near_copies_do_not_cancel),
        cmocka_unit_test(no_false_zero),
        cmocka_unit_test(subsets_may_be_beyond_counting),
        cmocka_unit_test(refuses_what_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
