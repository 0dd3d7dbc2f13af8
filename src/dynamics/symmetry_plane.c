/* M by quadrature over the plane of v.x and w.x: along v in panels that grade towards v.x = 0, whatever Y does there,
 * and across it in panels as wide as the deviation. */
#include "base/error.h"
#include "base/memory.h"
#include "base/quad.h"
#include "dynamics/symmetry.h"
#include "dynamics/symmetry_frame.h"

#include <math.h>
#include <string.h>

/* Deviations along and across that are integrated over, in panels of width 1. What lies outermost counts as error, for
 * what is beyond: for what grows less than exp(x^2/4), say, it is more. */
enum { REACH = 10, PANELS = 2 * REACH, PANEL_NODES = 2 * MOEG_QUAD_NODES - 1 };

/* The finest panel at v.x = 0, in deviations: what happens in less has no weight. */
static const double finest = 0x1p-58;

static const double one_over_root_two_pi = 0.39894228040143267794;

/* Of the integral across, for one output: of Y times 1, t, t^2 - 1; what the poorer rule differs by; of sizes. */
typedef struct across {
    double value[3], error[3], size[3];
} across;

typedef struct plane {
    const char *function;
    const moeg_symmetry_frame *frame;
    size_t m, nodes;
    moeg_plane_function y;
    void *user;
    double origin, excess;       /* s, and v.x in units of its spread, at offset 0 */
    double *t, *kronrod, *gauss; /* (nodes) and the weights of N(0, 1) */
    double *a, *b, *values;      /* (nodes), (nodes), (nodes x m) */
    double *memory;
    moeg_status status;
} plane;

static double normal_density(double x)
{
    return one_over_root_two_pi * exp(-0.5 * x * x);
}

static void fill_nodes(plane *p)
{
    size_t at = 0;
    if (p->nodes == 1) { /* w.x is a function of v.x */
        p->t[0] = 0;
        p->kronrod[0] = p->gauss[0] = 1;
        return;
    }
    for (int panel = -REACH; panel < REACH; panel++)
        for (int k = 1 - MOEG_QUAD_NODES; k < MOEG_QUAD_NODES; k++, at++) {
            const moeg_quad_node *node = &moeg_quad_rule[k < 0 ? -k : k];
            p->t[at] = panel + 0.5 + (k < 0 ? -0.5 : 0.5) * node->node;
            p->kronrod[at] = 0.5 * node->kronrod * normal_density(p->t[at]);
            p->gauss[at] = 0.5 * node->gauss * normal_density(p->t[at]);
        }
}

static moeg_status plane_alloc(const char *function, const moeg_symmetry_frame *frame, size_t m, plane *p)
{
    const size_t nodes = frame->across > 0 ? (size_t)PANELS * PANEL_NODES : 1;
    p->nodes = nodes;
    p->memory = m > SIZE_MAX / nodes - 5 ? NULL : moeg_alloc(nodes * (m + 5), sizeof *p->memory);
    if (p->memory == NULL)
        return moeg_fail_memory(function);
    p->t = p->memory;
    p->kronrod = p->memory + nodes;
    p->gauss = p->memory + 2 * nodes;
    p->a = p->memory + 3 * nodes;
    p->b = p->memory + 4 * nodes;
    p->values = p->memory + 5 * nodes;
    fill_nodes(p);
    return MOEG_OK;
}

/* Y at all nodes of this s, or the run's status. */
static void evaluate(plane *p, double offset)
{
    const moeg_symmetry_frame *f = p->frame;
    const double s = p->origin + offset, a = ldexp(f->spread * (p->excess + offset), f->exponent);
    for (size_t i = 0; i < p->nodes; i++) {
        p->a[i] = a;
        p->b[i] = f->shift + f->along * s + f->across * p->t[i];
    }
    for (size_t i = 0; i < p->nodes * p->m; i++) /* so that what is left unwritten is found */
        p->values[i] = NAN;
    const int failed = p->y(p->nodes, p->a, p->b, p->values, p->user);
    if (failed != 0)
        p->status = moeg_fail(MOEG_ECALLBACK, "%s: y returned %d at v.x = %g", p->function, failed, a);
    for (size_t i = 0; p->status == MOEG_OK && i < p->nodes * p->m; i++)
        if (!isfinite(p->values[i]))
            p->status = moeg_fail(MOEG_ERANGE, "%s: y[%zu] is %g at v.x = %g, w.x = %g", p->function, i % p->m,
                                  p->values[i], a, p->b[i / p->m]);
}

static across integrate_across(const plane *p, size_t o)
{
    across sum = {{0}, {0}, {0}};
    if (p->nodes == 1) { /* t and t^2 - 1 have mean 0 */
        sum.value[0] = p->values[o];
        sum.size[0] = fabs(p->values[o]);
        return sum;
    }
    for (size_t panel = 0; panel < PANELS; panel++) {
        double kronrod[3] = {0}, gauss[3] = {0}, size[3] = {0};
        for (size_t i = panel * PANEL_NODES; i < (panel + 1) * PANEL_NODES; i++) {
            const double y = p->values[i * p->m + o], t = p->t[i], g[] = {1, t, t * t - 1};
            for (size_t k = 0; k < 3; k++) {
                kronrod[k] += p->kronrod[i] * y * g[k];
                gauss[k] += p->gauss[i] * y * g[k];
                size[k] += fabs(p->kronrod[i] * y * g[k]);
            }
        }
        for (size_t k = 0; k < 3; k++) {
            sum.value[k] += kronrod[k];
            sum.size[k] += size[k];
            sum.error[k] += fabs(kronrod[k] - gauss[k]) + (panel == 0 || panel == PANELS - 1 ? size[k] : 0);
        }
    }
    return sum;
}

/* Y times 1, s, t, s^2 - 1, s t, t^2 - 1, at one s, times its density; the same of errors, and of sizes. */
enum { MOMENTS = 6, PARTS = 3 };

static void moments_at(double s, const double *by_t, int sizes, double *out)
{
    const double density = normal_density(s), square = s * s - 1;
    out[0] = density * by_t[0];
    out[1] = density * (sizes ? fabs(s) : s) * by_t[0];
    out[2] = density * by_t[1];
    out[3] = density * (sizes ? fabs(square) : square) * by_t[0];
    out[4] = density * (sizes ? fabs(s) : s) * by_t[1];
    out[5] = density * by_t[2];
}

static void integrand(double offset, void *user, double *values)
{
    plane *p = user;
    const double s = p->origin + offset;
    if (p->status == MOEG_OK)
        evaluate(p, offset);
    if (p->status != MOEG_OK) {
        memset(values, 0, p->m * MOMENTS * PARTS * sizeof *values);
        return;
    }
    for (size_t o = 0; o < p->m; o++) {
        across sum = integrate_across(p, o);
        for (size_t k = 0; k < 3 && fabs(s) > REACH - 1; k++)
            sum.error[k] += sum.size[k];
        double *out = values + o * MOMENTS * PARTS;
        moments_at(s, sum.value, 0, out);
        moments_at(s, sum.error, 1, out + MOMENTS);
        moments_at(s, sum.size, 1, out + 2 * MOMENTS);
    }
}

/* Integrals and their errors (m x 3 x 6), graded towards v.x = 0 if that is anywhere near. */
static moeg_status integrate(plane *p, double *integral, double *error)
{
    const double zero = -p->frame->centre / p->frame->spread;
    const int near = fabs(zero) < REACH + 2;
    p->origin = near ? zero : 0;
    p->excess = near ? 0 : -zero;
    p->status = MOEG_OK;
    moeg_status status = moeg_quad_graded(integrand, p, p->m * MOMENTS * PARTS, -REACH - p->origin, REACH - p->origin,
                                          near ? finest : 1, 1, integral, error);
    if (status == MOEG_ERANGE)
        status = moeg_fail(MOEG_ERANGE, "%s: the moments of y overflow", p->function);
    return p->status != MOEG_OK ? p->status : status;
}

static moeg_symmetry_frame_moments moments_of(const double *q)
{
    return (moeg_symmetry_frame_moments){.one = q[0], .s = q[1], .t = q[2], .ss = q[3], .st = q[4], .tt = q[5]};
}

/* M and its errors (d x m p); *unable: some error is above 1e-8 of the largest entry's terms. */
static void fill_operator(const plane *p, moeg_symmetric symmetric, const moeg_contrast *contrast,
                          const double *integral, const double *quad_error, double *M, double *error, int *unable)
{
    const size_t d = p->frame->d, features = moeg_contrast_features(contrast, d), stride = p->m * features;
    *unable = 0;
    for (size_t o = 0; o < p->m; o++) {
        const double *q = integral + o * MOMENTS * PARTS, *e = quad_error + o * MOMENTS * PARTS;
        double sum[MOMENTS];
        for (size_t k = 0; k < MOMENTS; k++)
            sum[k] = e[k] + q[MOMENTS + k];
        const moeg_symmetry_frame_moments moments = moments_of(q), errors = moments_of(sum);
        const moeg_symmetry_frame_moments sizes = moments_of(q + 2 * MOMENTS);
        moeg_symmetry_frame_operator(p->frame, symmetric, contrast, &moments, stride, M + o * features);
        const double scale = moeg_symmetry_frame_error(p->frame, symmetric, contrast, &moments, &errors, &sizes, stride,
                                                       error + o * features);
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < features; j++)
                *unable |= !(error[i * stride + o * features + j] <= 1e-8 * scale);
    }
}

static moeg_status compute(plane *p, moeg_symmetric symmetric, const moeg_contrast *contrast, double *M, double *error,
                           int *unable)
{
    const size_t count = p->m * MOMENTS * PARTS;
    double *integral = moeg_alloc(count, 2 * sizeof *integral);
    moeg_status status = integral != NULL ? integrate(p, integral, integral + count) : moeg_fail_memory(p->function);
    if (status == MOEG_OK) {
        fill_operator(p, symmetric, contrast, integral, integral + count, M, error, unable);
        status = moeg_check_operator_range(p->function, p->frame->d,
                                           p->m * moeg_contrast_features(contrast, p->frame->d), M);
    }
    moeg_release(integral);
    return status;
}

static moeg_status check_arguments(const char *function, const moeg_law *law, const double *v, const double *w,
                                   size_t m, moeg_plane_function y, moeg_symmetric symmetric,
                                   const moeg_contrast *contrast, const double *M)
{
    const size_t d = moeg_law_dim(law);
    if (m == 0)
        return moeg_fail(MOEG_EINVAL, "%s: m must be at least 1, got 0", function);
    moeg_status status = moeg_check_operator(function, law, d, m, symmetric, contrast, M);
    if (status == MOEG_OK)
        status = moeg_check_direction(function, "v", d, v);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "w", w);
    if (status == MOEG_OK)
        status = moeg_check_finite(function, "w", d, w);
    if (status == MOEG_OK && y == NULL)
        return moeg_fail(MOEG_EINVAL, "%s: y must not be NULL", function);
    return status;
}

moeg_status moeg_symmetry_plane(const moeg_law *law, const double *v, const double *w, size_t m, moeg_plane_function y,
                                void *user, moeg_symmetric symmetric, const moeg_contrast *contrast, double *M,
                                double *error)
{
    static const char function[] = "symmetry_plane";
    const size_t d = moeg_law_dim(law);
    moeg_status status = check_arguments(function, law, v, w, m, y, symmetric, contrast, M);
    moeg_symmetry_frame frame;
    if (status == MOEG_OK)
        status = moeg_symmetry_frame_create(function, law, d, v, symmetric, &frame);
    if (status != MOEG_OK)
        return status;
    const size_t size = d * m * moeg_contrast_features(contrast, d);
    plane p = {.function = function, .frame = &frame, .m = m, .y = y, .user = user};
    double *result = moeg_alloc(size, 2 * sizeof *result);
    int unable = 0;
    moeg_symmetry_frame_set_across(&frame, w);
    if (!isfinite(frame.along + frame.across + frame.w_size + frame.shift_size))
        status = moeg_fail(MOEG_ERANGE, "%s: the moments of w.x overflow", function);
    else
        status = result != NULL ? plane_alloc(function, &frame, m, &p) : moeg_fail_memory(function);
    if (status == MOEG_OK)
        status = compute(&p, symmetric, contrast, result, result + size, &unable);
    if (status == MOEG_OK) {
        memcpy(M, result, size * sizeof *M);
        if (error != NULL)
            memcpy(error, result + size, size * sizeof *error);
        if (unable)
            status =
                moeg_fail(MOEG_EUNABLE,
                          "%s: an error is above 1e-8 of the terms of M: y is not smooth away from v.x = 0, or v.x "
                          "or w.x is rounded by too much",
                          function);
    }
    moeg_release(p.memory);
    moeg_release(result);
    moeg_symmetry_frame_free(&frame);
    return status;
}
