/* The values of a line: the hard risk and the gaps of its ray, and the soft risks. */
#include "limit/ray_risk.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/normal.h"
#include "base/quad.h"
#include "limit/ray_mass.h"
#include "limit/support.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { PANEL = 2 * MOEG_QUAD_NODES - 1 };

/* Panels: the first is so wide that no term changes much over it, nor the density at any crossing; later ones are as
 * wide as they are far out, up to WIDEST; the last ends where the slowest term is e^-45, or the density 0. */
static const double FIRST = 0.025, WIDEST = 0.5, FARTHEST = 77, FELT = 45;

typedef struct curve {
    const moeg_ray_risk *risk;
    moeg_mixing mixing;
    int with_hard; /* the first value; then the gaps, and as many soft risks */
    size_t ntau;
    const double *tau;
} curve;

/* Panels of one cell at one temperature: their number, and, unless start is NULL, where they begin and end. */
static size_t make_panels(const moeg_ray *ray, double tau, double *start)
{
    const double first = fmin(tau / ray->steepest, FIRST), end = fmin(FELT * (tau / ray->flattest), FARTHEST);
    size_t count = 0;
    double from = 0;
    while (from < end) {
        const double width = fmin(fmax(first, from), WIDEST), to = from + 1.5 * width < end ? from + width : end;
        if (start != NULL)
            start[count] = from;
        count++;
        from = to;
    }
    if (start != NULL)
        start[count] = end;
    return count;
}

static size_t most_panels(const curve *c, const moeg_ray *ray)
{
    size_t most = 0;
    for (size_t t = 0; t < c->ntau; t++) {
        const size_t count = c->tau[t] > 0 ? make_panels(ray, c->tau[t], NULL) : 0;
        most = count > most ? count : most;
    }
    return most;
}

/* The arrays of a block. */
typedef struct workspace_parts {
    double *outputs;                          /* ((losers + 1) m x stride) at the crossing */
    double *gate, *excess, *term;             /* (losers x stride), (3 losers x stride), (losers x lanes) */
    double *start;                            /* (panels + 1) */
    double *offset, *kronrod, *gauss, *decay; /* (nodes), (nodes), (nodes), (nodes x losers) */
} workspace_parts;

static double *take(double *base, size_t *used, size_t count)
{
    const size_t at = *used;
    *used += moeg_round_lanes(count);
    return base == NULL ? NULL : base + at;
}

static size_t layout(const curve *c, const moeg_ray *ray, size_t stride, double *base, workspace_parts *p)
{
    const size_t panels = most_panels(c, ray), nodes = panels * PANEL;
    size_t used = 0;
    p->outputs = take(base, &used, (ray->losers + 1) * c->risk->m * stride);
    p->gate = take(base, &used, ray->losers * stride);
    p->excess = take(base, &used, c->mixing == MOEG_MIX_LOSS ? 3 * ray->losers * stride : 0);
    p->term = take(base, &used, ray->losers * MOEG_LANES);
    p->start = take(base, &used, panels + 1);
    p->offset = take(base, &used, nodes);
    p->kronrod = take(base, &used, nodes);
    p->gauss = take(base, &used, nodes);
    p->decay = take(base, &used, moeg_round_lanes(nodes * ray->losers));
    return used;
}

static size_t workspace(const void *self, const moeg_ray *ray, size_t stride)
{
    workspace_parts p;
    return layout(self, ray, stride, NULL, &p);
}

/* Outputs at the crossing: value + weight.u + along t. */
static void set_outputs(const curve *c, const moeg_ray *ray, const moeg_ray_block *block, workspace_parts *p)
{
    const moeg_ray_outputs *o = &c->risk->outputs[ray->cell];
    const size_t rows = (ray->losers + 1) * c->risk->m, stride = block->stride;
    moeg_kernel_affine(rows, ray->r, o->weight, o->value, stride, block->u, p->outputs);
    for (size_t j = 0; j < rows; j++)
        for (size_t i = 0; i < stride; i++)
            p->outputs[j * stride + i] += o->along[j] * block->t[i];
}

/* The integral over the ray of density |residual|^2, the residual r + r' o: of its square's three coefficients, with
 * the moments of the offset beyond t. */
static void evaluate_hard(const curve *c, const moeg_ray *ray, const moeg_ray_block *block, const workspace_parts *p,
                          double *hard, double *errors)
{
    const size_t m = c->risk->m, stride = block->stride, first = ray->losers * m;
    const moeg_ray_outputs *o = &c->risk->outputs[ray->cell];
    double constant = 0;
    for (size_t j = 0; j < c->risk->constants; j++) {
        const double fixed = o->fixed[ray->losers * (ray->losers + 1) + j];
        constant += fixed * fixed;
    }
    for (size_t i = 0; i < stride; i++) {
        const double t = block->t[i], mass = moeg_normal_tail(t), density = moeg_normal_density(t);
        const double one = density - t * mass, two = (1 + t * t) * mass - t * density;
        double a = constant, b = 0, square = 0;
        for (size_t j = 0; j < m; j++) {
            const double r = p->outputs[(first + j) * stride + i], slope = o->along[first + j];
            a += r * r;
            b += r * slope;
            square += slope * slope;
        }
        hard[i] = a * mass + 2 * b * one + square * two;
        errors[i] = 16 * DBL_EPSILON * (a * mass + 2 * fabs(b) * density + square * (1 + t * t) * (mass + density));
    }
}

/* |f_j - m|^2 - |f_k - m|^2 = delta.(delta + 2 residual) by powers of the offset. */
static void set_excess(const curve *c, const moeg_ray *ray, size_t stride, workspace_parts *p)
{
    const size_t m = c->risk->m, losers = ray->losers, rows = losers + 1;
    const moeg_ray_outputs *o = &c->risk->outputs[ray->cell];
    memset(p->excess, 0, 3 * losers * stride * sizeof *p->excess);
    for (size_t k = 0; k < losers; k++) {
        double *excess = p->excess + 3 * k * stride, fixed = 0;
        for (size_t j = 0; j < c->risk->constants; j++)
            fixed += o->fixed[k * rows + j] * (o->fixed[k * rows + j] + 2 * o->fixed[losers * rows + j]);
        for (size_t i = 0; i < stride; i++)
            excess[i] = fixed;
        for (size_t j = 0; j < m; j++) {
            const double *delta = p->outputs + (k * m + j) * stride, *residual = p->outputs + (losers * m + j) * stride;
            const double slope = o->along[k * m + j], drift = o->along[losers * m + j];
            for (size_t i = 0; i < stride; i++) {
                excess[i] += delta[i] * (delta[i] + 2 * residual[i]);
                excess[stride + i] += 2 * (slope * (delta[i] + residual[i]) + drift * delta[i]);
                excess[2 * stride + i] += slope * (slope + 2 * drift);
            }
        }
    }
}

/* Nodes of all panels, and the decay of each term there. */
static size_t set_nodes(const moeg_ray *ray, double tau, workspace_parts *p)
{
    const size_t panels = make_panels(ray, tau, p->start), losers = ray->losers;
    size_t q = 0;
    for (size_t n = 0; n < panels; n++) {
        const double half = (p->start[n + 1] - p->start[n]) / 2, middle = p->start[n] + half;
        for (int i = -(MOEG_QUAD_NODES - 1); i < MOEG_QUAD_NODES; i++, q++) {
            const moeg_quad_node *node = &moeg_quad_rule[i < 0 ? -i : i];
            p->offset[q] = middle + (i < 0 ? -half : half) * node->node;
            p->kronrod[q] = half * node->kronrod;
            p->gauss[q] = half * node->gauss;
            for (size_t j = 0; j < losers; j++)
                p->decay[q * losers + j] = -(ray->slope[j] * (p->offset[q] / tau));
        }
    }
    for (size_t i = q * losers; i < moeg_round_lanes(q * losers); i++)
        p->decay[i] = 0;
    moeg_kernel_exp(moeg_round_lanes(q * losers), p->decay, p->decay);
    return q;
}

static void evaluate_gap(const curve *c, const moeg_ray *ray, const moeg_ray_block *block, double tau,
                         workspace_parts *p, double *gap, double *error)
{
    const size_t losers = ray->losers, m = c->risk->m, stride = block->stride, rows = losers + 1;
    const moeg_ray_outputs *o = &c->risk->outputs[ray->cell];
    const size_t nodes = set_nodes(ray, tau, p);
    for (size_t j = 0; j < losers; j++)
        for (size_t i = 0; i < stride; i++)
            p->gate[j * stride + i] = -(ray->slope[j] * (block->lag[j * stride + i] / tau));
    moeg_kernel_exp(losers * stride, p->gate, p->gate);
    const moeg_kernel_ray kernel = {
        .losers = losers,
        .outputs = m,
        .constants = c->risk->constants,
        .stride = stride,
        .loss = c->mixing == MOEG_MIX_LOSS,
        .nodes = nodes,
        .panel = PANEL,
        .start = p->start,
        .offset = p->offset,
        .kronrod = p->kronrod,
        .gauss = p->gauss,
        .decay = p->decay,
        .crossing = block->t,
        .gate = p->gate,
        .contrast = p->outputs,
        .contrast_slope = o->along,
        .residual = p->outputs + losers * m * stride,
        .residual_slope = o->along + losers * m,
        .fixed_contrast = o->fixed,
        .fixed_residual = o->fixed + losers * rows,
        .excess = p->excess,
    };
    moeg_kernel_ray_gap(&kernel, p->term, gap, error);
}

static void evaluate(const void *self, const moeg_ray *ray, const moeg_ray_block *block, double *scratch,
                     double *values, double *errors)
{
    const curve *c = self;
    const size_t stride = block->stride;
    workspace_parts p;
    layout(c, ray, stride, scratch, &p);
    set_outputs(c, ray, block, &p);
    if (c->mixing == MOEG_MIX_LOSS)
        set_excess(c, ray, stride, &p);
    double *gap = values + (c->with_hard ? stride : 0), *gap_error = errors + (c->with_hard ? stride : 0);
    if (c->with_hard)
        evaluate_hard(c, ray, block, &p, values, errors);
    for (size_t t = 0; t < c->ntau; t++, gap += stride, gap_error += stride) {
        if (c->tau[t] > 0) {
            evaluate_gap(c, ray, block, c->tau[t], &p, gap, gap_error);
        } else {
            memset(gap, 0, stride * sizeof *gap);
            memset(gap_error, 0, stride * sizeof *gap_error);
        }
    }
    for (size_t t = 0; c->with_hard && t < c->ntau; t++, gap += stride, gap_error += stride)
        for (size_t i = 0; i < stride; i++) {
            gap[i] = values[i] + values[(1 + t) * stride + i];
            gap_error[i] = errors[i] + errors[(1 + t) * stride + i];
        }
}

/* All estimates of a curve, to be handed out when nothing can fail any more. */
typedef struct outcome {
    moeg_estimate hard, *soft, *gap;
    double *covariance; /* (ntau x ntau) */
} outcome;

/* One estimate, and the worst status so far. */
static void put(const moeg_ray_result *result, size_t count, size_t j, double level, moeg_estimate *out,
                moeg_status *status)
{
    const moeg_status one = moeg_ray_estimate(result, count, j, level, out);
    *status = *status == MOEG_OK ? one : *status;
}

/* All values from one set of lines. */
static moeg_status curve_at_once(const char *function, const curve *c, const moeg_sampling *s, outcome *out)
{
    const size_t ntau = c->ntau, count = 1 + 2 * ntau;
    const moeg_ray_quantity quantity = {
        .count = count, .workspace = workspace, .evaluate = evaluate, .self = c, .aim = 1, .aims = ntau};
    moeg_ray_result result;
    moeg_status status = moeg_rays_expect(function, &c->risk->rays, &quantity, s, &result);
    if (status < 0)
        return status;
    put(&result, count, 0, s->level, &out->hard, &status);
    for (size_t t = 0; t < ntau; t++) {
        put(&result, count, 1 + t, s->level, &out->gap[t], &status);
        put(&result, count, 1 + ntau + t, s->level, &out->soft[t], &status);
        for (size_t v = 0; v < ntau; v++)
            out->covariance[t * ntau + v] = result.covariance[(1 + t) * count + 1 + v];
    }
    moeg_ray_result_free(&result);
    return status;
}

/* r = 2: one temperature at a time, each with panels of its own; without hard risk where tau > 0. Covariances are 0. */
static moeg_status curve_by_parts(const char *function, const curve *c, const moeg_sampling *s, outcome *out)
{
    const double none = 0;
    moeg_ray_result at_0, one;
    curve part = {.risk = c->risk, .mixing = c->mixing, .with_hard = 1, .ntau = 1, .tau = &none};
    moeg_ray_quantity quantity = {.count = 3, .workspace = workspace, .evaluate = evaluate, .self = &part};
    moeg_status status = moeg_rays_expect(function, &c->risk->rays, &quantity, s, &at_0);
    if (status < 0)
        return status;
    put(&at_0, 3, 0, s->level, &out->hard, &status);
    part.with_hard = 0;
    quantity.count = 1;
    for (size_t t = 0; t < c->ntau && status >= 0; t++) {
        part.tau = c->tau + t;
        quantity.width = c->tau[t];
        const moeg_status run = moeg_rays_expect(function, &c->risk->rays, &quantity, s, &one);
        if (run < 0) {
            status = run;
            break;
        }
        put(&one, 1, 0, s->level, &out->gap[t], &status);
        one.value[0] += at_0.value[0];
        one.error[0] += at_0.error[0];
        put(&one, 1, 0, s->level, &out->soft[t], &status);
        moeg_ray_result_free(&one);
    }
    moeg_ray_result_free(&at_0);
    return status;
}

/* The risks with the teacher's noise. The status says what went wrong, if anything did. */
static moeg_status add_noise(const char *function, const curve *c, outcome *out)
{
    moeg_status status = moeg_support_add_noise(function, c->risk->noise, &out->hard);
    for (size_t t = 0; t < c->ntau && status == MOEG_OK; t++)
        status = moeg_support_add_noise(function, c->risk->noise, &out->soft[t]);
    return status;
}

moeg_status moeg_ray_risk_curve(const char *function, const moeg_ray_risk *risk, moeg_mixing mixing, size_t ntau,
                                const double *tau, const moeg_sampling *s, moeg_estimate *hard, moeg_estimate *soft,
                                moeg_estimate *gap, double *gap_covariance)
{
    const curve c = {.risk = risk, .mixing = mixing, .with_hard = 1, .ntau = ntau, .tau = tau};
    outcome out = {.soft = moeg_alloc(ntau, 2 * sizeof *out.soft),
                   .covariance = moeg_alloc_zero(ntau, ntau * sizeof *out.covariance)};
    moeg_status status = out.soft == NULL || out.covariance == NULL ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK) {
        out.gap = out.soft + ntau;
        status = risk->rays.r == 2 ? curve_by_parts(function, &c, s, &out) : curve_at_once(function, &c, s, &out);
    }
    const moeg_status noisy = status >= 0 ? add_noise(function, &c, &out) : status;
    status = noisy < 0 ? noisy : status;
    if (status >= 0 && hard != NULL)
        *hard = out.hard;
    if (status >= 0 && soft != NULL)
        memcpy(soft, out.soft, ntau * sizeof *soft);
    if (status >= 0 && gap != NULL)
        memcpy(gap, out.gap, ntau * sizeof *gap);
    if (status >= 0 && gap_covariance != NULL)
        memcpy(gap_covariance, out.covariance, ntau * ntau * sizeof *gap_covariance);
    moeg_release(out.soft);
    moeg_release(out.covariance);
    return status;
}
