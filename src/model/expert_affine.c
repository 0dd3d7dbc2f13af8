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

static void forward_block(const moeg_expert *expert, size_t stride, const double *x, double *y, double *workspace)
{
    (void)workspace;
    const double *c = ((const affine_expert *)expert)->numbers;
    moeg_kernel_affine(expert->outputs, expert->dim, c + expert->outputs, c, stride, x, y);
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

static const moeg_expert_kind affine_kind = {moeg_expert_no_workspace, forward_block, affine_form};

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
