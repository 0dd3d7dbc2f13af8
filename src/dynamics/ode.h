/* Ordinary differential equations whose steps are screened [theory: the flow]: the only door to gsl_odeiv2. */
#ifndef MOEG_DYNAMICS_ODE_H
#define MOEG_DYNAMICS_ODE_H

#include <moegeom/status.h>
#include <stddef.h>

/* slope (dim) = y'(t). MOEG_OK; MOEG_ERANGE: not finite here, a shorter step is tried; another error ends the run. */
typedef moeg_status (*moeg_ode_function)(double t, const double *y, double *slope, void *user);

/* y (dim) from `start` at time 0 to `count` times, which do not decrease and are at least 0, by the method of Prince
 * and Dormand of order 8 with an error estimate: that of each step and coordinate stays below abs_tol + rel_tol |y|.
 * States and slopes that are not finite never end a step. `function` names the caller in messages.
 *
 * states (count x dim). MOEG_OK; MOEG_EUNABLE: a step was not finite, however short, or could not be made short enough,
 * or there were more than MOEG_ODE_STEPS; rows of later times than the last good one are NaN, and the message has it;
 * MOEG_ENOMEM, or an error of the function's: untouched. */
enum { MOEG_ODE_STEPS = 1000000 };
moeg_status moeg_ode_run(const char *function, size_t dim, moeg_ode_function f, void *user, const double *start,
                         size_t count, const double *times, double rel_tol, double abs_tol, double *states);

#endif
