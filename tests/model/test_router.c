#include "model/alone.h"
#include "support/failing_alloc.h"

#include <moegeom/moegeom.h>

enum { K = 5, D = 3, N = 203 };

static const double W[K * D] = {0.8, -1.3, 0.21, 0.77, -0.46, 0.09, -1.9, 0.4, 0.33, 1.1, 1.2, -0.7, 0.05, 0.6, 2.385};
static const double b[K] = {0.12, -0.33, 0.05, -INFINITY, 0.7};

static void logits_are_affine(void **state)
{
    (void)state;
    double x[N * D], a[N * K];
    fill_values(1, N * D, 3, x);
    for (int with_bias = 0; with_bias < 2; with_bias++) {
        moeg_router *router;
        assert_ok(moeg_router_affine_create(&router, K, D, W, with_bias ? b : NULL));
        assert_int_equal(moeg_router_experts(router), K);
        assert_int_equal(moeg_router_dim(router), D);
        assert_ok(moeg_router_logits(router, N, x, a));
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < K; k++) {
                long double expected = with_bias ? b[k] : 0, size = fabsl(expected);
                for (size_t j = 0; j < D; j++) {
                    expected += (long double)W[k * D + j] * x[i * D + j];
                    size += fabsl((long double)W[k * D + j] * x[i * D + j]);
                }
                /* D products and sums, each rounded once. */
                const double tolerance = isinf((double)size) ? 0 : D * EPS * (double)size;
                assert_near(a[i * K + k], (double)expected, tolerance);
            }
        moeg_router_free(router);
    }
}

static void a_row_alone_is_the_row_in_a_batch(void **state)
{
    (void)state;
    double x[N * D];
    fill_values(2, N * D, 3, x);
    moeg_router *router;
    assert_ok(moeg_router_affine_create(&router, K, D, W, b));
    check_router_rows_stand_alone(router, N, x, 3);
    moeg_router_free(router);
}

/* Rows on which W x is 1e308 times something, with the expected logit. A mask stays a mask where W x overflows, and an
 * overflow downward is an overflow, not a mask. */
static void a_mask_is_no_overflow_and_an_overflow_no_mask(void **state)
{
    (void)state;
    const double weights[4] = {1, 0, 3, 0}, bias[2] = {0.5, -INFINITY}, x[4] = {1.25, 0, 1e308, 0};
    moeg_router *router;
    double a[4], margin[2];
    size_t top[2];
    assert_ok(moeg_router_affine_create(&router, 2, 2, weights, bias));
    assert_ok(moeg_router_logits(router, 2, x, a));
    const double expected[4] = {1.75, -INFINITY, 1e308, -INFINITY};
    assert_same_bits(a, expected, 4);
    assert_ok(moeg_router_margin(router, 2, x, margin));
    assert_near(margin[0], INFINITY, 0);
    assert_near(margin[1], INFINITY, 0);
    assert_ok(moeg_router_top(router, 2, x, 1, top));
    assert_int_equal(top[1], 0);
    moeg_router_free(router);

    assert_ok(moeg_router_affine_create(&router, 2, 2, weights, NULL));
    double y[4] = {1.25, 0, 1e308, 0};
    mark(4, a);
    mark(2, margin);
    const char *text = "the logit of row 1 and expert 1 overflows";
    for (double sign = -1; sign <= 1; sign += 2) {
        y[2] = sign * 1e308;
        assert_status(moeg_router_logits(router, 2, y, a), MOEG_ERANGE, text);
        assert_status(moeg_router_margin(router, 2, y, margin), MOEG_ERANGE, text);
        assert_status(moeg_router_top(router, 2, y, 1, top), MOEG_ERANGE, text);
    }
    assert_true(is_marked(4, a) && is_marked(2, margin));
    moeg_router_free(router);

    const double apart[4] = {1, 0, -1, 0};
    assert_ok(moeg_router_affine_create(&router, 2, 2, apart, NULL));
    assert_ok(moeg_router_logits(router, 2, y, a));
    assert_status(moeg_router_margin(router, 2, y, margin), MOEG_ERANGE,
                  "router_margin: the margin of row 1 overflows");
    assert_true(is_marked(2, margin));
    moeg_router_free(router);
}

static void parts_are_what_was_given(void **state)
{
    (void)state;
    moeg_router *router;
    const double *weights, *bias;
    assert_ok(moeg_router_affine_create(&router, K, D, W, b));
    assert_int_equal(moeg_router_affine_parts(router, &weights, &bias), 1);
    assert_same_bits(weights, W, K * D);
    assert_same_bits(bias, b, K);
    moeg_router_free(router);
    assert_ok(moeg_router_affine_create(&router, K, D, W, NULL));
    moeg_router_affine_parts(router, &weights, &bias);
    for (size_t k = 0; k < K; k++)
        assert_near(bias[k], 0, 0);
    moeg_router_free(router);
}

static void every_creation_error_is_named(void **state)
{
    (void)state;
    moeg_router *router = NULL;
    double weights[K * D], bias[K], all_masked[2] = {-INFINITY, -INFINITY};
    memcpy(weights, W, sizeof weights);
    memcpy(bias, b, sizeof bias);
    assert_status(moeg_router_affine_create(NULL, K, D, W, b), MOEG_EINVAL, "router_affine: router must not be NULL");
    assert_status(moeg_router_affine_create(&router, 0, D, W, b), MOEG_EINVAL,
                  "router_affine: K must be at least 1, got 0");
    assert_status(moeg_router_affine_create(&router, K, 0, W, b), MOEG_EINVAL,
                  "router_affine: d must be at least 1, got 0");
    assert_status(moeg_router_affine_create(&router, K, D, NULL, b), MOEG_EINVAL, "router_affine: W must not be NULL");
    assert_status(moeg_router_affine_create(&router, SIZE_MAX / 2, D, W, b), MOEG_EINVAL, "than memory can hold");
    const double bad[] = {NAN, INFINITY, -INFINITY};
    char text[80];
    for (size_t v = 0; v < 3; v++) {
        for (size_t i = 0; i < K * D; i++) {
            snprintf(text, sizeof text, "router_affine: W[%zu, %zu] must be finite, got", i / D, i % D);
            weights[i] = bad[v];
            assert_status(moeg_router_affine_create(&router, K, D, weights, b), MOEG_EINVAL, text);
            weights[i] = W[i];
        }
        for (size_t k = 0; k < K && v < 2; k++) {
            snprintf(text, sizeof text, "router_affine: b[%zu] must be finite or -inf, got", k);
            bias[k] = bad[v];
            assert_status(moeg_router_affine_create(&router, K, D, W, bias), MOEG_EINVAL, text);
            bias[k] = b[k];
        }
    }
    assert_status(moeg_router_affine_create(&router, 2, D, W, all_masked), MOEG_EINVAL, "b masks every expert");
    assert_null(router);
    moeg_router_free(NULL);
    assert_int_equal(moeg_router_experts(NULL), 0);
    assert_int_equal(moeg_router_dim(NULL), 0);
}

static void every_row_error_is_named_and_touches_nothing(void **state)
{
    (void)state;
    moeg_router *router;
    double x[70 * D], a[70 * K], margin[70];
    size_t top[70 * K];
    fill_values(4, 70 * D, 2, x);
    assert_ok(moeg_router_affine_create(&router, K, D, W, b));
    mark(70 * K, a);
    mark(70, margin);
    memset(top, 77, sizeof top);
    assert_status(moeg_router_logits(NULL, 70, x, a), MOEG_EINVAL, "router_logits: router must not be NULL");
    assert_status(moeg_router_margin(NULL, 70, x, margin), MOEG_EINVAL, "router_margin: router must not be NULL");
    assert_status(moeg_router_top(NULL, 70, x, 2, top), MOEG_EINVAL, "router_top: router must not be NULL");
    assert_status(moeg_router_logits(router, 70, NULL, a), MOEG_EINVAL, "router_logits: x must not be NULL");
    assert_status(moeg_router_logits(router, 70, x, NULL), MOEG_EINVAL, "router_logits: logits must not be NULL");
    assert_status(moeg_router_margin(router, 70, x, NULL), MOEG_EINVAL, "router_margin: margin must not be NULL");
    assert_status(moeg_router_top(router, 70, x, 2, NULL), MOEG_EINVAL, "router_top: index must not be NULL");
    assert_status(moeg_router_top(router, 70, x, 0, top), MOEG_EINVAL, "router_top: k must be in [1, K = 5], got 0");
    assert_status(moeg_router_top(router, 70, x, 6, top), MOEG_EINVAL, "router_top: k must be in [1, K = 5], got 6");
    assert_status(moeg_router_top(router, 70, x, 5, top), MOEG_EDOM, "router_top: row 0 has 4 finite logits");
    assert_status(moeg_router_logits(router, SIZE_MAX / 5, x, a), MOEG_EINVAL, "than memory can hold");
    for (size_t i = 0; i < 70 * D; i += 11) {
        char text[80];
        const double kept = x[i];
        snprintf(text, sizeof text, "x[%zu, %zu] must be finite, got -inf", i / D, i % D);
        x[i] = -INFINITY;
        assert_status(moeg_router_logits(router, 70, x, a), MOEG_EINVAL, text);
        assert_status(moeg_router_margin(router, 70, x, margin), MOEG_EINVAL, text);
        assert_status(moeg_router_top(router, 70, x, 2, top), MOEG_EINVAL, text);
        x[i] = kept;
    }
    x[69 * D] = 1e308;
    x[69 * D + 1] = -1e308;
    assert_status(moeg_router_logits(router, 70, x, a), MOEG_ERANGE, "the logit of row 69 and expert 0 overflows");
    assert_true(is_marked(70 * K, a) && is_marked(70, margin));
    for (size_t i = 0; i < sizeof top; i++)
        assert_int_equal(((unsigned char *)top)[i], 77);
    assert_ok(moeg_router_logits(router, 0, NULL, NULL));
    assert_ok(moeg_router_margin(router, 0, NULL, NULL));
    assert_ok(moeg_router_top(router, 0, NULL, 5, NULL));
    moeg_router_free(router);
}

static moeg_status create_and_route(void *user)
{
    (void)user;
    const double x[D] = {0.3, 1.2, -0.7};
    double a[K], margin = MARK;
    size_t top[2] = {77, 77};
    mark(K, a);
    moeg_router *router = NULL;
    moeg_status status = moeg_router_affine_create(&router, K, D, W, b);
    if (status != MOEG_OK) {
        assert_null(router);
        return status;
    }
    status = moeg_router_logits(router, 1, x, a);
    if (status != MOEG_OK)
        assert_true(is_marked(K, a));
    if (status == MOEG_OK && (status = moeg_router_margin(router, 1, x, &margin)) != MOEG_OK)
        assert_true(is_marked(1, &margin));
    if (status == MOEG_OK && (status = moeg_router_top(router, 1, x, 2, top)) != MOEG_OK)
        assert_int_equal(top[0], 77);
    moeg_router_free(router);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(fail_every_allocation(create_and_route, NULL), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_affine),
        cmocka_unit_test(a_row_alone_is_the_row_in_a_batch),
        cmocka_unit_test(a_mask_is_no_overflow_and_an_overflow_no_mask),
        cmocka_unit_test(parts_are_what_was_given),
        cmocka_unit_test(every_creation_error_is_named),
        cmocka_unit_test(every_row_error_is_named_and_touches_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
