#include "base/error.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

static _Thread_local char last_error[512];

const char *moeg_last_error(void)
{
    return last_error;
}

moeg_status moeg_fail(moeg_status status, const char *format, ...)
{
    /* The arguments may point into last_error itself: a worker's message is handed on by its caller. */
    char text[sizeof last_error];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(last_error, sizeof last_error, "%s", text);
    return status;
}

moeg_status moeg_fail_memory(const char *function)
{
    return moeg_fail(MOEG_ENOMEM, "%s: out of memory", function);
}

moeg_status moeg_check_pointer(const char *function, const char *name, const void *pointer)
{
    if (pointer == NULL)
        return moeg_fail(MOEG_EINVAL, "%s: %s must not be NULL", function, name);
    return MOEG_OK;
}

moeg_status moeg_check_finite(const char *function, const char *name, size_t n, const double *values)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return moeg_fail(MOEG_EINVAL, "%s: %s[%zu] must be finite, got %g", function, name, i, values[i]);
    return MOEG_OK;
}

moeg_status moeg_check_finite_matrix(const char *function, const char *name, size_t rows, size_t cols,
                                     const double *values)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            const double value = values[i * cols + j];
            if (!isfinite(value))
                return moeg_fail(MOEG_EINVAL, "%s: %s[%zu, %zu] must be finite, got %g", function, name, i, j, value);
        }
    return MOEG_OK;
}

int moeg_multiply_overflows(size_t a, size_t b, size_t *product)
{
    if (b != 0 && a > SIZE_MAX / b)
        return 1;
    *product = a * b;
    return 0;
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
