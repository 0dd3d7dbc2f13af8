#include "model/model.h"
#include "model/rows.h"

#include <moegeom/moegeom.h>
#include <stdlib.h>

enum { MOST_EXPERTS = 140 };

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static double sorted_gap(size_t K, const double *logits, moeg_gap gap)
{
    double sorted[MOST_EXPERTS + 1];
    memcpy(sorted, logits, K * sizeof *sorted);
    qsort(sorted, K, sizeof *sorted, descending);
    sorted[K] = -INFINITY;
    return sorted[gap.upper - 1] - sorted[gap.lower - 1];
}

static void names_of_gaps(void **state)
{
    (void)state;
    const moeg_gap margin = moeg_gap_margin(), order = moeg_gap_order(3), top = moeg_gap_top(3);
    assert_true(margin.upper == 1 && margin.lower == 2);
    assert_true(order.upper == 1 && order.lower == 4);
    assert_true(top.upper == 3 && top.lower == 4);
}

/* Ties and masks, of every pair of ranks, against sorting; the first is the margin. */
static void gaps_match_sorting(void **state)
{
    (void)state;
    enum { N = 150, K = 7 };
    double a[N * K], gap[N], margin[N];
    fill_values(21, N * K, 3, a);
    for (size_t i = 0; i < N * K; i++)
        a[i] = i % 4 == 0 ? -INFINITY : i % 2 ? ceil(a[i]) : a[i];
    assert_ok(moeg_margin(N, K, a, margin));
    for (size_t lower = 2; lower <= K + 1; lower++)
        for (size_t upper = 1; upper < lower; upper++) {
            const moeg_gap ranks = {upper, lower};
            const moeg_status status = moeg_logit_gap(N, K, a, ranks, gap);
            assert_int_equal(status, upper <= 5 ? MOEG_OK : MOEG_EDOM); /* 5 or 6 logits of a row are finite */
            for (size_t i = 0; i < N && status == MOEG_OK; i++)
                assert_near(gap[i], sorted_gap(K, a + i * K, ranks), 0);
            if (lower == 2)
                assert_same_bits(gap, margin, N);
        }
    const double zeros[3] = {-0.0, 0, -1};
    assert_ok(moeg_logit_gap(1, 3, zeros, moeg_gap_margin(), gap));
    assert_true(gap[0] == 0 && !signbit(gap[0]));
    assert_ok(moeg_logit_gap(1, 1, zeros, moeg_gap_margin(), gap));
    assert_near(gap[0], INFINITY, 0);
    assert_ok(moeg_logit_gap(0, 3, NULL, moeg_gap_top(2), NULL));
}

static void every_gap_error_is_named_and_touches_nothing(void **state)
{
    (void)state;
    double logits[2 * 3] = {0.3, -INFINITY, 2.385, 1.5, 0.25, -INFINITY}, gap[2];
    mark(2, gap);
    const struct {
        size_t K;
        moeg_gap gap;
        const char *text;
    } wrong[] = {{1, {1, 3}, "<= K + 1 = 2, got 1 and 3"}, {1, {2, 3}, "<= K + 1 = 2, got 2 and 3"},
                 {3, {0, 1}, "<= K + 1 = 4, got 0 and 1"}, {3, {2, 2}, "<= K + 1 = 4, got 2 and 2"},
                 {3, {2, 1}, "<= K + 1 = 4, got 2 and 1"}, {3, {1, 5}, "<= K + 1 = 4, got 1 and 5"},
                 {3, {4, 5}, "<= K + 1 = 4, got 4 and 5"}, {3, {1, 0}, "<= K + 1 = 4, got 1 and 0"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_status(moeg_logit_gap(2, wrong[i].K, logits, wrong[i].gap, gap), MOEG_EINVAL, wrong[i].text);
        assert_non_null(strstr(moeg_last_error(), "logit_gap: the ranks of gap must be 1 <= upper < lower"));
    }
    assert_status(moeg_logit_gap(2, 0, logits, moeg_gap_margin(), gap), MOEG_EINVAL,
                  "logit_gap: K must be at least 1, got 0");
    const moeg_gap top = moeg_gap_top(2), order = moeg_gap_order(2);
    assert_status(moeg_logit_gap(2, 3, NULL, top, gap), MOEG_EINVAL, "logit_gap: logits must not be NULL");
    assert_status(moeg_logit_gap(2, 3, logits, top, NULL), MOEG_EINVAL, "logit_gap: out must not be NULL");
    assert_status(moeg_logit_gap(SIZE_MAX, 3, logits, top, gap), MOEG_EINVAL, "more values than memory can hold");
    for (size_t i = 0; i < 6; i++)
        for (int sign = 0; sign < 2; sign++) {
            char text[80];
            const double kept = logits[i];
            logits[i] = sign ? INFINITY : NAN;
            snprintf(text, sizeof text, "gap: logits[%zu, %zu] must be finite or -inf, got %g", i / 3, i % 3,
                     logits[i]);
            assert_status(moeg_logit_gap(2, 3, logits, moeg_gap_margin(), gap), MOEG_EINVAL, text);
            assert_status(moeg_logit_gap(2, 3, logits, order, gap), MOEG_EINVAL, text);
            logits[i] = kept;
        }
    logits[3] = -INFINITY;
    assert_status(moeg_logit_gap(2, 3, logits, top, gap), MOEG_EDOM, "row 1 has 1 finite logits, fewer than 2");
    logits[4] = -INFINITY;
    assert_status(moeg_logit_gap(2, 3, logits, order, gap), MOEG_EDOM, "row 1 has 0 finite logits, fewer than 1");
    const double far[6] = {1, 2, 3, 1e308, 0, -1e308};
    assert_status(moeg_logit_gap(2, 3, far, order, gap), MOEG_ERANGE, "logit_gap: the gap of row 1 overflows");
    assert_true(is_marked(2, gap));
    assert_ok(moeg_logit_gap(2, 3, far, top, gap));
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
    for (size_t lower = 2; lower <= K + 1; lower++)
        for (size_t upper = 1; upper < lower && upper <= 4; upper++) {
            assert_ok(moeg_router_gap(router, N, x, (moeg_gap){upper, lower}, gap));
            assert_ok(moeg_logit_gap(N, K, a, (moeg_gap){upper, lower}, expected));
            assert_same_bits(gap, expected, N);
            assert_true((gap[0] == INFINITY) == (lower >= 5));
        }
    mark(N, gap);
    assert_status(moeg_router_gap(NULL, N, x, moeg_gap_top(1), gap), MOEG_EINVAL,
                  "router_gap: router must not be NULL");
    assert_status(moeg_router_gap(router, N, x, moeg_gap_top(0), gap), MOEG_EINVAL,
                  "router_gap: the ranks of gap must be 1 <= upper < lower <= K + 1 = 6, got 0 and 1");
    assert_status(moeg_router_gap(router, N, x, moeg_gap_order(6), gap), MOEG_EINVAL, "got 1 and 7");
    assert_status(moeg_router_gap(router, N, NULL, moeg_gap_order(1), gap), MOEG_EINVAL, "x must not be NULL");
    assert_status(moeg_router_gap(router, N, x, moeg_gap_order(1), NULL), MOEG_EINVAL, "out must not be NULL");
    moeg_router_free(router);
    const double masked[K] = {0, 0, -INFINITY, -INFINITY, -INFINITY};
    assert_ok(moeg_router_affine_create(&router, K, D, W, masked));
    assert_status(moeg_router_gap(router, N, x, moeg_gap_top(3), gap), MOEG_EDOM,
                  "router_gap: row 0 has 2 finite logits, fewer than 3");
    moeg_router_free(router);
    const double steep[2] = {1e308, -1e308}, one[2] = {0.1, 1};
    assert_ok(moeg_router_affine_create(&router, 2, 1, steep, NULL));
    assert_status(moeg_router_gap(router, 2, one, moeg_gap_margin(), gap), MOEG_ERANGE,
                  "router_gap: the gap of row 1 overflows");
    assert_true(is_marked(N, gap));
    moeg_router_free(router);
}

/* Blocks of K units, in vectors or too deep for them, of every rank that stands for others and ranks past the last. */
static void check_block(size_t K, const double *a, size_t n, size_t stride, moeg_gap gap)
{
    double row[MOST_EXPERTS], out[64];
    assert_int_equal(moeg_gap_block(K, n, stride, a, gap, out), gap.upper > K ? 0 : n);
    for (size_t i = 0; i < n && gap.upper <= K; i++) {
        for (size_t j = 0; j < K; j++)
            row[j] = a[j * stride + i];
        assert_near(out[i], gap.lower > K ? INFINITY : sorted_gap(K, row, gap), 0);
        assert_false(signbit(out[i]));
    }
}

static void blocks_of_any_rank(void **state)
{
    (void)state;
    enum { STRIDE = 40, USED = 37 };
    static const size_t sizes[] = {1, 2, 3, 8, 64, 66, MOST_EXPERTS};
    double *a = malloc(MOST_EXPERTS * STRIDE * sizeof *a);
    assert_non_null(a);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t K = sizes[s], step = K / 5 + 1;
        fill_values(43, K * STRIDE, 2, a);
        for (size_t i = 0; i < K * STRIDE; i += 5)
            a[i] = ceil(a[i]);
        for (size_t lower = 2; lower <= K + 2; lower += lower < 6 ? 1 : step)
            for (size_t upper = 1; upper < lower; upper += upper < 3 ? 1 : step)
                check_block(K, a, USED, STRIDE, (moeg_gap){upper, lower});
        if (K > 1)
            check_block(K, a, USED, STRIDE, (moeg_gap){K - 1, K});
    }
    free(a);
}

/* The gap that decides, of each kind of gate; the first bad unit. */
static void blocks_are_rows(void **state)
{
    (void)state;
    enum { K = 5, STRIDE = 24, USED = 21 };
    double a[K * STRIDE], row[K], gap[STRIDE], expected;
    fill_values(41, K * STRIDE, 2, a);
    for (size_t k = 1; k < K; k++) {
        assert_int_equal(moeg_gap_block(K, USED, STRIDE, a, moeg_gap_order(k), gap), USED);
        for (size_t i = 0; i < USED; i++) {
            for (size_t j = 0; j < K; j++)
                row[j] = a[j * STRIDE + i];
            assert_ok(moeg_logit_gap(1, K, row, moeg_gap_order(k), &expected));
            assert_near(gap[i], expected, 0);
        }
        const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_topk_renorm(k), moeg_gate_topk_raw(k),
                                   moeg_gate_subset(k)};
        for (size_t g = 0; g < 4; g++) {
            assert_int_equal(moeg_gate_gap_block(gates[g], K, USED, STRIDE, a, gap), USED);
            for (size_t i = 0; i < USED; i++) {
                for (size_t j = 0; j < K; j++)
                    row[j] = a[j * STRIDE + i];
                assert_ok(moeg_logit_gap(1, K, row, moeg_gap_top(g == 3 ? k : 1), &expected));
                assert_near(gap[i], g == 1 && k == 1 ? INFINITY : expected, 0);
            }
        }
    }
    assert_int_equal(moeg_gate_gap_block(moeg_gate_subset(K), K, USED, STRIDE, a, gap), USED);
    assert_near(gap[USED - 1], INFINITY, 0);
    assert_int_equal(moeg_gap_block(K, USED, STRIDE, a, (moeg_gap){K, K + 1}, gap), USED);
    assert_near(gap[USED - 1], INFINITY, 0);
    a[2 * STRIDE + 17] = NAN;
    assert_int_equal(moeg_gap_block(K, USED, STRIDE, a, (moeg_gap){2, 3}, gap), 17);
    a[3 * STRIDE + 11] = INFINITY;
    assert_int_equal(moeg_gap_block(K, USED, STRIDE, a, (moeg_gap){2, 3}, gap), 11);
    for (size_t k = 1; k < K; k++)
        a[k * STRIDE + 4] = -INFINITY;
    assert_int_equal(moeg_gap_block(K, USED, STRIDE, a, (moeg_gap){2, 3}, gap), 4);
    /* Where the gates are constant, too, a unit must be such as the gate wants. */
    assert_int_equal(moeg_gate_gap_block(moeg_gate_subset(K), K, USED, STRIDE, a, gap), 4);
    assert_int_equal(moeg_gate_gap_block(moeg_gate_topk_renorm(2), K, USED, STRIDE, a, gap), 4);
    assert_int_equal(moeg_gate_gap_block(moeg_gate_topk_renorm(1), K, USED, STRIDE, a, gap), 11);
    a[0 * STRIDE + 2] = 1.7e308;
    a[1 * STRIDE + 2] = -1.7e308;
    assert_int_equal(moeg_gap_block(K, USED, STRIDE, a, (moeg_gap){1, 5}, gap), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_gaps),
        cmocka_unit_test(gaps_match_sorting),
        cmocka_unit_test(every_gap_error_is_named_and_touches_nothing),
        cmocka_unit_test(routers_give_the_gaps_of_their_logits),
        cmocka_unit_test(blocks_of_any_rank),
        cmocka_unit_test(blocks_are_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
