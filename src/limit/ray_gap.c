#include "limit/ray_gap.h"

#include "base/kernel.h"
#include "base/normal.h"
#include "base/quad.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { PANEL = 2 * MOEG_QUAD_NODES - 1 };

/* Panels: the first is so wide that no term changes much over it, nor the density at any crossing; later ones are as
 * wide as they are far out, up to WIDEST; the last ends where the slowest term is e^-45, or the density 0. */
static const double FIRST = 0.025, WIDEST = 0.5, FARTHEST = 77, FELT = 45;

size_t moeg_ray_gap_count(const moeg_ray_gap *c)
{
    const size_t single = moeg_ray_gap_first(c) + (c->with_control != 0);
    return single + (1 + (size_t)(c->with_hard != 0) + (c->with_felt != 0)) * c->ntau;
}

/* One for all cells, whose controls must add up. */
double moeg_ray_gap_small(const moeg_ray_gap *c)
{
    double flattest = INFINITY;
    for (size_t k = 0; k < c->risk->rays.cells; k++)
        flattest = fmin(flattest, c->risk->rays.ray[k].flattest);
    return flattest / FELT;
}

static int is_small(const moeg_ray_gap *c, double tau)
{
    return tau <= moeg_ray_gap_small(c);
}

double moeg_ray_gap_unit(const moeg_ray_gap *gap, double tau)
{
    return tau < 1 || is_small(gap, tau) ? tau : 1;
}

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

static size_t most_panels(const moeg_ray_gap *c, const moeg_ray *ray)
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
    moeg_ray_crossing at;
    double *gate, *excess, *term;             /* (losers x stride), (3 losers x stride), (2 losers x lanes) */
    double *start;                            /* (panels + 1) */
    double *offset, *kronrod, *gauss, *decay; /* (nodes), (nodes), (nodes), (nodes x losers) */
} workspace_parts;

/* Rows of outputs: contrasts, residual, jumps. */
static size_t output_rows(const moeg_ray_gap *c, const moeg_ray *ray)
{
    return (ray->losers + 1 + (c->risk->pieces ? ray->losers : 0)) * c->risk->m;
}

static size_t layout(const moeg_ray_gap *c, const moeg_ray *ray, size_t stride, double *base, workspace_parts *p)
{
    const size_t panels = most_panels(c, ray), nodes = panels * PANEL;
    size_t used = 0;
    p->at.outputs = moeg_take(base, &used, output_rows(c, ray) * stride);
    p->at.number = moeg_take(base, &used, stride);
    p->at.tied = moeg_take(base, &used, (c->risk->m + c->risk->constants) * stride);
    p->at.lead = moeg_take(base, &used, stride);
    p->at.lead_error = moeg_take(base, &used, stride);
    p->at.control = moeg_take(base, &used, stride);
    p->at.control_error = moeg_take(base, &used, stride);
    p->gate = moeg_take(base, &used, ray->losers * stride);
    p->excess = moeg_take(base, &used, c->mixing == MOEG_MIX_LOSS ? 3 * ray->losers * stride : 0);
    p->term = moeg_take(base, &used, 2 * ray->losers * MOEG_LANES);
    p->start = moeg_take(base, &used, panels + 1);
    p->offset = moeg_take(base, &used, nodes);
    p->kronrod = moeg_take(base, &used, nodes);
    p->gauss = moeg_take(base, &used, nodes);
    p->decay = moeg_take(base, &used, moeg_round_lanes(nodes * ray->losers));
    return used;
}

size_t moeg_ray_gap_workspace(const moeg_ray_gap *c, const moeg_ray *ray, size_t stride)
{
    workspace_parts p;
    return layout(c, ray, stride, NULL, &p);
}

/* Outputs at the crossing: value + weight.u + along t. */
static void set_outputs(const moeg_ray_gap *c, const moeg_ray *ray, const moeg_ray_block *block, workspace_parts *p)
{
    const moeg_ray_outputs *o = &c->risk->outputs[ray->cell];
    const size_t rows = output_rows(c, ray), stride = block->stride;
    moeg_kernel_affine(rows, ray->r, o->weight, o->value, stride, block->u, p->at.outputs);
    for (size_t j = 0; j < rows; j++)
        for (size_t i = 0; i < stride; i++)
            p->at.outputs[j * stride + i] += o->along[j] * block->t[i];
}

/* The integral over the ray of density |residual|^2, the residual r + r' o: of its square's three coefficients, with
 * the moments of the offset beyond t. */
static void evaluate_hard(const moeg_ray_gap *c, const moeg_ray *ray, const moeg_ray_block *block,
                          const workspace_parts *p, double *hard, double *errors)
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
            const double r = p->at.outputs[(first + j) * stride + i], slope = o->along[first + j];
            a += r * r;
            b += r * slope;
            square += slope * slope;
        }
        hard[i] = a * mass + 2 * b * one + square * two;
        errors[i] = 16 * DBL_EPSILON * (a * mass + 2 * fabs(b) * density + square * (1 + t * t) * (mass + density));
    }
}

/* |f_j - m|^2 - |f_k - m|^2 = delta.(delta + 2 residual) by powers of the offset. */
static void set_excess(const moeg_ray_gap *c, const moeg_ray *ray, size_t stride, workspace_parts *p)
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
            const double *delta = p->at.outputs + (k * m + j) * stride,
                         *residual = p->at.outputs + (losers * m + j) * stride;
            const double slope = o->along[k * m + j], drift = o->along[losers * m + j];
            for (size_t i = 0; i < stride; i++) {
                excess[i] += delta[i] * (delta[i] + 2 * residual[i]);
                excess[stride + i] += 2 * (slope * (delta[i] + residual[i]) + drift * delta[i]);
                excess[2 * stride + i] += slope * (slope + 2 * drift);
            }
        }
    }
}

/* Nodes of all panels, their weights in units of the gap, and the decay of each term there. */
static size_t set_nodes(const moeg_ray_gap *c, const moeg_ray *ray, double tau, workspace_parts *p)
{
    const double unit = moeg_ray_gap_unit(c, tau);
    const size_t panels = make_panels(ray, tau, p->start), losers = ray->losers;
    size_t q = 0;
    for (size_t n = 0; n < panels; n++) {
        const double half = (p->start[n + 1] - p->start[n]) / 2, middle = p->start[n] + half;
        for (int i = -(MOEG_QUAD_NODES - 1); i < MOEG_QUAD_NODES; i++, q++) {
            const moeg_quad_node *node = &moeg_quad_rule[i < 0 ? -i : i];
            p->offset[q] = middle + (i < 0 ? -half : half) * node->node;
            p->kronrod[q] = half / unit * node->kronrod;
            p->gauss[q] = half / unit * node->gauss;
            for (size_t j = 0; j < losers; j++)
                p->decay[q * losers + j] = -(ray->slope[j] * (p->offset[q] / tau));
        }
    }
    for (size_t i = q * losers; i < moeg_round_lanes(q * losers); i++)
        p->decay[i] = 0;
    moeg_kernel_exp(moeg_round_lanes(q * losers), p->decay, p->decay);
    return q;
}

/* The gap's integral in units of `unit`, or, if `rest`, what it has beyond its leading term. */
static void integrate(const moeg_ray_gap *c, const moeg_ray *ray, const moeg_ray_block *block, double tau, int rest,
                      workspace_parts *p, double *value, double *error)
{
    const size_t losers = ray->losers, m = c->risk->m, stride = block->stride, rows = losers + 1;
    const moeg_ray_outputs *o = &c->risk->outputs[ray->cell];
    const size_t nodes = set_nodes(c, ray, tau, p);
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
        .contrast = p->at.outputs,
        .contrast_slope = o->along,
        .residual = p->at.outputs + losers * m * stride,
        .residual_slope = o->along + losers * m,
        .fixed_contrast = o->fixed,
        .fixed_residual = o->fixed + losers * rows,
        .excess = p->excess,
        .number = p->at.number,
        .tied = p->at.tied,
        .steepness = ray->steepest / tau,
    };
    if (rest)
        moeg_kernel_ray_rest(&kernel, p->term, value, error);
    else
        moeg_kernel_ray_gap(&kernel, p->term, value, error);
}

/* The gap of one temperature as a value, or its rest. */
static void evaluate_gap(const moeg_ray_gap *c, const moeg_ray *ray, const moeg_ray_block *block, double tau,
                         int rest_alone, workspace_parts *p, double *gap, double *gap_error)
{
    const size_t stride = block->stride;
    const int small = is_small(c, tau);
    const moeg_ray_crossing *at = &p->at;
    integrate(c, ray, block, tau, small, p, gap, gap_error);
    for (size_t i = 0; i < stride; i++) {
        if (small && !rest_alone) {
            gap[i] += at->lead[i];
            gap_error[i] += at->lead_error[i];
        } else if (!small && rest_alone) {
            const double scale = moeg_ray_gap_unit(c, tau) / tau;
            gap[i] = gap[i] * scale - (at->lead[i] + at->control[i]);
            gap_error[i] = gap_error[i] * scale + at->lead_error[i] + at->control_error[i];
        }
    }
}

/* Soft risks from the hard one and the gaps. */
static void evaluate_soft(const moeg_ray_gap *c, const workspace_parts *p, double tau, size_t stride,
                          const double *hard, const double *gap, double *soft)
{
    const double unit = moeg_ray_gap_unit(c, tau);
    const int small = is_small(c, tau);
    for (size_t i = 0; i < stride; i++)
        soft[i] = hard[i] + unit * (small ? gap[i] + p->at.control[i] : gap[i]);
}

/* The sum over losers of their terms at the crossing, but for the one that ties, whose term is 1. */
static void evaluate_felt(const moeg_ray_gap *c, const moeg_ray *ray, const moeg_ray_block *block, double tau,
                          const workspace_parts *p, double *felt)
{
    const size_t stride = block->stride;
    const int small = is_small(c, tau);
    for (size_t i = 0; i < stride; i++)
        felt[i] = small ? 0 : 1;
    for (size_t j = 0; small && j < ray->losers; j++)
        for (size_t i = 0; i < stride; i++)
            felt[i] += block->active[i] != j ? p->gate[j * stride + i] : 0;
}

/* All values of one temperature: the first is its gap. */
static void evaluate_temperature(const moeg_ray_gap *c, const moeg_ray *ray, const moeg_ray_block *block, size_t t,
                                 workspace_parts *p, const double *hard, const double *hard_error, double *gap,
                                 double *error)
{
    const size_t stride = block->stride, next = c->ntau * stride, size = stride * sizeof *gap;
    const double tau = c->tau[t];
    memset(gap, 0, size);
    memset(error, 0, size);
    if (tau > 0)
        evaluate_gap(c, ray, block, tau, c->with_lead || (c->with_felt && t + 1 == c->ntau), p, gap, error);
    if (c->with_hard) {
        memcpy(gap + next, hard, size);
        memcpy(error + next, hard_error, size);
    }
    if (c->with_hard && tau > 0) {
        evaluate_soft(c, p, tau, stride, hard, gap, gap + next);
        for (size_t i = 0; i < stride; i++)
            error[next + i] += moeg_ray_gap_unit(c, tau) * (error[i] + p->at.control_error[i]);
    }
    if (c->with_felt) {
        const size_t at = c->with_hard ? 2 * next : next;
        memset(gap + at, 0, size);
        memset(error + at, 0, size);
        if (tau > 0)
            evaluate_felt(c, ray, block, tau, p, gap + at);
    }
}

void moeg_ray_gap_evaluate(const moeg_ray_gap *c, const moeg_ray *ray, const moeg_ray_block *block, double *scratch,
                           double *values, double *errors)
{
    const size_t stride = block->stride, size = stride * sizeof *values, count = moeg_ray_gap_count(c);
    size_t next = 0;
    workspace_parts p;
    layout(c, ray, stride, scratch, &p);
    set_outputs(c, ray, block, &p);
    moeg_ray_lead(c->risk, c->mixing, ray, block, &p.at);
    if (c->mixing == MOEG_MIX_LOSS)
        set_excess(c, ray, stride, &p);
    if (c->with_hard) {
        evaluate_hard(c, ray, block, &p, values, errors);
        next++;
    }
    if (c->with_lead || c->with_felt) {
        memcpy(values + next * stride, p.at.lead, size);
        memcpy(errors + next * stride, p.at.lead_error, size);
        next++;
    }
    for (size_t t = 0; t < c->ntau; t++)
        evaluate_temperature(c, ray, block, t, &p, values, errors, values + (next + t) * stride,
                             errors + (next + t) * stride);
    if (c->with_control) {
        memcpy(values + (count - 1) * stride, p.at.control, size);
        memcpy(errors + (count - 1) * stride, p.at.control_error, size);
    }
}
