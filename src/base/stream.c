#include <moegeom/stream.h>

#include "base/error.h"
#include "base/kernel.h"
#include "base/kernel_table.h"

#include <Random123/philox.h>

/* A tile of draws on the stack, 16 KiB: as many rows of all draws, or as many draws of a few rows, as it holds. */
enum { TILE_ROWS = 64, TILE_DRAWS = 32 };

typedef void (*fill_function)(uint64_t seed, uint32_t id, uint64_t first, uint32_t pair, size_t q, size_t stride,
                              double *tile);

static moeg_status check(const char *function, const char *name, uint64_t first, size_t n, size_t q, const double *out)
{
    if (q > (size_t)1 << 32)
        return moeg_fail(MOEG_EINVAL, "%s: q must be at most 2^32, got %zu", function, q);
    if (n > 0 && n - 1 > UINT64_MAX - first)
        return moeg_fail(MOEG_EINVAL, "%s: first + n must be at most 2^64, got first = %llu, n = %zu", function,
                         (unsigned long long)first, n);
    size_t values, bytes;
    if (moeg_multiply_overflows(n, q, &values) || moeg_multiply_overflows(values, sizeof *out, &bytes))
        return moeg_fail(MOEG_EINVAL, "%s: n q doubles must fit in memory, got n = %zu, q = %zu", function, n, q);
    return values > 0 ? moeg_check_pointer(function, name, out) : MOEG_OK;
}

static void fill_rows(fill_function fill, moeg_stream stream, uint64_t first, size_t n, size_t q, double *out)
{
    _Alignas(64) double tile[TILE_ROWS * TILE_DRAWS];
    for (size_t row = 0; row < n; row += TILE_ROWS) {
        const size_t rows = n - row < TILE_ROWS ? n - row : TILE_ROWS;
        const size_t stride = moeg_round_lanes(rows);
        for (size_t draw = 0; draw < q; draw += TILE_DRAWS) {
            const size_t draws = q - draw < TILE_DRAWS ? q - draw : TILE_DRAWS;
            fill(stream.seed, stream.id, first + row, (uint32_t)(draw / 2), draws, stride, tile);
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < draws; j++)
                    out[(row + i) * q + draw + j] = tile[j * stride + i];
        }
    }
}

moeg_status moeg_stream_uniforms(moeg_stream stream, uint64_t first, size_t n, size_t q, double *u)
{
    const moeg_status status = check("stream_uniforms", "u", first, n, q, u);
    if (status == MOEG_OK)
        fill_rows(moeg_kernel_best()->uniforms, stream, first, n, q, u);
    return status;
}

moeg_status moeg_stream_normals(moeg_stream stream, uint64_t first, size_t n, size_t q, double *z)
{
    const moeg_status status = check("stream_normals", "z", first, n, q, z);
    if (status == MOEG_OK)
        fill_rows(moeg_kernel_best()->normals, stream, first, n, q, z);
    return status;
}

/* Flat, so that gsl_rng_memcpy() and gsl_rng_clone() copy all of it. */
typedef struct philox_state {
    uint64_t seed;
    uint64_t calls;
    uint64_t second; /* The draw that the last even call left over. */
} philox_state;

static void philox_set(void *vstate, unsigned long seed)
{
    *(philox_state *)vstate = (philox_state){.seed = seed};
}

static uint64_t philox_word(philox_state *state)
{
    const uint64_t call = state->calls++;
    if (call % 2 == 1)
        return state->second;
    const philox4x32_ctr_t counter = {{(uint32_t)(call / 2), (uint32_t)(call / 2 >> 32), 0, 0}};
    const philox4x32_key_t key = {{(uint32_t)state->seed, (uint32_t)(state->seed >> 32)}};
    const philox4x32_ctr_t words = philox4x32(counter, key);
    state->second = words.v[2] | (uint64_t)words.v[3] << 32;
    return words.v[0] | (uint64_t)words.v[1] << 32;
}

static unsigned long philox_get(void *vstate)
{
    return (unsigned long)(philox_word(vstate) >> 32);
}

static double philox_get_double(void *vstate)
{
    return ((double)(philox_word(vstate) >> 12) + 0.5) * 0x1p-52;
}

static const gsl_rng_type philox_type = {
    .name = "moeg_philox",
    .max = 0xffffffff,
    .min = 0,
    .size = sizeof(philox_state),
    .set = philox_set,
    .get = philox_get,
    .get_double = philox_get_double,
};
const gsl_rng_type *const moeg_rng_philox = &philox_type;
