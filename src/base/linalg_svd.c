#include "base/error.h"
#include "base/guard.h"
#include "base/linalg.h"
#include "base/memory.h"

#include <lapacke.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* What LAPACK needs for the transpose of A, which is what the row-major A is to it: a copy, the factors, workspaces. */
typedef struct svd {
    size_t rows, cols, smaller, length; /* of A; their smaller; of work */
    double *A, *singular, *left, *right, *work;
    lapack_int *iwork;
} svd;

static void svd_free(svd *s)
{
    moeg_release(s->iwork);
    moeg_release(s->work);
    moeg_release(s->right);
    moeg_release(s->left);
    moeg_release(s->singular);
    moeg_release(s->A);
}

/* The least workspaces that dgesdd and dgesvd document, and 64 (m + n) more for their blocked steps. All sizes are
 * checked before anything is allocated. */
static moeg_status svd_alloc(const char *function, size_t m, size_t n, svd *s)
{
    const size_t smaller = m < n ? m : n, larger = m < n ? n : m;
    moeg_status status = moeg_linalg_check_int(function, "the number of rows or columns", larger);
    if (status != MOEG_OK)
        return status;
    *s = (svd){.rows = m, .cols = n, .smaller = smaller, .length = 4 * smaller * smaller + 7 * smaller + 64 * (m + n)};
    status = moeg_linalg_check_int(function, "the length of the singular value workspace", s->length);
    size_t size;
    if (status == MOEG_OK && moeg_multiply_overflows(m, n, &size))
        status = moeg_fail(MOEG_ERANGE, "%s: a matrix is too large", function);
    if (status != MOEG_OK)
        return status;
    s->A = moeg_alloc(size, sizeof(double));
    s->singular = moeg_alloc(smaller, sizeof(double));
    s->left = moeg_alloc(m * smaller, sizeof(double));
    s->right = moeg_alloc(n * smaller, sizeof(double));
    s->work = moeg_alloc(s->length, sizeof(double));
    s->iwork = moeg_alloc(8 * smaller, sizeof(lapack_int));
    if (s->A == NULL || s->singular == NULL || s->left == NULL || s->right == NULL || s->work == NULL ||
        s->iwork == NULL)
        return moeg_fail_memory(function);
    return MOEG_OK;
}

/* By dgesdd, or dgesvd if `plain`. Returns its info. */
static lapack_int decompose(const double *A, int plain, svd *s)
{
    const lapack_int rows = (lapack_int)s->cols, cols = (lapack_int)s->rows, k = (lapack_int)s->smaller;
    const lapack_int length = (lapack_int)s->length;
    memcpy(s->A, A, s->rows * s->cols * sizeof *A);
    moeg_guard_enter();
    const lapack_int info = plain ? LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'S', 'S', rows, cols, s->A, rows, s->singular,
                                                        s->right, rows, s->left, k, s->work, length)
                                  : LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, 'S', rows, cols, s->A, rows, s->singular,
                                                        s->right, rows, s->left, k, s->work, length, s->iwork);
    moeg_guard_leave();
    return info;
}

static moeg_status svd_run(const char *function, size_t m, size_t n, const double *A, int plain, double *sigma,
                           double *left, double *right)
{
    svd s = {0};
    moeg_status status = moeg_check_finite_matrix(function, "M", m, n, A);
    if (status == MOEG_OK)
        status = svd_alloc(function, m, n, &s);
    if (status != MOEG_OK)
        goto cleanup;
    lapack_int info = decompose(A, plain, &s);
    if (info > 0 && !plain)
        info = decompose(A, 1, &s);
    if (info != 0) {
        status = moeg_fail(MOEG_EFAILED, "%s: the singular values of a %zu x %zu matrix did not converge (dgesvd: %d)",
                           function, m, n, (int)info);
        goto cleanup;
    }
    memcpy(sigma, s.singular, s.smaller * sizeof *sigma);
    if (left != NULL)
        memcpy(left, s.left, m * s.smaller * sizeof *left);
    if (right != NULL)
        memcpy(right, s.right, n * s.smaller * sizeof *right);
cleanup:
    svd_free(&s);
    return status;
}

moeg_status moeg_linalg_svd(const char *function, size_t m, size_t n, const double *A, double *sigma, double *left,
                            double *right)
{
    return svd_run(function, m, n, A, 0, sigma, left, right);
}

moeg_status moeg_linalg_svd_plain(const char *function, size_t m, size_t n, const double *A, double *sigma,
                                  double *left, double *right)
{
    return svd_run(function, m, n, A, 1, sigma, left, right);
}
