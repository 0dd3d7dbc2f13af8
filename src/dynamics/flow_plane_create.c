#include "base/error.h"
#include "base/memory.h"
#include "base/quad.h"
#include "base/vector.h"
#include "dynamics/flow_plane.h"
#include "dynamics/symmetry.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

static const char create_name[] = "flow_plane";

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
static moeg_status set_best(moeg_flow_plane *p)
{
    teacher t = {.scale = p->v * p->sigma, .tau = p->tau};
    double moment[3];
    const double layer = p->tau > 0 ? fmax(fmin(1, p->tau / t.scale), 1e-300) : 1;
    const moeg_status status = moeg_quad_graded(teacher_integrand, &t, 3, 0, 12, layer, 1, moment, NULL);
    if (status != MOEG_OK)
        return status;
    const moeg_symmetric symmetric = p->flow.options.symmetric;
    int unit; /* a power of 2 of the outputs, whose squares then do not underflow */
    frexp(fmax(p->sigma * moeg_largest(PLANE, p->beta), fabs(p->mu)), &unit);
    const double along = ldexp(p->sigma * p->beta[0], -unit), across = ldexp(p->sigma * p->beta[1], -unit);
    const double mu = ldexp(p->mu, -unit);
    const size_t slopes = symmetric == MOEG_SYMMETRIC_AFFINE;
    double base = along * along * moment[2] + (across * across + mu * mu) * moment[1];
    if (moeg_has_intercept(symmetric)) {
        p->best[0] = ldexp(along * moment[0], unit);
        base -= along * moment[0] * (along * moment[0]);
    }
    if (slopes || symmetric == MOEG_SYMMETRIC_LINEAR) {
        p->best[slopes] = p->mu * moment[0] / p->sigma;
        base -= mu * mu * moment[0] * moment[0];
    }
    p->base = ldexp(fmax(base, 0), 2 * unit);
    p->flow.residual = ldexp(sqrt(fmax(base, 0)), unit);
    if (!isfinite(base) || !isfinite(p->base))
        return moeg_fail(MOEG_ERANGE, "%s: the risk overflows", create_name);
    return MOEG_OK;
}

/* The teacher in the coordinates of its plane. */
static moeg_status set_teacher(moeg_flow_plane *p, const moeg_halves *halves)
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
    if (across <= 4 * (double)d * DBL_EPSILON * fabs(along))
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
    moeg_flow_plane *p = moeg_alloc_zero(1, sizeof *p);
    if (p == NULL)
        return moeg_fail_memory(create_name);
    p->flow = (moeg_flow){.kind = &moeg_flow_plane_kind,
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
    if (status == MOEG_OK)
        *flow = &p->flow;
    else
        moeg_release(p);
    return status;
}
