/* Rows and blocks: the public functions take row-major arrays (n x d), the kernels variable-major blocks
 * (d x stride). */
#ifndef MOEG_MODEL_BLOCK_H
#define MOEG_MODEL_BLOCK_H

#include <stddef.h>

/* Rows that the public functions compute at a time. */
#define MOEG_TILE 64

/* block[j * stride + i] = rows[i * d + j]; units n .. stride - 1 repeat the last row. n is at least 1. */
void moeg_block_pack(size_t n, size_t d, const double *rows, size_t stride, double *block);

/* rows[i * m + j] = block[j * stride + i] for i < n. */
void moeg_block_unpack(size_t n, size_t m, const double *block, size_t stride, double *rows);

#endif
