/* What the bounds are made of, in logarithms with bounds on their rounding errors: nothing overflows on the way, and
 * the result is rounded upward [theory: certified bounds]. */
#ifndef MOEG_LIMIT_BOUND_LOG_H
#define MOEG_LIMIT_BOUND_LOG_H

#include <moegeom/bound.h>

/* The logarithm of a number that is not negative, and a bound on its error. -inf, exactly, is that of 0; of numbers too
 * small for a double it is at least -DBL_MAX. */
typedef struct moeg_logarithm {
    double value, error;
} moeg_logarithm;

moeg_logarithm moeg_log_of(double x);

/* log(x y), log(x + y), log(x^power), 0 < power <= 2, of their logarithms; power right to 2 epsilon. */
moeg_logarithm moeg_log_product(moeg_logarithm x, moeg_logarithm y);
moeg_logarithm moeg_log_sum(moeg_logarithm x, moeg_logarithm y);
moeg_logarithm moeg_log_power(moeg_logarithm x, double power);

/* exp(x), rounded up: 0 for 0 alone. */
double moeg_exp_above(moeg_logarithm x);

/* The logarithm of C Gamma(alpha + 1) (tau/q)^alpha + exp(-q t0/tau), which bounds E exp(-q gap/tau); tau > 0, q >= 1
 * right to 2 epsilon. */
moeg_logarithm moeg_bound_laplace(const moeg_margin_condition *condition, double q, double tau);

/* mu, where T <= mu exp(-gap/tau), of K experts. */
size_t moeg_bound_mass(moeg_gate gate, size_t K);

/* The logarithm of the q mu of moeg_bound_bounded(). */
moeg_logarithm moeg_bound_size(moeg_gate gate, moeg_mixing mixing, size_t K, const moeg_output_limits *limits);

/* MOEG_OK, or MOEG_EINVAL: not NULL, each finite and at least 0. */
moeg_status moeg_check_limits(const char *function, const moeg_output_limits *limits);

#endif
