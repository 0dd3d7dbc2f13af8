#include "model/block.h"

#include "model/model.h"

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
