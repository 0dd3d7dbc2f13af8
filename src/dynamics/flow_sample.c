/* Sums over the rows that a flow keeps. One block of rows is one unit of a job: blocks meet in a fixed tree, so that
 * threads change nothing. */
#include "dynamics/flow_sample.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"

#include <math.h>
#include <moegeom/job.h>
#include <string.h>

/* One gradient: what blocks are told. away (m x features) = best - B, or NULL if that is 0. */
typedef struct gradient_task {
    const moeg_flow_sample *sample;
    const double *state, *away;
    int moves; /* whether B does */
} gradient_task;

/* Scratch of a block. */
typedef struct scratch {
    double *t, *S, *h, *shift, *factor, *loss; /* h, shift and factor (m x stride) */
} scratch;

static scratch lay_out(const moeg_flow_sample *s, double *base, size_t *doubles)
{
    const size_t stride = s->stride, m = s->flow.m;
    *doubles = 0;
    return (scratch){.t = moeg_take(base, doubles, stride),
                     .S = moeg_take(base, doubles, stride),
                     .h = moeg_take(base, doubles, m * stride),
                     .shift = moeg_take(base, doubles, m * stride),
                     .factor = moeg_take(base, doubles, m * stride),
                     .loss = moeg_take(base, doubles, stride)};
}

/* t = tanh(u.x/(2 tau)) and S = 1 - t^2. */
static void layers(const moeg_flow_sample *s, const double *u, const double *x, scratch *w)
{
    const double scale = 0.5 / s->flow.options.tau;
    moeg_kernel_affine(1, s->flow.d, u, NULL, s->stride, x, w->t);
    for (size_t i = 0; i < s->stride; i++) {
        const double a = w->t[i] * scale;
        w->t[i] = a > 400 ? 400 : a < -400 ? -400 : a;
        w->S[i] = fmax(-708, -2 * fabs(w->t[i]));
    }
    moeg_kernel_activate(MOEG_KERNEL_TANH, s->stride, w->t, w->t);
    moeg_kernel_exp(s->stride, w->S, w->S);
    for (size_t i = 0; i < s->stride; i++)
        w->S[i] = 4 * w->S[i] / ((1 + w->S[i]) * (1 + w->S[i]));
}

/* What multiplies psi of output o in dL/dc_o, row by row; the loss of a row, and (e.h - t |h|^2) of it, which stands in
 * `along`, are summed up over the outputs. e = r + shift, without the square of which the loss is. */
static void add_output(const gradient_task *task, size_t o, double *block, scratch *w, double *along)
{
    const moeg_flow_sample *s = task->sample;
    const size_t at = o * s->stride;
    const int output = s->flow.options.mixing == MOEG_MIX_OUTPUT;
    const double *r = moeg_flow_residual(s, block) + at, *h = w->h + at, *weight = moeg_flow_weight(s, block);
    for (size_t i = 0; i < s->stride; i++) {
        const double t = w->t[i], e = task->away != NULL ? r[i] + w->shift[at + i] : r[i];
        const double square = output ? t * t : 1;
        along[i] += output ? h[i] * (e - t * h[i]) : h[i] * e;
        w->loss[i] += e * e - h[i] * (2 * t * e - square * h[i]);
        w->factor[at + i] = 2 * weight[i] * (square * h[i] - t * e);
    }
}

/* What multiplies x~ in dL/dB_o: the residual is orthogonal to it, and left out. */
static void symmetric_factor(const gradient_task *task, size_t o, double *block, scratch *w)
{
    const moeg_flow_sample *s = task->sample;
    const size_t at = o * s->stride;
    const double *weight = moeg_flow_weight(s, block);
    for (size_t i = 0; i < s->stride; i++) {
        const double shift = task->away != NULL ? w->shift[at + i] : 0;
        w->factor[at + i] = 2 * weight[i] * (w->t[i] * w->h[at + i] - shift);
    }
}

/* state {risk, dL/du (d), dL/dc (q), dL/dB}, of one block. */
static moeg_status add_block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    (void)count;
    const gradient_task *task = context;
    const moeg_flow_sample *s = task->sample;
    const moeg_flow *flow = &s->flow;
    const size_t d = flow->d, m = flow->m, stride = s->stride;
    double *block = moeg_flow_block(s, (size_t)first), *psi = moeg_flow_psi(s, block);
    double *symmetric = moeg_flow_symmetric(s, block);
    size_t doubles;
    scratch w = lay_out(s, workspace, &doubles);
    double *along = (double *)workspace + doubles;
    layers(s, task->state, moeg_flow_x(s, block), &w);
    moeg_kernel_affine(m, flow->p, task->state + d, NULL, stride, psi, w.h);
    if (task->away != NULL)
        moeg_kernel_affine(m, flow->features, task->away, NULL, stride, symmetric, w.shift);
    memset(w.loss, 0, stride * sizeof(double));
    memset(along, 0, stride * sizeof(double));
    for (size_t o = 0; o < m; o++)
        add_output(task, o, block, &w, along);
    const double *weight = moeg_flow_weight(s, block);
    for (size_t i = 0; i < stride; i++)
        along[i] *= -weight[i] * w.S[i] / flow->options.tau;
    moeg_kernel_products(1, 1, stride, stride, w.loss, weight, state);
    moeg_kernel_products(d, 1, stride, stride, moeg_flow_x(s, block), along, state + 1);
    moeg_kernel_products(m, flow->p, stride, stride, w.factor, psi, state + 1 + d);
    if (task->moves) {
        for (size_t o = 0; o < m; o++)
            symmetric_factor(task, o, block, &w);
        moeg_kernel_products(m, flow->features, stride, stride, w.factor, symmetric, state + 1 + d + moeg_flow_q(flow));
    }
    return MOEG_OK;
}

static size_t state_size(const gradient_task *task)
{
    const moeg_flow *flow = &task->sample->flow;
    return 1 + flow->d + moeg_flow_q(flow) + (task->moves ? flow->m * flow->features : 0);
}

static void merge(const void *context, const double *right, double *left)
{
    const size_t size = state_size(context);
    for (size_t i = 0; i < size; i++)
        left[i] += right[i];
}

/* The sums over all blocks, to total (state_size). */
static moeg_status run(gradient_task *task, double *total)
{
    const moeg_flow_sample *s = task->sample;
    size_t doubles;
    lay_out(s, NULL, &doubles);
    const moeg_job_spec spec = {.name = "flow",
                                .units = s->blocks,
                                .block_size = 1,
                                .state_size = state_size(task),
                                .workspace_size = (doubles + s->stride) * sizeof(double),
                                .context = task,
                                .block = add_block,
                                .merge = merge};
    moeg_job *job = NULL;
    moeg_partial *partial = NULL;
    moeg_status status = moeg_job_create(&job, &spec);
    if (status == MOEG_OK)
        status = moeg_job_run(job, &s->sampling, 0, s->blocks, &partial);
    if (status == MOEG_OK)
        status = moeg_partial_state(job, partial, total);
    moeg_partial_free(partial);
    moeg_job_free(job);
    return status;
}

static moeg_status sample_gradient(const moeg_flow *flow, const char *function, const double *state, double *risk,
                                   double *gradient)
{
    gradient_task task = {.sample = (const moeg_flow_sample *)flow, .state = state, .moves = flow->options.eta_f > 0};
    const size_t B = flow->d + moeg_flow_q(flow), b = flow->m * flow->features;
    double *away = moeg_alloc(b, sizeof *away), *total = moeg_alloc(1 + B + b, sizeof *total);
    moeg_status status = away && total ? MOEG_OK : moeg_fail_memory(function);
    for (size_t i = 0; i < b && status == MOEG_OK; i++) {
        away[i] = flow->best[i] - state[B + i];
        if (away[i] != 0)
            task.away = away;
    }
    if (status == MOEG_OK)
        status = run(&task, total);
    if (status == MOEG_OK) {
        *risk = total[0] + task.sample->noise;
        memset(gradient, 0, (B + b) * sizeof *gradient);
        memcpy(gradient, total + 1, (B + (task.moves ? b : 0)) * sizeof *gradient);
    }
    moeg_release(away);
    moeg_release(total);
    return status;
}

/* factor (p x stride) = psi_j w, times r_o if that is not NULL. */
static void weigh(const moeg_flow_sample *s, double *block, const double *r, double *factor)
{
    const double *psi = moeg_flow_psi(s, block), *weight = moeg_flow_weight(s, block);
    for (size_t j = 0; j < s->flow.p; j++)
        for (size_t i = 0; i < s->stride; i++)
            factor[j * s->stride + i] = psi[j * s->stride + i] * weight[i] * (r != NULL ? r[i] : 1);
}

/* out (rows x width), width = p `outputs`: the sums over the weighted rows of x (psi r_o)' for each output o, or,
 * without `x`, of psi psi'. */
static moeg_status sum_products(const moeg_flow_sample *s, const char *function, size_t rows, int x, size_t outputs,
                                double *out)
{
    const size_t p = s->flow.p, width = outputs * p;
    double *factor = moeg_alloc(p, s->stride * sizeof *factor), *product = moeg_alloc(rows, p * sizeof *product);
    const moeg_status status = factor && product ? MOEG_OK : moeg_fail_memory(function);
    if (status == MOEG_OK)
        memset(out, 0, rows * width * sizeof *out);
    for (size_t b = 0; b < s->blocks && status == MOEG_OK; b++) {
        double *block = moeg_flow_block(s, b);
        const double *a = x ? moeg_flow_x(s, block) : moeg_flow_psi(s, block);
        for (size_t o = 0; o < outputs; o++) {
            weigh(s, block, x ? moeg_flow_residual(s, block) + o * s->stride : NULL, factor);
            moeg_kernel_products(rows, p, s->stride, s->stride, a, factor, product);
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < p; j++)
                    out[i * width + o * p + j] += product[i * p + j];
        }
    }
    moeg_release(factor);
    moeg_release(product);
    return status;
}

static moeg_status sample_operator(const moeg_flow *flow, const char *function, double *M)
{
    return sum_products((const moeg_flow_sample *)flow, function, flow->d, 1, flow->m, M);
}

static moeg_status sample_gram(const moeg_flow *flow, const char *function, double *Psi)
{
    return sum_products((const moeg_flow_sample *)flow, function, flow->p, 0, 1, Psi);
}

static moeg_status sample_logit(const moeg_flow *flow, const char *function, const double *u, double *root)
{
    const moeg_flow_sample *s = (const moeg_flow_sample *)flow;
    double *logit = moeg_alloc(s->stride, sizeof *logit);
    if (logit == NULL)
        return moeg_fail_memory(function);
    *root = 0;
    for (size_t b = 0; b < s->blocks; b++) {
        double *block = moeg_flow_block(s, b);
        const double *weight = moeg_flow_weight(s, block);
        moeg_kernel_affine(1, flow->d, u, NULL, s->stride, moeg_flow_x(s, block), logit);
        for (size_t i = 0; i < s->stride; i++)
            *root = hypot(*root, sqrt(weight[i]) * logit[i]);
    }
    moeg_release(logit);
    return MOEG_OK;
}

static void let_go(moeg_flow *flow)
{
    moeg_release(((moeg_flow_sample *)flow)->values);
    moeg_release(flow->best);
}

const moeg_flow_kind moeg_flow_sample_kind = {.gradient = sample_gradient,
                                              .first_order = sample_operator,
                                              .feature_gram = sample_gram,
                                              .logit_root = sample_logit,
                                              .let_go = let_go};
