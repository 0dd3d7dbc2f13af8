/* Boundary masses, exponents, constants and quantiles of data with weights: their definitions by obvious sums, no
 * difference where weights are equal, and what cannot be told where they are worth few rows. */
#include "base/interval.h"
#include "limit/weighted_rows.h"

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

/* Equal weights are none, whatever they are: shares of i/n are met though sums are rounded. */
static void equal_shares_meet_their_ranks(void **state)
{
    (void)state;
    enum { ROWS = 442 };
    static const double scales[] = {0.1, 0.7, 1, 3, 1e-200};
    const double W[2] = {1, 0};
    const moeg_sampling s = moeg_sampling_default();
    double x[ROWS], weights[ROWS], p[ROWS - 1];
    moeg_estimate plain[ROWS - 1], weighed[ROWS - 1];
    moeg_router *router;
    moeg_law *law;
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, NULL));
    for (size_t i = 0; i < ROWS; i++)
        x[i] = (double)(i + 1);
    for (size_t i = 1; i < ROWS; i++)
        p[i - 1] = (double)i / ROWS;
    assert_ok(moeg_law_empirical_create(&law, ROWS, 1, x, NULL));
    assert_true(moeg_boundary_quantile(router, moeg_gap_margin(), law, ROWS - 1, p, &s, plain) >= 0);
    moeg_law_free(law);
    for (size_t c = 0; c < sizeof scales / sizeof *scales; c++) {
        for (size_t i = 0; i < ROWS; i++)
            weights[i] = scales[c];
        assert_ok(moeg_law_empirical_create(&law, ROWS, 1, x, weights));
        assert_true(moeg_boundary_quantile(router, moeg_gap_margin(), law, ROWS - 1, p, &s, weighed) >= 0);
        for (size_t i = 0; i + 1 < ROWS; i++)
            assert_true(weighed[i].value == plain[i].value && plain[i].value == (double)(i + 1));
        moeg_law_free(law);
    }
    moeg_router_free(router);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_over_weighted_rows),       cmocka_unit_test(equal_weights_are_none),
        cmocka_unit_test(equal_shares_meet_their_ranks), cmocka_unit_test(quantiles_of_weighted_rows),
        cmocka_unit_test(no_band_for_unequal_weights),   cmocka_unit_test(weights_worth_few_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
