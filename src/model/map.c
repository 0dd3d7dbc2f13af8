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
        for (size_t j = 0; j < map->m; j++) {
            if (isfinite(y[i * map->m + j]))
                continue;
            if (map->inputs == 0)
                return moeg_fail(MOEG_ERANGE, "%s: %s of row %zu, output %zu, overflows", map->function, map->value, i,
                                 j);
            return moeg_fail(MOEG_ERANGE, "%s: %s of row %zu, output %zu, input %zu, overflows", map->function,
                             map->value, i, j / map->inputs, j % map->inputs);
        }
    return MOEG_OK;
}

/* Rows at a time: fewer where a row of y is large, as a Jacobian may be. */
static size_t tile_of(const moeg_map *map)
{
    enum { LARGE = 1 << 14 };
    return map->m <= LARGE ? MOEG_TILE : MOEG_LANES;
}

static moeg_status compute_rows(const moeg_map *map, uint64_t first, size_t n, const double *x, double *y,
                                double *block)
{
    const size_t tile = tile_of(map);
    double *y_block = block + map->d * tile, *workspace = y_block + map->m * tile;
    for (size_t done = 0; done < n; done += tile) {
        const size_t rows = n - done < tile ? n - done : tile;
        const size_t stride = moeg_round_lanes(rows);
        if (map->d != 0)
            moeg_block_pack(rows, map->d, x + done * map->d, stride, block);
        const moeg_status status = map->block(map->object, first + done, rows, stride, block, y_block, workspace);
        if (status != MOEG_OK)
            return status;
        moeg_block_unpack(rows, map->m, y_block, stride, y + done * map->m);
    }
    return MOEG_OK;
}

moeg_status moeg_map_rows(const moeg_map *map, uint64_t first, size_t n, const double *x, double *y)
{
    moeg_status status = moeg_check_array(map->function, map->name, n, map->m, y);
    if (status == MOEG_OK && map->d != 0)
        status = moeg_check_rows(map->function, "x", n, map->d, x);
    if (status != MOEG_OK || n == 0)
        return status;
    /* The result is made beside the output and copied when nothing more can fail. */
    double *result = moeg_alloc(n * map->m, sizeof *result);
    double *block = moeg_alloc((map->d + map->m) * tile_of(map) + map->workspace, sizeof *block);
    if (result == NULL || block == NULL) {
        status = moeg_fail_memory(map->function);
        goto cleanup;
    }
    status = compute_rows(map, first, n, x, result, block);
    if (status == MOEG_OK)
        status = check_range(map, n, result);
    if (status == MOEG_OK)
        memcpy(y, result, n * map->m * sizeof *y);
cleanup:
    moeg_release(block);
    moeg_release(result);
    return status;
}
