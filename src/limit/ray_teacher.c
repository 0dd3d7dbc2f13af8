#include "limit/ray_teacher.h"

#include "base/error.h"
#include "base/memory.h"
#include "limit/pair.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* Room for the numbers of the experts that are not masked: rows, and of each router what is subtracted from them. */
typedef struct stacked {
    double *plus, *minus; /* (live x (d + 1)): each expert's row and bias; those of the first, again and again */
    size_t live;
} stacked;

static void stack(size_t K, size_t d, const double *W, const double *b, stacked *s)
{
    s->live = 0;
    for (size_t k = 0; k < K; k++) {
        if (isinf(b[k]))
            continue;
        double *plus = s->plus + s->live * (d + 1), *minus = s->minus + s->live * (d + 1);
        memcpy(plus, W + k * d, d * sizeof *plus);
        plus[d] = b[k];
        memcpy(minus, s->plus, (d + 1) * sizeof *minus);
        s->live++;
    }
}

/* Whether differences of the second router's logits are those of the first times one positive factor: as one long row
 * of all differences. */
static int differ_alike(const stacked *first, const stacked *second, size_t d)
{
    size_t pivot;
    const moeg_row a = {.d = first->live * (d + 1), .plus = first->plus, .minus = first->minus};
    const moeg_row b = {.d = second->live * (d + 1), .plus = second->plus, .minus = second->minus};
    return moeg_row_is_multiple(&a, &b, 0, &pivot) &&
           moeg_pair_value(moeg_row_entry(&a, pivot)) * moeg_pair_value(moeg_row_entry(&b, pivot)) > 0;
}

static moeg_status compare(const char *function, const moeg_router *student, const moeg_router *teacher, int *same)
{
    const size_t K = moeg_router_experts(student), d = moeg_router_dim(student);
    const double *W[2], *b[2];
    *same = 0;
    if (moeg_router_experts(teacher) != K || !moeg_router_affine_parts(student, &W[0], &b[0]) ||
        !moeg_router_affine_parts(teacher, &W[1], &b[1]))
        return MOEG_OK;
    for (size_t k = 0; k < K; k++)
        if (isinf(b[0][k]) != isinf(b[1][k]))
            return MOEG_OK;
    double *memory = moeg_alloc(4 * K, (d + 1) * sizeof *memory);
    if (memory == NULL)
        return moeg_fail_memory(function);
    const size_t size = K * (d + 1);
    stacked s = {.plus = memory, .minus = memory + size}, t = {.plus = memory + 2 * size, .minus = memory + 3 * size};
    stack(K, d, W[0], b[0], &s);
    stack(K, d, W[1], b[1], &t);
    *same = differ_alike(&s, &t, d);
    moeg_release(memory);
    return MOEG_OK;
}

static const char *refuse_mixture(const moeg_moe *moe, double tau)
{
    const moeg_gate gate = moeg_moe_gate(moe);
    if (tau != 0)
        return "the teacher is soft";
    if (gate.kind == MOEG_GATE_SUBSET && gate.k > 1)
        return "the teacher is a mean of experts";
    if (moeg_router_live(moeg_moe_router(moe)) < gate.k)
        return "the teacher's router masks an expert that its gate wants";
    for (size_t k = 0; k < moeg_router_experts(moeg_moe_router(moe)); k++)
        if (!moeg_expert_is_affine(moeg_moe_expert(moe, k)))
            return "an expert of the teacher is neither constant nor affine";
    return NULL;
}

moeg_status moeg_ray_teacher_refusal(const char *function, const moeg_moe *student, const moeg_teacher *teacher,
                                     const char **refusal)
{
    double tau = 0;
    const moeg_expert *expert = moeg_teacher_expert(teacher);
    const moeg_moe *moe = moeg_teacher_moe(teacher, &tau);
    *refusal = NULL;
    if (expert != NULL) {
        *refusal = moeg_expert_is_affine(expert) ? NULL : "the teacher's expert is neither constant nor affine";
        return MOEG_OK;
    }
    *refusal = moe != NULL ? refuse_mixture(moe, tau) : "the teacher is neither an expert nor a mixture";
    if (*refusal != NULL)
        return MOEG_OK;
    int same;
    const moeg_status status = compare(function, moeg_moe_router(student), moeg_moe_router(moe), &same);
    if (status == MOEG_OK && !same)
        *refusal = "the teacher's pieces are not the cells of the router";
    return status;
}

const moeg_expert *moeg_ray_teacher_piece(const moeg_teacher *teacher, size_t k)
{
    double tau;
    const moeg_expert *expert = moeg_teacher_expert(teacher);
    return expert != NULL ? expert : moeg_moe_expert(moeg_teacher_moe(teacher, &tau), k);
}
