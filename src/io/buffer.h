/* A block of bytes that grows. */
#ifndef MOEG_IO_BUFFER_H
#define MOEG_IO_BUFFER_H

#include <stddef.h>

/* All zeros is an empty buffer. The data are aligned to 64 and go to moeg_release(). */
typedef struct moeg_buffer {
    void *data;
    size_t used;     /* bytes */
    size_t capacity; /* bytes */
} moeg_buffer;

/* Makes room for `extra` bytes past those used; afterwards data is not NULL, even for 0. Capacity at least doubles, so
 * that appending costs O(1) a byte; what is not used of it is not touched either. Non-zero if there is no memory: the
 * buffer is then as it was. */
int moeg_buffer_reserve(moeg_buffer *buffer, size_t extra);

/* Appends. Non-zero if there is no memory. */
int moeg_buffer_append(moeg_buffer *buffer, const void *data, size_t bytes);

#endif
