/* Experts of several layers and gated ones: values against a plain long double evaluation, Jacobians against a
 * six-point difference of it, bits in any batch, kinks, overflow, errors. */
#include "base/memory.h"
#include "model/model.h"
#include "model/rows.h"
#include "support/failing_alloc.h"

#include <moegeom/moegeom.h>
#include <stdlib.h>

enum { MOST_LAYERS = 4, MOST_WIDTH = 37, N = 131 };

struct net {
    int gated;
    size_t layers, widths[MOST_LAYERS + 1];
    moeg_activation activation;
    double W[MOST_LAYERS][MOST_WIDTH * MOST_WIDTH], bias[MOST_LAYERS][MOST_WIDTH];
    const double *weights[MOST_LAYERS], *biases[MOST_LAYERS];
};

/* A gated one has widths d, h, m and weights gate, up, down. */
static struct net shapes[] = {
    {.layers = 1, .widths = {3, 2}},
    {.layers = 2, .widths = {3, 7, 2}},
    {.layers = 2, .widths = {1, 1, 1}},
    {.layers = 3, .widths = {5, 37, 6, 3}},
    {.layers = 4, .widths = {2, 3, 1, 9, 4}},
    {.layers = 2, .widths = {16, 32, 1}},
    {.gated = 1, .layers = 2, .widths = {3, 7, 2}},
    {.gated = 1, .layers = 2, .widths = {1, 1, 1}},
    {.gated = 1, .layers = 2, .widths = {9, 21, 5}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void fill_net(struct net *net, uint64_t seed)
{
    for (size_t l = 0; l < MOST_LAYERS; l++) {
        fill_values(seed + 10 * l, MOST_WIDTH * MOST_WIDTH, 1.2, net->W[l]);
        fill_values(seed + 10 * l + 5, MOST_WIDTH, 0.8, net->bias[l]);
        net->weights[l] = net->W[l];
        net->biases[l] = l == 1 ? NULL : net->bias[l];
    }
}

static moeg_status try_net(const struct net *net, moeg_expert **expert)
{
    if (net->gated)
        return moeg_expert_gated_create(expert, net->widths[0], net->widths[1], net->widths[2], net->W[0], net->W[1],
                                        net->W[2], net->activation);
    return moeg_expert_mlp_create(expert, net->layers, net->widths, net->weights, net->biases, net->activation);
}

static long double activate(moeg_activation activation, long double z)
{
    switch (activation) {
    case MOEG_ACTIVATION_RELU:
        return z > 0 ? z : 0;
    case MOEG_ACTIVATION_GELU:
        return z * erfcl(-z * 0.707106781186547524400844362104849039L) / 2;
    case MOEG_ACTIVATION_SILU:
        return z / (1 + expl(-z));
    default:
        return tanhl(z);
    }
}

static void plain_affine(size_t rows, size_t cols, const double *W, const double *b, const long double *x,
                         long double *out)
{
    for (size_t k = 0; k < rows; k++) {
        out[k] = b != NULL ? b[k] : 0;
        for (size_t j = 0; j < cols; j++)
            out[k] += W[k * cols + j] * x[j];
    }
}

static void plain_value(const struct net *net, const long double *x, long double *y)
{
    long double a[MOST_WIDTH], z[MOST_WIDTH], up[MOST_WIDTH];
    memcpy(a, x, net->widths[0] * sizeof *a);
    for (size_t l = 0; l < net->layers; l++) {
        const size_t width = net->widths[l + 1];
        plain_affine(width, net->widths[l], net->W[net->gated && l == 1 ? 2 : l], net->gated ? NULL : net->biases[l], a,
                     z);
        if (net->gated && l == 0)
            plain_affine(width, net->widths[0], net->W[1], NULL, a, up);
        for (size_t k = 0; k < width; k++)
            a[k] = l + 1 == net->layers ? z[k] : activate(net->activation, z[k]) * (net->gated ? up[k] : 1);
    }
    memcpy(y, a, net->widths[net->layers] * sizeof *y);
}

/* Central differences of order six: error h^6 f'''''''/140, about 1e-15 with this step, and rounding 1e-19/h. */
static void plain_jacobian(const struct net *net, const double *x, size_t k, long double *column)
{
    static const long double nodes[] = {-3, -2, -1, 1, 2, 3}, factors[] = {-1, 9, -45, 45, -9, 1};
    const long double h = 1e-3L;
    long double moved[MOST_WIDTH], y[MOST_WIDTH];
    for (size_t j = 0; j < net->widths[net->layers]; j++)
        column[j] = 0;
    for (size_t p = 0; p < 6; p++) {
        for (size_t j = 0; j < net->widths[0]; j++)
            moved[j] = x[j] + (j == k ? nodes[p] * h : 0);
        plain_value(net, moved, y);
        for (size_t j = 0; j < net->widths[net->layers]; j++)
            column[j] += factors[p] * y[j] / (60 * h);
    }
}

/* Whether no kink of ReLU is near: all pre-activations keep their signs, so that differences cross none. Found by the
 * differences of order six being those of half the points, within 1e-9. */
static int is_smooth_at(const struct net *net, const double *x, size_t k)
{
    long double at[3][MOST_WIDTH], moved[MOST_WIDTH];
    for (int p = 0; p < 3; p++) {
        for (size_t j = 0; j < net->widths[0]; j++)
            moved[j] = x[j] + (j == k ? 3e-3L * (p - 1) : 0);
        plain_value(net, moved, at[p]);
    }
    for (size_t j = 0; j < net->widths[net->layers]; j++)
        if (fabsl(at[0][j] - 2 * at[1][j] + at[2][j]) > 1e-12L && !net->gated)
            return 0;
    return 1;
}

static void for_each_net(void (*check)(const struct net *net, const moeg_expert *expert))
{
    for (size_t s = 0; s < SHAPES; s++)
        for (int a = 0; a < 4; a++) {
            struct net *net = &shapes[s];
            moeg_expert *expert;
            fill_net(net, 100 * s + (uint64_t)a);
            net->activation = (moeg_activation)a;
            assert_ok(try_net(net, &expert));
            assert_int_equal(moeg_expert_dim(expert), net->widths[0]);
            assert_int_equal(moeg_expert_outputs(expert), net->widths[net->layers]);
            check(net, expert);
            moeg_expert_free(expert);
        }
}

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
    enum { STRIDE = 136 };
    const size_t d = net->widths[0], m = net->widths[net->layers];
    double x[N * MOST_WIDTH], alone[MOST_WIDTH * MOST_WIDTH];
    double *y = malloc(N * m * sizeof *y), *J = malloc(N * m * d * sizeof *J);
    assert_true(y != NULL && J != NULL);
    fill_values(79, N * d, 2.5, x);
    assert_ok(moeg_expert_forward(expert, N, x, y));
    assert_ok(moeg_expert_jacobian(expert, N, x, J));
    for (size_t i = 0; i < N; i++) {
        assert_ok(moeg_expert_forward(expert, 1, x + i * d, alone));
        assert_same_bits(alone, y + i * m, m);
        assert_ok(moeg_expert_jacobian(expert, 1, x + i * d, alone));
        assert_same_bits(alone, J + i * m * d, m * d);
    }
    double *block = moeg_alloc((d + m) * STRIDE + moeg_expert_workspace(expert, STRIDE), sizeof *block);
    double *out = block + d * STRIDE;
    for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < STRIDE; i++)
            block[j * STRIDE + i] = i < N ? x[i * d + j] : 0.5;
    assert_ok(moeg_expert_forward_block(expert, N, STRIDE, block, out, out + m * STRIDE));
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < m; j++)
            assert_same_bits(&out[j * STRIDE + i], &y[i * m + j], 1);
    moeg_release(block);
    free(y);
    free(J);
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
        cmocka_unit_test(every_creation_error_is_named),
        cmocka_unit_test(every_gated_creation_error_is_named),
        cmocka_unit_test(every_row_error_is_named_and_touches_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
