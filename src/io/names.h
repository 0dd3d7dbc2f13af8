/* What is asked of column names, on reading and on writing. */
#ifndef MOEG_IO_NAMES_H
#define MOEG_IO_NAMES_H

#include <stddef.h>

/* Finds a name that stands there twice: *repeat is the index of the later one, or n if there is none. Non-zero if there
 * is no memory. Cost O(n log n). */
int moeg_names_repeat(size_t n, const char *const *names, size_t *repeat);

#endif
