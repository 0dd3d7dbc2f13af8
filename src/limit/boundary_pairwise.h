/* The slope of the pairwise bound [theory: boundary mass], on behalf of `function`. */
#ifndef MOEG_LIMIT_BOUNDARY_PAIRWISE_H
#define MOEG_LIMIT_BOUNDARY_PAIRWISE_H

#include <moegeom/law.h>
#include <moegeom/router.h>
#include <moegeom/status.h>

/* Fails as moeg_boundary_pairwise() does. */
moeg_status moeg_pairwise_slope(const char *function, const moeg_router *router, const moeg_law *law, double *slope);

#endif
