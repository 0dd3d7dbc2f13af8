/* Allocation: everything that the library allocates goes through here, so that a test can fail each in turn. */
#ifndef MOEG_BASE_MEMORY_H
#define MOEG_BASE_MEMORY_H

#include <stddef.h>

/* count * size bytes, aligned to 64, not cleared; NULL if the product overflows, if there is no memory, or if the hook
 * refuses. A size of 0 gives a valid pointer. */
void *moeg_alloc(size_t count, size_t size);

/* As moeg_alloc(), cleared. */
void *moeg_alloc_zero(size_t count, size_t size);

/* Frees what the two above returned. NULL is fine. */
void moeg_release(void *memory);

/* For tests: called before every allocation with its size; non-zero refuses it. NULL (the default) takes it away. */
typedef int (*moeg_alloc_hook)(size_t bytes, void *user);
void moeg_alloc_set_hook(moeg_alloc_hook hook, void *user);

#endif
