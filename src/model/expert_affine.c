/* f(x) = A x + c. */
#include "base/error.h"
#include "base/kernel.h"
#include "model/block.h"
#include "model/expert_kind.h"

#include <string.h>

typedef struct affine_expert {
    moeg_expert expert;
    double numbers[]; /* c (m), then A (m x d) */
} affine_expert;

static moeg_status forward_block(const moeg_expert *expert, size_t n, size_t stride, const double *x, double *y,
                                 double *workspace)
{
    (void)n;
    (void)workspace;
    const double *c = ((const affine_expert *)expert)->numbers;
    moeg_kernel_affine(expert->outputs, expert->dim, c + expert->outputs, c, stride, x, y);
    return MOEG_OK;
}

static moeg_status jacobian_block(const moeg_expert *expert, size_t n, size_t stride, const double *x, double *y,
                                  double *workspace)
{
    (void)n;
    (void)x;
    (void)workspace;
    const double *A = ((const affine_expert *)expert)->numbers + expert->outputs;
    for (size_t j = 0; j < expert->outputs * expert->dim; j++)
        for (size_t i = 0; i < stride; i++)
            y[j * stride + i] = A[j];
    return MOEG_OK;
}

static void affine_form(const moeg_expert *expert, double *A, double *c)
{
    const double *numbers = ((const affine_expert *)expert)->numbers;
    const size_t m = expert->outputs;
    if (A != NULL)
        memcpy(A, numbers + m, m * expert->dim * sizeof *A);
    if (c != NULL)
        memcpy(c, numbers, m * sizeof *c);
}

static const moeg_expert_kind affine_kind = {
    .workspace = moeg_expert_no_workspace,
    .forward_block = forward_block,
    .jacobian_workspace = moeg_expert_no_workspace,
    .jacobian_block = jacobian_block,
    .affine_form = affine_form,
};

moeg_status moeg_expert_affine_create(moeg_expert **expert, size_t d, size_t m, const double *A, const double *c)
{
    static const char function[] = "expert_affine";
    moeg_status status = moeg_expert_check(function, expert, d, m);
    if (status == MOEG_OK)
        status = moeg_check_rows(function, "A", m, d, A);
    if (status == MOEG_OK && c != NULL)
        status = moeg_check_finite(function, "c", m, c);
    if (status != MOEG_OK)
        return status;
    affine_expert *e = moeg_object_alloc(sizeof *e, m + m * d);
    if (e == NULL)
        return moeg_fail_memory(function);
    e->expert.kind = &affine_kind;
    e->expert.dim = d;
    e->expert.outputs = m;
    for (size_t j = 0; j < m; j++)
        e->numbers[j] = c == NULL ? 0 : c[j];
    memcpy(e->numbers + m, A, m * d * sizeof *A);
    *expert = &e->expert;
    return MOEG_OK;
}
