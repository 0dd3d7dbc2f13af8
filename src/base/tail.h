/* Quantiles of the distributions behind the intervals, from the tail's own integral.
 *
 * A tail beyond u is density(u) times the integral of the density's ratio to its value at u, a smooth log-concave
 * function that a few Kronrod panels integrate to rounding: the cost does not grow with the parameters. */
#ifndef MOEG_BASE_TAIL_H
#define MOEG_BASE_TAIL_H

/* x and y = 1 - x, each to about 1e-12 of itself, with P(Beta(a, b) <= x) = probability; a > 0, b >= 1, both at most
 * 2^53, 0 < probability <= 1/2. */
void moeg_tail_beta_quantile(double a, double b, double probability, double *x, double *y);

/* The g with P(Gamma(n) <= g) = probability, or, if `upper`, with P(Gamma(n) >= g) = probability; n in [1, 2^53], 0 <
 * probability <= 1/2. */
double moeg_tail_gamma_quantile(double n, double probability, int upper);

/* The t with P(T >= t) = probability, Student's t with dof degrees of freedom; dof >= 29 (the expansion of its constant
 * wants that), 0 < probability <= 1/2. */
double moeg_tail_student_quantile(double dof, double probability);

/* The t with P(|T| <= t) = level, 0 < level < 1, dof as above: right to about 1e-12 of itself for the smallest levels
 * too. */
double moeg_tail_student_reach(double dof, double level);

#endif
