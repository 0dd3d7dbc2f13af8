/* Dense linear algebra: the only door to BLAS and LAPACKE. Row-major doubles.
 *
 * Sizes are checked to fit the libraries' int before any call, inputs that LAPACK could hang on are screened for
 * non-finite values, and what LAPACK allocates comes from moeg_alloc(). Every call is inside the guard (guard.h).
 * `function` names the caller in error messages. */
#ifndef MOEG_BASE_LINALG_H
#define MOEG_BASE_LINALG_H

#include <moegeom/status.h>
#include <stddef.h>

/* C = A B or A B' : A (m x k), B (k x n) or, if transpose_b, (n x k); C (m x n), overwritten whatever it held; k = 0
 * gives zeros. MOEG_ERANGE if a size does not fit an int. */
moeg_status moeg_linalg_multiply(const char *function, size_t m, size_t n, size_t k, const double *A, const double *B,
                                 int transpose_b, double *C);

/* C += A A', lower triangle only: A (n x k) with rows `stride` apart, C (n x n). */
moeg_status moeg_linalg_add_gram(const char *function, size_t n, size_t k, size_t stride, const double *A, double *C);

/* L with L L' = S, S (n x n) symmetric positive semidefinite, as law.h says for moeg_law_gaussian_create(): Cholesky,
 * or V sqrt(Lambda) if singular. L (n x n), the part above the diagonal zero in the first case. *rank: of S.
 * MOEG_EINVAL if S has an eigenvalue below -n epsilon times the largest magnitude: the message gives it. */
moeg_status moeg_linalg_factor(const char *function, size_t n, const double *S, double *L, size_t *rank);

/* Minimum-norm least squares: X (n x p) minimising |A X - B|_F, A (m x n), B (m x p), by SVD; singular values below
 * max(m, n) epsilon times the largest count as zero. *rank: of A. m = 0 gives zeros.
 * MOEG_EINVAL (not finite), MOEG_EFAILED (no convergence), MOEG_ENOMEM, MOEG_ERANGE. */
moeg_status moeg_linalg_least_squares(const char *function, size_t m, size_t n, size_t p, const double *A,
                                      const double *B, double *X, size_t *rank);

#endif
