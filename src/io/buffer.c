#include "io/buffer.h"

#include "base/memory.h"

#include <stdint.h>
#include <string.h>

enum { SMALLEST = 256 };

int moeg_buffer_reserve(moeg_buffer *buffer, size_t extra)
{
    if (buffer->data != NULL && extra <= buffer->capacity - buffer->used)
        return 0;
    if (extra > SIZE_MAX - buffer->used)
        return -1;
    size_t capacity = buffer->used + extra;
    if (buffer->capacity <= SIZE_MAX / 2 && capacity < 2 * buffer->capacity)
        capacity = 2 * buffer->capacity;
    if (capacity < SMALLEST)
        capacity = SMALLEST;
    void *data = moeg_alloc(capacity, 1);
    if (data == NULL)
        return -1;
    if (buffer->used > 0)
        memcpy(data, buffer->data, buffer->used);
    moeg_release(buffer->data);
    buffer->data = data;
    buffer->capacity = capacity;
    return 0;
}

int moeg_buffer_append(moeg_buffer *buffer, const void *data, size_t bytes)
{
    if (moeg_buffer_reserve(buffer, bytes) != 0)
        return -1;
    memcpy((char *)buffer->data + buffer->used, data, bytes);
    buffer->used += bytes;
    return 0;
}
