/* Subsets of `size` of the numbers 0 .. n - 1, in lexicographic order, each an increasing list. */
#ifndef MOEG_BASE_SUBSET_H
#define MOEG_BASE_SUBSET_H

#include "base/error.h"

#include <stddef.h>

/* How many there are; 0 if they are too many to count. size <= n. */
static inline size_t moeg_subset_count(size_t n, size_t size)
{
    size_t count = 1;
    for (size_t m = 0; m < size; m++) {
        if (moeg_multiply_overflows(count, n - m, &count))
            return 0;
        count /= m + 1;
    }
    return count;
}

static inline void moeg_subset_first(size_t size, size_t *member)
{
    for (size_t m = 0; m < size; m++)
        member[m] = m;
}

/* The next one in its place; 0 after the last. */
static inline int moeg_subset_next(size_t n, size_t size, size_t *member)
{
    for (size_t m = size; m-- > 0;)
        if (member[m] < n - size + m) {
            member[m]++;
            for (size_t later = m + 1; later < size; later++)
                member[later] = member[later - 1] + 1;
            return 1;
        }
    return 0;
}

#endif
