/* Sampled boundary masses, exponents and constants of any gap against obvious counts and sums over the same rows. */
#include "limit/boundary.h"
#include "limit/cut.h"
#include "support/coverage.h"
#include "support/estimates.h"

#include <float.h>

/* C from its definition, with the errors of the delta method and an interval around it. */
static void check_constant(double w, const moeg_estimate *mass, const moeg_estimate *alpha, const moeg_estimate *C)
{
    const long double log_C = logl(mass->value) - alpha->value * logl(w), value = expl(log_C);
    assert_int_equal(C->contributing, alpha->contributing);
    if (value < DBL_MIN || value > DBL_MAX || C->hi == INFINITY) {
        assert_true(C->lo == 0 && isinf(C->hi) && isinf(C->std_error));
        return;
    }
    const double relative = hypot(mass->std_error / mass->value, alpha->std_error * log(w));
    /* Of logarithms below 800 epsilon is lost, of their sum again. */
    assert_relative(C->value, (double)value, 2000 * EPS);
    assert_relative(C->std_error, C->value * relative, 8 * EPS);
    assert_true(0 <= C->lo && C->lo <= C->value && C->value <= C->hi);
}

/* Counts and Hill's sums of the sampled functions are those of the rows. */
static void check_against_rows(const moeg_router *router, moeg_gap gap, const moeg_law *law, size_t n, size_t nw,
                               const double *w, const moeg_sampling *s)
{
    enum { MOST = 8 };
    moeg_estimate mass[MOST], alpha[MOST], C[MOST];
    double *gaps = gaps_of_rows(router, gap, law, s->seed, n);
    uint64_t ties;
    assert_true(nw <= MOST);
    assert_ok(moeg_boundary_gap_mass(router, gap, law, nw, w, s, mass));
    const moeg_status status = moeg_boundary_exponent(router, gap, law, nw, w, s, alpha, C, &ties);
    int caveat = 0;
    for (size_t j = 0; j < nw; j++) {
        long double sum = 0;
        size_t count = 0, zeros = 0;
        for (size_t i = 0; i < n; i++)
            if (gaps[i] <= w[j]) {
                count++;
                zeros += gaps[i] == 0;
                sum += gaps[i] > 0 ? logl((long double)w[j] / gaps[i]) : 0;
            }
        assert_int_equal(mass[j].contributing, count);
        assert_int_equal(mass[j].n, n);
        assert_near(mass[j].value, (double)count / (double)n, 0);
        assert_int_equal(mass[j].method, MOEG_METHOD_MC);
        assert_int_equal(ties, zeros);
        assert_int_equal(alpha[j].contributing, count - zeros);
        if (count > zeros) {
            assert_relative(alpha[j].value, (double)((count - zeros) / sum), 100 * EPS);
            assert_relative(alpha[j].std_error, alpha[j].value / sqrt((double)(count - zeros)), 4 * EPS);
            assert_true(0 < alpha[j].lo && alpha[j].lo < alpha[j].value && alpha[j].value < alpha[j].hi);
            check_constant(w[j], &mass[j], &alpha[j], &C[j]);
        } else {
            assert_true(isnan(alpha[j].value) && isinf(alpha[j].std_error) && isinf(alpha[j].lo) && isinf(alpha[j].hi));
            assert_true(isnan(C[j].value) && isinf(C[j].std_error) && isinf(C[j].lo) && isinf(C[j].hi));
        }
        caveat |= count - zeros < MOEG_ENOUGH_UNITS || isinf(C[j].hi);
    }
    assert_int_equal(status, caveat ? MOEG_EUNABLE : MOEG_OK);
    free(gaps);
}

static void sampled_counts_and_sums(void **state)
{
    (void)state;
    /* Unsorted, with duplicates, and so small that rows are few. */
    static const double w[] = {0.3, 1e-3, 7.5, 0.3, 0.02, 1e-300, 0.731, 1e300};
    static const size_t shapes[][3] = {{2, 1, 1}, {3, 2, 1}, {8, 6, 1}, {5, 1, 1}};
    for (size_t i = 0; i < 4; i++) {
        struct problem p;
        problem_make(&p, 40 + i, shapes[i][0], shapes[i][1], 1);
        static const size_t sizes[] = {1, 63, 64, 3000};
        for (size_t j = 0; j < 4; j++) {
            const moeg_sampling s = options(MOEG_METHOD_MC, sizes[j], 0xfedcba9876543210u + i);
            for (size_t lower = 2; lower <= p.K + 1; lower++)
                for (size_t upper = 1; upper < lower && upper < 4; upper++)
                    check_against_rows(p.router, (moeg_gap){upper, lower}, p.law, sizes[j], sizeof w / sizeof *w, w,
                                       &s);
            check_against_rows(p.router, moeg_gap_margin(), p.law, sizes[j], 1, w, &s);
        }
        problem_free(&p);
    }
}

static void data_with_ties(void **state)
{
    (void)state;
    /* Integer rows: many exact ties, whose logarithms do not exist. The options' n and seed are not used. */
    enum { N = 500 };
    double x[2 * N];
    for (size_t i = 0; i < N; i++) {
        x[2 * i] = (double)(i * i % 7);
        x[2 * i + 1] = (double)(i % 5);
    }
    struct problem p;
    problem_draw(&p, 50, 3, 2, 1);
    const double W[] = {1, 0, 0, 1, 0.5, 0.75};
    memcpy(p.W, W, sizeof W);
    p.b[0] = p.b[1] = p.b[2] = 0;
    problem_build(&p);
    moeg_law *data;
    assert_ok(moeg_law_empirical_create(&data, N, 2, x, NULL));
    const double w[] = {2, 1e-9, 1.6, 0.6};
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 3, 8);
    for (size_t k = 1; k < 4; k++)
        check_against_rows(p.router, moeg_gap_top(k), data, N, 4, w, &s);
    check_against_rows(p.router, moeg_gap_order(2), data, N, 4, w, &s);
    /* All rows on one width: no finite exponent is told from any other. */
    const double same[] = {3, 3, 3, 3, 3, 3, 3, 3};
    moeg_law *point;
    assert_ok(moeg_law_empirical_create(&point, 4, 2, same, NULL));
    moeg_estimate alpha, mass[2];
    double margin;
    assert_ok(moeg_router_margin(p.router, 1, same, &margin));
    assert_status(moeg_boundary_exponent(p.router, moeg_gap_margin(), point, 1, &margin, &s, &alpha, NULL, NULL),
                  MOEG_EUNABLE, "w[0]");
    assert_true(isinf(alpha.value) && isinf(alpha.std_error) && alpha.lo == -INFINITY && alpha.hi == INFINITY);
    /* Widths and margins whose quotient overflows. */
    const double tiny[] = {1e-20, 0, 3e-20, 0}, huge[] = {1e300, 1e-19};
    moeg_law *near;
    assert_ok(moeg_law_empirical_create(&near, 2, 2, tiny, NULL));
    check_against_rows(p.router, moeg_gap_margin(), near, 2, 2, huge, &s);
    moeg_law_free(near);
    /* w = 0 counts the ties. */
    const double zero[] = {0.5, 0};
    assert_ok(moeg_boundary_mass(p.router, data, 2, zero, &s, mass));
    moeg_estimate exponents[4];
    uint64_t ties;
    assert_ok(moeg_boundary_exponent(p.router, moeg_gap_margin(), data, 1, w, &s, exponents, NULL, &ties));
    assert_int_equal(mass[1].contributing, ties);
    assert_true(ties > 0);
    moeg_law_free(point);
    moeg_law_free(data);
    problem_free(&p);
}

/* Whole results, to compare bits. */
struct results {
    moeg_estimate mass[4], alpha[4], C[4];
    uint64_t ties;
};

static const double grid[4] = {0.5, 0.01, 3, 0.1};

static struct results in_one_call(const struct problem *p, moeg_gap gap, const moeg_sampling *s)
{
    struct results r;
    memset(&r, 0, sizeof r);
    assert_ok(moeg_boundary_gap_mass(p->router, gap, p->law, 4, grid, s, r.mass));
    assert_true(moeg_boundary_exponent(p->router, gap, p->law, 4, grid, s, r.alpha, r.C, &r.ties) >= 0);
    return r;
}

static void assert_same(const struct results *a, const struct results *b)
{
    assert_same_estimates(a->mass, b->mass, 4);
    assert_same_estimates(a->alpha, b->alpha, 4);
    assert_same_estimates(a->C, b->C, 4);
    assert_int_equal(a->ties, b->ties);
}

static void check_threads_and_cuts(moeg_gap gap)
{
    struct problem p;
    problem_make(&p, 60, 4, 3, 1);
    moeg_sampling s = options(MOEG_METHOD_MC, 20011, 5);
    s.max_threads = 1;
    const struct results one = in_one_call(&p, gap, &s);
    static const int threads[] = {2, 5};
    for (int i = 0; i < 2; i++) {
        s.max_threads = threads[i];
        const struct results more = in_one_call(&p, gap, &s);
        assert_same(&one, &more);
    }
    moeg_job *job;
    assert_ok(moeg_boundary_job_create(&job, p.router, gap, p.law, 4, grid, &s));
    problem_free(&p); /* The job keeps what it needs. */
    moeg_partial *whole = run_in_two(job, &s, moeg_job_blocks(job) / 3 + 1);
    struct results two;
    assert_true(moeg_boundary_job_result(job, whole, s.level, two.mass, two.alpha, two.C, &two.ties) >= 0);
    assert_same(&one, &two);
    assert_ok(moeg_boundary_job_result(job, whole, s.level, NULL, NULL, NULL, NULL));
    moeg_partial_free(whole);
    moeg_job_free(job);
}

static void threads_and_cuts_leave_the_bits(void **state)
{
    (void)state;
    check_threads_and_cuts(moeg_gap_margin());
    check_threads_and_cuts(moeg_gap_order(3));
    check_threads_and_cuts(moeg_gap_top(2));
}

enum { COVERED_ROWS = 200 };
static const double covered_width = 0.5;

static moeg_status estimate_mass(uint64_t seed, void *user, moeg_estimate *e)
{
    const struct problem *p = user;
    const moeg_sampling s = options(MOEG_METHOD_MC, COVERED_ROWS, seed);
    return moeg_boundary_mass(p->router, p->law, 1, &covered_width, &s, e);
}

static void error_bars_are_honest(void **state)
{
    (void)state;
    struct problem p;
    make_plain(&p, 0, 1, 1, 0);
    const double mass = erf(0.5 * 0.70710678118654752440);
    /* Clopper-Pearson intervals are longer than nominal. */
    assert_coverage(estimate_mass, &p, 1, &mass, 0.95, 1000, COVERAGE_AT_LEAST);
    problem_free(&p);
}

/* The margin of boundary_mass() is that of boundary_gap_mass(); a gap below the last expert is of mass 0. */
static void gaps_that_are_the_margin_or_nothing(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 65, 3, 4, 1);
    const moeg_sampling s = options(MOEG_METHOD_MC, 3000, 7);
    const double w[] = {0.4, 1e300, 0};
    moeg_estimate mass[3], same[3];
    assert_ok(moeg_boundary_mass(p.router, p.law, 3, w, &s, mass));
    assert_ok(moeg_boundary_gap_mass(p.router, moeg_gap_top(1), p.law, 3, w, &s, same));
    assert_true(mass[0].value > 0 && mass[1].value == 1);
    for (size_t j = 0; j < 3; j++)
        assert_true(mass[j].value == same[j].value && mass[j].hi == same[j].hi);
    assert_ok(moeg_boundary_gap_mass(p.router, moeg_gap_top(3), p.law, 3, w, &s, mass));
    for (size_t j = 0; j < 3; j++)
        assert_true(mass[j].value == 0 && mass[j].hi > 0);
    problem_free(&p);
    /* Of two experts of K = 4 that are not masked, in the row space and in the full one. */
    for (size_t d = 2; d <= 6; d += 4) {
        problem_draw(&p, 66, 4, d, 1);
        p.b[0] = p.b[2] = -INFINITY;
        problem_build(&p);
        assert_ok(moeg_boundary_gap_mass(p.router, moeg_gap_margin(), p.law, 3, w, &s, mass));
        assert_true(mass[0].value > 0 && mass[1].value == 1);
        assert_ok(moeg_boundary_gap_mass(p.router, moeg_gap_order(2), p.law, 3, w, &s, mass));
        assert_true(mass[0].value == 0 && mass[1].value == 0 && mass[1].hi > 0);
        assert_ok(moeg_boundary_gap_mass(p.router, moeg_gap_top(2), p.law, 3, w, &s, mass));
        assert_near(mass[1].value, 0, 0);
        mass[0].value = 42;
        assert_status(moeg_boundary_gap_mass(p.router, moeg_gap_top(3), p.law, 3, w, &s, mass), MOEG_EDOM,
                      "boundary_gap_mass: the router masks all but 2 experts at sample 0, fewer than gap.upper = 3");
        assert_near(mass[0].value, 42, 0);
        problem_free(&p);
    }
}

static int cancel_at_once(uint64_t done, uint64_t total, void *user)
{
    (void)done;
    (void)total;
    (void)user;
    return 1;
}

static void canceled_runs(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 61, 3, 2, 1);
    moeg_sampling s = options(MOEG_METHOD_MC, 1 << 20, 5);
    s.progress = cancel_at_once;
    moeg_estimate mass, alpha;
    const double w = 0.3;
    assert_status(moeg_boundary_mass(p.router, p.law, 1, &w, &s, &mass), MOEG_ECANCELED, "boundary_mass: canceled");
    assert_true(mass.n < s.n);
    assert_status(moeg_boundary_exponent(p.router, moeg_gap_margin(), p.law, 1, &w, &s, &alpha, NULL, NULL),
                  MOEG_ECANCELED, "canceled");
    moeg_job *job;
    moeg_partial *nothing;
    assert_ok(moeg_boundary_job_create(&job, p.router, moeg_gap_margin(), p.law, 1, &w, &s));
    assert_ok(moeg_job_run(job, &s, 2, 2, &nothing));
    assert_status(moeg_boundary_job_result(job, nothing, 0.95, &mass, &alpha, NULL, NULL), MOEG_EUNABLE,
                  "w[0] = 0.3 has 0");
    assert_true(isnan(mass.value) && mass.lo == 0 && mass.hi == 1 && isinf(mass.std_error) && mass.n == 0);
    assert_true(isnan(alpha.value) && isinf(alpha.lo) && isinf(alpha.hi));
    moeg_partial_free(nothing);
    moeg_job_free(job);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampled_counts_and_sums),
        cmocka_unit_test(data_with_ties),
        cmocka_unit_test(threads_and_cuts_leave_the_bits),
        cmocka_unit_test(error_bars_are_honest),
        cmocka_unit_test(gaps_that_are_the_margin_or_nothing),
        cmocka_unit_test(canceled_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
