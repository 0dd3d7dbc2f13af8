/* What tau_scaling measures, and how it is judged and drawn. */
#ifndef EXAMPLE_SCALING_H
#define EXAMPLE_SCALING_H

#include "example.h"

/* A law of s = a_1 - a_2 with a known margin exponent. In output mixing with J = 0 the gap is -|delta|^2 E q (1 - q),
 * q = 1/(1 + e^(|s|/tau)). Bounding the density of s by the first two terms of its series, from both sides,
 *
 *   0 <= 1 - gap/leading <= next tau^rate + e^(-Delta_0/tau)        (the exponential of a bounded margin only). */
typedef struct scaling_family {
    const char *name, *text, *order; /* order: of the gap in tau, for the plot */
    int gaussian;                    /* s of an affine router under a Gaussian law; else of these: */
    moeg_margin_family family;
    double parameter;
    double alpha; /* infinite of a bounded margin */
    double next, rate;
    double lowest; /* temperature drawn by default */
} scaling_family;

/* Fails on an unknown name. */
const scaling_family *scaling_find(const char *name);

typedef struct scaling {
    const scaling_family *family;
    size_t n;
    double *tau, *leading, *bound;
    moeg_leading term;
    moeg_estimate *line, *sampled;
    double *line_covariance, *sampled_covariance; /* (n x n) */
} scaling;

/* Measures on a grid of temperatures. */
scaling scaling_measure(const scaling_family *family, grid tau, const moeg_sampling *s);
void scaling_free(scaling *c);

/* Gap and leading term of row i are in the range of a double, with all their digits. */
int scaling_is_known(const scaling *c, size_t i);

/* The sample of row i has an error bar, and the gap is far above what rows beyond 45 tau, which are left out of it, may
 * add: e^-45 times the largest |f_1 - f_2| (2 |Y - f_k*| + |f_1 - f_2|). */
int scaling_is_sampled(const scaling *c, size_t i);

/* The upper end of 1 - gap/leading at this temperature. */
double scaling_next_term(const scaling_family *f, double tau);

/* Draws the curves into a file; `rows` were sampled. */
void scaling_draw(const scaling *c, const char *path, uint64_t rows);

/* Checks the claims; returns the exit status. */
int scaling_judge(const scaling *c, FILE *out);

#endif
