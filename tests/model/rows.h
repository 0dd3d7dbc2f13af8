/* Inputs and comparisons of this chapter's tests. */
#ifndef MOEG_TESTS_MODEL_ROWS_H
#define MOEG_TESTS_MODEL_ROWS_H

#include "support/check.h"

/* High-entropy values in (-scale, scale), without the library's generator: a 64-bit congruential one. */
static inline void fill_values(uint64_t seed, size_t n, double scale, double *x)
{
    uint64_t s = seed * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; i < n; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        x[i] = scale * ((double)(s >> 11) * 0x1p-52 - 1);
    }
}

/* Bit for bit: also signs of zeros and NaNs. */
#define assert_same_bits(actual, expected, count) assert_memory_equal(actual, expected, (count) * sizeof *(actual))

/* Whether all n values are still the mark that the caller put there. */
static const double MARK = 4242.4242;

static inline void mark(size_t n, double *values)
{
    for (size_t i = 0; i < n; i++)
        values[i] = MARK;
}

static inline int is_marked(size_t n, const double *values)
{
    for (size_t i = 0; i < n; i++)
        if (values[i] != MARK)
            return 0;
    return 1;
}

#endif
