/* Setting the last error, and the checks that every public function makes. */
#ifndef MOEG_BASE_ERROR_H
#define MOEG_BASE_ERROR_H

#include <moegeom/status.h>
#include <stddef.h>

/* Sets this thread's last error and returns `status`: `return moeg_fail(MOEG_EINVAL, "router_affine: K must be at least
 * 1, got 0");`. The message names the function without its prefix, the argument, the value, and what was expected.
 */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
moeg_status
moeg_fail(moeg_status status, const char *format, ...);

/* moeg_fail(MOEG_ENOMEM, ...) with the function's name. */
moeg_status moeg_fail_memory(const char *function);

/* MOEG_OK, or MOEG_EINVAL if an argument is NULL: "function: name must not be NULL". */
moeg_status moeg_check_pointer(const char *function, const char *name, const void *pointer);

/* MOEG_OK, or MOEG_EINVAL if a value is not finite: "function: name[index] must be finite, got nan". */
moeg_status moeg_check_finite(const char *function, const char *name, size_t n, const double *values);

/* As moeg_check_finite() for a row-major matrix: "function: name[row, column] must be finite, got inf". */
moeg_status moeg_check_finite_matrix(const char *function, const char *name, size_t rows, size_t cols,
                                     const double *values);

/* MOEG_OK, or MOEG_EINVAL with a message: an input (rows x cols) that is NULL with rows > 0, has more values than
 * memory could hold, or holds one that is not finite. */
moeg_status moeg_check_rows(const char *function, const char *name, size_t rows, size_t cols, const double *values);

/* The same without a look at the values: for outputs, and for inputs that have a check of their own. */
moeg_status moeg_check_array(const char *function, const char *name, size_t rows, size_t cols, const void *values);

/* Whether a * b overflows size_t; else the product. */
int moeg_multiply_overflows(size_t a, size_t b, size_t *product);

#endif
