#include "limit/boundary_job.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "limit/check.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* The arrays of a block. */
typedef struct boundary_rows {
    double *gap, *scratch; /* (1 x stride), of the rows */
    uint32_t *bin;         /* (1 x stride) */
    uint64_t *count;       /* (chains x (nw + 1)) */
} boundary_rows;

/* Rows are counted in turn by so many counters of a bin, so that an addition does not wait for the one before; where
 * bins are many, by one. */
static size_t chains_of(const moeg_boundary_context *c)
{
    return c->nw <= 1024 ? 4 : 1;
}

/* Places the arrays of a block of `stride` rows from `base` on; returns the doubles they take. base may be NULL. */
static size_t layout(const moeg_boundary_context *c, size_t stride, double *base, boundary_rows *rows)
{
    _Static_assert(sizeof(uint64_t) == sizeof(double), "counters take the room of doubles");
    const size_t sizes[] = {stride, moeg_gap_rows_workspace(&c->rows, stride), stride, chains_of(c) * (c->nw + 1)};
    double *at[4];
    size_t used = 0;
    for (int i = 0; i < 4; i++) {
        at[i] = base == NULL ? NULL : base + used;
        used += moeg_round_lanes(sizes[i]);
    }
    *rows = (boundary_rows){
        .gap = at[0],
        .scratch = at[1],
        .bin = (uint32_t *)at[2],
        .count = (uint64_t *)at[3],
    };
    return used;
}

/* Counts of n rows in the bins, and ties. */
static void count_rows(const moeg_boundary_context *c, size_t n, const boundary_rows *r, double *state)
{
    const size_t bins = c->nw + 1, chains = chains_of(c);
    memset(r->count, 0, chains * bins * sizeof *r->count);
    for (size_t i = 0; i < n; i++)
        r->count[(i & (chains - 1)) * bins + r->bin[i]]++;
    for (size_t j = 0; j < c->nw; j++)
        for (size_t chain = 0; chain < chains; chain++)
            state[MOEG_BOUNDARY_BINS + j] += (double)r->count[chain * bins + j];
    uint64_t ties = 0;
    for (size_t i = 0; i < n; i++)
        ties += r->gap[i] == 0;
    state[MOEG_BOUNDARY_TIES] += (double)ties;
    state[MOEG_BOUNDARY_ROWS] += (double)n;
}

/* The same of rows with weights, those of weight 0 left out, with their logarithms. */
static void add_weighted_rows(const moeg_boundary_context *c, const double *weights, size_t n, const boundary_rows *r,
                              double *state)
{
    double *sums = state + MOEG_BOUNDARY_BINS + c->nw, *pairs = state + moeg_boundary_weights(c);
    double *curves = state + moeg_boundary_curves(c);
    for (size_t i = 0; i < n; i++) {
        const double weight = weights[i];
        const size_t bin = r->bin[i];
        const int tie = r->gap[i] == 0, above = bin == c->nw;
        if (weight == 0)
            continue;
        double *pair = pairs + (tie     ? MOEG_BOUNDARY_TIED
                                : above ? MOEG_BOUNDARY_ABOVE
                                        : MOEG_BOUNDARY_WEIGHT_BINS + 2 * bin);
        pair[0] += weight;
        pair[1] += weight * weight;
        state[MOEG_BOUNDARY_ROWS]++;
        state[MOEG_BOUNDARY_TIES] += tie;
        if (!above)
            state[MOEG_BOUNDARY_BINS + bin]++;
        if (c->logarithms && !tie && !above) {
            const double L = moeg_log_ratio(c->w[bin], r->gap[i]);
            double *curve = curves + MOEG_BOUNDARY_CURVES * bin;
            sums[bin] += weight * L;
            curve[0] += weight * L * L;
            curve[1] += weight * weight * L;
            curve[2] += weight * weight * L * L;
        }
    }
}

static void add_logarithms(const moeg_boundary_context *c, size_t n, const boundary_rows *r, double *sums)
{
    for (size_t i = 0; i < n; i++)
        if (r->bin[i] < c->nw && r->gap[i] > 0)
            sums[r->bin[i]] += moeg_log_ratio(c->w[r->bin[i]], r->gap[i]);
}

static moeg_status block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    const moeg_boundary_context *c = context;
    const size_t n = (size_t)count, stride = moeg_round_lanes(n);
    boundary_rows r;
    layout(c, stride, workspace, &r);
    const moeg_status status = moeg_gap_rows_draw(&c->rows, first, n, stride, r.scratch, r.gap);
    if (status != MOEG_OK)
        return status;
    moeg_kernel_bins(c->nw, c->w, n, r.gap, r.bin);
    if (c->weights != NULL) {
        add_weighted_rows(c, c->weights + first, n, &r, state);
        return MOEG_OK;
    }
    count_rows(c, n, &r, state);
    if (c->logarithms)
        add_logarithms(c, n, &r, state + MOEG_BOUNDARY_BINS + c->nw);
    return MOEG_OK;
}

static void merge(const void *context, const double *right, double *left)
{
    const moeg_boundary_context *c = context;
    for (size_t i = 0; i < moeg_boundary_state_size(c); i++)
        left[i] += right[i];
}

static void destroy(void *context)
{
    moeg_boundary_context *c = context;
    moeg_gap_rows_free(&c->rows);
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

static moeg_boundary_context *make_context(size_t nw, const double *w, int logarithms)
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
    c->nw = nw;
    c->logarithms = logarithms;
    return c;
}

moeg_status moeg_boundary_job_make(const char *function, moeg_job **job, const moeg_router *router, moeg_gap gap,
                                   const moeg_law *law, size_t nw, const double *w, int logarithms, int row_space,
                                   const moeg_sampling *s)
{
    if (nw > SIZE_MAX / 64)
        return moeg_fail_memory(function);
    moeg_boundary_context *c = make_context(nw, w, logarithms);
    if (c == NULL)
        return moeg_fail_memory(function);
    moeg_status status = moeg_gap_rows_init(function, router, gap, law, row_space, s->seed, &c->rows);
    if (status != MOEG_OK) {
        destroy(c);
        return status;
    }
    c->weights = moeg_law_weights(c->rows.law);
    boundary_rows r;
    /* Without the counts of the bins, whose room is not of rows. */
    const size_t probed = layout(c, 2 * MOEG_BLOCK_PROBE, NULL, &r) - layout(c, MOEG_BLOCK_PROBE, NULL, &r);
    const size_t rows = moeg_block_rows_from(probed + 2 * MOEG_BLOCK_PROBE);
    const moeg_job_spec spec = {
        .name = "boundary",
        .units = moeg_sample_units(law, s),
        .block_size = rows,
        .state_size = moeg_boundary_state_size(c),
        .workspace_size = layout(c, rows, NULL, &r) * sizeof(double),
        .context = c,
        .block = block,
        .merge = merge,
        .destroy = destroy,
    };
    status = moeg_job_create(job, &spec);
    if (status != MOEG_OK)
        destroy(c);
    return status;
}
