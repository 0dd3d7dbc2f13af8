#include "base/memory.h"
#include "model/model.h"
#include "model/rows.h"
#include "support/failing_alloc.h"

#include <moegeom/moegeom.h>

enum { D = 2, M = 2, N = 70 };

static const double W[2 * D] = {0.8, -1.3, 0.21, 0.77};
static const double A[M * D] = {1.25, -0.7, 0.3, 2.385}, c[M] = {0.4, -1.1};

/* The caller's handles are gone at once: teachers keep what they need. */
static moeg_teacher *make_expert_teacher(void)
{
    moeg_expert *expert;
    moeg_teacher *teacher;
    assert_ok(moeg_expert_affine_create(&expert, D, M, A, c));
    assert_ok(moeg_teacher_expert_create(&teacher, expert));
    assert_ptr_equal(moeg_teacher_expert(teacher), expert);
    moeg_expert_free(expert);
    return teacher;
}

static moeg_moe *make_moe(void)
{
    moeg_router *router;
    moeg_expert *experts[2];
    moeg_moe *moe;
    assert_ok(moeg_router_affine_create(&router, 2, D, W, NULL));
    assert_ok(moeg_expert_affine_create(&experts[0], D, M, A, NULL));
    assert_ok(moeg_expert_constant_create(&experts[1], D, M, c));
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), experts));
    moeg_router_free(router);
    moeg_expert_free(experts[0]);
    moeg_expert_free(experts[1]);
    return moe;
}

/* The block function against the public one, from row `first` on. */
static void check_block(const moeg_teacher *teacher, uint64_t first, size_t n, const double *x, const double *expected)
{
    enum { STRIDE = 72 };
    double *block = moeg_alloc((D + M) * STRIDE + moeg_teacher_workspace(teacher, STRIDE), sizeof *block);
    double *y = block + D * STRIDE;
    for (size_t j = 0; j < D; j++)
        for (size_t i = 0; i < STRIDE; i++)
            block[j * STRIDE + i] = i < n ? x[i * D + j] : 0.5;
    assert_ok(moeg_teacher_mean_block(teacher, first, n, STRIDE, block, y, y + M * STRIDE));
    for (size_t j = 0; j < M; j++)
        for (size_t i = 0; i < STRIDE; i++) {
            if (i < n)
                assert_same_bits(&y[j * STRIDE + i], &expected[i * M + j], 1);
            assert_true(isfinite(y[j * STRIDE + i]));
        }
    moeg_release(block);
}

static void an_expert_teacher_is_its_expert(void **state)
{
    (void)state;
    moeg_teacher *teacher = make_expert_teacher();
    double x[N * D], y[N * M], expected[N * M];
    fill_values(1, N * D, 2, x);
    moeg_expert *expert = moeg_expert_retain(moeg_teacher_expert(teacher));
    assert_ok(moeg_expert_forward(expert, N, x, expected));
    moeg_expert_free(expert);
    assert_ok(moeg_teacher_mean(teacher, UINT64_MAX, N, x, y));
    assert_same_bits(y, expected, N * M);
    check_block(teacher, 5, N, x, expected);
    assert_int_equal(moeg_teacher_outputs(teacher), M);
    assert_int_equal(moeg_teacher_dim(teacher), D);
    assert_int_equal(moeg_teacher_rows(teacher), 0);
    moeg_teacher_free(teacher);
}

static void a_moe_teacher_is_its_mixture(void **state)
{
    (void)state;
    const double taus[] = {0, 0.37};
    double x[N * D], y[N * M], expected[N * M];
    fill_values(2, N * D, 2, x);
    for (size_t t = 0; t < 2; t++) {
        moeg_moe *moe = make_moe();
        moeg_teacher *teacher;
        assert_ok(moeg_moe_forward(moe, taus[t], N, x, expected));
        assert_ok(moeg_teacher_moe_create(&teacher, moe, taus[t]));
        moeg_moe_free(moe);
        assert_ok(moeg_teacher_mean(teacher, 17, N, x, y));
        assert_same_bits(y, expected, N * M);
        check_block(teacher, 17, N, x, expected);
        assert_null(moeg_teacher_expert(teacher));
        assert_int_equal(moeg_teacher_outputs(teacher), M);
        assert_int_equal(moeg_teacher_dim(teacher), D);
        assert_int_equal(moeg_teacher_rows(teacher), 0);
        moeg_teacher_free(teacher);
    }
}

static void a_data_teacher_is_its_rows(void **state)
{
    (void)state;
    double data[N * M], copy[N * M], x[N * D] = {NAN}, y[N * M];
    fill_values(3, N * M, 2, data);
    memcpy(copy, data, sizeof data);
    moeg_teacher *teacher;
    assert_ok(moeg_teacher_data_create(&teacher, N, M, data));
    mark(N * M, data);
    assert_ok(moeg_teacher_mean(teacher, 0, N, NULL, y));
    assert_same_bits(y, copy, N * M);
    assert_ok(moeg_teacher_mean(teacher, 61, 9, x, y));
    assert_same_bits(y, copy + 61 * M, 9 * M);
    check_block(teacher, 20, 50, x, copy + 20 * M);
    assert_null(moeg_teacher_expert(teacher));
    assert_int_equal(moeg_teacher_outputs(teacher), M);
    assert_int_equal(moeg_teacher_dim(teacher), 0);
    assert_int_equal(moeg_teacher_rows(teacher), N);

    mark(N * M, y);
    assert_status(moeg_teacher_mean(teacher, 0, N + 1, NULL, y), MOEG_EINVAL,
                  "teacher_mean: rows 0 .. 0 + 71 - 1 go past the end at 70");
    assert_status(moeg_teacher_mean(teacher, 66, 5, NULL, y), MOEG_EINVAL, "go past the end at 70");
    assert_status(moeg_teacher_mean(teacher, UINT64_MAX, 2, NULL, y), MOEG_EINVAL, "go past the end at 70");
    assert_true(is_marked(N * M, y));
    assert_ok(moeg_teacher_mean(teacher, N, 0, NULL, NULL));
    moeg_teacher_free(teacher);
}

static void every_creation_error_is_named(void **state)
{
    (void)state;
    moeg_teacher *teacher = NULL;
    moeg_expert *expert;
    moeg_moe *moe = make_moe();
    double y[6] = {1, 2, 3, 4, 5, 2.385};
    assert_ok(moeg_expert_affine_create(&expert, D, M, A, c));
    assert_status(moeg_teacher_expert_create(NULL, expert), MOEG_EINVAL, "teacher_expert: teacher must not be NULL");
    assert_status(moeg_teacher_expert_create(&teacher, NULL), MOEG_EINVAL, "teacher_expert: expert must not be NULL");
    assert_status(moeg_teacher_moe_create(NULL, moe, 1), MOEG_EINVAL, "teacher_moe: teacher must not be NULL");
    assert_status(moeg_teacher_moe_create(&teacher, NULL, 1), MOEG_EINVAL, "teacher_moe: moe must not be NULL");
    const double bad_tau[] = {-1, 9.9e-301, 1.1e300, NAN, INFINITY};
    for (size_t t = 0; t < sizeof bad_tau / sizeof *bad_tau; t++)
        assert_status(moeg_teacher_moe_create(&teacher, moe, bad_tau[t]), MOEG_EINVAL, "teacher_moe: tau must be 0 or");
    assert_status(moeg_teacher_data_create(NULL, 3, 2, y), MOEG_EINVAL, "teacher_data: teacher must not be NULL");
    assert_status(moeg_teacher_data_create(&teacher, 0, 2, y), MOEG_EINVAL, "got n = 0, m = 2");
    assert_status(moeg_teacher_data_create(&teacher, 3, 0, y), MOEG_EINVAL, "got n = 3, m = 0");
    assert_status(moeg_teacher_data_create(&teacher, 3, 2, NULL), MOEG_EINVAL, "teacher_data: y must not be NULL");
    assert_status(moeg_teacher_data_create(&teacher, SIZE_MAX / 2, 3, y), MOEG_EINVAL, "than memory can hold");
    y[3] = INFINITY;
    assert_status(moeg_teacher_data_create(&teacher, 3, 2, y), MOEG_EINVAL, "y[1, 1] must be finite, got inf");
    assert_null(teacher);
    moeg_teacher_free(NULL);
    assert_int_equal(moeg_teacher_outputs(NULL), 0);
    moeg_expert_free(expert);
    moeg_moe_free(moe);
}

static void every_row_error_is_named_and_touches_nothing(void **state)
{
    (void)state;
    moeg_teacher *teacher = make_expert_teacher();
    double x[3 * D] = {0.1, 0.2, 0.3, 0.4, 0.5, 2.385}, y[3 * M];
    mark(3 * M, y);
    assert_status(moeg_teacher_mean(NULL, 0, 3, x, y), MOEG_EINVAL, "teacher_mean: teacher must not be NULL");
    assert_status(moeg_teacher_mean(teacher, 0, 3, NULL, y), MOEG_EINVAL, "teacher_mean: x must not be NULL");
    assert_status(moeg_teacher_mean(teacher, 0, 3, x, NULL), MOEG_EINVAL, "teacher_mean: y must not be NULL");
    x[3] = NAN;
    assert_status(moeg_teacher_mean(teacher, 0, 3, x, y), MOEG_EINVAL, "teacher_mean: x[1, 1] must be finite, got nan");
    x[3] = 1e308;
    assert_status(moeg_teacher_mean(teacher, 0, 3, x, y), MOEG_ERANGE, "row 1, output 1, overflows");
    assert_true(is_marked(3 * M, y));
    moeg_teacher_free(teacher);
}

static moeg_status create_all_kinds(void *user)
{
    const moeg_teacher *given = user;
    moeg_expert *expert = moeg_expert_retain(moeg_teacher_expert(given));
    moeg_teacher *teachers[3] = {NULL};
    double y[M];
    mark(M, y);
    moeg_moe *moe = NULL;
    moeg_router *router = NULL;
    moeg_status status = moeg_teacher_expert_create(&teachers[0], expert);
    if (status == MOEG_OK)
        status = moeg_teacher_data_create(&teachers[1], 2, M, A);
    if (status == MOEG_OK)
        status = moeg_router_affine_create(&router, 2, D, W, NULL);
    moeg_expert *experts[2] = {expert, expert};
    if (status == MOEG_OK)
        status = moeg_moe_create(&moe, router, moeg_gate_softmax(), experts);
    if (status == MOEG_OK)
        status = moeg_teacher_moe_create(&teachers[2], moe, 0.5);
    if (status == MOEG_OK)
        status = moeg_teacher_mean(teachers[2], 0, 1, W, y);
    if (status != MOEG_OK)
        assert_true(is_marked(M, y));
    for (size_t t = 0; t < 3; t++)
        moeg_teacher_free(teachers[t]);
    moeg_moe_free(moe);
    moeg_router_free(router);
    moeg_expert_free(expert);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    moeg_teacher *given = make_expert_teacher();
    assert_int_equal(fail_every_allocation(create_all_kinds, given), 7);
    moeg_teacher_free(given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_expert_teacher_is_its_expert),
        cmocka_unit_test(a_moe_teacher_is_its_mixture),
        cmocka_unit_test(a_data_teacher_is_its_rows),
        cmocka_unit_test(every_creation_error_is_named),
        cmocka_unit_test(every_row_error_is_named_and_touches_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
