/* What laws, routers, experts, mixtures and teachers have in common: a reference count in one allocation with the
 * numbers that go with it. Objects do not change after creation, so that the count is all that threads contend for. */
#ifndef MOEG_MODEL_OBJECT_H
#define MOEG_MODEL_OBJECT_H

#include <stdatomic.h>
#include <stddef.h>

/* The first member of every object. */
typedef struct moeg_object {
    atomic_size_t references;
} moeg_object;

/* Memory for a struct of `header` bytes whose last member is an array of `doubles` doubles, with one reference; NULL if
 * there is none. */
void *moeg_object_alloc(size_t header, size_t doubles);

/* One more reference to the object; returns it. */
void *moeg_object_retain(const void *object);

/* One reference less. Whether that was the last: then the caller takes the object apart. NULL is fine, and is not. */
int moeg_object_release(void *object);

#endif
