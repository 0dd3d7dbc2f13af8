#include "model/block.h"

#include "base/memory.h"
#include "model/model.h"
#include "model/object.h"
#include "model/rows.h"

#include <moegeom/moegeom.h>

static void rows_of_a_block_fill_the_cache(void **state)
{
    (void)state;
    /* 256 KiB are 32768 doubles. */
    assert_int_equal(moeg_block_rows(0), 4056);
    assert_int_equal(moeg_block_rows(8), 4056);
    assert_int_equal(moeg_block_rows(9), 3624);
    assert_int_equal(moeg_block_rows(100), 312);
    assert_int_equal(moeg_block_rows(256), 120);
    assert_int_equal(moeg_block_rows(274), 72);
    assert_int_equal(moeg_block_rows(SIZE_MAX), 72);
    for (size_t doubles = 1; doubles < 1000; doubles++) {
        const size_t rows = moeg_block_rows(doubles);
        assert_true(rows == 72 || rows * doubles * sizeof(double) <= 256 * 1024);
        assert_int_equal(rows % 24, 0);
        assert_int_equal(rows / 8 % 2, 1);
    }
}

static void packing_is_transposing(void **state)
{
    (void)state;
    enum { N = 13, D = 3, STRIDE = 24 };
    double rows[N * D], block[D * STRIDE], back[N * D];
    fill_values(1, N * D, 5, rows);
    moeg_block_pack(N, D, rows, STRIDE, block);
    for (size_t j = 0; j < D; j++)
        for (size_t i = 0; i < STRIDE; i++)
            assert_near(block[j * STRIDE + i], rows[(i < N ? i : N - 1) * D + j], 0);
    moeg_block_unpack(N, D, block, STRIDE, back);
    assert_same_bits(back, rows, N * D);
}

static void objects_hold_what_they_are_asked_to(void **state)
{
    (void)state;
    assert_null(moeg_object_alloc(64, SIZE_MAX / 8));
    assert_null(moeg_object_alloc(64, SIZE_MAX));
    moeg_object *object = moeg_object_alloc(sizeof *object, 3);
    assert_non_null(object);
    assert_ptr_equal(moeg_object_retain(object), object);
    assert_false(moeg_object_release(object));
    assert_true(moeg_object_release(object));
    moeg_release(object);
    assert_false(moeg_object_release(NULL));
}

/* Threads that take and drop references to objects that hold each other, each the last to use some of them. Leaks and
 * early frees are for the sanitizers to see; the values for this test. */
static void references_are_counted_across_threads(void **state)
{
    (void)state;
    enum { ROUNDS = 300 };
    const double W[2] = {1.5, -0.5}, A[2] = {2.385, -1.25};
    int bad = 0;
    for (int round = 0; round < ROUNDS; round++) {
        moeg_router *router;
        moeg_expert *experts[2];
        moeg_moe *moe;
        moeg_teacher *teacher;
        moeg_law *law;
        assert_ok(moeg_router_affine_create(&router, 2, 1, W, NULL));
        assert_ok(moeg_expert_affine_create(&experts[0], 1, 1, A, NULL));
        assert_ok(moeg_expert_affine_create(&experts[1], 1, 1, A + 1, NULL));
        assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), experts));
        assert_ok(moeg_teacher_moe_create(&teacher, moe, 0));
        assert_ok(moeg_law_gaussian_create(&law, 1, NULL, NULL));
#pragma omp parallel num_threads(4) reduction(+ : bad)
        {
            moeg_teacher *own = moeg_teacher_retain(teacher);
            moeg_moe *own_moe = moeg_moe_retain(moe);
            moeg_router *own_router = moeg_router_retain(moeg_moe_router(own_moe));
            moeg_expert *own_expert = moeg_expert_retain(moeg_moe_expert(own_moe, 1));
            moeg_law *own_law = moeg_law_retain(law);
#pragma omp barrier
#pragma omp single nowait
            {
                moeg_moe_free(moe);
                moeg_router_free(router);
                moeg_expert_free(experts[0]);
                moeg_expert_free(experts[1]);
                moeg_teacher_free(teacher);
                moeg_law_free(law);
            }
            double x[2] = {0.8, -0.8}, y[2];
            bad += moeg_teacher_mean(own, 0, 2, x, y) != MOEG_OK || y[0] != 2.385 * 0.8 || y[1] != -1.25 * -0.8;
            moeg_moe_free(own_moe);
            bad += moeg_expert_forward(own_expert, 1, x, y) != MOEG_OK || y[0] != -1.25 * 0.8;
            moeg_teacher_free(own);
            bad += moeg_router_logits(own_router, 1, x, y) != MOEG_OK || y[0] != 1.5 * 0.8;
            moeg_router_free(own_router);
            moeg_expert_free(own_expert);
            bad += moeg_law_sample(own_law, 1, 0, 1, x) != MOEG_OK;
            moeg_law_free(own_law);
        }
    }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_a_block_fill_the_cache),
        cmocka_unit_test(packing_is_transposing),
        cmocka_unit_test(objects_hold_what_they_are_asked_to),
        cmocka_unit_test(references_are_counted_across_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
