/* Small vectors, in a fixed order of operations. */
#ifndef MOEG_BASE_VECTOR_H
#define MOEG_BASE_VECTOR_H

#include <stddef.h>

static inline double moeg_dot(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += a[j] * b[j];
    return sum;
}

#endif
