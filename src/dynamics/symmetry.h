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

/* MOEG_OK, or MOEG_EINVAL: a vector (d) that is NULL, not finite or 0. */
moeg_status moeg_check_direction(const char *function, const char *name, size_t d, const double *v);

/* MOEG_OK, or MOEG_EINVAL: a size of M (d x q) is 0, or it is NULL or not finite. */
moeg_status moeg_check_matrix(const char *function, size_t d, size_t q, const double *M);

/* 2^exponent times the product of n factors over that of m divisors, not 0: overflows, or underflows, no earlier than
 * the result does. */
double moeg_symmetry_quotient(int exponent, size_t n, const double *factors, size_t m, const double *divisors);

/* MOEG_OK, or MOEG_EINVAL: rates are NULL, or one is outside its range. */
moeg_status moeg_check_rates(const char *function, const moeg_symmetry_rates *rates);

/* MOEG_OK, or MOEG_EINVAL: tau is in [1e-300, 1e300]. */
moeg_status moeg_check_soft_tau(const char *function, double tau);

/* MOEG_OK; MOEG_EINVAL: a NULL law or M, a class or contrast that is none, more outputs than memory could hold;
 * MOEG_EUNSUPPORTED: features of the user's own. */
moeg_status moeg_check_operator(const char *function, const moeg_law *law, size_t d, size_t m, moeg_symmetric symmetric,
                                const moeg_contrast *contrast, const double *M);

/* MOEG_OK, or MOEG_ERANGE: every entry of M (d x q) is finite. */
moeg_status moeg_check_operator_range(const char *function, size_t d, size_t q, const double *M);

/* Coefficients of the symmetric expert for each output: of 1 first, if it has an intercept, then of x. */
static inline size_t moeg_symmetric_features(moeg_symmetric symmetric, size_t d)
{
    const size_t intercept = symmetric == MOEG_SYMMETRIC_CONSTANT || symmetric == MOEG_SYMMETRIC_AFFINE;
    const int linear = symmetric == MOEG_SYMMETRIC_LINEAR || symmetric == MOEG_SYMMETRIC_AFFINE;
    return intercept + (linear ? d : 0);
}

#endif
