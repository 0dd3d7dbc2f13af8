/* Expectations over a plane of what is felt along u and along v [theory: the flow]. */
#ifndef MOEG_DYNAMICS_PLANE_RULE_H
#define MOEG_DYNAMICS_PLANE_RULE_H

#include <moegeom/status.h>
#include <stddef.h>

/* Polynomials of degree at most 3 in (s, q): coefficient of s^i q^k at [i][k]. */
enum { MOEG_PLANE_DEGREES = 4 };
typedef struct moeg_plane_table {
    double at[MOEG_PLANE_DEGREES][MOEG_PLANE_DEGREES];
} moeg_plane_table;

/* a + b s + c q. */
moeg_plane_table moeg_plane_affine(double a, double b, double c);

/* The product, of what is of degree 3 at most. */
moeg_plane_table moeg_plane_product(const moeg_plane_table *left, const moeg_plane_table *right);

/* Sum of the products of coefficients with expectations of what they stand at. */
double moeg_plane_sum(const moeg_plane_table *polynomial, const moeg_plane_table *expectations);

/* Weights of the expectations: S = 1 - t^2, t = tanh(gain s), alone and with t or T, T = T(mid s + slope q). */
typedef enum moeg_plane_weight {
    MOEG_PLANE_ONE,
    MOEG_PLANE_S,
    MOEG_PLANE_TS, /* t S */
    MOEG_PLANE_T,  /* t */
    MOEG_PLANE_T2, /* t^2 */
    MOEG_PLANE_TEACHER_S,
    MOEG_PLANE_TEACHER_T,
    MOEG_PLANE_WEIGHTS
} moeg_plane_weight;

/* table[w].at[i][k] = E[weight s^i q^k], s and q ~ N(0, 1) independent, T as moeg_plane_teacher() has it, of
 * temperature tau: to rounding, whatever gain >= 0, mid, slope and tau. MOEG_OK, MOEG_ERANGE, MOEG_ENOMEM. */
moeg_status moeg_plane_rule(double gain, double mid, double slope, double tau,
                            moeg_plane_table table[MOEG_PLANE_WEIGHTS]);

#endif
