/* What a kind of teacher is to teacher.c. */
#ifndef MOEG_MODEL_TEACHER_KIND_H
#define MOEG_MODEL_TEACHER_KIND_H

#include "model/model.h"
#include "model/object.h"

typedef struct moeg_teacher_kind {
    size_t (*workspace)(const moeg_teacher *teacher, size_t stride);
    moeg_status (*mean_block)(const moeg_teacher *teacher, uint64_t first, size_t n, size_t stride, const double *x,
                              double *y, double *workspace);
    void (*let_go)(moeg_teacher *teacher); /* of what it keeps alive */
} moeg_teacher_kind;

/* The first member of the struct of every kind, which is one allocation. */
struct moeg_teacher {
    moeg_object object;
    const moeg_teacher_kind *kind;
    size_t dim; /* 0: looks at the row number only */
    size_t outputs;
    uint64_t rows;      /* of the data; 0 for other kinds */
    double noise;       /* E |Y - m(X)|^2 */
    moeg_teacher *mean; /* what the noise is around; NULL for other kinds */
};

/* A teacher (sizeof the kind's struct, and room for its doubles) with these properties, and no noise. NULL if there is
 * no memory. */
void *moeg_teacher_alloc(const moeg_teacher_kind *kind, size_t size, size_t doubles, size_t dim, size_t outputs,
                         uint64_t rows);

/* The teacher without its noise. */
static inline const moeg_teacher *moeg_teacher_without_noise(const moeg_teacher *teacher)
{
    return teacher->mean != NULL ? teacher->mean : teacher;
}

#endif
