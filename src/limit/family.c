#include "limit/family.h"

#include "base/error.h"
#include "model/model.h"

#include <float.h>
#include <math.h>

static const long double sqrt_half = 0.70710678118654752440084436210485L;
static const long double sqrt_two_over_pi = 0.79788456080286535587989211986876L;

int moeg_family_has(const moeg_law *law)
{
    moeg_margin_family family;
    double parameter;
    return moeg_law_margin_parts(law, &family, &parameter);
}

const char *moeg_family_refusal(const moeg_router *router)
{
    const double *W, *b;
    const size_t d = moeg_router_dim(router);
    if (moeg_router_experts(router) != 2)
        return moeg_router_experts(router) < 2 ? "there is but one expert" : "there are more than two experts";
    if (!moeg_router_affine_parts(router, &W, &b))
        return "the router is not affine";
    if (b[0] != b[1])
        return "the logits have different biases";
    for (size_t j = 1; j < d; j++)
        if (W[j] != W[d + j])
            return "the difference of the logits depends on more than the first coordinate";
    return W[0] != W[d] ? NULL : "the logits are equal";
}

size_t moeg_family_positive(const moeg_router *router)
{
    const double *W, *b;
    moeg_router_affine_parts(router, &W, &b);
    return W[0] > W[moeg_router_dim(router)] ? 0 : 1;
}

void moeg_family_logit_init(const moeg_router *router, const moeg_law *law, moeg_family_logit *logit)
{
    const double *W, *b;
    moeg_margin_family family = MOEG_MARGIN_POWER;
    double parameter = 1;
    moeg_router_affine_parts(router, &W, &b);
    moeg_law_margin_parts(law, &family, &parameter);
    const int rayleigh = family == MOEG_MARGIN_RAYLEIGH;
    *logit = (moeg_family_logit){
        .positive = moeg_family_positive(router),
        .scale = fabsl((long double)W[0] - W[moeg_router_dim(router)]),
        .power = family == MOEG_MARGIN_POWER ? parameter : 1,
        .offset = family == MOEG_MARGIN_BOUNDED ? parameter : 0,
        .order = rayleigh ? 2 : 1,
        .normal = rayleigh ? 1 : sqrt_two_over_pi,
    };
}

/* x^(1/p), with `above` = x - 1: near 1 it keeps the digits of roots of a high order. */
static long double root(long double x, long double above, double p)
{
    return fabsl(above) < 0.5L ? expl(log1pl(above) / p) : powl(x, 1 / (long double)p);
}

/* w - scale Delta_0 is rounded once, whatever cancels in it. */
long double moeg_family_probability(const moeg_family_logit *logit, double w, int beyond)
{
    const long double excess = fmal(-logit->scale, logit->offset, w) / logit->scale;
    if (!(excess > 0))
        return beyond ? 1 : 0;
    if (logit->order == 2)
        return beyond ? expl(-excess * excess / 2) : -expm1l(-excess * excess / 2);
    const long double y =
        root(excess, fmal(-logit->scale, 1 + (long double)logit->offset, w) / logit->scale, logit->power);
    return beyond ? erfcl(y * sqrt_half) : erfl(y * sqrt_half);
}

/* 1/p, rounded down: (t/c)^alpha is then too large for t < c, which does no harm. With r = (t/c)^(1/p) > 1 it is too
 * small by at most r^(-2 epsilon), while erf(r/sqrt 2) < 0.86 sqrt(2/pi) r; and where r^(-2 epsilon) < 0.9, r is larger
 * than any 1/sqrt(2/pi) needed, since P <= 1. */
static double exponent_below(double p)
{
    const double alpha = 1 / p;
    return isfinite(alpha) && fma(alpha, p, -1) > 0 ? nextafter(alpha, 0) : alpha;
}

/* erf(y/sqrt 2) <= sqrt(2/pi) y and 1 - e^(-y^2/2) <= y^2/2 for y >= 0: with y = (t/scale)^(1/p) the condition holds
 * for every t. A margin above scale Delta_0 needs no C up to there. */
moeg_status moeg_family_condition(const char *function, const moeg_family_logit *logit,
                                  moeg_margin_condition *condition)
{
    const long double floor = logit->scale * logit->offset * (1 - 2 * (long double)DBL_EPSILON);
    if (floor > DBL_MIN) {
        *condition = (moeg_margin_condition){.C = 0, .alpha = 1, .t0 = (double)fminl(floor, DBL_MAX)};
        return MOEG_OK;
    }
    const double alpha = logit->order == 2 ? 2 : exponent_below(logit->power);
    const long double C = logit->normal / logit->order * powl(logit->scale, -(long double)alpha);
    const double above = (double)(C * (1 + 2 * (long double)DBL_EPSILON)) + DBL_TRUE_MIN;
    if (!isfinite(alpha) || !isfinite(above))
        return moeg_fail(MOEG_ERANGE, "%s: the margin condition overflows: alpha = %g, C = %Lg", function, alpha, C);
    *condition = (moeg_margin_condition){.C = above, .alpha = alpha, .t0 = INFINITY};
    return MOEG_OK;
}
