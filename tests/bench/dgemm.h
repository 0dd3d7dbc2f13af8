/* OpenBLAS's product on one thread, the peer of the benchmarks. By its Fortran name: cblas.h and GSL's headers do not
 * go into one file. */
#ifndef MOEG_TESTS_BENCH_DGEMM_H
#define MOEG_TESTS_BENCH_DGEMM_H

#include "base/guard.h"

#include <stddef.h>

extern void dgemm_(const char *transpose_a, const char *transpose_b, const int *m, const int *n, const int *k,
                   const double *alpha, const double *A, const int *lda, const double *B, const int *ldb,
                   const double *beta, double *C, const int *ldc);

/* C = A B, row-major: A (m x k), B (k x n). Column by column the same numbers are C' = B' A'. The guard holds OpenBLAS
 * to one thread. */
static inline void bench_multiply(size_t m, size_t n, size_t k, const double *A, const double *B, double *C)
{
    const int rows = (int)m, cols = (int)n, inner = (int)k;
    const double one = 1, zero = 0;
    moeg_guard_enter();
    dgemm_("N", "N", &cols, &rows, &inner, &one, B, &cols, A, &inner, &zero, C, &cols);
    moeg_guard_leave();
}

#endif
