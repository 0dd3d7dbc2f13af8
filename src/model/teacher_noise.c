/* Y = m(X) + noise: the mean's own values; the noise is a number that risks add, and draws of moeg_teacher_sample(). */
#include "base/error.h"
#include "model/teacher_kind.h"

#include <math.h>

static size_t workspace(const moeg_teacher *teacher, size_t stride)
{
    return moeg_teacher_workspace(teacher->mean, stride);
}

static moeg_status mean_block(const moeg_teacher *teacher, uint64_t first, size_t n, size_t stride, const double *x,
                              double *y, double *scratch)
{
    return moeg_teacher_mean_block(teacher->mean, first, n, stride, x, y, scratch);
}

static void let_go(moeg_teacher *teacher)
{
    moeg_teacher_free(teacher->mean);
}

static const moeg_teacher_kind noise_kind = {workspace, mean_block, let_go};

moeg_status moeg_teacher_noise_create(moeg_teacher **teacher, const moeg_teacher *mean, double variance)
{
    static const char function[] = "teacher_noise";
    moeg_status status = moeg_check_pointer(function, "teacher", teacher);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "mean", mean);
    if (status != MOEG_OK)
        return status;
    if (mean->rows != 0)
        return moeg_fail(MOEG_EINVAL, "%s: mean must not be a data teacher: its rows are Y, noise and all", function);
    if (!(variance >= 0 && isfinite(variance)))
        return moeg_fail(MOEG_EINVAL, "%s: variance must be at least 0 and finite, got %g", function, variance);
    if (isinf(mean->noise + variance))
        return moeg_fail(MOEG_ERANGE, "%s: the variances %g and %g add up to more than a double holds", function,
                         mean->noise, variance);
    moeg_teacher *t = moeg_teacher_alloc(&noise_kind, sizeof *t, 0, mean->dim, mean->outputs, 0);
    if (t == NULL)
        return moeg_fail_memory(function);
    t->noise = mean->noise + variance;
    t->mean = moeg_teacher_retain(moeg_teacher_without_noise(mean));
    *teacher = t;
    return MOEG_OK;
}
