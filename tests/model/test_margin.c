#include "base/memory.h"
#include "model/model.h"
#include "model/rows.h"

#include <moegeom/moegeom.h>

/* The slow obvious way: index of the largest among those not yet taken, the lowest of equal ones. */
static void select_in_order(size_t K, const double *a, size_t k, size_t *index)
{
    for (size_t r = 0; r < k; r++) {
        size_t best = K;
        for (size_t j = 0; j < K; j++) {
            int taken = 0;
            for (size_t q = 0; q < r; q++)
                taken |= index[q] == j;
            if (!taken && (best == K || a[j] > a[best]))
                best = j;
        }
        index[r] = best;
    }
}

static void ties_go_to_the_lowest_index_and_prefixes_agree(void **state)
{
    (void)state;
    const double z[5] = {1, 2, 5, 4, 5};
    const size_t expected[3] = {2, 4, 3};
    size_t index[3];
    double margin;
    for (size_t k = 1; k <= 3; k++) {
        assert_ok(moeg_top(1, 5, z, k, index));
        assert_memory_equal(index, expected, k * sizeof *index);
    }
    assert_ok(moeg_margin(1, 5, z, &margin));
    assert_near(margin, 0, 0);
    const double equal[2] = {2, 2}, zeros[4] = {-0.0, 0.0, 0.0, -0.0};
    assert_ok(moeg_margin(1, 2, equal, &margin));
    assert_near(margin, 0, 0);
    for (size_t i = 0; i < 4; i += 2) {
        assert_ok(moeg_margin(1, 2, zeros + i, &margin));
        assert_true(margin == 0 && !signbit(margin));
        assert_ok(moeg_top(1, 2, zeros + i, 1, index));
        assert_int_equal(index[0], 0);
    }
}

/* Logits of few levels, so that ties and masks abound. */
static void top_and_margin_match_slow_selection(void **state)
{
    (void)state;
    enum { N = 200, K = 9 };
    double a[N * K], margin[N];
    size_t index[N * K], expected[K], alone[K];
    fill_values(3, N * K, 4, a);
    for (size_t i = 0; i < N * K; i++)
        a[i] = i % 2 ? a[i] : floor(a[i]);
    for (size_t i = 0; i < N; i += 3)
        a[i * K + i % K] = -INFINITY;
    for (size_t k = 1; k < K; k++) {
        assert_ok(moeg_top(N, K, a, k, index));
        for (size_t i = 0; i < N; i++) {
            select_in_order(K, a + i * K, k, expected);
            assert_memory_equal(index + i * k, expected, k * sizeof *index);
            assert_ok(moeg_top(1, K, a + i * K, k, alone));
            assert_memory_equal(alone, expected, k * sizeof *index);
        }
    }
    assert_ok(moeg_margin(N, K, a, margin));
    for (size_t i = 0; i < N; i++) {
        select_in_order(K, a + i * K, 2, expected);
        assert_near(margin[i], a[i * K + expected[0]] - a[i * K + expected[1]], 0);
    }
    double all[K];
    fill_values(5, K, 4, all);
    assert_ok(moeg_top(1, K, all, K, index));
    select_in_order(K, all, K, expected);
    assert_memory_equal(index, expected, sizeof expected);
}

static void margins_at_the_edges(void **state)
{
    (void)state;
    double margin[4];
    const double logits[4][3] = {
        {-INFINITY, 3.5, -INFINITY}, {1.5, -INFINITY, 1.25}, {-1e308, -9e307, -INFINITY}, {5e-324, 0, -1}};
    assert_ok(moeg_margin(4, 3, logits[0], margin));
    assert_near(margin[0], INFINITY, 0);
    assert_near(margin[1], 0.25, 0);
    assert_near(margin[2], -9e307 + 1e308, 0);
    assert_near(margin[3], 5e-324, 0);
    assert_ok(moeg_margin(0, 3, NULL, NULL));
    size_t index;
    assert_ok(moeg_top(0, 3, NULL, 2, NULL));
    assert_ok(moeg_top(1, 1, logits[1], 1, &index));
    assert_int_equal(index, 0);
}

static void every_margin_error_is_named_and_touches_nothing(void **state)
{
    (void)state;
    double margin[2], logits[2 * 3] = {0.3, -INFINITY, 2.385, 1.5, 0.25, -7};
    mark(2, margin);
    assert_status(moeg_margin(2, 0, logits, margin), MOEG_EINVAL, "margin: K must be at least 1, got 0");
    assert_status(moeg_margin(2, 3, NULL, margin), MOEG_EINVAL, "margin: logits must not be NULL");
    assert_status(moeg_margin(2, 3, logits, NULL), MOEG_EINVAL, "margin: margin must not be NULL");
    assert_status(moeg_margin(SIZE_MAX, 3, logits, margin), MOEG_EINVAL, "more values than memory can hold");
    for (size_t i = 0; i < 6; i++) {
        char text[80];
        const double kept = logits[i];
        snprintf(text, sizeof text, "margin: logits[%zu, %zu] must be finite or -inf, got nan", i / 3, i % 3);
        logits[i] = NAN;
        assert_status(moeg_margin(2, 3, logits, margin), MOEG_EINVAL, text);
        logits[i] = INFINITY;
        assert_status(moeg_margin(2, 3, logits, margin), MOEG_EINVAL, "got inf");
        logits[i] = kept;
    }
    const double both[3] = {INFINITY, INFINITY, 3}, masked[4] = {1, 2, -INFINITY, -INFINITY};
    assert_status(moeg_margin(1, 3, both, margin), MOEG_EINVAL, "logits[0, 0]");
    assert_status(moeg_margin(2, 2, masked, margin), MOEG_EDOM, "margin: row 1 has 0 finite logits, fewer than 1");
    const double far[4] = {1, 2, 1e308, -1e308};
    assert_status(moeg_margin(2, 2, far, margin), MOEG_ERANGE, "margin: the margin of row 1 overflows");
    assert_true(is_marked(2, margin));
}

static void every_top_error_is_named_and_touches_nothing(void **state)
{
    (void)state;
    double logits[2 * 3] = {0.3, -1.25, 2.385, 1.5, -INFINITY, -7};
    size_t index[6] = {77, 77, 77, 77, 77, 77};
    const size_t untouched[6] = {77, 77, 77, 77, 77, 77};
    assert_status(moeg_top(2, 3, logits, 0, index), MOEG_EINVAL, "top: k must be in [1, K = 3], got 0");
    assert_status(moeg_top(2, 3, logits, 4, index), MOEG_EINVAL, "top: k must be in [1, K = 3], got 4");
    assert_status(moeg_top(2, 3, NULL, 2, index), MOEG_EINVAL, "top: logits must not be NULL");
    assert_status(moeg_top(2, 3, logits, 2, NULL), MOEG_EINVAL, "top: index must not be NULL");
    assert_status(moeg_top(2, 3, logits, 3, index), MOEG_EDOM, "top: row 1 has 2 finite logits, fewer than 3");
    assert_status(moeg_top(SIZE_MAX, 3, logits, 2, index), MOEG_EINVAL, "more values than memory can hold");
    logits[4] = NAN;
    assert_status(moeg_top(2, 3, logits, 1, index), MOEG_EINVAL, "top: logits[1, 1] must be finite or -inf, got nan");
    logits[4] = INFINITY;
    assert_status(moeg_top(2, 3, logits, 1, index), MOEG_EINVAL, "got inf");
    assert_memory_equal(index, untouched, sizeof index);
}

/* A block (K x stride) of logits with its best experts and margins. */
typedef struct block {
    size_t K, stride;
    double *a, *margin;
    uint32_t *best;
} block;

static block make_block(size_t K, size_t stride)
{
    block made = {K, stride, moeg_alloc(K * stride, sizeof(double)), moeg_alloc(stride, sizeof(double)),
                  moeg_alloc(stride, sizeof(uint32_t))};
    fill_values(K + stride, K * stride, 3, made.a);
    for (size_t i = 0; i < K * stride; i += 3)
        made.a[i] = ceil(made.a[i]); /* ties, and zeros of both signs */
    return made;
}

static void free_block(block *made)
{
    moeg_release(made->a);
    moeg_release(made->margin);
    moeg_release(made->best);
}

static void blocks_are_rows(void **state)
{
    (void)state;
    const size_t sizes[][2] = {{2, 8}, {3, 64}, {2, 72}, {17, 200}, {1, 16}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        block made = make_block(sizes[s][0], sizes[s][1]);
        const size_t K = made.K, stride = made.stride;
        for (size_t i = 0; K > 1 && i < stride; i += 5)
            made.a[(i % K) * stride + i] = -INFINITY;
        assert_int_equal(moeg_margin_block(K, stride - 3, stride, made.a, made.best, made.margin), stride - 3);
        for (size_t i = 0; i < stride; i++) {
            double row[17], margin = INFINITY;
            size_t best;
            for (size_t k = 0; k < K; k++)
                row[k] = made.a[k * stride + i];
            assert_ok(moeg_top(1, K, row, 1, &best));
            if (K > 1)
                assert_ok(moeg_margin(1, K, row, &margin));
            assert_int_equal(made.best[i], best);
            assert_memory_equal(&made.margin[i], &margin, sizeof margin);
        }
        free_block(&made);
    }
}

/* The first bad unit is returned, wherever its value stands; bad padding is nobody's business. */
static void blocks_find_the_first_bad_unit(void **state)
{
    (void)state;
    block made = make_block(3, 144);
    const size_t n = 139, stride = made.stride;
    const double bad[] = {NAN, INFINITY, 1.7e308};
    for (size_t v = 0; v < 3; v++)
        for (size_t i = 0; i < stride; i++)
            for (size_t k = 0; k < 3; k++) {
                double *at = &made.a[k * stride + i], *other = &made.a[(k + 1) % 3 * stride + i];
                const double kept = *at, kept_other = *other;
                double *third = &made.a[(k + 2) % 3 * stride + i];
                const double kept_third = *third;
                *at = bad[v];
                if (bad[v] == 1.7e308)
                    *other = *third = -1.7e308;
                assert_int_equal(moeg_margin_block(3, n, stride, made.a, made.best, made.margin), i < n ? i : n);
                *at = kept;
                *other = kept_other;
                *third = kept_third;
            }
    made.a[0 * stride + 100] = NAN;
    made.a[2 * stride + 71] = INFINITY;
    assert_int_equal(moeg_margin_block(3, n, stride, made.a, made.best, made.margin), 71);
    for (size_t k = 0; k < 3; k++)
        made.a[k * stride + 4] = -INFINITY;
    assert_int_equal(moeg_margin_block(3, n, stride, made.a, made.best, made.margin), 4);
    free_block(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ties_go_to_the_lowest_index_and_prefixes_agree),
        cmocka_unit_test(top_and_margin_match_slow_selection),
        cmocka_unit_test(margins_at_the_edges),
        cmocka_unit_test(every_margin_error_is_named_and_touches_nothing),
        cmocka_unit_test(every_top_error_is_named_and_touches_nothing),
        cmocka_unit_test(blocks_are_rows),
        cmocka_unit_test(blocks_find_the_first_bad_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
