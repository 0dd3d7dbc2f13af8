#include "scaling.h"

#include <math.h>
#include <string.h>

/* next of a power p = 1/alpha: Gamma(3 alpha + 1) eta(3 alpha - 1)/(6 Gamma(alpha + 1) eta(alpha - 1)), eta
 * Dirichlet's; of the density |s| e^(-s^2/2)/2: 3 eta(3)/ln 2; of the bounded margin: 1. */
static const scaling_family families[] = {
    {"affine", "X ~ N(0, I_3), s = u.x ~ N(0, 1)", "τ", 1, MOEG_MARGIN_POWER, 1, 1, 1.644935, 2, 1e-12},
    {"power2", "s = sign(z) |z|^2, z ~ N(0, 1)", "τ^{1/2}", 0, MOEG_MARGIN_POWER, 2, 0.5, 0.39785, 1, 1e-12},
    {"power3", "s = sign(z) |z|^3, z ~ N(0, 1)", "τ^{1/3}", 0, MOEG_MARGIN_POWER, 3, 1.0 / 3, 0.27649, 2.0 / 3, 1e-12},
    {"power5", "s = sign(z) |z|^5, z ~ N(0, 1)", "τ^{1/5}", 0, MOEG_MARGIN_POWER, 5, 0.2, 0.216995, 0.4, 1e-12},
    {"power1/2", "s = sign(z) |z|^{1/2}, z ~ N(0, 1)", "τ^2", 0, MOEG_MARGIN_POWER, 0.5, 2, 84.1484, 4, 1e-12},
    {"rayleigh", "s of density |s| e^{-s^2/2}/2", "τ^2", 0, MOEG_MARGIN_RAYLEIGH, 0, 2, 3.90196, 2, 1e-12},
    {"bounded", "s = sign(z) (0.5 + |z|), z ~ N(0, 1)", "τ e^{−0.5/τ}", 0, MOEG_MARGIN_BOUNDED, 0.5, INFINITY, 1, 2,
     1e-3},
};
enum { FAMILIES = sizeof families / sizeof *families };

const scaling_family *scaling_find(const char *name)
{
    for (size_t i = 0; i < FAMILIES; i++)
        if (strcmp(families[i].name, name) == 0)
            return &families[i];
    die("--family: expected affine, power2, power3, power5, power1/2, rayleigh or bounded, got \"%s\"", name);
}

int scaling_is_known(const scaling *c, size_t i)
{
    return fabs(c->leading[i]) > 1e-300;
}

int scaling_is_sampled(const scaling *c, size_t i)
{
    const double left_out = exp(-45) * 2 * (2 * 1.2 + 2);
    return isfinite(c->sampled[i].std_error) && fabs(c->sampled[i].value) > 1000 * left_out;
}

double scaling_next_term(const scaling_family *f, double tau)
{
    const double bounded = isinf(f->alpha) ? exp(-f->parameter / tau) : 0;
    return f->next * pow(tau, f->rate) + bounded;
}
