/* What a kind of expert is to expert.c. */
#ifndef MOEG_MODEL_EXPERT_KIND_H
#define MOEG_MODEL_EXPERT_KIND_H

#include "model/model.h"
#include "model/object.h"

/* Of block functions: y (m x stride) of x (d x stride). */
typedef moeg_status (*moeg_expert_block)(const moeg_expert *expert, size_t n, size_t stride, const double *x, double *y,
                                         double *workspace);

typedef struct moeg_expert_kind {
    size_t (*workspace)(const moeg_expert *expert, size_t stride);
    moeg_expert_block forward_block;
    /* y (m d x stride): the derivative of output j by coordinate k is variable j d + k. NULL if there is none. */
    size_t (*jacobian_workspace)(const moeg_expert *expert, size_t stride);
    moeg_expert_block jacobian_block;
    /* A (m x d) and c (m), each where not NULL; NULL if the kind is not affine. */
    void (*affine_form)(const moeg_expert *expert, double *A, double *c);
} moeg_expert_kind;

/* The first member of the struct of every kind, which is one allocation. */
struct moeg_expert {
    moeg_object object;
    const moeg_expert_kind *kind;
    size_t dim, outputs;
};

/* MOEG_OK, or MOEG_EINVAL: what every constructor checks of its first arguments. */
moeg_status moeg_expert_check(const char *function, moeg_expert **expert, size_t d, size_t m);

/* The block functions' workspace where none is needed. */
size_t moeg_expert_no_workspace(const moeg_expert *expert, size_t stride);

#endif
