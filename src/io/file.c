/* realpath() is of the X/Open part of POSIX. */
#define _XOPEN_SOURCE 700

#include "io/file.h"

#include "base/error.h"
#include "io/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static moeg_status fail_system(const char *function, const char *name, const char *what, int error)
{
    char reason[128];
    if (strerror_r(error, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "system error %d", error);
    return moeg_fail(MOEG_EIO, "%s: cannot %s %s: %s", function, what, name, reason);
}

moeg_status moeg_source_open(moeg_source *source, const char *function, const char *path)
{
    source->function = function;
    source->name = moeg_text_path(path);
    source->error = 0;
    source->ended = 0;
    source->size = SIZE_MAX;
    source->taken = 0;
    source->next = source->end = source->buffer;
    source->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (source->fd < 0)
        return fail_system(function, source->name, "open", errno);
    /* Files of size 0 that have contents are found under /proc. */
    struct stat status;
    if (fstat(source->fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
        source->size = (size_t)status.st_size;
    return MOEG_OK;
}

void moeg_source_memory(moeg_source *source, const char *function, const void *data, size_t bytes)
{
    source->function = function;
    source->name = "memory";
    source->fd = -1;
    source->error = 0;
    source->ended = 1;
    source->size = source->taken = bytes;
    source->next = data;
    source->end = source->next + bytes;
}

void moeg_source_close(moeg_source *source)
{
    close(source->fd);
}

int moeg_source_fill(moeg_source *source)
{
    if (source->ended)
        return 0;
    const size_t kept = (size_t)(source->end - source->next);
    memmove(source->buffer, source->next, kept);
    source->next = source->buffer;
    source->end = source->buffer + kept;
    ssize_t n;
    do
        n = read(source->fd, source->buffer + kept, sizeof source->buffer - kept);
    while (n < 0 && errno == EINTR);
    if (n <= 0) {
        source->error = n < 0 ? errno : 0;
        source->ended = 1;
        return 0;
    }
    source->taken += (size_t)n;
    source->end += n;
    return 1;
}

void moeg_source_skip_prefix(moeg_source *source, const char *prefix)
{
    const size_t n = strlen(prefix);
    while ((size_t)(source->end - source->next) < n && moeg_source_fill(source))
        continue;
    if ((size_t)(source->end - source->next) >= n && memcmp(source->next, prefix, n) == 0)
        source->next += n;
}

size_t moeg_source_read(moeg_source *source, void *out, size_t n)
{
    size_t done = 0;
    while (done < n && (source->next < source->end || moeg_source_fill(source))) {
        const size_t buffered = (size_t)(source->end - source->next);
        const size_t now = n - done < buffered ? n - done : buffered;
        memcpy((char *)out + done, source->next, now);
        source->next += now;
        done += now;
    }
    return done;
}

size_t moeg_source_left(const moeg_source *source)
{
    if (source->size == SIZE_MAX)
        return SIZE_MAX;
    const size_t handed_out = source->taken - (size_t)(source->end - source->next);
    return source->size > handed_out ? source->size - handed_out : 0;
}

moeg_status moeg_source_status(const moeg_source *source)
{
    if (source->error == 0)
        return MOEG_OK;
    return fail_system(source->function, source->name, "read", source->error);
}

/* Creates a new file beside the target; errno on failure, else 0. Names are told apart by process and count, and where
 * that is not enough, as on a shared disk, the file that is there already is left alone and the next count is tried. */
static int create_temporary(moeg_sink *sink, mode_t mode)
{
    static atomic_uint count;
    const char *slash = strrchr(sink->target, '/');
    const int directory = slash == NULL ? 0 : (int)(slash + 1 - sink->target);
    for (int attempt = 0; attempt < 1000; attempt++) {
        snprintf(sink->temporary, sizeof sink->temporary, "%.*s.moegeom-%ld-%u.tmp", directory, sink->target,
                 (long)getpid(), atomic_fetch_add(&count, 1));
        sink->fd = open(sink->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (sink->fd >= 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    const int error = errno;
    sink->temporary[0] = '\0';
    return error;
}

/* Opens the place where the bytes go; errno on failure, else 0. */
static int open_place(moeg_sink *sink, const char *path)
{
    struct stat old;
    if (stat(path, &old) != 0) {
        if (errno != ENOENT || *path == '\0')
            return errno;
        if (strlen(path) >= sizeof sink->target)
            return ENAMETOOLONG;
        strcpy(sink->target, path);
        return create_temporary(sink, 0666);
    }
    if (!S_ISREG(old.st_mode)) {
        sink->fd = open(path, O_WRONLY | O_CLOEXEC);
        return sink->fd < 0 ? errno : 0;
    }
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0 || realpath(path, sink->target) == NULL)
        return errno;
    const mode_t mode = old.st_mode & 0777;
    const int error = create_temporary(sink, mode);
    /* What the umask has taken away; where the file system knows no permissions, nothing is lost if this fails. */
    if (error == 0)
        (void)fchmod(sink->fd, mode);
    return error;
}

moeg_status moeg_sink_open(moeg_sink *sink, const char *function, const char *path)
{
    sink->function = function;
    sink->is_stdout = strcmp(path, "-") == 0;
    sink->name = sink->is_stdout ? "standard output" : moeg_text_path(path);
    sink->temporary[0] = '\0';
    sink->used = 0;
    if (sink->is_stdout) {
        /* What the host has printed comes first. */
        sink->error = fflush(stdout) != 0 ? errno : 0;
        sink->fd = fileno(stdout);
    } else {
        sink->error = open_place(sink, path);
    }
    if (sink->error != 0)
        return fail_system(function, sink->name, "write", sink->error);
    return MOEG_OK;
}

static void write_out(moeg_sink *sink, const unsigned char *data, size_t bytes)
{
    while (bytes > 0 && sink->error == 0) {
        const ssize_t n = write(sink->fd, data, bytes);
        if (n > 0) {
            data += n;
            bytes -= (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            sink->error = n == 0 ? EIO : errno;
        }
    }
}

void moeg_sink_put(moeg_sink *sink, const void *data, size_t bytes)
{
    if (bytes > sizeof sink->buffer - sink->used) {
        write_out(sink, sink->buffer, sink->used);
        sink->used = 0;
    }
    if (bytes > sizeof sink->buffer) {
        write_out(sink, data, bytes);
        return;
    }
    memcpy(sink->buffer + sink->used, data, bytes);
    sink->used += bytes;
}

moeg_status moeg_sink_close(moeg_sink *sink)
{
    write_out(sink, sink->buffer, sink->used);
    if (!sink->is_stdout && close(sink->fd) != 0 && sink->error == 0 && errno != EINTR)
        sink->error = errno;
    if (sink->temporary[0] != '\0') {
        if (sink->error == 0 && rename(sink->temporary, sink->target) != 0)
            sink->error = errno;
        if (sink->error != 0)
            unlink(sink->temporary);
    }
    if (sink->error != 0)
        return fail_system(sink->function, sink->name, "write", sink->error);
    return MOEG_OK;
}
