/* Means of a teacher's tanh, or sign, over the component of x across u [theory: the flow]. */
#ifndef MOEG_DYNAMICS_PLANE_TEACHER_H
#define MOEG_DYNAMICS_PLANE_TEACHER_H

/* J[k] = E[q^k T(mid + slope q)], q ~ N(0, 1), k < 4; T(y) = tanh(y/(2 tau)), or sign(y) at tau = 0. To some 1e-15 of E
 * |q|^k whatever mid, slope and tau. */
enum { MOEG_PLANE_POWERS = 4 };
void moeg_plane_teacher(double mid, double slope, double tau, double *J);

#endif
