/* The header of a .npy file: a Python dictionary of descr, fortran_order and shape. */
#ifndef MOEG_IO_NPY_HEADER_H
#define MOEG_IO_NPY_HEADER_H

#include <moegeom/npy.h>

typedef struct moeg_npy_header {
    size_t item; /* bytes a value: 4 or 8 */
    int is_big_endian;
    int is_fortran; /* the first index varies fastest */
    size_t dims;
    size_t shape[MOEG_NPY_MAX_DIMS]; /* the rest are 1 */
} moeg_npy_header;

/* The number of values of a shape, 1 if it has no dimensions. Non-zero if it, or its bytes as double, overflow; zeros
 * do not hide an overflow of the other sizes, as in NumPy, so that the order of the sizes does not matter. */
int moeg_npy_size(size_t dims, const size_t *shape, size_t *size);

/* Reads the text of a header; `name` is the file's, for messages. MOEG_EFORMAT. */
moeg_status moeg_npy_parse_header(const char *name, const char *text, size_t length, moeg_npy_header *header);

#endif
