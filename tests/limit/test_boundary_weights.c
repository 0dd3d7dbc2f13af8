/* Boundary masses, exponents, constants and quantiles of data with weights: their definitions by obvious sums, the
 * errors of weights that are worth fewer rows than they are, and no difference where weights are equal. */
#include "base/interval.h"
#include "limit/boundary.h"
#include "limit/damage.h"
#include "support/coverage.h"
#include "support/estimates.h"
#include "support/failing_alloc.h"

#include <float.h>

enum { N = 700, MANY = 6000, D = 2, NW = 5, NP = 4 }; /* MANY rows are more than a block */
static const double widths[NW] = {0.4, 3, 1e-3, 1, 0.1}, shares[NP] = {0.3, 0.05, 0.9, 0.5};

/* Rows of which some tie and some have no weight; a router of three experts. */
struct data {
    double x[MANY * D], weights[MANY], gaps[MANY];
    moeg_router *router;
    moeg_law *law;
    moeg_gap gap;
};

static double some_weight(size_t i)
{
    const double u = problem_number(5, i);
    return i % 9 == 4 ? 0 : 0.05 + u * u;
}

static double equal_weight(size_t i)
{
    (void)i;
    return 0.7;
}

static void make_data(size_t n, double scale, double (*weight)(size_t), moeg_gap gap, struct data *d)
{
    static const double W[] = {1, 0.2, -0.6, 0.9, -0.3, -1.1}, b[] = {0.1, -0.2, 0.05};
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < D; j++)
            d->x[i * D + j] = i % 50 == 7 ? 0.25 * (double)(i % 3) : 2 * problem_number(6, i * D + j);
        d->weights[i] = scale * weight(i);
    }
    d->gap = gap;
    assert_ok(moeg_router_affine_create(&d->router, 3, D, W, b));
    assert_ok(moeg_law_empirical_create(&d->law, n, D, d->x, d->weights));
    assert_ok(moeg_router_gap(d->router, n, d->x, gap, d->gaps));
}

static void free_data(struct data *d)
{
    moeg_router_free(d->router);
    moeg_law_free(d->law);
}

struct results {
    moeg_estimate mass[NW], alpha[NW], C[NW], quantile[NP];
    uint64_t ties;
};

static struct results measure(const struct data *d, const moeg_sampling *s)
{
    struct results r;
    memset(&r, 0, sizeof r);
    assert_ok(moeg_boundary_gap_mass(d->router, d->gap, d->law, NW, widths, s, r.mass));
    assert_true(moeg_boundary_exponent(d->router, d->gap, d->law, NW, widths, s, r.alpha, r.C, &r.ties) >= 0);
    assert_ok(moeg_boundary_quantile(d->router, d->gap, d->law, NP, shares, s, r.quantile));
    return r;
}

/* By their definitions, over the rows up to w that have a weight. */
static void check_width(const struct data *d, double w, const moeg_estimate *mass, const moeg_estimate *alpha)
{
    double inside[2] = {0}, outside[2] = {0};
    long double felt = 0, felt_squares = 0, sum = 0, plain = 0, squared = 0;
    size_t n = 0, count = 0, positive = 0;
    for (size_t i = 0; i < N; i++) {
        const long double weight = d->weights[i];
        if (weight == 0)
            continue;
        double *side = d->gaps[i] > w ? outside : inside;
        n++;
        side[0] += d->weights[i];
        side[1] += d->weights[i] * d->weights[i];
        if (d->gaps[i] > w)
            continue;
        count++;
        if (d->gaps[i] == 0)
            continue;
        positive++;
        felt += weight;
        felt_squares += weight * weight;
        sum += weight * logl(w / (long double)d->gaps[i]);
    }
    moeg_estimate expected;
    assert_ok(moeg_estimate_weighted_proportion(count, n, inside, outside, 0.95, MOEG_METHOD_MC, &expected));
    /* Sums of N weights; a limit follows the share, and the worth of the weights. */
    assert_near(mass->value, expected.value, N * EPS);
    assert_near(mass->lo, expected.lo, 4 * N * EPS);
    assert_near(mass->hi, expected.hi, 4 * N * EPS);
    assert_near(mass->std_error, expected.std_error, 4 * N * EPS);
    assert_int_equal(mass->n, n);
    assert_int_equal(mass->contributing, count);
    assert_int_equal(alpha->n, n);
    assert_int_equal(alpha->contributing, positive);
    if (positive == 0) {
        assert_true(isnan(alpha->value));
        return;
    }
    for (size_t i = 0; i < N; i++)
        if (d->gaps[i] > 0 && d->gaps[i] <= w) {
            const long double weight = d->weights[i], r = 1 - felt / sum * logl(w / (long double)d->gaps[i]);
            plain += weight * r * r;
            squared += weight * weight * r * r;
        }
    /* Kish's number, unless it is told how weights and gaps go together. */
    const double kish = (double)(felt * felt / felt_squares), told = (double)(felt * plain / squared);
    const double units = kish < MOEG_ENOUGH_UNITS ? fmin(kish, told) : told;
    assert_relative(alpha->value, (double)(felt / sum), 4 * N * EPS);
    /* Under a single row there is nothing but rounding in r. */
    if (positive > 1)
        assert_relative(alpha->std_error, alpha->value / sqrt(units), 400 * N * EPS);
    assert_true(alpha->lo < alpha->value && alpha->value < alpha->hi);
}

static void sums_over_weighted_rows(void **state)
{
    (void)state;
    static const moeg_gap gaps[] = {{1, 2}, {1, 3}, {2, 3}};
    static const double scales[] = {1, 1e-290, 1e300};
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 3, 8);
    for (size_t g = 0; g < 3; g++) {
        struct data d;
        make_data(N, scales[g], some_weight, gaps[g], &d);
        for (size_t i = 0; i < N; i++)
            d.weights[i] = some_weight(i); /* Only their ratios matter. */
        const struct results r = measure(&d, &s);
        size_t ties = 0;
        for (size_t i = 0; i < N; i++)
            ties += d.gaps[i] == 0 && d.weights[i] > 0;
        assert_int_equal(r.ties, ties);
        for (size_t j = 0; j < NW; j++) {
            check_width(&d, widths[j], &r.mass[j], &r.alpha[j]);
            if (isfinite(r.C[j].std_error))
                assert_relative(r.C[j].value, r.mass[j].value / pow(widths[j], r.alpha[j].value), 64 * EPS);
        }
        free_data(&d);
    }
}

/* {sum of weights, of their squares} of the rows up to a gap. */
static void add_up_to(const struct data *d, double gap, long double *sums)
{
    sums[0] = sums[1] = 0;
    for (size_t i = 0; i < N; i++)
        if (d->gaps[i] <= gap) {
            sums[0] += d->weights[i];
            sums[1] += (long double)d->weights[i] * d->weights[i];
        }
}

/* The least gap up to which there is enough weight; of what the weights are worth there, the least gaps whose share has
 * an upper limit above p, and a lower limit of p or more: by trying every row. */
static void find_quantile(const struct data *d, double p, double *value, double *lo, double *hi)
{
    long double all[2], inside[2];
    *value = *lo = *hi = INFINITY;
    add_up_to(d, INFINITY, all);
    for (size_t i = 0; i < N; i++) {
        add_up_to(d, d->gaps[i], inside);
        if (d->weights[i] > 0 && inside[0] / all[0] >= p)
            *value = fmin(*value, d->gaps[i]);
    }
    add_up_to(d, *value, inside);
    const long double q = inside[0] / all[0];
    const long double scatter = inside[1] * (1 - q) * (1 - q) + (all[1] - inside[1]) * q * q;
    const double units = (double)fminl(all[0] * all[0] / all[1], q * (1 - q) * all[0] * all[0] / scatter);
    for (size_t i = 0; i < N; i++) {
        double below, above;
        add_up_to(d, d->gaps[i], inside);
        const double share = (double)(inside[0] / all[0]);
        if (d->weights[i] == 0)
            continue;
        if (fabs(share - p) < 0.15) /* else far from both ends: limits take long */
            moeg_interval_share(share * units, (1 - share) * units, share, 0.95, &below, &above);
        else
            below = above = share;
        *lo = above > p ? fmin(*lo, d->gaps[i]) : *lo;
        *hi = below >= p ? fmin(*hi, d->gaps[i]) : *hi;
    }
}

static void quantiles_of_weighted_rows(void **state)
{
    (void)state;
    struct data d;
    make_data(N, 1, some_weight, moeg_gap_order(2), &d);
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 3, 8);
    const struct results r = measure(&d, &s);
    size_t n = 0;
    for (size_t i = 0; i < N; i++)
        n += d.weights[i] > 0;
    for (size_t j = 0; j < NP; j++) {
        double value, lo, hi;
        find_quantile(&d, shares[j], &value, &lo, &hi);
        assert_near(r.quantile[j].value, value, 0);
        assert_near(r.quantile[j].lo, lo, 0);
        assert_near(r.quantile[j].hi, hi, 0);
        assert_int_equal(r.quantile[j].n, n);
        assert_relative(r.quantile[j].std_error, (hi - lo) / 2 / 1.9599639845400542355, 8 * EPS);
    }
    free_data(&d);
}

static void assert_close(const moeg_estimate *a, const moeg_estimate *b)
{
    assert_int_equal(a->contributing, b->contributing);
    if (isnan(b->value)) {
        assert_true(isnan(a->value) && isinf(a->std_error));
        return;
    }
    assert_relative(a->value, b->value, N * EPS);
    assert_relative(a->std_error, b->std_error, N * EPS);
    assert_near(a->lo, b->lo, 1e-11 * fabs(b->hi)); /* moeg_clopper_pearson() is right to 1e-12 */
    assert_near(a->hi, b->hi, 1e-11 * fabs(b->hi));
    assert_int_equal(a->n, b->n);
}

static void equal_weights_are_none(void **state)
{
    (void)state;
    struct data d;
    make_data(N, 1, equal_weight, moeg_gap_margin(), &d);
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 3, 8);
    const struct results weighted = measure(&d, &s);
    double lo[NW], hi[NW], plain_lo[NW], plain_hi[NW];
    assert_ok(moeg_boundary_band(d.law, NW, weighted.mass, 0.9, lo, hi));
    moeg_law_free(d.law);
    assert_ok(moeg_law_empirical_create(&d.law, N, D, d.x, NULL));
    const struct results plain = measure(&d, &s);
    assert_ok(moeg_boundary_band(d.law, NW, plain.mass, 0.9, plain_lo, plain_hi));
    assert_int_equal(weighted.ties, plain.ties);
    for (size_t j = 0; j < NW; j++) {
        assert_close(&weighted.mass[j], &plain.mass[j]);
        assert_close(&weighted.alpha[j], &plain.alpha[j]);
        assert_close(&weighted.C[j], &plain.C[j]);
        assert_near(lo[j], plain_lo[j], N * EPS);
        assert_near(hi[j], plain_hi[j], N * EPS);
    }
    for (size_t j = 0; j < NP; j++)
        assert_true(weighted.quantile[j].value == plain.quantile[j].value &&
                    weighted.quantile[j].lo == plain.quantile[j].lo && weighted.quantile[j].hi == plain.quantile[j].hi);
    free_data(&d);
}

static void no_band_for_unequal_weights(void **state)
{
    (void)state;
    struct data d;
    make_data(N, 1, some_weight, moeg_gap_margin(), &d);
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 3, 8);
    moeg_estimate mass[NW];
    double lo[NW] = {42}, hi[NW];
    assert_ok(moeg_boundary_mass(d.router, d.law, NW, widths, &s, mass));
    assert_status(moeg_boundary_band(d.law, NW, mass, 0.9, lo, hi), MOEG_EUNSUPPORTED,
                  "boundary_band: the rows of the law have unequal weights");
    assert_near(lo[0], 42, 0);
    free_data(&d);
}

/* One row has nearly all the weight: too few equal ones for an exponent, however many rows there are. */
static void weights_worth_few_rows(void **state)
{
    (void)state;
    struct data d;
    make_data(N, 1, equal_weight, moeg_gap_margin(), &d);
    moeg_law_free(d.law);
    d.weights[3] = 1e5;
    assert_ok(moeg_law_empirical_create(&d.law, N, D, d.x, d.weights));
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 3, 8);
    const double w = 2 * d.gaps[3];
    moeg_estimate alpha, mass;
    assert_status(moeg_boundary_exponent(d.router, d.gap, d.law, 1, &w, &s, &alpha, NULL, NULL), MOEG_EUNABLE,
                  "rows below it that tell an exponent, worth fewer equal ones than 30");
    assert_true(alpha.contributing >= 30 && alpha.hi > 3 * alpha.value);
    assert_ok(moeg_boundary_mass(d.router, d.law, 1, &w, &s, &mass));
    assert_true(mass.value > 0.99 && mass.lo < 0.1);
    free_data(&d);
    /* Squares of weights that underflow beside others. */
    make_data(N, 1, equal_weight, moeg_gap_margin(), &d);
    moeg_law_free(d.law);
    for (size_t i = 0; i < N; i++)
        d.weights[i] = d.gaps[i] <= 0.5 ? 1e-200 : 1;
    assert_ok(moeg_law_empirical_create(&d.law, N, D, d.x, d.weights));
    const double half = 0.5;
    assert_status(moeg_boundary_exponent(d.router, d.gap, d.law, 1, &half, &s, &alpha, NULL, NULL), MOEG_EUNABLE,
                  "worth fewer");
    assert_true(alpha.value > 0 && alpha.hi > 2 * alpha.value);
    free_data(&d);
}

/* Weights that do not depend on the rows: intervals of mass, exponent and quantile hold the truth of the law. */
static moeg_status estimate_weighted(uint64_t seed, void *user, moeg_estimate *e)
{
    enum { ROWS = 400 };
    const double *truths = user, w = 0.6;
    double x[ROWS], u[ROWS];
    const double W[2] = {1, 0};
    moeg_router *router;
    moeg_law *law;
    moeg_sampling s = options(MOEG_METHOD_AUTO, 1, 1);
    s.max_threads = 1;
    assert_ok(moeg_stream_uniforms((moeg_stream){seed, 99}, 0, ROWS, 1, x));
    assert_ok(moeg_stream_uniforms((moeg_stream){seed, 98}, 0, ROWS, 1, u));
    for (size_t i = 0; i < ROWS; i++) {
        x[i] = pow(x[i], 1 / truths[1]);
        u[i] = 0.1 + u[i] * u[i];
    }
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, NULL));
    assert_ok(moeg_law_empirical_create(&law, ROWS, 1, x, u));
    assert_ok(moeg_boundary_mass(router, law, 1, &w, &s, &e[0]));
    assert_ok(moeg_boundary_exponent(router, moeg_gap_margin(), law, 1, &w, &s, &e[1], &e[3], NULL));
    assert_ok(moeg_boundary_quantile(router, moeg_gap_margin(), law, 1, shares, &s, &e[2]));
    moeg_router_free(router);
    moeg_law_free(law);
    return MOEG_OK;
}

/* Rows of small gaps stand for ten times as many as the others: x ~ U(0, 1) with the weight 3 below 0.3, else 0.3. Mass
 * below 0.25, and the median. */
static moeg_status estimate_heavy_event(uint64_t seed, void *user, moeg_estimate *e)
{
    enum { ROWS = 300 };
    const double W[2] = {1, 0}, w = 0.25, half = 0.5;
    double x[ROWS], weights[ROWS];
    moeg_router *router;
    moeg_law *law;
    moeg_sampling s = options(MOEG_METHOD_AUTO, 1, 1);
    (void)user;
    s.max_threads = 1;
    assert_ok(moeg_stream_uniforms((moeg_stream){seed, 97}, 0, ROWS, 1, x));
    for (size_t i = 0; i < ROWS; i++)
        weights[i] = x[i] < 0.3 ? 3 : 0.3;
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, NULL));
    assert_ok(moeg_law_empirical_create(&law, ROWS, 1, x, weights));
    assert_ok(moeg_boundary_mass(router, law, 1, &w, &s, &e[0]));
    assert_ok(moeg_boundary_quantile(router, moeg_gap_margin(), law, 1, &half, &s, &e[1]));
    moeg_router_free(router);
    moeg_law_free(law);
    return MOEG_OK;
}

static void error_bars_are_honest(void **state)
{
    (void)state;
    const double alpha = 1.3;
    double truths[4] = {pow(0.6, alpha), alpha, pow(shares[0], 1 / alpha), 1};
    const int flags = COVERAGE_AT_LEAST | COVERAGE_MAY_BIAS;
    assert_coverage(estimate_weighted, truths, 4, truths, 0.95, 1000, flags);
    const double all = 0.3 * 3 + 0.7 * 0.3, heavy[2] = {0.25 * 3 / all, 0.5 * all / 3};
    assert_coverage(estimate_heavy_event, NULL, 2, heavy, 0.95, 1000, flags);
}

/* Gaps s = U^(1/gamma), weights s^(1 - gamma): the law of what they stand for has alpha = 1 up to 1. Where small gaps
 * weigh the most Hill's estimate is less certain than Kish's number says, and where they weigh the least, more. */
static moeg_status estimate_tied_weights(uint64_t seed, void *user, moeg_estimate *e)
{
    enum { ROWS = 800 };
    static const double W[2] = {1, 0}, gammas[] = {1.3, 0.5, 0.8}, w = 0.8;
    double x[ROWS], gap[ROWS], weights[ROWS];
    moeg_router *router;
    moeg_law *law;
    moeg_sampling s = options(MOEG_METHOD_AUTO, 1, 1);
    (void)user;
    s.max_threads = 1;
    assert_ok(moeg_stream_uniforms((moeg_stream){seed, 96}, 0, ROWS, 1, x));
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, NULL));
    for (size_t g = 0; g < 3; g++) {
        for (size_t i = 0; i < ROWS; i++) {
            gap[i] = pow(x[i], 1 / gammas[g]);
            weights[i] = pow(gap[i], 1 - gammas[g]);
        }
        assert_ok(moeg_law_empirical_create(&law, ROWS, 1, gap, weights));
        assert_ok(moeg_boundary_exponent(router, moeg_gap_margin(), law, 1, &w, &s, &e[g], NULL, NULL));
        moeg_law_free(law);
    }
    moeg_router_free(router);
    return MOEG_OK;
}

static void weights_that_go_with_gaps(void **state)
{
    (void)state;
    const double truths[3] = {1, 1, 1};
    assert_coverage(estimate_tied_weights, NULL, 3, truths, 0.95, 1000, COVERAGE_MAY_BIAS);
}

static void threads_and_cuts_leave_the_bits(void **state)
{
    (void)state;
    struct data d;
    make_data(MANY, 1, some_weight, moeg_gap_order(2), &d);
    moeg_sampling s = options(MOEG_METHOD_AUTO, 3, 8);
    s.max_threads = 1;
    const struct results one = measure(&d, &s);
    s.max_threads = 5;
    const struct results more = measure(&d, &s);
    assert_same_estimates(one.mass, more.mass, NW);
    assert_same_estimates(one.alpha, more.alpha, NW);
    assert_same_estimates(one.C, more.C, NW);
    assert_same_estimates(one.quantile, more.quantile, NP);
    assert_int_equal(one.ties, more.ties);
    moeg_job *job;
    moeg_partial *left, *right;
    struct results two = one;
    assert_ok(moeg_boundary_job_create(&job, d.router, d.gap, d.law, NW, widths, &s));
    free_data(&d); /* The job keeps what it needs. */
    const uint64_t blocks = moeg_job_blocks(job);
    assert_true(blocks > 1);
    assert_ok(moeg_job_run(job, &s, 1, blocks, &right));
    assert_ok(moeg_job_run(job, &s, 0, 1, &left));
    assert_ok(moeg_partial_merge(job, left, right));
    memset(two.mass, 0, sizeof two.mass);
    assert_true(moeg_boundary_job_result(job, left, 0.95, two.mass, two.alpha, two.C, &two.ties) >= 0);
    for (size_t j = 0; j < NW; j++)
        assert_true(two.mass[j].value == one.mass[j].value && two.mass[j].lo == one.mass[j].lo &&
                    two.mass[j].n == one.mass[j].n);
    moeg_partial_free(left);
    moeg_partial_free(right);
    moeg_job_free(job);
}

/* State: rows, ties, NW bins, their sums, then weights and squares of ties, of rows above, and of NW bins, and
 * three sums of logarithms of these. */
static void damaged_results_are_refused(void **state)
{
    (void)state;
    struct data d;
    make_data(N, 1, some_weight, moeg_gap_margin(), &d);
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 3, 8);
    moeg_job *job;
    moeg_partial *whole;
    moeg_estimate mass[NW] = {{.value = 42}};
    assert_ok(moeg_boundary_job_create(&job, d.router, d.gap, d.law, NW, widths, &s));
    assert_ok(moeg_job_run(job, &s, 0, moeg_job_blocks(job), &whole));
    assert_int_equal(moeg_job_get_spec(job)->state_size, 2 + 2 * NW + 4 + 5 * NW);
    const double no_sums[] = {-0.5, NAN, INFINITY, 1e300};
    for (size_t at = 0; at < 2 + 2 * NW + 4 + 5 * NW; at++)
        for (size_t i = 0; i < 4; i++) {
            if (i == 3 && ((at >= 2 + NW && at < 2 + 2 * NW) || at >= 2 + 2 * NW + 4 + 2 * NW))
                continue; /* a sum of logarithms may be large */
            moeg_partial *bad = damaged(job, whole, at, no_sums[i]);
            assert_status(moeg_boundary_job_result(job, bad, 0.95, mass, NULL, NULL, NULL), MOEG_EINVAL,
                          "boundary_job_result: the partial result is damaged: ");
            assert_near(mass[0].value, 42, 0);
            moeg_partial_free(bad);
        }
    moeg_partial_free(whole);
    moeg_job_free(job);
    free_data(&d);
}

/* The rows done so far have no weight. */
static void parts_without_weight(void **state)
{
    (void)state;
    struct data d;
    make_data(MANY, 1, equal_weight, moeg_gap_margin(), &d);
    moeg_law_free(d.law);
    memset(d.weights, 0, (MANY - 3) * sizeof *d.weights);
    assert_ok(moeg_law_empirical_create(&d.law, MANY, D, d.x, d.weights));
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 3, 8);
    moeg_job *job;
    moeg_partial *part;
    moeg_estimate mass[NW], quantile;
    assert_ok(moeg_boundary_job_create(&job, d.router, d.gap, d.law, NW, widths, &s));
    assert_true(moeg_job_blocks(job) > 1);
    assert_ok(moeg_job_run(job, &s, 0, 1, &part));
    assert_ok(moeg_boundary_job_result(job, part, 0.95, mass, NULL, NULL, NULL));
    assert_true(isnan(mass[0].value) && mass[0].lo == 0 && mass[0].hi == 1 && mass[0].n == 0);
    moeg_partial_free(part);
    moeg_job_free(job);
    /* Three rows are left. */
    assert_status(moeg_boundary_quantile(d.router, d.gap, d.law, 1, shares, &s, &quantile), MOEG_EUNABLE,
                  "boundary_quantile: 3 rows are too few for an interval at p[0] = 0.3");
    assert_int_equal(quantile.n, 3);
    assert_near(quantile.lo, 0, 0);
    free_data(&d);
}

static moeg_status allocating(void *user)
{
    const struct data *d = user;
    moeg_sampling s = options(MOEG_METHOD_AUTO, 1, 1);
    s.max_threads = 1;
    moeg_estimate q[NP] = {{.value = 42}};
    const moeg_status status = moeg_boundary_quantile(d->router, d->gap, d->law, NP, shares, &s, q);
    assert_true(status == MOEG_OK || q[0].value == 42);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct data d;
    make_data(N, 1, some_weight, moeg_gap_margin(), &d);
    assert_true(fail_every_allocation(allocating, &d) >= 5);
    free_data(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_over_weighted_rows),     cmocka_unit_test(quantiles_of_weighted_rows),
        cmocka_unit_test(equal_weights_are_none),      cmocka_unit_test(no_band_for_unequal_weights),
        cmocka_unit_test(weights_worth_few_rows),      cmocka_unit_test(error_bars_are_honest),
        cmocka_unit_test(weights_that_go_with_gaps),   cmocka_unit_test(threads_and_cuts_leave_the_bits),
        cmocka_unit_test(damaged_results_are_refused), cmocka_unit_test(parts_without_weight),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
