/* The public functions y = f(x) over rows, through block functions. */
#ifndef MOEG_MODEL_MAP_H
#define MOEG_MODEL_MAP_H

#include <moegeom/status.h>
#include <stddef.h>
#include <stdint.h>

/* y (m x stride) of the units first .. first + n - 1 with their x (d x stride). */
typedef moeg_status (*moeg_map_block)(const void *object, uint64_t first, size_t n, size_t stride, const double *x,
                                      double *y, double *workspace);

typedef struct moeg_map {
    const char *function; /* for messages */
    const char *name;     /* of the output */
    const char *value;    /* what a value that is not finite is called there */
    moeg_map_block block;
    const void *object;
    size_t d, m;      /* d = 0: x is not looked at */
    size_t inputs;    /* not 0: value j is that of output j / inputs and input j % inputs */
    size_t workspace; /* doubles that block() wants for a stride of MOEG_TILE */
} moeg_map;

/* y (n x m) of the rows x (n x d). What block() fails with, MOEG_EINVAL (NULL, x not finite), MOEG_ERANGE (y not
 * finite, by row and output), MOEG_ENOMEM; y is untouched then. */
moeg_status moeg_map_rows(const moeg_map *map, uint64_t first, size_t n, const double *x, double *y);

#endif
