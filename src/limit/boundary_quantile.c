/* Widths of a given boundary mass [theory: boundary mass]. */
#include <moegeom/boundary.h>

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/tail.h"
#include "limit/check.h"
#include "limit/gap_order.h"
#include "limit/gap_rows.h"
#include "limit/line.h"
#include "model/model.h"

#include <inttypes.h>
#include <math.h>

static moeg_status check_all(const char *function, const moeg_router *router, moeg_gap gap, const moeg_law *law,
                             size_t np, const double *p, const moeg_sampling *s, const moeg_estimate *quantile)
{
    moeg_status status = moeg_check_router_law(function, router, law);
    if (status == MOEG_OK)
        status = moeg_check_gap(function, gap, moeg_router_experts(router));
    if (status == MOEG_OK && np == 0)
        return moeg_fail(MOEG_EINVAL, "%s: np must be at least 1, got 0", function);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "p", p);
    if (status == MOEG_OK)
        status = moeg_check_grid_size(function, np, sizeof *quantile);
    for (size_t j = 0; j < np && status == MOEG_OK; j++)
        if (!(p[j] > 0 && p[j] <= 1))
            return moeg_fail(MOEG_EINVAL, "%s: p[%zu] must be in (0, 1], got %g", function, j, p[j]);
    if (status == MOEG_OK)
        status = moeg_sampling_check(s);
    return status == MOEG_OK ? moeg_check_pointer(function, "quantile", quantile) : status;
}

static moeg_status run_line(const char *function, const moeg_router *router, const moeg_law *law, size_t np,
                            const double *p, double level, moeg_estimate *quantile)
{
    moeg_line_logit logit;
    const moeg_status status = moeg_line_logit_init(function, router, law, &logit);
    for (size_t j = 0; status == MOEG_OK && j < np; j++)
        quantile[j] = moeg_line_estimate(moeg_line_quantile(&logit, p[j]), 0, level);
    return status;
}

/* A job that keeps the gap of every row, in this process; its state counts the rows. */
typedef struct kept {
    moeg_gap_rows rows;
    double *gap; /* (units, rounded up to lanes) */
} kept;

static moeg_status block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    const kept *k = context;
    const size_t n = (size_t)count, stride = moeg_round_lanes(n);
    state[0] = (double)n;
    return moeg_gap_rows_draw(&k->rows, first, n, stride, workspace, k->gap + first);
}

static void merge(const void *context, const double *right, double *left)
{
    (void)context;
    left[0] += right[0];
}

/* The job over *k, which it does not own. */
static moeg_status make_job(kept *k, uint64_t units, moeg_job **job)
{
    const size_t probed =
        moeg_gap_rows_workspace(&k->rows, 2 * MOEG_BLOCK_PROBE) - moeg_gap_rows_workspace(&k->rows, MOEG_BLOCK_PROBE);
    const size_t rows = moeg_block_rows_from(probed + MOEG_BLOCK_PROBE);
    const moeg_job_spec spec = {
        .name = "boundary_quantile",
        .units = units,
        .block_size = rows,
        .state_size = 1,
        .workspace_size = moeg_gap_rows_workspace(&k->rows, rows) * sizeof(double),
        .context = k,
        .block = block,
        .merge = merge,
    };
    return moeg_job_create(job, &spec);
}

/* Every gap is a number, unless its block ran where its memory is not this one. */
static moeg_status check_kept(const char *function, uint64_t n, const double *gap)
{
    for (uint64_t i = 0; i < n; i++)
        if (!(gap[i] >= 0))
            return moeg_fail(MOEG_EUNSUPPORTED,
                             "%s: the runner must run blocks in this process: the gap of row %" PRIu64 " is not here",
                             function, i);
    return MOEG_OK;
}

/* The standard error is that of the interval at this level, whatever the level asked for. Whole ranks make intervals a
 * rank or so too long, of which one of a single standard deviation would keep twice as much. */
static const double error_level = 0.95, error_reach = 1.9599639845400542355;

static moeg_estimate estimate(size_t n, const double *gap, const moeg_gap_ranks *r, const moeg_gap_ranks *at,
                              double level)
{
    const double lo = r->lo >= 1 ? gap[r->lo - 1] : 0, hi = r->hi <= n ? gap[r->hi - 1] : INFINITY;
    const int known = at->lo >= 1 && at->hi <= n && isfinite(gap[at->hi - 1]);
    return (moeg_estimate){
        .value = gap[r->value - 1],
        .std_error = known ? (gap[at->hi - 1] - gap[at->lo - 1]) / (2 * error_reach) : INFINITY,
        .lo = lo,
        .hi = hi,
        .level = level,
        .n = n,
        .contributing = r->value,
        .method = MOEG_METHOD_MC,
    };
}

static moeg_estimate unknown(double level)
{
    return (moeg_estimate){
        .value = NAN,
        .std_error = INFINITY,
        .hi = INFINITY,
        .level = level,
        .method = MOEG_METHOD_MC,
    };
}

/* The ranks of all p (np at the level, np at error_level), and the gaps at them where they are. */
static moeg_status place_ranks(const char *function, const moeg_gap_shares *shares, double *gap, size_t np,
                               const double *p, double level, moeg_gap_ranks *r)
{
    /* Student's with so many degrees of freedom is the normal distribution, and right for small levels too. */
    const double reach = moeg_tail_student_reach(1e18, level);
    moeg_status status = MOEG_OK;
    for (size_t j = 0; j < np && status == MOEG_OK; j++)
        status = moeg_gap_ranks_at(function, shares, p[j], level, reach, &r[j]);
    for (size_t j = 0; j < np && status == MOEG_OK; j++)
        status = moeg_gap_ranks_at(function, shares, p[j], error_level, error_reach, &r[np + j]);
    return status == MOEG_OK && shares->weight == NULL ? moeg_gap_place(function, shares->n, gap, 2 * np, r) : status;
}

static moeg_status write_quantiles(const char *function, size_t n, const double *gap, size_t np, const double *p,
                                   const moeg_gap_ranks *r, double level, moeg_estimate *quantile)
{
    moeg_status status = MOEG_OK;
    for (size_t j = 0; j < np; j++) {
        quantile[j] = n > 0 ? estimate(n, gap, &r[j], &r[np + j], level) : unknown(level);
        if (status == MOEG_OK && (n == 0 || r[j].lo < 1 || r[j].hi > n))
            status = moeg_fail(MOEG_EUNABLE, "%s: %zu rows are too few for an interval at p[%zu] = %g", function, n, j,
                               p[j]);
    }
    return status;
}

/* Quantiles of n kept gaps, whose order is lost; weights (n) or NULL. */
static moeg_status read_quantiles(const char *function, size_t n, double *gap, const double *weights, size_t np,
                                  const double *p, double level, moeg_estimate *quantile)
{
    moeg_gap_ranks *r = moeg_alloc(np, 2 * sizeof *r);
    double *sums = weights == NULL ? NULL : moeg_alloc(n, 2 * sizeof *sums);
    moeg_gap_shares shares = {n, NULL, NULL};
    moeg_status status =
        r == NULL || (weights != NULL && sums == NULL) ? moeg_fail_memory(function) : check_kept(function, n, gap);
    if (status == MOEG_OK && weights != NULL)
        status = moeg_gap_sort_weighed(function, n, gap, weights, sums, &shares);
    if (status == MOEG_OK && shares.n > 0)
        status = place_ranks(function, &shares, gap, np, p, level, r);
    if (status == MOEG_OK)
        status = write_quantiles(function, shares.n, gap, np, p, r, level, quantile);
    moeg_release(r);
    moeg_release(sums);
    return status;
}

static moeg_status run_sampling(const char *function, const moeg_router *router, moeg_gap gap, const moeg_law *law,
                                size_t np, const double *p, const moeg_sampling *s, moeg_estimate *quantile)
{
    const uint64_t units = moeg_sample_units(law, s);
    if (units > SIZE_MAX / sizeof(double) - MOEG_LANES)
        return moeg_fail_memory(function);
    moeg_job *job = NULL;
    moeg_partial *partial = NULL;
    kept k = {.gap = moeg_alloc(moeg_round_lanes((size_t)units), sizeof *k.gap)};
    moeg_status status = k.gap == NULL ? moeg_fail_memory(function) : MOEG_OK;
    for (size_t i = 0; status == MOEG_OK && i < units; i++)
        k.gap[i] = NAN;
    if (status == MOEG_OK)
        status = moeg_gap_rows_init(function, router, gap, law, 1, s->seed, &k.rows);
    if (status == MOEG_OK)
        status = make_job(&k, units, &job);
    if (status == MOEG_OK)
        status = moeg_job_run(job, s, 0, moeg_job_blocks(job), &partial);
    if (status >= 0)
        status = moeg_sampled_status(function, status,
                                     read_quantiles(function, (size_t)moeg_partial_units(partial), k.gap,
                                                    moeg_law_weights(law), np, p, s->level, quantile));
    moeg_partial_free(partial);
    moeg_job_free(job);
    moeg_gap_rows_free(&k.rows);
    moeg_release(k.gap);
    return status;
}

moeg_status moeg_boundary_quantile(const moeg_router *router, moeg_gap gap, const moeg_law *law, size_t np,
                                   const double *p, const moeg_sampling *s, moeg_estimate *quantile)
{
    static const char function[] = "boundary_quantile";
    int line = 0;
    moeg_status status = check_all(function, router, gap, law, np, p, s, quantile);
    if (status == MOEG_OK)
        status = moeg_check_no_directions(function, s);
    if (status == MOEG_OK)
        status = moeg_choose_line(function, moeg_line_gap_refusal(router, gap, law), s->method, &line);
    if (status != MOEG_OK)
        return status;
    return line ? run_line(function, router, law, np, p, s->level, quantile)
                : run_sampling(function, router, gap, law, np, p, s, quantile);
}
