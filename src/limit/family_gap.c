#include "limit/family.h"

#include "base/error.h"
#include "base/quad.h"

#include <float.h>
#include <math.h>

/* What is below e^-DROP of the largest value is left out; and where r = |z| ends, r^2/2 = DROP. */
#define DROP 100.0
static const double LOG_END = 2.6492;
/* Below e^-this no product of expert outputs, over a tau, brings a gap back into the range of a double. */
static const double UNDERFLOW = 3000;

/* The integral is over t = log r, where every family is smooth on a scale of 1 or 1/p, and a power law near r = 0 is an
 * exponential. With w = |s|/tau = w_offset + v, v = (scale/tau) e^(p t), it is of
 *
 *   normal e^(n t - e^(2t)/2) factor {E[-2 d.c] - centred E|d|^2}  dt
 *
 * with the weights of two_gates.h at w, and of exponentials relative to those at t = origin, so that it is of order 1
 * at any temperature. */
struct integrand {
    const moeg_family_risk *risk;
    int loss, derivative;
    int squares;          /* r = 0 and output mixing, which leaves |d|^2 q^2 alone. */
    double v, half_r2;    /* At the origin. */
    double w_offset;      /* scale Delta_0/tau. */
    long double origin;   /* Of t. */
    long double exponent; /* Of e^(n t - e^(2t)/2 - k w) at the origin, k = 2 if `squares`, else 1. */
};

/* values: the integrand, and what rounding may do to it. The factor is e^-w times one of order 1. Of the two ways to
 * write the braces the one with the smaller terms is taken. */
static void gap_integrand(double u, void *user, double *values)
{
    const struct integrand *g = user;
    const moeg_family_risk *r = g->risk;
    const double rise = g->v * expm1(r->logit.power * u), v = g->v + rise, fall = g->half_r2 * expm1(2 * u);
    const double w = g->w_offset + v, p = 1 / (1 + exp(-w)), n = r->logit.order;
    const moeg_two_weights weights = moeg_two_weights_at(w, g->derivative);
    const double weight = exp(n * u - (g->squares ? 2 : 1) * rise - fall) * (g->derivative ? p * p * w : p);
    const double exponents = n * fabs(u) + (2 + r->logit.power * fabs(u)) * (v + g->v) + 2 * fabs(fall);
    const double centred = fabs(r->centre.value) + r->square * weights.centred;
    const double direct = fabs(r->direct.value) + r->square * weights.direct;
    double value = r->loss.value, size = fabs(value), slack = r->loss.slack;
    if (g->squares) {
        value = size = r->square * p * (g->derivative ? 2 : 1);
        slack = 0;
    } else if (!g->loss && centred < direct) {
        value = r->centre.value - r->square * weights.centred;
        size = centred;
        slack = r->centre.slack;
    } else if (!g->loss) {
        value = r->direct.value + r->square * weights.direct;
        size = direct;
        slack = r->direct.slack;
    }
    values[0] = weight * value;
    values[1] = weight * (size * (8 + exponents) * DBL_EPSILON + slack) + DBL_MIN;
}

/* Where v = (scale/tau) e^(p t) = 1; may be infinite of a tiny p. */
static long double log_radius(const moeg_family_risk *risk, double tau)
{
    return (logl(tau) - logl(risk->logit.scale)) / risk->logit.power;
}

/* The origin: of p >= 1, v = 1, where q bends on the scale 1/p; of a smaller p all is smooth on the scale 1, and it is
 * close to the largest value, where n = k p v or n = r^2. */
static void place_origin(struct integrand *g, double tau, long double bend)
{
    const moeg_family_logit *l = &g->risk->logit;
    const int k = g->squares ? 2 : 1;
    g->origin = fminl(bend, LOG_END);
    if (l->power < 1)
        g->origin = fminl(bend + logl(l->order / ((long double)k * l->power)) / l->power, 0.5L * logl(l->order));
    const long double v = expl(l->power * g->origin + logl(l->scale) - logl(tau));
    const long double half_r2 = expl(2 * g->origin) / 2, w_offset = l->scale * l->offset / tau;
    g->v = (double)v;
    g->half_r2 = (double)half_r2;
    g->w_offset = (double)w_offset;
    g->exponent = l->order * g->origin - half_r2 - k * (w_offset + v);
}

/* The range [lo, hi] of u = t - origin. Below, the whole integrand is of order e^(n t): what is below 45/n under the
 * smaller of the bend and 0 is nothing beside what is above, nor is a t with e^(n t) < e^-DROP of the largest value.
 * Above, with a = n/p, the maximum of v^a e^-v is at v = a, and v = a + h has at most e^(-h^2/(2 (a + h))) of it. */
static void find_range(const struct integrand *g, long double bend, double *lo, double *hi)
{
    const moeg_family_logit *l = &g->risk->logit;
    const long double a = l->order / (long double)l->power, v_end = a + DROP + sqrtl(DROP * DROP + 2 * DROP * a);
    const long double end = fminl(LOG_END, bend + logl(v_end) / l->power);
    const long double start = fminl(bend, 0) - 45.0L / l->order;
    const long double lowest = (g->exponent - DROP) / l->order - 1;
    *lo = (double)(fmaxl(start, fminl(lowest, g->origin)) - g->origin);
    *hi = (double)(fmaxl(end, g->origin) - g->origin);
}

/* Whether G is 0 at any temperature. */
static int is_nothing(const moeg_family_risk *risk, int loss)
{
    if (!moeg_two_gates_move(risk->gates))
        return 1;
    return loss ? moeg_family_vanishes(&risk->loss) : risk->square == 0;
}

moeg_status moeg_family_gap(const char *function, const moeg_family_risk *risk, moeg_mixing mixing, double tau,
                            int derivative, double *value, double *error)
{
    struct integrand g = {.risk = risk, .loss = mixing == MOEG_MIX_LOSS, .derivative = derivative};
    g.squares = !g.loss && moeg_family_vanishes(&risk->direct);
    if (tau == 0 || is_nothing(risk, g.loss)) {
        *value = *error = 0;
        return MOEG_OK;
    }
    const long double bend = log_radius(risk, tau), unit = derivative ? 1 / (long double)tau : 1;
    place_origin(&g, tau, bend);
    if (!(g.exponent > -UNDERFLOW)) {
        *value = 0;
        *error = DBL_TRUE_MIN;
        return MOEG_OK;
    }
    double lo, hi, below[2] = {0}, above[2] = {0}, below_error[2], above_error[2];
    find_range(&g, bend, &lo, &hi);
    const double finest = 0.5 / fmax(risk->logit.power, 1);
    moeg_status status = moeg_quad_graded(gap_integrand, &g, 2, lo, 0, finest, 0.5, below, below_error);
    if (status == MOEG_OK)
        status = moeg_quad_graded(gap_integrand, &g, 2, 0, hi, finest, finest, above, above_error);
    if (status == MOEG_ENOMEM)
        return moeg_fail_memory(function);
    const long double factor = risk->logit.normal * expl(g.exponent) * unit;
    const double gap = (double)(factor * ((long double)below[0] + above[0]));
    if (status != MOEG_OK || !isfinite(gap))
        return moeg_fail(MOEG_ERANGE, "%s: the %s overflows at tau = %g", function, derivative ? "derivative" : "gap",
                         tau);
    *value = gap;
    *error = (double)(factor * (below_error[0] + above_error[0] + below[1] + above[1])) + 4 * DBL_EPSILON * fabs(gap) +
             DBL_TRUE_MIN;
    return MOEG_OK;
}
