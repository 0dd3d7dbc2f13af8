/* The temperature for a given gap: roots, first crossings, error bars, and ranges that do not hold the answer. */
#include "limit/gates.h"
#include "limit/problem.h"
#include "support/coverage.h"
#include "support/failing_alloc.h"

static moeg_sampling sampled(uint64_t n)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_MC;
    s.n = n;
    return s;
}

static double gap_at(const struct problem *p, const moeg_law *law, double tau, const moeg_sampling *s)
{
    moeg_estimate gap;
    assert_true(moeg_risk_gap(p->moe, p->teacher, law, MOEG_MIX_OUTPUT, 1, &tau, s, &gap) >= 0);
    return gap.value;
}

/* s = x, f = +-1, m = 0.2: G = -1.595769 tau (1 + O(tau^2)). */
static void make_signs(struct problem *p)
{
    *p = (struct problem){.K = 2, .d = 1, .m = 1, .covariance = {1}, .W = {0.5, -0.5}};
    p->c[0][0] = 1;
    p->c[1][0] = -1;
    p->c[2][0] = 0.2;
    problem_build(p);
}

static void a_line_has_the_root_to_rounding(void **state)
{
    (void)state;
    struct problem p;
    moeg_estimate tau;
    const moeg_sampling s = moeg_sampling_default();
    make_signs(&p);
    const double sizes[] = {1e-6, 2.385e-3, 0.31};
    for (size_t i = 0; i < 3; i++) {
        assert_ok(moeg_risk_temperature(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, sizes[i], 1e-12, 1e3, &s, &tau));
        assert_int_equal(tau.method, MOEG_METHOD_LINE);
        assert_true(fabs(gap_at(&p, p.law, tau.value, &s)) <= sizes[i]);
        assert_true(fabs(gap_at(&p, p.law, nextafter(tau.value, INFINITY), &s)) > sizes[i]);
        assert_relative(tau.value, sizes[i] / 1.5957691216057308, i == 0 ? 1e-11 : i == 1 ? 1e-5 : 0.1);
        assert_near(tau.std_error, 0, 0);
        assert_true(tau.lo <= tau.value && tau.value <= tau.hi);
        assert_true(tau.quad_error < 1e-10 * tau.value && tau.quad_error >= tau.hi - tau.value);
    }
    problem_free(&p);
}

/* f = +-1 and m = x: softening helps first, until the mixture is close to m, and hurts then. The gap falls from 0,
 * turns, and rises through 0. */
static void make_bump(struct problem *p)
{
    *p = (struct problem){.K = 2, .d = 1, .m = 1, .covariance = {1}, .W = {0.5, -0.5}};
    p->c[0][0] = 1;
    p->c[1][0] = -1;
    p->A[2][0] = 1;
    problem_build(p);
}

/* What the answer says of a dense grid of its own. */
static void the_first_crossing_counts(void **state)
{
    (void)state;
    struct problem p;
    const moeg_sampling s = moeg_sampling_default();
    make_bump(&p);
    const double below_bump = 0.11, above_bump = 0.31;
    double bump = 0;
    for (int above = 0; above < 2; above++) {
        moeg_estimate tau;
        const double size = above ? above_bump : below_bump;
        assert_ok(moeg_risk_temperature(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, size, 1e-3, 1e3, &s, &tau));
        for (double t = 1e-3; t <= tau.value; t *= 1.003)
            assert_true(fabs(gap_at(&p, p.law, t, &s)) <= size);
        for (double t = tau.value * 1.001; above && t < 1e3; t *= 1.3)
            assert_true(gap_at(&p, p.law, t, &s) > size);
        bump = fmin(bump, gap_at(&p, p.law, tau.value * 1.05, &s));
        assert_true(above == (gap_at(&p, p.law, tau.value, &s) > 0));
    }
    assert_true(bump < -below_bump);
    problem_free(&p);
}

/* The gap of weighted data is a function of tau that can be asked for: it has that size at the answer. All gates. */
static void data_have_the_gap_at_the_answer(void **state)
{
    (void)state;
    enum { ROWS = 300 };
    struct problem p;
    moeg_gate gates[MOST_GATES + 1] = {{0}};
    double x[ROWS * MOST_D], w[ROWS];
    moeg_law *data;
    const moeg_sampling s = sampled(1);
    problem_make(&p, 7, 4, 2, 2);
    assert_ok(moeg_law_sample(p.law, 3, 0, ROWS, x));
    for (size_t i = 0; i < ROWS; i++)
        w[i] = 1 + problem_number(3, 9000 + i);
    assert_ok(moeg_law_empirical_create(&data, ROWS, p.d, x, w));
    const size_t n = 1 + all_gates(p.K, gates + 1);
    size_t found = 0;
    for (size_t g = 0; g < n; g++) {
        moeg_moe *moe = mixture_of(&p, gates[g]);
        moeg_estimate tau, gap, slope;
        const moeg_status status = moeg_risk_temperature(moe, p.teacher, data, MOEG_MIX_LOSS, 0.3, 0.06, 10, &s, &tau);
        assert_true(status >= 0);
        if (isfinite(tau.std_error)) {
            found++;
            assert_true(moeg_risk_gap(moe, p.teacher, data, MOEG_MIX_LOSS, 1, &tau.value, &s, &gap) >= 0);
            assert_relative(fabs(gap.value), 0.3, 1e-8);
            assert_ok(moeg_risk_derivative(moe, p.teacher, data, MOEG_MIX_LOSS, 1, &tau.value, &s, &slope));
            assert_relative(tau.std_error, gap.std_error / fabs(slope.value), 4 * EPS);
            assert_int_equal(tau.contributing, gap.contributing);
            assert_int_equal(tau.n, ROWS);
        }
        moeg_moe_free(moe);
    }
    assert_true(found >= 8);
    moeg_law_free(data);
    problem_free(&p);
}

static moeg_status estimator(uint64_t seed, void *user, moeg_estimate *estimate)
{
    const struct problem *p = user;
    moeg_sampling s = sampled(400);
    s.seed = seed;
    s.max_threads = 1;
    return moeg_risk_temperature(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, 0.4, 0.13, 1.5, &s, estimate);
}

/* The truth is the root of one line. */
static void error_bars_cover(void **state)
{
    (void)state;
    struct problem p;
    moeg_estimate truth;
    const moeg_sampling s = moeg_sampling_default();
    make_signs(&p);
    assert_ok(moeg_risk_temperature(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 0.4, 0.13, 1.5, &s, &truth));
    assert_coverage(estimator, &p, 1, &truth.value, 0.95, 1000, COVERAGE_MAY_BIAS);
    problem_free(&p);
}

/* Every way in which the range may not hold the answer: the status, what it says, and the numbers. */
static void ranges_without_the_answer(void **state)
{
    (void)state;
    struct problem p;
    moeg_sampling s = sampled(4000);
    make_signs(&p);
    moeg_estimate inner, tau;
    assert_ok(moeg_risk_temperature(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 0.2, 0.03, 1, &s, &inner));
    const struct {
        double lo, hi;
        const char *says;
        double value, from, to; /* 1: that of `inner` */
    } cases[] = {
        {1e-9, 1, "risk_temperature: tau_lo = 1e-09 is felt by too few rows to tell a gap", 1, 0, 1},
        {inner.lo * 1.001, 1, "risk_temperature: the gap may be above 0.2 at tau_lo", 1, 0, 1},
        {inner.value * 1.001, 1, "risk_temperature: the gap is above 0.2 at tau_lo", 0, 0, 1},
        {inner.hi * 1.001, 1, "risk_temperature: the gap is above 0.2 at tau_lo", 0, 0, 2},
        {0.03, inner.hi * 0.999, "risk_temperature: the gap may be within 0.2 up to tau_hi", 1, 1, INFINITY},
        {0.03, inner.value * 0.999, "risk_temperature: the gap stays within 0.2 up to tau_hi", 3, 1, INFINITY},
        {0.03, inner.lo * 0.999, "risk_temperature: the gap stays within 0.2 up to tau_hi", 3, 3, INFINITY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double lo = cases[i].lo, hi = cases[i].hi;
        assert_status(moeg_risk_temperature(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 0.2, lo, hi, &s, &tau),
                      MOEG_EUNABLE, cases[i].says);
        const double told[4] = {0, NAN, lo, hi};
        const double value = cases[i].value == 1 ? inner.value : told[(int)cases[i].value];
        const double from = cases[i].from == 1 ? inner.lo : told[(int)cases[i].from];
        const double to = cases[i].to == 1 ? inner.hi : isinf(cases[i].to) ? INFINITY : told[(int)cases[i].to];
        assert_near(tau.value, value, 1e-8 * value);
        assert_near(tau.lo, from, 1e-8 * from);
        assert_near(tau.hi, to, 1e-8 * inner.hi);
        assert_true(cases[i].value == 1 ? isfinite(tau.std_error) : isinf(tau.std_error));
    }
    s = moeg_sampling_default();
    assert_status(moeg_risk_temperature(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 0.2, 0.5, 1, &s, &tau), MOEG_EUNABLE,
                  "above 0.2 at tau_lo = 0.5");
    assert_near(tau.value, 0, 0);
    assert_status(moeg_risk_temperature(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2.385, 0.5, 1, &s, &tau),
                  MOEG_EUNABLE, "stays within 2.385 up to tau_hi = 1");
    assert_near(tau.value, 1, 0);
    assert_near(tau.lo, 1, 0);
    assert_true(isinf(tau.hi) && isinf(tau.std_error) && isinf(tau.quad_error));

    moeg_moe *frozen = mixture_of(&p, moeg_gate_topk_renorm(1));
    assert_status(moeg_risk_temperature(frozen, p.teacher, p.law, MOEG_MIX_OUTPUT, 1e-12, 0.5, 1, &s, &tau),
                  MOEG_EUNABLE, "stays within 1e-12 up to tau_hi = 1");
    assert_near(tau.lo, 1, 0);
    moeg_moe_free(frozen);
    problem_free(&p);
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    struct problem p;
    moeg_sampling s = sampled(9000);
    moeg_estimate one, many;
    problem_make(&p, 12, 3, 3, 2);
    s.max_threads = 1;
    assert_ok(moeg_risk_temperature(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 0.3, 0.02, 5, &s, &one));
    for (s.max_threads = 2; s.max_threads <= 5; s.max_threads += 3) {
        assert_ok(moeg_risk_temperature(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 0.3, 0.02, 5, &s, &many));
        assert_memory_equal(&one.value, &many.value, 4 * sizeof(double));
    }
    problem_free(&p);
}

static int cancel_after(uint64_t done, uint64_t total, void *user)
{
    (void)done, (void)total;
    return --*(int *)user < 0;
}

static void every_error_is_named_and_touches_nothing(void **state)
{
    (void)state;
    struct problem p;
    moeg_estimate tau = {.value = 2.385};
    moeg_sampling s = sampled(4000);
    problem_make(&p, 12, 3, 3, 2);
    assert_status(moeg_risk_temperature(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 0.1, 0.1, 1, &s, NULL), MOEG_EINVAL,
                  "risk_temperature: tau must not be NULL");
    assert_status(moeg_risk_temperature(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 0.1, 0.1, 1, NULL, &tau), MOEG_EINVAL,
                  "options must not be NULL");
    assert_status(moeg_risk_temperature(p.moe, NULL, p.law, MOEG_MIX_LOSS, 0.1, 0.1, 1, &s, &tau), MOEG_EINVAL,
                  "risk_temperature: teacher must not be NULL");
    const double sizes[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < 4; i++)
        assert_status(moeg_risk_temperature(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, sizes[i], 0.1, 1, &s, &tau),
                      MOEG_EINVAL, "risk_temperature: gap must be positive and finite, got");
    const double ranges[][2] = {{0, 1}, {1, 1}, {2, 1}, {1, 1e301}, {NAN, 1}, {1, NAN}, {9e-301, 1}};
    for (size_t i = 0; i < 7; i++)
        assert_status(
            moeg_risk_temperature(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, ranges[i][0], ranges[i][1], &s, &tau),
            MOEG_EINVAL, "risk_temperature: tau_lo < tau_hi must be in [1e-300, 1e300], got");
    s.method = MOEG_METHOD_LINE;
    assert_status(moeg_risk_temperature(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 0.1, 0.1, 1, &s, &tau),
                  MOEG_EUNSUPPORTED, "risk_temperature: method line does not apply");
    assert_near(tau.value, 2.385, 0);
    /* Canceled in any pass. */
    for (int calls = 0;; calls++) {
        int left = calls;
        s = sampled(300);
        s.max_threads = 1;
        s.progress = cancel_after;
        s.progress_user = &left;
        const moeg_status status =
            moeg_risk_temperature(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 0.3, 0.02, 5, &s, &tau);
        if (status != MOEG_ECANCELED) {
            assert_true(calls >= 7 && isfinite(tau.value));
            break;
        }
        assert_status(status, MOEG_ECANCELED, "risk_temperature: canceled by the progress callback");
        assert_true(isnan(tau.value) && isinf(tau.std_error) && tau.lo == 0 && isinf(tau.hi));
    }
    problem_free(&p);
}

static moeg_status ask(void *user)
{
    const struct problem *p = user;
    moeg_sampling s = sampled(200);
    moeg_estimate tau = {.value = 2.385};
    s.max_threads = 1;
    const moeg_status status = moeg_risk_temperature(p->moe, p->teacher, p->law, MOEG_MIX_LOSS, 0.3, 0.02, 5, &s, &tau);
    assert_true(status >= 0 || tau.value == 2.385);
    return status < 0 ? status : MOEG_OK;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 12, 3, 3, 2);
    assert_true(fail_every_allocation(ask, &p) >= 50);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_the_root_to_rounding),
        cmocka_unit_test(the_first_crossing_counts),
        cmocka_unit_test(data_have_the_gap_at_the_answer),
        cmocka_unit_test(error_bars_cover),
        cmocka_unit_test(ranges_without_the_answer),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(every_error_is_named_and_touches_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
