/* The kernel of gaps between ranked logits, in every instruction set. */
#include "base/kernel.h"
#include "base/kernel_table.h"
#include "base/memory.h"
#include "support/check.h"

#include <float.h>
#include <stdlib.h>

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Every set and every pair of ranks against sorting; masks, ties, zeros of both signs. */
static void gap_is_sorting(void **state)
{
    (void)state;
    enum { K = 8, STRIDE = 136 };
    double *a = moeg_alloc(K * STRIDE, sizeof *a), *gap = moeg_alloc(STRIDE, sizeof *gap), sorted[K];
    moeg_kernel_normals(5, 0, 0, K, STRIDE, a);
    for (size_t i = 0; i < K * STRIDE; i += 3)
        a[i] = ceil(a[i]);
    for (size_t i = 0; i < STRIDE; i += 7)
        a[i % K * STRIDE + i] = -INFINITY;
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (size_t lower = 2; lower <= K; lower++)
            for (size_t upper = 1; upper < lower; upper++) {
                assert_int_equal(set->gap(K, STRIDE, a, upper, lower, gap), lower == K);
                for (size_t i = 0; i < STRIDE; i++) {
                    for (size_t k = 0; k < K; k++)
                        sorted[k] = a[k * STRIDE + i];
                    qsort(sorted, K, sizeof *sorted, descending);
                    assert_near(gap[i], sorted[upper - 1] - sorted[lower - 1], 0);
                    assert_false(signbit(gap[i]));
                }
            }
    moeg_release(gap);
    moeg_release(a);
}

/* One value anywhere among logits of 2.385 or less, in every set, at either end of the ranks. */
static void gap_tells_what_to_look_at(void **state)
{
    (void)state;
    enum { K = 5, STRIDE = 40 };
    static const size_t ranks[][2] = {{1, 2}, {2, 3}, {4, 5}, {1, 5}};
    _Alignas(64) double a[K * STRIDE], gap[STRIDE];
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (size_t r = 0; r < 4; r++) {
            for (size_t i = 0; i < K * STRIDE; i++)
                a[i] = 2.385 - 0.1 * (double)(i % 11);
            const struct {
                double value;
                int suspect;
            } cases[] = {{NAN, 1}, {INFINITY, 1}, {-INFINITY, ranks[r][1] == K}, {DBL_MAX, 0}, {-DBL_MAX, 0}};
            for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
                for (size_t i = 0; i < K * STRIDE; i++) {
                    const double kept = a[i];
                    a[i] = cases[c].value;
                    assert_int_equal(set->gap(K, STRIDE, a, ranks[r][0], ranks[r][1], gap), cases[c].suspect);
                    a[i] = kept;
                }
            for (size_t k = 0; k < K; k++)
                a[k * STRIDE + 37] = k < ranks[r][0] ? 1.7e308 : -1.7e308;
            assert_int_equal(set->gap(K, STRIDE, a, ranks[r][0], ranks[r][1], gap), 1);
            assert_near(gap[37], INFINITY, 0);
            for (size_t k = ranks[r][0] - 1; k < K; k++)
                a[k * STRIDE + 37] = -INFINITY;
            assert_int_equal(set->gap(K, STRIDE, a, ranks[r][0], ranks[r][1], gap), 1);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gap_is_sorting),
        cmocka_unit_test(gap_tells_what_to_look_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
