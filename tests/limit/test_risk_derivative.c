/* dG/dtau: differences of the sampled gap itself, error bars, and the edges. */
#include "limit/gates.h"
#include "limit/problem.h"
#include "support/coverage.h"
#include "support/failing_alloc.h"

enum { ROWS = 400, NTAU = 3 };
static const double taus[NTAU] = {2.385, 0.07, 0.4};

static moeg_sampling sampled(uint64_t n)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_MC;
    s.n = n;
    return s;
}

static moeg_law *rows_of(const struct problem *p, size_t n)
{
    moeg_law *data;
    double *x = malloc(n * p->d * sizeof *x);
    assert_non_null(x);
    assert_ok(moeg_law_sample(p->law, 1, 0, n, x));
    assert_ok(moeg_law_empirical_create(&data, n, p->d, x, NULL));
    free(x);
    return data;
}

/* (4 D(h/2) - D(h))/3 of central differences of step h tau and half of it, relative to tau. */
static double difference(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law, moeg_mixing mixing,
                         double tau)
{
    const double h = 2e-3, at[4] = {tau * (1 - h), tau * (1 + h), tau * (1 - h / 2), tau * (1 + h / 2)};
    const moeg_sampling s = sampled(1);
    moeg_estimate gap[4];
    assert_true(moeg_risk_gap(moe, teacher, law, mixing, 4, at, &s, gap) >= 0);
    const double wide = (gap[1].value - gap[0].value) / (2 * h), narrow = (gap[3].value - gap[2].value) / h;
    return (4 * narrow - wide) / 3 / tau;
}

/* Under an empirical law the gap is one function of tau, rounded to epsilon of risks of about 10. */
static void derivatives_match_differences(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct problem p;
        moeg_gate gates[MOST_GATES + 1] = {{0}};
        moeg_teacher *noisy;
        problem_make(&p, seed, 2 + seed, 1 + seed % 3, 1 + seed % 2);
        moeg_law *data = rows_of(&p, ROWS);
        assert_ok(moeg_teacher_noise_create(&noisy, p.teacher, 3.77));
        const size_t n = 1 + all_gates(p.K, gates + 1);
        for (size_t g = 0; g < 2 * n; g++) {
            const moeg_mixing mixing = g % 2 == 0 ? MOEG_MIX_OUTPUT : MOEG_MIX_LOSS;
            const moeg_sampling s = sampled(1);
            moeg_moe *moe = mixture_of(&p, gates[g / 2]);
            moeg_estimate derivative[NTAU], gap[NTAU];
            /* Few rows may hold most of either. */
            assert_true(moeg_risk_derivative(moe, noisy, data, mixing, NTAU, taus, &s, derivative) >= 0);
            assert_true(moeg_risk_gap(moe, noisy, data, mixing, NTAU, taus, &s, gap) >= 0);
            for (size_t t = 0; t < NTAU; t++) {
                const double expected = difference(moe, noisy, data, mixing, taus[t]);
                /* Truncation: h^4 = 1.6e-11 of terms like tau^4 d^5/dtau^5. */
                assert_near(derivative[t].value, expected, 1e-8 * (1 + fabs(expected)));
                assert_int_equal(derivative[t].contributing, gap[t].contributing);
                assert_int_equal(derivative[t].n, ROWS);
                assert_int_equal(derivative[t].method, MOEG_METHOD_MC);
            }
            moeg_moe_free(moe);
        }
        moeg_teacher_free(noisy);
        moeg_law_free(data);
        problem_free(&p);
    }
}

/* One row in closed form, far from where the gates are felt: K = 2, g = 1/(1 + e^{u/tau}), tau dg/dtau =
 * g (1 - g) u/tau; relative to themselves, since nothing is subtracted. */
static void cold_derivatives_keep_their_digits(void **state)
{
    (void)state;
    const double W[2] = {0}, b[2] = {0.75, 0.25}, f[3] = {1.3, 0.4, 2.1}, x = 0;
    moeg_law *law;
    moeg_router *router;
    moeg_expert *experts[3];
    moeg_moe *moe;
    moeg_teacher *teacher;
    assert_ok(moeg_law_empirical_create(&law, 1, 1, &x, NULL));
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, b));
    for (size_t k = 0; k < 3; k++)
        assert_ok(moeg_expert_constant_create(&experts[k], 1, 1, &f[k]));
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), experts));
    assert_ok(moeg_teacher_expert_create(&teacher, experts[2]));
    const moeg_sampling s = sampled(1);
    for (double tau = 0x1p-10; tau < 100; tau *= 2) {
        moeg_estimate e;
        const double v = 0.5 / tau, g = exp(-v) / (1 + exp(-v)), slope = g / (1 + exp(-v)) * v;
        const double delta = f[1] - f[0], r = f[0] - f[2];
        assert_true(moeg_risk_derivative(moe, teacher, law, MOEG_MIX_OUTPUT, 1, &tau, &s, &e) == MOEG_EUNABLE);
        assert_relative(e.value, 2 * slope * delta * (r + g * delta) / tau, 16 * EPS);
        assert_true(moeg_risk_derivative(moe, teacher, law, MOEG_MIX_LOSS, 1, &tau, &s, &e) == MOEG_EUNABLE);
        assert_relative(e.value, slope * delta * (delta + 2 * r) / tau, 16 * EPS);
    }
    for (size_t k = 0; k < 3; k++)
        moeg_expert_free(experts[k]);
    moeg_teacher_free(teacher);
    moeg_moe_free(moe);
    moeg_router_free(router);
    moeg_law_free(law);
}

static const double told[2] = {0.6, 0.15};

static moeg_status estimator(uint64_t seed, void *user, moeg_estimate *estimates)
{
    const struct problem *p = user;
    moeg_sampling s = sampled(600);
    s.seed = seed;
    return moeg_risk_derivative(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, 2, told, &s, estimates);
}

/* The truth: differences of the exact gap of one line. */
static void error_bars_cover(void **state)
{
    (void)state;
    struct problem p;
    double truth[2];
    problem_make(&p, 12, 2, 3, 2);
    for (size_t t = 0; t < 2; t++) {
        const double tau = told[t], h = 2e-3,
                     at[4] = {tau * (1 - h), tau * (1 + h), tau * (1 - h / 2), tau * (1 + h / 2)};
        const moeg_sampling s = moeg_sampling_default();
        moeg_estimate gap[4];
        assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 4, at, &s, gap));
        assert_int_equal(gap[0].method, MOEG_METHOD_LINE);
        truth[t] = (4 * (gap[3].value - gap[2].value) / h - (gap[1].value - gap[0].value) / (2 * h)) / 3 / tau;
    }
    assert_coverage(estimator, &p, 2, truth, 0.95, 1000, COVERAGE_EXACT);
    problem_free(&p);
}

static void too_few_rows_and_frozen_gates(void **state)
{
    (void)state;
    struct problem p;
    moeg_estimate e[2] = {{.value = 2.385}};
    const double cold[2] = {1e-9, 0.3}, with_limit[2] = {0.3, 0};
    const moeg_sampling s = sampled(5000);
    problem_make(&p, 21, 3, 2, 1);
    assert_status(moeg_risk_derivative(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, with_limit, &s, e), MOEG_EDOM,
                  "risk_derivative: tau[1] = 0, where sampled gaps have no derivative");
    assert_near(e[0].value, 2.385, 0);
    assert_status(moeg_risk_derivative(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, cold, &s, e), MOEG_EUNABLE,
                  "risk_derivative: tau[0] = 1e-09 is felt by 0 of 5000 rows");
    assert_true(strstr(moeg_last_error(), "do not tell a derivative") != NULL);
    assert_true(isinf(e[0].std_error) && e[0].lo == -INFINITY && e[0].hi == INFINITY);
    assert_true(isfinite(e[1].std_error) && e[1].std_error > 0 && e[1].lo < e[1].value && e[1].value < e[1].hi);
    const moeg_gate frozen[] = {moeg_gate_topk_renorm(1), moeg_gate_subset(3)};
    for (size_t g = 0; g < 2; g++) {
        moeg_moe *moe = mixture_of(&p, frozen[g]);
        assert_ok(moeg_risk_derivative(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, with_limit, &s, e));
        for (size_t t = 0; t < 2; t++) {
            assert_near(e[t].value, 0, 0);
            assert_near(e[t].hi - e[t].lo, 0, 0);
            assert_int_equal(e[t].contributing, 5000);
        }
        moeg_moe_free(moe);
    }
    problem_free(&p);
}

/* Logits of 1e-300 at a temperature as small: derivatives of 1e300 are finite, of 1e310 an overflow. */
static void the_smallest_temperature(void **state)
{
    (void)state;
    const double tau = 1e-300;
    const moeg_sampling s = sampled(2000);
    for (int large = 0; large < 2; large++) {
        struct problem p;
        moeg_estimate e = {.value = 2.385};
        problem_draw(&p, 31, 3, 2, 1);
        for (size_t i = 0; i < 6; i++)
            p.W[i] *= 1e-300;
        for (size_t k = 0; k < 3; k++)
            p.b[k] *= 1e-300;
        p.c[0][0] = large ? 1e5 : 1;
        problem_build(&p);
        if (large) {
            assert_status(moeg_risk_derivative(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, &tau, &s, &e), MOEG_ERANGE,
                          "risk_derivative: the derivative at tau = 1e-300, or its error bar, overflows");
            assert_near(e.value, 2.385, 0);
        } else {
            assert_ok(moeg_risk_derivative(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, &tau, &s, &e));
            assert_true(fabs(e.value) > 1e297 && isfinite(e.value) && isfinite(e.std_error));
        }
        problem_free(&p);
    }
}

/* Logits that are apart by 1e10 everywhere: at this temperature by a factor past the largest double. */
static void an_infinite_ratio_moves_nothing(void **state)
{
    (void)state;
    const double tau[2] = {1e-300, 1e9};
    const moeg_sampling s = moeg_sampling_default();
    struct problem p;
    problem_draw(&p, 31, 2, 2, 1);
    p.W[2] = p.W[0];
    p.W[3] = p.W[1];
    p.b[0] = 1e10;
    p.b[1] = 0;
    problem_build(&p);
    for (int mixing = 0; mixing < 2; mixing++) {
        moeg_estimate e[2], gap;
        assert_ok(moeg_risk_derivative(p.moe, p.teacher, p.law, (moeg_mixing)mixing, 2, tau, &s, e));
        assert_int_equal(e[0].method, MOEG_METHOD_LINE);
        assert_true(e[0].value == 0 && e[0].quad_error > 0 && e[0].quad_error < 1e-20);
        assert_true(fabs(e[1].value) > 1e-15 && e[1].quad_error < 1e-10 * fabs(e[1].value));
        assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, (moeg_mixing)mixing, 1, tau, &s, &gap));
        assert_true(gap.value == 0 && gap.quad_error > 0 && gap.quad_error < 1e-300);
    }
    problem_free(&p);
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    struct problem p;
    moeg_sampling s = sampled(20000);
    moeg_estimate one[NTAU], many[NTAU];
    problem_make(&p, 11, 6, 3, 2);
    moeg_moe *moe = mixture_of(&p, moeg_gate_subset(3));
    s.max_threads = 1;
    assert_ok(moeg_risk_derivative(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, NTAU, taus, &s, one));
    for (int threads = 2; threads <= 5; threads += 3) {
        s.max_threads = threads;
        assert_ok(moeg_risk_derivative(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, NTAU, taus, &s, many));
        for (size_t t = 0; t < NTAU; t++) {
            assert_memory_equal(&one[t].value, &many[t].value, sizeof(double));
            assert_memory_equal(&one[t].std_error, &many[t].std_error, sizeof(double));
        }
    }
    moeg_moe_free(moe);
    problem_free(&p);
}

static int cancel(uint64_t done, uint64_t total, void *user)
{
    (void)done, (void)total, (void)user;
    return 1;
}

static void every_error_is_named_and_touches_nothing(void **state)
{
    (void)state;
    struct problem p;
    moeg_estimate e[NTAU] = {{.value = 2.385}};
    moeg_sampling s = sampled(5000);
    const double bad = NAN;
    problem_make(&p, 21, 2, 2, 1);
    assert_status(moeg_risk_derivative(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, NTAU, taus, &s, NULL), MOEG_EINVAL,
                  "risk_derivative: derivative must not be NULL");
    assert_status(moeg_risk_derivative(NULL, p.teacher, p.law, MOEG_MIX_LOSS, NTAU, taus, &s, e), MOEG_EINVAL,
                  "risk_derivative: moe must not be NULL");
    assert_status(moeg_risk_derivative(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 0, taus, &s, e), MOEG_EINVAL,
                  "risk_derivative: ntau must be at least 1");
    assert_status(moeg_risk_derivative(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, &bad, &s, e), MOEG_EINVAL,
                  "risk_derivative: tau[0] must be 0 or in");
    assert_status(moeg_risk_derivative(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, NTAU, taus, NULL, e), MOEG_EINVAL,
                  "options");
    const double with_limit[2] = {0.3, 0};
    s.method = MOEG_METHOD_LINE;
    assert_status(moeg_risk_derivative(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 2, with_limit, &s, e), MOEG_EDOM,
                  "risk_derivative: tau[1] = 0: the slope of the gap there is that of leading_term");
    moeg_moe *frozen = mixture_of(&p, moeg_gate_topk_renorm(1));
    assert_ok(moeg_risk_derivative(frozen, p.teacher, p.law, MOEG_MIX_LOSS, 2, with_limit, &s, e));
    assert_near(fabs(e[0].value) + fabs(e[1].value) + e[1].quad_error, 0, 0);
    moeg_moe_free(frozen);
    e[0].value = 2.385;
    assert_near(e[0].value, 2.385, 0);
    s = sampled(1 << 20);
    s.progress = cancel;
    assert_status(moeg_risk_derivative(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, NTAU, taus, &s, e), MOEG_ECANCELED,
                  "risk_derivative: canceled by the progress callback");
    problem_free(&p);
}

static moeg_status derive(void *user)
{
    const struct problem *p = user;
    moeg_sampling s = sampled(500);
    moeg_estimate e[NTAU] = {{.value = 2.385}};
    s.max_threads = 1;
    const moeg_status status = moeg_risk_derivative(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, NTAU, taus, &s, e);
    assert_true(status == MOEG_OK || e[0].value == 2.385);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 21, 3, 2, 1);
    assert_true(fail_every_allocation(derive, &p) >= 8);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_match_differences),
        cmocka_unit_test(cold_derivatives_keep_their_digits),
        cmocka_unit_test(error_bars_cover),
        cmocka_unit_test(too_few_rows_and_frozen_gates),
        cmocka_unit_test(the_smallest_temperature),
        cmocka_unit_test(an_infinite_ratio_moves_nothing),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(every_error_is_named_and_touches_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
