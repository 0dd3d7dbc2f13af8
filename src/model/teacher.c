#include "base/error.h"
#include "base/memory.h"
#include "model/block.h"
#include "model/map.h"
#include "model/teacher_kind.h"

#include <inttypes.h>

moeg_teacher *moeg_teacher_retain(const moeg_teacher *teacher)
{
    return moeg_object_retain(teacher);
}

void moeg_teacher_free(moeg_teacher *teacher)
{
    if (!moeg_object_release(teacher))
        return;
    teacher->kind->let_go(teacher);
    moeg_release(teacher);
}

size_t moeg_teacher_outputs(const moeg_teacher *teacher)
{
    return teacher == NULL ? 0 : teacher->outputs;
}

size_t moeg_teacher_dim(const moeg_teacher *teacher)
{
    return teacher->dim;
}

uint64_t moeg_teacher_rows(const moeg_teacher *teacher)
{
    return teacher->rows;
}

size_t moeg_teacher_workspace(const moeg_teacher *teacher, size_t stride)
{
    return teacher->kind->workspace(teacher, stride);
}

moeg_status moeg_teacher_mean_block(const moeg_teacher *teacher, uint64_t first, size_t n, size_t stride,
                                    const double *x, double *y, double *workspace)
{
    return teacher->kind->mean_block(teacher, first, n, stride, x, y, workspace);
}

static moeg_status map_block(const void *object, uint64_t first, size_t n, size_t stride, const double *x, double *y,
                             double *workspace)
{
    return moeg_teacher_mean_block(object, first, n, stride, x, y, workspace);
}

moeg_status moeg_teacher_mean(const moeg_teacher *teacher, uint64_t first, size_t n, const double *x, double *y)
{
    static const char function[] = "teacher_mean";
    const moeg_status status = moeg_check_pointer(function, "teacher", teacher);
    if (status != MOEG_OK)
        return status;
    if (teacher->rows != 0 && (n > teacher->rows || first > teacher->rows - n))
        return moeg_fail(MOEG_EINVAL, "%s: rows %" PRIu64 " .. %" PRIu64 " + %zu - 1 go past the end at %" PRIu64,
                         function, first, first, n, teacher->rows);
    const moeg_map map = {
        .function = function,
        .name = "y",
        .value = "the value, or a logit behind it,",
        .block = map_block,
        .object = teacher,
        .d = teacher->dim,
        .m = teacher->outputs,
        .workspace = moeg_teacher_workspace(teacher, MOEG_TILE),
    };
    return moeg_map_rows(&map, first, n, x, y);
}
