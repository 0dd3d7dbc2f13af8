/* The population flow of a teacher in halves, in the plane of v and beta. In the frame of u, x = sigma (s w + q n), w
 * along u and n across: all that a gradient wants are expectations of polynomials in (s, q) with a few weights
 * (plane_rule.h). */
#include "dynamics/flow_plane.h"
#include "dynamics/plane_rule.h"

#include <math.h>
#include <stddef.h>

/* What a state is in the frame of u, and the expectations there. */
typedef struct frame {
    double cosine, sine;
    moeg_plane_table x[PLANE], x_u[PLANE]; /* coordinates of the plane, and along and across u */
    moeg_plane_table y, f, h;              /* beta.x + mu, the symmetric expert, the contrast */
    moeg_plane_table rule[MOEG_PLANE_WEIGHTS];
} frame;

/* constant + slopes.x in the frame. */
static moeg_plane_table affine(const moeg_flow_plane *p, const frame *f, double constant, const double *slopes)
{
    return moeg_plane_affine(constant, p->sigma * (f->cosine * slopes[0] + f->sine * slopes[1]),
                             p->sigma * (f->cosine * slopes[1] - f->sine * slopes[0]));
}

/* The same from coefficients of (1), x or (1, x); `size` of them. */
static moeg_plane_table expand(const moeg_flow_plane *p, const frame *f, size_t size, const double *coefficients)
{
    static const double zero[PLANE] = {0, 0};
    const int constant = size != PLANE && size > 0;
    return affine(p, f, constant ? coefficients[0] : 0, size >= PLANE ? coefficients + constant : zero);
}

/* Feature j of `size`. */
static moeg_plane_table feature(const moeg_flow_plane *p, const frame *f, size_t size, size_t j)
{
    double coefficients[FEATURES] = {0, 0, 0};
    coefficients[j] = 1;
    return expand(p, f, size, coefficients);
}

static moeg_status set_frame(const moeg_flow_plane *p, const double *state, frame *f)
{
    const moeg_flow *flow = &p->flow;
    static const double axis[PLANE][PLANE] = {{1, 0}, {0, 1}};
    const double length = hypot(state[0], state[1]);
    /* Of a length that is subnormal the direction does not matter, nor where there is none. */
    const double scale = length > 0 ? fmax(fabs(state[0]), fabs(state[1])) : 1;
    const double a = length > 0 ? state[0] / scale : 1, b = length > 0 ? state[1] / scale : 0;
    f->cosine = a / hypot(a, b);
    f->sine = b / hypot(a, b);
    for (size_t j = 0; j < PLANE; j++)
        f->x[j] = affine(p, f, 0, axis[j]);
    f->x_u[0] = moeg_plane_affine(0, p->sigma, 0);
    f->x_u[1] = moeg_plane_affine(0, 0, p->sigma);
    f->y = affine(p, f, p->mu, p->beta);
    f->f = expand(p, f, flow->features, state + PLANE + flow->p);
    f->h = expand(p, f, flow->p, state + PLANE);
    return moeg_plane_rule(length / flow->options.tau * p->sigma / 2, p->v * p->sigma * f->cosine,
                           -p->v * p->sigma * f->sine, p->tau, f->rule);
}

/* E[weight_y y h' - weight_f f h'], h' the product of what is given. */
static double residual_sum(const frame *f, const moeg_plane_table *times, moeg_plane_weight weight_y,
                           moeg_plane_weight weight_f)
{
    const moeg_plane_table y = moeg_plane_product(&f->y, times), g = moeg_plane_product(&f->f, times);
    return moeg_plane_sum(&y, &f->rule[weight_y]) - moeg_plane_sum(&g, &f->rule[weight_f]);
}

static double product_sum(const moeg_plane_table *left, const moeg_plane_table *right, const moeg_plane_table *weight)
{
    const moeg_plane_table product = moeg_plane_product(left, right);
    return moeg_plane_sum(&product, weight);
}

/* dL/du, along u and across, and turned back. */
static void router_gradient(const moeg_flow_plane *p, const frame *f, double *out)
{
    double g[PLANE];
    const moeg_plane_table square = moeg_plane_product(&f->h, &f->h);
    for (size_t j = 0; j < PLANE; j++) {
        const moeg_plane_table hx = moeg_plane_product(&f->h, &f->x_u[j]);
        g[j] = -residual_sum(f, &hx, MOEG_PLANE_TEACHER_S, MOEG_PLANE_S) / p->flow.options.tau;
        if (p->flow.options.mixing == MOEG_MIX_OUTPUT)
            g[j] += product_sum(&square, &f->x_u[j], &f->rule[MOEG_PLANE_TS]) / p->flow.options.tau;
    }
    out[0] = f->cosine * g[0] - f->sine * g[1];
    out[1] = f->sine * g[0] + f->cosine * g[1];
}

/* The weight of |h|^2 in the risk. */
static const moeg_plane_table *square_weight(const moeg_flow_plane *p, const frame *f)
{
    return &f->rule[p->flow.options.mixing == MOEG_MIX_OUTPUT ? MOEG_PLANE_T2 : MOEG_PLANE_ONE];
}

/* E[x~_j^2] of feature j, whose others are uncorrelated with it. */
static double gram(const moeg_flow_plane *p, size_t j)
{
    return moeg_has_intercept(p->flow.options.symmetric) && j == 0 ? 1 : p->sigma * p->sigma;
}

/* The residual of the best symmetric expert is orthogonal to its features: only what B is away from it is left, so that
 * nothing of order 1 cancels. */
static moeg_status plane_gradient(const moeg_flow *flow, const char *function, const double *state, double *risk,
                                  double *gradient)
{
    (void)function;
    const moeg_flow_plane *p = (const moeg_flow_plane *)flow;
    frame f;
    const moeg_status status = set_frame(p, state, &f);
    if (status != MOEG_OK)
        return status;
    router_gradient(p, &f, gradient);
    for (size_t j = 0; j < flow->p; j++) {
        const moeg_plane_table psi = feature(p, &f, flow->p, j);
        gradient[PLANE + j] = 2 * (product_sum(&f.h, &psi, square_weight(p, &f)) -
                                   residual_sum(&f, &psi, MOEG_PLANE_TEACHER_T, MOEG_PLANE_T));
    }
    *risk = p->base + product_sum(&f.h, &f.h, square_weight(p, &f)) -
            2 * residual_sum(&f, &f.h, MOEG_PLANE_TEACHER_T, MOEG_PLANE_T);
    for (size_t j = 0; j < flow->features; j++) {
        const double away = state[PLANE + flow->p + j] - flow->best[j];
        const moeg_plane_table x = feature(p, &f, flow->features, j);
        *risk += gram(p, j) * away * away;
        gradient[PLANE + flow->p + j] = 2 * (gram(p, j) * away + product_sum(&f.h, &x, &f.rule[MOEG_PLANE_T]));
    }
    return MOEG_OK;
}

static moeg_status plane_operator(const moeg_flow *flow, const char *function, double *M)
{
    (void)function;
    const moeg_flow_plane *p = (const moeg_flow_plane *)flow;
    double state[PLANE + 2 * FEATURES] = {0};
    for (size_t j = 0; j < flow->features; j++)
        state[PLANE + flow->p + j] = flow->best[j];
    frame f;
    const moeg_status status = set_frame(p, state, &f);
    if (status != MOEG_OK)
        return status;
    for (size_t i = 0; i < PLANE; i++)
        for (size_t j = 0; j < flow->p; j++) {
            const moeg_plane_table psi = feature(p, &f, flow->p, j), times = moeg_plane_product(&psi, &f.x[i]);
            M[i * flow->p + j] = residual_sum(&f, &times, MOEG_PLANE_TEACHER_S, MOEG_PLANE_S);
        }
    return MOEG_OK;
}

static moeg_status plane_gram(const moeg_flow *flow, const char *function, double *Psi)
{
    (void)function;
    const moeg_flow_plane *p = (const moeg_flow_plane *)flow;
    for (size_t i = 0; i < flow->p; i++)
        for (size_t j = 0; j < flow->p; j++)
            Psi[i * flow->p + j] = i != j ? 0 : i == 0 && flow->p != PLANE ? 1 : p->sigma * p->sigma;
    return MOEG_OK;
}

static moeg_status plane_logit(const moeg_flow *flow, const char *function, const double *u, double *root)
{
    (void)function;
    *root = flow->spread * hypot(u[0], u[1]);
    return MOEG_OK;
}

static void let_go(moeg_flow *flow)
{
    (void)flow;
}

const moeg_flow_kind moeg_flow_plane_kind = {.gradient = plane_gradient,
                                             .first_order = plane_operator,
                                             .feature_gram = plane_gram,
                                             .logit_root = plane_logit,
                                             .let_go = let_go};
