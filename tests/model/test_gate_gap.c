#include "model/model.h"
#include "model/rows.h"

#include <moegeom/moegeom.h>
#include <stdlib.h>

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Ties and masks, against sorting; for k = 1 the margin. */
static void gaps_match_sorting(void **state)
{
    (void)state;
    enum { N = 150, K = 7 };
    double a[N * K], top[N], order[N], margin[N], sorted[K + 1] = {[K] = -INFINITY};
    fill_values(21, N * K, 3, a);
    for (size_t i = 0; i < N * K; i++)
        a[i] = i % 4 == 0 ? -INFINITY : i % 2 ? ceil(a[i]) : a[i];
    assert_ok(moeg_margin(N, K, a, margin));
    for (size_t k = 1; k <= K; k++) {
        const moeg_status status = moeg_top_gap(N, K, a, k, top);
        assert_int_equal(status, k <= 5 ? MOEG_OK : MOEG_EDOM); /* 5 or 6 logits of a row are finite */
        assert_ok(moeg_order_gap(N, K, a, k, order));
        for (size_t i = 0; i < N; i++) {
            memcpy(sorted, a + i * K, K * sizeof *sorted);
            qsort(sorted, K, sizeof *sorted, descending);
            if (status == MOEG_OK)
                assert_near(top[i], sorted[k - 1] - sorted[k], 0);
            assert_near(order[i], sorted[0] - sorted[k], 0);
        }
        if (k == 1) {
            assert_same_bits(top, margin, N);
            assert_same_bits(order, margin, N);
        }
    }
    const double zeros[3] = {-0.0, 0, -1};
    assert_ok(moeg_top_gap(1, 3, zeros, 1, top));
    assert_true(top[0] == 0 && !signbit(top[0]));
    assert_ok(moeg_top_gap(0, 3, NULL, 2, NULL));
    assert_ok(moeg_order_gap(0, 3, NULL, 2, NULL));
}

static void every_gap_error_is_named_and_touches_nothing(void **state)
{
    (void)state;
    double logits[2 * 3] = {0.3, -INFINITY, 2.385, 1.5, 0.25, -INFINITY}, gap[2];
    mark(2, gap);
    assert_status(moeg_top_gap(2, 0, logits, 1, gap), MOEG_EINVAL, "top_gap: K must be at least 1, got 0");
    assert_status(moeg_order_gap(2, 0, logits, 1, gap), MOEG_EINVAL, "order_gap: K must be at least 1, got 0");
    assert_status(moeg_top_gap(2, 3, logits, 0, gap), MOEG_EINVAL, "top_gap: k must be in [1, K = 3], got 0");
    assert_status(moeg_order_gap(2, 3, logits, 4, gap), MOEG_EINVAL, "order_gap: r must be in [1, K = 3], got 4");
    assert_status(moeg_top_gap(2, 3, NULL, 1, gap), MOEG_EINVAL, "top_gap: logits must not be NULL");
    assert_status(moeg_top_gap(2, 3, logits, 1, NULL), MOEG_EINVAL, "top_gap: gap must not be NULL");
    assert_status(moeg_top_gap(SIZE_MAX, 3, logits, 1, gap), MOEG_EINVAL, "more values than memory can hold");
    for (size_t i = 0; i < 6; i++)
        for (int sign = 0; sign < 2; sign++) {
            char text[80];
            const double kept = logits[i];
            logits[i] = sign ? INFINITY : NAN;
            snprintf(text, sizeof text, "gap: logits[%zu, %zu] must be finite or -inf, got %g", i / 3, i % 3,
                     logits[i]);
            assert_status(moeg_top_gap(2, 3, logits, 1, gap), MOEG_EINVAL, text);
            assert_status(moeg_order_gap(2, 3, logits, 2, gap), MOEG_EINVAL, text);
            logits[i] = kept;
        }
    logits[3] = -INFINITY;
    assert_status(moeg_top_gap(2, 3, logits, 2, gap), MOEG_EDOM, "top_gap: row 1 has 1 finite logits, fewer than 2");
    logits[4] = -INFINITY;
    assert_status(moeg_order_gap(2, 3, logits, 2, gap), MOEG_EDOM,
                  "order_gap: row 1 has 0 finite logits, fewer than 1");
    const double far[6] = {1, 2, 3, 1e308, 0, -1e308};
    assert_status(moeg_order_gap(2, 3, far, 2, gap), MOEG_ERANGE, "order_gap: the gap of row 1 overflows");
    assert_true(is_marked(2, gap));
    assert_ok(moeg_top_gap(2, 3, far, 2, gap));
    assert_near(gap[1], 1e308, 0);
}

static void routers_give_the_gaps_of_their_logits(void **state)
{
    (void)state;
    enum { N = 131, K = 5, D = 3 };
    double W[K * D], b[K] = {0.3, -0.2, -INFINITY, 0.15, 1.1}, x[N * D], a[N * K], gap[N], expected[N];
    fill_values(31, K * D, 1, W);
    fill_values(32, N * D, 2, x);
    moeg_router *router;
    assert_ok(moeg_router_affine_create(&router, K, D, W, b));
    assert_ok(moeg_router_logits(router, N, x, a));
    for (size_t k = 1; k <= K; k++) {
        if (k < K) {
            assert_ok(moeg_router_top_gap(router, N, x, k, gap));
            assert_ok(moeg_top_gap(N, K, a, k, expected));
            assert_same_bits(gap, expected, N);
        }
        assert_ok(moeg_router_order_gap(router, N, x, k, gap));
        assert_ok(moeg_order_gap(N, K, a, k, expected));
        assert_same_bits(gap, expected, N);
        assert_true((gap[0] == INFINITY) == (k >= 4));
    }
    mark(N, gap);
    assert_status(moeg_router_top_gap(NULL, N, x, 1, gap), MOEG_EINVAL, "router_top_gap: router must not be NULL");
    assert_status(moeg_router_top_gap(router, N, x, 0, gap), MOEG_EINVAL,
                  "router_top_gap: k must be in [1, K = 5], got 0");
    assert_status(moeg_router_order_gap(router, N, x, 6, gap), MOEG_EINVAL, "router_order_gap: r must be in");
    assert_status(moeg_router_order_gap(router, N, NULL, 1, gap), MOEG_EINVAL, "router_order_gap: x must not be NULL");
    assert_status(moeg_router_order_gap(router, N, x, 1, NULL), MOEG_EINVAL, "router_order_gap: gap must not be NULL");
    moeg_router_free(router);
    const double masked[K] = {0, 0, -INFINITY, -INFINITY, -INFINITY};
    assert_ok(moeg_router_affine_create(&router, K, D, W, masked));
    assert_status(moeg_router_top_gap(router, N, x, 3, gap), MOEG_EDOM,
                  "router_top_gap: row 0 has 2 finite logits, fewer than 3");
    moeg_router_free(router);
    const double steep[2] = {1e308, -1e308}, one[2] = {0.1, 1};
    assert_ok(moeg_router_affine_create(&router, 2, 1, steep, NULL));
    assert_status(moeg_router_top_gap(router, 2, one, 1, gap), MOEG_ERANGE,
                  "router_top_gap: the gap of row 1 overflows");
    assert_true(is_marked(N, gap));
    moeg_router_free(router);
}

/* The gap that decides, of each kind of gate; the first bad unit. */
static void blocks_are_rows(void **state)
{
    (void)state;
    enum { K = 5, STRIDE = 24, USED = 21 };
    double a[K * STRIDE], row[K], gap[STRIDE], expected;
    fill_values(41, K * STRIDE, 2, a);
    for (size_t k = 1; k < K; k++) {
        assert_int_equal(moeg_gap_block(K, USED, STRIDE, a, 1, k + 1, gap), USED);
        for (size_t i = 0; i < USED; i++) {
            for (size_t j = 0; j < K; j++)
                row[j] = a[j * STRIDE + i];
            assert_ok(moeg_order_gap(1, K, row, k, &expected));
            assert_near(gap[i], expected, 0);
        }
        const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_topk_renorm(k), moeg_gate_topk_raw(k),
                                   moeg_gate_subset(k)};
        for (size_t g = 0; g < 4; g++) {
            assert_int_equal(moeg_gate_gap_block(gates[g], K, USED, STRIDE, a, gap), USED);
            for (size_t i = 0; i < USED; i++) {
                for (size_t j = 0; j < K; j++)
                    row[j] = a[j * STRIDE + i];
                assert_ok(moeg_top_gap(1, K, row, g == 3 ? k : 1, &expected));
                assert_near(gap[i], g == 1 && k == 1 ? INFINITY : expected, 0);
            }
        }
    }
    assert_int_equal(moeg_gate_gap_block(moeg_gate_subset(K), K, USED, STRIDE, a, gap), USED);
    assert_near(gap[USED - 1], INFINITY, 0);
    assert_int_equal(moeg_gap_block(K, USED, STRIDE, a, K, K + 1, gap), USED);
    assert_near(gap[USED - 1], INFINITY, 0);
    a[2 * STRIDE + 17] = NAN;
    assert_int_equal(moeg_gap_block(K, USED, STRIDE, a, 2, 3, gap), 17);
    a[3 * STRIDE + 11] = INFINITY;
    assert_int_equal(moeg_gap_block(K, USED, STRIDE, a, 2, 3, gap), 11);
    for (size_t k = 1; k < K; k++)
        a[k * STRIDE + 4] = -INFINITY;
    assert_int_equal(moeg_gap_block(K, USED, STRIDE, a, 2, 3, gap), 4);
    /* Where the gates are constant, too, a unit must be such as the gate wants. */
    assert_int_equal(moeg_gate_gap_block(moeg_gate_subset(K), K, USED, STRIDE, a, gap), 4);
    assert_int_equal(moeg_gate_gap_block(moeg_gate_topk_renorm(2), K, USED, STRIDE, a, gap), 4);
    assert_int_equal(moeg_gate_gap_block(moeg_gate_topk_renorm(1), K, USED, STRIDE, a, gap), 11);
    a[0 * STRIDE + 2] = 1.7e308;
    a[1 * STRIDE + 2] = -1.7e308;
    assert_int_equal(moeg_gap_block(K, USED, STRIDE, a, 1, 5, gap), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_match_sorting),
        cmocka_unit_test(every_gap_error_is_named_and_touches_nothing),
        cmocka_unit_test(routers_give_the_gaps_of_their_logits),
        cmocka_unit_test(blocks_are_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
