/** @file
 * Arrays in NumPy's .npy format, versions 1 to 3. */
#ifndef MOEGEOM_NPY_H
#define MOEGEOM_NPY_H

#include <moegeom/export.h>
#include <moegeom/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most dimensions of an array read. */
#define MOEG_NPY_MAX_DIMS 8

/** An array of doubles. */
typedef struct moeg_array {
    size_t dims;                     /**< 0 (a scalar) to #MOEG_NPY_MAX_DIMS. */
    size_t shape[MOEG_NPY_MAX_DIMS]; /**< Sizes; the rest are 1. */
    size_t size;                     /**< Their product: values in all. */
    double *values;                  /**< Row-major; never NULL, even if size is 0. */
} moeg_array;

/** Storage of the values in a file. */
typedef enum moeg_npy_type {
    MOEG_NPY_F8 = 0, /**< '<f8' */
    MOEG_NPY_F4 = 1  /**< '<f4': rounded to nearest */
} moeg_npy_type;

/** Reads a .npy file: f4 or f8, little or big endian, C or Fortran order, format versions 1.0, 2.0, 3.0.
 *
 * The header is checked against the size of the file before anything large is allocated; from a pipe, memory grows with
 * what has been read. NaN and infinities are values like others.
 * @param array  written on success, row-major; to be freed with moeg_array_free()
 * @return #MOEG_OK; #MOEG_EINVAL (NULL); #MOEG_EIO; #MOEG_EFORMAT (with what was found and expected: bad magic,
 * version, header length past the file or 65535, header that is no dictionary of exactly descr, fortran_order and
 * shape, another dtype, too many dimensions, a size that overflows, data shorter or longer than the shape says);
 * #MOEG_ENOMEM.
 */
MOEG_EXPORT moeg_status moeg_npy_read(const char *path, moeg_array *array);

/** Writes a .npy file (version 1.0, C order, little endian, data aligned to 64 bytes), under a temporary name, then
 * renamed, as moeg_csv_write() does; "-" writes to standard output.
 *
 * @param shape   dims sizes; may be NULL if dims is 0
 * @param values  row-major; may be NULL if a size is 0
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, dims too large, unknown type, a product of sizes that overflows); #MOEG_ERANGE
 * (a finite value that overflows f4, named by its index); #MOEG_EIO; #MOEG_ENOMEM. On error the old file is as it was.
 */
MOEG_EXPORT moeg_status moeg_npy_write(const char *path, size_t dims, const size_t *shape, moeg_npy_type type,
                                       const double *values);

/** Frees what an array holds and zeroes it. NULL is fine. */
MOEG_EXPORT void moeg_array_free(moeg_array *array);

#ifdef __cplusplus
}
#endif

#endif
