/* Estimates compared bit by bit. */
#ifndef MOEG_TESTS_SUPPORT_ESTIMATES_H
#define MOEG_TESTS_SUPPORT_ESTIMATES_H

#include "support/check.h"

#include <moegeom/estimate.h>

/* Not the padding behind the last member: an assignment may leave anything there. */
static inline void check_same_estimates_at(const moeg_estimate *actual, const moeg_estimate *expected, size_t n,
                                           const char *what, const char *file, int line)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&actual[i], &expected[i], offsetof(moeg_estimate, method) + sizeof actual->method) != 0) {
            print_error("%s[%zu]: got %.17g in [%.17g, %.17g], expected %.17g in [%.17g, %.17g] to the bit\n", what, i,
                        actual[i].value, actual[i].lo, actual[i].hi, expected[i].value, expected[i].lo, expected[i].hi);
            _fail(file, line);
        }
}

#define assert_same_estimates(actual, expected, n)                                                                     \
    check_same_estimates_at(actual, expected, n, #actual, __FILE__, __LINE__)

#endif
