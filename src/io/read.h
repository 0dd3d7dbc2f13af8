/* The readers behind moeg_csv_read() and moeg_npy_read(), for input from anywhere. */
#ifndef MOEG_IO_READ_H
#define MOEG_IO_READ_H

#include <moegeom/csv.h>
#include <moegeom/npy.h>

#include "io/file.h"

moeg_status moeg_csv_read_source(moeg_source *source, moeg_table *table);
moeg_status moeg_npy_read_source(moeg_source *source, moeg_array *array);

#endif
