/* Boundary mass, exponent and slope: closed form against quadrature in long double, sampling against obvious counts and
 * sums over the same rows, and against the 30-digit table. */
#include "limit/damage.h"
#include "limit/problem.h"
#include "limit/reference.h"
#include "support/coverage.h"
#include "support/failing_alloc.h"

static const long double root_two_pi = 2.50662827463100050242L;

static moeg_sampling options(moeg_method method, uint64_t n, uint64_t seed)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = method;
    s.n = n;
    s.seed = seed;
    return s;
}

/* d = 1, s = slope x + shift, X ~ N(mean, variance). */
static void make_plain(struct problem *p, double mean, double variance, double slope, double shift)
{
    *p = (struct problem){.K = 2, .d = 1, .m = 1, .mean = {mean}, .covariance = {variance}, .W = {0, -slope}};
    p->b[0] = shift;
    problem_build(p);
}

/* P(|z + t| <= h), t ~ N(0, 1), by tanh-sinh quadrature on [-h, h]: no difference of large numbers, and each halving of
 * the step doubles the digits. */
static long double tanh_sinh_mass(long double z, long double h)
{
    const long double step = 1.0L / 128, half_pi = 1.57079632679489661923L;
    const long double end = fminl(h, z + 40), start = -fminl(h, 40), half = (end - start) / 2;
    long double sum = 0;
    for (int k = -512; k <= 512; k++) {
        const long double y = half_pi * sinhl(k * step), t = (start + end) / 2 + half * tanhl(y) - z;
        sum += expl(-t * t / 2) * half_pi * coshl(k * step) / (coshl(y) * coshl(y));
    }
    return sum * half * step / root_two_pi;
}

static void exact_mass_at_every_width(void **state)
{
    (void)state;
    static const double distances[] = {0, 1e-9, 0.385, 1, 2.385, 7.1, 20.3, 33.7}; /* In deviations. */
    static const double widths[] = {0,   1e-310, 1e-300, 1e-100, 1e-9, 2.7e-6, 1e-3, 0.0291, 0.1,
                                    0.3, 0.5,    1.1,    2.385,  7,    20,     30,   45,     1e10};
    enum { NW = sizeof widths / sizeof *widths };
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 1, 1);
    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            struct problem p;
            const double variance = 2.25, slope = 0.5;
            make_plain(&p, sign * distances[i] * 1.5, variance, slope, 0);
            const long double deviation = sqrtl(variance) * slope, z = fabsl(p.mean[0]) * slope / deviation;
            moeg_estimate mass[NW];
            assert_ok(moeg_boundary_mass(p.router, p.law, NW, widths, &s, mass));
            for (size_t j = 0; j < NW; j++) {
                const long double h = widths[j] / deviation;
                const long double expected = h < 100 ? tanh_sinh_mass(z, h) : 1;
                /* Below DBL_MIN precision is absolute; the oracle is good to 1e-17 or so. */
                assert_near(mass[j].value, (double)expected, 4 * EPS * (double)expected + DBL_TRUE_MIN);
                assert_near(mass[j].lo, mass[j].value, 0);
                assert_near(mass[j].hi, mass[j].value, 0);
                assert_near(mass[j].std_error, 0, 0);
                assert_int_equal(mass[j].method, MOEG_METHOD_LINE);
                assert_int_equal(mass[j].n, 1);
            }
            double slope_at_0;
            assert_ok(moeg_boundary_slope(p.router, p.law, &slope_at_0));
            assert_relative(slope_at_0, (double)(2 * expl(-z * z / 2) / root_two_pi / deviation), 4 * EPS);
            problem_free(&p);
        }
}

/* The closed form is continuous where it passes from one expression to the next. */
static void expressions_agree_where_they_meet(void **state)
{
    (void)state;
    for (double z = 1.0000001; z < 30; z *= 1.37) {
        struct problem p;
        make_plain(&p, z, 1, 1, 0);
        const moeg_sampling s = options(MOEG_METHOD_LINE, 1, 1);
        const double at[] = {1 / z, z};
        for (int i = 0; i < 2; i++) {
            const double w[] = {at[i] * (1 - 2 * EPS), at[i] * (1 + 2 * EPS)};
            moeg_estimate mass[2];
            assert_ok(moeg_boundary_mass(p.router, p.law, 2, w, &s, mass));
            /* The mass moves by at most w p(w) dw/w over the step. */
            assert_near(mass[0].value, mass[1].value, (8 + 4 * at[i] * (z + 1)) * EPS * mass[0].value);
        }
        problem_free(&p);
    }
}

static void more_dimensions_and_no_covariance(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 4, 2, 5, 1);
    long double mean = (long double)p.b[0] - p.b[1], variance = 0;
    for (size_t i = 0; i < 5; i++) {
        mean += ((long double)p.W[i] - p.W[5 + i]) * p.mean[i];
        for (size_t j = 0; j < 5; j++)
            variance +=
                ((long double)p.W[i] - p.W[5 + i]) * ((long double)p.W[j] - p.W[5 + j]) * p.covariance[i * 5 + j];
    }
    const double w = 0.731;
    const moeg_sampling s = options(MOEG_METHOD_LINE, 1, 1);
    moeg_estimate mass;
    assert_ok(moeg_boundary_mass(p.router, p.law, 1, &w, &s, &mass));
    assert_relative(mass.value, (double)tanh_sinh_mass(fabsl(mean) / sqrtl(variance), w / sqrtl(variance)), 4 * EPS);
    moeg_law *standard;
    assert_ok(moeg_law_gaussian_create(&standard, 5, NULL, NULL));
    mean = (long double)p.b[0] - p.b[1];
    variance = 0;
    for (size_t i = 0; i < 5; i++)
        variance += ((long double)p.W[i] - p.W[5 + i]) * ((long double)p.W[i] - p.W[5 + i]);
    assert_ok(moeg_boundary_mass(p.router, standard, 1, &w, &s, &mass));
    assert_relative(mass.value, (double)tanh_sinh_mass(fabsl(mean) / sqrtl(variance), w / sqrtl(variance)), 4 * EPS);
    moeg_law_free(standard);
    problem_free(&p);
}

/* A covariance of rank one, and rows whose difference lies in its null space but for rounding: no density. */
static void no_variance_but_for_rounding(void **state)
{
    (void)state;
    struct problem p;
    const double u[] = {0.317, 0.731, 1.1};
    problem_draw(&p, 8, 2, 3, 1);
    for (size_t i = 0; i < 9; i++)
        p.covariance[i] = u[i / 3] * u[i % 3];
    const double across[] = {0.731 * 1.1, 0.317 * 1.1, -2 * 0.317 * 0.731};
    for (size_t i = 0; i < 3; i++)
        p.W[3 + i] = p.W[i] + across[i];
    problem_build(&p);
    double slope;
    assert_status(moeg_boundary_slope(p.router, p.law, &slope), MOEG_EDOM, "constant");
    problem_free(&p);
}

static void constant_and_masked_logits(void **state)
{
    (void)state;
    struct problem p;
    problem_draw(&p, 9, 2, 2, 1);
    p.W[2] = p.W[0];
    p.W[3] = p.W[1];
    p.b[0] = 1.5;
    p.b[1] = 1.25;
    problem_build(&p);
    const double w[] = {0.25, 0.2499, 0};
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 1, 1);
    moeg_estimate mass[3];
    double slope = 42;
    assert_ok(moeg_boundary_mass(p.router, p.law, 3, w, &s, mass));
    assert_near(mass[0].value, 1, 0);
    assert_near(mass[1].value, 0, 0);
    assert_near(mass[2].value, 0, 0);
    assert_status(moeg_boundary_slope(p.router, p.law, &slope), MOEG_EDOM, "boundary_slope: the difference");
    assert_near(slope, 42, 0);
    problem_free(&p);
    p.b[0] = -INFINITY;
    problem_build(&p);
    assert_ok(moeg_boundary_mass(p.router, p.law, 3, w, &s, mass));
    assert_near(mass[0].value, 0, 0);
    assert_ok(moeg_boundary_slope(p.router, p.law, &slope));
    assert_near(slope, 0, 0);
    problem_free(&p);
}

/* Margins of the rows that the job sees, from the public functions. */
static double *margins(const struct problem *p, const moeg_law *law, uint64_t seed, size_t n)
{
    double *x = malloc(n * p->d * sizeof *x), *margin = malloc(n * sizeof *margin);
    assert_non_null(x);
    assert_non_null(margin);
    assert_ok(moeg_law_sample(law, seed, 0, n, x));
    assert_ok(moeg_router_margin(p->router, n, x, margin));
    free(x);
    return margin;
}

/* Counts and Hill's sums of the sampled functions are those of the rows. */
static void check_against_rows(const struct problem *p, const moeg_law *law, size_t n, size_t nw, const double *w,
                               const moeg_sampling *s)
{
    moeg_estimate *mass = malloc(nw * sizeof *mass), *alpha = malloc(nw * sizeof *alpha);
    double *margin = margins(p, law, s->seed, n);
    uint64_t ties;
    assert_ok(moeg_boundary_mass(p->router, law, nw, w, s, mass));
    const moeg_status status = moeg_boundary_exponent(p->router, law, nw, w, s, alpha, &ties);
    int few = 0;
    for (size_t j = 0; j < nw; j++) {
        long double sum = 0;
        size_t count = 0, zeros = 0;
        for (size_t i = 0; i < n; i++)
            if (margin[i] <= w[j]) {
                count++;
                zeros += margin[i] == 0;
                sum += margin[i] > 0 ? logl((long double)w[j] / margin[i]) : 0;
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
        } else {
            assert_true(isnan(alpha[j].value) && isinf(alpha[j].std_error) && isinf(alpha[j].lo) && isinf(alpha[j].hi));
        }
        few |= count - zeros < MOEG_ENOUGH_UNITS;
    }
    assert_int_equal(status, few ? MOEG_EUNABLE : MOEG_OK);
    free(mass);
    free(alpha);
    free(margin);
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
        static const size_t sizes[] = {1, 63, 64, 5000};
        for (size_t j = 0; j < 4; j++) {
            const moeg_sampling s = options(MOEG_METHOD_MC, sizes[j], 0xfedcba9876543210u + i);
            check_against_rows(&p, p.law, sizes[j], sizeof w / sizeof *w, w, &s);
            check_against_rows(&p, p.law, sizes[j], 1, w, &s);
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
    check_against_rows(&p, data, N, 4, w, &s);
    /* All rows on one width: no finite exponent is told from any other. */
    const double same[] = {3, 3, 3, 3, 3, 3, 3, 3};
    moeg_law *point;
    assert_ok(moeg_law_empirical_create(&point, 4, 2, same, NULL));
    moeg_estimate alpha, mass[2];
    double margin;
    assert_ok(moeg_router_margin(p.router, 1, same, &margin));
    assert_status(moeg_boundary_exponent(p.router, point, 1, &margin, &s, &alpha, NULL), MOEG_EUNABLE, "w[0]");
    assert_true(isinf(alpha.value) && isinf(alpha.std_error) && alpha.lo == -INFINITY && alpha.hi == INFINITY);
    /* Widths and margins whose quotient overflows. */
    const double tiny[] = {1e-20, 0, 3e-20, 0}, huge[] = {1e300, 1e-19};
    moeg_law *near;
    assert_ok(moeg_law_empirical_create(&near, 2, 2, tiny, NULL));
    check_against_rows(&p, near, 2, 2, huge, &s);
    moeg_law_free(near);
    /* w = 0 counts the ties. */
    const double zero[] = {0.5, 0};
    assert_ok(moeg_boundary_mass(p.router, data, 2, zero, &s, mass));
    moeg_estimate exponents[4];
    uint64_t ties;
    assert_ok(moeg_boundary_exponent(p.router, data, 1, w, &s, exponents, &ties));
    assert_int_equal(mass[1].contributing, ties);
    assert_true(ties > 0);
    moeg_law_free(point);
    moeg_law_free(data);
    problem_free(&p);
}

/* The boundary mass of K = 3 and 5 lies in the sampled intervals, at a level corrected for their number. */
static void the_table_lies_in_the_intervals(void **state)
{
    (void)state;
    struct reference *r = reference_read("boundary_k3.csv");
    moeg_sampling s = options(MOEG_METHOD_AUTO, 1 << 15, 12);
    s.level = 1 - 0.01 / 40;
    size_t checked = 0;
    for (size_t i = 0; i < r->row_count; i++) {
        if (strcmp(reference_text(r, i, "quantity"), "BM") != 0)
            continue;
        const char *of = reference_text(r, i, "case");
        const struct parameter *W = reference_parameter(r, of, "W");
        moeg_law *law;
        moeg_router *router;
        assert_ok(moeg_law_gaussian_create(&law, 2, reference_parameter(r, of, "mu")->values,
                                           reference_parameter(r, of, "Sigma")->values));
        assert_ok(moeg_router_affine_create(&router, W->rows, 2, W->values, reference_parameter(r, of, "b")->values));
        const double w = (double)reference_value(r, i, "w"), expected = (double)reference_value(r, i, "value");
        moeg_estimate mass;
        assert_ok(moeg_boundary_mass(router, law, 1, &w, &s, &mass));
        assert_int_equal(mass.method, MOEG_METHOD_MC);
        assert_true(mass.lo <= expected && expected <= mass.hi);
        moeg_router_free(router);
        moeg_law_free(law);
        checked++;
    }
    assert_int_equal(checked, 34);
    free(r);
}

/* Whole results, to compare bits. */
struct results {
    moeg_estimate mass[4], alpha[4];
    uint64_t ties;
};

static const double grid[4] = {0.5, 0.01, 3, 0.1};

static struct results in_one_call(const struct problem *p, const moeg_sampling *s)
{
    struct results r;
    memset(&r, 0, sizeof r);
    assert_ok(moeg_boundary_mass(p->router, p->law, 4, grid, s, r.mass));
    assert_ok(moeg_boundary_exponent(p->router, p->law, 4, grid, s, r.alpha, &r.ties));
    return r;
}

static void assert_same(const struct results *a, const struct results *b)
{
    for (size_t j = 0; j < 4; j++) {
        assert_near(a->mass[j].value, b->mass[j].value, 0);
        assert_near(a->mass[j].lo, b->mass[j].lo, 0);
        assert_near(a->alpha[j].value, b->alpha[j].value, 0);
        assert_near(a->alpha[j].hi, b->alpha[j].hi, 0);
        assert_int_equal(a->alpha[j].contributing, b->alpha[j].contributing);
    }
    assert_int_equal(a->ties, b->ties);
}

static void threads_and_cuts_leave_the_bits(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 60, 4, 3, 1);
    moeg_sampling s = options(MOEG_METHOD_MC, 20011, 5);
    s.max_threads = 1;
    const struct results one = in_one_call(&p, &s);
    static const int threads[] = {2, 5};
    for (int i = 0; i < 2; i++) {
        s.max_threads = threads[i];
        const struct results more = in_one_call(&p, &s);
        assert_same(&one, &more);
    }
    moeg_job *job;
    moeg_partial *left, *right;
    assert_ok(moeg_boundary_job_create(&job, p.router, p.law, 4, grid, &s));
    problem_free(&p); /* The job keeps what it needs. */
    const uint64_t blocks = moeg_job_blocks(job), cut = blocks / 3 + 1;
    assert_true(blocks > 3);
    assert_ok(moeg_job_run(job, &s, cut, blocks, &right));
    assert_ok(moeg_job_run(job, &s, 0, cut, &left));
    assert_ok(moeg_partial_merge(job, left, right));
    struct results cut_in_two;
    assert_ok(moeg_boundary_job_result(job, left, s.level, cut_in_two.mass, cut_in_two.alpha, &cut_in_two.ties));
    assert_same(&one, &cut_in_two);
    assert_ok(moeg_boundary_job_result(job, left, s.level, NULL, NULL, NULL));
    moeg_partial_free(left);
    moeg_partial_free(right);
    moeg_job_free(job);
}

enum { COVERED_ROWS = 200 };
static const double covered_width = 0.5, covered_exponent = 1.7;

static moeg_status estimate_mass(uint64_t seed, void *user, moeg_estimate *e)
{
    const struct problem *p = user;
    const moeg_sampling s = options(MOEG_METHOD_MC, COVERED_ROWS, seed);
    return moeg_boundary_mass(p->router, p->law, 1, &covered_width, &s, e);
}

/* Hill's estimate on data whose margins follow P(Delta <= t) = t^alpha. */
static moeg_status estimate_exponent(uint64_t seed, void *user, moeg_estimate *e)
{
    const struct problem *p = user;
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 1, 1);
    double x[COVERED_ROWS];
    moeg_law *data;
    assert_ok(moeg_stream_uniforms((moeg_stream){seed, 99}, 0, COVERED_ROWS, 1, x));
    for (size_t i = 0; i < COVERED_ROWS; i++)
        x[i] = pow(x[i], 1 / covered_exponent);
    assert_ok(moeg_law_empirical_create(&data, COVERED_ROWS, 1, x, NULL));
    const moeg_status status = moeg_boundary_exponent(p->router, data, 1, &covered_width, &s, e, NULL);
    moeg_law_free(data);
    return status;
}

static void error_bars_are_honest(void **state)
{
    (void)state;
    struct problem p;
    make_plain(&p, 0, 1, 1, 0);
    const double mass = erf(0.5 * 0.70710678118654752440);
    /* Clopper-Pearson intervals are longer than nominal. Hill's estimate has a bias of 1/n_w; its interval has none. */
    assert_coverage(estimate_mass, &p, 1, &mass, 0.95, 1000, COVERAGE_AT_LEAST);
    assert_coverage(estimate_exponent, &p, 1, &covered_exponent, 0.95, 1000, COVERAGE_MAY_BIAS);
    problem_free(&p);
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
    assert_status(moeg_boundary_exponent(p.router, p.law, 1, &w, &s, &alpha, NULL), MOEG_ECANCELED, "canceled");
    moeg_job *job;
    moeg_partial *nothing;
    assert_ok(moeg_boundary_job_create(&job, p.router, p.law, 1, &w, &s));
    assert_ok(moeg_job_run(job, &s, 2, 2, &nothing));
    assert_status(moeg_boundary_job_result(job, nothing, 0.95, &mass, &alpha, NULL), MOEG_EUNABLE, "w[0] = 0.3 has 0");
    assert_true(isnan(mass.value) && mass.lo == 0 && mass.hi == 1 && isinf(mass.std_error) && mass.n == 0);
    assert_true(isnan(alpha.value) && isinf(alpha.lo) && isinf(alpha.hi));
    moeg_partial_free(nothing);
    moeg_job_free(job);
    problem_free(&p);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 62, 2, 2, 1);
    moeg_law *other;
    moeg_router *three;
    assert_ok(moeg_law_gaussian_create(&other, 3, NULL, NULL));
    assert_ok(moeg_router_affine_create(&three, 3, 2, p.W, NULL));
    moeg_sampling s = options(MOEG_METHOD_AUTO, 10, 1);
    moeg_estimate e[2] = {{.value = 42}, {.value = 42}};
    double w[] = {0.3, 0.1}, slope = 42;
    moeg_job *job = NULL;
#define MASS(router, law, nw, w, s, out) moeg_boundary_mass(router, law, nw, w, s, out)
    assert_status(MASS(NULL, p.law, 2, w, &s, e), MOEG_EINVAL, "boundary_mass: router must not be NULL");
    assert_status(MASS(p.router, NULL, 2, w, &s, e), MOEG_EINVAL, "law must not be NULL");
    assert_status(MASS(p.router, other, 2, w, &s, e), MOEG_EINVAL, "the router takes dimension 2, the law has 3");
    assert_status(MASS(p.router, p.law, 0, w, &s, e), MOEG_EINVAL, "nw must be at least 1, got 0");
    assert_status(MASS(p.router, p.law, 2, NULL, &s, e), MOEG_EINVAL, "w must not be NULL");
    assert_status(MASS(p.router, p.law, 2, w, NULL, e), MOEG_EINVAL, "options must not be NULL");
    assert_status(MASS(p.router, p.law, 2, w, &s, NULL), MOEG_EINVAL, "mass must not be NULL");
    assert_status(moeg_boundary_exponent(p.router, p.law, 2, w, &s, NULL, NULL), MOEG_EINVAL, "alpha must not be NULL");
    assert_status(moeg_boundary_slope(p.router, p.law, NULL), MOEG_EINVAL, "slope must not be NULL");
    assert_status(moeg_boundary_slope(NULL, p.law, &slope), MOEG_EINVAL, "router must not be NULL");
    assert_status(moeg_boundary_slope(three, p.law, &slope), MOEG_EUNSUPPORTED, "more than two experts");
    assert_status(moeg_boundary_job_create(NULL, p.router, p.law, 2, w, &s), MOEG_EINVAL, "job must not be NULL");
    static const double bad[] = {NAN, INFINITY, -INFINITY, -1e-300};
    for (size_t i = 0; i < 4; i++) {
        w[1] = bad[i];
        assert_status(MASS(p.router, p.law, 2, w, &s, e), MOEG_EINVAL, "w[1] must be finite and at least 0");
        assert_status(moeg_boundary_job_create(&job, p.router, p.law, 2, w, &s), MOEG_EINVAL, "w[1] must be finite");
    }
    w[1] = 0;
    assert_status(moeg_boundary_exponent(p.router, p.law, 2, w, &s, e, NULL), MOEG_EINVAL,
                  "w[1] must be finite and above 0, got 0");
    s.method = MOEG_METHOD_LINE;
    assert_status(moeg_boundary_exponent(p.router, p.law, 1, w, &s, e, NULL), MOEG_EUNSUPPORTED, "needs rows");
    assert_status(MASS(three, p.law, 1, w, &s, e), MOEG_EUNSUPPORTED,
                  "boundary_mass: method line does not apply: there are more than two experts");
    assert_status(moeg_boundary_job_create(&job, p.router, p.law, 1, w, &s), MOEG_EUNSUPPORTED, "must be auto or mc");
    assert_null(job);
    assert_near(e[0].value, 42, 0);
    assert_near(slope, 42, 0);
    moeg_router_free(three);
    moeg_law_free(other);
    problem_free(&p);
}

static void results_are_checked(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 63, 3, 2, 1);
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 1000, 1);
    const double w[] = {0.3, 0}, tau = 0.3;
    moeg_estimate e[2] = {{.value = 42}, {.value = 42}};
    moeg_job *job, *risk;
    moeg_partial *partial, *other;
    assert_ok(moeg_boundary_job_create(&job, p.router, p.law, 2, w, &s));
    assert_ok(moeg_risk_job_create(&risk, p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, &tau, &s));
    assert_ok(moeg_job_run(job, &s, 0, moeg_job_blocks(job), &partial));
    assert_status(moeg_boundary_job_result(NULL, partial, 0.95, e, NULL, NULL), MOEG_EINVAL, "job must not be NULL");
    assert_status(moeg_boundary_job_result(job, NULL, 0.95, e, NULL, NULL), MOEG_EINVAL, "partial must not be NULL");
    assert_ok(moeg_job_run(risk, &s, 0, 0, &other));
    assert_status(moeg_boundary_job_result(job, other, 0.95, e, NULL, NULL), MOEG_EINVAL,
                  "boundary_job_result: partial must be a part of such a job");
    moeg_partial_free(other);
    assert_status(moeg_boundary_job_result(job, partial, 1, e, NULL, NULL), MOEG_EINVAL, "level must be in (0, 1)");
    assert_status(moeg_boundary_job_result(job, partial, 0.95, NULL, e, NULL), MOEG_EINVAL, "w[1] is 0");
    assert_status(moeg_boundary_job_result(risk, partial, 0.95, e, NULL, NULL), MOEG_EINVAL,
                  "must be one of boundary_job_create, got \"risk\"");
    assert_status(moeg_risk_job_result(job, partial, 0.95, e, NULL, NULL, NULL), MOEG_EINVAL,
                  "must be one of risk_job_create, got \"boundary\"");
    assert_near(e[0].value, 42, 0);
    assert_ok(moeg_boundary_job_result(job, partial, 0.95, e, NULL, NULL));
    moeg_partial_free(partial);
    moeg_job_free(job);
    moeg_job_free(risk);
    /* Logits past the largest double. */
    p.W[0] = 1.7e308;
    p.W[1] = 1.7e308;
    moeg_router *steep;
    assert_ok(moeg_router_affine_create(&steep, 3, 2, p.W, NULL));
    e[0].value = 42;
    assert_status(moeg_boundary_mass(steep, p.law, 1, w, &s, e), MOEG_ERANGE, "boundary: logits of sample ");
    assert_near(e[0].value, 42, 0);
    moeg_router_free(steep);
    problem_free(&p);
}

static void assert_damaged(const moeg_job *job, const moeg_partial *whole, size_t at, double value)
{
    moeg_estimate mass[2] = {{.value = 42}, {.value = 43}}, alpha[2] = {{.value = 44}, {.value = 45}};
    uint64_t ties = 46;
    char text[32];
    snprintf(text, sizeof text, "(state[%zu]) must be", at);
    moeg_partial *bad = damaged(job, whole, at, value);
    assert_status(moeg_boundary_job_result(job, bad, 0.95, mass, alpha, &ties), MOEG_EINVAL,
                  "boundary_job_result: the partial result is damaged: ");
    assert_non_null(strstr(moeg_last_error(), text));
    assert_true(mass[0].value == 42 && mass[1].value == 43 && alpha[0].value == 44 && alpha[1].value == 45);
    assert_int_equal(ties, 46);
    moeg_partial_free(bad);
}

/* State: rows, ties, two bins, their sums. */
static void damaged_results_are_refused(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 63, 3, 2, 1);
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 500, 1);
    const double w[] = {0.3, 0.1};
    moeg_job *job;
    moeg_partial *whole;
    moeg_estimate mass[2], alpha[2];
    assert_ok(moeg_boundary_job_create(&job, p.router, p.law, 2, w, &s));
    assert_ok(moeg_job_run(job, &s, 0, 1, &whole));
    const double n = (double)moeg_partial_units(whole);
    double counts[6];
    assert_ok(moeg_partial_state(job, whole, counts));
    assert_true(counts[2] > 1 && counts[3] > 1 && counts[2] + counts[3] < n);
    for (size_t at = 0; at < 4; at++)
        for (size_t i = 0; i < NO_COUNTS; i++)
            assert_damaged(job, whole, at, no_counts[i]);
    assert_damaged(job, whole, 0, n - 1);
    assert_damaged(job, whole, 0, n + 1);
    assert_damaged(job, whole, 1, counts[2] + 1);
    assert_damaged(job, whole, 1, n - 1);
    assert_damaged(job, whole, 2, n + 1);
    assert_damaged(job, whole, 3, n - counts[2] + 1);
    const double no_sums[] = {-0.5, NAN, INFINITY};
    for (size_t i = 0; i < 6; i++)
        assert_damaged(job, whole, 4 + i % 2, no_sums[i / 2]);
    /* What may be, is read: every row in a bin, and every row of the narrowest a tie but those that tell. */
    moeg_partial *odd = damaged(job, whole, 3, n - counts[2]);
    assert_true(moeg_boundary_job_result(job, odd, 0.95, mass, alpha, NULL) >= 0);
    assert_near(mass[0].value, 1, 0);
    moeg_partial_free(odd);
    uint64_t ties;
    odd = damaged(job, whole, 1, counts[2]);
    assert_true(moeg_boundary_job_result(job, odd, 0.95, NULL, alpha, &ties) >= 0);
    assert_int_equal(ties, (uint64_t)counts[2]);
    assert_int_equal(alpha[1].contributing, 0);
    moeg_partial_free(odd);
    moeg_partial_free(whole);
    moeg_job_free(job);
    problem_free(&p);
}

static moeg_status allocating(void *user)
{
    const struct problem *p = user;
    moeg_sampling s = options(MOEG_METHOD_MC, 300, 1);
    s.max_threads = 1;
    const double w[] = {2.385, 1.1};
    moeg_estimate alpha[2] = {{.value = 42}, {.value = 42}};
    uint64_t ties = 42;
    const moeg_status status = moeg_boundary_exponent(p->router, p->law, 2, w, &s, alpha, &ties);
    if (status != MOEG_OK) {
        assert_near(alpha[0].value, 42, 0);
        assert_int_equal(ties, 42);
    }
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 64, 3, 2, 1);
    assert_true(fail_every_allocation(allocating, &p) >= 7);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_mass_at_every_width),
        cmocka_unit_test(expressions_agree_where_they_meet),
        cmocka_unit_test(more_dimensions_and_no_covariance),
        cmocka_unit_test(no_variance_but_for_rounding),
        cmocka_unit_test(constant_and_masked_logits),
        cmocka_unit_test(sampled_counts_and_sums),
        cmocka_unit_test(data_with_ties),
        cmocka_unit_test(the_table_lies_in_the_intervals),
        cmocka_unit_test(threads_and_cuts_leave_the_bits),
        cmocka_unit_test(error_bars_are_honest),
        cmocka_unit_test(canceled_runs),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(results_are_checked),
        cmocka_unit_test(damaged_results_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
