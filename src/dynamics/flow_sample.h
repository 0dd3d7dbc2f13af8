/* A sample that a flow keeps, in blocks of rows. */
#ifndef MOEG_DYNAMICS_FLOW_SAMPLE_H
#define MOEG_DYNAMICS_FLOW_SAMPLE_H

#include "dynamics/flow.h"

#include <stddef.h>

typedef struct moeg_flow_sample {
    moeg_flow flow;
    moeg_sampling sampling; /* of it max_threads and runner */
    size_t blocks, stride;  /* rows of a block, those past the last one of weight 0 */
    size_t rows;            /* variables of a block: 1, x (d), psi (p) if they are the user's, r (m), w (1) */
    double *values;         /* (blocks x rows x stride) */
    double noise;
} moeg_flow_sample;

/* The variables of a block. */
static inline double *moeg_flow_block(const moeg_flow_sample *s, size_t block)
{
    return s->values + block * s->rows * s->stride;
}

static inline double *moeg_flow_x(const moeg_flow_sample *s, double *block)
{
    return block + s->stride;
}

/* Features of the contrast: what is kept of the user's own, or of (1, x) what they are. */
static inline double *moeg_flow_psi(const moeg_flow_sample *s, double *block)
{
    const moeg_contrast_kind kind = s->flow.options.contrast.kind;
    return block + s->stride * (kind == MOEG_CONTRAST_USER ? 1 + s->flow.d : kind == MOEG_CONTRAST_LINEAR);
}

/* Features of the symmetric expert. */
static inline double *moeg_flow_symmetric(const moeg_flow_sample *s, double *block)
{
    return block + s->stride * (s->flow.options.symmetric == MOEG_SYMMETRIC_LINEAR);
}

/* Residual of the best symmetric expert, and weights, whose sum over all blocks is 1. */
static inline double *moeg_flow_residual(const moeg_flow_sample *s, double *block)
{
    return block + s->stride * (s->rows - 1 - s->flow.m);
}

static inline double *moeg_flow_weight(const moeg_flow_sample *s, double *block)
{
    return block + s->stride * (s->rows - 1);
}

/* The best symmetric expert of the n rows, whose residual takes the place of the outputs; flow.best and flow.residual.
 * As moeg_flow_sample_create(). */
moeg_status moeg_flow_sample_fit(const char *function, moeg_flow_sample *s, size_t n);

extern const moeg_flow_kind moeg_flow_sample_kind;

#endif
