#include "limit/boundary_job.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "limit/check.h"
#include "model/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The first bin whose width is at least the margin, or nw. */
static size_t bin_of(const moeg_boundary_context *c, double margin)
{
    size_t lo = 0, hi = c->nw;
    while (lo < hi) {
        const size_t middle = lo + (hi - lo) / 2;
        if (c->w[middle] < margin)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* The arrays of a block of `stride` rows from `base` on; returns the doubles they take. base may be NULL. */
static size_t layout(const moeg_boundary_context *c, size_t stride, double *base, double **x, double **logits,
                     double **margin, uint32_t **best, double **scratch)
{
    const size_t sizes[] = {c->d * stride, c->K * stride, stride, stride, moeg_law_workspace(c->law, stride)};
    double *at[5];
    size_t used = 0;
    for (int i = 0; i < 5; i++) {
        at[i] = base == NULL ? NULL : base + used;
        used += moeg_round_lanes(sizes[i]);
    }
    *x = at[0];
    *logits = at[1];
    *margin = at[2];
    *best = (uint32_t *)at[3];
    *scratch = at[4];
    return used;
}

static moeg_status block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    const moeg_boundary_context *c = context;
    const size_t n = (size_t)count, stride = moeg_round_lanes(n);
    double *x, *logits, *margin, *scratch;
    uint32_t *best;
    layout(c, stride, workspace, &x, &logits, &margin, &best, &scratch);
    moeg_law_draw(c->law, c->seed, first, n, stride, x, scratch);
    moeg_router_logits_block(c->router, stride, x, logits);
    const size_t bad = moeg_margin_block(c->K, n, stride, logits, best, margin);
    if (bad < n)
        return moeg_fail(MOEG_ERANGE, "boundary: logits of sample %" PRIu64 " overflow", first + bad);
    double *counts = state + MOEG_BOUNDARY_BINS, *sums = counts + c->nw;
    state[MOEG_BOUNDARY_ROWS] += (double)n;
    for (size_t i = 0; i < n; i++) {
        const size_t bin = bin_of(c, margin[i]);
        if (margin[i] == 0)
            state[MOEG_BOUNDARY_TIES]++;
        if (bin == c->nw)
            continue;
        counts[bin]++;
        if (c->logarithms && margin[i] > 0)
            sums[bin] += moeg_log_ratio(c->w[bin], margin[i]);
    }
    return MOEG_OK;
}

static void merge(const void *context, const double *right, double *left)
{
    const moeg_boundary_context *c = context;
    for (size_t i = 0; i < MOEG_BOUNDARY_BINS + 2 * c->nw; i++)
        left[i] += right[i];
}

static void destroy(void *context)
{
    moeg_boundary_context *c = context;
    moeg_router_free(c->router);
    moeg_law_free(c->law);
    moeg_release(c->w);
    moeg_release(c->order);
    moeg_release(c);
}

const moeg_boundary_context *moeg_boundary_context_of(const moeg_job *job)
{
    const moeg_job_spec *spec = moeg_job_get_spec(job);
    return spec->block == block ? spec->context : NULL;
}

/* A width with its place in the grid. */
struct placed {
    double w;
    size_t index;
};

static int by_width(const void *a, const void *b)
{
    const struct placed *p = a, *q = b;
    if (p->w != q->w)
        return p->w < q->w ? -1 : 1;
    return p->index < q->index ? -1 : p->index > q->index;
}

static moeg_boundary_context *make_context(const moeg_router *router, const moeg_law *law, size_t nw, const double *w,
                                           int logarithms, uint64_t seed)
{
    moeg_boundary_context *c = moeg_alloc_zero(1, sizeof *c);
    if (c == NULL)
        return NULL;
    struct placed *grid = moeg_alloc(nw, sizeof *grid);
    c->w = moeg_alloc(nw, sizeof *c->w);
    c->order = moeg_alloc(nw, sizeof *c->order);
    if (grid == NULL || c->w == NULL || c->order == NULL) {
        moeg_release(grid);
        destroy(c);
        return NULL;
    }
    for (size_t j = 0; j < nw; j++)
        grid[j] = (struct placed){w[j], j};
    qsort(grid, nw, sizeof *grid, by_width);
    for (size_t j = 0; j < nw; j++) {
        c->w[j] = grid[j].w;
        c->order[j] = grid[j].index;
    }
    moeg_release(grid);
    c->router = moeg_router_retain(router);
    c->law = moeg_law_retain(law);
    c->seed = seed;
    c->K = moeg_router_experts(router);
    c->d = moeg_router_dim(router);
    c->nw = nw;
    c->logarithms = logarithms;
    return c;
}

moeg_status moeg_boundary_job_make(const char *function, moeg_job **job, const moeg_router *router, const moeg_law *law,
                                   size_t nw, const double *w, int logarithms, const moeg_sampling *s)
{
    if (nw > SIZE_MAX / 64)
        return moeg_fail_memory(function);
    moeg_boundary_context *c = make_context(router, law, nw, w, logarithms, s->seed);
    if (c == NULL)
        return moeg_fail_memory(function);
    enum { ROWS = 64 };
    double *x, *logits, *margin, *scratch;
    uint32_t *best;
    const size_t rows = moeg_block_rows(layout(c, ROWS, NULL, &x, &logits, &margin, &best, &scratch) / ROWS + 1);
    const moeg_job_spec spec = {
        .name = "boundary",
        .units = moeg_sample_units(law, s),
        .block_size = rows,
        .state_size = MOEG_BOUNDARY_BINS + 2 * nw,
        .workspace_size = layout(c, rows, NULL, &x, &logits, &margin, &best, &scratch) * sizeof(double),
        .context = c,
        .block = block,
        .merge = merge,
        .destroy = destroy,
    };
    const moeg_status status = moeg_job_create(job, &spec);
    if (status != MOEG_OK)
        destroy(c);
    return status;
}
