#include "limit/binary_nodes.h"

#include "base/error.h"

#include <float.h>
#include <math.h>

/* exp(x) is 0 below this. */
#define UNDERFLOW -746.0

struct wanted {
    const moeg_binary_risk *risk;
    moeg_mixing mixing;
    int derivative;
    int constant; /* s is constant: there is but the near cell. */
};

static moeg_sized sum_of_cells(moeg_sized near, double left, moeg_sized far)
{
    return (moeg_sized){near.value + left * far.value, near.size + left * far.size};
}

/* A product in both cells at distance x from the interface, over the density of the near side. */
static moeg_sized both_cells(const struct wanted *g, const moeg_binary_product *q, const moeg_binary_place *at)
{
    return g->constant ? moeg_binary_near(g->risk, q, at) : moeg_binary_folded(g->risk, q, at);
}

/* What two_gates.h says of a row, summed over both cells. Of its two ways to write output mixing, which are equal,
 * `centred` keeps its digits where m is far from both outputs, `direct` where m is the winner's: the one with the
 * smaller terms is taken. */
static moeg_sized gap_integrand(const moeg_binary_place *at, const void *user)
{
    const struct wanted *g = user;
    const moeg_binary_risk *r = g->risk;
    const moeg_two_weights weights = moeg_two_weights_at(at->w, g->derivative);
    const double left = g->constant ? 0 : exp(-2 * at->x * (double)r->logit.z), f = weights.factor;
    if (g->mixing == MOEG_MIX_LOSS && r->gates == MOEG_TWO_SWITCH) {
        const moeg_sized loss = both_cells(g, &r->residual, at);
        const double noise = r->noise * (1 + left);
        return (moeg_sized){-f * (loss.value + noise), f * (loss.size + noise)};
    }
    const moeg_sized centre = both_cells(g, &r->centre, at);
    if (g->mixing == MOEG_MIX_LOSS)
        return (moeg_sized){-2 * f * centre.value, 2 * f * centre.size};
    const moeg_sized direct = both_cells(g, &r->direct, at);
    const moeg_sized contrast = sum_of_cells(moeg_binary_contrast_near(r, at), left, moeg_binary_contrast_far(r, at));
    const double centred_size = 2 * centre.size + weights.centred * contrast.size;
    const double direct_size = 2 * direct.size + weights.direct * contrast.size;
    if (centred_size <= direct_size)
        return (moeg_sized){f * (-2 * centre.value - weights.centred * contrast.value), f * centred_size};
    return (moeg_sized){f * (-2 * direct.value + weights.direct * contrast.value), f * direct_size};
}

/* Ends of the range where exp(-(x - z)^2/2 - kappa w) is above e^-drop of its maximum over w >= 0, added to [lo, hi],
 * in units of v. Where an edge may follow the integrand beyond has no more the cancellation of loss mixing, so that
 * e^-60 of it is much: there the range goes on to where nothing is left. n0 is the slope at the interface; the mode is
 * n0/b^2 if that is positive, else 0. */
static void widen(const moeg_binary_nodes *g, double kappa, double *lo, double *hi)
{
    const moeg_binary_lay lay = g->risk->teacher.lay;
    const double drop = lay == MOEG_LAY_STEP || lay == MOEG_LAY_OBLIQUE ? 700 : MOEG_BINARY_DROP;
    const double b = g->x_per_v, n0 = b * g->z - kappa * g->w_per_v, span = sqrt(2 * drop);
    const double mode = n0 > 0 ? n0 / b : 0; /* In deviations. */
    const double peak = n0 > 0 ? -kappa * g->w_per_x * (g->z - 0.5 * kappa * g->w_per_x) : -0.5 * g->z * g->z;
    if (!(peak > UNDERFLOW))
        return;
    const double start = mode > span ? (mode - span) / b : 0;
    const double end = n0 > 0 ? (mode + span) / b : 2 * drop / (sqrt(n0 * n0 + 2 * drop * b * b) - n0);
    *lo = fmin(*lo, start);
    *hi = fmax(*hi, end);
}

/* The gap where s varies, or its derivative. */
static moeg_status integrate_gap(const struct wanted *g, double tau, double *value, double *error)
{
    moeg_binary_nodes nodes = moeg_binary_nodes_make(g->risk, tau);
    double lo = INFINITY, hi = 0;
    widen(&nodes, 1, &lo, &hi);
    widen(&nodes, 2, &lo, &hi);
    if (g->derivative)
        nodes.weight /= tau;
    if (lo < hi)
        return moeg_binary_integrate(&nodes, MOEG_CELL_NEAR | MOEG_CELL_FAR, lo, hi, gap_integrand, g, value, error);
    /* All underflows, and so does its bound: w e^-w is below e^-w/2. */
    const moeg_binary_place mean = {.x = nodes.z};
    const moeg_sized at = gap_integrand(&mean, &(struct wanted){.risk = g->risk, .mixing = g->mixing});
    *value = 0;
    *error = (at.size + 1) * DBL_TRUE_MIN;
    if (g->derivative)
        *error = fmin(*error * fmax(1, 1 / tau), DBL_MAX);
    return MOEG_OK;
}

/* The gap where s is constant: one value of q, and on a tie the near expert, of the lower index, wins. What is
 * lost where q underflows is less than DBL_TRUE_MIN times the terms at w = 0, where the factor is 1/2. */
static void constant_gap(const struct wanted *g, double tau, double *value, double *error)
{
    const moeg_binary_teacher *teacher = &g->risk->teacher;
    const double w = (double)(g->risk->logit.mean / tau), scale = g->derivative ? 1 / tau : 1;
    const moeg_binary_place at = {.w = w, .h_near = teacher->h_mean}, tie = {.h_near = teacher->h_mean};
    const struct wanted plain = {.risk = g->risk, .mixing = g->mixing, .constant = 1};
    const moeg_sized gap = gap_integrand(&at, g), terms = gap_integrand(&tie, &plain);
    *value = gap.value * scale;
    *error =
        fmin((gap.size * (8 + fmin(w, -UNDERFLOW)) * DBL_EPSILON + 4 * terms.size * DBL_TRUE_MIN) * scale, DBL_MAX);
}

moeg_status moeg_binary_gap(const char *function, const moeg_binary_risk *risk, moeg_mixing mixing, double tau,
                            int derivative, double *value, double *error)
{
    const struct wanted g = {risk, mixing, derivative, risk->logit.constant};
    double result = 0, bound = 0;
    moeg_status status = MOEG_OK;
    if (tau == 0 || risk->logit.masked || !moeg_two_gates_move(risk->gates))
        ; /* Nothing moves. */
    else if (g.constant)
        constant_gap(&g, tau, &result, &bound);
    else
        status = integrate_gap(&g, tau, &result, &bound);
    if (status == MOEG_ENOMEM)
        return moeg_fail_memory(function);
    if (status != MOEG_OK || !isfinite(result) || !isfinite(bound))
        return moeg_fail(MOEG_ERANGE, "%s: the %s overflows at tau = %g", function, derivative ? "derivative" : "gap",
                         tau);
    *value = result;
    *error = bound;
    return MOEG_OK;
}
