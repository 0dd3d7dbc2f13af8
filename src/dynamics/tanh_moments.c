#include "dynamics/tanh_moments.h"

#include "base/quad.h"

#include <math.h>

static const double root_two_over_pi = 0.79788456080286535588;

/* (1 - tanh(y/2)) e^(-(s y)^2/2) y^n, halved, over y = z/s. */
static void layer(double y, void *user, double *values)
{
    const double s = *(const double *)user, density = exp(-0.5 * (s * y) * (s * y)) / (1 + exp(y));
    values[0] = y * density;
    values[1] = y * y * y * density;
}

static void whole(double z, void *user, double *values)
{
    const double s = *(const double *)user, density = tanh(0.5 * z / s) * exp(-0.5 * z * z);
    values[0] = z * density;
    values[1] = z * z * z * density;
}

/* Where s is small, what the moments of |z| have too much, in units of s: no width is too thin for that. Where it is
 * large the moments themselves, in which nothing cancels. Both are analytic to a distance of pi, and below epsilon past
 * the ends. */
moeg_status moeg_tanh_moments(double s, double *first, double *third)
{
    double integral[2];
    const moeg_status status = s <= 1 ? moeg_quad_graded(layer, &s, 2, 0, 45, 1, 1, integral, NULL)
                                      : moeg_quad_graded(whole, &s, 2, 0, 12, 1, 1, integral, NULL);
    if (status != MOEG_OK)
        return status;
    if (s <= 1) {
        *first = root_two_over_pi * (1 - 2 * s * s * integral[0]);
        *third = 2 * root_two_over_pi * (1 - s * s * s * s * integral[1]);
    } else {
        *first = root_two_over_pi * integral[0];
        *third = root_two_over_pi * integral[1];
    }
    return MOEG_OK;
}
