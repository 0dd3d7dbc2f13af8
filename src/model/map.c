#include "model/map.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "model/block.h"

#include <math.h>
#include <string.h>

static moeg_status check_range(const moeg_map *map, size_t n, const double *y)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < map->m; j++)
            if (!isfinite(y[i * map->m + j]))
                return moeg_fail(MOEG_ERANGE, "%s: %s of row %zu, output %zu, overflows", map->function, map->value, i,
                                 j);
    return MOEG_OK;
}

static void compute_rows(const moeg_map *map, uint64_t first, size_t n, const double *x, double *y, double *block)
{
    double *y_block = block + map->d * MOEG_TILE, *workspace = y_block + map->m * MOEG_TILE;
    for (size_t done = 0; done < n; done += MOEG_TILE) {
        const size_t rows = n - done < MOEG_TILE ? n - done : MOEG_TILE;
        const size_t stride = moeg_round_lanes(rows);
        if (map->d != 0)
            moeg_block_pack(rows, map->d, x + done * map->d, stride, block);
        map->block(map->object, first + done, rows, stride, block, y_block, workspace);
        moeg_block_unpack(rows, map->m, y_block, stride, y + done * map->m);
    }
}

moeg_status moeg_map_rows(const moeg_map *map, uint64_t first, size_t n, const double *x, double *y)
{
    moeg_status status = moeg_check_array(map->function, "y", n, map->m, y);
    if (status == MOEG_OK && map->d != 0)
        status = moeg_check_rows(map->function, "x", n, map->d, x);
    if (status != MOEG_OK || n == 0)
        return status;
    /* The result is made beside the output and copied when nothing more can fail. */
    double *result = moeg_alloc(n * map->m, sizeof *result);
    double *block = moeg_alloc((map->d + map->m) * MOEG_TILE + map->workspace, sizeof *block);
    if (result == NULL || block == NULL) {
        status = moeg_fail_memory(map->function);
        goto cleanup;
    }
    compute_rows(map, first, n, x, result, block);
    status = check_range(map, n, result);
    if (status == MOEG_OK)
        memcpy(y, result, n * map->m * sizeof *y);
cleanup:
    moeg_release(block);
    moeg_release(result);
    return status;
}
