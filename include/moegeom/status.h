/** @file
 * Statuses of every fallible call, and the sentence that goes with the last failure. */
#ifndef MOEGEOM_STATUS_H
#define MOEGEOM_STATUS_H

#include <moegeom/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The one list of statuses: name, value, what it means.
 *
 * Zero is success. A positive status is a result with a caveat: every output has been written. A negative status is an
 * error: no output has been touched, unless the function's comment says otherwise. */
#define MOEG_STATUS_LIST(X)                                                                                            \
    X(MOEG_OK, 0, "success")                                                                                           \
    X(MOEG_EUNABLE, 1, "result with a caveat: the budget did not suffice to decide")                                   \
    X(MOEG_ECANCELED, 2, "canceled by the progress callback: the result holds what was done")                          \
    X(MOEG_EINVAL, -1, "invalid argument")                                                                             \
    X(MOEG_EDOM, -2, "mathematically undefined")                                                                       \
    X(MOEG_ENOMEM, -3, "out of memory")                                                                                \
    X(MOEG_EFORMAT, -4, "malformed input file")                                                                        \
    X(MOEG_EIO, -5, "input or output failed")                                                                          \
    X(MOEG_ERANGE, -6, "value out of the range of double precision")                                                   \
    X(MOEG_EUNSUPPORTED, -7, "not available for this kind of object")                                                  \
    X(MOEG_EFAILED, -8, "a numerical algorithm did not converge")                                                      \
    X(MOEG_ECALLBACK, -9, "a callback of the user reported an error")

/** Status of a call; see #MOEG_STATUS_LIST. */
typedef enum moeg_status {
#define MOEG_STATUS_ENUM(name, value, text) name = value,
    MOEG_STATUS_LIST(MOEG_STATUS_ENUM)
#undef MOEG_STATUS_ENUM
} moeg_status;

/** What a status means, as a static string; "unknown status" for a value outside the list.
 *
 * Thread-safe; never fails. */
MOEG_EXPORT const char *moeg_strerror(moeg_status status);

/** The name of a status ("MOEG_EINVAL"), as a static string; "unknown" for a value outside the list.
 *
 * Thread-safe; never fails. */
MOEG_EXPORT const char *moeg_status_name(moeg_status status);

/** One sentence about the last call in this thread that did not return #MOEG_OK, as
 * "router_affine: K must be at least 1, got 0"; "" if there was none.
 *
 * The string belongs to the library and lives until the next such call in this thread. A successful call leaves it as
 * it is: read it only after a status other than #MOEG_OK. */
MOEG_EXPORT const char *moeg_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
