/* What a kind of router is to router.c. */
#ifndef MOEG_MODEL_ROUTER_KIND_H
#define MOEG_MODEL_ROUTER_KIND_H

#include "model/model.h"
#include "model/object.h"

typedef struct moeg_router_kind {
    void (*logits_block)(const moeg_router *router, size_t stride, const double *x, double *a);
} moeg_router_kind;

/* The first member of the struct of every kind, which is one allocation. */
struct moeg_router {
    moeg_object object;
    const moeg_router_kind *kind;
    size_t experts, dim;
};

#endif
