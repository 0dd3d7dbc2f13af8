/* Checks that the topics of this chapter share. */
#ifndef MOEG_DYNAMICS_SYMMETRY_H
#define MOEG_DYNAMICS_SYMMETRY_H

#include <moegeom/law.h>
#include <moegeom/status.h>
#include <moegeom/symmetry.h>
#include <stddef.h>

/* MOEG_OK, or MOEG_EINVAL: the class is one of the list. */
moeg_status moeg_check_symmetric(const char *function, moeg_symmetric symmetric);

/* MOEG_OK, or MOEG_EINVAL: not NULL, a kind of the list, and p and a function if the features are the user's own. */
moeg_status moeg_check_contrast(const char *function, const moeg_contrast *contrast);

/* MOEG_OK, or MOEG_EINVAL: as moeg_halves_teacher_create() says. */
moeg_status moeg_check_halves(const char *function, const moeg_halves *halves);

/* Coefficients of the symmetric expert for each output: of 1 first, if it has an intercept, then of x. */
static inline size_t moeg_symmetric_features(moeg_symmetric symmetric, size_t d)
{
    const size_t intercept = symmetric == MOEG_SYMMETRIC_CONSTANT || symmetric == MOEG_SYMMETRIC_AFFINE;
    const int linear = symmetric == MOEG_SYMMETRIC_LINEAR || symmetric == MOEG_SYMMETRIC_AFFINE;
    return intercept + (linear ? d : 0);
}

#endif
