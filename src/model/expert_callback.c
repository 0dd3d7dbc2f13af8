/* f by the user's function. */
#include "base/error.h"
#include "model/block.h"
#include "model/expert_kind.h"

#include <math.h>
#include <stdint.h>

typedef struct callback_expert {
    moeg_expert expert;
    moeg_expert_map forward, jacobian;
    void *user;
} callback_expert;

/* Rows of x, then of values. */
static size_t rows_workspace(size_t d, size_t width, size_t stride)
{
    return (d + width) * stride;
}

/* `width` values of each unit by a function of rows. */
static moeg_status call(const callback_expert *c, const char *name, moeg_expert_map map, size_t width, size_t n,
                        size_t stride, const double *x, double *y, double *workspace)
{
    const size_t d = c->expert.dim;
    double *rows = workspace, *out = rows + d * n;
    moeg_block_unpack(n, d, x, stride, rows);
    /* So that what the function leaves unwritten is found. */
    for (size_t i = 0; i < n * width; i++)
        out[i] = NAN;
    const int failed = map(n, rows, out, c->user);
    if (failed != 0)
        return moeg_fail(MOEG_ECALLBACK, "expert_callback: %s returned %d", name, failed);
    moeg_block_pack(n, width, out, stride, y);
    return MOEG_OK;
}

static size_t workspace(const moeg_expert *expert, size_t stride)
{
    return rows_workspace(expert->dim, expert->outputs, stride);
}

static moeg_status forward_block(const moeg_expert *expert, size_t n, size_t stride, const double *x, double *y,
                                 double *scratch)
{
    const callback_expert *c = (const callback_expert *)expert;
    return call(c, "forward", c->forward, expert->outputs, n, stride, x, y, scratch);
}

static size_t jacobian_workspace(const moeg_expert *expert, size_t stride)
{
    return rows_workspace(expert->dim, expert->outputs * expert->dim, stride);
}

static moeg_status jacobian_block(const moeg_expert *expert, size_t n, size_t stride, const double *x, double *y,
                                  double *scratch)
{
    const callback_expert *c = (const callback_expert *)expert;
    return call(c, "jacobian", c->jacobian, expert->outputs * expert->dim, n, stride, x, y, scratch);
}

static const moeg_expert_kind forward_kind = {
    .workspace = workspace,
    .forward_block = forward_block,
};

static const moeg_expert_kind jacobian_kind = {
    .workspace = workspace,
    .forward_block = forward_block,
    .jacobian_workspace = jacobian_workspace,
    .jacobian_block = jacobian_block,
};

moeg_status moeg_expert_callback_create(moeg_expert **expert, size_t d, size_t m, moeg_expert_map forward,
                                        moeg_expert_map jacobian, void *user)
{
    static const char function[] = "expert_callback";
    moeg_status status = moeg_expert_check(function, expert, d, m);
    if (status == MOEG_OK && (d > UINT32_MAX || m > UINT32_MAX))
        status = moeg_fail(MOEG_EINVAL, "%s: d and m must be below 2^32, got d = %zu, m = %zu", function, d, m);
    if (status == MOEG_OK && forward == NULL)
        status = moeg_fail(MOEG_EINVAL, "%s: forward must not be NULL", function);
    if (status != MOEG_OK)
        return status;
    callback_expert *e = moeg_object_alloc(sizeof *e, 0);
    if (e == NULL)
        return moeg_fail_memory(function);
    e->expert.kind = jacobian == NULL ? &forward_kind : &jacobian_kind;
    e->expert.dim = d;
    e->expert.outputs = m;
    e->forward = forward;
    e->jacobian = jacobian;
    e->user = user;
    *expert = &e->expert;
    return MOEG_OK;
}
