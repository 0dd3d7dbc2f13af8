#include "model/object.h"

#include "base/memory.h"

#include <stdint.h>

void *moeg_object_alloc(size_t header, size_t doubles)
{
    if (doubles > (SIZE_MAX - header) / sizeof(double))
        return NULL;
    moeg_object *object = moeg_alloc(1, header + doubles * sizeof(double));
    if (object != NULL)
        atomic_init(&object->references, 1);
    return object;
}

void *moeg_object_retain(const void *object)
{
    /* The count is the one part of a const object that changes. */
    moeg_object *counted = (moeg_object *)(uintptr_t)object;
    atomic_fetch_add_explicit(&counted->references, 1, memory_order_relaxed);
    return counted;
}

int moeg_object_release(void *object)
{
    if (object == NULL)
        return 0;
    /* Release: what this thread read of the object comes before; acquire: what others read does, too. */
    moeg_object *counted = object;
    return atomic_fetch_sub_explicit(&counted->references, 1, memory_order_acq_rel) == 1;
}
