/* Moments of a standard normal variable behind a soft sign [theory: symmetry breaking]. */
#ifndef MOEG_DYNAMICS_TANH_MOMENTS_H
#define MOEG_DYNAMICS_TANH_MOMENTS_H

#include <moegeom/status.h>

/* first = E[z tanh(z/(2 s))], third = E[z^3 tanh(z/(2 s))], z ~ N(0, 1), 0 <= s <= infinity; the sign at s = 0. To a
 * few epsilon of themselves while they are not subnormal. MOEG_ENOMEM. */
moeg_status moeg_tanh_moments(double s, double *first, double *third);

#endif
