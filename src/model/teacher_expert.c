/* m(x) = f(x). */
#include "base/error.h"
#include "model/teacher_kind.h"

typedef struct expert_teacher {
    moeg_teacher teacher;
    moeg_expert *expert;
} expert_teacher;

static size_t workspace(const moeg_teacher *teacher, size_t stride)
{
    return moeg_expert_workspace(((const expert_teacher *)teacher)->expert, stride);
}

static moeg_status mean_block(const moeg_teacher *teacher, uint64_t first, size_t n, size_t stride, const double *x,
                              double *y, double *scratch)
{
    (void)first;
    return moeg_expert_forward_block(((const expert_teacher *)teacher)->expert, n, stride, x, y, scratch);
}

static void let_go(moeg_teacher *teacher)
{
    moeg_expert_free(((expert_teacher *)teacher)->expert);
}

static const moeg_teacher_kind expert_kind = {workspace, mean_block, let_go};

moeg_status moeg_teacher_expert_create(moeg_teacher **teacher, moeg_expert *expert)
{
    static const char function[] = "teacher_expert";
    moeg_status status = moeg_check_pointer(function, "teacher", teacher);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "expert", expert);
    if (status != MOEG_OK)
        return status;
    expert_teacher *t =
        moeg_teacher_alloc(&expert_kind, sizeof *t, 0, moeg_expert_dim(expert), moeg_expert_outputs(expert), 0);
    if (t == NULL)
        return moeg_fail_memory(function);
    t->expert = moeg_expert_retain(expert);
    *teacher = &t->teacher;
    return MOEG_OK;
}

const moeg_expert *moeg_teacher_expert(const moeg_teacher *teacher)
{
    teacher = moeg_teacher_without_noise(teacher);
    return teacher->kind == &expert_kind ? ((const expert_teacher *)teacher)->expert : NULL;
}
