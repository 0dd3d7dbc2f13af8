/* What the observed orders of order.c and the fit of order_fit.c share: gaps, and how far they can be trusted. */
#ifndef MOEG_LIMIT_ORDER_H
#define MOEG_LIMIT_ORDER_H

#include <moegeom/estimate.h>
#include <moegeom/status.h>
#include <stddef.h>

typedef struct moeg_order_gaps {
    size_t ntau;
    const double *tau;
    const moeg_estimate *gap;
    const double *covariance; /* or NULL */
} moeg_order_gaps;

/* MOEG_OK, or MOEG_EINVAL: what both functions check but for their outputs. */
moeg_status moeg_order_check(const char *function, const moeg_order_gaps *g, double level);

/* Covariance of the logarithms of gaps i and j to first order, V_ij/(G_i G_j). */
double moeg_order_covariance(const moeg_order_gaps *g, size_t i, size_t j);

/* Largest error of log |G_i| that quad_error allows; infinite if that reaches 0. */
double moeg_order_quad_error(const moeg_estimate *gap);

/* Whether gap i has an error bar, and is farther from 0 than quad_error and `reach` standard errors. */
int moeg_order_tells(const moeg_order_gaps *g, size_t i, double reach);

/* The reach of an interval, in standard errors, of gaps that have an error bar: Student's, 0 of exact ones. */
double moeg_order_reach(uint64_t n, double level);

#endif
