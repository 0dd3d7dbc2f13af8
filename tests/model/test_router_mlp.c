/* Routers of several layers. */
#include "model/alone.h"
#include "support/failing_alloc.h"

#include <moegeom/moegeom.h>

enum { D = 3, H0 = 17, H1 = 6, K = 5, N = 203 };

static double W0[H0 * D], W1[H1 * H0], W2[K * H1], b0[H0], b2[K];
static const double *W[] = {W0, W1, W2}, *b[] = {b0, NULL, b2};
static const size_t widths[] = {D, H0, H1, K};

static void fill_numbers(void)
{
    fill_values(1, H0 * D, 1.3, W0);
    fill_values(2, H1 * H0, 0.7, W1);
    fill_values(3, K * H1, 1.1, W2);
    fill_values(4, H0, 0.5, b0);
    fill_values(5, K, 0.5, b2);
    b2[3] = -INFINITY;
}

/* As the outputs of the expert of the same numbers, but for the mask. */
static void logits_are_those_of_the_expert(void **state)
{
    (void)state;
    double x[N * D], a[N * K], y[N * K], bias[K];
    fill_numbers();
    fill_values(6, N * D, 3, x);
    memcpy(bias, b2, sizeof bias);
    bias[3] = 0;
    const double *const finite[] = {b0, NULL, bias};
    for (int activation = 0; activation < 4; activation++) {
        moeg_router *router;
        moeg_expert *expert;
        assert_ok(moeg_router_mlp_create(&router, 3, widths, W, b, (moeg_activation)activation));
        assert_ok(moeg_expert_mlp_create(&expert, 3, widths, W, finite, (moeg_activation)activation));
        assert_int_equal(moeg_router_experts(router), K);
        assert_int_equal(moeg_router_dim(router), D);
        assert_ok(moeg_router_logits(router, N, x, a));
        assert_ok(moeg_expert_forward(expert, N, x, y));
        for (size_t i = 0; i < N * K; i++)
            if (i % K == 3)
                assert_true(a[i] == -INFINITY);
            else
                assert_same_bits(&a[i], &y[i], 1);
        moeg_router_free(router);
        moeg_expert_free(expert);
    }
}

static void a_row_alone_is_the_row_in_a_batch_and_a_block(void **state)
{
    (void)state;
    double x[N * D];
    fill_numbers();
    fill_values(7, N * D, 3, x);
    for (int activation = 0; activation < 4; activation++) {
        moeg_router *router;
        assert_ok(moeg_router_mlp_create(&router, 3, widths, W, b, (moeg_activation)activation));
        check_router_rows_stand_alone(router, N, x, 3);
        moeg_router_free(router);
    }
}

/* One layer is an affine router; two are not. */
static void one_layer_is_affine(void **state)
{
    (void)state;
    moeg_router *router;
    const double *weights, *bias;
    fill_numbers();
    assert_ok(moeg_router_mlp_create(&router, 1, (const size_t[]){H1, K}, (const double *[]){W2},
                                     (const double *[]){b2}, MOEG_ACTIVATION_TANH));
    assert_int_equal(moeg_router_affine_parts(router, &weights, &bias), 1);
    assert_same_bits(weights, W2, K * H1);
    assert_same_bits(bias, b2, K);
    moeg_router_free(router);
    assert_ok(moeg_router_mlp_create(&router, 3, widths, W, NULL, MOEG_ACTIVATION_TANH));
    assert_int_equal(moeg_router_affine_parts(router, &weights, &bias), 0);
    moeg_router_free(router);
}

/* A mask stays one where hidden values overflow; the others' logits then do. An overflow to -inf is no mask. */
static void overflow(void **state)
{
    (void)state;
    const double first[] = {1e308}, second[] = {1, 1};
    const double mask[] = {-INFINITY, 0};
    const double *weights[] = {first, second};
    const double x[] = {0.5, 7};
    double a[4], margin[2];
    moeg_router *router;
    mark(4, a);
    mark(2, margin);
    assert_ok(moeg_router_mlp_create(&router, 2, (const size_t[]){1, 1, 2}, weights, (const double *[]){NULL, mask},
                                     MOEG_ACTIVATION_TANH));
    assert_status(moeg_router_logits(router, 2, x, a), MOEG_ERANGE, "the logit of row 1 and expert 1 overflows");
    assert_status(moeg_router_margin(router, 2, x, margin), MOEG_ERANGE, "the logit of row 1 and expert 1 overflows");
    assert_true(is_marked(4, a) && is_marked(2, margin));
    assert_ok(moeg_router_logits(router, 1, x, a));
    assert_true(a[0] == -INFINITY && a[1] == 1);
    moeg_router_free(router);
    const double down[] = {0.5, -10};
    assert_ok(moeg_router_mlp_create(&router, 2, (const size_t[]){1, 1, 2}, (const double *[]){first, down}, NULL,
                                     MOEG_ACTIVATION_RELU));
    assert_status(moeg_router_logits(router, 1, x, a), MOEG_ERANGE, "the logit of row 0 and expert 1 overflows");
    moeg_router_free(router);
}

static void every_creation_error_is_named(void **state)
{
    (void)state;
    moeg_router *router = NULL;
    fill_numbers();
    assert_status(moeg_router_mlp_create(NULL, 3, widths, W, b, 0), MOEG_EINVAL, "router_mlp: router must not be NULL");
    assert_status(moeg_router_mlp_create(&router, 0, widths, W, b, 0), MOEG_EINVAL, "layers must be at least 1");
    assert_status(moeg_router_mlp_create(&router, 3, NULL, W, b, 0), MOEG_EINVAL, "widths must not be NULL");
    assert_status(moeg_router_mlp_create(&router, 3, widths, NULL, b, 0), MOEG_EINVAL, "W must not be NULL");
    assert_status(moeg_router_mlp_create(&router, 3, widths, W, b, (moeg_activation)9), MOEG_EINVAL,
                  "router_mlp: activation must be ReLU (0), GELU (1), SiLU (2) or tanh (3), got 9");
    const size_t none[] = {D, H0, H1, 0};
    assert_status(moeg_router_mlp_create(&router, 3, none, W, b, 0), MOEG_EINVAL,
                  "router_mlp: widths[3] must be at least 1, got 0");
    const double bad[] = {NAN, INFINITY, -INFINITY};
    char text[80];
    for (size_t v = 0; v < 3; v++) {
        double kept = W1[40];
        W1[40] = bad[v];
        snprintf(text, sizeof text, "router_mlp: W[1][%d, %d] must be finite, got", 40 / H0, 40 % H0);
        assert_status(moeg_router_mlp_create(&router, 3, widths, W, b, 0), MOEG_EINVAL, text);
        W1[40] = kept;
        kept = b0[2];
        b0[2] = bad[v];
        assert_status(moeg_router_mlp_create(&router, 3, widths, W, b, 0), MOEG_EINVAL,
                      "router_mlp: b[0][2] must be finite, got");
        b0[2] = kept;
        if (v == 2)
            continue;
        kept = b2[1];
        b2[1] = bad[v];
        assert_status(moeg_router_mlp_create(&router, 3, widths, W, b, 0), MOEG_EINVAL,
                      "router_mlp: b[2][1] must be finite or -inf, got");
        b2[1] = kept;
    }
    for (size_t k = 0; k < K; k++)
        b2[k] = -INFINITY;
    assert_status(moeg_router_mlp_create(&router, 3, widths, W, b, 0), MOEG_EINVAL,
                  "router_mlp: b[2] masks every expert: one at least must be finite");
    assert_null(router);
}

static moeg_status create_and_route(void *user)
{
    (void)user;
    const double x[D] = {0.3, 1.2, -0.7};
    double a[K];
    moeg_router *router = NULL, *affine = NULL;
    mark(K, a);
    moeg_status status = moeg_router_mlp_create(&router, 3, widths, W, b, MOEG_ACTIVATION_GELU);
    if (status == MOEG_OK)
        status = moeg_router_mlp_create(&affine, 1, widths + 2, W + 2, b + 2, MOEG_ACTIVATION_GELU);
    if (status == MOEG_OK && (status = moeg_router_logits(router, 1, x, a)) != MOEG_OK)
        assert_true(is_marked(K, a));
    moeg_router_free(router);
    moeg_router_free(affine);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fill_numbers();
    assert_int_equal(fail_every_allocation(create_and_route, NULL), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_those_of_the_expert),
        cmocka_unit_test(a_row_alone_is_the_row_in_a_batch_and_a_block),
        cmocka_unit_test(one_layer_is_affine),
        cmocka_unit_test(overflow),
        cmocka_unit_test(every_creation_error_is_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
