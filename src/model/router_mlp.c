/* Logits by affine maps with an activation between; a last bias of -inf masks its expert. */
#include "base/error.h"
#include "model/layers.h"
#include "model/router_kind.h"

#include <stdio.h>

typedef struct mlp_router {
    moeg_router router;
    moeg_layers layers;
    const double *bias; /* the last one */
    double room[];
} mlp_router;

static size_t workspace(const moeg_router *router, size_t stride)
{
    return moeg_layers_workspace(&((const mlp_router *)router)->layers, stride);
}

static moeg_status logits_block(const moeg_router *router, size_t n, size_t stride, const double *x, double *a,
                                double *scratch)
{
    (void)n;
    const mlp_router *r = (const mlp_router *)router;
    moeg_layers_forward(&r->layers, stride, x, a, scratch);
    moeg_router_settle(router->experts, r->bias, stride, a);
    return MOEG_OK;
}

static const moeg_router_kind mlp_kind = {workspace, logits_block};

moeg_status moeg_router_mlp_create(moeg_router **router, size_t layers, const size_t *widths, const double *const *W,
                                   const double *const *b, moeg_activation activation)
{
    static const char function[] = "router_mlp";
    moeg_status status = moeg_check_pointer(function, "router", router);
    if (status == MOEG_OK)
        status = moeg_layers_check(function, layers, widths, W, b, activation, 0);
    if (status == MOEG_OK)
        status = moeg_router_check(function, router, widths[layers]);
    if (status != MOEG_OK)
        return status;
    const double *bias = moeg_layers_last_bias(layers, b);
    if (bias != NULL) {
        char name[40];
        snprintf(name, sizeof name, "b[%zu]", layers - 1);
        status = moeg_router_check_bias(function, name, widths[layers], bias);
        if (status != MOEG_OK)
            return status;
    }
    /* Without hidden values it is affine, and whoever has closed forms for affine routers may use them. */
    if (layers == 1)
        return moeg_router_affine_create(router, widths[1], widths[0], W[0], bias);
    mlp_router *r = moeg_object_alloc(sizeof *r, moeg_layers_doubles(layers, widths));
    if (r == NULL)
        return moeg_fail_memory(function);
    r->router.kind = &mlp_kind;
    r->router.experts = widths[layers];
    r->router.dim = widths[0];
    r->router.live = moeg_router_count_live(widths[layers], bias);
    moeg_layers_init(&r->layers, r->room, layers, widths, W, b, activation);
    r->bias = moeg_layers_last_numbers(&r->layers);
    *router = &r->router;
    return MOEG_OK;
}
