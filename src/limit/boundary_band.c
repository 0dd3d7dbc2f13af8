/* The band around sampled masses [theory: boundary mass]. */
#include <moegeom/boundary.h>

#include "base/error.h"
#include "base/interval.h"
#include "limit/check.h"
#include "model/model.h"

#include <inttypes.h>
#include <math.h>

/* A mass that the functions of boundary.h write: of n rows, `contributing` of them below, to the rounding of sums of
 * equal weights; of none, NaN; or exact. */
static int is_mass(const moeg_estimate *m)
{
    if (m->method == MOEG_METHOD_LINE)
        return m->value >= 0 && m->value <= 1 && m->quad_error >= 0;
    if (m->method != MOEG_METHOD_MC || m->contributing > m->n)
        return 0;
    return m->n == 0 ? isnan(m->value) : fabs(m->value - (double)m->contributing / (double)m->n) <= 1e-9;
}

static moeg_status check_band(const char *function, const moeg_law *law, size_t nw, const moeg_estimate *mass,
                              double level, const double *lo, const double *hi)
{
    moeg_status status = moeg_check_pointer(function, "law", law);
    if (status == MOEG_OK && nw == 0)
        return moeg_fail(MOEG_EINVAL, "%s: nw must be at least 1, got 0", function);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "mass", mass);
    if (status == MOEG_OK)
        status = moeg_check_level(function, level);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "lo", lo);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "hi", hi);
    if (status == MOEG_OK)
        status = moeg_check_grid_size(function, nw, sizeof *mass);
    if (status == MOEG_OK && !moeg_has_equal_weights(law))
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: the rows of the law have unequal weights, for which no band is known",
                         function);
    for (size_t j = 0; j < nw && status == MOEG_OK; j++) {
        if (mass[j].method == MOEG_METHOD_LINE && mass[j].std_error != 0)
            return moeg_fail(MOEG_EUNSUPPORTED, "%s: mass[%zu] is a mean over lines, for which no band is known",
                             function, j);
        if (!is_mass(&mass[j]))
            return moeg_fail(MOEG_EINVAL,
                             "%s: mass[%zu] must be the share of its rows, got %g of %" PRIu64 " in %" PRIu64, function,
                             j, mass[j].value, mass[j].contributing, mass[j].n);
        if (mass[j].n != mass[0].n || mass[j].method != mass[0].method)
            return moeg_fail(MOEG_EINVAL,
                             "%s: mass[%zu] must be of the same rows as mass[0], %" PRIu64 ", got %" PRIu64, function,
                             j, mass[0].n, mass[j].n);
    }
    return status;
}

moeg_status moeg_boundary_band(const moeg_law *law, size_t nw, const moeg_estimate *mass, double level, double *lo,
                               double *hi)
{
    static const char function[] = "boundary_band";
    moeg_status status = check_band(function, law, nw, mass, level, lo, hi);
    double reach = 0;
    if (status == MOEG_OK && mass[0].method != MOEG_METHOD_LINE && mass[0].n > 0)
        status = moeg_dkw(mass[0].n, level, &reach);
    if (status != MOEG_OK)
        return status;
    for (size_t j = 0; j < nw; j++) {
        /* fmax() and fmin() take the number where the mass of no rows is NaN. */
        const double value = mass[j].value, far = mass[j].method == MOEG_METHOD_LINE ? mass[j].quad_error : reach;
        lo[j] = fmax(0, value - far);
        hi[j] = fmin(1, value + far);
    }
    return MOEG_OK;
}
