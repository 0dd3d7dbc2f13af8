#include "base/error.h"
#include "base/memory.h"
#include "dynamics/symmetry.h"
#include "model/model.h"

#include <string.h>

moeg_status moeg_check_direction(const char *function, const char *name, size_t d, const double *v)
{
    moeg_status status = moeg_check_array(function, name, d, 1, v);
    if (status == MOEG_OK)
        status = moeg_check_finite(function, name, d, v);
    for (size_t j = 0; status == MOEG_OK && j < d; j++)
        if (v[j] != 0)
            return MOEG_OK;
    return status != MOEG_OK ? status : moeg_fail(MOEG_EINVAL, "%s: %s must not be 0", function, name);
}

moeg_status moeg_check_halves(const char *function, const moeg_halves *halves)
{
    moeg_status status = moeg_check_pointer(function, "halves", halves);
    if (status != MOEG_OK)
        return status;
    if (halves->d == 0 || halves->outputs == 0)
        return moeg_fail(MOEG_EINVAL, "%s: halves->%s must be at least 1, got 0", function,
                         halves->d == 0 ? "d" : "outputs");
    status = moeg_check_direction(function, "halves->v", halves->d, halves->v);
    if (status == MOEG_OK)
        status = moeg_check_rows(function, "halves->beta", halves->outputs, halves->d, halves->beta);
    if (status == MOEG_OK && halves->mu != NULL)
        status = moeg_check_finite(function, "halves->mu", halves->outputs, halves->mu);
    return status == MOEG_OK ? moeg_check_tau(function, "halves->tau", halves->tau) : status;
}

/* The experts +(beta x + mu) and -(beta x + mu). */
static moeg_status create_experts(const char *function, const moeg_halves *halves, moeg_expert **experts)
{
    const size_t m = halves->outputs, size = m * halves->d;
    double *negative = moeg_alloc(size + m, sizeof *negative);
    if (negative == NULL)
        return moeg_fail_memory(function);
    for (size_t i = 0; i < size; i++)
        negative[i] = -halves->beta[i];
    for (size_t o = 0; o < m; o++)
        negative[size + o] = halves->mu != NULL ? -halves->mu[o] : 0;
    moeg_status status = moeg_expert_affine_create(&experts[0], halves->d, m, halves->beta, halves->mu);
    if (status == MOEG_OK)
        status = moeg_expert_affine_create(&experts[1], halves->d, m, negative, negative + size);
    moeg_release(negative);
    return status;
}

/* The router of the logits v.x and 0. */
static moeg_status create_router(const char *function, const moeg_halves *halves, moeg_router **router)
{
    double *W = moeg_alloc_zero(2 * halves->d, sizeof *W);
    if (W == NULL)
        return moeg_fail_memory(function);
    memcpy(W, halves->v, halves->d * sizeof *W);
    const moeg_status status = moeg_router_affine_create(router, 2, halves->d, W, NULL);
    moeg_release(W);
    return status;
}

moeg_status moeg_halves_teacher_create(const moeg_halves *halves, moeg_teacher **teacher)
{
    static const char function[] = "halves_teacher";
    moeg_status status = moeg_check_halves(function, halves);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "teacher", teacher);
    if (status != MOEG_OK)
        return status;
    moeg_expert *experts[2] = {NULL, NULL};
    moeg_router *router = NULL;
    moeg_moe *moe = NULL;
    status = create_experts(function, halves, experts);
    if (status == MOEG_OK)
        status = create_router(function, halves, &router);
    if (status == MOEG_OK)
        status = moeg_moe_create(&moe, router, moeg_gate_softmax(), experts);
    if (status == MOEG_OK)
        status = moeg_teacher_moe_create(teacher, moe, halves->tau);
    moeg_moe_free(moe);
    moeg_router_free(router);
    moeg_expert_free(experts[0]);
    moeg_expert_free(experts[1]);
    return status;
}
