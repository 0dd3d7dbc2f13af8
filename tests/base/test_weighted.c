/* Weighted means: against their definition in long double, against ordinary means, at large offsets, and their error
 * bars. */
#include "support/check.h"
#include "support/coverage.h"
#include "support/random.h"

enum { P = 3, N = 2500, STRIDE = 2504 };

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
    long double W = 0, m[P] = {0}, rows = 0;
    for (size_t i = 0; i < N; i++) {
        W += s->weights[i];
        rows += s->weights[i] > 0;
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
            covariance[a * P + b] = (double)(sum / W / W * rows / (rows - 1));
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
    double plain[16] = {0}, weighted[16] = {0}, mean[P], covariance[P * P];
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
    double all[16] = {0}, some[16] = {0};
    assert_ok(moeg_weighted_add(P, N, STRIDE, s.values, s.weights, all));
    assert_ok(moeg_weighted_add(P, count, STRIDE, kept.values, kept.weights, some));
    assert_true(all[0] == (double)count);
    for (size_t j = 0; j < moeg_weighted_size(P); j++)
        assert_relative(all[j], some[j], 1e4 * EPS);
    for (size_t i = 0; i < N; i++)
        kept.values[i] = 1e9 / 3;
    double constant[16] = {0}, spread;
    assert_ok(moeg_weighted_add(1, count, STRIDE, kept.values, kept.weights, constant));
    assert_ok(moeg_weighted_means(1, constant, mean, &spread));
    assert_true(mean[0] == 1e9 / 3 && spread <= 1e-18 * 1e9);
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    const double v[4] = {1, 2, 3, 4}, w[4] = {1, 1, 0, 1}, negative[4] = {1, -1, 0, 1}, lost[4] = {1, NAN, 3, 4};
    double s[6] = {0}, mean, variance;
    assert_int_equal(moeg_weighted_size(1), 6);
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

/* Skewed values with weights that depend on them, as importance weights do: Y ~ Exp(1) drawn where Exp(1/1.4) is meant
 * to be judged; the weighted mean of v = y is 1, and of {y <= 0.4} a probability. */
enum { DRAWN = 400 };
static moeg_status estimate(uint64_t seed, void *user, moeg_estimate *out)
{
    double y[DRAWN], w[DRAWN], values[2 * DRAWN], state[16] = {0}, mean[2], covariance[4];
    uint64_t count = 0;
    (void)user;
    for (size_t i = 0; i < DRAWN; i++) {
        y[i] = -1.4 * log(0.5 + 0.5 * next_uniform(&seed));
        w[i] = exp(-y[i] + y[i] / 1.4);
        values[i] = y[i];
        values[DRAWN + i] = y[i] <= 0.4;
        count += y[i] <= 0.4;
    }
    moeg_weighted_add(2, DRAWN, DRAWN, values, w, state);
    moeg_weighted_means(2, state, mean, covariance);
    moeg_status status =
        moeg_estimate_mean(DRAWN, mean[0], covariance[0] * DRAWN * (DRAWN - 1), DRAWN, 0.9, MOEG_METHOD_MC, out);
    if (status == MOEG_OK)
        status = moeg_estimate_mean(DRAWN, mean[1], covariance[3] * DRAWN * (DRAWN - 1), DRAWN, 0.9, MOEG_METHOD_MC,
                                    out + 1);
    return status;
}

static void error_bars_are_right(void **state)
{
    (void)state;
    const double truths[] = {1, 1 - exp(-0.4)};
    assert_coverage(estimate, NULL, 2, truths, 0.9, 4000, COVERAGE_MAY_BIAS);
}

/* Weights that have nothing to do with the event: then its share is binomial with the weights' worth of units. */
static moeg_status estimate_share(uint64_t seed, void *user, moeg_estimate *out)
{
    double sum = 0, squares = 0, hit = 0;
    uint64_t count = 0;
    const double p = *(double *)user;
    for (size_t i = 0; i < DRAWN; i++) {
        const double w = exp(0.8 * next_normal(&seed));
        const int event = 0.5 + 0.5 * next_uniform(&seed) <= p;
        sum += w;
        squares += w * w;
        hit += event ? w : 0;
        count += (uint64_t)event;
    }
    return moeg_estimate_weighted_proportion(hit / sum, sum * sum / squares, count, DRAWN, 0.95, MOEG_METHOD_MC, out);
}

static void shares_have_their_intervals(void **state)
{
    (void)state;
    double p[] = {0.3, 0.03};
    for (int i = 0; i < 2; i++)
        assert_coverage(estimate_share, &p[i], 1, &p[i], 0.95, 4000, COVERAGE_AT_LEAST);
    moeg_estimate a, b;
    for (uint64_t count = 0; count <= 18; count++) { /* Equal weights: the exact interval. */
        assert_ok(moeg_estimate_weighted_proportion((double)count / 18, 18, count, 18, 0.99, MOEG_METHOD_MC, &a));
        assert_ok(moeg_estimate_proportion(count, 18, 0.99, MOEG_METHOD_MC, &b));
        assert_near(a.lo, b.lo, 1e-12);
        assert_near(a.hi, b.hi, 1e-12);
        assert_near(a.std_error, b.std_error, 4 * EPS);
    }
    /* Between the whole numbers the limits rise with the share. */
    double last = 0;
    for (double share = 0.001; share < 1; share += 0.00613) {
        assert_ok(moeg_estimate_weighted_proportion(share, 7.3, 3, 40, 0.95, MOEG_METHOD_MC, &a));
        assert_true(a.lo >= 0 && a.lo <= share && a.hi >= share && a.hi <= 1 && a.hi >= last);
        last = a.hi;
    }
    assert_status(moeg_estimate_weighted_proportion(1.1, 7, 3, 40, 0.95, MOEG_METHOD_MC, &a), MOEG_EINVAL,
                  "share must be in [0, 1], got 1.1");
    assert_status(moeg_estimate_weighted_proportion(0.1, 70, 3, 40, 0.95, MOEG_METHOD_MC, &a), MOEG_EINVAL,
                  "units must be at most n = 40, got 70");
    assert_status(moeg_estimate_weighted_proportion(0.1, 0.5, 3, 40, 0.95, MOEG_METHOD_MC, &a), MOEG_EINVAL,
                  "must be at least 1");
    assert_status(moeg_estimate_weighted_proportion(0.1, 7, 41, 40, 0.95, MOEG_METHOD_MC, &a), MOEG_EINVAL,
                  "count must be at most n = 40");
    assert_status(moeg_estimate_weighted_proportion(0.1, 7, 4, 40, 1, MOEG_METHOD_MC, &a), MOEG_EINVAL, "level");
    assert_status(moeg_estimate_weighted_proportion(0.1, 7, 4, 40, 0.9, MOEG_METHOD_MC, NULL), MOEG_EINVAL,
                  "out must not be NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_are_those_of_the_definition),
        cmocka_unit_test(equal_and_zero_weights),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(error_bars_are_right),
        cmocka_unit_test(shares_have_their_intervals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
