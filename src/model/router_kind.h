/* What a kind of router is to router.c. */
#ifndef MOEG_MODEL_ROUTER_KIND_H
#define MOEG_MODEL_ROUTER_KIND_H

#include "model/model.h"
#include "model/object.h"

typedef struct moeg_router_kind {
    size_t (*workspace)(const moeg_router *router, size_t stride);
    moeg_status (*logits_block)(const moeg_router *router, size_t n, size_t stride, const double *x, double *a,
                                double *workspace);
} moeg_router_kind;

/* The first member of the struct of every kind, which is one allocation. */
struct moeg_router {
    moeg_object object;
    const moeg_router_kind *kind;
    size_t experts, dim;
    size_t live; /* experts that no bias masks; of a callback router, which may mask any, all */
};

/* MOEG_OK, or MOEG_EINVAL: a NULL router, no expert. */
moeg_status moeg_router_check(const char *function, moeg_router **router, size_t K);

/* MOEG_OK, or MOEG_EINVAL: a bias, called `name`, that is neither finite nor -inf, or that masks every expert. */
moeg_status moeg_router_check_bias(const char *function, const char *name, size_t K, const double *b);

/* How many of the K biases are not -inf; K of NULL. */
size_t moeg_router_count_live(size_t K, const double *b);

/* Makes logits of the kernel's sums: -inf where b, if not NULL, masks the expert. */
void moeg_router_settle(size_t K, const double *b, size_t stride, double *a);

#endif
