/* Panels of the quadrature across the lines of a stratum in a plane, r = 2. */
#ifndef MOEG_LINE_PANEL_H
#define MOEG_LINE_PANEL_H

#include "base/quad.h"
#include "line/sampler.h"

enum { MOEG_PANEL = 2 * MOEG_QUAD_NODES - 1 };

/* The panel [lo, hi], y = anchor + offset along the unit vector `normal`: its nodes are the lines of one block. sums
 * (count x 3): the integral with the normal density, how much two rules differ by, and the quadrature errors with
 * rounding. */
void moeg_panel_sum(const moeg_rays *rays, size_t stratum, const moeg_ray_quantity *quantity, const double *normal,
                    double anchor, double lo, double hi, moeg_ray_buffers *buffers, double *sums);

/* Sorts the ends of panels, and makes one of those that rounding alone tells apart: nodes between them would lie where
 * what is averaged changes. Returns how many are left. */
size_t moeg_panel_merge(size_t count, double *ends);

#endif
