/* X = T(z), T the user's, z the normals or uniforms 0 .. q - 1 of unit i of the stream {seed, 0}. */
#include "base/error.h"
#include "base/kernel.h"
#include "base/streams.h"
#include "model/block.h"
#include "model/law_kind.h"

#include <inttypes.h>
#include <math.h>

typedef struct callback_law {
    moeg_law law;
    size_t latents;
    moeg_latent_kind latent;
    moeg_law_map map;
    void *user;
} callback_law;

/* Rows of latents; then their block and, when it has been unpacked, the rows of x in its place. */
static size_t workspace(const moeg_law *law, size_t stride)
{
    const size_t q = ((const callback_law *)law)->latents;
    return (q + (q > law->dim ? q : law->dim)) * stride;
}

/* MOEG_OK, or MOEG_ERANGE for the first value that is not finite. */
static moeg_status check_samples(uint64_t first, size_t n, size_t d, const double *x)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            if (!isfinite(x[i * d + j]))
                return moeg_fail(MOEG_ERANGE,
                                 "law_callback: coordinate %zu of sample %" PRIu64
                                 " must be finite, got %g from the map",
                                 j, first + i, x[i * d + j]);
    return MOEG_OK;
}

static moeg_status draw(const moeg_law *law, uint64_t seed, uint64_t first, size_t n, size_t stride, double *x,
                        double *scratch)
{
    const callback_law *c = (const callback_law *)law;
    const size_t q = c->latents, d = law->dim;
    double *z = scratch, *block = z + q * stride, *rows = block;
    if (c->latent == MOEG_LATENT_NORMAL)
        moeg_kernel_normals(seed, MOEG_STREAM_LAW, first, q, stride, block);
    else
        moeg_kernel_uniforms(seed, MOEG_STREAM_LAW, first, q, stride, block);
    moeg_block_unpack(n, q, block, stride, z);
    /* So that what the map leaves unwritten is found. */
    for (size_t i = 0; i < n * d; i++)
        rows[i] = NAN;
    const int failed = c->map(n, z, rows, c->user);
    if (failed != 0)
        return moeg_fail(MOEG_ECALLBACK, "law_callback: the map returned %d for samples %" PRIu64 " .. %" PRIu64,
                         failed, first, first + (n - 1));
    const moeg_status status = check_samples(first, n, d, rows);
    if (status == MOEG_OK)
        moeg_block_pack(n, d, rows, stride, x);
    return status;
}

static const moeg_law_kind callback_kind = {.workspace = workspace, .draw = draw, .may_fail = 1};

static moeg_status check_arguments(const char *function, moeg_law **law, size_t d, size_t latents,
                                   moeg_latent_kind kind, moeg_law_map map)
{
    const moeg_status status = moeg_check_pointer(function, "law", law);
    if (status != MOEG_OK)
        return status;
    if (d == 0 || d > UINT32_MAX)
        return moeg_fail(MOEG_EINVAL, "%s: d must be in [1, 2^32), got %zu", function, d);
    if (latents == 0 || latents > UINT32_MAX) /* a unit of the stream has 2^32 draws */
        return moeg_fail(MOEG_EINVAL, "%s: latents must be in [1, 2^32), got %zu", function, latents);
    if (kind != MOEG_LATENT_NORMAL && kind != MOEG_LATENT_UNIFORM)
        return moeg_fail(MOEG_EINVAL, "%s: kind must be normal (0) or uniform (1), got %d", function, (int)kind);
    if (map == NULL)
        return moeg_fail(MOEG_EINVAL, "%s: map must not be NULL", function);
    return MOEG_OK;
}

moeg_status moeg_law_callback_create(moeg_law **law, size_t d, size_t latents, moeg_latent_kind kind, moeg_law_map map,
                                     void *user)
{
    static const char function[] = "law_callback";
    const moeg_status status = check_arguments(function, law, d, latents, kind, map);
    if (status != MOEG_OK)
        return status;
    callback_law *c = moeg_object_alloc(sizeof *c, 0);
    if (c == NULL)
        return moeg_fail_memory(function);
    c->law.kind = &callback_kind;
    c->law.dim = d;
    c->law.rows = 0;
    c->latents = latents;
    c->latent = kind;
    c->map = map;
    c->user = user;
    *law = &c->law;
    return MOEG_OK;
}
