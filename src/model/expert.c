#include "base/error.h"
#include "base/memory.h"
#include "model/block.h"
#include "model/expert_kind.h"
#include "model/map.h"

#include <stdint.h>

moeg_status moeg_expert_check(const char *function, moeg_expert **expert, size_t d, size_t m)
{
    const moeg_status status = moeg_check_pointer(function, "expert", expert);
    if (status == MOEG_OK && (d == 0 || m == 0))
        return moeg_fail(MOEG_EINVAL, "%s: d and m must be at least 1, got d = %zu, m = %zu", function, d, m);
    return status;
}

size_t moeg_expert_no_workspace(const moeg_expert *expert, size_t stride)
{
    (void)expert;
    (void)stride;
    return 0;
}

moeg_expert *moeg_expert_retain(const moeg_expert *expert)
{
    return moeg_object_retain(expert);
}

void moeg_expert_free(moeg_expert *expert)
{
    if (moeg_object_release(expert))
        moeg_release(expert);
}

size_t moeg_expert_dim(const moeg_expert *expert)
{
    return expert == NULL ? 0 : expert->dim;
}

size_t moeg_expert_outputs(const moeg_expert *expert)
{
    return expert == NULL ? 0 : expert->outputs;
}

size_t moeg_expert_workspace(const moeg_expert *expert, size_t stride)
{
    return expert->kind->workspace(expert, stride);
}

moeg_status moeg_expert_forward_block(const moeg_expert *expert, size_t n, size_t stride, const double *x, double *y,
                                      double *workspace)
{
    return expert->kind->forward_block(expert, n, stride, x, y, workspace);
}

int moeg_expert_is_affine(const moeg_expert *expert)
{
    return expert->kind->affine_form != NULL;
}

moeg_status moeg_expert_affine_form(const moeg_expert *expert, double *A, double *c)
{
    static const char function[] = "expert_affine_form";
    const moeg_status status = moeg_check_pointer(function, "expert", expert);
    if (status != MOEG_OK)
        return status;
    if (!moeg_expert_is_affine(expert))
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: the expert is neither affine nor constant", function);
    expert->kind->affine_form(expert, A, c);
    return MOEG_OK;
}

static moeg_status forward_map(const void *object, uint64_t first, size_t n, size_t stride, const double *x, double *y,
                               double *workspace)
{
    (void)first;
    return moeg_expert_forward_block(object, n, stride, x, y, workspace);
}

moeg_status moeg_expert_forward(const moeg_expert *expert, size_t n, const double *x, double *y)
{
    static const char function[] = "expert_forward";
    const moeg_status status = moeg_check_pointer(function, "expert", expert);
    if (status != MOEG_OK)
        return status;
    const moeg_map map = {
        .function = function,
        .name = "y",
        .value = "the value",
        .block = forward_map,
        .object = expert,
        .d = expert->dim,
        .m = expert->outputs,
        .workspace = moeg_expert_workspace(expert, MOEG_TILE),
    };
    return moeg_map_rows(&map, 0, n, x, y);
}

static moeg_status jacobian_map(const void *object, uint64_t first, size_t n, size_t stride, const double *x, double *y,
                                double *workspace)
{
    (void)first;
    const moeg_expert *expert = object;
    return expert->kind->jacobian_block(expert, n, stride, x, y, workspace);
}

moeg_status moeg_expert_jacobian(const moeg_expert *expert, size_t n, const double *x, double *J)
{
    static const char function[] = "expert_jacobian";
    const moeg_status status = moeg_check_pointer(function, "expert", expert);
    if (status != MOEG_OK)
        return status;
    if (expert->kind->jacobian_block == NULL)
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: the callback expert was made without a Jacobian", function);
    size_t count;
    if (moeg_multiply_overflows(expert->outputs, expert->dim, &count) || count > PTRDIFF_MAX / sizeof(double))
        return moeg_fail(MOEG_EINVAL, "%s: J (%zu x %zu x %zu) has more values than memory can hold", function, n,
                         expert->outputs, expert->dim);
    const moeg_map map = {
        .function = function,
        .name = "J",
        .value = "the derivative",
        .block = jacobian_map,
        .object = expert,
        .d = expert->dim,
        .m = count,
        .inputs = expert->dim,
        .workspace = expert->kind->jacobian_workspace(expert, MOEG_TILE),
    };
    return moeg_map_rows(&map, 0, n, x, J);
}
