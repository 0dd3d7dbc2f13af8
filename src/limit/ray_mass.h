/* Boundary masses on rays and lines (line/sampler.h): any number of widths from one set of lines, without
 * discretisation. */
#ifndef MOEG_LIMIT_RAY_MASS_H
#define MOEG_LIMIT_RAY_MASS_H

#include "line/sampler.h"

#include <moegeom/estimate.h>
#include <moegeom/options.h>

/* P(a_(upper) - a_(lower) <= w) for each of nw widths: mass (nw), untouched on error. 0 where fewer than `lower`
 * experts are not masked. The strata are those of the gap (moeg_rays_init_gap()). */
moeg_status moeg_ray_mass(const char *function, const moeg_rays *rays, moeg_gap gap, size_t nw, const double *w,
                          const moeg_sampling *s, moeg_estimate *mass);

#endif
