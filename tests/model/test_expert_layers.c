/* Experts of several layers and gated ones: values against a plain long double evaluation, Jacobians against a
 * six-point difference of it, bits in any batch, kinks, overflow. */
#include "model/alone.h"
#include "model/net.h"

enum { N = 131 };

/* A layer of width w adds about w roundings, relative to the sum of magnitudes, and scales those before it by its
 * weights' size: 1e-13 is a few hundred epsilon for values of order 10. */
static const double TOLERANCE = 1e-13;

static void check_forward(const struct net *net, const moeg_expert *expert)
{
    double x[N * MOST_WIDTH], y[N * MOST_WIDTH];
    const size_t d = net->widths[0], m = net->widths[net->layers];
    fill_values(77, N * d, 2.5, x);
    assert_ok(moeg_expert_forward(expert, N, x, y));
    for (size_t i = 0; i < N; i++) {
        long double exact_x[MOST_WIDTH], exact[MOST_WIDTH];
        for (size_t j = 0; j < d; j++)
            exact_x[j] = x[i * d + j];
        plain_value(net, exact_x, exact);
        for (size_t j = 0; j < m; j++)
            assert_near(y[i * m + j], (double)exact[j], TOLERANCE * fmax(100, fabs((double)exact[j])));
    }
}

static void values_are_those_of_the_formula(void **state)
{
    (void)state;
    for_each_net(check_forward);
}

static void check_jacobian(const struct net *net, const moeg_expert *expert)
{
    enum { ROWS = 23 };
    const size_t d = net->widths[0], m = net->widths[net->layers];
    double x[ROWS * MOST_WIDTH];
    double *J = malloc(ROWS * m * d * sizeof *J);
    assert_non_null(J);
    fill_values(78, ROWS * d, 1.5, x);
    assert_ok(moeg_expert_jacobian(expert, ROWS, x, J));
    size_t compared = 0;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < d; k++) {
            long double column[MOST_WIDTH];
            if (net->activation == MOEG_ACTIVATION_RELU && !is_smooth_at(net, x + i * d, k))
                continue;
            plain_jacobian(net, x + i * d, k, column);
            for (size_t j = 0; j < m; j++, compared++)
                /* The differences' own error, for derivatives of order seven up to 1e6. */
                assert_near(J[(i * m + j) * d + k], (double)column[j], 1e-10 * fmax(1, fabs((double)column[j])));
        }
    assert_true(compared >= ROWS * m * d / 2);
    free(J);
}

static void jacobians_are_those_of_differences(void **state)
{
    (void)state;
    for_each_net(check_jacobian);
}

static void check_batches(const struct net *net, const moeg_expert *expert)
{
    double x[N * MOST_WIDTH];
    fill_values(79, N * net->widths[0], 2.5, x);
    check_expert_rows_stand_alone(expert, N, x);
}

static void a_row_alone_is_the_row_in_a_batch_and_a_block(void **state)
{
    (void)state;
    for_each_net(check_batches);
}

/* f = max(2 x - 1, 0) - 3 max(x, 0): at a kink the derivative is that of the flat side. */
static void the_kink_is_flat(void **state)
{
    (void)state;
    const double W0[] = {2, 1}, W1[] = {1, -3}, b0[] = {-1, 0};
    const double x[] = {-0.7, 0, 5e-324, 0.5, 0.50001}, slopes[] = {0, 0, -3, -3, -1};
    double J[5];
    moeg_expert *expert;
    assert_ok(moeg_expert_mlp_create(&expert, 2, (const size_t[]){1, 2, 1}, (const double *[]){W0, W1},
                                     (const double *[]){b0, NULL}, MOEG_ACTIVATION_RELU));
    assert_ok(moeg_expert_jacobian(expert, 5, x, J));
    for (size_t i = 0; i < 5; i++)
        assert_near(J[i], slopes[i], 0);
    moeg_expert_free(expert);
}

/* sech^2 where tanh is 1 to rounding, and GELU where erf is -1: relative accuracy stays. */
static void tails_are_not_zero(void **state)
{
    (void)state;
    const double one = 1;
    const double *W[] = {&one, &one};
    const size_t widths[] = {1, 1, 1};
    const double x[] = {25, -9};
    double y[2], J[2];
    moeg_expert *expert;
    assert_ok(moeg_expert_mlp_create(&expert, 2, widths, W, NULL, MOEG_ACTIVATION_TANH));
    assert_ok(moeg_expert_jacobian(expert, 2, x, J));
    assert_relative(J[0], 4 * exp(-50), 8 * EPS);
    assert_relative(J[1], 4 * exp(-18) / pow(1 + exp(-18), 2), 8 * EPS);
    moeg_expert_free(expert);
    assert_ok(moeg_expert_mlp_create(&expert, 2, widths, W, NULL, MOEG_ACTIVATION_GELU));
    assert_ok(moeg_expert_forward(expert, 2, x, y));
    assert_near(y[0], 25, 0);
    assert_relative(y[1], -1.0157295653584566e-18, 4 * EPS); /* -9 Phi(-9), mpmath */
    moeg_expert_free(expert);
}

/* Hidden values that overflow, to where activations are flat too: never a number. */
static void hidden_overflow_is_an_overflow(void **state)
{
    (void)state;
    const double W0[] = {-1e308, -1e308, 0.3, 0.2}, W1[] = {1, 1};
    const double *W[] = {W0, W1};
    double x[] = {0.5, 0.25, 1.5, 1.5, -2, -2}, y[3], J[6];
    for (int a = 0; a < 4; a++) {
        moeg_expert *expert;
        mark(3, y);
        mark(6, J);
        assert_ok(moeg_expert_mlp_create(&expert, 2, (const size_t[]){2, 2, 1}, W, NULL, (moeg_activation)a));
        assert_ok(moeg_expert_forward(expert, 1, x, &(double){0}));
        /* Sums of -3e308 and 4e308; the first of two rows is fine. */
        assert_status(moeg_expert_forward(expert, 2, x, y), MOEG_ERANGE,
                      "expert_forward: the value of row 1, output 0, overflows");
        assert_status(moeg_expert_forward(expert, 1, x + 4, y), MOEG_ERANGE, "of row 0, output 0, overflows");
        assert_status(moeg_expert_jacobian(expert, 2, x, J), MOEG_ERANGE,
                      "expert_jacobian: the derivative of row 1, output 0, input 0, overflows");
        assert_true(is_marked(3, y) && is_marked(6, J));
        moeg_expert_free(expert);
        assert_ok(moeg_expert_gated_create(&expert, 2, 2, 1, W0, W0, W1, (moeg_activation)a));
        assert_status(moeg_expert_forward(expert, 1, x + 2, y), MOEG_ERANGE, "of row 0, output 0, overflows");
        moeg_expert_free(expert);
    }
    /* One entry of the Jacobian alone: 10 * 1e308 of input 1. */
    const double big[] = {0.5, 1e308}, ten[] = {10};
    moeg_expert *expert;
    assert_ok(moeg_expert_mlp_create(&expert, 2, (const size_t[]){2, 1, 1}, (const double *[]){big, ten}, NULL,
                                     MOEG_ACTIVATION_RELU));
    x[0] = 1;
    x[1] = 0;
    assert_ok(moeg_expert_forward(expert, 1, x, y));
    assert_status(moeg_expert_jacobian(expert, 1, x, J), MOEG_ERANGE, "of row 0, output 0, input 1, overflows");
    moeg_expert_free(expert);
}

static void affine_forms(void **state)
{
    (void)state;
    struct net *net = &shapes[0];
    moeg_expert *expert;
    double A[6], c[2];
    fill_net(net, 5);
    assert_ok(try_net(net, &expert));
    assert_ok(moeg_expert_affine_form(expert, A, c));
    assert_same_bits(A, net->W[0], 6);
    assert_same_bits(c, net->bias[0], 2);
    moeg_expert_free(expert);
    for (size_t s = 1; s < SHAPES; s++) {
        fill_net(&shapes[s], 5);
        assert_ok(try_net(&shapes[s], &expert));
        assert_status(moeg_expert_affine_form(expert, NULL, NULL), MOEG_EUNSUPPORTED,
                      "expert_affine_form: the expert is neither affine nor constant");
        moeg_expert_free(expert);
    }
}

/* Wide enough that rows are taken a few at a time, and that a hidden layer is long. */
static void wide_ones(void **state)
{
    (void)state;
    enum { WIDE_D = 130, WIDE_H = 1500, WIDE_M = 131, ROWS = 11 };
    double *W0 = malloc(WIDE_H * WIDE_D * sizeof *W0), *W1 = malloc(WIDE_M * WIDE_H * sizeof *W1);
    double *x = malloc(ROWS * WIDE_D * sizeof *x), *y = malloc(2 * ROWS * WIDE_M * sizeof *y);
    double *J = malloc(ROWS * WIDE_M * WIDE_D * sizeof *J);
    assert_true(W0 != NULL && W1 != NULL && x != NULL && y != NULL && J != NULL);
    fill_values(1, WIDE_H * WIDE_D, 0.1, W0);
    fill_values(2, WIDE_M * WIDE_H, 0.1, W1);
    fill_values(3, ROWS * WIDE_D, 1, x);
    moeg_expert *expert;
    assert_ok(moeg_expert_mlp_create(&expert, 2, (const size_t[]){WIDE_D, WIDE_H, WIDE_M}, (const double *[]){W0, W1},
                                     NULL, MOEG_ACTIVATION_RELU));
    assert_ok(moeg_expert_forward(expert, ROWS, x, y));
    assert_ok(moeg_expert_jacobian(expert, ROWS, x, J));
    /* ReLU without biases is homogeneous: J x = f(x). WIDE_D more terms of size up to 5. */
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < WIDE_M; j++) {
            double sum = 0;
            for (size_t k = 0; k < WIDE_D; k++)
                sum += J[(i * WIDE_M + j) * WIDE_D + k] * x[i * WIDE_D + k];
            assert_near(sum, y[i * WIDE_M + j], 1e-12);
        }
    moeg_expert_free(expert);
    free(W0);
    free(W1);
    free(x);
    free(y);
    free(J);
}

/* Affine and constant experts have Jacobians too: A, and 0. */
static void affine_jacobians(void **state)
{
    (void)state;
    enum { D = 3, M = 2, ROWS = 70 };
    const double A[M * D] = {1.25, -0.7, 0.3, 2.385, 0.41, -1.6}, c[M] = {0.4, -1.1};
    double x[ROWS * D], J[ROWS * M * D];
    moeg_expert *affine, *constant;
    fill_values(6, ROWS * D, 2, x);
    assert_ok(moeg_expert_affine_create(&affine, D, M, A, c));
    assert_ok(moeg_expert_constant_create(&constant, D, M, c));
    assert_ok(moeg_expert_jacobian(affine, ROWS, x, J));
    for (size_t i = 0; i < ROWS * M * D; i++)
        assert_near(J[i], A[i % (M * D)], 0);
    assert_ok(moeg_expert_jacobian(constant, ROWS, x, J));
    for (size_t i = 0; i < ROWS * M * D; i++)
        assert_near(J[i], 0, 0);
    moeg_expert_free(affine);
    moeg_expert_free(constant);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_the_formula),
        cmocka_unit_test(jacobians_are_those_of_differences),
        cmocka_unit_test(a_row_alone_is_the_row_in_a_batch_and_a_block),
        cmocka_unit_test(the_kink_is_flat),
        cmocka_unit_test(tails_are_not_zero),
        cmocka_unit_test(hidden_overflow_is_an_overflow),
        cmocka_unit_test(affine_forms),
        cmocka_unit_test(affine_jacobians),
        cmocka_unit_test(wide_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
