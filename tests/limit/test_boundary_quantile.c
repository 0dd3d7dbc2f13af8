/* Quantiles of gaps: order statistics and binomial ranks by brute force, the inverse of the mass in both directions,
 * ties, infinite gaps, error bars; selection against sorting. */
#include "limit/boundary.h"
#include "limit/gap_order.h"
#include "support/coverage.h"
#include "support/estimates.h"
#include "support/failing_alloc.h"

#include <float.h>

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Numbers of every order and kind: random, sorted either way, equal, few values, an organ pipe, infinities. */
static double made_number(int kind, size_t i, size_t n)
{
    const double random = problem_number(7, i);
    switch (kind) {
    case 0:
        return random;
    case 1:
        return (double)i;
    case 2:
        return -(double)i;
    case 3:
        return 2.385;
    case 4:
        return floor(4 * random);
    case 5:
        return (double)(i < n / 2 ? i : n - i);
    default:
        return random > 0 ? INFINITY : -random;
    }
}

static void selection_is_sorting(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 7, 100, 3001};
    double x[3001], sorted[3001];
    for (size_t s = 0; s < 6; s++)
        for (int kind = 0; kind < 7; kind++)
            for (size_t count = 0; count <= 5; count++) {
                const size_t n = sizes[s];
                size_t rank[5];
                for (size_t i = 0; i < n; i++)
                    x[i] = sorted[i] = made_number(kind, i, n);
                for (size_t r = 0; r < count; r++)
                    rank[r] = r == 4 ? n - 1 : r * n / 6; /* ascending, some of them twice */
                moeg_gap_select(n, x, count, rank);
                qsort(sorted, n, sizeof *sorted, ascending);
                for (size_t r = 0; r < count; r++)
                    assert_near(x[rank[r]], sorted[rank[r]], 0);
                qsort(x, n, sizeof *x, ascending);
                assert_memory_equal(x, sorted, n * sizeof *x);
            }
}

/* The largest lo with P(Bin(n, p) < lo) <= tail, and the smallest hi with P(Bin(n, p) >= hi) <= tail. */
static void ranks_by_sums(size_t n, double p, double tail, size_t *lo, size_t *hi)
{
    double sum = 0;
    *lo = 0;
    while (*lo < n && (sum += p < 1 ? coverage_binomial(n, p, *lo) : 0) <= tail)
        ++*lo;
    sum = 0;
    *hi = n + 1;
    while (*hi > 1 && (sum += p < 1 ? coverage_binomial(n, p, *hi - 1) : *hi == n + 1) <= tail)
        --*hi;
}

static void ranks_are_binomial(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 5, 17, 100, 731, 5000};
    static const double shares[] = {1e-300, 1e-5, 0.01, 0.1, 0.2385, 0.5, 0.75, 0.9, 0.999, 1};
    static const double levels[] = {0.5, 0.95, 0.9999};
    for (size_t s = 0; s < 7; s++)
        for (size_t j = 0; j < 10; j++)
            for (size_t l = 0; l < 3; l++) {
                const size_t n = sizes[s];
                const moeg_gap_shares equal = {n, NULL, NULL};
                const double p = shares[j], tail = 0.5 * (1 - levels[l]);
                moeg_gap_ranks r;
                size_t lo, hi, value = 1;
                /* A poor guess costs time and no more. */
                assert_ok(moeg_gap_ranks_at("test", &equal, p, levels[l], l == 0 ? 7 : 1.96, &r));
                ranks_by_sums(n, p, tail, &lo, &hi);
                while ((double)value / (double)n < p)
                    value++;
                assert_int_equal(r.value, value);
                assert_int_equal(r.lo, lo < value ? lo : value);
                assert_int_equal(r.hi, hi > value ? hi : value);
            }
    /* A level near 0: the ranks hold the estimate. */
    moeg_gap_ranks r;
    assert_ok(moeg_gap_ranks_at("test", &(moeg_gap_shares){1000, NULL, NULL}, 0.25, 1e-12, 1e-12, &r));
    assert_true(r.lo <= 250 && r.value == 250 && r.hi >= 250 && r.hi - r.lo <= 1);
}

enum { NP = 9 };
static const double shares[NP] = {0.5, 1e-300, 1, 0.1, 0.9, 0.25, 1 - 0x1p-53, 1e-3, 0.5};

/* Values and ends are gaps of the rows; the caveats are where a rank has no row. */
static void check_against_rows(const moeg_router *router, moeg_gap gap, const moeg_law *law, size_t n,
                               const moeg_sampling *s)
{
    double *gaps = gaps_of_rows(router, gap, law, s->seed, n), reach = 1.9599639845400542355; /* of 95 % */
    moeg_estimate q[NP];
    qsort(gaps, n, sizeof *gaps, ascending);
    const moeg_status status = moeg_boundary_quantile(router, gap, law, NP, shares, s, q);
    assert_true(status == MOEG_EUNABLE); /* p = 1 has no upper limit */
    for (size_t j = 0; j < NP; j++) {
        const moeg_gap_shares equal = {n, NULL, NULL};
        moeg_gap_ranks r, error;
        assert_ok(moeg_gap_ranks_at("test", &equal, shares[j], s->level, reach, &r));
        assert_ok(moeg_gap_ranks_at("test", &equal, shares[j], 0.95, reach, &error));
        assert_near(q[j].value, gaps[r.value - 1], 0);
        assert_near(q[j].lo, r.lo > 0 ? gaps[r.lo - 1] : 0, 0);
        assert_near(q[j].hi, r.hi <= n ? gaps[r.hi - 1] : INFINITY, 0);
        assert_true(q[j].lo <= q[j].value && q[j].value <= q[j].hi);
        if (error.lo > 0 && error.hi <= n && isfinite(gaps[error.hi - 1]))
            assert_relative(q[j].std_error, (gaps[error.hi - 1] - gaps[error.lo - 1]) / (2 * reach), 8 * EPS);
        else
            assert_near(q[j].std_error, INFINITY, 0);
        assert_int_equal(q[j].n, n);
        assert_int_equal(q[j].contributing, r.value);
        assert_int_equal(q[j].method, MOEG_METHOD_MC);
        assert_near(q[j].level, s->level, 0);
    }
    free(gaps);
}

static void quantiles_are_order_statistics(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{2, 1}, {3, 2}, {8, 6}, {5, 1}};
    static const size_t sizes[] = {1, 2, 65, 3000};
    for (size_t i = 0; i < 4; i++) {
        struct problem p;
        problem_make(&p, 40 + i, shapes[i][0], shapes[i][1], 1);
        for (size_t j = 0; j < 4; j++) {
            const moeg_sampling s = options(MOEG_METHOD_MC, sizes[j], 0xfedcba9876543210u + i);
            check_against_rows(p.router, moeg_gap_margin(), p.law, sizes[j], &s);
            check_against_rows(p.router, moeg_gap_order(p.K - 1), p.law, sizes[j], &s);
            check_against_rows(p.router, moeg_gap_top(p.K - 1), p.law, sizes[j], &s);
            check_against_rows(p.router, moeg_gap_top(p.K), p.law, sizes[j], &s); /* all of them +inf */
        }
        problem_free(&p);
    }
}

/* Every other row masks all experts but one. */
static int half_masked(size_t n, const double *x, double *logits, void *user)
{
    (void)user;
    for (size_t i = 0; i < n; i++) {
        logits[2 * i] = x[i];
        logits[2 * i + 1] = x[i] > 0 ? 0 : -INFINITY;
    }
    return 0;
}

static void infinite_gaps_and_ties(void **state)
{
    (void)state;
    moeg_router *router;
    moeg_law *law, *data;
    double x[200];
    moeg_sampling s = options(MOEG_METHOD_AUTO, 500, 3);
    assert_ok(moeg_law_gaussian_create(&law, 1, NULL, NULL));
    assert_ok(moeg_router_callback_create(&router, 2, 1, half_masked, NULL));
    check_against_rows(router, moeg_gap_margin(), law, 500, &s);
    const double p[] = {0.2, 0.5, 0.9};
    moeg_estimate q[3];
    assert_ok(moeg_boundary_quantile(router, moeg_gap_margin(), law, 3, p, &s, q));
    assert_true(isfinite(q[0].hi) && q[0].std_error > 0);
    assert_true(isfinite(q[1].lo) && q[1].hi == INFINITY);
    assert_true(q[2].lo == INFINITY && q[2].value == INFINITY && q[2].std_error == INFINITY);
    moeg_router_free(router);
    moeg_law_free(law);
    /* Ties: the options' n and seed are not used. */
    for (size_t i = 0; i < 200; i++)
        x[i] = (double)(i * i % 5);
    const double W[2] = {0.75, 0};
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, NULL));
    assert_ok(moeg_law_empirical_create(&data, 200, 1, x, NULL));
    s.n = 3;
    check_against_rows(router, moeg_gap_margin(), data, 200, &s);
    assert_ok(moeg_boundary_quantile(router, moeg_gap_margin(), data, 1, p, &s, q));
    assert_near(q[0].value, 0, 0); /* a fifth are ties, at i = 0, 5, 10 … */
    moeg_router_free(router);
    moeg_law_free(data);
}

/* Mass and quantile, of the same rows, undo each other to the last bit; and the ends of a quantile's interval are where
 * the interval of the mass begins and ceases to hold p. */
static void the_mass_is_the_inverse(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct problem p;
        problem_make(&p, 110 + seed, 4, seed % 2 ? 2 : 5, 1); /* in the row space too */
        const moeg_sampling s = options(MOEG_METHOD_MC, 1000 + 37 * seed, seed);
        const moeg_gap gap = seed % 3 == 0 ? moeg_gap_margin() : seed % 3 == 1 ? moeg_gap_order(2) : moeg_gap_top(2);
        static const double at[] = {0.07, 0.3, 0.5, 0.81};
        moeg_estimate q[4], mass[6];
        assert_ok(moeg_boundary_quantile(p.router, gap, p.law, 4, at, &s, q));
        for (size_t j = 0; j < 4; j++) {
            const double w[] = {q[j].value, nextafter(q[j].value, 0), q[j].lo, nextafter(q[j].lo, 0),
                                q[j].hi,    nextafter(q[j].hi, 0)};
            assert_ok(moeg_boundary_gap_mass(p.router, gap, p.law, 6, w, &s, mass));
            assert_true(mass[0].value >= at[j] && mass[1].value < at[j]);
            assert_true(mass[2].hi > at[j] && mass[3].hi <= at[j]);
            assert_true(mass[4].lo >= at[j] && mass[5].lo < at[j]);
        }
        problem_free(&p);
    }
}

static const double grid[3] = {0.4, 0.03, 0.9};

/* Runs two parts, the later one first. */
static moeg_status run_in_parts(const moeg_runner *self, const moeg_job *job, const moeg_sampling *s, uint64_t first,
                                uint64_t end, moeg_partial **partial)
{
    (void)self;
    const uint64_t middle = first + (end - first) / 3;
    moeg_partial *left = NULL, *right = NULL;
    assert_ok(moeg_runner_openmp.run(&moeg_runner_openmp, job, s, middle, end, &right));
    assert_ok(moeg_runner_openmp.run(&moeg_runner_openmp, job, s, first, middle, &left));
    assert_ok(moeg_partial_merge(job, left, right));
    moeg_partial_free(right);
    *partial = left;
    return MOEG_OK;
}

static moeg_status count_block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    (void)context;
    (void)first;
    (void)workspace;
    state[0] = (double)count;
    return MOEG_OK;
}

/* As a runner whose blocks run in another process: the counts come back, the gaps do not. */
static moeg_status run_elsewhere(const moeg_runner *self, const moeg_job *job, const moeg_sampling *s, uint64_t first,
                                 uint64_t end, moeg_partial **partial)
{
    (void)self;
    moeg_job_spec spec = *moeg_job_get_spec(job);
    moeg_job *copy;
    spec.block = count_block;
    spec.destroy = NULL;
    assert_ok(moeg_job_create(&copy, &spec));
    const moeg_status status = moeg_runner_openmp.run(&moeg_runner_openmp, copy, s, first, end, partial);
    moeg_job_free(copy);
    return status;
}

static void threads_and_runners(void **state)
{
    (void)state;
    struct problem p;
    moeg_estimate one[3], more[3];
    problem_make(&p, 120, 4, 3, 1);
    moeg_sampling s = options(MOEG_METHOD_MC, 20011, 5);
    s.max_threads = 1;
    assert_ok(moeg_boundary_quantile(p.router, moeg_gap_top(2), p.law, 3, grid, &s, one));
    static const int threads[] = {2, 5};
    for (int i = 0; i < 2; i++) {
        s.max_threads = threads[i];
        assert_ok(moeg_boundary_quantile(p.router, moeg_gap_top(2), p.law, 3, grid, &s, more));
        assert_same_estimates(more, one, 3);
    }
    const moeg_runner parts = {run_in_parts, NULL}, elsewhere = {run_elsewhere, NULL};
    s.runner = &parts;
    assert_ok(moeg_boundary_quantile(p.router, moeg_gap_top(2), p.law, 3, grid, &s, more));
    assert_same_estimates(more, one, 3);
    s.runner = &elsewhere;
    more[0].value = 42;
    assert_status(moeg_boundary_quantile(p.router, moeg_gap_top(2), p.law, 3, grid, &s, more), MOEG_EUNSUPPORTED,
                  "boundary_quantile: the runner must run blocks in this process: the gap of row 0 is not here");
    assert_near(more[0].value, 42, 0);
    problem_free(&p);
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
    moeg_estimate q[3], part[3];
    uint64_t after = 3000;
    problem_make(&p, 121, 3, 2, 1);
    moeg_sampling s = options(MOEG_METHOD_MC, 1 << 18, 5);
    s.progress = cancel_after;
    s.progress_user = &after;
    assert_status(moeg_boundary_quantile(p.router, moeg_gap_margin(), p.law, 3, grid, &s, q), MOEG_ECANCELED,
                  "boundary_quantile: canceled");
    assert_true(q[0].n > 0 && q[0].n < s.n);
    /* What was done is what a run of so many rows gives. */
    s.progress = NULL;
    s.n = q[0].n;
    assert_ok(moeg_boundary_quantile(p.router, moeg_gap_margin(), p.law, 3, grid, &s, part));
    assert_same_estimates(part, q, 3);
    problem_free(&p);
}

/* The standard error is one number, whatever the level: of p = 0.3 and 1000 rows some sqrt(0.21/1000) over the density
 * of the gap there. */
static void the_standard_error_has_no_level(void **state)
{
    (void)state;
    static const double levels[] = {0.95, 0.1, 0.01, 0.999}, p = 0.3;
    struct problem line;
    moeg_estimate q, first = {0}, exact[2];
    make_plain(&line, 0.7, 1, 1, 0);
    moeg_sampling s = options(MOEG_METHOD_LINE, 1, 1);
    const double around[2] = {p - 1e-4, p + 1e-4};
    assert_ok(moeg_boundary_quantile(line.router, moeg_gap_margin(), line.law, 2, around, &s, exact));
    const double per_share = (exact[1].value - exact[0].value) / 2e-4;
    s = options(MOEG_METHOD_MC, 1000, 8);
    for (size_t i = 0; i < 4; i++) {
        s.level = levels[i];
        assert_ok(moeg_boundary_quantile(line.router, moeg_gap_margin(), line.law, 1, &p, &s, &q));
        first = i == 0 ? q : first;
        assert_near(q.std_error, first.std_error, 0);
        assert_near(q.value, first.value, 0);
    }
    /* A spacing of 30 gaps tells it to 1/sqrt(30). */
    assert_relative(q.std_error, per_share * sqrt(p * (1 - p) / 1000), 0.5);
    problem_free(&line);
}

static moeg_status estimate_quantiles(uint64_t seed, void *user, moeg_estimate *e)
{
    const struct problem *p = user;
    moeg_sampling s = options(MOEG_METHOD_MC, 400, seed);
    s.max_threads = 1;
    return moeg_boundary_quantile(p->router, moeg_gap_margin(), p->law, 3, grid, &s, e);
}

static void error_bars_are_honest(void **state)
{
    (void)state;
    struct problem p;
    moeg_estimate exact[3];
    double truths[3];
    make_plain(&p, 0.7, 1, 1, 0);
    const moeg_sampling s = options(MOEG_METHOD_LINE, 1, 1);
    assert_ok(moeg_boundary_quantile(p.router, moeg_gap_margin(), p.law, 3, grid, &s, exact));
    for (size_t j = 0; j < 3; j++)
        truths[j] = exact[j].value;
    /* Whole ranks make the intervals longer than nominal: of 12 rows below p = 0.03 by 15 %, of more by less. */
    coverage verdicts[3];
    coverage_run(estimate_quantiles, &p, 3, truths, 0.95, 1000, COVERAGE_AT_LEAST | COVERAGE_MAY_BIAS, verdicts);
    for (size_t j = 0; j < 3; j++) {
        const coverage *c = &verdicts[j];
        assert_true(c->finite && c->covers && c->covered < 990);
        assert_true(c->ratio > 1 - 4 * c->ratio_sd && c->ratio < 1.2 + 4 * c->ratio_sd);
    }
    problem_free(&p);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    struct problem p;
    moeg_law *other;
    moeg_router *three, *steep;
    const double far[] = {1.7e308, 1.7e308, -1.7e308, -1.7e308, 0, 0};
    double at[2] = {0.3, 0.1};
    moeg_estimate q[2] = {{.value = 42}, {.value = 42}};
    problem_make(&p, 122, 2, 2, 1);
    assert_ok(moeg_law_gaussian_create(&other, 3, NULL, NULL));
    assert_ok(moeg_router_affine_create(&three, 3, 2, p.W, NULL));
    assert_ok(moeg_router_affine_create(&steep, 3, 2, far, NULL));
    moeg_sampling s = options(MOEG_METHOD_AUTO, 10, 1);
    const moeg_gap margin = moeg_gap_margin();
#define QUANTILE(router, gap, law) moeg_boundary_quantile(router, gap, law, 2, at, &s, q)
    assert_status(QUANTILE(NULL, margin, p.law), MOEG_EINVAL, "boundary_quantile: router must not be NULL");
    assert_status(QUANTILE(p.router, margin, NULL), MOEG_EINVAL, "law must not be NULL");
    assert_status(QUANTILE(p.router, margin, other), MOEG_EINVAL, "the router takes dimension 2, the law has 3");
    assert_status(QUANTILE(p.router, moeg_gap_top(3), p.law), MOEG_EINVAL, "boundary_quantile: the ranks of gap must");
    assert_status(moeg_boundary_quantile(p.router, margin, p.law, 0, at, &s, q), MOEG_EINVAL,
                  "np must be at least 1, got 0");
    assert_status(moeg_boundary_quantile(p.router, margin, p.law, 2, NULL, &s, q), MOEG_EINVAL, "p must not be NULL");
    assert_status(moeg_boundary_quantile(p.router, margin, p.law, 2, at, NULL, q), MOEG_EINVAL, "options must not");
    assert_status(moeg_boundary_quantile(p.router, margin, p.law, 2, at, &s, NULL), MOEG_EINVAL,
                  "quantile must not be NULL");
    static const double bad[] = {NAN, INFINITY, 0, -0.5, 1 + EPS};
    for (size_t i = 0; i < 5; i++) {
        at[1] = bad[i];
        assert_status(QUANTILE(p.router, margin, p.law), MOEG_EINVAL, "p[1] must be in (0, 1]");
    }
    at[1] = 0.1;
    assert_status(QUANTILE(steep, margin, p.law), MOEG_ERANGE, "boundary_quantile: logits of sample ");
    s.method = MOEG_METHOD_LINE;
    assert_status(QUANTILE(three, margin, p.law), MOEG_EUNSUPPORTED,
                  "boundary_quantile: method line does not apply: there are more than two experts");
    assert_status(QUANTILE(p.router, moeg_gap_top(2), p.law), MOEG_EUNSUPPORTED, "the gap is not the margin");
    s.method = MOEG_METHOD_MC;
    s.n = UINT64_MAX;
    assert_status(QUANTILE(p.router, margin, p.law), MOEG_ENOMEM, "boundary_quantile: ");
    assert_true(q[0].value == 42 && q[1].value == 42);
    moeg_router_free(steep);
    moeg_router_free(three);
    moeg_law_free(other);
    problem_free(&p);
}

static moeg_status allocating(void *user)
{
    const struct problem *p = user;
    moeg_sampling s = options(MOEG_METHOD_MC, 300, 1);
    s.max_threads = 1;
    moeg_estimate q[3] = {{.value = 42}};
    const moeg_status status = moeg_boundary_quantile(p->router, moeg_gap_order(2), p->law, 3, grid, &s, q);
    assert_true(status == MOEG_OK || q[0].value == 42);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 123, 3, 4, 1);
    assert_true(fail_every_allocation(allocating, &p) >= 7);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selection_is_sorting),
        cmocka_unit_test(ranks_are_binomial),
        cmocka_unit_test(quantiles_are_order_statistics),
        cmocka_unit_test(infinite_gaps_and_ties),
        cmocka_unit_test(the_mass_is_the_inverse),
        cmocka_unit_test(threads_and_runners),
        cmocka_unit_test(canceled_runs),
        cmocka_unit_test(the_standard_error_has_no_level),
        cmocka_unit_test(error_bars_are_honest),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
