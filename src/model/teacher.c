#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/streams.h"
#include "model/block.h"
#include "model/map.h"
#include "model/teacher_kind.h"

#include <inttypes.h>
#include <math.h>

void *moeg_teacher_alloc(const moeg_teacher_kind *kind, size_t size, size_t doubles, size_t dim, size_t outputs,
                         uint64_t rows)
{
    moeg_teacher *teacher = moeg_object_alloc(size, doubles);
    if (teacher == NULL)
        return NULL;
    teacher->kind = kind;
    teacher->dim = dim;
    teacher->outputs = outputs;
    teacher->rows = rows;
    teacher->noise = 0;
    teacher->mean = NULL;
    return teacher;
}

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

double moeg_teacher_noise(const moeg_teacher *teacher)
{
    return teacher == NULL ? 0 : teacher->noise;
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

static moeg_status mean_block(const void *object, uint64_t first, size_t n, size_t stride, const double *x, double *y,
                              double *workspace)
{
    return moeg_teacher_mean_block(object, first, n, stride, x, y, workspace);
}

/* Of rows, y by `block` of `object`, which wants `workspace`. */
static moeg_status map_rows(const char *function, const moeg_teacher *teacher, moeg_map_block block, const void *object,
                            size_t workspace, uint64_t first, size_t n, const double *x, double *y)
{
    if (teacher->rows != 0 && (n > teacher->rows || first > teacher->rows - n))
        return moeg_fail(MOEG_EINVAL, "%s: rows %" PRIu64 " .. %" PRIu64 " + %zu - 1 go past the end at %" PRIu64,
                         function, first, first, n, teacher->rows);
    const moeg_map map = {
        .function = function,
        .name = "y",
        .value = "the value, or a logit behind it,",
        .block = block,
        .object = object,
        .d = teacher->dim,
        .m = teacher->outputs,
        .workspace = workspace,
    };
    return moeg_map_rows(&map, first, n, x, y);
}

moeg_status moeg_teacher_mean(const moeg_teacher *teacher, uint64_t first, size_t n, const double *x, double *y)
{
    static const char function[] = "teacher_mean";
    const moeg_status status = moeg_check_pointer(function, "teacher", teacher);
    if (status != MOEG_OK)
        return status;
    return map_rows(function, teacher, mean_block, teacher, moeg_teacher_workspace(teacher, MOEG_TILE), first, n, x, y);
}

struct draws {
    const moeg_teacher *teacher;
    uint64_t seed;
};

static moeg_status sample_block(const void *object, uint64_t first, size_t n, size_t stride, const double *x, double *y,
                                double *workspace)
{
    const struct draws *draws = object;
    const size_t m = draws->teacher->outputs;
    const double deviation = sqrt(draws->teacher->noise / (double)m);
    const moeg_status status = moeg_teacher_mean_block(draws->teacher, first, n, stride, x, y, workspace);
    if (status != MOEG_OK || deviation == 0)
        return status;
    moeg_kernel_normals(draws->seed, MOEG_STREAM_NOISE, first, m, stride, workspace);
    for (size_t e = 0; e < m * stride; e++)
        y[e] += deviation * workspace[e];
    return MOEG_OK;
}

moeg_status moeg_teacher_sample(const moeg_teacher *teacher, uint64_t seed, uint64_t first, size_t n, const double *x,
                                double *y)
{
    static const char function[] = "teacher_sample";
    const moeg_status status = moeg_check_pointer(function, "teacher", teacher);
    if (status != MOEG_OK)
        return status;
    const struct draws draws = {teacher, seed};
    /* The normals come when the mean has no more use for its workspace. */
    const size_t mean = moeg_teacher_workspace(teacher, MOEG_TILE), normals = teacher->outputs * MOEG_TILE;
    return map_rows(function, teacher, sample_block, &draws, mean > normals ? mean : normals, first, n, x, y);
}
