/* Small vectors, in a fixed order of operations. */
#ifndef MOEG_BASE_VECTOR_H
#define MOEG_BASE_VECTOR_H

#include <math.h>
#include <stddef.h>

static inline double moeg_dot(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += a[j] * b[j];
    return sum;
}

/* max |x_j|; 0 of no numbers. */
static inline double moeg_largest(size_t n, const double *x)
{
    double largest = 0;
    for (size_t j = 0; j < n; j++)
        largest = fmax(largest, fabs(x[j]));
    return largest;
}

#endif
