/* The kernel of the gap along rays, a part of kernel_body.h. Each lane is a line. */
#ifndef MOEG_BASE_KERNEL_RAY_H
#define MOEG_BASE_KERNEL_RAY_H

/* exp(x) of a vector of lanes. */
static inline reals exp_reals(reals x)
{
    _Alignas(64) double lane[VECTOR_LANES];
    *(reals *)lane = x;
    for (int i = 0; i < VECTOR_LANES; i++)
        lane[i] = exp_lane(lane[i]);
    return *(reals *)lane;
}

static inline reals magnitude(reals x)
{
    return (reals)((words)x & (UINT64_MAX >> 1));
}

/* What a node has at hand: its place in the tables, the terms v_j of its losers, and 1/(1 + their sum). */
typedef struct ray_node {
    size_t index;
    double offset;
    const reals *term;
    reals scale;
} ray_node;

/* D.(D + 2 residual) of the outputs that change along the ray, and of those that do not. */
static inline reals ray_outputs(const moeg_kernel_ray *x, size_t i, const ray_node *node)
{
    const reals o = REALS(node->offset);
    reals gap = REALS(0.0);
    for (size_t m = 0; m < x->outputs; m++) {
        reals at_0 = REALS(0.0), slope = REALS(0.0);
        for (size_t j = 0; j < x->losers; j++) {
            const reals v = node->term[j];
            at_0 = FMA_REALS(v, *(const reals *)(x->contrast + (j * x->outputs + m) * x->stride + i), at_0);
            slope = FMA_REALS(v, REALS(x->contrast_slope[j * x->outputs + m]), slope);
        }
        const reals D = FMA_REALS(o, slope, at_0) * node->scale;
        const reals residual =
            FMA_REALS(o, REALS(x->residual_slope[m]), *(const reals *)(x->residual + m * x->stride + i));
        gap = FMA_REALS(D, D + 2 * residual, gap);
    }
    for (size_t m = 0; m < x->constants; m++) {
        reals sum = REALS(0.0);
        for (size_t j = 0; j < x->losers; j++)
            sum = FMA_REALS(node->term[j], REALS(x->fixed_contrast[j * x->constants + m]), sum);
        const reals D = sum * node->scale;
        gap = FMA_REALS(D, D + 2 * REALS(x->fixed_residual[m]), gap);
    }
    return gap;
}

/* sum_j v_j excess_j/(1 + sum_j v_j), the excess a quadratic in the offset. */
static inline reals ray_losses(const moeg_kernel_ray *x, size_t i, const ray_node *node)
{
    const reals o = REALS(node->offset);
    reals sum = REALS(0.0);
    for (size_t j = 0; j < x->losers; j++) {
        const double *excess = x->excess + 3 * j * x->stride + i;
        const reals inner =
            FMA_REALS(o, *(const reals *)(excess + 2 * x->stride), *(const reals *)(excess + x->stride));
        sum = FMA_REALS(node->term[j], FMA_REALS(o, inner, *(const reals *)excess), sum);
    }
    return sum * node->scale;
}

/* The density of the offset, 0 for lanes that are past the end of the law: where the density is below e^-45 of what it
 * was at the crossing, or at 0 if that lies ahead. */
static inline reals ray_density(reals t, double offset, reals live)
{
    const reals x = t + REALS(offset);
    return live * REALS(0.39894228040143267794) * exp_reals(-0.5 * x * x);
}

static inline int ray_is_past(double t, double offset)
{
    const double x = t + offset, start = t > 0 ? t : 0;
    return x > 0 && 0.5 * (x * x - start * start) > 45;
}

/* One vector of lines. */
static inline void ray_vector(const moeg_kernel_ray *x, size_t i, reals *term, double *gap, double *error)
{
    const reals t = *(const reals *)(x->crossing + i);
    reals total = REALS(0.0), doubt = REALS(0.0), live = REALS(1.0);
    for (size_t first = 0; first < x->nodes; first += x->panel) {
        int some = 0;
        for (int l = 0; l < VECTOR_LANES; l++) {
            live[l] = ray_is_past(t[l], x->start[first / x->panel]) ? 0 : 1;
            some |= live[l] != 0;
        }
        if (!some)
            break;
        reals kronrod = REALS(0.0), gauss = REALS(0.0), size = REALS(0.0);
        for (size_t q = first; q < first + x->panel; q++) {
            reals sum = REALS(1.0);
            for (size_t j = 0; j < x->losers; j++) {
                term[j] = *(const reals *)(x->gate + j * x->stride + i) * REALS(x->decay[q * x->losers + j]);
                sum += term[j];
            }
            const ray_node node = {q, x->offset[q], term, 1 / sum};
            const reals value =
                (x->loss ? ray_losses(x, i, &node) : ray_outputs(x, i, &node)) * ray_density(t, node.offset, live);
            kronrod = FMA_REALS(REALS(x->kronrod[q]), value, kronrod);
            gauss = FMA_REALS(REALS(x->gauss[q]), value, gauss);
            size = FMA_REALS(REALS(x->kronrod[q]), magnitude(value), size);
        }
        total += kronrod;
        doubt += magnitude(kronrod - gauss) + 4 * DBL_EPSILON * size;
    }
    *(reals *)(gap + i) = total;
    *(reals *)(error + i) = doubt;
}

static void kernel_ray_gap(const moeg_kernel_ray *x, double *scratch, double *gap, double *error)
{
    for (size_t i = 0; i < x->stride; i += VECTOR_LANES)
        ray_vector(x, i, (reals *)scratch, gap, error);
}

#endif
