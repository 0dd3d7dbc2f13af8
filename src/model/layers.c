#include "model/layers.h"

#include "base/error.h"
#include "base/kernel.h"
#include "model/activation.h"
#include "model/block.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Units that go through all layers before the next ones do: hidden values stay in cache. A multiple of the widths of
 * the kernels' panels. */
enum { COLUMNS = 96 };

_Static_assert(sizeof(size_t) <= sizeof(double), "widths take the room of doubles");

static moeg_status check_layer(const char *function, size_t layer, const size_t *widths, const double *W,
                               const double *b)
{
    char name[40];
    snprintf(name, sizeof name, "W[%zu]", layer);
    moeg_status status = moeg_check_rows(function, name, widths[layer + 1], widths[layer], W);
    snprintf(name, sizeof name, "b[%zu]", layer);
    if (status == MOEG_OK && b != NULL)
        status = moeg_check_finite(function, name, widths[layer + 1], b);
    return status;
}

moeg_status moeg_layers_check(const char *function, size_t count, const size_t *widths, const double *const *W,
                              const double *const *b, moeg_activation activation, int last_bias)
{
    if (count == 0 || count > SIZE_MAX / sizeof(double) - 1)
        return moeg_fail(MOEG_EINVAL, "%s: layers must be at least 1, and have widths that fit in memory, got %zu",
                         function, count);
    moeg_status status = moeg_check_pointer(function, "widths", widths);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "W", W);
    if (status == MOEG_OK)
        status = moeg_check_activation(function, activation);
    for (size_t l = 0; l <= count && status == MOEG_OK; l++)
        if (widths[l] == 0)
            status = moeg_fail(MOEG_EINVAL, "%s: widths[%zu] must be at least 1, got 0", function, l);
    for (size_t l = 0; l < count && status == MOEG_OK; l++)
        status = check_layer(function, l, widths, W[l], b != NULL && (last_bias || l + 1 < count) ? b[l] : NULL);
    return status;
}

const double *moeg_layers_last_bias(size_t count, const double *const *b)
{
    return b != NULL ? b[count - 1] : NULL;
}

size_t moeg_layers_doubles(size_t count, const size_t *widths)
{
    size_t doubles = count + 1;
    for (size_t l = 0; l < count; l++) {
        size_t layer;
        if (moeg_multiply_overflows(widths[l + 1], widths[l] + 1, &layer) || layer > SIZE_MAX - doubles)
            return SIZE_MAX;
        doubles += layer;
    }
    return doubles;
}

void moeg_layers_init(moeg_layers *layers, void *room, size_t count, const size_t *widths, const double *const *W,
                      const double *const *b, moeg_activation activation)
{
    double *numbers = (double *)room + count + 1;
    layers->count = count;
    layers->activation = activation;
    layers->widths = memcpy(room, widths, (count + 1) * sizeof *widths);
    layers->numbers = numbers;
    layers->widest = 0;
    for (size_t l = 0; l < count; l++) {
        const size_t to = widths[l + 1], from = widths[l];
        if (l + 1 < count && to > layers->widest)
            layers->widest = to;
        for (size_t k = 0; k < to; k++)
            numbers[k] = b != NULL && b[l] != NULL ? b[l][k] : 0;
        memcpy(numbers + to, W[l], to * from * sizeof *numbers);
        numbers += to + to * from;
    }
}

const double *moeg_layers_last_numbers(const moeg_layers *layers)
{
    const double *numbers = layers->numbers;
    for (size_t l = 0; l + 1 < layers->count; l++)
        numbers += layers->widths[l + 1] * (1 + layers->widths[l]);
    return numbers;
}

static size_t columns_of(size_t stride)
{
    return stride < COLUMNS ? stride : COLUMNS;
}

/* Two hidden layers, of which one is read while the other is written. */
size_t moeg_layers_workspace(const moeg_layers *layers, size_t stride)
{
    return 2 * layers->widest * columns_of(stride);
}

/* n columns. A hidden layer is n apart, so that one call activates it; ReLU is part of the affine map. */
static void forward_columns(const moeg_layers *layers, size_t n, size_t stride, const double *x, double *y,
                            double *workspace)
{
    const int relu = layers->activation == MOEG_ACTIVATION_RELU;
    const double *numbers = layers->numbers;
    size_t from_stride = stride;
    for (size_t l = 0; l < layers->count; l++) {
        const size_t from = layers->widths[l], to = layers->widths[l + 1];
        const int last = l + 1 == layers->count;
        double *out = last ? y : workspace + l % 2 * layers->widest * n;
        moeg_kernel_layer(relu && !last, to, from, numbers + to, numbers, n, from_stride, x, last ? stride : n, out);
        if (!relu && !last)
            moeg_kernel_activate(moeg_kernel_activation_of(layers->activation), to * n, out, out);
        numbers += to + to * from;
        from_stride = n;
        x = out;
    }
}

void moeg_layers_forward(const moeg_layers *layers, size_t stride, const double *x, double *y, double *workspace)
{
    for (size_t i = 0; i < stride; i += COLUMNS)
        forward_columns(layers, columns_of(stride - i), stride, x + i, y + i, workspace);
}

void moeg_transpose(size_t rows, size_t cols, const double *W, double *out)
{
    for (size_t j = 0; j < cols; j++)
        for (size_t i = 0; i < rows; i++)
            out[j * rows + i] = W[i * cols + j];
}

/* Slopes s' of all hidden layers; transposed weights of all layers but the last; two hidden layers. */
size_t moeg_layers_jacobian_workspace(const moeg_layers *layers, size_t stride)
{
    size_t doubles = 2 * layers->widest * stride;
    for (size_t l = 0; l + 1 < layers->count; l++)
        doubles += layers->widths[l + 1] * (stride + layers->widths[l]);
    return doubles;
}

/* Slopes of the hidden layers, one after another; returns the numbers of the last layer. */
static const double *find_slopes(const moeg_layers *layers, size_t stride, const double *x, double *slopes,
                                 double *hidden)
{
    const moeg_kernel_activation activation = moeg_kernel_activation_of(layers->activation);
    const double *numbers = layers->numbers;
    for (size_t l = 0; l + 1 < layers->count; l++) {
        const size_t from = layers->widths[l], to = layers->widths[l + 1];
        double *out = hidden + l % 2 * layers->widest * stride;
        moeg_kernel_affine(to, from, numbers + to, numbers, stride, x, out);
        moeg_kernel_slope(activation, to * stride, out, slopes);
        moeg_kernel_activate(activation, to * stride, out, out);
        numbers += to + to * from;
        slopes += to * stride;
        x = out;
    }
    return numbers;
}

/* Weights of all layers but the last, transposed, one after another. */
static void transpose_weights(const moeg_layers *layers, double *transposed)
{
    const double *numbers = layers->numbers;
    for (size_t l = 0; l + 1 < layers->count; l++) {
        const size_t from = layers->widths[l], to = layers->widths[l + 1];
        moeg_transpose(to, from, numbers + to, transposed);
        numbers += to + to * from;
        transposed += to * from;
    }
}

/* The gradient of one output, backward: g_l = s'_l (W_l' g_(l+1)), from the last row of weights to y (d x stride).
 * `slopes` and `transposed` point past the last ones. */
static void gradient(const moeg_layers *layers, size_t stride, const double *weights, const double *slopes,
                     const double *transposed, double *y, double *hidden)
{
    double *g = hidden, *next = hidden + layers->widest * stride;
    size_t width = layers->widths[layers->count - 1];
    slopes -= width * stride;
    for (size_t k = 0; k < width; k++)
        for (size_t i = 0; i < stride; i++)
            g[k * stride + i] = weights[k] * slopes[k * stride + i];
    for (size_t l = layers->count - 2; l > 0; l--) {
        const size_t to = layers->widths[l];
        transposed -= to * width;
        moeg_kernel_affine(to, width, transposed, NULL, stride, g, next);
        slopes -= to * stride;
        for (size_t i = 0; i < to * stride; i++)
            next[i] *= slopes[i];
        double *swap = g;
        g = next;
        next = swap;
        width = to;
    }
    moeg_kernel_affine(layers->widths[0], width, transposed - layers->widths[0] * width, NULL, stride, g, y);
}

void moeg_layers_jacobian(const moeg_layers *layers, size_t stride, const double *x, double *y, double *workspace)
{
    const size_t d = layers->widths[0], m = layers->widths[layers->count];
    double *hidden = workspace, *slopes = hidden + 2 * layers->widest * stride, *transposed = slopes;
    size_t weights = 0;
    for (size_t l = 0; l + 1 < layers->count; l++) {
        transposed += layers->widths[l + 1] * stride;
        weights += layers->widths[l + 1] * layers->widths[l];
    }
    const double *last = find_slopes(layers, stride, x, slopes, hidden) + m;
    transpose_weights(layers, transposed);
    for (size_t j = 0; j < m; j++)
        gradient(layers, stride, last + j * layers->widths[layers->count - 1], transposed, transposed + weights,
                 y + j * d * stride, hidden);
}
