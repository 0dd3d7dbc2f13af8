/** @file
 * The exact leading term of the gap as tau -> 0 [theory: leading term]. */
#ifndef MOEGEOM_LEADING_H
#define MOEGEOM_LEADING_H

#include <moegeom/export.h>
#include <moegeom/law.h>
#include <moegeom/moe.h>
#include <moegeom/risk.h>
#include <moegeom/status.h>
#include <moegeom/teacher.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The c of G(tau) = c tau + O(tau^2), for K = 2, an affine router, constant or affine experts and teacher, Gaussian
 * law.
 *
 * m is continuous across the interface there, so J = 0 and, with S[q] = p_s(0) E[q(X) | s = 0] and delta = f_1 - f_2:
 * output mixing c = -S[|delta|^2] (the soft risk is below the hard one), loss mixing c = 0 (the gap is O(tau^2)). With
 * a masked expert there is no interface, and c = 0.
 * @return #MOEG_OK; #MOEG_EINVAL; #MOEG_EUNSUPPORTED (anything else in place of the above); #MOEG_EDOM (s is constant);
 *         #MOEG_ERANGE; #MOEG_ENOMEM. Cost O(d^2 m). */
MOEG_EXPORT moeg_status moeg_leading_coefficient(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                                 moeg_mixing mixing, double *coefficient);

#ifdef __cplusplus
}
#endif

#endif
