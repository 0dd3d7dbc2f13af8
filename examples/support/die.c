#include "example.h"

#include <stdarg.h>
#include <stdlib.h>

void die(const char *format, ...)
{
    va_list arguments;
    fflush(NULL);
    va_start(arguments, format);
    fputs("error: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    /* At once: what was allocated is the system's to take back, and a leak checker has nothing to say about it. */
    _Exit(EXIT_CANNOT);
}

moeg_status require(moeg_status status)
{
    if (status < 0)
        die("%s", moeg_last_error());
    return status;
}

void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL)
        die("out of memory (%zu times %zu bytes)", count, size);
    return memory;
}
