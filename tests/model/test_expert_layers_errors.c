/* What experts of several layers and gated ones refuse, and memory that is not there. */
#include "model/net.h"
#include "support/failing_alloc.h"

static void every_creation_error_is_named(void **state)
{
    (void)state;
    struct net net = {.layers = 2, .widths = {3, 4, 2}};
    moeg_expert *expert = NULL;
    fill_net(&net, 9);
    net.biases[1] = net.bias[1];
    assert_status(moeg_expert_mlp_create(NULL, 2, net.widths, net.weights, net.biases, 0), MOEG_EINVAL,
                  "expert_mlp: expert must not be NULL");
    assert_status(moeg_expert_mlp_create(&expert, 0, net.widths, net.weights, net.biases, 0), MOEG_EINVAL,
                  "expert_mlp: layers must be at least 1");
    assert_status(moeg_expert_mlp_create(&expert, SIZE_MAX, net.widths, net.weights, net.biases, 0), MOEG_EINVAL,
                  "expert_mlp: layers must be at least 1, and have widths that fit in memory");
    assert_status(moeg_expert_mlp_create(&expert, 2, NULL, net.weights, net.biases, 0), MOEG_EINVAL,
                  "expert_mlp: widths must not be NULL");
    assert_status(moeg_expert_mlp_create(&expert, 2, net.widths, NULL, net.biases, 0), MOEG_EINVAL,
                  "expert_mlp: W must not be NULL");
    assert_status(moeg_expert_mlp_create(&expert, 2, net.widths, net.weights, net.biases, (moeg_activation)4),
                  MOEG_EINVAL, "expert_mlp: activation must be ReLU (0), GELU (1), SiLU (2) or tanh (3), got 4");
    const size_t zero[] = {3, 0, 2}, huge[] = {3, SIZE_MAX / 2, 2};
    assert_status(moeg_expert_mlp_create(&expert, 2, zero, net.weights, net.biases, 0), MOEG_EINVAL,
                  "expert_mlp: widths[1] must be at least 1, got 0");
    assert_status(moeg_expert_mlp_create(&expert, 2, huge, net.weights, net.biases, 0), MOEG_EINVAL,
                  "expert_mlp: W[0] (9223372036854775807 x 3) has more values than memory can hold");
    net.weights[1] = NULL;
    assert_status(moeg_expert_mlp_create(&expert, 2, net.widths, net.weights, net.biases, 0), MOEG_EINVAL,
                  "expert_mlp: W[1] must not be NULL");
    net.weights[1] = net.W[1];
    const double bad[] = {NAN, INFINITY, -INFINITY};
    char text[80];
    for (size_t v = 0; v < 3; v++)
        for (size_t l = 0; l < 2; l++) {
            const size_t rows = net.widths[l + 1], cols = net.widths[l];
            for (size_t i = 0; i < rows * cols; i++) {
                const double kept = net.W[l][i];
                net.W[l][i] = bad[v];
                snprintf(text, sizeof text, "expert_mlp: W[%zu][%zu, %zu] must be finite, got", l, i / cols, i % cols);
                assert_status(try_net(&net, &expert), MOEG_EINVAL, text);
                net.W[l][i] = kept;
            }
            for (size_t k = 0; k < rows; k++) {
                const double kept = net.bias[l][k];
                net.bias[l][k] = bad[v];
                snprintf(text, sizeof text, "expert_mlp: b[%zu][%zu] must be finite, got", l, k);
                assert_status(try_net(&net, &expert), MOEG_EINVAL, text);
                net.bias[l][k] = kept;
            }
        }
    assert_null(expert);
}

static void every_gated_creation_error_is_named(void **state)
{
    (void)state;
    enum { D = 3, H = 2, M = 4 };
    double weights[3][M * D];
    const char *const names[] = {"gate", "up", "down"};
    const size_t cols[] = {D, D, H}, counts[] = {H * D, H * D, M * H};
    moeg_expert *expert = NULL;
    for (size_t w = 0; w < 3; w++)
        fill_values(w, M * D, 1, weights[w]);
    assert_status(moeg_expert_gated_create(NULL, D, H, M, weights[0], weights[1], weights[2], MOEG_ACTIVATION_SILU),
                  MOEG_EINVAL, "expert_gated: expert must not be NULL");
    assert_status(moeg_expert_gated_create(&expert, 0, H, M, weights[0], weights[1], weights[2], MOEG_ACTIVATION_SILU),
                  MOEG_EINVAL, "expert_gated: d and m must be at least 1, got d = 0, m = 4");
    assert_status(moeg_expert_gated_create(&expert, D, H, 0, weights[0], weights[1], weights[2], MOEG_ACTIVATION_SILU),
                  MOEG_EINVAL, "expert_gated: d and m must be at least 1, got d = 3, m = 0");
    assert_status(moeg_expert_gated_create(&expert, D, 0, M, weights[0], weights[1], weights[2], MOEG_ACTIVATION_SILU),
                  MOEG_EINVAL, "expert_gated: h must be at least 1, got 0");
    assert_status(moeg_expert_gated_create(&expert, D, SIZE_MAX, M, weights[0], weights[1], weights[2], 2), MOEG_EINVAL,
                  "expert_gated: gate (18446744073709551615 x 3) has more values than memory can hold");
    assert_status(moeg_expert_gated_create(&expert, D, H, M, weights[0], weights[1], weights[2], (moeg_activation)-1),
                  MOEG_EINVAL, "expert_gated: activation must be");
    for (size_t w = 0; w < 3; w++) {
        const double *given[] = {weights[0], weights[1], weights[2]};
        char text[80];
        given[w] = NULL;
        snprintf(text, sizeof text, "expert_gated: %s must not be NULL", names[w]);
        assert_status(moeg_expert_gated_create(&expert, D, H, M, given[0], given[1], given[2], 2), MOEG_EINVAL, text);
        given[w] = weights[w];
        for (size_t i = 0; i < counts[w]; i++) {
            const double kept = weights[w][i];
            weights[w][i] = i % 2 == 0 ? NAN : -INFINITY;
            snprintf(text, sizeof text, "expert_gated: %s[%zu, %zu] must be finite, got", names[w], i / cols[w],
                     i % cols[w]);
            assert_status(moeg_expert_gated_create(&expert, D, H, M, given[0], given[1], given[2], 2), MOEG_EINVAL,
                          text);
            weights[w][i] = kept;
        }
    }
    assert_null(expert);
}

static void every_row_error_is_named_and_touches_nothing(void **state)
{
    (void)state;
    moeg_expert *expert;
    double x[70 * 3], J[70 * 6];
    fill_values(4, 70 * 3, 2, x);
    fill_net(&shapes[1], 3);
    assert_ok(try_net(&shapes[1], &expert));
    mark(70 * 6, J);
    assert_status(moeg_expert_jacobian(NULL, 70, x, J), MOEG_EINVAL, "expert_jacobian: expert must not be NULL");
    assert_status(moeg_expert_jacobian(expert, 70, NULL, J), MOEG_EINVAL, "expert_jacobian: x must not be NULL");
    assert_status(moeg_expert_jacobian(expert, 70, x, NULL), MOEG_EINVAL, "expert_jacobian: J must not be NULL");
    assert_status(moeg_expert_jacobian(expert, SIZE_MAX / 4, x, J), MOEG_EINVAL, "than memory can hold");
    for (size_t i = 0; i < 70 * 3; i += 11) {
        char text[80];
        const double kept = x[i];
        snprintf(text, sizeof text, "x[%zu, %zu] must be finite, got nan", i / 3, i % 3);
        x[i] = NAN;
        assert_status(moeg_expert_jacobian(expert, 70, x, J), MOEG_EINVAL, text);
        assert_status(moeg_expert_forward(expert, 70, x, J), MOEG_EINVAL, text);
        x[i] = kept;
    }
    assert_true(is_marked(70 * 6, J));
    assert_ok(moeg_expert_jacobian(expert, 0, NULL, NULL));
    moeg_expert_free(expert);
    const double zero = 0;
    assert_ok(moeg_expert_constant_create(&expert, SIZE_MAX / 2, 1, &zero));
    assert_status(moeg_expert_jacobian(expert, 1, x, J), MOEG_EINVAL, "expert_jacobian: J (1 x 1 x");
    moeg_expert_free(expert);
}

static moeg_status create_and_evaluate(void *user)
{
    const struct net *net = user;
    const double x[] = {0.3, 1.2, -0.7};
    double y[2], J[6];
    moeg_expert *expert = NULL;
    mark(2, y);
    mark(6, J);
    moeg_status status = try_net(net, &expert);
    if (status != MOEG_OK)
        assert_null(expert);
    if (status == MOEG_OK && (status = moeg_expert_forward(expert, 1, x, y)) != MOEG_OK)
        assert_true(is_marked(2, y));
    if (status == MOEG_OK && (status = moeg_expert_jacobian(expert, 1, x, J)) != MOEG_OK)
        assert_true(is_marked(6, J));
    moeg_expert_free(expert);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const size_t which[] = {0, 1, 6};
    for (size_t i = 0; i < 3; i++) {
        fill_net(&shapes[which[i]], 3);
        assert_int_equal(fail_every_allocation(create_and_evaluate, &shapes[which[i]]), 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_creation_error_is_named),
        cmocka_unit_test(every_gated_creation_error_is_named),
        cmocka_unit_test(every_row_error_is_named_and_touches_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
