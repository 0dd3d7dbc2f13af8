/* The data version of the bounded form: E exp(-gap/tau) from rows, by its empirical-Bernstein upper limit. */
#include <moegeom/bound.h>

#include <moegeom/job.h>

#include "base/error.h"
#include "base/job.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "limit/bound_log.h"
#include "limit/check.h"
#include "limit/row_space.h"
#include "model/model.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* State: the moments of the exponentials. */
typedef struct bernstein_context {
    const char *function;
    moeg_router *router;
    moeg_law *law;
    moeg_gate gate;
    uint64_t seed;
    size_t K, d, ntau;
    double *tau; /* (ntau) */
} bernstein_context;

typedef struct bernstein_rows {
    double *x, *logits, *gap, *values, *scratch; /* (d), (K), (1), (ntau), of law and router */
} bernstein_rows;

static size_t layout(const bernstein_context *c, size_t stride, double *base, bernstein_rows *rows)
{
    const size_t law = moeg_law_workspace(c->law, stride), router = moeg_router_workspace(c->router, stride);
    double **const at[] = {&rows->x, &rows->logits, &rows->gap, &rows->values, &rows->scratch};
    const size_t sizes[] = {c->d * stride, c->K * stride, stride, c->ntau * stride, law > router ? law : router};
    size_t used = 0;
    for (int i = 0; i < 5; i++) {
        *at[i] = base == NULL ? NULL : base + used;
        used += moeg_round_lanes(sizes[i]);
    }
    return used;
}

/* Moves the gaps of rows with weights forward over those of rows without; returns how many they are. */
static size_t leave_out(const double *weights, uint64_t first, size_t n, double *gap)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        if (weights == NULL || weights[first + i] > 0)
            gap[left++] = gap[i];
    return left;
}

static moeg_status block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    const bernstein_context *c = context;
    const size_t n = (size_t)count, stride = moeg_round_lanes(n);
    bernstein_rows r;
    layout(c, stride, workspace, &r);
    moeg_status status = moeg_law_draw(c->law, c->seed, first, n, stride, r.x, r.scratch);
    if (status == MOEG_OK)
        status = moeg_router_logits_block(c->router, n, stride, r.x, r.logits, r.scratch);
    if (status != MOEG_OK)
        return status;
    const size_t bad = moeg_gate_gap_block(c->gate, c->K, n, stride, r.logits, r.gap);
    if (bad < n)
        return moeg_report_logits(c->function, c->gate, c->K, stride, r.logits, bad, first + bad);
    const size_t left = leave_out(moeg_law_weights(c->law), first, n, r.gap);
    for (size_t t = 0; t < c->ntau; t++)
        for (size_t i = 0; i < left; i++)
            r.values[t * stride + i] = c->tau[t] == 0 ? 0 : exp(-r.gap[i] / c->tau[t]);
    return left == 0 ? MOEG_OK : moeg_moments_add(c->ntau, left, stride, r.values, state);
}

static void merge(const void *context, const double *right, double *left)
{
    const bernstein_context *c = context;
    moeg_moments_merge(c->ntau, right, left);
}

static void destroy(void *context)
{
    bernstein_context *c = context;
    moeg_router_free(c->router);
    moeg_law_free(c->law);
    moeg_release(c->tau);
    moeg_release(c);
}

/* In the router's row space where that is smaller. */
static moeg_status make_context(const char *function, const moeg_router *router, moeg_gate gate, const moeg_law *law,
                                size_t ntau, const double *tau, uint64_t seed, bernstein_context **out)
{
    bernstein_context *c = moeg_alloc_zero(1, sizeof *c);
    if (c == NULL)
        return moeg_fail_memory(function);
    c->tau = moeg_alloc(ntau, sizeof *c->tau);
    moeg_status status =
        c->tau == NULL ? moeg_fail_memory(function) : moeg_row_space(function, router, law, &c->router, &c->law);
    if (status != MOEG_OK) {
        destroy(c);
        return status;
    }
    if (c->router == NULL) {
        c->router = moeg_router_retain(router);
        c->law = moeg_law_retain(law);
    }
    memcpy(c->tau, tau, ntau * sizeof *tau);
    c->function = function;
    c->gate = gate;
    c->seed = seed;
    c->K = moeg_router_experts(c->router);
    c->d = moeg_router_dim(c->router);
    c->ntau = ntau;
    *out = c;
    return MOEG_OK;
}

static moeg_status make_job(const char *function, moeg_job **job, const moeg_router *router, moeg_gate gate,
                            const moeg_law *law, size_t ntau, const double *tau, const moeg_sampling *s)
{
    bernstein_context *c = NULL;
    bernstein_rows r;
    if (ntau > SIZE_MAX / 1024 / sizeof(double))
        return moeg_fail_memory(function);
    moeg_status status = make_context(function, router, gate, law, ntau, tau, s->seed, &c);
    if (status != MOEG_OK)
        return status;
    const size_t rows = moeg_block_rows_from(layout(c, MOEG_BLOCK_PROBE, NULL, &r));
    const moeg_job_spec spec = {
        .name = "bound",
        .units = moeg_sample_units(law, s),
        .block_size = rows,
        .state_size = moeg_moments_size(ntau),
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

/* {rows, means, sums of squares} that `fewest` to n rows can have left: refused if not, but for the rounding of the
 * means. */
static moeg_status check_state(const char *function, size_t ntau, uint64_t fewest, uint64_t n, const double *state)
{
    uint64_t rows;
    const moeg_status status = moeg_partial_count(function, "its rows", 0, state[0], fewest, n, &rows);
    for (size_t i = 1; i <= 2 * ntau && status == MOEG_OK; i++) {
        const double most = i <= ntau ? 1 + 1e-10 : (double)n;
        if (!(state[i] >= 0 && state[i] <= most))
            return moeg_fail(MOEG_EINVAL,
                             "%s: the partial result is damaged: moments of exponentials (state[%zu]) must be in [0, "
                             "%g], got %g",
                             function, i, most, state[i]);
    }
    return status;
}

/* The bounds from what was done: without a row, from exp(-gap/tau) <= 1. They are written when all are known. */
static moeg_status read_job(const char *function, const moeg_job *job, const moeg_partial *partial, double level,
                            moeg_logarithm size, double *bound)
{
    const bernstein_context *c = moeg_job_get_spec(job)->context;
    const uint64_t done = moeg_partial_units(partial), fewest = moeg_law_weights(c->law) == NULL ? done : 0;
    double *state = moeg_alloc(moeg_moments_size(c->ntau), sizeof *state);
    if (state == NULL)
        return moeg_fail_memory(function);
    moeg_status status = moeg_partial_state(job, partial, state);
    if (status == MOEG_OK)
        status = check_state(function, c->ntau, fewest, done, state);
    const uint64_t n = status == MOEG_OK ? (uint64_t)state[0] : 0;
    for (size_t t = 0; t < c->ntau && status == MOEG_OK; t++) {
        double *mean = &state[1 + t], upper = 1;
        if (n > 0)
            /* A mean of ones may be rounded past them. */
            status = moeg_bernstein_upper(n, fmin(*mean, 1), state[1 + c->ntau + t], 1, level, &upper);
        *mean = c->tau[t] == 0 ? 0 : moeg_exp_above(moeg_log_product(size, moeg_log_of(upper)));
    }
    if (status == MOEG_OK)
        memcpy(bound, state + 1, c->ntau * sizeof *bound);
    moeg_release(state);
    return status;
}

moeg_status moeg_bound_bernstein(const moeg_router *router, moeg_gate gate, moeg_mixing mixing, const moeg_law *law,
                                 const moeg_output_limits *limits, size_t ntau, const double *tau,
                                 const moeg_sampling *s, double *bound)
{
    static const char function[] = "bound_bernstein";
    int line;
    moeg_job *job = NULL;
    moeg_partial *partial = NULL;
    moeg_status status = moeg_check_router_law(function, router, law);
    if (status == MOEG_OK)
        status = moeg_check_gate(function, gate, moeg_router_experts(router));
    if (status == MOEG_OK)
        status = moeg_check_mixing(function, mixing);
    if (status == MOEG_OK)
        status = moeg_check_limits(function, limits);
    if (status == MOEG_OK)
        status = moeg_check_temperatures(function, ntau, tau);
    if (status == MOEG_OK)
        status = moeg_sampling_check(s);
    if (status == MOEG_OK && !moeg_has_equal_weights(law))
        status = moeg_fail(MOEG_EUNSUPPORTED, "%s: the rows of the law have unequal weights", function);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "bound", bound);
    if (status == MOEG_OK)
        status = moeg_choose_line(function, "the bound is a mean over rows", s->method, &line);
    if (status == MOEG_OK)
        status = make_job(function, &job, router, gate, law, ntau, tau, s);
    if (status == MOEG_OK)
        status = moeg_job_run(job, s, 0, moeg_job_blocks(job), &partial);
    if (status >= 0) {
        const moeg_logarithm size = moeg_bound_size(gate, mixing, moeg_router_live(router), limits);
        status = moeg_sampled_status(function, status, read_job(function, job, partial, s->level, size, bound));
    }
    moeg_partial_free(partial);
    moeg_job_free(job);
    return status;
}
