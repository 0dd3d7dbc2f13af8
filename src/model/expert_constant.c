/* f(x) = c. */
#include "base/error.h"
#include "model/block.h"
#include "model/expert_kind.h"

#include <string.h>

typedef struct constant_expert {
    moeg_expert expert;
    double c[];
} constant_expert;

static moeg_status forward_block(const moeg_expert *expert, size_t n, size_t stride, const double *x, double *y,
                                 double *workspace)
{
    (void)n;
    (void)x;
    (void)workspace;
    const double *c = ((const constant_expert *)expert)->c;
    for (size_t j = 0; j < expert->outputs; j++)
        for (size_t i = 0; i < stride; i++)
            y[j * stride + i] = c[j];
    return MOEG_OK;
}

static moeg_status jacobian_block(const moeg_expert *expert, size_t n, size_t stride, const double *x, double *y,
                                  double *workspace)
{
    (void)n;
    (void)x;
    (void)workspace;
    memset(y, 0, expert->outputs * expert->dim * stride * sizeof *y);
    return MOEG_OK;
}

static void affine_form(const moeg_expert *expert, double *A, double *c)
{
    if (A != NULL)
        memset(A, 0, expert->outputs * expert->dim * sizeof *A);
    if (c != NULL)
        memcpy(c, ((const constant_expert *)expert)->c, expert->outputs * sizeof *c);
}

static const moeg_expert_kind constant_kind = {
    .workspace = moeg_expert_no_workspace,
    .forward_block = forward_block,
    .jacobian_workspace = moeg_expert_no_workspace,
    .jacobian_block = jacobian_block,
    .affine_form = affine_form,
};

moeg_status moeg_expert_constant_create(moeg_expert **expert, size_t d, size_t m, const double *c)
{
    static const char function[] = "expert_constant";
    moeg_status status = moeg_expert_check(function, expert, d, m);
    if (status == MOEG_OK)
        status = moeg_check_array(function, "c", 1, m, c);
    if (status == MOEG_OK)
        status = moeg_check_finite(function, "c", m, c);
    if (status != MOEG_OK)
        return status;
    constant_expert *e = moeg_object_alloc(sizeof *e, m);
    if (e == NULL)
        return moeg_fail_memory(function);
    e->expert.kind = &constant_kind;
    e->expert.dim = d;
    e->expert.outputs = m;
    memcpy(e->c, c, m * sizeof *c);
    *expert = &e->expert;
    return MOEG_OK;
}

const double *moeg_expert_constant_output(const moeg_expert *expert)
{
    return expert->kind == &constant_kind ? ((const constant_expert *)expert)->c : NULL;
}
