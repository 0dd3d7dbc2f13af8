/* Experts by rank, in every instruction set, against selection one after the other. */
#include "base/kernel.h"
#include "base/kernel_table.h"
#include "base/memory.h"
#include "support/check.h"

enum { MOST_K = 11, STRIDE = 40 };

/* Logits with ties, zeros of both signs and masks. */
static void make_logits(size_t K, uint64_t seed, double *a)
{
    moeg_kernel_normals(seed, 0, 0, K, STRIDE, a);
    for (size_t i = 0; i < K * STRIDE; i++)
        if (i % 3 == 0)
            a[i] = i % 2 == 0 ? round(a[i]) : -INFINITY;
}

/* Whether expert j of unit i stands before expert k. */
static int stands_before(const double *a, size_t i, size_t j, size_t k)
{
    const double x = a[j * STRIDE + i], y = a[k * STRIDE + i];
    return x > y || (x == y && j < k);
}

static void check_unit(size_t K, size_t ranks, const double *a, const uint32_t *index, size_t i)
{
    for (size_t k = 0; k < K; k++) {
        size_t rank = 0, rest = 0;
        for (size_t j = 0; j < K; j++)
            rank += stands_before(a, i, j, k);
        for (size_t j = 0; j < k; j++) {
            size_t other = 0;
            for (size_t l = 0; l < K; l++)
                other += stands_before(a, i, l, j);
            rest += other >= ranks;
        }
        assert_int_equal(index[(rank < ranks ? rank : ranks + rest) * STRIDE + i], k);
    }
}

static void ranks_are_in_order(void **state)
{
    (void)state;
    double *a = moeg_alloc(MOST_K * STRIDE, sizeof *a);
    uint32_t *index = moeg_alloc((MOST_K + 1) * STRIDE, sizeof *index);
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (size_t K = 1; K <= MOST_K; K++)
            for (size_t ranks = 1; ranks <= K; ranks++) {
                make_logits(K, 70 + K, a);
                set->ranks(K, ranks, STRIDE, a, index);
                set->rest(K, ranks, STRIDE, index);
                for (size_t i = 0; i < STRIDE; i++)
                    check_unit(K, ranks, a, index, i);
            }
    moeg_release(index);
    moeg_release(a);
}

/* Units that are not looked at are read by their index all the same. */
static void nan_has_an_index(void **state)
{
    (void)state;
    enum { K = 5 };
    double *a = moeg_alloc(K * STRIDE, sizeof *a);
    uint32_t *index = moeg_alloc((K + 2) * STRIDE, sizeof *index);
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (size_t ranks = 1; ranks <= K; ranks++) {
            make_logits(K, 81, a);
            for (size_t i = 0; i < STRIDE; i += 2)
                for (size_t k = 0; k <= i % K; k++)
                    a[k * STRIDE + i] = k % 2 == 0 ? NAN : INFINITY;
            for (size_t i = 0; i < STRIDE; i++)
                index[(K + 1) * STRIDE + i] = 42;
            set->ranks(K, ranks, STRIDE, a, index);
            set->rest(K, ranks, STRIDE, index);
            for (size_t i = 0; i < K * STRIDE; i++)
                assert_true(index[i] < K);
            for (size_t i = 0; i < STRIDE; i++)
                assert_int_equal(index[(K + 1) * STRIDE + i], 42);
            for (size_t i = 1; i < STRIDE; i += 2)
                check_unit(K, ranks, a, index, i);
        }
    moeg_release(index);
    moeg_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_in_order),
        cmocka_unit_test(nan_has_an_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
