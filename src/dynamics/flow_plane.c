/* The population flow of a teacher in halves, in the plane of v and beta. In the frame of u, x = sigma (s w + q n), w
 * along u and n across: all that a gradient wants are expectations of polynomials in (s, q) with a few weights
 * (plane_rule.h). */
#include "base/error.h"
#include "base/memory.h"
#include "base/quad.h"
#include "base/vector.h"
#include "dynamics/flow.h"
#include "dynamics/plane_rule.h"
#include "dynamics/symmetry.h"

#include <math.h>
#include <stddef.h>

static const char create_name[] = "flow_plane";

enum { PLANE = 2, FEATURES = 3 };

typedef struct plane {
    moeg_flow flow;
    double sigma, v, beta[PLANE], mu, tau; /* of the law; of the teacher: |v|, and beta in the plane */
    double best[FEATURES], base;           /* of the symmetric expert, and its risk */
} plane;

/* What a state is in the frame of u, and the expectations there. */
typedef struct frame {
    double cosine, sine;
    moeg_plane_table x[PLANE], x_u[PLANE]; /* coordinates of the plane, and along and across u */
    moeg_plane_table y, f, h;              /* beta.x + mu, the symmetric expert, the contrast */
    moeg_plane_table rule[MOEG_PLANE_WEIGHTS];
} frame;

static int has_intercept(moeg_symmetric symmetric)
{
    return symmetric == MOEG_SYMMETRIC_CONSTANT || symmetric == MOEG_SYMMETRIC_AFFINE;
}

/* constant + slopes.x in the frame. */
static moeg_plane_table affine(const plane *p, const frame *f, double constant, const double *slopes)
{
    return moeg_plane_affine(constant, p->sigma * (f->cosine * slopes[0] + f->sine * slopes[1]),
                             p->sigma * (f->cosine * slopes[1] - f->sine * slopes[0]));
}

/* The same from coefficients of (1), x or (1, x); `size` of them. */
static moeg_plane_table expand(const plane *p, const frame *f, size_t size, const double *coefficients)
{
    static const double zero[PLANE] = {0, 0};
    const int constant = size != PLANE && size > 0;
    return affine(p, f, constant ? coefficients[0] : 0, size >= PLANE ? coefficients + constant : zero);
}

/* Feature j of `size`. */
static moeg_plane_table feature(const plane *p, const frame *f, size_t size, size_t j)
{
    double coefficients[FEATURES] = {0, 0, 0};
    coefficients[j] = 1;
    return expand(p, f, size, coefficients);
}

static moeg_status set_frame(const plane *p, const double *state, frame *f)
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
static void router_gradient(const plane *p, const frame *f, double *out)
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
static const moeg_plane_table *square_weight(const plane *p, const frame *f)
{
    return &f->rule[p->flow.options.mixing == MOEG_MIX_OUTPUT ? MOEG_PLANE_T2 : MOEG_PLANE_ONE];
}

/* E[x~_j^2] of feature j, whose others are uncorrelated with it. */
static double gram(const plane *p, size_t j)
{
    return has_intercept(p->flow.options.symmetric) && j == 0 ? 1 : p->sigma * p->sigma;
}

/* The residual of the best symmetric expert is orthogonal to its features: only what B is away from it is left, so that
 * nothing of order 1 cancels. */
static moeg_status plane_gradient(const moeg_flow *flow, const char *function, const double *state, double *risk,
                                  double *gradient)
{
    (void)function;
    const plane *p = (const plane *)flow;
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
    const plane *p = (const plane *)flow;
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
    const plane *p = (const plane *)flow;
    for (size_t i = 0; i < flow->p; i++)
        for (size_t j = 0; j < flow->p; j++)
            Psi[i * flow->p + j] = i != j ? 0 : i == 0 && flow->p != PLANE ? 1 : p->sigma * p->sigma;
    return MOEG_OK;
}

static void let_go(moeg_flow *flow)
{
    (void)flow;
}

static const moeg_flow_kind kind = {
    .gradient = plane_gradient, .first_order = plane_operator, .feature_gram = plane_gram, .let_go = let_go};

/* E[z T], E[T^2], E[z^2 T^2] for z > 0, doubled: T = T(scale z). */
typedef struct teacher {
    double scale, tau;
} teacher;

static void teacher_integrand(double z, void *user, double *values)
{
    const teacher *t = user;
    const double T = t->tau > 0 ? tanh(t->scale * z / (2 * t->tau)) : 1;
    const double density = 0.79788456080286535588 * exp(-z * z / 2);
    values[0] = density * z * T;
    values[1] = density * T * T;
    values[2] = density * z * z * T * T;
}

/* The best symmetric expert and its risk, in closed form but for the three moments above. */
static moeg_status set_best(plane *p)
{
    teacher t = {.scale = p->v * p->sigma, .tau = p->tau};
    double moment[3];
    const double layer = p->tau > 0 ? fmax(fmin(1, p->tau / t.scale), 1e-300) : 1;
    const moeg_status status = moeg_quad_graded(teacher_integrand, &t, 3, 0, 12, layer, 1, moment, NULL);
    if (status != MOEG_OK)
        return status;
    const moeg_symmetric symmetric = p->flow.options.symmetric;
    const double along = p->sigma * p->beta[0], across = p->sigma * p->beta[1];
    const size_t slopes = symmetric == MOEG_SYMMETRIC_AFFINE;
    p->base = along * along * moment[2] + (across * across + p->mu * p->mu) * moment[1];
    if (has_intercept(symmetric)) {
        p->best[0] = along * moment[0];
        p->base -= p->best[0] * p->best[0];
    }
    if (slopes || symmetric == MOEG_SYMMETRIC_LINEAR) {
        p->best[slopes] = p->mu * moment[0] / p->sigma;
        p->base -= p->mu * p->mu * moment[0] * moment[0];
    }
    if (!isfinite(p->base))
        return moeg_fail(MOEG_ERANGE, "%s: the risk overflows", create_name);
    p->base = fmax(p->base, 0);
    return MOEG_OK;
}

/* The teacher in the coordinates of its plane. */
static moeg_status set_teacher(plane *p, const moeg_halves *halves)
{
    const size_t d = halves->d;
    const double scale = moeg_largest(d, halves->v);
    double square = 0, along = 0, across = 0;
    for (size_t j = 0; j < d; j++)
        square += halves->v[j] / scale * (halves->v[j] / scale);
    const double length = sqrt(square);
    for (size_t j = 0; j < d; j++)
        along += halves->beta[j] * (halves->v[j] / scale / length);
    for (size_t j = 0; j < d; j++)
        across = hypot(across, halves->beta[j] - along * (halves->v[j] / scale / length));
    /* A beta that is along v but for rounding. */
    if (across <= 4 * (double)d * 2.2204460492503131e-16 * fabs(along))
        across = 0;
    p->v = length * scale;
    p->beta[0] = along;
    p->beta[1] = across;
    p->mu = halves->mu != NULL ? halves->mu[0] : 0;
    p->tau = halves->tau;
    const double strength = p->v * p->sigma;
    if (!isfinite(strength) || !(strength > 0) || !isfinite(along) || !isfinite(across))
        return moeg_fail(MOEG_ERANGE, "%s: the length of v or beta, times the root of the variance, is out of range",
                         create_name);
    return MOEG_OK;
}

static moeg_status check_create(const moeg_halves *halves, double variance, const moeg_flow_options *options,
                                moeg_flow **flow)
{
    moeg_status status = moeg_check_halves(create_name, halves);
    if (status == MOEG_OK)
        status = moeg_check_flow_options(create_name, options);
    if (status == MOEG_OK)
        status = moeg_check_pointer(create_name, "flow", flow);
    if (status != MOEG_OK)
        return status;
    if (!(variance > 0 && isfinite(variance)))
        return moeg_fail(MOEG_EINVAL, "%s: variance must be finite and above 0, got %g", create_name, variance);
    if (halves->outputs > 1)
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: a plane is that of one output, got %zu", create_name, halves->outputs);
    if (halves->d < PLANE)
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: halves->d must be at least 2, got %zu", create_name, halves->d);
    if (options->contrast.kind == MOEG_CONTRAST_USER)
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: features must be constant, linear or affine", create_name);
    return MOEG_OK;
}

moeg_status moeg_flow_plane_create(const moeg_halves *halves, double variance, const moeg_flow_options *options,
                                   moeg_flow **flow)
{
    const moeg_flow_options usual = moeg_flow_options_default();
    options = options != NULL ? options : &usual;
    moeg_status status = check_create(halves, variance, options, flow);
    if (status != MOEG_OK)
        return status;
    plane *p = moeg_alloc_zero(1, sizeof *p);
    if (p == NULL)
        return moeg_fail_memory(create_name);
    p->flow = (moeg_flow){.kind = &kind,
                          .options = *options,
                          .d = PLANE,
                          .m = 1,
                          .p = moeg_contrast_features(&options->contrast, PLANE),
                          .features = moeg_symmetric_features(options->symmetric, PLANE),
                          .best = p->best};
    p->sigma = p->flow.spread = sqrt(variance);
    status = set_teacher(p, halves);
    if (status == MOEG_OK)
        status = set_best(p);
    p->flow.residual = sqrt(p->base);
    if (status == MOEG_OK)
        *flow = &p->flow;
    else
        moeg_release(p);
    return status;
}
