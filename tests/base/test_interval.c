#include "base/interval.h"
#include "base/tail.h"
#include "support/check.h"

#include <inttypes.h>
#include <moegeom/moegeom.h>

/* The intervals' accuracy, far beyond any use: the roots stop at steps of 1e-13, and the logarithm of a tail of 1e-16,
 * near -37, is itself rounded at 1e-14. */
static const double ACCURACY = 1e-12;

static FILE *open_reference(const char *path)
{
    FILE *file = fopen(path, "r");
    char header[128];
    assert_non_null(file);
    assert_non_null(fgets(header, sizeof header, file));
    return file;
}

/* A limit p whose distance from 1 is `rest`: within ACCURACY of the smaller, and the rounding of p itself. */
static void assert_limit(double actual, double p, double rest)
{
    assert_near(actual, p, ACCURACY * fmin(p, rest) + EPS * p);
}

static void clopper_pearson_matches_the_table(void **state)
{
    (void)state;
    FILE *file = open_reference(MOEG_TEST_DATA "/clopper_pearson.csv");
    uint64_t count, n;
    double level, lo, lo_rest, hi, hi_rest, got_lo, got_hi;
    int rows = 0;
    while (fscanf(file, "%" SCNu64 ",%" SCNu64 ",%lf,%lf,%lf,%lf,%lf", &count, &n, &level, &lo, &lo_rest, &hi,
                  &hi_rest) == 7) {
        assert_ok(moeg_clopper_pearson(count, n, level, &got_lo, &got_hi));
        assert_limit(got_lo, lo, lo_rest);
        assert_limit(got_hi, hi, hi_rest);
        rows++;
    }
    assert_true(feof(file));
    assert_int_equal(rows, 116);
    fclose(file);
}

static void clopper_pearson_at_the_ends(void **state)
{
    (void)state;
    double lo, hi;
    assert_ok(moeg_clopper_pearson(0, 18, 0.99, &lo, &hi));
    assert_near(lo, 0, 0);
    assert_relative(hi, 0.25498502848277504, 4 * EPS);
    assert_ok(moeg_clopper_pearson(18, 18, 0.99, &lo, &hi));
    assert_relative(lo, 0.74501497151722496, 4 * EPS);
    assert_near(hi, 1, 0);
    /* alpha = 0.001/1001, half of it on each side; 1 - alpha is a double to 1e-10 of alpha. */
    assert_ok(moeg_clopper_pearson(0, 1000, 1 - 0.001 / 1001, &lo, &hi));
    assert_near(lo, 0, 0);
    assert_relative(hi, 0.014404899440879875, 1e-11);
}

/* One success: P(Bin(n, p) >= 1) = 1 - (1 - p)^n. */
static void clopper_pearson_of_one_success_is_closed(void **state)
{
    (void)state;
    const double levels[] = {0.125, 0.5, 0.95, 0.9999999};
    for (int k = 1; k <= 53; k++)
        for (size_t l = 0; l < 4; l++) {
            const uint64_t n = (uint64_t)1 << k;
            double lo, hi, mirrored_lo, mirrored_hi;
            assert_ok(moeg_clopper_pearson(1, n, levels[l], &lo, &hi));
            assert_relative(lo, -expm1(log1p(-0.5 * (1 - levels[l])) / (double)n), ACCURACY);
            assert_ok(moeg_clopper_pearson(n - 1, n, levels[l], &mirrored_lo, &mirrored_hi));
            assert_near(mirrored_lo, 1 - hi, EPS);
            assert_near(mirrored_hi, 1 - lo, EPS);
        }
}

/* P(first <= Bin(n, p) <= last), summed term by term. */
static double binomial_sum(uint64_t n, double p, uint64_t first, uint64_t last)
{
    double coefficient = 1, sum = 0;
    for (uint64_t k = 0; k <= last; k++) {
        if (k >= first)
            sum += coefficient * pow(p, (double)k) * pow(1 - p, (double)(n - k));
        coefficient = coefficient * (double)(n - k) / (double)(k + 1);
    }
    return sum;
}

static void clopper_pearson_solves_its_equations(void **state)
{
    (void)state;
    const double levels[] = {0.25, 0.9, 0.99999};
    for (uint64_t n = 1; n <= 45; n++)
        for (uint64_t count = 0; count <= n; count++)
            for (size_t l = 0; l < 3; l++) {
                const double tail = 0.5 * (1 - levels[l]);
                double lo, hi;
                assert_ok(moeg_clopper_pearson(count, n, levels[l], &lo, &hi));
                /* Relative errors of p and 1 - p count up to n-fold in p^k (1 - p)^(n - k); 1 - hi is as exact as hi.
                 */
                if (count > 0)
                    assert_relative(binomial_sum(n, lo, count, n), tail, (double)n * (ACCURACY + EPS / (1 - lo)));
                if (count < n)
                    assert_relative(binomial_sum(n, hi, 0, count), tail, (double)n * (ACCURACY + EPS / (1 - hi)));
            }
}

/* The promise itself: whatever p is, the counts whose interval holds it have at least the probability `level`. */
static void clopper_pearson_covers(void **state)
{
    (void)state;
    const uint64_t sizes[] = {1, 5, 18, 60};
    const double levels[] = {0.5, 0.95};
    for (size_t s = 0; s < 4; s++)
        for (size_t l = 0; l < 2; l++) {
            double lo[64], hi[64], least = 1;
            for (uint64_t count = 0; count <= sizes[s]; count++)
                assert_ok(moeg_clopper_pearson(count, sizes[s], levels[l], &lo[count], &hi[count]));
            for (int i = 1; i < 400; i++) {
                const double p = i / 400.0;
                double coverage = 0;
                for (uint64_t count = 0; count <= sizes[s]; count++)
                    if (lo[count] <= p && p <= hi[count])
                        coverage += binomial_sum(sizes[s], p, count, count);
                least = fmin(least, coverage);
            }
            assert_true(least >= levels[l]);
        }
}

/* Limits on both sides of the share, growing with the count and with the level, over 16 decades. */
static void clopper_pearson_is_ordered(void **state)
{
    (void)state;
    for (uint64_t n = 3; n < (uint64_t)1 << 53; n = n * 5 + 1)
        for (uint64_t step = 0; step < 40; step++) {
            const uint64_t count = (uint64_t)((double)(n - 1) * (double)step / 40);
            const double share = (double)count / (double)n;
            double lo, hi, wide_lo, wide_hi, next_lo, next_hi;
            assert_ok(moeg_clopper_pearson(count, n, 0.95, &lo, &hi));
            assert_ok(moeg_clopper_pearson(count, n, 0.999, &wide_lo, &wide_hi));
            assert_ok(moeg_clopper_pearson(count + 1, n, 0.95, &next_lo, &next_hi));
            assert_true(0 <= wide_lo && wide_lo <= lo && lo <= share && share < hi && hi < wide_hi && wide_hi <= 1);
            /* One more is seen only while its share of the limit is above the limit's accuracy. */
            if (n < 1000000000)
                assert_true(lo < next_lo && hi < next_hi);
        }
}

/* Whatever the level, an interval holds its estimate. */
static void limits_enclose_at_every_level(void **state)
{
    (void)state;
    const double levels[] = {DBL_TRUE_MIN, 1e-300, 1e-17, 1e-12, 1e-5, 0.1, 0.26, 0.5, 1 - EPS};
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++)
        for (uint64_t n = 1; n <= (uint64_t)1 << 53; n = n * 7 + (n < 1000)) {
            double lo, hi;
            const uint64_t counts[] = {0, 1, n / 3, n / 2, n - 1, n};
            for (size_t i = 0; i < 6; i++) {
                const double share = (double)counts[i] / (double)n;
                assert_ok(moeg_clopper_pearson(counts[i], n, levels[l], &lo, &hi));
                assert_true(0 <= lo && lo <= share && share <= hi && hi <= 1);
            }
            assert_ok(moeg_interval_gamma("f", n, 2.385, levels[l], &lo, &hi));
            assert_true(0 < lo && lo <= 2.385 && 2.385 <= hi);
        }
}

static void clopper_pearson_refuses(void **state)
{
    (void)state;
    double lo = 0.1, hi = 0.2;
    assert_status(moeg_clopper_pearson(1, 2, 0.5, NULL, &hi), MOEG_EINVAL, "clopper_pearson: lo must not be NULL");
    assert_status(moeg_clopper_pearson(1, 2, 0.5, &lo, NULL), MOEG_EINVAL, "clopper_pearson: hi must not be NULL");
    assert_status(moeg_clopper_pearson(0, 0, 0.5, &lo, &hi), MOEG_EINVAL,
                  "clopper_pearson: n must be at least 1 and at most 2^53, got 0");
    assert_status(moeg_clopper_pearson(0, ((uint64_t)1 << 53) + 1, 0.5, &lo, &hi), MOEG_EINVAL, "9007199254740993");
    assert_status(moeg_clopper_pearson(8, 7, 0.5, &lo, &hi), MOEG_EINVAL,
                  "clopper_pearson: count must be at most n = 7, got 8");
    const double bad[] = {0, 1, -0.5, 1.5, NAN, INFINITY};
    for (size_t i = 0; i < 6; i++)
        assert_status(moeg_clopper_pearson(1, 7, bad[i], &lo, &hi), MOEG_EINVAL,
                      "clopper_pearson: level must be in (0, 1), got");
    assert_near(lo, 0.1, 0);
    assert_near(hi, 0.2, 0);
}

static void dkw_is_massarts_constant(void **state)
{
    (void)state;
    double half = 0.1;
    assert_ok(moeg_dkw(1000, 0.95, &half));
    assert_relative(half, 0.042946940834673754, 16 * EPS);
    /* 2 exp(-2 n h^2) = 1 - level. */
    assert_ok(moeg_dkw(7, 0.6, &half));
    assert_relative(2 * exp(-14 * half * half), 0.4, 16 * EPS);
    half = 0.1;
    assert_status(moeg_dkw(0, 0.95, &half), MOEG_EINVAL, "dkw: n must be at least 1, got 0");
    assert_status(moeg_dkw(1, 1, &half), MOEG_EINVAL, "dkw: level must be in (0, 1), got 1");
    assert_status(moeg_dkw(1, NAN, &half), MOEG_EINVAL, "dkw: level must be in (0, 1), got nan");
    assert_status(moeg_dkw(1, 0.95, NULL), MOEG_EINVAL, "dkw: half_width must not be NULL");
    assert_near(half, 0.1, 0);
}

static void gamma_interval_matches_the_table(void **state)
{
    (void)state;
    FILE *file = open_reference(MOEG_TEST_DATA "/gamma_interval.csv");
    uint64_t count;
    double level, lo, hi, got_lo, got_hi;
    int rows = 0;
    while (fscanf(file, "%" SCNu64 ",%lf,%lf,%lf", &count, &level, &lo, &hi) == 4) {
        assert_ok(moeg_interval_gamma("f", count, 2.385, level, &got_lo, &got_hi));
        assert_relative(got_lo, 2.385 * lo, ACCURACY);
        assert_relative(got_hi, 2.385 * hi, ACCURACY);
        rows++;
    }
    assert_true(feof(file));
    assert_int_equal(rows, 44);
    fclose(file);
    /* One unit: an exponential variable, in closed form. */
    assert_ok(moeg_interval_gamma("f", 1, 0.75, 0.9, &got_lo, &got_hi));
    assert_relative(got_lo, -0.75 * log(0.95), ACCURACY);
    assert_relative(got_hi, -0.75 * log(0.05), ACCURACY);
}

static void gamma_interval_refuses(void **state)
{
    (void)state;
    double lo = 0.1, hi = 0.2;
    assert_status(moeg_interval_gamma("f", 0, 1, 0.5, &lo, &hi), MOEG_EINVAL, "f: count must be at least 1");
    assert_status(moeg_interval_gamma("f", 0x1p60, 1, 0.5, &lo, &hi), MOEG_EINVAL, "at most 2^53");
    assert_status(moeg_interval_gamma("f", 3, 1, 1, &lo, &hi), MOEG_EINVAL, "f: level must be in (0, 1), got 1");
    const double bad[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < 4; i++)
        assert_status(moeg_interval_gamma("f", 3, bad[i], 0.5, &lo, &hi), MOEG_EINVAL,
                      "f: value must be positive and finite, got");
    assert_near(lo, 0.1, 0);
    assert_near(hi, 0.2, 0);
}

static void student_quantiles_match_the_table(void **state)
{
    (void)state;
    FILE *file = open_reference(MOEG_TEST_DATA "/student.csv");
    uint64_t dof;
    double level, t;
    int rows = 0;
    while (fscanf(file, "%" SCNu64 ",%lf,%lf", &dof, &level, &t) == 3) {
        assert_relative(moeg_tail_student_quantile((double)dof, 0.5 * (1 - level)), t, ACCURACY);
        assert_relative(moeg_tail_student_reach((double)dof, level), t, ACCURACY);
        rows++;
    }
    assert_true(feof(file));
    assert_int_equal(rows, 32);
    fclose(file);
    /* Small levels: t f(0) = level/2 to first order. */
    for (double small = 1e-3; small > 1e-12; small /= 10)
        assert_near(moeg_tail_student_quantile(1e6, 0.5 * (1 - small)), small * sqrt(atan(1) * 2),
                    small * small * small + 1e-6 * small + 4 * EPS);
    assert_near(moeg_tail_student_quantile(29, 0.5), 0, 4 * EPS);
    /* From the centre and from the tail, which loses eps/level. */
    for (double small = 0.5; small > 1e-3; small *= 0.7)
        for (double units = 29; units < 1e18; units *= 9)
            assert_relative(moeg_tail_student_reach(units, small), moeg_tail_student_quantile(units, 0.5 * (1 - small)),
                            ACCURACY + EPS / small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clopper_pearson_matches_the_table),
        cmocka_unit_test(clopper_pearson_at_the_ends),
        cmocka_unit_test(clopper_pearson_of_one_success_is_closed),
        cmocka_unit_test(clopper_pearson_solves_its_equations),
        cmocka_unit_test(clopper_pearson_covers),
        cmocka_unit_test(clopper_pearson_is_ordered),
        cmocka_unit_test(limits_enclose_at_every_level),
        cmocka_unit_test(clopper_pearson_refuses),
        cmocka_unit_test(dkw_is_massarts_constant),
        cmocka_unit_test(gamma_interval_matches_the_table),
        cmocka_unit_test(gamma_interval_refuses),
        cmocka_unit_test(student_quantiles_match_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
