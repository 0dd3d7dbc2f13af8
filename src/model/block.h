/* Rows and blocks: the public functions take row-major arrays (n x d), the kernels variable-major blocks
 * (d x stride). */
#ifndef MOEG_MODEL_BLOCK_H
#define MOEG_MODEL_BLOCK_H

#include <moegeom/status.h>
#include <stddef.h>

/* Rows that the public functions compute at a time. */
#define MOEG_TILE 64

/* block[j * stride + i] = rows[i * d + j]; units n .. stride - 1 repeat the last row. n is at least 1. */
void moeg_block_pack(size_t n, size_t d, const double *rows, size_t stride, double *block);

/* rows[i * m + j] = block[j * stride + i] for i < n. */
void moeg_block_unpack(size_t n, size_t m, const double *block, size_t stride, double *rows);

/* MOEG_OK, or MOEG_EINVAL with a message: an input (rows x cols) that is NULL with rows > 0, has more values than
 * memory could hold, or holds one that is not finite. */
moeg_status moeg_check_rows(const char *function, const char *name, size_t rows, size_t cols, const double *values);

/* The same without a look at the values: for outputs, and for inputs that have a check of their own. */
moeg_status moeg_check_array(const char *function, const char *name, size_t rows, size_t cols, const void *values);

#endif
