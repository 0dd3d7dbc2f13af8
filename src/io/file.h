/* Bytes in and bytes out: what the readers and writers see of files. */
#ifndef MOEG_IO_FILE_H
#define MOEG_IO_FILE_H

#include <limits.h>
#include <moegeom/status.h>
#include <stddef.h>

enum { MOEG_FILE_BUFFER = 1 << 14 };

/* An input: a file of any kind, or a block of memory. */
typedef struct moeg_source {
    const char *function;      /* named in messages */
    const char *name;          /* likewise: of the file */
    int fd;                    /* -1: memory */
    int error;                 /* errno of the read that failed, or 0 */
    int ended;                 /* nothing more is to be read */
    size_t size;               /* of a regular file or memory; SIZE_MAX if unknown */
    size_t taken;              /* bytes read into the buffer up to now */
    const unsigned char *next; /* bytes not yet handed out: [next, end) */
    const unsigned char *end;
    unsigned char buffer[MOEG_FILE_BUFFER];
} moeg_source;

/* MOEG_OK, or MOEG_EIO with the system's reason; to be given to moeg_source_close(). */
moeg_status moeg_source_open(moeg_source *source, const char *function, const char *path);

/* A source of bytes in memory; nothing to close. */
void moeg_source_memory(moeg_source *source, const char *function, const void *data, size_t bytes);

void moeg_source_close(moeg_source *source);

/* Reads more behind what is left in the buffer; 0 at the end of the input or on a failure. */
int moeg_source_fill(moeg_source *source);

/* Leaves out the next bytes if they are these. */
void moeg_source_skip_prefix(moeg_source *source, const char *prefix);

/* The next byte, or -1 at the end or on a failure, which moeg_source_status() tells apart. */
static inline int moeg_source_get(moeg_source *source)
{
    return source->next < source->end || moeg_source_fill(source) ? *source->next++ : -1;
}

/* Hands out up to n bytes; fewer at the end or on a failure. */
size_t moeg_source_read(moeg_source *source, void *out, size_t n);

/* Bytes still to come, SIZE_MAX if not known: known for regular files, from their size when opened. */
size_t moeg_source_left(const moeg_source *source);

/* MOEG_OK, or MOEG_EIO if a read has failed. */
moeg_status moeg_source_status(const moeg_source *source);

/* An output that appears under its name as a whole or not at all. Devices and pipes are written as they are, and so is
 * standard output, by the name "-". Failures are remembered, not returned, until the end. */
typedef struct moeg_sink {
    const char *function; /* named in messages */
    const char *name;     /* likewise: of the file */
    int fd;
    int error;                     /* errno of the first failure, or 0 */
    int is_stdout;                 /* not ours to close */
    char target[PATH_MAX];         /* the file to be replaced, symbolic links followed */
    char temporary[PATH_MAX + 64]; /* what is written, in the same directory; "" if written as it is */
    size_t used;
    unsigned char buffer[MOEG_FILE_BUFFER];
} moeg_sink;

/* MOEG_OK, or MOEG_EIO with the system's reason; on MOEG_OK to be ended by moeg_sink_close(). A file that is replaced
 * must be writable, and keeps its permissions. */
moeg_status moeg_sink_open(moeg_sink *sink, const char *function, const char *path);

void moeg_sink_put(moeg_sink *sink, const void *data, size_t bytes);

/* Writes what is buffered and gives the file its name. On any failure, now or before, nothing is left of the temporary
 * file, the old one is as it was, and the status is MOEG_EIO with the system's reason. */
moeg_status moeg_sink_close(moeg_sink *sink);

#endif
