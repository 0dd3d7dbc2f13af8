/* Experts of several layers and gated ones, of several shapes, with a plain long double evaluation. */
#ifndef MOEG_TESTS_MODEL_NET_H
#define MOEG_TESTS_MODEL_NET_H

#include "model/rows.h"

#include <moegeom/moegeom.h>

enum { MOST_LAYERS = 4, MOST_WIDTH = 37 };

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

static inline void fill_net(struct net *net, uint64_t seed)
{
    for (size_t l = 0; l < MOST_LAYERS; l++) {
        fill_values(seed + 10 * l, MOST_WIDTH * MOST_WIDTH, 1.2, net->W[l]);
        fill_values(seed + 10 * l + 5, MOST_WIDTH, 0.8, net->bias[l]);
        net->weights[l] = net->W[l];
        net->biases[l] = l == 1 ? NULL : net->bias[l];
    }
}

static inline moeg_status try_net(const struct net *net, moeg_expert **expert)
{
    if (net->gated)
        return moeg_expert_gated_create(expert, net->widths[0], net->widths[1], net->widths[2], net->W[0], net->W[1],
                                        net->W[2], net->activation);
    return moeg_expert_mlp_create(expert, net->layers, net->widths, net->weights, net->biases, net->activation);
}

static inline long double activate(moeg_activation activation, long double z)
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

static inline void plain_affine(size_t rows, size_t cols, const double *W, const double *b, const long double *x,
                                long double *out)
{
    for (size_t k = 0; k < rows; k++) {
        out[k] = b != NULL ? b[k] : 0;
        for (size_t j = 0; j < cols; j++)
            out[k] += W[k * cols + j] * x[j];
    }
}

static inline void plain_value(const struct net *net, const long double *x, long double *y)
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
static inline void plain_jacobian(const struct net *net, const double *x, size_t k, long double *column)
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
static inline int is_smooth_at(const struct net *net, const double *x, size_t k)
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

static inline void for_each_net(void (*check)(const struct net *net, const moeg_expert *expert))
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

#endif
