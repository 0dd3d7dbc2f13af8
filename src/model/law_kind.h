/* What a kind of law is to law.c. */
#ifndef MOEG_MODEL_LAW_KIND_H
#define MOEG_MODEL_LAW_KIND_H

#include "model/model.h"
#include "model/object.h"

typedef struct moeg_law_kind {
    size_t (*workspace)(const moeg_law *law, size_t stride);
    moeg_status (*draw)(const moeg_law *law, uint64_t seed, uint64_t first, size_t n, size_t stride, double *x,
                        double *workspace);
    void (*let_go)(moeg_law *law); /* of what it keeps alive; NULL if that is nothing */
    int may_fail;                  /* draw() */
} moeg_law_kind;

/* The first member of the struct of every kind, which is one allocation. */
struct moeg_law {
    moeg_object object;
    const moeg_law_kind *kind;
    size_t dim;
    uint64_t rows; /* of the data; 0 if it draws without end */
};

#endif
