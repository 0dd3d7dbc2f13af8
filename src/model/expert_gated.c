/* f(x) = D (s(G x) * (U x)), product by elements: SwiGLU, GEGLU and their like. */
#include "base/error.h"
#include "base/kernel.h"
#include "model/activation.h"
#include "model/block.h"
#include "model/expert_kind.h"
#include "model/layers.h"

#include <stdint.h>
#include <string.h>

typedef struct gated_expert {
    moeg_expert expert;
    size_t hidden;
    moeg_kernel_activation activation;
    double numbers[]; /* G (h x d), U (h x d), D (m x h) */
} gated_expert;

/* Units that go through all of it before the next ones do: hidden values stay in cache. */
enum { COLUMNS = 96 };

static const double *down_of(const gated_expert *e)
{
    return e->numbers + 2 * e->hidden * e->expert.dim;
}

/* G x and U x. */
static size_t workspace(const moeg_expert *expert, size_t stride)
{
    return 2 * ((const gated_expert *)expert)->hidden * (stride < COLUMNS ? stride : COLUMNS);
}

static moeg_status forward_block(const moeg_expert *expert, size_t n, size_t stride, const double *x, double *y,
                                 double *scratch)
{
    (void)n;
    const gated_expert *e = (const gated_expert *)expert;
    const size_t h = e->hidden, d = expert->dim;
    for (size_t start = 0; start < stride; start += COLUMNS) {
        const size_t columns = stride - start < COLUMNS ? stride - start : COLUMNS, count = h * columns;
        double *gate = scratch, *up = gate + count;
        moeg_kernel_layer(0, 2 * h, d, e->numbers, NULL, columns, stride, x + start, columns, gate);
        moeg_kernel_activate(e->activation, count, gate, gate);
        for (size_t i = 0; i < count; i++)
            gate[i] *= up[i];
        moeg_kernel_layer(0, expert->outputs, h, down_of(e), NULL, columns, columns, gate, stride, y + start);
    }
    return MOEG_OK;
}

/* s(G x) and U x, then s'(G x) (U x); their products with a row of D; the transpose of G and U. */
static size_t jacobian_workspace(const moeg_expert *expert, size_t stride)
{
    const size_t h = ((const gated_expert *)expert)->hidden;
    return 5 * h * stride + 2 * h * expert->dim;
}

/* J_j = sum over k of D_jk { s'(g_k) u_k G_k + s(g_k) U_k }: one affine map of 2 h values for each output. */
static moeg_status jacobian_block(const moeg_expert *expert, size_t n, size_t stride, const double *x, double *y,
                                  double *scratch)
{
    (void)n;
    const gated_expert *e = (const gated_expert *)expert;
    const size_t h = e->hidden, d = expert->dim, count = h * stride;
    double *gate = scratch, *up = gate + count, *slope = up + count, *g = slope + count, *transposed = g + 2 * count;
    moeg_kernel_affine(2 * h, d, e->numbers, NULL, stride, x, gate);
    moeg_kernel_slope(e->activation, count, gate, slope);
    moeg_kernel_activate(e->activation, count, gate, gate);
    for (size_t i = 0; i < count; i++)
        slope[i] *= up[i];
    moeg_transpose(2 * h, d, e->numbers, transposed);
    for (size_t j = 0; j < expert->outputs; j++) {
        const double *down = down_of(e) + j * h;
        for (size_t k = 0; k < h; k++)
            for (size_t i = k * stride; i < (k + 1) * stride; i++) {
                g[i] = down[k] * slope[i];
                g[count + i] = down[k] * gate[i];
            }
        moeg_kernel_affine(d, 2 * h, transposed, NULL, stride, g, y + j * d * stride);
    }
    return MOEG_OK;
}

static const moeg_expert_kind gated_kind = {
    .workspace = workspace,
    .forward_block = forward_block,
    .jacobian_workspace = jacobian_workspace,
    .jacobian_block = jacobian_block,
};

moeg_status moeg_expert_gated_create(moeg_expert **expert, size_t d, size_t h, size_t m, const double *gate,
                                     const double *up, const double *down, moeg_activation activation)
{
    static const char function[] = "expert_gated";
    moeg_status status = moeg_expert_check(function, expert, d, m);
    if (status == MOEG_OK && h == 0)
        status = moeg_fail(MOEG_EINVAL, "%s: h must be at least 1, got 0", function);
    if (status == MOEG_OK)
        status = moeg_check_rows(function, "gate", h, d, gate);
    if (status == MOEG_OK)
        status = moeg_check_rows(function, "up", h, d, up);
    if (status == MOEG_OK)
        status = moeg_check_rows(function, "down", m, h, down);
    if (status == MOEG_OK)
        status = moeg_check_activation(function, activation);
    if (status != MOEG_OK)
        return status;
    /* The sum does not overflow: what moeg_check_rows() lets pass is below 2^60. */
    gated_expert *e = moeg_object_alloc(sizeof *e, 2 * h * d + m * h);
    if (e == NULL)
        return moeg_fail_memory(function);
    e->expert.kind = &gated_kind;
    e->expert.dim = d;
    e->expert.outputs = m;
    e->hidden = h;
    e->activation = moeg_kernel_activation_of(activation);
    memcpy(e->numbers, gate, h * d * sizeof *gate);
    memcpy(e->numbers + h * d, up, h * d * sizeof *up);
    memcpy(e->numbers + 2 * h * d, down, m * h * sizeof *down);
    *expert = &e->expert;
    return MOEG_OK;
}
