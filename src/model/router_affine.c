/* a = W x + b; b_k = -inf masks expert k. */
#include "base/error.h"
#include "base/kernel.h"
#include "model/block.h"
#include "model/router_kind.h"

#include <float.h>
#include <math.h>
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

/* A mask is a mask, where the kernel, which makes a NaN of every overflow, sees one. */
static void logits_block(const moeg_router *router, size_t stride, const double *x, double *a)
{
    const affine_router *r = (const affine_router *)router;
    const double *b = bias_of(r);
    moeg_kernel_affine(router->experts, router->dim, weights_of(r), b, stride, x, a);
    for (size_t k = 0; k < router->experts; k++)
        for (size_t i = 0; b[k] == -INFINITY && i < stride; i++)
            a[k * stride + i] = -INFINITY;
}

static const moeg_router_kind affine_kind = {logits_block};

static moeg_status check_bias(const char *function, size_t K, const double *b)
{
    size_t masked = 0;
    for (size_t k = 0; k < K; k++) {
        if (!(b[k] <= DBL_MAX))
            return moeg_fail(MOEG_EINVAL, "%s: b[%zu] must be finite or -inf, got %g", function, k, b[k]);
        masked += b[k] == -INFINITY;
    }
    if (masked == K)
        return moeg_fail(MOEG_EINVAL, "%s: b masks every expert: one at least must be finite", function);
    return MOEG_OK;
}

moeg_status moeg_router_check_affine(const char *function, moeg_router **router, size_t K, size_t d, const char *name,
                                     const double *W)
{
    const moeg_status status = moeg_check_pointer(function, "router", router);
    if (status != MOEG_OK)
        return status;
    if (K < 2)
        return moeg_fail(MOEG_EINVAL, "%s: K must be at least 2, got %zu", function, K);
    if (d == 0)
        return moeg_fail(MOEG_EINVAL, "%s: d must be at least 1, got 0", function);
    return moeg_check_rows(function, name, K, d, W);
}

moeg_status moeg_router_affine_create(moeg_router **router, size_t K, size_t d, const double *W, const double *b)
{
    static const char function[] = "router_affine";
    moeg_status status = moeg_router_check_affine(function, router, K, d, "W", W);
    if (status == MOEG_OK && b != NULL)
        status = check_bias(function, K, b);
    if (status != MOEG_OK)
        return status;

    affine_router *r = moeg_object_alloc(sizeof *r, K + K * d);
    if (r == NULL)
        return moeg_fail_memory(function);
    r->router.kind = &affine_kind;
    r->router.experts = K;
    r->router.dim = d;
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
