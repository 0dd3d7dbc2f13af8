/* The uniform law on a box: against the stream itself, and its distribution. */
#include "model/laws.h"

enum { D = 3 };

static const double lo[D] = {-2.385, 0.7, 1e-3}, hi[D] = {1.1, 0.7001, 37.9};

static void samples_are_scaled_uniforms(void **state)
{
    (void)state;
    enum { N = 130 };
    double x[N * D], u[N * D];
    moeg_law *law;
    assert_ok(moeg_law_box_create(&law, D, lo, hi));
    assert_int_equal(moeg_law_dim(law), D);
    assert_int_equal(moeg_law_rows(law), 0);
    assert_ok(moeg_law_sample(law, 42, 1000, N, x));
    assert_ok(moeg_stream_uniforms((moeg_stream){42, 0}, 1000, N, D, u));
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < D; j++)
            assert_near(x[i * D + j], lo[j] + (hi[j] - lo[j]) * u[i * D + j], 0);
    check_samples_stand_alone(law, ~0ull, (1ull << 40) - 70);
    moeg_law_free(law);
    const double zero[D] = {0}, one[D] = {1, 1, 1};
    assert_ok(moeg_law_box_create(&law, D, zero, one));
    assert_ok(moeg_law_sample(law, 42, 1000, N, x));
    assert_same_bits(x, u, N * D);
    moeg_law_free(law);
}

static double uniform_cdf(double x, const void *user)
{
    const size_t j = *(const size_t *)user;
    return (x - lo[j]) / (hi[j] - lo[j]);
}

static double identity(double x)
{
    return x;
}

static void coordinates_are_uniform_and_uncorrelated(void **state)
{
    (void)state;
    enum { N = 20000 };
    static double x[N * D], values[N];
    moeg_law *law;
    assert_ok(moeg_law_box_create(&law, D, lo, hi));
    assert_ok(moeg_law_sample(law, 1, 0, N, x));
    for (size_t j = 0; j < D; j++) {
        for (size_t i = 0; i < N; i++)
            values[i] = x[i * D + j];
        assert_distribution(N, values, uniform_cdf, &j);
    }
    moeg_law_free(law);
    /* On [-1, 1]^d a product of two coordinates has mean 0 and variance 1/9. */
    const double minus[D] = {-1, -1, -1}, plus[D] = {1, 1, 1};
    assert_ok(moeg_law_box_create(&law, D, minus, plus));
    assert_ok(moeg_law_sample(law, 1, 0, N, x));
    for (size_t j = 0; j < D; j++)
        assert_near(mean_product(N, D, x, j, (j + 1) % D, identity), 0, 5 / (3 * sqrt(N)));
    moeg_law_free(law);
}

/* Sides of a few spacings, of all sizes, and across 0. */
static void samples_never_leave_the_box(void **state)
{
    (void)state;
    enum { SIDES = 400, N = 200 };
    static double left[SIDES], right[SIDES], x[N * SIDES];
    fill_values(6, SIDES, 3, left);
    fill_values(7, SIDES, 1, right);
    for (size_t j = 0; j < SIDES; j++) {
        left[j] = ldexp(left[j], (int)(j % 40) * 50 - 1000);
        if (j % 4 == 0)
            right[j] = nextafter(left[j], INFINITY);
        else if (j % 4 == 1)
            right[j] = nextafter(nextafter(nextafter(left[j], INFINITY), INFINITY), INFINITY);
        else if (j % 4 == 2)
            right[j] = left[j] + fabs(left[j]) * fabs(right[j]);
        else
            right[j] = fabs(left[j]) * EPS * (1 + fabs(right[j]));
        if (right[j] <= left[j])
            left[j] = -left[j];
    }
    moeg_law *law;
    assert_ok(moeg_law_box_create(&law, SIDES, left, right));
    assert_ok(moeg_law_sample(law, 2, 0, N, x));
    for (size_t i = 0; i < N * SIDES; i++)
        assert_true(x[i] >= left[i % SIDES] && x[i] <= right[i % SIDES]);
    moeg_law_free(law);
    const double least[1] = {-DBL_MAX}, most[1] = {0};
    assert_ok(moeg_law_box_create(&law, 1, least, most));
    assert_ok(moeg_law_sample(law, 2, 0, N, x));
    for (size_t i = 0; i < N; i++)
        assert_true(x[i] > -DBL_MAX && x[i] < 0);
    moeg_law_free(law);
}

static void every_error_is_named(void **state)
{
    (void)state;
    moeg_law *law = NULL;
    double a[D], b[D];
    char text[80];
    memcpy(a, lo, sizeof a);
    memcpy(b, hi, sizeof b);
    assert_status(moeg_law_box_create(NULL, D, a, b), MOEG_EINVAL, "law_box: law must not be NULL");
    assert_status(moeg_law_box_create(&law, 0, a, b), MOEG_EINVAL, "law_box: d must be in [1, 2^32), got 0");
    assert_status(moeg_law_box_create(&law, 1ull << 32, a, b), MOEG_EINVAL, "law_box: d must be in [1, 2^32)");
    assert_status(moeg_law_box_create(&law, D, NULL, b), MOEG_EINVAL, "law_box: lo must not be NULL");
    assert_status(moeg_law_box_create(&law, D, a, NULL), MOEG_EINVAL, "law_box: hi must not be NULL");
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t j = 0; j < D; j++) {
        for (size_t v = 0; v < 3; v++) {
            a[j] = bad[v];
            snprintf(text, sizeof text, "law_box: lo[%zu] must be finite, got", j);
            assert_status(moeg_law_box_create(&law, D, a, b), MOEG_EINVAL, text);
            a[j] = lo[j];
            b[j] = bad[v];
            snprintf(text, sizeof text, "law_box: hi[%zu] must be finite, got", j);
            assert_status(moeg_law_box_create(&law, D, a, b), MOEG_EINVAL, text);
            b[j] = hi[j];
        }
        b[j] = a[j];
        snprintf(text, sizeof text, "law_box: hi[%zu] must be above lo[%zu] = ", j, j);
        assert_status(moeg_law_box_create(&law, D, a, b), MOEG_EINVAL, text);
        b[j] = nextafter(a[j], -INFINITY);
        assert_status(moeg_law_box_create(&law, D, a, b), MOEG_EINVAL, text);
        a[j] = -1.1e308;
        b[j] = 1.2e308;
        snprintf(text, sizeof text, "law_box: hi[%zu] - lo[%zu] overflows: 1.2e+308 and -1.1e+308", j, j);
        assert_status(moeg_law_box_create(&law, D, a, b), MOEG_ERANGE, text);
        a[j] = lo[j];
        b[j] = hi[j];
    }
    assert_null(law);
}

static moeg_status create(moeg_law **law, void *user)
{
    (void)user;
    return moeg_law_box_create(law, D, lo, hi);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    check_law_allocations(create, NULL, D, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_scaled_uniforms), cmocka_unit_test(coordinates_are_uniform_and_uncorrelated),
        cmocka_unit_test(samples_never_leave_the_box), cmocka_unit_test(every_error_is_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
