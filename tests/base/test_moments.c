#include "support/check.h"
#include "support/random.h"

#include <moegeom/moegeom.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_P = 40 };

/* Means and lower triangle of sums of products of deviations, the obvious way, in long double. */
static void slow_covariance(size_t p, size_t n, size_t stride, const double *x, double *mean, double *M2)
{
    long double exact[MAX_P];
    for (size_t j = 0; j < p; j++) {
        exact[j] = 0;
        for (size_t i = 0; i < n; i++)
            exact[j] += x[j * stride + i];
        exact[j] /= (long double)n;
        mean[j] = (double)exact[j];
    }
    for (size_t j = 0; j < p; j++)
        for (size_t k = 0; k <= j; k++) {
            long double sum = 0;
            for (size_t i = 0; i < n; i++)
                sum += (x[j * stride + i] - exact[j]) * (x[k * stride + i] - exact[k]);
            M2[j * (j + 1) / 2 + k] = (double)sum;
        }
}

/* p variables around different means, of different spreads, correlated. */
static void fill_values(size_t p, size_t n, size_t stride, double *x)
{
    uint64_t seed = 42;
    for (size_t j = 0; j < p; j++)
        for (size_t i = 0; i < n; i++)
            x[j * stride + i] = 1e3 * (double)j + next_uniform(&seed) * (1 + (double)j) + (j > 0 ? x[i] : 0);
}

static void sizes(void **state)
{
    (void)state;
    assert_int_equal(moeg_moments_size(1), 3);
    assert_int_equal(moeg_moments_size(7), 15);
    assert_int_equal(moeg_covariance_size(1), 3);
    assert_int_equal(moeg_covariance_size(7), 1 + 7 + 28);
    assert_int_equal(moeg_covariance_size(8), 1 + 8 + 36);
    assert_true(moeg_moments_size(SIZE_MAX) == SIZE_MAX);
    assert_true(moeg_moments_size(SIZE_MAX / 2) == SIZE_MAX);
    assert_true(moeg_covariance_size(SIZE_MAX) == SIZE_MAX);
    assert_true(moeg_covariance_size((size_t)1 << 33) == SIZE_MAX);
    assert_true(moeg_covariance_size((size_t)1 << 32) == 1 + ((size_t)1 << 32) + ((size_t)1 << 31) * 4294967297u);
}

/* Around tile and lane borders, with gaps between the variables. */
static void both_match_the_obvious_sums(void **state)
{
    (void)state;
    const size_t counts[] = {1, 2, 7, 8, 9, 127, 128, 129, 1000, 4096, 4097, 9001};
    const size_t variables[] = {1, 3, 16, 17, MAX_P};
    double *x = malloc(MAX_P * 9011 * sizeof *x);
    double mean[MAX_P], M2[MAX_P * (MAX_P + 1) / 2];
    double moments[1 + 2 * MAX_P], covariance[1 + MAX_P + MAX_P * (MAX_P + 1) / 2];
    for (size_t c = 0; c < 12; c++)
        for (size_t v = 0; v < 5; v++) {
            const size_t n = counts[c], p = variables[v], stride = n + 10;
            fill_values(p, n, stride, x);
            slow_covariance(p, n, stride, x, mean, M2);
            memset(moments, 0, sizeof moments);
            memset(covariance, 0, sizeof covariance);
            assert_ok(moeg_moments_add(p, n, stride, x, moments));
            assert_ok(moeg_covariance_add(p, n, stride, x, covariance));
            assert_near(moments[0], (double)n, 0);
            assert_near(covariance[0], (double)n, 0);
            for (size_t j = 0; j < p; j++) {
                const double variance = M2[j * (j + 1) / 2 + j];
                /* A few roundings of the mean, and of the deviations' sum, for each of up to 71 tiles; of M2, by the
                 * lanes' partial sums too. */
                const double size = fabs(mean[j]) + sqrt(variance / (double)n);
                assert_near(moments[1 + j], mean[j], 8 * EPS * size);
                assert_near(covariance[1 + j], mean[j], 80 * EPS * size);
                assert_near(moments[1 + p + j], variance, 600 * EPS * variance);
                for (size_t k = 0; k <= j; k++) {
                    const size_t at = j * (j + 1) / 2 + k;
                    const double scale = sqrt(variance * M2[k * (k + 1) / 2 + k]);
                    /* The rounding of a tile's mean, of relative size eps, meets the deviations: eps |mean| sqrt(n M2)
                     * would be the first order, and it cancels; what is left is its square. */
                    assert_near(covariance[1 + p + at], M2[at], 600 * EPS * scale + n * pow(80 * EPS * mean[j], 2));
                }
            }
        }
    free(x);
}

static void a_large_mean_does_not_cancel(void **state)
{
    (void)state;
    const double x[] = {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16};
    double moments[3] = {0}, covariance[3] = {0};
    assert_ok(moeg_moments_add(1, 4, 4, x, moments));
    assert_ok(moeg_covariance_add(1, 4, 4, x, covariance));
    assert_near(moments[2] / 3, 30, 60 * EPS);
    assert_near(covariance[2] / 3, 30, 60 * EPS);
    /* One unit at a time: each update rounds the mean by eps * 1e9, beside deviations of 6. */
    memset(moments, 0, sizeof moments);
    for (size_t i = 0; i < 4; i++)
        assert_ok(moeg_moments_add(1, 1, 1, x + i, moments));
    assert_near(moments[1], 1e9 + 10, 4e9 * EPS);
    assert_near(moments[2] / 3, 30, 30 * 4e9 * EPS);
}

/* n units in three tiles at a large offset: the covariance has the moments' means to the bit and their M2 to the
 * rounding of its sums, and both the truth, of which x - offset, which is exact, is the witness. */
static void covariance_is_as_exact_as_moments(void **state)
{
    (void)state;
    enum { P = 2, N = 10000 };
    const double offsets[] = {0, 1e9, -1e9, 1e15}, rounding[] = {600 * EPS, 1e-9, 1e-9, 1e-4};
    double *x = malloc(P * N * sizeof *x);
    for (size_t o = 0; o < 4; o++) {
        uint64_t seed = 77;
        long double sum[P] = {0}, square[P * P] = {0};
        for (size_t i = 0; i < N; i++) {
            const double first = next_normal(&seed), second = 0.6 * first + 0.8 * next_normal(&seed);
            x[i] = offsets[o] + first;
            x[N + i] = offsets[o] + second;
            for (size_t j = 0; j < P; j++) {
                sum[j] += x[j * N + i] - offsets[o];
                for (size_t k = 0; k < P; k++)
                    square[j * P + k] += (long double)(x[j * N + i] - offsets[o]) * (x[k * N + i] - offsets[o]);
            }
        }
        double moments[1 + 2 * P] = {0}, covariance[1 + P + 3] = {0};
        assert_ok(moeg_moments_add(P, N, N, x, moments));
        assert_ok(moeg_covariance_add(P, N, N, x, covariance));
        for (size_t j = 0, at = 1 + P; j < P; j++)
            for (size_t k = 0; k <= j; k++, at++) {
                assert_near(covariance[at], (double)(square[j * P + k] - sum[j] * sum[k] / N), rounding[o] * N);
                if (j == k)
                    assert_relative(covariance[at], moments[1 + P + j], 600 * EPS);
            }
        assert_memory_equal(covariance, moments, (1 + P) * sizeof(double));
    }
    free(x);
}

static void constants_have_no_variance(void **state)
{
    (void)state;
    const double constants[] = {0.1, 1e300, -1e-300, 5e-324, 2.385};
    double x[1000], moments[3], covariance[3];
    for (size_t c = 0; c < 5; c++)
        for (size_t n = 1; n <= 1000; n += 37) {
            for (size_t i = 0; i < n; i++)
                x[i] = constants[c];
            memset(moments, 0, sizeof moments);
            memset(covariance, 0, sizeof covariance);
            assert_ok(moeg_moments_add(1, n, n, x, moments));
            assert_ok(moeg_covariance_add(1, n, n, x, covariance));
            assert_near(moments[1], constants[c], 0);
            assert_near(moments[2], 0, 0);
            assert_near(covariance[1], constants[c], 0);
            assert_near(covariance[2], 0, 0);
        }
}

/* Squares of deviations of 1e-170 underflow: they differ all the same, inside a batch, a tile and between states. */
static void what_differs_has_a_variance(void **state)
{
    (void)state;
    const double values[2] = {2.385e-170, 1.1e-170};
    for (int between = 0; between < 2; between++) {
        double x[6000], y[6000], moments[2][3] = {{0}}, covariance[2][3] = {{0}};
        for (size_t i = 0; i < 6000; i++) {
            x[i] = values[between ? 0 : i == 4711];
            y[i] = between ? values[1] : x[i];
        }
        assert_ok(moeg_moments_add(1, 6000, 6000, x, moments[0]));
        assert_ok(moeg_covariance_add(1, 6000, 6000, x, covariance[0]));
        assert_true(between == (moments[0][2] == 0) && between == (covariance[0][2] == 0));
        assert_ok(moeg_moments_add(1, 6000, 6000, y, moments[1]));
        assert_ok(moeg_covariance_add(1, 6000, 6000, y, covariance[1]));
        moeg_moments_merge(1, moments[1], moments[0]);
        moeg_covariance_merge(1, covariance[1], covariance[0]);
        assert_true(moments[0][2] > 0 && moments[0][2] < DBL_MIN);
        assert_true(covariance[0][2] > 0 && covariance[0][2] < DBL_MIN);
        moeg_estimate e;
        assert_status(moeg_estimate_mean(12000, moments[0][1], moments[0][2], 12000, 0.95, MOEG_METHOD_MC, &e),
                      MOEG_EUNABLE, "estimate_mean: the variance of the mean underflows: no error bar");
        assert_true(e.std_error == INFINITY && e.lo == -INFINITY && e.hi == INFINITY);
    }
}

/* To the rounding of the parts' means, eps |mean| with means up to 2e4, which meets deviations up to 36 in N units. */
static void merging_is_adding(void **state)
{
    (void)state;
    enum { P = 18, N = 700 };
    const double rounding = EPS * 2e4 * 36 * N;
    double x[P * N];
    double whole[1 + P + P * (P + 1) / 2], left[1 + P + P * (P + 1) / 2], right[1 + P + P * (P + 1) / 2];
    fill_values(P, N, N, x);
    for (size_t cut = 0; cut <= N; cut += 50) {
        memset(whole, 0, sizeof whole);
        memset(left, 0, sizeof left);
        memset(right, 0, sizeof right);
        assert_ok(moeg_covariance_add(P, N, N, x, whole));
        assert_ok(moeg_covariance_add(P, cut, N, x, left));
        assert_ok(moeg_covariance_add(P, N - cut, N, x + cut, right));
        moeg_covariance_merge(P, right, left);
        for (size_t k = 0; k < moeg_covariance_size(P); k++)
            assert_near(left[k], whole[k], 8 * EPS * (1 + fabs(whole[k])) + (k > P ? rounding : 0));
        memset(whole, 0, sizeof whole);
        memset(left, 0, sizeof left);
        memset(right, 0, sizeof right);
        assert_ok(moeg_moments_add(P, N, N, x, whole));
        assert_ok(moeg_moments_add(P, cut, N, x, left));
        assert_ok(moeg_moments_add(P, N - cut, N, x + cut, right));
        moeg_moments_merge(P, right, left);
        for (size_t k = 0; k < moeg_moments_size(P); k++)
            assert_near(left[k], whole[k], 8 * EPS * (1 + fabs(whole[k])) + (k > P ? rounding : 0));
    }
}

/* The empty state is neutral on both sides, to the bit: -0, subnormals, and means whose square overflows. */
static void empty_states_are_neutral(void **state)
{
    (void)state;
    const double filled[] = {3, -0.0, 1e200, 5e-324, 2.385, 1e-320};
    double left[6] = {0}, empty[6] = {0};
    moeg_moments_merge(2, filled, left);
    assert_memory_equal(left, filled, 5 * sizeof(double));
    moeg_moments_merge(2, empty, left);
    assert_memory_equal(left, filled, 5 * sizeof(double));
    memset(left, 0, sizeof left);
    moeg_covariance_merge(2, filled, left);
    assert_memory_equal(left, filled, 6 * sizeof(double));
    moeg_covariance_merge(2, empty, left);
    assert_memory_equal(left, filled, 6 * sizeof(double));
    moeg_moments_merge(2, empty, empty);
    moeg_covariance_merge(2, empty, empty);
    for (size_t i = 0; i < 6; i++)
        assert_near(empty[i], 0, 0);
    const double huge = -1e200;
    assert_ok(moeg_moments_add(1, 1, 1, &huge, empty));
    assert_near(empty[1], -1e200, 0);
    assert_near(empty[2], 0, 0);
    memset(empty, 0, sizeof empty);
    assert_ok(moeg_covariance_add(1, 1, 1, &huge, empty));
    assert_near(empty[1], -1e200, 0);
    assert_near(empty[2], 0, 0);
    assert_ok(moeg_moments_add(1, 0, 0, NULL, empty));
    assert_ok(moeg_covariance_add(1, 0, 0, NULL, empty));
    assert_near(empty[0], 1, 0);
}

static void counts_are_exact_to_2_53(void **state)
{
    (void)state;
    const double half = 4503599627370496.0; /* 2^52 */
    double left[] = {half, 1.5, 7}, right[] = {half - 1, 2.5, 9};
    moeg_moments_merge(1, right, left);
    assert_near(left[0], 2 * half - 1, 0);
    assert_near(left[1], 2, 4 * EPS);
    /* Means 1 apart, n/4 for each. */
    assert_relative(left[2], half / 2 + 16, 4 * EPS);
}

/* The same bits in every thread, with BLAS at work in all of them at once. */
static void threads_do_not_change_bits(void **state)
{
    (void)state;
    enum { P = 19, N = 1000, SIZE = 1 + P + P * (P + 1) / 2 };
    double *x = malloc(P * N * sizeof *x), alone[SIZE] = {0};
    fill_values(P, N, N, x);
    assert_ok(moeg_covariance_add(P, N, N, x, alone));
    int wrong = 0;
#pragma omp parallel num_threads(8) reduction(+ : wrong)
    for (int i = 0; i < 5; i++) {
        double together[SIZE] = {0};
        wrong += moeg_covariance_add(P, N, N, x, together) != MOEG_OK;
        wrong += memcmp(together, alone, sizeof alone) != 0;
    }
    assert_int_equal(wrong, 0);
    free(x);
}

static void batches_overflow_to_non_finite(void **state)
{
    (void)state;
    const double x[] = {1e308, -1e308, 1e308, 1e308};
    double moments[3] = {0};
    moeg_estimate estimate;
    assert_ok(moeg_moments_add(1, 4, 4, x, moments));
    assert_status(moeg_estimate_mean(100, moments[1], moments[2], 100, 0.95, MOEG_METHOD_MC, &estimate), MOEG_ERANGE,
                  "estimate_mean: mean and m2 must be finite");
}

/* Squares that overflow, of values whose mean does not: the variance must not become 0, no error bar. */
static void squares_overflow_to_non_finite(void **state)
{
    (void)state;
    const double x[] = {1.1e200, 2.385e200, -3.7e200, 4.9e200, 1.3e200, -2.2e200, 7.1e199};
    double moments[3] = {0}, covariance[3] = {0};
    assert_ok(moeg_moments_add(1, 7, 7, x, moments));
    assert_ok(moeg_covariance_add(1, 7, 7, x, covariance));
    assert_true(isfinite(moments[1]) && isfinite(covariance[1]));
    assert_false(isfinite(moments[2]));
    assert_false(isfinite(covariance[2]));
}

static void bad_arguments_leave_the_state_alone(void **state)
{
    (void)state;
    enum { P = 3, N = 5, STRIDE = 6 };
    moeg_status (*const add[])(size_t, size_t, size_t, const double *, double *) = {moeg_moments_add,
                                                                                    moeg_covariance_add};
    const char *const names[] = {"moments_add", "covariance_add"};
    for (size_t f = 0; f < 2; f++) {
        double x[P * STRIDE], s[1 + P + 6], before[1 + P + 6];
        char text[96];
        memset(s, 0, sizeof s);
        fill_values(P, STRIDE, STRIDE, x);
        assert_ok(add[f](P, N, STRIDE, x, s));
        memcpy(before, s, sizeof s);
        snprintf(text, sizeof text, "%s: state must not be NULL", names[f]);
        assert_status(add[f](P, N, STRIDE, x, NULL), MOEG_EINVAL, text);
        snprintf(text, sizeof text, "%s: values must not be NULL", names[f]);
        assert_status(add[f](P, N, STRIDE, NULL, s), MOEG_EINVAL, text);
        snprintf(text, sizeof text, "%s: p must be at least 1, got 0", names[f]);
        assert_status(add[f](0, N, STRIDE, x, s), MOEG_EINVAL, text);
        snprintf(text, sizeof text, "%s: stride must be at least n = 5, got 4", names[f]);
        assert_status(add[f](P, N, 4, x, s), MOEG_EINVAL, text);
        snprintf(text, sizeof text, "%s: values (3 x %zu) has more values than memory can hold", names[f],
                 SIZE_MAX / 2);
        assert_status(add[f](P, N, SIZE_MAX / 2, x, s), MOEG_EINVAL, text);
        const double bad[] = {NAN, INFINITY, -INFINITY};
        for (size_t at = 0; at < P * STRIDE; at++) {
            const double kept = x[at];
            x[at] = bad[at % 3];
            snprintf(text, sizeof text, "%s: values[%zu, %zu] must be finite, got %g", names[f], at / STRIDE,
                     at % STRIDE, bad[at % 3]);
            if (at % STRIDE < N)
                assert_status(add[f](P, N, STRIDE, x, s), MOEG_EINVAL, text);
            x[at] = kept;
        }
        assert_memory_equal(s, before, sizeof s);
        /* What lies between the variables is not looked at. */
        x[STRIDE - 1] = NAN;
        assert_ok(add[f](P, N, STRIDE, x, s));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(both_match_the_obvious_sums),
        cmocka_unit_test(a_large_mean_does_not_cancel),
        cmocka_unit_test(covariance_is_as_exact_as_moments),
        cmocka_unit_test(constants_have_no_variance),
        cmocka_unit_test(what_differs_has_a_variance),
        cmocka_unit_test(merging_is_adding),
        cmocka_unit_test(empty_states_are_neutral),
        cmocka_unit_test(counts_are_exact_to_2_53),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(batches_overflow_to_non_finite),
        cmocka_unit_test(squares_overflow_to_non_finite),
        cmocka_unit_test(bad_arguments_leave_the_state_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
