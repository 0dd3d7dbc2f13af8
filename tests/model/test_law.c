#include "base/memory.h"
#include "model/model.h"
#include "model/rows.h"
#include "support/failing_alloc.h"

#include <moegeom/moegeom.h>

enum { D = 3 };

static const double mean[D] = {0.7, -1.3, 2.385};
/* L L' of the factor below. */
static const double covariance[D * D] = {1.44, 0.36, -0.6, 0.36, 0.73, 0.17, -0.6, 0.17, 0.7};
static const double factor[D * D] = {1.2, 0, 0, 0.3, 0.8, 0, -0.5, 0.4, 0.53851648071345040};

static void identity_is_the_stream_itself(void **state)
{
    (void)state;
    enum { N = 77 };
    const double identity[D * D] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    moeg_law *plain, *given;
    double x[N * D], z[N * D], same[N * D];
    assert_ok(moeg_law_gaussian_create(&plain, D, NULL, NULL));
    assert_ok(moeg_law_sample(plain, 9, 1000, N, x));
    assert_ok(moeg_stream_normals((moeg_stream){9, 0}, 1000, N, D, z));
    for (size_t i = 0; i < N * D; i++)
        assert_near(x[i], z[i], 0);
    moeg_law_free(plain);

    assert_ok(moeg_law_gaussian_create(&given, D, mean, identity));
    assert_ok(moeg_law_gaussian_create(&plain, D, mean, NULL));
    assert_ok(moeg_law_sample(plain, 9, 1000, N, x));
    assert_ok(moeg_law_sample(given, 9, 1000, N, same));
    assert_same_bits(x, same, N * D);
    for (size_t i = 0; i < N * D; i++)
        assert_near(x[i], z[i] + mean[i % D], 0);
    moeg_law_free(plain);
    moeg_law_free(given);
}

static void samples_are_mean_plus_factor_times_normals(void **state)
{
    (void)state;
    enum { N = 130 };
    moeg_law *law;
    double x[N * D], z[N * D];
    assert_ok(moeg_law_gaussian_create(&law, D, mean, covariance));
    assert_int_equal(moeg_law_dim(law), D);
    assert_int_equal(moeg_law_rows(law), 0);
    assert_ok(moeg_law_sample(law, 42, 0, N, x));
    assert_ok(moeg_stream_normals((moeg_stream){42, 0}, 0, N, D, z));
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < D; j++) {
            double expected = mean[j];
            for (size_t q = 0; q <= j; q++)
                expected += factor[j * D + q] * z[i * D + q];
            /* Entries of the covariance and of the factor are right to an epsilon; |z| < 9. */
            assert_near(x[i * D + j], expected, 60 * EPS);
        }
    moeg_law_free(law);
}

/* Sample i depends on (law, seed, i) alone: in any batch, from any start, in a block of any stride. */
static void a_sample_alone_is_the_sample_in_a_batch(void **state)
{
    (void)state;
    enum { N = 150, STRIDE = 160 };
    moeg_law *law;
    double x[N * D], alone[D];
    assert_ok(moeg_law_gaussian_create(&law, D, mean, covariance));
    const uint64_t first = (1ull << 40) - 70;
    assert_ok(moeg_law_sample(law, ~0ull, first, N, x));
    for (size_t i = 0; i < N; i++) {
        assert_ok(moeg_law_sample(law, ~0ull, first + i, 1, alone));
        assert_same_bits(alone, x + i * D, D);
    }
    double *block = moeg_alloc(D * STRIDE + moeg_law_workspace(law, STRIDE), sizeof *block);
    assert_ok(moeg_law_draw(law, ~0ull, first, N, STRIDE, block, block + D * STRIDE));
    for (size_t i = 0; i < STRIDE; i++)
        for (size_t j = 0; j < D; j++) {
            if (i < N)
                assert_near(block[j * STRIDE + i], x[i * D + j], 0);
            assert_true(isfinite(block[j * STRIDE + i]));
        }
    moeg_release(block);
    moeg_law_free(law);
}

static void moments_are_those_asked_for(void **state)
{
    (void)state;
    enum { N = 40000 };
    static double x[N * D];
    moeg_law *law;
    assert_ok(moeg_law_gaussian_create(&law, D, mean, covariance));
    assert_ok(moeg_law_sample(law, 1, 0, N, x));
    for (size_t j = 0; j < D; j++)
        for (size_t k = 0; k < D; k++) {
            double sum = 0, product = 0;
            for (size_t i = 0; i < N; i++) {
                sum += x[i * D + j] - mean[j];
                product += (x[i * D + j] - mean[j]) * (x[i * D + k] - mean[k]);
            }
            const double vj = covariance[j * D + j], vk = covariance[k * D + k], c = covariance[j * D + k];
            /* Five standard errors of a mean and of a mean product. */
            assert_near(sum / N, 0, 5 * sqrt(vj / N));
            assert_near(product / N, c, 5 * sqrt((vj * vk + c * c) / N));
        }
    moeg_law_free(law);
}

/* Variances far apart are no rank: five standard errors of a mean square, in units of the variance. */
static void moments_have_no_units(void **state)
{
    (void)state;
    enum { N = 1000 };
    static double x[N * D];
    static const double variances[][D] = {{1, 1e17, 1}, {1e-200, 1, 1e200}, {1e300, 1e-300, 5e-324}};
    for (size_t v = 0; v < 3; v++) {
        double S[D * D] = {0}, square[D] = {0};
        moeg_law *law;
        for (size_t j = 0; j < D; j++)
            S[j * (D + 1)] = variances[v][j];
        assert_ok(moeg_law_gaussian_create(&law, D, NULL, S));
        assert_ok(moeg_law_sample(law, 1, 0, N, x));
        for (size_t i = 0; i < N * D; i++)
            square[i % D] += pow(x[i] / sqrt(variances[v][i % D]), 2) / N;
        for (size_t j = 0; j < D; j++)
            assert_near(square[j], 1, 5 * sqrt(2.0 / N));
        moeg_law_free(law);
    }
}

static void a_singular_covariance_stays_on_its_plane(void **state)
{
    (void)state;
    enum { N = 4000 };
    static double x[N * 2];
    const double v[2] = {1.7, -0.6}, S[4] = {v[0] * v[0], v[0] * v[1], v[1] * v[0], v[1] * v[1]}, zero[4] = {0};
    moeg_law *law;
    assert_ok(moeg_law_gaussian_create(&law, 2, NULL, S));
    assert_ok(moeg_law_sample(law, 5, 0, N, x));
    double square = 0;
    for (size_t i = 0; i < N; i++) {
        const double along = (x[i * 2] * v[0] + x[i * 2 + 1] * v[1]) / (v[0] * v[0] + v[1] * v[1]);
        square += along * along / N;
        assert_near(x[i * 2] * v[1] - x[i * 2 + 1] * v[0], 0, 40 * EPS);
    }
    assert_near(square, 1, 5 * sqrt(2.0 / N));
    moeg_law_free(law);
    assert_ok(moeg_law_gaussian_create(&law, 2, mean, zero));
    assert_ok(moeg_law_sample(law, 5, 0, 3, x));
    for (size_t i = 0; i < 6; i++)
        assert_near(x[i], mean[i % 2], 0);
    moeg_law_free(law);
}

static void nothing_overflows(void **state)
{
    (void)state;
    const double huge_mean[2] = {DBL_MAX, -DBL_MAX}, S[4] = {1.7e308, 1e307, 1e307, 1.7e308};
    moeg_law *law;
    double x[200 * 2];
    assert_ok(moeg_law_gaussian_create(&law, 2, huge_mean, S));
    assert_ok(moeg_law_sample(law, 5, 0, 200, x));
    for (size_t i = 0; i < 400; i++)
        assert_true(isfinite(x[i]));
    moeg_law_free(law);
}

static void parts_are_what_was_given(void **state)
{
    (void)state;
    moeg_law *law;
    const double *m, *S;
    double rough[D * D];
    memcpy(rough, covariance, sizeof rough);
    rough[1] += 1e-13; /* rounding, not asymmetry: the two are averaged */
    assert_ok(moeg_law_gaussian_create(&law, D, mean, rough));
    assert_int_equal(moeg_law_gaussian_parts(law, &m, &S), 1);
    assert_same_bits(m, mean, D);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++) {
            assert_near(S[i * D + j], (rough[i * D + j] + rough[j * D + i]) / 2, EPS / 4);
            assert_near(S[i * D + j], S[j * D + i], 0);
        }
    moeg_law_free(law);

    assert_ok(moeg_law_gaussian_create(&law, D, NULL, NULL));
    assert_int_equal(moeg_law_gaussian_parts(law, &m, &S), 1);
    for (size_t j = 0; j < D; j++)
        assert_near(m[j], 0, 0);
    assert_null(S);
    moeg_law_free(law);

    assert_ok(moeg_law_empirical_create(&law, 3, D, covariance, NULL));
    assert_int_equal(moeg_law_gaussian_parts(law, &m, &S), 0);
    moeg_law_free(law);
}

static void an_empirical_law_is_its_rows(void **state)
{
    (void)state;
    enum { N = 70, STRIDE = 72 };
    double data[N * D], copy[N * D], x[N * D], block[D * STRIDE];
    fill_values(1, N * D, 3, data);
    memcpy(copy, data, sizeof data);
    moeg_law *law;
    assert_ok(moeg_law_empirical_create(&law, N, D, data, NULL));
    mark(N * D, data);
    assert_int_equal(moeg_law_dim(law), D);
    assert_int_equal(moeg_law_rows(law), N);
    assert_ok(moeg_law_sample(law, 3, 0, N, x));
    assert_same_bits(x, copy, N * D);
    assert_ok(moeg_law_sample(law, 4, 66, 4, x));
    assert_same_bits(x, copy + 66 * D, 4 * D);
    assert_int_equal(moeg_law_workspace(law, STRIDE), 0);
    assert_ok(moeg_law_draw(law, 3, 20, 50, STRIDE, block, NULL));
    for (size_t i = 0; i < STRIDE; i++)
        for (size_t j = 0; j < D; j++)
            assert_near(block[j * STRIDE + i], copy[(i < 50 ? 20 + i : 69) * D + j], 0);

    mark(N * D, x);
    assert_status(moeg_law_sample(law, 1, 0, N + 1, x), MOEG_EINVAL, "law_sample: samples 0 .. 0 + 71 - 1");
    assert_status(moeg_law_sample(law, 1, 67, 4, x), MOEG_EINVAL, "go past the end at 70");
    assert_status(moeg_law_sample(law, 1, UINT64_MAX, 4, x), MOEG_EINVAL, "go past the end");
    assert_true(is_marked(N * D, x));
    assert_ok(moeg_law_sample(law, 1, N, 0, NULL));
    moeg_law_free(law);
}

static void every_gaussian_error_is_named(void **state)
{
    (void)state;
    moeg_law *law = NULL;
    double m[D], S[D * D];
    memcpy(m, mean, sizeof m);
    memcpy(S, covariance, sizeof S);
    assert_status(moeg_law_gaussian_create(NULL, D, m, S), MOEG_EINVAL, "law_gaussian: law must not be NULL");
    assert_status(moeg_law_gaussian_create(&law, 0, m, S), MOEG_EINVAL, "law_gaussian: d must be in [1, 2^32), got 0");
    assert_status(moeg_law_gaussian_create(&law, 1ull << 32, NULL, NULL), MOEG_EINVAL, "d must be in [1, 2^32)");
    const double bad[] = {NAN, INFINITY, -INFINITY};
    char text[80];
    for (size_t v = 0; v < 3; v++) {
        for (size_t i = 0; i < D; i++) {
            snprintf(text, sizeof text, "law_gaussian: mean[%zu] must be finite, got", i);
            m[i] = bad[v];
            assert_status(moeg_law_gaussian_create(&law, D, m, S), MOEG_EINVAL, text);
            m[i] = mean[i];
        }
        for (size_t i = 0; i < D * D; i++) {
            snprintf(text, sizeof text, "law_gaussian: covariance[%zu, %zu] must be finite, got", i / D, i % D);
            S[i] = bad[v];
            assert_status(moeg_law_gaussian_create(&law, D, m, S), MOEG_EINVAL, text);
            S[i] = covariance[i];
        }
    }
    S[2 * D + 1] += 2e-12;
    assert_status(moeg_law_gaussian_create(&law, D, m, S), MOEG_EINVAL,
                  "law_gaussian: covariance must be symmetric, got 0.170000000002");
    assert_status(moeg_law_gaussian_create(&law, D, m, S), MOEG_EINVAL, "at [2, 1] and 0.17");
    const double far[4] = {1e308, 1e308, -1e308, 1e308};
    assert_status(moeg_law_gaussian_create(&law, 2, m, far), MOEG_EINVAL, "must be symmetric");
    /* What is rounding next to one variance is not next to the other. */
    const double lopsided[4] = {1, 1e4, 0, 1e17}, rounded[4] = {1, 1e8, 1e8 * (1 + 4 * EPS), 1e17};
    assert_status(moeg_law_gaussian_create(&law, 2, m, lopsided), MOEG_EINVAL, "must be symmetric");
    assert_ok(moeg_law_gaussian_create(&law, 2, m, rounded));
    moeg_law_free(law);
    law = NULL;
    const double indefinite[4] = {1, 2, 2, 1};
    assert_status(moeg_law_gaussian_create(&law, 2, m, indefinite), MOEG_EINVAL, "-0.25");
    assert_null(law);
}

static void every_other_error_is_named(void **state)
{
    (void)state;
    moeg_law *law = NULL;
    double x[6] = {1, 2, 3, 4, 5, 2.385};
    assert_status(moeg_law_empirical_create(NULL, 2, 3, x, NULL), MOEG_EINVAL, "law_empirical: law must not be NULL");
    assert_status(moeg_law_empirical_create(&law, 0, 3, x, NULL), MOEG_EINVAL, "got n = 0, d = 3");
    assert_status(moeg_law_empirical_create(&law, 2, 0, x, NULL), MOEG_EINVAL, "got n = 2, d = 0");
    assert_status(moeg_law_empirical_create(&law, 2, 3, NULL, NULL), MOEG_EINVAL, "law_empirical: x must not be NULL");
    assert_status(moeg_law_empirical_create(&law, SIZE_MAX / 8, 3, x, NULL), MOEG_EINVAL, "than memory can hold");
    x[4] = -INFINITY;
    assert_status(moeg_law_empirical_create(&law, 2, 3, x, NULL), MOEG_EINVAL, "x[1, 1] must be finite, got -inf");
    assert_null(law);

    assert_ok(moeg_law_gaussian_create(&law, 3, NULL, NULL));
    mark(6, x);
    assert_status(moeg_law_sample(NULL, 1, 0, 2, x), MOEG_EINVAL, "law_sample: law must not be NULL");
    assert_status(moeg_law_sample(law, 1, 0, 2, NULL), MOEG_EINVAL, "law_sample: x must not be NULL");
    assert_status(moeg_law_sample(law, 1, UINT64_MAX, 2, x), MOEG_EINVAL, "+ 2 - 1 go past 2^64");
    double last[3];
    assert_ok(moeg_law_sample(law, 1, UINT64_MAX, 1, last));
    assert_status(moeg_law_sample(law, 1, 0, SIZE_MAX / 4, x), MOEG_EINVAL, "than memory can hold");
    assert_true(is_marked(6, x));
    assert_ok(moeg_law_sample(law, 1, 0, 0, NULL));
    moeg_law_free(law);
    moeg_law_free(NULL);
    assert_int_equal(moeg_law_dim(NULL), 0);
    assert_int_equal(moeg_law_rows(NULL), 0);
}

/* `user` is the covariance, which may be NULL. */
static moeg_status create_and_sample(void *user)
{
    moeg_law *gaussian = NULL, *empirical = NULL;
    double x[D * D];
    mark(D * D, x);
    moeg_status status = moeg_law_gaussian_create(&gaussian, D, mean, user);
    if (status == MOEG_OK)
        status = moeg_law_empirical_create(&empirical, 3, D, covariance, NULL);
    if (status == MOEG_OK)
        status = moeg_law_sample(gaussian, 1, 0, 3, x);
    if (status != MOEG_OK)
        assert_true(is_marked(D * D, x));
    moeg_law_free(gaussian);
    moeg_law_free(empirical);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    double S[D * D];
    memcpy(S, covariance, sizeof S);
    assert_int_equal(fail_every_allocation(create_and_sample, NULL), 3);
    assert_true(fail_every_allocation(create_and_sample, S) >= 3);
    const double singular[D * D] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    memcpy(S, singular, sizeof S);
    assert_true(fail_every_allocation(create_and_sample, S) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity_is_the_stream_itself),
        cmocka_unit_test(samples_are_mean_plus_factor_times_normals),
        cmocka_unit_test(a_sample_alone_is_the_sample_in_a_batch),
        cmocka_unit_test(moments_are_those_asked_for),
        cmocka_unit_test(moments_have_no_units),
        cmocka_unit_test(a_singular_covariance_stays_on_its_plane),
        cmocka_unit_test(nothing_overflows),
        cmocka_unit_test(parts_are_what_was_given),
        cmocka_unit_test(an_empirical_law_is_its_rows),
        cmocka_unit_test(every_gaussian_error_is_named),
        cmocka_unit_test(every_other_error_is_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
