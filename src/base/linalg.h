/* Dense linear algebra: the only door to BLAS and LAPACKE. Row-major doubles.
 *
 * Sizes are checked to fit the libraries' int before any call, inputs that LAPACK could hang on are screened for
 * non-finite values, and LAPACK's workspaces come from moeg_alloc(). Every call is inside the guard (guard.h).
 * `function` names the caller in error messages. On error outputs are untouched. */
#ifndef MOEG_BASE_LINALG_H
#define MOEG_BASE_LINALG_H

#include <moegeom/status.h>
#include <stddef.h>

/* MOEG_OK, or MOEG_ERANGE if a size, stride or workspace length does not fit an int: "function: name must be at most
 * 2147483647, got 5103108000". */
moeg_status moeg_linalg_check_int(const char *function, const char *name, size_t size);

/* h with x/4^h in [1/4, 1), x > 0: a scaling whose square root is exact. 0 for x = 0. */
int moeg_linalg_half_exponent(double x);

/* L with L L' = S, S (n x n) symmetric positive semidefinite, as law.h says for moeg_law_gaussian_create(). With
 * D = diag(2^h_i), h_i = moeg_linalg_half_exponent(s_ii), A = D^-1 S D^-1 is what is decided on and factored, so that
 * nothing depends on the units of the coordinates: L = D F, F the Cholesky factor of A or, if A is singular,
 * V sqrt(Lambda), largest eigenvalue first. L (n x n), the part above the diagonal zero in the first case, the last
 * n - *rank columns in the second, as are rows that are so in S. *rank: of A, eigenvalues up to n epsilon times the
 * largest counting as zero. Of S only the lower triangle counts. MOEG_EINVAL if A has an eigenvalue below -n epsilon
 * times the largest magnitude (the message gives it), or S a negative variance, a covariance that |A| >= 2 or a
 * variance of 0 rules out (it names the entry), or a value that is not finite; MOEG_EFAILED (no convergence),
 * MOEG_ENOMEM, MOEG_ERANGE. Cost O(n^3). */
moeg_status moeg_linalg_factor(const char *function, size_t n, const double *S, double *L, size_t *rank);

/* Minimum-norm least squares: X (n x p) minimising |A X - B|_F, A (m x n), B (m x p), by SVD; singular values up to
 * max(m, n) epsilon times the largest count as zero, and those up to `rounding` >= 0, the norm of what rounding may
 * have done to A. *rank: of A. m = 0 gives zeros. MOEG_EINVAL (not finite), MOEG_EFAILED (no convergence), MOEG_ENOMEM,
 * MOEG_ERANGE (a size; X overflows). Cost O(m n min(m, n) + m n p). */
moeg_status moeg_linalg_least_squares(const char *function, size_t m, size_t n, size_t p, const double *A,
                                      const double *B, double rounding, double *X, size_t *rank);

/* Eigenvalues, ascending, and eigenvectors of the lower triangle of V (n x n), finite, in place: row k of V becomes the
 * eigenvector of values[k]. MOEG_EFAILED (no convergence), MOEG_ENOMEM, MOEG_ERANGE (a size); V is then anything.
 * Cost O(n^3). */
moeg_status moeg_linalg_eigen(const char *function, size_t n, double *V, double *values);

/* A = left diag(sigma) right, A (m x n), k = min(m, n) >= 1: sigma (k) decreasing, left (m x k), right (k x n), either
 * of which may be NULL. By dgesdd, and if that fails dgesvd; by dgesvd alone. MOEG_EINVAL ("M" is not finite),
 * MOEG_EFAILED (no convergence), MOEG_ENOMEM, MOEG_ERANGE (a size). Cost O(m n k). */
moeg_status moeg_linalg_svd(const char *function, size_t m, size_t n, const double *A, double *sigma, double *left,
                            double *right);
moeg_status moeg_linalg_svd_plain(const char *function, size_t m, size_t n, const double *A, double *sigma,
                                  double *left, double *right);

#endif
