#include "model/block.h"

#include "base/error.h"
#include "model/model.h"

#include <stdint.h>

size_t moeg_block_rows(size_t doubles_per_row)
{
    enum { LEAST = 64, MOST = 4096, DOUBLES = 256 * 1024 / sizeof(double) };
    size_t rows = MOST;
    while (rows > LEAST && doubles_per_row > DOUBLES / rows)
        rows /= 2;
    return rows;
}

void moeg_block_pack(size_t n, size_t d, const double *rows, size_t stride, double *block)
{
    for (size_t j = 0; j < d; j++) {
        double *variable = block + j * stride;
        for (size_t i = 0; i < n; i++)
            variable[i] = rows[i * d + j];
        for (size_t i = n; i < stride; i++)
            variable[i] = variable[n - 1];
    }
}

void moeg_block_unpack(size_t n, size_t m, const double *block, size_t stride, double *rows)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            rows[i * m + j] = block[j * stride + i];
}

moeg_status moeg_check_array(const char *function, const char *name, size_t rows, size_t cols, const void *values)
{
    if (rows == 0)
        return MOEG_OK;
    const moeg_status status = moeg_check_pointer(function, name, values);
    if (status != MOEG_OK)
        return status;
    size_t count;
    if (moeg_multiply_overflows(rows, cols, &count) || count > PTRDIFF_MAX / sizeof(double))
        return moeg_fail(MOEG_EINVAL, "%s: %s (%zu x %zu) has more values than memory can hold", function, name, rows,
                         cols);
    return MOEG_OK;
}

moeg_status moeg_check_rows(const char *function, const char *name, size_t rows, size_t cols, const double *values)
{
    const moeg_status status = moeg_check_array(function, name, rows, cols, values);
    return status != MOEG_OK ? status : moeg_check_finite_matrix(function, name, rows, cols, values);
}
