/* m(x) = the mixture at temperature tau. */
#include "base/error.h"
#include "model/teacher_kind.h"

typedef struct moe_teacher {
    moeg_teacher teacher;
    moeg_moe *moe;
    double tau;
} moe_teacher;

static size_t workspace(const moeg_teacher *teacher, size_t stride)
{
    return moeg_moe_workspace(((const moe_teacher *)teacher)->moe, stride);
}

static moeg_status mean_block(const moeg_teacher *teacher, uint64_t first, size_t n, size_t stride, const double *x,
                              double *y, double *scratch)
{
    (void)first;
    const moe_teacher *t = (const moe_teacher *)teacher;
    return moeg_moe_forward_block(t->moe, t->tau, n, stride, x, y, scratch);
}

static void let_go(moeg_teacher *teacher)
{
    moeg_moe_free(((moe_teacher *)teacher)->moe);
}

static const moeg_teacher_kind moe_kind = {workspace, mean_block, let_go};

moeg_status moeg_teacher_moe_create(moeg_teacher **teacher, moeg_moe *moe, double tau)
{
    static const char function[] = "teacher_moe";
    moeg_status status = moeg_check_pointer(function, "teacher", teacher);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "moe", moe);
    if (status == MOEG_OK)
        status = moeg_check_tau(function, "tau", tau);
    if (status != MOEG_OK)
        return status;
    moe_teacher *t = moeg_teacher_alloc(&moe_kind, sizeof *t, 0, moeg_moe_dim(moe), moeg_moe_outputs(moe), 0);
    if (t == NULL)
        return moeg_fail_memory(function);
    t->moe = moeg_moe_retain(moe);
    t->tau = tau;
    *teacher = &t->teacher;
    return MOEG_OK;
}

const moeg_moe *moeg_teacher_moe(const moeg_teacher *teacher, double *tau)
{
    teacher = moeg_teacher_without_noise(teacher);
    if (teacher->kind != &moe_kind)
        return NULL;
    *tau = ((const moe_teacher *)teacher)->tau;
    return ((const moe_teacher *)teacher)->moe;
}
