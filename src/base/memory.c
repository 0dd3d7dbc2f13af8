#include "base/memory.h"

#include "base/error.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static moeg_alloc_hook alloc_hook;
static void *alloc_hook_user;

void moeg_alloc_set_hook(moeg_alloc_hook hook, void *user)
{
    alloc_hook = hook;
    alloc_hook_user = user;
}

void *moeg_alloc(size_t count, size_t size)
{
    size_t bytes;
    if (moeg_multiply_overflows(count, size, &bytes) || bytes > PTRDIFF_MAX - ALIGNMENT)
        return NULL;
    if (alloc_hook != NULL && alloc_hook(bytes, alloc_hook_user) != 0)
        return NULL;
    /* aligned_alloc wants a non-zero multiple of the alignment. */
    const size_t rounded = bytes / ALIGNMENT * ALIGNMENT + ALIGNMENT;
    return aligned_alloc(ALIGNMENT, rounded);
}

void *moeg_alloc_zero(size_t count, size_t size)
{
    void *memory = moeg_alloc(count, size);
    if (memory != NULL)
        memset(memory, 0, count * size);
    return memory;
}

void moeg_release(void *memory)
{
    free(memory);
}
