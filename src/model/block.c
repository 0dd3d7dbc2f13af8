#include "model/block.h"

#include "model/model.h"

size_t moeg_block_rows(size_t doubles_per_row)
{
    enum { PANEL = 24, LEAST = 3, MOST = 169, DOUBLES = 256 * 1024 / sizeof(double) };
    const size_t panels = DOUBLES / PANEL / (doubles_per_row > 0 ? doubles_per_row : 1);
    return PANEL * (panels < LEAST ? LEAST : panels > MOST ? MOST : (panels - 1) | 1);
}

size_t moeg_block_rows_from(size_t probed)
{
    return moeg_block_rows((probed + MOEG_BLOCK_PROBE - 1) / MOEG_BLOCK_PROBE);
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
