/* Weighted means: against their definition in long double, against ordinary means, at large offsets, and their error
 * bars. */
#include "support/check.h"
#include "support/coverage.h"
#include "support/estimates.h"
#include "support/random.h"

enum { P = 3, N = 2500, STRIDE = 2504, SIZE = 3 + 1 + P + P * (P + 1) / 2 + P };

struct sample {
    double values[P * STRIDE], weights[STRIDE];
};

/* Values of spread 1 around an offset, the last two dependent; weights over some decades, a seventh of them 0. */
static void fill(uint64_t seed, double offset, struct sample *s)
{
    for (size_t i = 0; i < N; i++) {
        s->weights[i] = i % 7 == 3 ? 0 : exp(1.5 * next_normal(&seed));
        s->values[i] = offset + next_normal(&seed);
        s->values[STRIDE + i] = 0.7 * next_normal(&seed) - offset;
        s->values[2 * STRIDE + i] =
            s->values[i] - 0.3 * s->values[STRIDE + i] * s->values[STRIDE + i] / (1 + offset * offset);
    }
}

/* By the definition. */
static void obvious(const struct sample *s, double *mean, double *covariance)
{
    long double W = 0, Q = 0, m[P] = {0};
    for (size_t i = 0; i < N; i++) {
        W += s->weights[i];
        Q += (long double)s->weights[i] * s->weights[i];
        for (size_t j = 0; j < P; j++)
            m[j] += (long double)s->weights[i] * s->values[j * STRIDE + i];
    }
    for (size_t j = 0; j < P; j++)
        mean[j] = (double)(m[j] /= W);
    for (size_t a = 0; a < P; a++)
        for (size_t b = 0; b < P; b++) {
            long double sum = 0;
            for (size_t i = 0; i < N; i++)
                sum += (long double)s->weights[i] * s->weights[i] * (s->values[a * STRIDE + i] - m[a]) *
                       (s->values[b * STRIDE + i] - m[b]);
            covariance[a * P + b] = (double)(sum / (W * W - Q));
        }
}

/* In parts, merged, and with the first part empty; near and far from the origin. */
static void means_are_those_of_the_definition(void **state)
{
    (void)state;
    static struct sample s;
    for (int far = 0; far < 2; far++) {
        double mean[P], covariance[P * P], got[P], got_covariance[P * P];
        const double offset = far ? 1e6 : 2.385;
        fill(5, offset, &s);
        obvious(&s, mean, covariance);
        double *left = calloc(moeg_weighted_size(P), sizeof *left),
               *right = calloc(moeg_weighted_size(P), sizeof *right);
        for (size_t first = 0; first < N; first += 1111) {
            const size_t n = N - first < 1111 ? N - first : 1111;
            memset(right, 0, moeg_weighted_size(P) * sizeof *right);
            assert_ok(moeg_weighted_add(P, n, STRIDE, s.values + first, s.weights + first, right));
            moeg_weighted_merge(P, right, left);
        }
        assert_ok(moeg_weighted_means(P, left, got, got_covariance));
        for (size_t j = 0; j < P; j++)
            assert_relative(got[j], mean[j], 8 * EPS);
        for (size_t j = 0; j < P * P; j++)
            assert_near(got_covariance[j], covariance[j],
                        (1e3 + 4 * offset) * EPS * sqrt(covariance[j / P * (P + 1)] * covariance[j % P * (P + 1)]));
        free(left);
        free(right);
    }
}

/* Equal weights are no weights, rows of weight 0 no rows, and constants have no spread. */
static void equal_and_zero_weights(void **state)
{
    (void)state;
    static struct sample s, kept;
    double plain[16] = {0}, weighted[SIZE] = {0}, mean[P], covariance[P * P];
    fill(9, 0.4, &s);
    for (size_t i = 0; i < N; i++)
        s.weights[i] = 0.375;
    assert_ok(moeg_covariance_add(P, N, STRIDE, s.values, plain));
    assert_ok(moeg_weighted_add(P, N, STRIDE, s.values, s.weights, weighted));
    assert_ok(moeg_weighted_means(P, weighted, mean, covariance));
    assert_near(moeg_weighted_units(weighted), N, 1e-9);
    for (size_t j = 0; j < P; j++) {
        assert_relative(mean[j], plain[1 + j], 8 * EPS);
        assert_relative(covariance[j * P + j], plain[1 + P + j * (j + 3) / 2] / (N - 1) / N, 100 * EPS);
    }
    fill(9, 0.4, &s);
    size_t count = 0;
    for (size_t i = 0; i < N; i++)
        if (s.weights[i] > 0) {
            kept.weights[count] = s.weights[i];
            for (size_t j = 0; j < P; j++)
                kept.values[j * STRIDE + count] = s.values[j * STRIDE + i];
            count++;
        } else
            s.values[i] = NAN; /* Nobody looks. */
    double all[SIZE] = {0}, some[SIZE] = {0};
    assert_ok(moeg_weighted_add(P, N, STRIDE, s.values, s.weights, all));
    assert_ok(moeg_weighted_add(P, count, STRIDE, kept.values, kept.weights, some));
    assert_true(all[0] == (double)count);
    for (size_t j = 0; j < moeg_weighted_size(P); j++)
        assert_relative(all[j], some[j], 1e4 * EPS);
    for (size_t i = 0; i < N; i++)
        kept.values[i] = 1e9 / 3;
    double constant[7] = {0}, spread;
    assert_ok(moeg_weighted_add(1, count, STRIDE, kept.values, kept.weights, constant));
    assert_ok(moeg_weighted_means(1, constant, mean, &spread));
    assert_true(mean[0] == 1e9 / 3 && spread <= 1e-18 * 1e9);
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    const double v[4] = {1, 2, 3, 4}, w[4] = {1, 1, 0, 1}, negative[4] = {1, -1, 0, 1}, lost[4] = {1, NAN, 3, 4};
    double s[7] = {0}, mean, variance;
    assert_int_equal(moeg_weighted_size(1), 7);
    assert_int_equal(moeg_weighted_size(P), SIZE);
    assert_status(moeg_weighted_add(0, 4, 4, v, w, s), MOEG_EINVAL, "weighted_add: p must be at least 1");
    assert_status(moeg_weighted_add(1, 4, 3, v, w, s), MOEG_EINVAL, "stride must be at least n = 4, got 3");
    assert_status(moeg_weighted_add(1, 4, 4, NULL, w, s), MOEG_EINVAL, "values must not be NULL");
    assert_status(moeg_weighted_add(1, 4, 4, v, NULL, s), MOEG_EINVAL, "weights must not be NULL");
    assert_status(moeg_weighted_add(1, 4, 4, v, w, NULL), MOEG_EINVAL, "state must not be NULL");
    assert_status(moeg_weighted_add(1, 4, 4, v, negative, s), MOEG_EINVAL,
                  "weights[1] must be finite and at least 0, got -1");
    assert_status(moeg_weighted_add(1, 4, 4, lost, w, s), MOEG_EINVAL, "values[0, 1] must be finite, got nan");
    assert_true(s[0] == 0);
    assert_status(moeg_weighted_means(1, s, &mean, &variance), MOEG_EINVAL, "the state has no rows");
    assert_status(moeg_weighted_means(1, NULL, &mean, &variance), MOEG_EINVAL, "state must not be NULL");
    assert_status(moeg_weighted_means(1, s, NULL, &variance), MOEG_EINVAL, "mean must not be NULL");
    assert_ok(moeg_weighted_add(1, 0, 0, NULL, NULL, s));
    assert_true(moeg_weighted_units(s) == 0);
    assert_ok(moeg_weighted_add(1, 1, 4, v, w, s));
    assert_status(moeg_weighted_means(0, s, &mean, &variance), MOEG_EINVAL, "p must be at least 1");
    assert_ok(moeg_weighted_means(1, s, &mean, &variance));
    assert_true(mean == 1 && isinf(variance));
    assert_int_equal(moeg_weighted_size(SIZE_MAX), SIZE_MAX);
}

/* How weights come about, and the true mean of the values with them. */
typedef struct pattern {
    double (*weight)(size_t i, double value, uint64_t *seed);
    double truth;
} pattern;

/* Given by the design, and worth 42 of 400; of some spread, by chance; and by what the value is, as importance weights
 * are: N(0, 1) judged as N(0.5, 1). */
static double two_sizes(size_t i, double value, uint64_t *seed)
{
    (void)value;
    (void)seed;
    return i < 40 ? 1 : 3e-3;
}

static double by_chance(size_t i, double value, uint64_t *seed)
{
    (void)i;
    (void)value;
    return exp(0.7 * next_normal(seed));
}

static double by_value(size_t i, double value, uint64_t *seed)
{
    (void)i;
    (void)seed;
    return exp(0.5 * value);
}

/* The mean of a normal variable and that of its square, of which the covariance is used too: their difference. */
static moeg_status estimate(uint64_t seed, void *user, moeg_estimate *out)
{
    enum { DRAWN = 400 };
    const pattern *p = user;
    double w[DRAWN], values[2 * DRAWN], state[11] = {0}, mean[2], covariance[4];
    for (size_t i = 0; i < DRAWN; i++) {
        values[i] = next_normal(&seed);
        values[DRAWN + i] = fabs(values[i]);
        w[i] = p->weight(i, values[i], &seed);
    }
    assert_int_equal(moeg_weighted_size(2), sizeof state / sizeof *state);
    assert_ok(moeg_weighted_add(2, DRAWN, DRAWN, values, w, state));
    assert_ok(moeg_weighted_means(2, state, mean, covariance));
    const double units = moeg_weighted_units(state);
    assert_ok(moeg_estimate_weighted_mean(DRAWN, units, mean[0], covariance[0], DRAWN, 0.95, MOEG_METHOD_MC, out));
    return moeg_estimate_weighted_mean(DRAWN, units, mean[1] - mean[0],
                                       covariance[3] + covariance[0] - 2 * covariance[1], DRAWN, 0.95, MOEG_METHOD_MC,
                                       out + 1);
}

static void error_bars_are_right(void **state)
{
    (void)state;
    /* E |X| of N(m, 1) is m erf(m/sqrt 2) + 2 phi(m). */
    const pattern patterns[] = {{two_sizes, 0}, {by_chance, 0}, {by_value, 0.5}};
    for (size_t i = 0; i < 3; i++) {
        pattern p = patterns[i];
        const double m = p.truth, size = m * erf(m / sqrt(2)) + 2 * exp(-m * m / 2) / sqrt(8 * atan(1));
        const double truths[] = {m, size - m};
        assert_coverage(estimate, &p, 2, truths, 0.95, 4000, COVERAGE_EXACT);
    }
}

/* More variables than are taken at a time, more units than a tile: against one variable alone, and sums by pairs. */
static void many_variables_are_as_few(void **state)
{
    (void)state;
    enum { MANY = 37, UNITS = 4500 };
    static double values[MANY * UNITS], weights[UNITS], covariance[MANY * MANY];
    double mean[MANY], alone[7] = {0}, *all = calloc(moeg_weighted_size(MANY), sizeof *all);
    uint64_t seed = 11;
    for (size_t i = 0; i < UNITS; i++) {
        weights[i] = i % 5 == 0 ? 0 : exp(2 * next_normal(&seed));
        for (size_t j = 0; j < MANY; j++)
            values[j * UNITS + i] = 100 * (double)j + next_normal(&seed) + (j > 0 ? values[i] : 0);
    }
    assert_ok(moeg_weighted_add(MANY, UNITS, UNITS, values, weights, all));
    assert_ok(moeg_weighted_means(MANY, all, mean, covariance));
    long double W = 0, Q = 0;
    for (size_t i = 0; i < UNITS; i++) {
        W += weights[i];
        Q += (long double)weights[i] * weights[i];
    }
    assert_relative(moeg_weighted_units(all), (double)(W * W / Q), 1e3 * EPS);
    for (size_t j = 0; j < MANY; j++) {
        double one, variance;
        memset(alone, 0, sizeof alone);
        assert_ok(moeg_weighted_add(1, UNITS, UNITS, values + j * UNITS, weights, alone));
        assert_ok(moeg_weighted_means(1, alone, &one, &variance));
        assert_near(mean[j], one, 0);
        assert_relative(covariance[j * MANY + j], variance, 100 * EPS);
        for (size_t k = 0; k < j; k += 5) {
            long double sum = 0;
            for (size_t i = 0; i < UNITS; i++)
                sum += (long double)weights[i] * weights[i] * (values[j * UNITS + i] - mean[j]) *
                       (values[k * UNITS + i] - mean[k]);
            const double size = sqrt(covariance[j * MANY + j] * covariance[k * MANY + k]);
            assert_near(covariance[j * MANY + k], (double)(sum / (W * W - Q)), 1e4 * EPS * size);
        }
    }
    free(all);
}

/* Weights times a power of two, or in parts whose weights are far apart, added and merged either way. */
static void only_ratios_of_weights_matter(void **state)
{
    (void)state;
    static struct sample s, scaled;
    double plain[SIZE] = {0}, mean[P], other[P];
    fill(21, 0.4, &s);
    assert_ok(moeg_weighted_add(P, N, STRIDE, s.values, s.weights, plain));
    const int powers[] = {-1000, -500, 500, 1000};
    for (size_t k = 0; k < 4; k++) {
        double got[SIZE] = {0};
        for (size_t i = 0; i < N; i++)
            scaled.weights[i] = ldexp(s.weights[i], powers[k]);
        assert_ok(moeg_weighted_add(P, N, STRIDE, s.values, scaled.weights, got));
        assert_near(got[1], plain[1] + powers[k], 0);
        got[1] = plain[1];
        assert_memory_equal(got, plain, sizeof got);
    }
    /* The lighter part is 2^-1500 of the heavier one: it counts as rows, and as nothing else. */
    for (int order = 0; order < 2; order++) {
        double left[SIZE] = {0}, right[SIZE] = {0}, added[SIZE] = {0};
        const size_t half = N / 2;
        for (size_t i = 0; i < N; i++)
            scaled.weights[i] = ldexp(s.weights[i], (i < half) == (order == 0) ? 750 : -750);
        assert_ok(moeg_weighted_add(P, half, STRIDE, s.values, scaled.weights, left));
        assert_ok(moeg_weighted_add(P, half, STRIDE, s.values, scaled.weights, added));
        assert_ok(moeg_weighted_add(P, N - half, STRIDE, s.values + half, scaled.weights + half, right));
        assert_ok(moeg_weighted_add(P, N - half, STRIDE, s.values + half, scaled.weights + half, added));
        double heavy[SIZE];
        memcpy(heavy, order == 0 ? left : right, sizeof heavy);
        assert_ok(moeg_weighted_means(P, heavy, mean, NULL));
        moeg_weighted_merge(P, right, left);
        assert_near(left[0], plain[0], 0);
        assert_near(added[0], plain[0], 0);
        assert_ok(moeg_weighted_means(P, left, other, NULL));
        for (size_t j = 0; j < P; j++)
            assert_near(other[j], mean[j], 4 * EPS);
        assert_relative(moeg_weighted_units(left), moeg_weighted_units(heavy), 4 * EPS);
        for (size_t j = 0; j < SIZE; j++)
            /* A mean is moved from that of the other part. */
            assert_near(added[j], left[j], 4 * EPS * fmax(1, fabs(left[j])));
    }
}

/* Only light rows differ, by little: the variance of their mean underflows, and is not 0 for that; in one batch or in
 * two, before the heavy ones or after. Equal values have none. */
static void what_differs_has_a_variance(void **state)
{
    (void)state;
    enum { ROWS = 5000 };
    double values[ROWS], weights[ROWS], mean, variance;
    for (int equal = 0; equal < 2; equal++)
        for (int order = 0; order < 2; order++)
            for (size_t cut = 0; cut < ROWS; cut += ROWS / 2) {
                double all[8] = {0}, rest[8] = {0};
                assert_int_equal(moeg_weighted_size(1), 7);
                for (size_t i = 0; i < ROWS; i++) {
                    const int light = (i < ROWS / 2) == (order == 0);
                    weights[i] = light ? 1e-170 : 0.7;
                    values[i] = equal ? 2.385 : light ? 1 + (double)(i % 3) : 0;
                }
                assert_ok(moeg_weighted_add(1, cut, ROWS, values, weights, all));
                assert_ok(moeg_weighted_add(1, ROWS - cut, ROWS, values + cut, weights + cut, rest));
                moeg_weighted_merge(1, rest, all);
                assert_ok(moeg_weighted_means(1, all, &mean, &variance));
                if (equal)
                    assert_true(mean == 2.385 && variance == 0);
                else
                    assert_true(mean >= 0 && mean < 1e-169 && variance > 0 && variance < DBL_MIN);
            }
}

static void an_empty_state_is_neutral(void **state)
{
    (void)state;
    static struct sample s;
    double some[SIZE] = {0}, none[SIZE] = {0}, kept[SIZE];
    const double nothing[2] = {0, 0}, lost[2 * P] = {NAN, INFINITY, NAN, NAN, -INFINITY, NAN};
    fill(2, 3, &s);
    assert_ok(moeg_weighted_add(P, N, STRIDE, s.values, s.weights, some));
    memcpy(kept, some, sizeof kept);
    moeg_weighted_merge(P, none, some);
    assert_ok(moeg_weighted_add(P, 2, 2, lost, nothing, some));
    assert_ok(moeg_weighted_add(P, 0, 0, NULL, NULL, some));
    assert_memory_equal(some, kept, sizeof kept);
    moeg_weighted_merge(P, some, none);
    assert_memory_equal(none, kept, sizeof kept);
}

static void weighted_means_have_a_student_interval(void **state)
{
    (void)state;
    moeg_estimate e, plain;
    /* t(39) at 0.975 is 2.0226909200367604 (mpmath), of units worth 40. */
    assert_ok(moeg_estimate_weighted_mean(77, 40, -2.385, 0.0625, 51, 0.95, MOEG_METHOD_MC, &e));
    assert_near(e.value, -2.385, 0);
    assert_near(e.std_error, 0.25, 0);
    assert_relative(e.lo, -2.385 - 2.0226909200367604 * 0.25, 64 * EPS);
    assert_relative(e.hi, -2.385 + 2.0226909200367604 * 0.25, 64 * EPS);
    assert_true(e.n == 77 && e.contributing == 51 && e.level == 0.95 && e.quad_error == 0);
    assert_int_equal(e.method, MOEG_METHOD_MC);
    /* t(30.5) is between t(30), 2.0422724563, and t(31), 2.0395134464. */
    assert_ok(moeg_estimate_weighted_mean(77, 31.5, 0, 1, 51, 0.95, MOEG_METHOD_MC, &e));
    assert_true(e.hi > 2.0395134464 && e.hi < 2.0422724563);
    assert_ok(moeg_estimate_weighted_mean(50, 50, 0.3, 2.5 / 50, 33, 0.9, MOEG_METHOD_LINE, &e));
    assert_ok(moeg_estimate_mean(50, 0.3, 49 * 2.5, 33, 0.9, MOEG_METHOD_LINE, &plain));
    assert_relative(e.lo, plain.lo, 16 * EPS);
    assert_relative(e.hi, plain.hi, 16 * EPS);
    assert_int_equal(e.method, MOEG_METHOD_LINE);
    const double units[] = {29.9, 1, 1, 40}, variances[] = {0.5, INFINITY, 0, 0.5};
    const uint64_t contributing[] = {77, 77, 77, 29};
    for (size_t i = 0; i < 4; i++) {
        assert_status(
            moeg_estimate_weighted_mean(77, units[i], 0.75, variances[i], contributing[i], 0.95, MOEG_METHOD_MC, &e),
            MOEG_EUNABLE, i < 3 ? "77 units are worth" : "29 units of 77 contributed, fewer than 30");
        assert_true(e.value == 0.75 && e.std_error == INFINITY && e.lo == -INFINITY && e.hi == INFINITY);
        assert_true(e.n == 77 && e.contributing == contributing[i]);
    }
}

static void weighted_means_refuse(void **state)
{
    (void)state;
    moeg_estimate e = {.value = 0.1}, before = e;
    const moeg_method mc = MOEG_METHOD_MC;
    assert_status(moeg_estimate_weighted_mean(40, 35, 1, 1, 40, 0.95, mc, NULL), MOEG_EINVAL,
                  "estimate_weighted_mean: out must not be NULL");
    assert_status(moeg_estimate_weighted_mean(0, 1, 1, 1, 0, 0.95, mc, &e), MOEG_EINVAL, "n must be at least 1, got 0");
    assert_status(moeg_estimate_weighted_mean(40, 35, 1, 1, 41, 0.95, mc, &e), MOEG_EINVAL,
                  "contributing must be at most n = 40, got 41");
    assert_status(moeg_estimate_weighted_mean(40, 35, 1, 1, 40, 1, mc, &e), MOEG_EINVAL,
                  "estimate_weighted_mean: level must be in (0, 1), got 1");
    assert_status(moeg_estimate_weighted_mean(40, 35, 1, -0.5, 40, 0.95, mc, &e), MOEG_EINVAL,
                  "variance must be at least 0, got -0.5");
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        assert_status(moeg_estimate_weighted_mean(40, 35, bad[i], 1, 40, 0.95, mc, &e), MOEG_ERANGE,
                      "estimate_weighted_mean: mean and variance must be finite");
        assert_status(moeg_estimate_weighted_mean(40, 35, 1, bad[i], 40, 0.95, mc, &e), MOEG_ERANGE,
                      "estimate_weighted_mean: mean and variance must be finite");
    }
    const double units[] = {0.999, 40.5, NAN, -3, INFINITY};
    for (size_t i = 0; i < 5; i++)
        assert_status(moeg_estimate_weighted_mean(40, units[i], 1, 1, 40, 0.95, mc, &e), MOEG_EINVAL,
                      "estimate_weighted_mean: units must be in [1, n = 40], got");
    assert_same_estimates(&e, &before, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_are_those_of_the_definition),
        cmocka_unit_test(equal_and_zero_weights),
        cmocka_unit_test(many_variables_are_as_few),
        cmocka_unit_test(only_ratios_of_weights_matter),
        cmocka_unit_test(what_differs_has_a_variance),
        cmocka_unit_test(an_empty_state_is_neutral),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(weighted_means_have_a_student_interval),
        cmocka_unit_test(weighted_means_refuse),
        cmocka_unit_test(error_bars_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
