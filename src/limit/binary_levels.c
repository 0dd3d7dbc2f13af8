/* The risks themselves: L_0, and L_tau without it. */
#include "limit/binary_nodes.h"

#include "base/error.h"

#include <float.h>
#include <math.h>

struct level {
    const moeg_binary_risk *risk;
    moeg_mixing mixing;
    int soft;
    int far; /* The cell. */
};

static moeg_sized in_cell(const struct level *l, const moeg_binary_product *q, const moeg_binary_place *at)
{
    return l->far ? moeg_binary_far(l->risk, q, at) : moeg_binary_near(l->risk, q, at);
}

static moeg_sized contrast(const struct level *l, const moeg_binary_place *at)
{
    return l->far ? moeg_binary_contrast_far(l->risk, at) : moeg_binary_contrast_near(l->risk, at);
}

/* The hard loss: |r|^2 of the winner; of the mean of both outputs |c|^2, of their losses |d|^2/4 more. */
static moeg_sized hard_loss(const struct level *l, const moeg_binary_place *at)
{
    const moeg_binary_risk *r = l->risk;
    if (r->gates != MOEG_TWO_MEAN)
        return in_cell(l, &r->residual, at);
    moeg_sized loss = in_cell(l, &r->middle, at);
    if (l->mixing == MOEG_MIX_LOSS) {
        const moeg_sized square = contrast(l, at);
        loss.value += square.value / 4;
        loss.size += square.size / 4;
    }
    return loss;
}

/* The soft loss |r - q d|^2 = |c + (p - q) d/2|^2, expanded in the way with the smaller terms. */
static moeg_sized soft_loss(const struct level *l, const moeg_binary_place *at)
{
    const moeg_binary_risk *r = l->risk;
    const double e = exp(-at->w), q = e / (1 + e), half = -expm1(-at->w) / (1 + e) / 2;
    const moeg_sized square = contrast(l, at), residual = in_cell(l, &r->residual, at);
    const moeg_sized direct = in_cell(l, &r->direct, at), middle = in_cell(l, &r->middle, at);
    const moeg_sized centre = in_cell(l, &r->centre, at);
    const double outer = residual.size + q * (2 * direct.size + q * square.size);
    const double inner = middle.size + half * (2 * centre.size + half * square.size);
    if (outer < inner)
        return (moeg_sized){residual.value + q * (q * square.value - 2 * direct.value), outer};
    return (moeg_sized){middle.value + half * (half * square.value + 2 * centre.value), inner};
}

/* The loss, over the density of the near side. */
static moeg_sized level_integrand(const moeg_binary_place *at, const void *user)
{
    const struct level *l = user;
    const double density = l->far ? exp(-2 * at->x * (double)l->risk->logit.z) : 1;
    const moeg_sized loss = l->soft ? soft_loss(l, at) : hard_loss(l, at);
    return (moeg_sized){density * loss.value, density * loss.size};
}

/* The two cells apart, so that neither is lost beside the other. */
static moeg_status integrate_level(struct level *l, double tau, double *value, double *error)
{
    const double z = (double)l->risk->logit.z, span = sqrt(2 * MOEG_BINARY_DROP);
    const double end = 2 * MOEG_BINARY_DROP / (sqrt(z * z + 2 * MOEG_BINARY_DROP) + z);
    moeg_binary_nodes nodes = moeg_binary_nodes_make(l->risk, tau), rest;
    const double unit = nodes.x_per_v;
    double near, far, near_error, far_error;
    nodes.decay = 1 / unit;
    rest = nodes;
    moeg_status status = moeg_binary_integrate(&nodes, MOEG_CELL_NEAR, fmax(z - span, 0) / unit, (z + span) / unit,
                                               level_integrand, l, &near, &near_error);
    l->far = 1;
    if (status == MOEG_OK)
        status = moeg_binary_integrate(&rest, MOEG_CELL_FAR, 0, end / unit, level_integrand, l, &far, &far_error);
    if (status == MOEG_OK) {
        *value = near + far + l->risk->noise;
        *error = near_error + far_error + 2 * DBL_EPSILON * l->risk->noise;
    }
    return status;
}

static moeg_status level(const char *function, struct level *l, double tau, double *value, double *error)
{
    double result, bound;
    moeg_status status = MOEG_OK;
    if (l->risk->logit.constant) {
        const moeg_binary_place at = {.w = (double)(l->risk->logit.mean / tau), .h_near = l->risk->teacher.h_mean};
        const moeg_sized loss = level_integrand(&at, l);
        result = loss.value + l->risk->noise;
        bound = 8 * DBL_EPSILON * (loss.size + l->risk->noise);
    } else {
        status = integrate_level(l, tau, &result, &bound);
    }
    if (status == MOEG_ENOMEM)
        return moeg_fail_memory(function);
    if (status != MOEG_OK || !isfinite(result) || !isfinite(bound))
        return moeg_fail(MOEG_ERANGE, "%s: the %s risk overflows", function, l->soft ? "soft" : "hard");
    *value = fmax(result, 0);
    *error = bound;
    return MOEG_OK;
}

moeg_status moeg_binary_hard(const char *function, const moeg_binary_risk *risk, moeg_mixing mixing, double *value,
                             double *error)
{
    struct level l = {.risk = risk, .mixing = mixing};
    return level(function, &l, INFINITY, value, error);
}

moeg_status moeg_binary_soft(const char *function, const moeg_binary_risk *risk, double tau, double *value,
                             double *error)
{
    struct level l = {.risk = risk, .soft = 1};
    return level(function, &l, tau, value, error);
}
