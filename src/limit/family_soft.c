#include "limit/family.h"

#include "base/error.h"
#include "base/quad.h"

#include <float.h>
#include <math.h>

/* t = log r ends where r^2/2 = 100, and begins where e^t is e^-START. */
static const double LOG_END = 2.6492, START = 45;
/* q = 1/(1 + e^w) is 0 above w = e^this. */
static const double LOG_LAST = 6.7;

/* Over t, as in family_gap.c, of normal e^(n t - e^(2t)/2) times the soft loss, with q and T = p - q
 *
 *   |r - q d|^2 = |r|^2 + q E[-2 d.r] + q^2 |d|^2    or    |c + T d/2|^2 = |c|^2 - T/2 E[-2 d.c] + T^2/4 |d|^2,
 *
 * whichever has the smaller terms. */
struct integrand {
    const moeg_family_risk *risk;
    double origin, v, w_offset; /* Of t; v there. */
};

static void soft_integrand(double u, void *user, double *values)
{
    const struct integrand *g = user;
    const moeg_family_risk *r = g->risk;
    const double t = g->origin + u, w = g->w_offset + g->v * exp(r->logit.power * u);
    const double q = exp(-w) / (1 + exp(-w)), half = -expm1(-w) / (1 + exp(-w)) / 2;
    const double weight = (double)r->logit.normal * exp(r->logit.order * t - exp(2 * t) / 2);
    const double outer = r->residual + q * (fabs(r->direct.value) + q * r->square);
    const double inner = r->middle + half * (fabs(r->centre.value) + half * r->square);
    const double rounding = (16 + r->logit.power * fabs(u) + fmin(w, 746)) * DBL_EPSILON;
    values[0] = weight * (outer < inner ? r->residual + q * (r->direct.value + q * r->square)
                                        : r->middle + half * (half * r->square - r->centre.value));
    values[1] = weight * fmin(outer, inner) * rounding;
}

moeg_status moeg_family_soft(const char *function, const moeg_family_risk *risk, double tau, double *value,
                             double *error)
{
    const moeg_family_logit *l = &risk->logit;
    const double lo = -START / l->order, p = fmax(l->power, 1);
    const double bend = (double)((logl(tau) - logl(l->scale)) / l->power);
    struct integrand g = {.risk = risk, .origin = fmin(fmax(bend, lo), LOG_END)};
    g.v = (double)expl(l->power * (long double)g.origin + logl(l->scale) - logl(tau));
    g.w_offset = (double)(l->scale * l->offset / tau);
    const double end = LOG_END - g.origin, last = fmin(LOG_LAST / p, end), width = 0.5 / p;
    const double ranges[3][4] = {{lo - g.origin, 0, width, 0.5}, {0, last, width, width}, {last, end, 0.5, 0.5}};
    double total = risk->noise, bound = 4 * DBL_EPSILON * risk->noise, part[2], part_error[2];
    moeg_status status = MOEG_OK;
    for (int i = 0; i < 3 && status == MOEG_OK; i++) {
        status = moeg_quad_graded(soft_integrand, &g, 2, ranges[i][0], ranges[i][1], ranges[i][2], ranges[i][3], part,
                                  part_error);
        if (status == MOEG_OK) {
            total += part[0];
            bound += part[1] + part_error[0];
        }
    }
    if (status == MOEG_ENOMEM)
        return moeg_fail_memory(function);
    if (status != MOEG_OK || !isfinite(total))
        return moeg_fail(MOEG_ERANGE, "%s: the soft risk overflows at tau = %g", function, tau);
    *value = total;
    *error = bound;
    return MOEG_OK;
}
