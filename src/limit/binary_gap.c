#include "limit/binary.h"

#include "base/error.h"
#include "base/quad.h"

#include <float.h>
#include <math.h>

/* The range of integration ends where the integrand is below e^-DROP of its largest value. */
#define DROP 60.0
/* exp(x) is 0 below this. */
#define UNDERFLOW -746.0
static const double root_two_pi = 2.50662827463100050242;

/* What an integrand needs. Two ways to place a node: by v = u/unit, its distance from the interface in units of
 * min(tau, deviation), so that a layer of any thinness is resolved; or by t = x - z, where the interface is far. */
struct integrand {
    const moeg_binary_risk *risk;
    moeg_mixing mixing;
    double z;
    double x_per_v, w_per_v; /* x = s/deviation and w = s/tau of a unit of v. */
    double w_per_x;          /* deviation/tau. */
    int from_mean;           /* Nodes are t. */
};

/* Where a node is. */
struct place {
    double x, t, w, weight; /* s/deviation, x - z, s/tau, and dx of a unit of the node's offset. */
};

static struct place place_node(const struct integrand *g, double offset)
{
    if (g->from_mean)
        return (struct place){g->z + offset, offset, (g->z + offset) * g->w_per_x, 1};
    const double x = g->x_per_v * offset;
    return (struct place){x, x - g->z, g->w_per_v * offset, g->x_per_v};
}

/* Value of a quadratic at x = t + z, from the nearer of its two expansions, and the size of its terms. */
static double evaluate(const moeg_quadratic *q, double x, double t, double *size)
{
    const double *c = fabs(x) <= fabs(t) ? q->interface : q->mean, y = fabs(x) <= fabs(t) ? x : t;
    *size = fabs(c[0]) + fabs(c[1] * y) + fabs(q->curvature * y * y);
    return c[0] + y * (c[1] + y * q->curvature);
}

/* Q(x) - E Q(-x), E = exp(-2 x z) the ratio of the densities at -x and x. Close to the interface the odd and the even
 * part are weighted by 1 + E and 1 - E: the leading terms of the two sides cancel exactly. */
static double folded_difference(const moeg_quadratic *q, double x, double t, double z, double *size)
{
    const double E = exp(-2 * x * z);
    if (E > 0.5) {
        const double odd = q->interface[1] * x * (1 + E), rest = -expm1(-2 * x * z), square = q->curvature * x * x;
        *size = fabs(odd) + (fabs(q->interface[0]) + fabs(square)) * rest;
        return odd + (q->interface[0] + square) * rest;
    }
    double here, there;
    const double value = evaluate(q, x, t, &here), other = evaluate(q, -x, -x - z, &there);
    *size = here + E * there;
    return value - E * other;
}

/* The two cells' contributions at distance x from the interface, over the density of the near side, and the size of
 * the terms. With q = 1/(1 + e^w), C = E[delta.c | x] and D = E[|delta|^2 | x]:
 *
 *   loss:    q { -2 [C(x) - E C(-x)] }
 *   output:  q { -2 [C(x) - E C(-x)] - (1 - q) [D(x) + E D(-x)] }                                     (centred), or
 *            q { -2 E[delta.r | x] + q D(x) + E (-2 E[-delta.r_far | -x] + q D(-x)) }                 (direct)
 *
 * which are equal. Centred keeps its digits where m is far from both experts; direct, where m is the winner. The one
 * with the smaller terms is taken. */
static double both_sides(const struct integrand *g, double x, double t, double w, double *size)
{
    const moeg_binary_risk *r = g->risk;
    const double e = exp(-w), q = e / (1 + e), p = 1 / (1 + e);
    double centre_size;
    const double centre = -2 * folded_difference(&r->centre, x, t, g->z, &centre_size);
    if (g->mixing == MOEG_MIX_LOSS) {
        *size = q * 2 * centre_size;
        return q * centre;
    }
    const double E = exp(-2 * x * g->z);
    double size_d, size_d_far, size_near, size_far;
    const double d = evaluate(&r->contrast, x, t, &size_d);
    const double d_far = E * evaluate(&r->contrast, -x, -x - g->z, &size_d_far);
    const double near = -2 * evaluate(&r->near, x, t, &size_near);
    const double far = -2 * E * evaluate(&r->far, -x, -x - g->z, &size_far);
    const double contrast_size = size_d + E * size_d_far;
    const double centred_size = 2 * centre_size + p * contrast_size;
    const double direct_size = 2 * (size_near + E * size_far) + q * contrast_size;
    *size = q * fmin(centred_size, direct_size);
    return centred_size <= direct_size ? q * (centre - p * (d + d_far)) : q * (near + far + q * (d + d_far));
}

/* values: the integrand of the gap, and what rounding may do to it. The exponents are exact to a few epsilon of their
 * own size, and of the size of what they were formed from; below DBL_MIN precision is absolute. */
static void gap_integrand(double offset, void *user, double *values)
{
    const struct integrand *g = user;
    const struct place at = place_node(g, offset);
    double size;
    const double value = both_sides(g, at.x, at.t, at.w, &size);
    const double density = exp(-0.5 * at.t * at.t) / root_two_pi * at.weight;
    const double exponents = fabs(at.t) * (fabs(at.t) + g->z) + at.w;
    values[0] = density * value;
    values[1] = ((density + DBL_MIN) * size + DBL_MIN) * ((8 + exponents) * DBL_EPSILON);
}

/* Ends of the range where exp(-(x - z)^2/2 - kappa w) is above e^-DROP of its maximum over w >= 0, added to [lo, hi],
 * in units of v. n0 is the slope at the interface; the mode is n0/b^2 if that is positive, else 0. */
static void widen(const struct integrand *g, double kappa, double *lo, double *hi)
{
    const double b = g->x_per_v, n0 = b * g->z - kappa * g->w_per_v, span = sqrt(2 * DROP);
    const double mode = n0 > 0 ? n0 / b : 0; /* In deviations. */
    const double peak = n0 > 0 ? -kappa * g->w_per_x * (g->z - 0.5 * kappa * g->w_per_x) : -0.5 * g->z * g->z;
    if (!(peak > UNDERFLOW))
        return;
    const double start = mode > span ? (mode - span) / b : 0;
    const double end = n0 > 0 ? (mode + span) / b : 2 * DROP / (sqrt(n0 * n0 + 2 * DROP * b * b) - n0);
    *lo = fmin(*lo, start);
    *hi = fmax(*hi, end);
}

/* The gap where s varies. In the layer, panels grade from tau outward; where the whole range is away from the interface
 * they are half a deviation wide. Cost: log2(deviation/tau) + 100 panels at most. */
static moeg_status integrate_gap(const char *function, struct integrand *g, double tau, double *value, double *error)
{
    const double deviation = (double)g->risk->logit.deviation, unit = fmin(tau, deviation);
    double lo = INFINITY, hi = 0, integral[2], quadrature[2];
    g->x_per_v = unit / deviation;
    g->w_per_v = unit / tau;
    g->w_per_x = deviation / tau;
    widen(g, 1, &lo, &hi);
    widen(g, 2, &lo, &hi);
    if (!(lo < hi)) { /* All underflows; so does its bound. */
        double size;
        both_sides(g, g->z, 0, 0, &size);
        *value = 0;
        *error = size * DBL_TRUE_MIN + DBL_TRUE_MIN;
        return MOEG_OK;
    }
    g->from_mean = lo > 0;
    double finest = 0.25, widest = fmax(0.25, fmin(0.5 / g->x_per_v, hi));
    if (g->from_mean) {
        lo = lo * g->x_per_v - g->z;
        hi = hi * g->x_per_v - g->z;
        finest = widest = 0.5;
    }
    const moeg_status status = moeg_quad_graded(gap_integrand, g, 2, lo, hi, finest, widest, integral, quadrature);
    if (status == MOEG_ENOMEM)
        return moeg_fail_memory(function);
    if (status != MOEG_OK || !isfinite(integral[0]) || !isfinite(integral[1]))
        return moeg_fail(MOEG_ERANGE, "%s: the gap overflows at tau = %g", function, tau);
    *value = integral[0];
    *error = quadrature[0] + integral[1];
    return MOEG_OK;
}

/* The gap where s is constant: one value of q, and on a tie the near expert, of the lower index, wins. */
static moeg_status constant_gap(const char *function, const struct integrand *g, double tau, double *value,
                                double *error)
{
    const moeg_binary_risk *r = g->risk;
    const double w = (double)(r->logit.mean / tau), e = exp(-w), q = e / (1 + e), p = 1 / (1 + e);
    const double centre = -2 * r->centre.mean[0], near = -2 * r->near.mean[0], d = r->contrast.mean[0];
    double gap = q * centre, size = fabs(centre);
    if (g->mixing == MOEG_MIX_OUTPUT) {
        const int centred = fabs(centre) + p * d <= fabs(near) + q * d;
        gap = centred ? q * (centre - p * d) : q * (near + q * d);
        size = centred ? fabs(centre) + p * d : fabs(near) + q * d;
    }
    if (!isfinite(gap))
        return moeg_fail(MOEG_ERANGE, "%s: the gap overflows at tau = %g", function, tau);
    *value = gap;
    *error = size * (q * (8 + fmin(w, -UNDERFLOW)) * DBL_EPSILON + DBL_TRUE_MIN);
    return MOEG_OK;
}

moeg_status moeg_binary_gap(const char *function, const moeg_binary_risk *risk, moeg_mixing mixing, double tau,
                            double *value, double *error)
{
    struct integrand g = {.risk = risk, .mixing = mixing, .z = (double)risk->logit.z};
    if (tau == 0 || risk->logit.masked) {
        *value = *error = 0;
        return MOEG_OK;
    }
    return risk->logit.constant ? constant_gap(function, &g, tau, value, error)
                                : integrate_gap(function, &g, tau, value, error);
}

/* The integrand of L_0 on the near side (nodes t) or the far side (nodes x), and its rounding. */
static void hard_integrand(double offset, void *user, double *values)
{
    const struct integrand *g = user;
    const struct place at = place_node(g, offset);
    double size;
    const double risk = g->from_mean ? evaluate(&g->risk->near_risk, at.x, at.t, &size)
                                     : evaluate(&g->risk->far_risk, -at.x, -at.x - g->z, &size);
    const double t = g->from_mean ? at.t : at.x + g->z, density = exp(-0.5 * t * t) / root_two_pi;
    values[0] = density * risk;
    values[1] = ((density + DBL_MIN) * size + DBL_MIN) * ((8 + fabs(t) * (fabs(t) + g->z)) * DBL_EPSILON);
}

moeg_status moeg_binary_hard(const char *function, const moeg_binary_risk *risk, double *value, double *error)
{
    if (risk->logit.constant) {
        *value = risk->near_risk.mean[0];
        *error = 4 * DBL_EPSILON * *value;
        return MOEG_OK;
    }
    const double z = (double)risk->logit.z, span = sqrt(2 * DROP);
    struct integrand g = {.risk = risk, .z = z, .x_per_v = 1, .from_mean = 1};
    double near[2], near_error[2], far[2], far_error[2];
    moeg_status status = moeg_quad_graded(hard_integrand, &g, 2, fmax(-z, -span), span, 0.5, 0.5, near, near_error);
    g.from_mean = 0;
    const double end = 2 * DROP / (sqrt(z * z + 2 * DROP) + z);
    if (status == MOEG_OK)
        status = moeg_quad_graded(hard_integrand, &g, 2, 0, end, fmin(0.25, end), 0.5, far, far_error);
    if (status == MOEG_ENOMEM)
        return moeg_fail_memory(function);
    if (status != MOEG_OK || !isfinite(near[0] + far[0]) || !isfinite(near[1] + far[1]))
        return moeg_fail(MOEG_ERANGE, "%s: the hard risk overflows", function);
    *value = near[0] + far[0];
    *error = near_error[0] + near[1] + far_error[0] + far[1];
    return MOEG_OK;
}
