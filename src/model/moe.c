/* x -> sum_k g_k(x) f_k(x), the experts in ascending order. */
#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "model/block.h"
#include "model/gates.h"
#include "model/map.h"
#include "model/model.h"
#include "model/object.h"

#include <math.h>
#include <string.h>

struct moeg_moe {
    moeg_object object;
    moeg_router *router;
    moeg_gate gate;
    size_t outputs;
    moeg_expert *experts[]; /* (K) */
};

moeg_moe *moeg_moe_retain(const moeg_moe *moe)
{
    return moeg_object_retain(moe);
}

void moeg_moe_free(moeg_moe *moe)
{
    if (!moeg_object_release(moe))
        return;
    for (size_t k = 0; k < moeg_router_experts(moe->router); k++)
        moeg_expert_free(moe->experts[k]);
    moeg_router_free(moe->router);
    moeg_release(moe);
}

static moeg_status check_experts(const char *function, const moeg_router *router, moeg_expert *const *experts)
{
    const size_t d = moeg_router_dim(router);
    for (size_t k = 0; k < moeg_router_experts(router); k++) {
        if (experts[k] == NULL)
            return moeg_fail(MOEG_EINVAL, "%s: experts[%zu] must not be NULL", function, k);
        if (moeg_expert_dim(experts[k]) != d)
            return moeg_fail(MOEG_EINVAL, "%s: experts[%zu] must have the router's d = %zu, got %zu", function, k, d,
                             moeg_expert_dim(experts[k]));
        if (moeg_expert_outputs(experts[k]) != moeg_expert_outputs(experts[0]))
            return moeg_fail(MOEG_EINVAL, "%s: experts[%zu] must have the m = %zu of experts[0], got %zu", function, k,
                             moeg_expert_outputs(experts[0]), moeg_expert_outputs(experts[k]));
    }
    return MOEG_OK;
}

moeg_status moeg_moe_create(moeg_moe **moe, moeg_router *router, moeg_gate gate, moeg_expert *const *experts)
{
    static const char function[] = "moe";
    moeg_status status = moeg_check_pointer(function, "moe", moe);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "router", router);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "experts", experts);
    if (status == MOEG_OK)
        status = moeg_check_gate(function, gate, moeg_router_experts(router));
    if (status == MOEG_OK)
        status = check_experts(function, router, experts);
    if (status != MOEG_OK)
        return status;

    const size_t K = moeg_router_experts(router);
    _Static_assert(sizeof(moeg_expert *) <= sizeof(double), "experts take the room of doubles");
    moeg_moe *made = moeg_object_alloc(sizeof *made, K);
    if (made == NULL)
        return moeg_fail_memory(function);
    made->router = moeg_router_retain(router);
    made->gate = gate;
    made->outputs = moeg_expert_outputs(experts[0]);
    for (size_t k = 0; k < K; k++)
        made->experts[k] = moeg_expert_retain(experts[k]);
    *moe = made;
    return MOEG_OK;
}

size_t moeg_moe_dim(const moeg_moe *moe)
{
    return moe == NULL ? 0 : moeg_router_dim(moe->router);
}

size_t moeg_moe_outputs(const moeg_moe *moe)
{
    return moe == NULL ? 0 : moe->outputs;
}

const moeg_router *moeg_moe_router(const moeg_moe *moe)
{
    return moe == NULL ? NULL : moe->router;
}

moeg_gate moeg_moe_gate(const moeg_moe *moe)
{
    return moe == NULL ? moeg_gate_softmax() : moe->gate;
}

const moeg_expert *moeg_moe_expert(const moeg_moe *moe, size_t k)
{
    return moe == NULL || k >= moeg_router_experts(moe->router) ? NULL : moe->experts[k];
}

/* Gates (K x stride), outputs of one expert (m x stride), the best experts and their margins (2 x stride), then what
 * the router, the gates or one expert want. */
size_t moeg_moe_workspace(const moeg_moe *moe, size_t stride)
{
    const size_t K = moeg_router_experts(moe->router);
    const size_t logits = moeg_router_workspace(moe->router, stride), gates = moeg_gate_workspace(moe->gate, K);
    size_t largest = logits > gates ? logits : gates;
    for (size_t k = 0; k < K; k++) {
        const size_t workspace = moeg_expert_workspace(moe->experts[k], stride);
        largest = workspace > largest ? workspace : largest;
    }
    return (K + moe->outputs + 2) * stride + largest;
}

/* MOEG_OK, or MOEG_EDOM: masks leave the gate enough experts. */
static moeg_status check_masks(moeg_gate gate, size_t K, size_t n, size_t stride, const double *a)
{
    if (moeg_kernel_finite(K * stride, a))
        return MOEG_OK;
    for (size_t i = 0; i < n; i++) {
        size_t left = 0;
        for (size_t k = 0; k < K; k++)
            left += a[k * stride + i] != -INFINITY;
        if (left < moeg_gate_wants(gate))
            return moeg_fail(MOEG_EDOM, "moe: the router masks all but %zu experts, fewer than gate.k = %zu", left,
                             gate.k);
    }
    return MOEG_OK;
}

/* Hard gates of one expert alone, in place: 0 where the logits want to be looked at, row by row. */
static int choose_best(size_t K, size_t stride, double *gates, double *margin, uint32_t *best)
{
    if (K < 2 || moeg_kernel_top2(K, stride, gates, best, margin) != 0)
        return 0;
    for (uint32_t k = 0; k < K; k++) {
        double *gate = gates + k * stride;
        for (size_t i = 0; i < stride; i++)
            gate[i] = best[i] == k ? 1 : 0;
    }
    return 1;
}

static int all_zero(size_t n, const double *values)
{
    for (size_t i = 0; i < n; i++)
        if (values[i] != 0)
            return 0;
    return 1;
}

moeg_status moeg_moe_forward_block(const moeg_moe *moe, double tau, size_t n, size_t stride, const double *x, double *y,
                                   double *workspace)
{
    const size_t K = moeg_router_experts(moe->router), m = moe->outputs;
    double *gates = workspace, *f = gates + K * stride, *margin = f + m * stride;
    double *rest = margin + 2 * stride;
    moeg_status status = moeg_router_logits_block(moe->router, n, stride, x, gates, rest);
    if (status == MOEG_OK)
        status = check_masks(moe->gate, K, n, stride, gates);
    if (status != MOEG_OK)
        return status;
    if (moe->gate.kind == MOEG_GATE_SOFTMAX && tau > 0)
        moeg_kernel_softmax(K, tau, stride, gates);
    else if (moe->gate.kind != MOEG_GATE_SOFTMAX ||
             !choose_best(K, stride, gates, margin, (uint32_t *)(margin + stride)))
        moeg_gates_block(moe->gate, K, stride, gates, tau, gates, rest);
    memset(y, 0, m * stride * sizeof *y);
    for (size_t k = 0; k < K; k++) {
        const double *g = gates + k * stride;
        if (all_zero(stride, g))
            continue;
        status = moeg_expert_forward_block(moe->experts[k], n, stride, x, f, rest);
        if (status != MOEG_OK)
            return status;
        /* Left out where the gate is 0, not multiplied by it: there f may have overflowed. */
        for (size_t j = 0; j < m; j++)
            moeg_kernel_add_weighted(stride, g, f + j * stride, y + j * stride);
    }
    return MOEG_OK;
}

typedef struct moe_at {
    const moeg_moe *moe;
    double tau;
} moe_at;

static moeg_status map_block(const void *object, uint64_t first, size_t n, size_t stride, const double *x, double *y,
                             double *workspace)
{
    (void)first;
    const moe_at *at = object;
    return moeg_moe_forward_block(at->moe, at->tau, n, stride, x, y, workspace);
}

moeg_status moeg_moe_forward(const moeg_moe *moe, double tau, size_t n, const double *x, double *y)
{
    static const char function[] = "moe_forward";
    moeg_status status = moeg_check_pointer(function, "moe", moe);
    if (status == MOEG_OK)
        status = moeg_check_tau(function, "tau", tau);
    if (status != MOEG_OK)
        return status;
    const moe_at at = {moe, tau};
    const moeg_map map = {
        .function = function,
        .name = "y",
        .value = "the value, or a logit behind it,",
        .block = map_block,
        .object = &at,
        .d = moeg_moe_dim(moe),
        .m = moe->outputs,
        .workspace = moeg_moe_workspace(moe, MOEG_TILE),
    };
    return moeg_map_rows(&map, 0, n, x, y);
}
