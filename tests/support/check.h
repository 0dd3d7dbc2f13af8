/* Assertions for doubles, once and for all tests. cmocka's own cast to float, and pass on NaN. */
#ifndef MOEG_TESTS_SUPPORT_CHECK_H
#define MOEG_TESTS_SUPPORT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above. */
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <moegeom/status.h>
#include <stdio.h>
#include <string.h>

/* One unit of relative rounding; tolerances are stated as multiples of it, with a reason. */
#define EPS DBL_EPSILON

/* |actual - expected| <= tolerance. Fails on any NaN. */
static inline int check_is_near(double actual, double expected, double tolerance)
{
    return fabs(actual - expected) <= tolerance || (isinf(actual) && actual == expected);
}

static inline void check_near_at(double actual, double expected, double tolerance, const char *what, const char *file,
                                 int line)
{
    if (!check_is_near(actual, expected, tolerance)) {
        print_error("%s: got %.17g, expected %.17g, off by %.3g, allowed %.3g\n", what, actual, expected,
                    fabs(actual - expected), tolerance);
        _fail(file, line);
    }
}

/* Absolute tolerance. */
#define assert_near(actual, expected, tolerance) check_near_at(actual, expected, tolerance, #actual, __FILE__, __LINE__)

/* Relative tolerance: |actual - expected| <= tolerance |expected|. */
#define assert_relative(actual, expected, tolerance)                                                                   \
    check_near_at(actual, expected, (tolerance)*fabs(expected), #actual, __FILE__, __LINE__)

/* The call returns this status, and, where it is not MOEG_OK, a last error that contains `text`. */
static inline void check_status_at(moeg_status actual, moeg_status expected, const char *text, const char *what,
                                   const char *file, int line)
{
    if (actual != expected) {
        print_error("%s: got %s, expected %s; last error: %s\n", what, moeg_status_name(actual),
                    moeg_status_name(expected), moeg_last_error());
        _fail(file, line);
    }
    if (expected != MOEG_OK && strstr(moeg_last_error(), text) == NULL) {
        print_error("%s: last error \"%s\" does not contain \"%s\"\n", what, moeg_last_error(), text);
        _fail(file, line);
    }
}

#define assert_ok(call) check_status_at(call, MOEG_OK, "", #call, __FILE__, __LINE__)
#define assert_status(call, expected, text) check_status_at(call, expected, text, #call, __FILE__, __LINE__)

#endif
