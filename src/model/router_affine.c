/* a = W x + b; b_k = -inf masks expert k. */
#include "base/error.h"
#include "base/kernel.h"
#include "model/block.h"
#include "model/router_kind.h"

#include <string.h>

typedef struct affine_router {
    moeg_router router;
    double numbers[]; /* b (K), then W (K x d) */
} affine_router;

static const double *bias_of(const affine_router *r)
{
    return r->numbers;
}

static const double *weights_of(const affine_router *r)
{
    return r->numbers + r->router.experts;
}

static size_t workspace(const moeg_router *router, size_t stride)
{
    (void)router;
    (void)stride;
    return 0;
}

static moeg_status logits_block(const moeg_router *router, size_t n, size_t stride, const double *x, double *a,
                                double *scratch)
{
    (void)n;
    (void)scratch;
    const affine_router *r = (const affine_router *)router;
    moeg_kernel_affine(router->experts, router->dim, weights_of(r), bias_of(r), stride, x, a);
    moeg_router_settle(router->experts, bias_of(r), stride, a);
    return MOEG_OK;
}

static const moeg_router_kind affine_kind = {workspace, logits_block};

moeg_status moeg_router_check_affine(const char *function, moeg_router **router, size_t K, size_t d, const char *name,
                                     const double *W)
{
    const moeg_status status = moeg_router_check(function, router, K);
    if (status != MOEG_OK)
        return status;
    if (d == 0)
        return moeg_fail(MOEG_EINVAL, "%s: d must be at least 1, got 0", function);
    return moeg_check_rows(function, name, K, d, W);
}

moeg_status moeg_router_affine_create(moeg_router **router, size_t K, size_t d, const double *W, const double *b)
{
    static const char function[] = "router_affine";
    moeg_status status = moeg_router_check_affine(function, router, K, d, "W", W);
    if (status == MOEG_OK && b != NULL)
        status = moeg_router_check_bias(function, "b", K, b);
    if (status != MOEG_OK)
        return status;

    affine_router *r = moeg_object_alloc(sizeof *r, K + K * d);
    if (r == NULL)
        return moeg_fail_memory(function);
    r->router.kind = &affine_kind;
    r->router.experts = K;
    r->router.dim = d;
    r->router.live = moeg_router_count_live(K, b);
    for (size_t k = 0; k < K; k++)
        r->numbers[k] = b == NULL ? 0 : b[k];
    memcpy(r->numbers + K, W, K * d * sizeof *W);
    *router = &r->router;
    return MOEG_OK;
}

int moeg_router_affine_parts(const moeg_router *router, const double **W, const double **b)
{
    if (router->kind != &affine_kind)
        return 0;
    const affine_router *r = (const affine_router *)router;
    *W = weights_of(r);
    *b = bias_of(r);
    return 1;
}
