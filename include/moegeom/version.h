/** @file
 * Version of the library. */
#ifndef MOEGEOM_VERSION_H
#define MOEGEOM_VERSION_H

#include <moegeom/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the header, to be compared with moeg_version() of the library linked. The build reads it from here.
 * @{ */
#define MOEG_VERSION_MAJOR 0
#define MOEG_VERSION_MINOR 1
#define MOEG_VERSION_PATCH 0
/** @} */

/** The version of the library linked, as "0.1.0": a static string. Thread-safe; never fails. */
MOEG_EXPORT const char *moeg_version(void);

#ifdef __cplusplus
}
#endif

#endif
