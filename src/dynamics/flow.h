/* What the kinds of flows are to one another. */
#ifndef MOEG_DYNAMICS_FLOW_H
#define MOEG_DYNAMICS_FLOW_H

#include <moegeom/flow.h>
#include <stddef.h>

typedef struct moeg_flow_kind {
    /* The risk at a state and its gradient (d + q + b), that of B (b) only if it moves. A value that is not finite is
     * for the caller to report. */
    moeg_status (*gradient)(const moeg_flow *flow, const char *function, const double *state, double *risk,
                            double *gradient);
    moeg_status (*first_order)(const moeg_flow *flow, const char *function, double *M);
    moeg_status (*feature_gram)(const moeg_flow *flow, const char *function, double *Psi); /* E[psi psi'] (p x p) */
    moeg_status (*logit_root)(const moeg_flow *flow, const char *function, const double *u,
                              double *root); /* of E (u.x)^2 */
    void (*let_go)(moeg_flow *flow);
} moeg_flow_kind;

/* The first member of the struct of every kind. */
struct moeg_flow {
    const moeg_flow_kind *kind;
    moeg_flow_options options;
    size_t d, m, p, features; /* of x; outputs; features of the contrast, and of the symmetric expert */
    double *best;             /* (m x features) B at u = 0, c = 0; the kind's to free */
    double spread;            /* root of the mean of |x|^2/d: how large x is in a direction */
    double residual;          /* root of E |Y - f|^2 of the best symmetric expert, without noise */
};

/* q = m p, and doubles of a state. */
static inline size_t moeg_flow_q(const moeg_flow *flow)
{
    return flow->m * flow->p;
}

static inline size_t moeg_flow_size(const moeg_flow *flow)
{
    return flow->d + moeg_flow_q(flow) + flow->m * flow->features;
}

/* Whether a class of symmetric experts has an intercept, which is then the first of its coefficients. */
static inline int moeg_has_intercept(moeg_symmetric symmetric)
{
    return symmetric == MOEG_SYMMETRIC_CONSTANT || symmetric == MOEG_SYMMETRIC_AFFINE;
}

/* MOEG_OK or MOEG_EINVAL: options that are not NULL, in their ranges. */
moeg_status moeg_check_flow_options(const char *function, const moeg_flow_options *options);

/* The velocity as moeg_flow_velocity() has it, of a finite state. gradient (state's size) is scratch, and may be
 * velocity. */
moeg_status moeg_flow_slope(const moeg_flow *flow, const char *function, const double *state, double *risk,
                            double *velocity);

#endif
