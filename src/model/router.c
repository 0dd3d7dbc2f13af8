#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "model/block.h"
#include "model/logits.h"
#include "model/router_kind.h"

#include <float.h>
#include <math.h>
#include <string.h>

moeg_router *moeg_router_retain(const moeg_router *router)
{
    return moeg_object_retain(router);
}

void moeg_router_free(moeg_router *router)
{
    if (moeg_object_release(router))
        moeg_release(router);
}

size_t moeg_router_experts(const moeg_router *router)
{
    return router == NULL ? 0 : router->experts;
}

size_t moeg_router_dim(const moeg_router *router)
{
    return router == NULL ? 0 : router->dim;
}

moeg_status moeg_router_check(const char *function, moeg_router **router, size_t K)
{
    const moeg_status status = moeg_check_pointer(function, "router", router);
    if (status == MOEG_OK && K == 0)
        return moeg_fail(MOEG_EINVAL, "%s: K must be at least 1, got 0", function);
    return status;
}

size_t moeg_router_live(const moeg_router *router)
{
    return router->live;
}

size_t moeg_router_count_live(size_t K, const double *b)
{
    size_t live = K;
    for (size_t k = 0; k < K && b != NULL; k++)
        live -= b[k] == -INFINITY;
    return live;
}

moeg_status moeg_router_check_bias(const char *function, const char *name, size_t K, const double *b)
{
    for (size_t k = 0; k < K; k++)
        if (!(b[k] <= DBL_MAX))
            return moeg_fail(MOEG_EINVAL, "%s: %s[%zu] must be finite or -inf, got %g", function, name, k, b[k]);
    if (moeg_router_count_live(K, b) == 0)
        return moeg_fail(MOEG_EINVAL, "%s: %s masks every expert: one at least must be finite", function, name);
    return MOEG_OK;
}

/* A mask is a mask, where the kernel, which makes a NaN of every overflow, sees one. */
void moeg_router_settle(size_t K, const double *b, size_t stride, double *a)
{
    for (size_t k = 0; k < K; k++) {
        double *row = a + k * stride;
        if (b != NULL && b[k] == -INFINITY)
            for (size_t i = 0; i < stride; i++)
                row[i] = -INFINITY;
    }
}

size_t moeg_router_workspace(const moeg_router *router, size_t stride)
{
    return router->kind->workspace(router, stride);
}

moeg_status moeg_router_logits_block(const moeg_router *router, size_t n, size_t stride, const double *x, double *a,
                                     double *workspace)
{
    return router->kind->logits_block(router, n, stride, x, a, workspace);
}

/* What is wanted of the logits: `width` values of `size` bytes a row. write() makes those of one row of K logits, each
 * finite or -inf. */
typedef struct wanted {
    const char *function;
    size_t width, size;
    moeg_gap gap; /* where one is wanted */
    moeg_status (*write)(const struct wanted *wanted, size_t row, size_t K, const double *logits, void *out);
} wanted;

static moeg_status write_logits(const wanted *w, size_t row, size_t K, const double *logits, void *out)
{
    (void)w;
    (void)row;
    memcpy(out, logits, K * sizeof *logits);
    return MOEG_OK;
}

static moeg_status write_margin(const wanted *w, size_t row, size_t K, const double *logits, void *out)
{
    if (!moeg_margin_row(K, logits, out))
        return moeg_fail(MOEG_ERANGE, "%s: the margin of row %zu overflows", w->function, row);
    return MOEG_OK;
}

static moeg_status write_gap(const wanted *w, size_t row, size_t K, const double *logits, void *out)
{
    const moeg_status status = moeg_check_finite_logits(w->function, row, K, logits, w->gap.upper);
    if (status == MOEG_OK && !moeg_gap_row(K, 1, logits, w->gap, out))
        return moeg_fail(MOEG_ERANGE, "%s: the gap of row %zu overflows", w->function, row);
    return status;
}

static moeg_status write_top(const wanted *w, size_t row, size_t K, const double *logits, void *out)
{
    const moeg_status status = moeg_check_finite_logits(w->function, row, K, logits, w->width);
    if (status == MOEG_OK)
        moeg_top_row(K, logits, w->width, out);
    return status;
}

static moeg_status write_rows(const wanted *w, size_t first, size_t rows, size_t K, const double *logits, char *out)
{
    moeg_status status = MOEG_OK;
    for (size_t i = 0; i < rows && status == MOEG_OK; i++) {
        const double *a = logits + i * K;
        for (size_t k = 0; k < K; k++)
            if (!(a[k] <= DBL_MAX))
                return moeg_fail(MOEG_ERANGE, "%s: the logit of row %zu and expert %zu overflows", w->function,
                                 first + i, k);
        status = w->write(w, first + i, K, a, out + i * w->width * w->size);
    }
    return status;
}

/* Tile by tile into `result`. */
static moeg_status compute_rows(const wanted *w, const moeg_router *router, size_t n, const double *x, char *result)
{
    const size_t K = router->experts, d = router->dim;
    const size_t used = (d + 2 * K) * MOEG_TILE;
    double *block = moeg_alloc(used + moeg_router_workspace(router, MOEG_TILE), sizeof *block);
    if (block == NULL)
        return moeg_fail_memory(w->function);
    double *a = block + d * MOEG_TILE, *logits = a + K * MOEG_TILE;
    moeg_status status = MOEG_OK;
    for (size_t first = 0; first < n && status == MOEG_OK; first += MOEG_TILE) {
        const size_t rows = n - first < MOEG_TILE ? n - first : MOEG_TILE;
        const size_t stride = moeg_round_lanes(rows);
        moeg_block_pack(rows, d, x + first * d, stride, block);
        status = moeg_router_logits_block(router, rows, stride, block, a, block + used);
        if (status != MOEG_OK)
            break;
        moeg_block_unpack(rows, K, a, stride, logits);
        status = write_rows(w, first, rows, K, logits, result + first * w->width * w->size);
    }
    moeg_release(block);
    return status;
}

/* The result is made beside the output and copied when nothing more can fail. */
static moeg_status map_rows(const wanted *w, const moeg_router *router, size_t n, const double *x, const char *name,
                            void *out)
{
    moeg_status status = moeg_check_array(w->function, name, n, w->width, out);
    if (status == MOEG_OK)
        status = moeg_check_rows(w->function, "x", n, router->dim, x);
    if (status != MOEG_OK || n == 0)
        return status;
    char *result = moeg_alloc(n * w->width, w->size);
    if (result == NULL)
        return moeg_fail_memory(w->function);
    status = compute_rows(w, router, n, x, result);
    if (status == MOEG_OK)
        memcpy(out, result, n * w->width * w->size);
    moeg_release(result);
    return status;
}

moeg_status moeg_router_logits(const moeg_router *router, size_t n, const double *x, double *logits)
{
    static const char function[] = "router_logits";
    const moeg_status status = moeg_check_pointer(function, "router", router);
    if (status != MOEG_OK)
        return status;
    const wanted w = {function, router->experts, sizeof *logits, {0}, write_logits};
    return map_rows(&w, router, n, x, "logits", logits);
}

moeg_status moeg_router_margin(const moeg_router *router, size_t n, const double *x, double *margin)
{
    static const char function[] = "router_margin";
    const moeg_status status = moeg_check_pointer(function, "router", router);
    if (status != MOEG_OK)
        return status;
    const wanted w = {function, 1, sizeof *margin, {0}, write_margin};
    return map_rows(&w, router, n, x, "margin", margin);
}

moeg_status moeg_router_gap(const moeg_router *router, size_t n, const double *x, moeg_gap gap, double *out)
{
    static const char function[] = "router_gap";
    moeg_status status = moeg_check_pointer(function, "router", router);
    if (status == MOEG_OK)
        status = moeg_check_gap(function, gap, router->experts);
    if (status != MOEG_OK)
        return status;
    const wanted w = {function, 1, sizeof *out, gap, write_gap};
    return map_rows(&w, router, n, x, "out", out);
}

moeg_status moeg_router_top(const moeg_router *router, size_t n, const double *x, size_t k, size_t *index)
{
    static const char function[] = "router_top";
    const moeg_status status = moeg_check_pointer(function, "router", router);
    if (status != MOEG_OK)
        return status;
    if (k == 0 || k > router->experts)
        return moeg_fail(MOEG_EINVAL, "%s: k must be in [1, K = %zu], got %zu", function, router->experts, k);
    const wanted w = {function, k, sizeof *index, {0}, write_top};
    return map_rows(&w, router, n, x, "index", index);
}
