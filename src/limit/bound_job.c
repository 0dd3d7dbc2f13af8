#include "limit/bound_job.h"

#include <moegeom/estimate.h>

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "limit/check.h"
#include "model/model.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

/* factor exp(-exponent), factor finite: in one piece where the exponential alone would be subnormal. */
static double scaled_exp(double factor, double exponent)
{
    const double v = exp(-exponent);
    return v >= DBL_MIN || factor == 0 ? factor * v : exp(log(factor) - exponent);
}

/* The weights of the rows of a block, NULL where all count alike. */
static const double *weights_of(const moeg_bound_context *c, uint64_t first)
{
    return c->rows->weights == NULL ? NULL : c->rows->weights + first;
}

/* One temperature into its values, and what felt it into the state. */
static void evaluate_temperature(const moeg_bound_context *c, const moeg_bound_rows *b, const double *weights, size_t t,
                                 double *state)
{
    const moeg_risk_rows *r = &b->rows;
    const double tau = c->rows->tau[t];
    double *values = r->values + t * r->stride, *weight = state + c->parts.weight + 2 * t;
    for (size_t i = 0; i < r->n; i++) {
        values[i] = tau == 0 ? 0 : scaled_exp(b->mass[i] * b->change[i], r->margin[i] / tau);
        if (tau == 0 || r->margin[i] > MOEG_FELT * tau || (weights != NULL && weights[i] == 0))
            continue;
        const double v = weights == NULL ? values[i] : values[i] * weights[i];
        state[c->parts.felt + t]++;
        weight[0] += v;
        weight[1] += v * v;
    }
}

static void evaluate_moment(const moeg_bound_context *c, const moeg_bound_rows *b, const double *weights, double *state)
{
    for (size_t i = 0; i < b->rows.n; i++) {
        b->rows.values[i] = pow(b->change[i], c->p);
        state[c->parts.felt] += b->change[i] > 0 && (weights == NULL || weights[i] > 0);
    }
}

static moeg_status report(const moeg_bound_context *c, const moeg_bound_rows *b, const double *weights, uint64_t first)
{
    const moeg_risk_rows *r = &b->rows;
    size_t i = 0;
    for (int finite = 1; finite && i < r->n; i += finite)
        for (size_t t = 0; t < c->parts.values && finite && (weights == NULL || weights[i] > 0); t++)
            finite = isfinite(r->values[t * r->stride + i]);
    if (isfinite(b->change[i]))
        return moeg_fail(MOEG_ERANGE, "%s: the term of sample %" PRIu64 " overflows", c->rows->name, first + i);
    return moeg_risk_report(c->rows, r, first, i);
}

static moeg_status block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    const moeg_bound_context *c = context;
    const size_t n = (size_t)count, values = c->parts.values;
    const double *weights = weights_of(c, first);
    moeg_bound_rows b;
    if (!moeg_risk_has_weight(c->rows, first, n))
        return MOEG_OK;
    moeg_bound_layout(c->rows, n, moeg_round_lanes(n), workspace, &b);
    moeg_status status = moeg_risk_draw(c->rows, first, &b.rows);
    if (status != MOEG_OK)
        return status;
    moeg_bound_measure(c->rows, &b);
    for (size_t t = 0; t < c->rows->ntau; t++)
        evaluate_temperature(c, &b, weights, t, state);
    if (c->p > 0)
        evaluate_moment(c, &b, weights, state);
    status = weights == NULL ? moeg_moments_add(values, n, b.rows.stride, b.rows.values, state)
                             : moeg_weighted_add(values, n, b.rows.stride, b.rows.values, weights, state);
    return status == MOEG_OK ? MOEG_OK : report(c, &b, weights, first);
}

static void merge(const void *context, const double *right, double *left)
{
    const moeg_bound_context *c = context;
    if (c->rows->weights == NULL)
        moeg_moments_merge(c->parts.values, right, left);
    else
        moeg_weighted_merge(c->parts.values, right, left);
    for (size_t i = c->parts.felt; i < c->parts.size; i++)
        left[i] += right[i];
}

static void destroy(void *context)
{
    moeg_bound_context *c = context;
    moeg_risk_context_free(c->rows);
    moeg_release(c);
}

static moeg_bound_context *make_context(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                                        const moeg_law *law, moeg_mixing mixing, double p, size_t ntau,
                                        const double *tau, uint64_t seed)
{
    moeg_bound_context *c = moeg_alloc_zero(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->rows = moeg_risk_context_create(function, moe, teacher, law, mixing, ntau, tau, seed);
    if (c->rows == NULL) {
        moeg_release(c);
        return NULL;
    }
    const size_t values = p > 0 ? 1 : ntau,
                 felt = c->rows->weights == NULL ? moeg_moments_size(values) : moeg_weighted_size(values);
    c->p = p;
    c->parts = (moeg_bound_parts){values, felt, felt + values, felt + 3 * values};
    return c;
}

moeg_status moeg_bound_job_make(const char *function, moeg_job **job, const moeg_moe *moe, const moeg_teacher *teacher,
                                const moeg_law *law, moeg_mixing mixing, double p, size_t ntau, const double *tau,
                                const moeg_sampling *s)
{
    size_t pairs;
    /* Weighted states hold a covariance. */
    if (ntau > SIZE_MAX / 1024 / sizeof(double) ||
        moeg_multiply_overflows(ntau + 1, (ntau + 6) * sizeof(double), &pairs))
        return moeg_fail_memory(function);
    moeg_bound_context *c = make_context(function, moe, teacher, law, mixing, p, ntau, tau, s->seed);
    if (c == NULL)
        return moeg_fail_memory(function);
    moeg_bound_rows b;
    const size_t rows = moeg_block_rows_from(moeg_bound_layout(c->rows, MOEG_BLOCK_PROBE, MOEG_BLOCK_PROBE, NULL, &b));
    const moeg_job_spec spec = {
        .name = "bound",
        .units = moeg_sample_units(law, s),
        .block_size = rows,
        .state_size = c->parts.size,
        .workspace_size = moeg_bound_layout(c->rows, rows, rows, NULL, &b) * sizeof(double),
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
