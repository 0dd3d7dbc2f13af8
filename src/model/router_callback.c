/* Logits by the user's function. */
#include "base/error.h"
#include "model/block.h"
#include "model/router_kind.h"

#include <math.h>
#include <stdint.h>

typedef struct callback_router {
    moeg_router router;
    moeg_router_map logits;
    void *user;
} callback_router;

/* Rows of x, then of logits. */
static size_t workspace(const moeg_router *router, size_t stride)
{
    return (router->dim + router->experts) * stride;
}

/* A row of which every logit is -inf has no best expert: other kinds refuse that when they are made. */
static moeg_status check_masks(size_t n, size_t K, const double *logits)
{
    for (size_t i = 0; i < n; i++) {
        size_t masked = 0;
        while (masked < K && logits[i * K + masked] == -INFINITY)
            masked++;
        if (masked == K)
            return moeg_fail(MOEG_EDOM, "router_callback: every logit of a row is -inf: one at least must be finite");
    }
    return MOEG_OK;
}

static moeg_status logits_block(const moeg_router *router, size_t n, size_t stride, const double *x, double *a,
                                double *scratch)
{
    const callback_router *c = (const callback_router *)router;
    const size_t d = router->dim, K = router->experts;
    double *rows = scratch, *logits = rows + d * n;
    moeg_block_unpack(n, d, x, stride, rows);
    /* So that what the function leaves unwritten is found. */
    for (size_t i = 0; i < n * K; i++)
        logits[i] = NAN;
    const int failed = c->logits(n, rows, logits, c->user);
    if (failed != 0)
        return moeg_fail(MOEG_ECALLBACK, "router_callback: logits returned %d", failed);
    const moeg_status status = check_masks(n, K, logits);
    if (status == MOEG_OK)
        moeg_block_pack(n, K, logits, stride, a);
    return status;
}

static const moeg_router_kind callback_kind = {workspace, logits_block};

moeg_status moeg_router_callback_create(moeg_router **router, size_t K, size_t d, moeg_router_map logits, void *user)
{
    static const char function[] = "router_callback";
    moeg_status status = moeg_router_check(function, router, K);
    if (status == MOEG_OK && d == 0)
        status = moeg_fail(MOEG_EINVAL, "%s: d must be at least 1, got 0", function);
    if (status == MOEG_OK && (K > UINT32_MAX || d > UINT32_MAX))
        status = moeg_fail(MOEG_EINVAL, "%s: K and d must be below 2^32, got K = %zu, d = %zu", function, K, d);
    if (status == MOEG_OK && logits == NULL)
        status = moeg_fail(MOEG_EINVAL, "%s: logits must not be NULL", function);
    if (status != MOEG_OK)
        return status;
    callback_router *r = moeg_object_alloc(sizeof *r, 0);
    if (r == NULL)
        return moeg_fail_memory(function);
    r->router.kind = &callback_kind;
    r->router.experts = K;
    r->router.dim = d;
    r->router.live = K;
    r->logits = logits;
    r->user = user;
    *router = &r->router;
    return MOEG_OK;
}
