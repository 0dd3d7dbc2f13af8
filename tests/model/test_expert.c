#include "model/alone.h"
#include "support/failing_alloc.h"

#include <moegeom/moegeom.h>

enum { D = 3, M = 2, N = 131 };

static const double A[M * D] = {1.25, -0.7, 0.3, 2.385, 0.41, -1.6}, c[M] = {0.4, -1.1};

static void affine_experts_are_affine(void **state)
{
    (void)state;
    double x[N * D], y[N * M];
    fill_values(1, N * D, 3, x);
    for (int with_c = 0; with_c < 2; with_c++) {
        moeg_expert *expert;
        assert_ok(moeg_expert_affine_create(&expert, D, M, A, with_c ? c : NULL));
        assert_int_equal(moeg_expert_dim(expert), D);
        assert_int_equal(moeg_expert_outputs(expert), M);
        assert_ok(moeg_expert_forward(expert, N, x, y));
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < M; j++) {
                long double expected = with_c ? c[j] : 0, size = fabsl(expected);
                for (size_t k = 0; k < D; k++) {
                    expected += (long double)A[j * D + k] * x[i * D + k];
                    size += fabsl((long double)A[j * D + k] * x[i * D + k]);
                }
                /* D products and sums, each rounded once. */
                assert_near(y[i * M + j], (double)expected, D * EPS * (double)size);
            }
        moeg_expert_free(expert);
    }
}

static void constant_experts_are_constant(void **state)
{
    (void)state;
    double x[N * D], y[N * M];
    fill_values(2, N * D, 1e308, x);
    moeg_expert *expert;
    assert_ok(moeg_expert_constant_create(&expert, D, M, c));
    assert_int_equal(moeg_expert_dim(expert), D);
    assert_int_equal(moeg_expert_outputs(expert), M);
    assert_ok(moeg_expert_forward(expert, N, x, y));
    for (size_t i = 0; i < N * M; i++)
        assert_near(y[i], c[i % M], 0);
    moeg_expert_free(expert);
}

static void affine_forms_are_what_was_given(void **state)
{
    (void)state;
    moeg_expert *experts[3];
    double form[M * D], shift[M];
    assert_ok(moeg_expert_affine_create(&experts[0], D, M, A, c));
    assert_ok(moeg_expert_affine_create(&experts[1], D, M, A, NULL));
    assert_ok(moeg_expert_constant_create(&experts[2], D, M, c));
    for (size_t e = 0; e < 3; e++) {
        mark(M * D, form);
        mark(M, shift);
        assert_ok(moeg_expert_affine_form(experts[e], form, shift));
        for (size_t i = 0; i < M * D; i++)
            assert_near(form[i], e == 2 ? 0 : A[i], 0);
        for (size_t j = 0; j < M; j++)
            assert_near(shift[j], e == 1 ? 0 : c[j], 0);
        assert_ok(moeg_expert_affine_form(experts[e], NULL, NULL));
        moeg_expert_free(experts[e]);
    }
    assert_status(moeg_expert_affine_form(NULL, form, shift), MOEG_EINVAL,
                  "expert_affine_form: expert must not be NULL");
}

static void a_row_alone_is_the_row_in_a_batch_and_a_block(void **state)
{
    (void)state;
    double x[N * D];
    fill_values(3, N * D, 2, x);
    moeg_expert *affine, *constant;
    assert_ok(moeg_expert_affine_create(&affine, D, M, A, c));
    assert_ok(moeg_expert_constant_create(&constant, D, M, c));
    check_expert_rows_stand_alone(affine, N, x);
    check_expert_rows_stand_alone(constant, N, x);
    moeg_expert_free(affine);
    moeg_expert_free(constant);
}

static void every_creation_error_is_named(void **state)
{
    (void)state;
    moeg_expert *expert = NULL;
    double form[M * D], shift[M];
    memcpy(form, A, sizeof form);
    memcpy(shift, c, sizeof shift);
    assert_status(moeg_expert_affine_create(NULL, D, M, A, c), MOEG_EINVAL, "expert_affine: expert must not be NULL");
    assert_status(moeg_expert_affine_create(&expert, 0, M, A, c), MOEG_EINVAL,
                  "expert_affine: d and m must be at least");
    assert_status(moeg_expert_affine_create(&expert, D, 0, A, c), MOEG_EINVAL, "got d = 3, m = 0");
    assert_status(moeg_expert_affine_create(&expert, D, M, NULL, c), MOEG_EINVAL, "expert_affine: A must not be NULL");
    assert_status(moeg_expert_affine_create(&expert, D, SIZE_MAX / 2, A, c), MOEG_EINVAL, "than memory can hold");
    assert_status(moeg_expert_constant_create(NULL, D, M, c), MOEG_EINVAL, "expert_constant: expert must not be NULL");
    assert_status(moeg_expert_constant_create(&expert, 0, M, c), MOEG_EINVAL, "expert_constant: d and m must be");
    assert_status(moeg_expert_constant_create(&expert, D, 0, c), MOEG_EINVAL, "got d = 3, m = 0");
    assert_status(moeg_expert_constant_create(&expert, D, M, NULL), MOEG_EINVAL, "expert_constant: c must not be NULL");
    assert_status(moeg_expert_constant_create(&expert, D, SIZE_MAX, c), MOEG_EINVAL, "than memory can hold");
    const double bad[] = {NAN, INFINITY, -INFINITY};
    char text[80];
    for (size_t v = 0; v < 3; v++) {
        for (size_t i = 0; i < M * D; i++) {
            snprintf(text, sizeof text, "expert_affine: A[%zu, %zu] must be finite, got", i / D, i % D);
            form[i] = bad[v];
            assert_status(moeg_expert_affine_create(&expert, D, M, form, c), MOEG_EINVAL, text);
            form[i] = A[i];
        }
        for (size_t j = 0; j < M; j++) {
            snprintf(text, sizeof text, "c[%zu] must be finite, got", j);
            shift[j] = bad[v];
            assert_status(moeg_expert_affine_create(&expert, D, M, A, shift), MOEG_EINVAL, text);
            assert_status(moeg_expert_constant_create(&expert, D, M, shift), MOEG_EINVAL, text);
            shift[j] = c[j];
        }
    }
    assert_null(expert);
    moeg_expert_free(NULL);
    assert_int_equal(moeg_expert_dim(NULL), 0);
    assert_int_equal(moeg_expert_outputs(NULL), 0);
}

static void every_row_error_is_named_and_touches_nothing(void **state)
{
    (void)state;
    double x[70 * D], y[70 * M];
    fill_values(4, 70 * D, 2, x);
    moeg_expert *expert;
    assert_ok(moeg_expert_affine_create(&expert, D, M, A, c));
    mark(70 * M, y);
    assert_status(moeg_expert_forward(NULL, 70, x, y), MOEG_EINVAL, "expert_forward: expert must not be NULL");
    assert_status(moeg_expert_forward(expert, 70, NULL, y), MOEG_EINVAL, "expert_forward: x must not be NULL");
    assert_status(moeg_expert_forward(expert, 70, x, NULL), MOEG_EINVAL, "expert_forward: y must not be NULL");
    assert_status(moeg_expert_forward(expert, SIZE_MAX / 2, x, y), MOEG_EINVAL, "than memory can hold");
    x[68 * D + 1] = NAN;
    assert_status(moeg_expert_forward(expert, 70, x, y), MOEG_EINVAL,
                  "expert_forward: x[68, 1] must be finite, got nan");
    x[68 * D + 1] = 0.1;
    for (double sign = -1; sign <= 1; sign += 2) {
        x[69 * D] = sign * 1e308;
        assert_status(moeg_expert_forward(expert, 70, x, y), MOEG_ERANGE,
                      "expert_forward: the value of row 69, output 1, overflows");
    }
    assert_true(is_marked(70 * M, y));
    assert_ok(moeg_expert_forward(expert, 0, NULL, NULL));
    moeg_expert_free(expert);
}

static moeg_status create_and_forward(void *user)
{
    (void)user;
    const double x[D] = {0.3, 1.2, -0.7};
    double y[M];
    mark(M, y);
    moeg_expert *affine = NULL, *constant = NULL;
    moeg_status status = moeg_expert_affine_create(&affine, D, M, A, c);
    if (status == MOEG_OK)
        status = moeg_expert_constant_create(&constant, D, M, c);
    if (status == MOEG_OK)
        status = moeg_expert_forward(affine, 1, x, y);
    if (status != MOEG_OK)
        assert_true(is_marked(M, y));
    moeg_expert_free(affine);
    moeg_expert_free(constant);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(fail_every_allocation(create_and_forward, NULL), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(affine_experts_are_affine),
        cmocka_unit_test(constant_experts_are_constant),
        cmocka_unit_test(affine_forms_are_what_was_given),
        cmocka_unit_test(a_row_alone_is_the_row_in_a_batch_and_a_block),
        cmocka_unit_test(every_creation_error_is_named),
        cmocka_unit_test(every_row_error_is_named_and_touches_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
