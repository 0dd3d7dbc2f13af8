#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "model/block.h"
#include "model/law_kind.h"

#include <inttypes.h>
#include <string.h>

moeg_law *moeg_law_retain(const moeg_law *law)
{
    return moeg_object_retain(law);
}

void moeg_law_free(moeg_law *law)
{
    if (!moeg_object_release(law))
        return;
    if (law->kind->let_go != NULL)
        law->kind->let_go(law);
    moeg_release(law);
}

size_t moeg_law_dim(const moeg_law *law)
{
    return law == NULL ? 0 : law->dim;
}

uint64_t moeg_law_rows(const moeg_law *law)
{
    return law == NULL ? 0 : law->rows;
}

size_t moeg_law_workspace(const moeg_law *law, size_t stride)
{
    return law->kind->workspace(law, stride);
}

moeg_status moeg_law_draw(const moeg_law *law, uint64_t seed, uint64_t first, size_t n, size_t stride, double *x,
                          double *workspace)
{
    return law->kind->draw(law, seed, first, n, stride, x, workspace);
}

static moeg_status check_range(const char *function, const moeg_law *law, uint64_t first, size_t n)
{
    if (law->rows == 0 && n > 0 && n - 1 > UINT64_MAX - first)
        return moeg_fail(MOEG_EINVAL, "%s: samples %" PRIu64 " .. %" PRIu64 " + %zu - 1 go past 2^64", function, first,
                         first, n);
    if (law->rows != 0 && (n > law->rows || first > law->rows - n))
        return moeg_fail(MOEG_EINVAL, "%s: samples %" PRIu64 " .. %" PRIu64 " + %zu - 1 go past the end at %" PRIu64,
                         function, first, first, n, law->rows);
    return MOEG_OK;
}

static moeg_status sample_tiles(const moeg_law *law, uint64_t seed, uint64_t first, size_t n, double *x, double *block)
{
    const size_t d = law->dim;
    for (size_t done = 0; done < n; done += MOEG_TILE) {
        const size_t rows = n - done < MOEG_TILE ? n - done : MOEG_TILE;
        const size_t stride = moeg_round_lanes(rows);
        const moeg_status status = moeg_law_draw(law, seed, first + done, rows, stride, block, block + d * MOEG_TILE);
        if (status != MOEG_OK)
            return status;
        moeg_block_unpack(rows, d, block, stride, x + done * d);
    }
    return MOEG_OK;
}

moeg_status moeg_law_sample(const moeg_law *law, uint64_t seed, uint64_t first, size_t n, double *x)
{
    static const char function[] = "law_sample";
    moeg_status status = moeg_check_pointer(function, "law", law);
    if (status == MOEG_OK)
        status = check_range(function, law, first, n);
    if (status == MOEG_OK)
        status = moeg_check_array(function, "x", n, law->dim, x);
    if (status != MOEG_OK || n == 0)
        return status;

    /* What may fail half way is made beside the output. */
    const size_t d = law->dim;
    double *result = law->kind->may_fail ? moeg_alloc(n * d, sizeof *result) : x;
    double *block = moeg_alloc(d * MOEG_TILE + moeg_law_workspace(law, MOEG_TILE), sizeof *block);
    status =
        result == NULL || block == NULL ? moeg_fail_memory(function) : sample_tiles(law, seed, first, n, result, block);
    if (status == MOEG_OK && result != x)
        memcpy(x, result, n * d * sizeof *x);
    if (result != x)
        moeg_release(result);
    moeg_release(block);
    return status;
}
