/* The sampled risk as a job: threads, cuts, cancellation, memory, arguments, overflows, allocations. */
#include "limit/cut.h"
#include "limit/damage.h"
#include "limit/problem.h"
#include "support/estimates.h"
#include "support/failing_alloc.h"

enum { TAUS = 4 };
static const double taus[TAUS] = {0.3, 0, 1e-2, 2.385};

static moeg_sampling options(uint64_t n)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_MC;
    s.n = n;
    return s;
}

struct results {
    moeg_estimate hard, soft[TAUS], gap[TAUS];
    double covariance[TAUS * TAUS];
};

static void assert_same(const struct results *a, const struct results *b)
{
    const moeg_estimate *of_a = &a->hard, *of_b = &b->hard; /* 1 + 2 TAUS estimates in a row. */
    for (size_t i = 0; i < 1 + 2 * TAUS; i++) {
        assert_near(of_a[i].value, of_b[i].value, 0);
        assert_near(of_a[i].std_error, of_b[i].std_error, 0);
        assert_near(of_a[i].lo, of_b[i].lo, 0);
        assert_near(of_a[i].hi, of_b[i].hi, 0);
        assert_int_equal(of_a[i].contributing, of_b[i].contributing);
        assert_int_equal(of_a[i].n, of_b[i].n);
    }
    for (size_t i = 0; i < TAUS * TAUS; i++)
        assert_near(a->covariance[i], b->covariance[i], 0);
}

static struct results in_one_call(const struct problem *p, moeg_mixing mixing, const moeg_sampling *s)
{
    struct results r;
    assert_ok(moeg_risk_curve(p->moe, p->teacher, p->law, mixing, TAUS, taus, s, &r.hard, r.soft, r.gap, r.covariance));
    return r;
}

static void threads_and_cuts_leave_the_bits(void **state)
{
    (void)state;
    for (int mixing = 0; mixing < 2; mixing++) {
        struct problem p;
        problem_make(&p, 90, 4, 3, 2);
        moeg_sampling s = options(20011);
        s.max_threads = 1;
        const struct results one = in_one_call(&p, (moeg_mixing)mixing, &s);
        static const int threads[] = {2, 5};
        for (int i = 0; i < 2; i++) {
            s.max_threads = threads[i];
            const struct results more = in_one_call(&p, (moeg_mixing)mixing, &s);
            assert_same(&one, &more);
        }
        moeg_job *job;
        assert_ok(moeg_risk_job_create(&job, p.moe, p.teacher, p.law, (moeg_mixing)mixing, TAUS, taus, &s));
        problem_free(&p); /* The job keeps what it needs. */
        moeg_partial *whole = run_in_two(job, &s, moeg_job_blocks(job) / 3 + 1);
        struct results cut_in_two;
        assert_ok(moeg_risk_job_result(job, whole, s.level, &cut_in_two.hard, cut_in_two.soft, cut_in_two.gap,
                                       cut_in_two.covariance));
        assert_same(&one, &cut_in_two);
        assert_ok(moeg_risk_job_result(job, whole, s.level, NULL, NULL, NULL, NULL));
        moeg_partial_free(whole);
        moeg_job_free(job);
    }
}

static int cancel_after(uint64_t done, uint64_t total, void *user)
{
    (void)total;
    return done >= *(const uint64_t *)user;
}

static void canceled_runs(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 91, 3, 2, 1);
    moeg_sampling s = options(1 << 20);
    uint64_t enough = 40000;
    s.progress = cancel_after;
    s.progress_user = &enough;
    struct results r;
    assert_status(
        moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, TAUS, taus, &s, &r.hard, r.soft, r.gap, r.covariance),
        MOEG_ECANCELED, "risk_curve: canceled by the progress callback");
    /* An estimate over what was done: the same as a run of so many rows. */
    assert_true(r.hard.n > 0 && r.hard.n < s.n && isfinite(r.gap[0].std_error));
    const moeg_sampling shorter = options(r.hard.n);
    const struct results expected = in_one_call(&p, MOEG_MIX_OUTPUT, &shorter);
    assert_relative(r.hard.value, expected.hard.value, 1e-13);
    assert_relative(r.gap[0].std_error, expected.gap[0].std_error, 1e-12);
    moeg_job *job;
    moeg_partial *nothing;
    assert_ok(moeg_risk_job_create(&job, p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, TAUS, taus, &s));
    assert_ok(moeg_job_run(job, &s, 2, 2, &nothing));
    assert_status(moeg_risk_job_result(job, nothing, 0.95, &r.hard, r.soft, r.gap, r.covariance), MOEG_EUNABLE,
                  "risk_job_result: no row was finished");
    const moeg_estimate *unknown[] = {&r.hard, &r.soft[0], &r.soft[1], &r.gap[0]};
    for (size_t i = 0; i < 4; i++) {
        assert_true(isnan(unknown[i]->value) && isinf(unknown[i]->std_error));
        assert_true(unknown[i]->lo == -INFINITY && unknown[i]->hi == INFINITY && unknown[i]->n == 0);
    }
    assert_near(r.gap[1].value, 0, 0); /* tau = 0 */
    assert_true(r.covariance[0] == INFINITY && isnan(r.covariance[2]));
    moeg_partial_free(nothing);
    moeg_job_free(job);
    problem_free(&p);
}

static int count_bytes(size_t bytes, void *user)
{
    __atomic_add_fetch((size_t *)user, bytes, __ATOMIC_RELAXED);
    return 0;
}

/* What a run allocates in all, with everything it frees again, does not grow with n. */
static void memory_is_independent_of_n(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 92, 3, 2, 1);
    size_t bytes[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        moeg_sampling s = options(i == 0 ? 10000 : 1000000);
        s.max_threads = 1;
        moeg_estimate gap[1];
        moeg_alloc_set_hook(count_bytes, &bytes[i]);
        assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, taus, &s, gap));
        moeg_alloc_set_hook(NULL, NULL);
    }
    /* A few dyadic nodes of state apart. */
    assert_true(bytes[0] > 1000 && bytes[1] < bytes[0] + 20000);
    problem_free(&p);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    struct problem p, other;
    problem_make(&p, 93, 3, 2, 1);
    problem_make(&other, 93, 3, 3, 2);
    moeg_sampling s = options(100);
    moeg_estimate gap = {.value = 42};
    moeg_job *job = NULL;
    double tau[] = {0.3, 0.1};
#define GAP(moe, teacher, law, mixing, ntau, tau, s, out) moeg_risk_gap(moe, teacher, law, mixing, ntau, tau, s, out)
    assert_status(GAP(NULL, p.teacher, p.law, 0, 2, tau, &s, &gap), MOEG_EINVAL, "risk_gap: moe must not be NULL");
    assert_status(GAP(p.moe, NULL, p.law, 0, 2, tau, &s, &gap), MOEG_EINVAL, "teacher must not be NULL");
    assert_status(GAP(p.moe, p.teacher, NULL, 0, 2, tau, &s, &gap), MOEG_EINVAL, "law must not be NULL");
    assert_status(GAP(p.moe, p.teacher, p.law, (moeg_mixing)7, 2, tau, &s, &gap), MOEG_EINVAL,
                  "mixing must be output (0) or loss (1), got 7");
    assert_status(GAP(p.moe, p.teacher, p.law, 0, 0, tau, &s, &gap), MOEG_EINVAL, "ntau must be at least 1, got 0");
    assert_status(GAP(p.moe, p.teacher, p.law, 0, 2, NULL, &s, &gap), MOEG_EINVAL, "tau must not be NULL");
    assert_status(GAP(p.moe, p.teacher, p.law, 0, 2, tau, NULL, &gap), MOEG_EINVAL, "options must not be NULL");
    assert_status(GAP(p.moe, p.teacher, p.law, 0, 2, tau, &s, NULL), MOEG_EINVAL, "gap must not be NULL");
    assert_status(GAP(p.moe, p.teacher, other.law, 0, 2, tau, &s, &gap), MOEG_EINVAL,
                  "the mixture takes dimension 2, the law has 3");
    assert_status(GAP(p.moe, other.teacher, p.law, 0, 2, tau, &s, &gap), MOEG_EINVAL,
                  "the mixture has 1 outputs, the teacher 2");
    struct problem wide;
    problem_make(&wide, 93, 3, 3, 1);
    assert_status(GAP(p.moe, wide.teacher, p.law, 0, 2, tau, &s, &gap), MOEG_EINVAL,
                  "the teacher takes dimension 3, the law has 2");
    problem_free(&wide);
    static const double bad[] = {NAN, INFINITY, -0.1, 1e-301, 1e301};
    for (size_t i = 0; i < 5; i++) {
        tau[1] = bad[i];
        assert_status(GAP(p.moe, p.teacher, p.law, 0, 2, tau, &s, &gap), MOEG_EINVAL, "risk_gap: tau[1]");
        assert_status(moeg_risk_job_create(&job, p.moe, p.teacher, p.law, 0, 2, tau, &s), MOEG_EINVAL, "tau[1]");
    }
    assert_status(moeg_risk_job_create(NULL, p.moe, p.teacher, p.law, 0, 1, tau, &s), MOEG_EINVAL,
                  "risk_job_create: job must not be NULL");
    s.n = 0;
    assert_status(GAP(p.moe, p.teacher, p.law, 0, 1, tau, &s, &gap), MOEG_EINVAL, "n must be at least 1");
    s = options(100);
    s.method = MOEG_METHOD_LINE;
    assert_status(moeg_risk_job_create(&job, p.moe, p.teacher, p.law, 0, 1, tau, &s), MOEG_EUNSUPPORTED,
                  "method must be auto or mc, got line");
    assert_null(job);
    assert_near(gap.value, 42, 0);
    problem_free(&p);
    problem_free(&other);
}

static void data_teachers_need_their_rows(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 94, 3, 2, 1);
    moeg_teacher *column;
    moeg_law *data;
    const double values[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}, tau = 0.3;
    const moeg_sampling s = options(3);
    moeg_estimate gap = {.value = 42};
    assert_ok(moeg_teacher_data_create(&column, 3, 1, values));
    assert_status(GAP(p.moe, column, p.law, 0, 1, &tau, &s, &gap), MOEG_EINVAL,
                  "a data teacher of 3 rows needs an empirical law of as many, got one of 0");
    assert_ok(moeg_law_empirical_create(&data, 2, 2, values, NULL));
    assert_status(GAP(p.moe, column, data, 0, 1, &tau, &s, &gap), MOEG_EINVAL, "got one of 2");
    assert_near(gap.value, 42, 0);
    moeg_law_free(data);
    moeg_teacher_free(column);
    problem_free(&p);
}

static void results_are_checked(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 95, 3, 2, 1);
    const moeg_sampling s = options(500);
    moeg_estimate gap = {.value = 42};
    moeg_job *job, *longer;
    moeg_partial *partial, *other;
    assert_ok(moeg_risk_job_create(&job, p.moe, p.teacher, p.law, 0, 1, taus, &s));
    assert_ok(moeg_risk_job_create(&longer, p.moe, p.teacher, p.law, 0, 2, taus, &s));
    assert_ok(moeg_job_run(job, &s, 0, moeg_job_blocks(job), &partial));
    assert_ok(moeg_job_run(longer, &s, 0, 1, &other));
    static const double bad[] = {0, 1, NAN, -1};
    for (size_t i = 0; i < 4; i++)
        assert_status(moeg_risk_job_result(job, partial, bad[i], NULL, NULL, &gap, NULL), MOEG_EINVAL,
                      "risk_job_result: level must be in (0, 1)");
    assert_status(moeg_risk_job_result(NULL, partial, 0.9, NULL, NULL, &gap, NULL), MOEG_EINVAL, "job must not be");
    assert_status(moeg_risk_job_result(job, NULL, 0.9, NULL, NULL, &gap, NULL), MOEG_EINVAL, "partial must not be");
    assert_status(moeg_risk_job_result(job, other, 0.9, NULL, NULL, &gap, NULL), MOEG_EINVAL,
                  "risk_job_result: partial must be a part of such a job");
    assert_near(gap.value, 42, 0);
    assert_ok(moeg_risk_job_result(job, partial, 0.9, NULL, NULL, &gap, NULL));
    assert_near(gap.level, 0.9, 0);
    moeg_partial_free(partial);
    moeg_partial_free(other);
    moeg_job_free(job);
    moeg_job_free(longer);
    problem_free(&p);
}

/* One problem with some numbers changed: the gap fails and is left alone. */
static void assert_damaged(const moeg_job *job, const moeg_partial *whole, size_t at, double value)
{
    struct results r, before;
    memset(&r, 42, sizeof r);
    before = r;
    moeg_partial *bad = damaged(job, whole, at, value);
    assert_status(moeg_risk_job_result(job, bad, 0.95, &r.hard, r.soft, r.gap, r.covariance), MOEG_EINVAL,
                  "risk_job_result: the partial result is damaged: ");
    assert_same_estimates(&r.hard, &before.hard, 1);
    assert_same_estimates(r.soft, before.soft, TAUS);
    assert_same_estimates(r.gap, before.gap, TAUS);
    assert_memory_equal(r.covariance, before.covariance, sizeof r.covariance);
    moeg_partial_free(bad);
}

/* State: the covariance of 1 + TAUS variables, the moments of TAUS, rows that felt each, sums of v and v^2 for each. */
static void damaged_results_are_refused(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 95, 3, 2, 1);
    const moeg_sampling s = options(500);
    moeg_job *job;
    moeg_partial *whole;
    assert_ok(moeg_risk_job_create(&job, p.moe, p.teacher, p.law, MOEG_MIX_LOSS, TAUS, taus, &s));
    assert_ok(moeg_job_run(job, &s, 0, 1, &whole));
    const double n = (double)moeg_partial_units(whole);
    const size_t soft = moeg_covariance_size(1 + TAUS), felt = soft + moeg_moments_size(TAUS), weight = felt + TAUS;
    double values[100];
    assert_true(moeg_job_get_spec(job)->state_size == weight + 2 * TAUS && weight + 2 * TAUS <= 100);
    assert_ok(moeg_partial_state(job, whole, values));
    assert_true(values[0] == n && values[soft] == n && values[felt] > 1 && values[felt] <= n);
    for (size_t i = 0; i < NO_COUNTS; i++) {
        assert_damaged(job, whole, 0, no_counts[i]);
        assert_damaged(job, whole, soft, no_counts[i]);
        for (size_t t = 0; t < TAUS; t++)
            assert_damaged(job, whole, felt + t, no_counts[i]);
    }
    assert_damaged(job, whole, 0, n - 1);
    assert_damaged(job, whole, soft, n + 1);
    assert_damaged(job, whole, felt, n + 1);
    /* Weights that would be more rows than there are, or none. */
    const double no_weights[] = {1e300, NAN, INFINITY, 100 * n};
    for (size_t i = 0; i < 4; i++)
        assert_damaged(job, whole, weight, no_weights[i]);
    const double no_squares[] = {0, -1, NAN, 1e-300};
    for (size_t i = 0; i < 4; i++)
        assert_damaged(job, whole, weight + 1, no_squares[i]);
    /* Sums of squares: of the hard risk, of the gaps, of the soft risks. */
    for (size_t t = 0; t <= TAUS; t++)
        assert_damaged(job, whole, 2 + TAUS + t * (t + 3) / 2, -0.5);
    for (size_t t = 0; t < TAUS; t++)
        assert_damaged(job, whole, soft + 1 + TAUS + t, -0.5);
    moeg_partial_free(whole);
    moeg_job_free(job);
    problem_free(&p);
}

static void check_overflow(struct problem *p, const char *text)
{
    const moeg_sampling s = options(300);
    const double tau = 0.3;
    moeg_estimate gap = {.value = 42};
    problem_build(p);
    assert_status(GAP(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, 1, &tau, &s, &gap), MOEG_ERANGE, text);
    assert_near(gap.value, 42, 0);
    problem_free(p);
}

static void overflows_are_named(void **state)
{
    (void)state;
    struct problem p;
    problem_draw(&p, 96, 3, 2, 2);
    p.W[0] = p.W[1] = 1.7e308;
    check_overflow(&p, "risk_gap: logits of sample ");
    problem_draw(&p, 96, 3, 2, 2);
    p.mean[0] = 10;
    p.A[1][2] = 1.7e308;
    check_overflow(&p, "risk_gap: output 1 of expert 1 at sample ");
    problem_draw(&p, 96, 3, 2, 2);
    p.mean[0] = 10;
    p.A[3][0] = 1.7e308;
    check_overflow(&p, "risk_gap: output 0 of the teacher at sample ");
    problem_draw(&p, 96, 3, 2, 2);
    p.c[0][0] = p.c[1][0] = p.c[2][0] = 1e200;
    check_overflow(&p, "risk_gap: the loss of sample 0 overflows");
    problem_draw(&p, 96, 3, 2, 2);
    p.c[0][0] = p.c[1][0] = p.c[2][0] = 1e152;
    p.A[0][0] = 1e150; /* Losses near 1e304: their squares are too large for a variance. */
    check_overflow(&p, "risk_gap: the hard risk, or its variance, overflows");
    assert_null(strstr(moeg_last_error(), "temperature"));
}

static moeg_status allocating(void *user)
{
    const struct problem *p = user;
    moeg_sampling s = options(300);
    s.max_threads = 1;
    struct results r = {.hard = {.value = 42}};
    r.gap[0].value = r.covariance[0] = r.soft[0].value = 42;
    const moeg_status status =
        moeg_risk_curve(p->moe, p->teacher, p->law, MOEG_MIX_LOSS, 1, taus, &s, &r.hard, r.soft, r.gap, r.covariance);
    if (status != MOEG_OK) {
        assert_near(r.hard.value, 42, 0);
        assert_near(r.soft[0].value, 42, 0);
        assert_near(r.gap[0].value, 42, 0);
        assert_near(r.covariance[0], 42, 0);
    }
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 97, 3, 2, 1);
    assert_true(fail_every_allocation(allocating, &p) >= 8);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_cuts_leave_the_bits), cmocka_unit_test(canceled_runs),
        cmocka_unit_test(memory_is_independent_of_n),      cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(data_teachers_need_their_rows),   cmocka_unit_test(results_are_checked),
        cmocka_unit_test(damaged_results_are_refused),     cmocka_unit_test(overflows_are_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
