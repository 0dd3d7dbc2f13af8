/* Y of row i is row i of the data. */
#include "base/error.h"
#include "model/block.h"
#include "model/teacher_kind.h"

#include <string.h>

typedef struct data_teacher {
    moeg_teacher teacher;
    double y[]; /* (rows x outputs), row-major */
} data_teacher;

static size_t workspace(const moeg_teacher *teacher, size_t stride)
{
    (void)teacher;
    (void)stride;
    return 0;
}

static moeg_status mean_block(const moeg_teacher *teacher, uint64_t first, size_t n, size_t stride, const double *x,
                              double *y, double *scratch)
{
    (void)x;
    (void)scratch;
    const size_t m = teacher->outputs;
    moeg_block_pack(n, m, ((const data_teacher *)teacher)->y + (size_t)first * m, stride, y);
    return MOEG_OK;
}

static void let_go(moeg_teacher *teacher)
{
    (void)teacher;
}

static const moeg_teacher_kind data_kind = {workspace, mean_block, let_go};

moeg_status moeg_teacher_data_create(moeg_teacher **teacher, size_t n, size_t m, const double *y)
{
    static const char function[] = "teacher_data";
    moeg_status status = moeg_check_pointer(function, "teacher", teacher);
    if (status != MOEG_OK)
        return status;
    if (n == 0 || m == 0)
        return moeg_fail(MOEG_EINVAL, "%s: n and m must be at least 1, got n = %zu, m = %zu", function, n, m);
    status = moeg_check_rows(function, "y", n, m, y);
    if (status != MOEG_OK)
        return status;
    data_teacher *t = moeg_teacher_alloc(&data_kind, sizeof *t, n * m, 0, m, n);
    if (t == NULL)
        return moeg_fail_memory(function);
    memcpy(t->y, y, n * m * sizeof *y);
    *teacher = &t->teacher;
    return MOEG_OK;
}
