#include "base/linalg.h"

#include "base/error.h"
#include "base/guard.h"
#include "base/memory.h"

#include <float.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

moeg_status moeg_linalg_check_int(const char *function, const char *name, size_t size)
{
    if (size > INT_MAX)
        return moeg_fail(MOEG_ERANGE, "%s: %s must be at most %d, got %zu", function, name, INT_MAX, size);
    return MOEG_OK;
}

/* What dgelsd needs: copies of A and B as it wants them, and its workspaces. */
typedef struct least_squares {
    size_t rows_b, cols_b; /* max(m, n), since B holds X in the end; p, or 1 if p is 0, which dgelsd refuses */
    size_t length, ilength;
    double *A, *B, *singular, *work;
    lapack_int *iwork;
} least_squares;

static void least_squares_free(least_squares *ls)
{
    moeg_release(ls->iwork);
    moeg_release(ls->work);
    moeg_release(ls->singular);
    moeg_release(ls->B);
    moeg_release(ls->A);
}

/* The least workspaces that dgelsd documents (SMLSIZ = 25), and 64 max(m, n) more for its blocked steps. All sizes are
 * checked here, before anything is allocated: LAPACK's own workspace query would wrap. */
static moeg_status least_squares_alloc(const char *function, size_t m, size_t n, size_t p, least_squares *ls)
{
    const size_t smaller = m < n ? m : n, larger = m < n ? n : m, columns = p > 0 ? p : 1;
    moeg_status status = moeg_linalg_check_int(function, "the number of rows or columns", larger);
    if (status == MOEG_OK)
        status = moeg_linalg_check_int(function, "the number of right-hand sides", p);
    if (status != MOEG_OK)
        return status;
    size_t levels = 1;
    for (size_t half = smaller / 26; half > 1; half /= 2)
        levels++;
    ls->rows_b = larger;
    ls->cols_b = columns;
    ls->length = smaller * (12 + 2 * 25 + 8 * levels + columns) + 26 * 26 + 64 * (larger + columns);
    ls->ilength = smaller * (3 * levels + 11);
    status = moeg_linalg_check_int(function, "the length of the least squares workspace", ls->length);
    if (status != MOEG_OK)
        return status;
    size_t size_a, size_b;
    if (moeg_multiply_overflows(m, n, &size_a) || moeg_multiply_overflows(larger, columns, &size_b))
        return moeg_fail(MOEG_ERANGE, "%s: a matrix is too large", function);
    ls->A = moeg_alloc(size_a, sizeof(double));
    ls->B = moeg_alloc_zero(size_b, sizeof(double));
    ls->singular = moeg_alloc(smaller, sizeof(double));
    ls->work = moeg_alloc(ls->length, sizeof(double));
    ls->iwork = moeg_alloc(ls->ilength, sizeof(lapack_int));
    if (ls->A == NULL || ls->B == NULL || ls->singular == NULL || ls->work == NULL || ls->iwork == NULL)
        return moeg_fail_memory(function);
    return MOEG_OK;
}

/* out[j * stride + i] = in[i, j], in (rows x cols). */
static void transpose(size_t rows, size_t cols, const double *in, size_t stride, double *out)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            out[j * stride + i] = in[i * cols + j];
}

/* X = the transpose of the first n rows of B, or MOEG_ERANGE if some of it overflowed. */
static moeg_status least_squares_result(const char *function, size_t n, size_t p, const least_squares *ls, double *X)
{
    for (size_t j = 0; j < p; j++)
        for (size_t i = 0; i < n; i++)
            if (!isfinite(ls->B[j * ls->rows_b + i]))
                return moeg_fail(MOEG_ERANGE, "%s: the least squares solution overflows at [%zu, %zu]", function, i, j);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < p; j++)
            X[i * p + j] = ls->B[j * ls->rows_b + i];
    return MOEG_OK;
}

/* One call of dgelsd: singular values up to `share` times the largest count as zero. Returns its info. */
static lapack_int solve_least_squares(size_t m, size_t n, size_t p, const double *A, const double *B, double share,
                                      least_squares *ls, lapack_int *rank)
{
    transpose(m, n, A, m, ls->A);
    transpose(m, p, B, ls->rows_b, ls->B);
    moeg_guard_enter();
    const lapack_int info = LAPACKE_dgelsd_work(LAPACK_COL_MAJOR, (lapack_int)m, (lapack_int)n, (lapack_int)ls->cols_b,
                                                ls->A, (lapack_int)m, ls->B, (lapack_int)ls->rows_b, ls->singular,
                                                share, rank, ls->work, (lapack_int)ls->length, ls->iwork);
    moeg_guard_leave();
    return info;
}

/* Solves with the relative rule and, if a singular value that it kept is within the rounding, once more without those
 * that are. dgelsd takes a share of 1 or more for none: where all of A is rounding, X is 0. */
static lapack_int solve_above_rounding(size_t m, size_t n, size_t p, const double *A, const double *B, double rounding,
                                       least_squares *ls, lapack_int *rank)
{
    const double share = (double)ls->rows_b * DBL_EPSILON;
    const lapack_int info = solve_least_squares(m, n, p, A, B, share, ls, rank);
    if (info != 0 || *rank == 0 || ls->singular[*rank - 1] > rounding)
        return info;
    if (ls->singular[0] > rounding && rounding / ls->singular[0] < 1)
        return solve_least_squares(m, n, p, A, B, rounding / ls->singular[0], ls, rank);
    memset(ls->B, 0, ls->rows_b * ls->cols_b * sizeof(double));
    *rank = 0;
    return info;
}

moeg_status moeg_linalg_least_squares(const char *function, size_t m, size_t n, size_t p, const double *A,
                                      const double *B, double rounding, double *X, size_t *rank)
{
    least_squares ls = {0};
    lapack_int found = 0, info = 0;
    moeg_status status = least_squares_alloc(function, m, n, p, &ls);
    if (status == MOEG_OK)
        status = moeg_check_finite_matrix(function, "A", m, n, A);
    if (status == MOEG_OK)
        status = moeg_check_finite_matrix(function, "B", m, p, B);
    if (status != MOEG_OK)
        goto cleanup;
    if (m > 0 && n > 0)
        info = solve_above_rounding(m, n, p, A, B, rounding, &ls, &found);
    if (info != 0)
        status = moeg_fail(MOEG_EFAILED, "%s: the SVD of a %zu x %zu matrix did not converge (dgelsd: %d)", function, m,
                           n, (int)info);
    else
        status = least_squares_result(function, n, p, &ls, X);
    if (status == MOEG_OK)
        *rank = (size_t)found;
cleanup:
    least_squares_free(&ls);
    return status;
}
