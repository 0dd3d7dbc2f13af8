/* The kernel of what the gap along rays has beyond its leading term, a part of kernel_body.h. Each lane is a line.
 *
 * The leading term is the same integral with all but the loser that ties left out, and with outputs and density as at
 * the crossing. Differences are formed term by term, so that nothing cancels as tau -> 0. */
#ifndef MOEG_BASE_KERNEL_RAY_REST_H
#define MOEG_BASE_KERNEL_RAY_REST_H

/* A node: the terms v_j of the losers, of which `tied` is that of the one that ties and `others` the sum of the rest;
 * 1/(1 + sum) and 1/(1 + tied). */
typedef struct rest_node {
    double offset;
    const reals *term;
    const words *ties; /* of each loser: whether it is the one that ties */
    reals tied, others, scale, alone;
} rest_node;

/* Sums over outputs: the leading integrand, what the integrand has more, and the magnitude of what other losers add. */
typedef struct rest_sums {
    reals leading, more, others;
} rest_sums;

/* Adds one output of output mixing: `other` = sum over the losers that do not tie, and `drift` over all of the slopes,
 * of v_j contrast_j. D - D_leading = (other + offset drift - others D_leading)/(1 + sum). */
static inline void rest_add(const rest_node *node, reals other, reals drift, reals contrast, reals residual,
                            reals residual_drift, rest_sums *sums)
{
    const reals o = REALS(node->offset), leading = node->tied * contrast * node->alone;
    const reals near = (other - node->others * leading) * node->scale;
    const reals change = FMA_REALS(o * node->scale, drift, near);
    const reals both = 2 * leading + change + 2 * FMA_REALS(o, residual_drift, residual);
    sums->leading = FMA_REALS(leading, leading + 2 * residual, sums->leading);
    sums->more += change * both + 2 * o * leading * residual_drift;
    sums->others += magnitude(near * both);
}

static inline void rest_outputs(const moeg_kernel_ray *x, size_t i, const rest_node *node, rest_sums *sums)
{
    for (size_t m = 0; m < x->outputs; m++) {
        reals other = REALS(0.0), drift = REALS(0.0);
        for (size_t j = 0; j < x->losers; j++) {
            const reals v = node->term[j];
            const reals contrast = *(const reals *)(x->contrast + (j * x->outputs + m) * x->stride + i);
            other = FMA_REALS(select_reals(node->ties[j], REALS(0.0), v), contrast, other);
            drift = FMA_REALS(v, REALS(x->contrast_slope[j * x->outputs + m]), drift);
        }
        rest_add(node, other, drift, *(const reals *)(x->tied + m * x->stride + i),
                 *(const reals *)(x->residual + m * x->stride + i), REALS(x->residual_slope[m]), sums);
    }
    for (size_t m = 0; m < x->constants; m++) {
        reals other = REALS(0.0);
        for (size_t j = 0; j < x->losers; j++)
            other = FMA_REALS(select_reals(node->ties[j], REALS(0.0), node->term[j]),
                              REALS(x->fixed_contrast[j * x->constants + m]), other);
        rest_add(node, other, REALS(0.0), *(const reals *)(x->tied + (x->outputs + m) * x->stride + i),
                 REALS(x->fixed_residual[m]), REALS(0.0), sums);
    }
}

/* The same of loss mixing, where the excess takes the place of outputs and enters once. */
static inline void rest_losses(const moeg_kernel_ray *x, size_t i, const rest_node *node, rest_sums *sums)
{
    const reals o = REALS(node->offset);
    reals other = REALS(0.0), drift = REALS(0.0);
    for (size_t j = 0; j < x->losers; j++) {
        const double *excess = x->excess + 3 * j * x->stride + i;
        const reals v = node->term[j], inner = FMA_REALS(o, *(const reals *)(excess + 2 * x->stride),
                                                         *(const reals *)(excess + x->stride));
        other = FMA_REALS(select_reals(node->ties[j], REALS(0.0), v), *(const reals *)excess, other);
        drift = FMA_REALS(v, inner, drift);
    }
    const reals leading = node->tied * *(const reals *)(x->tied + i) * node->alone;
    const reals near = (other - node->others * leading) * node->scale;
    sums->leading = leading;
    sums->more = FMA_REALS(o * node->scale, drift, near);
    sums->others = magnitude(near);
}

/* exp(x) - 1 of a vector of lanes. */
static inline reals expm1_reals(reals x)
{
    _Alignas(64) double lane[VECTOR_LANES];
    *(reals *)lane = x;
    for (int i = 0; i < VECTOR_LANES; i++)
        lane[i] = expm1_lane(lane[i]);
    return *(reals *)lane;
}

/* The terms of a node. */
static inline rest_node rest_node_at(const moeg_kernel_ray *x, size_t i, size_t q, reals *term, const words *ties)
{
    rest_node node = {.offset = x->offset[q], .term = term, .ties = ties, .tied = REALS(0.0), .others = REALS(0.0)};
    for (size_t j = 0; j < x->losers; j++) {
        term[j] = *(const reals *)(x->gate + j * x->stride + i) * REALS(x->decay[q * x->losers + j]);
        node.tied = select_reals(ties[j], term[j], node.tied);
        node.others += select_reals(ties[j], REALS(0.0), term[j]);
    }
    node.scale = 1 / (1 + (node.tied + node.others));
    node.alone = 1 / (1 + node.tied);
    return node;
}

/* One vector of lines: density(t + o) (leading + more) - density(t) leading. */
static inline void rest_vector(const moeg_kernel_ray *x, size_t i, reals *term, words *ties, double *rest,
                               double *error)
{
    const reals t = *(const reals *)(x->crossing + i), number = *(const reals *)(x->number + i);
    const reals density = REALS(0.39894228040143267794) * exp_reals(-0.5 * t * t);
    const reals blur = REALS(x->steepness) * (1 + magnitude(t));
    reals total = REALS(0.0), doubt = REALS(0.0);
    for (size_t j = 0; j < x->losers; j++)
        ties[j] = (words)(number == REALS((double)j));
    for (size_t first = 0; first < x->nodes; first += x->panel) {
        reals kronrod = REALS(0.0), gauss = REALS(0.0), size = REALS(0.0);
        for (size_t q = first; q < first + x->panel; q++) {
            const rest_node node = rest_node_at(x, i, q, term, ties);
            rest_sums sums = {REALS(0.0), REALS(0.0), REALS(0.0)};
            if (x->loss)
                rest_losses(x, i, &node, &sums);
            else
                rest_outputs(x, i, &node, &sums);
            const reals o = REALS(node.offset), grown = expm1_reals(SMALLER(-o * (t + 0.5 * o), REALS(600.0)));
            const reals value = FMA_REALS(1 + grown, sums.more, grown * sums.leading);
            kronrod = FMA_REALS(REALS(x->kronrod[q]), value, kronrod);
            gauss = FMA_REALS(REALS(x->gauss[q]), value, gauss);
            size = FMA_REALS(REALS(x->kronrod[q]), magnitude(value) + blur * (1 + grown) * sums.others, size);
        }
        total += kronrod;
        doubt += magnitude(kronrod - gauss) + 8 * DBL_EPSILON * size;
    }
    *(reals *)(rest + i) = density * total;
    *(reals *)(error + i) = density * doubt;
}

static void kernel_ray_rest(const moeg_kernel_ray *x, double *scratch, double *rest, double *error)
{
    for (size_t i = 0; i < x->stride; i += VECTOR_LANES)
        rest_vector(x, i, (reals *)scratch, (words *)(scratch + x->losers * VECTOR_LANES), rest, error);
}

#endif
