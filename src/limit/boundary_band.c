/* The band around sampled masses [theory: boundary mass]. */
#include <moegeom/boundary.h>

#include "base/error.h"
#include "base/interval.h"

#include <inttypes.h>
#include <math.h>

/* A mass that the functions of boundary.h write: of n rows, `contributing` of them below; of none, NaN; or exact. */
static int is_mass(const moeg_estimate *m)
{
    if (m->method == MOEG_METHOD_LINE)
        return m->value >= 0 && m->value <= 1;
    if (m->method != MOEG_METHOD_MC || m->contributing > m->n)
        return 0;
    return m->n == 0 ? isnan(m->value) : m->value == (double)m->contributing / (double)m->n;
}

static moeg_status check_band(const char *function, size_t nw, const moeg_estimate *mass, double level,
                              const double *lo, const double *hi)
{
    if (nw == 0)
        return moeg_fail(MOEG_EINVAL, "%s: nw must be at least 1, got 0", function);
    moeg_status status = moeg_check_pointer(function, "mass", mass);
    if (status == MOEG_OK)
        status = moeg_check_level(function, level);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "lo", lo);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "hi", hi);
    for (size_t j = 0; j < nw && status == MOEG_OK; j++) {
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

moeg_status moeg_boundary_band(size_t nw, const moeg_estimate *mass, double level, double *lo, double *hi)
{
    static const char function[] = "boundary_band";
    moeg_status status = check_band(function, nw, mass, level, lo, hi);
    double reach = 0;
    if (status == MOEG_OK && mass[0].method != MOEG_METHOD_LINE && mass[0].n > 0)
        status = moeg_dkw(mass[0].n, level, &reach);
    if (status != MOEG_OK)
        return status;
    for (size_t j = 0; j < nw; j++) {
        /* fmax() and fmin() take the number where the mass of no rows is NaN. */
        const double value = mass[j].value;
        lo[j] = fmax(0, value - reach);
        hi[j] = fmin(1, value + reach);
    }
    return MOEG_OK;
}
