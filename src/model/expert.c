#include "base/error.h"
#include "base/memory.h"
#include "model/block.h"
#include "model/expert_kind.h"
#include "model/map.h"

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

void moeg_expert_forward_block(const moeg_expert *expert, size_t stride, const double *x, double *y, double *workspace)
{
    expert->kind->forward_block(expert, stride, x, y, workspace);
}

moeg_status moeg_expert_affine_form(const moeg_expert *expert, double *A, double *c)
{
    const moeg_status status = moeg_check_pointer("expert_affine_form", "expert", expert);
    if (status == MOEG_OK)
        expert->kind->affine_form(expert, A, c);
    return status;
}

static void map_block(const void *object, uint64_t first, size_t n, size_t stride, const double *x, double *y,
                      double *workspace)
{
    (void)first;
    (void)n;
    moeg_expert_forward_block(object, stride, x, y, workspace);
}

moeg_status moeg_expert_forward(const moeg_expert *expert, size_t n, const double *x, double *y)
{
    static const char function[] = "expert_forward";
    const moeg_status status = moeg_check_pointer(function, "expert", expert);
    if (status != MOEG_OK)
        return status;
    const moeg_map map = {
        .function = function,
        .value = "the value",
        .block = map_block,
        .object = expert,
        .d = expert->dim,
        .m = expert->outputs,
        .workspace = moeg_expert_workspace(expert, MOEG_TILE),
    };
    return moeg_map_rows(&map, 0, n, x, y);
}
