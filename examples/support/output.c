/* realpath() is of the X/Open part of POSIX. */
#define _XOPEN_SOURCE 700

#include "example.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *report_stream(const char *csv)
{
    return csv != NULL && strcmp(csv, "-") == 0 ? stderr : stdout;
}

/* Fails if both are there and the same regular file, or not there and of one name. */
static void require_distinct(const char *option, const char *path, const char *other_option, const char *other)
{
    struct stat a, b;
    if (other == NULL || strcmp(path, "-") == 0 || strcmp(other, "-") == 0)
        return;
    const int there = stat(path, &a) == 0 && stat(other, &b) == 0;
    if (there ? S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino : strcmp(path, other) == 0)
        die("--%s: expected a file other than that of --%s, got \"%s\"", option, other_option, path);
}

/* Creates a new file beside the target with these permissions, whatever the umask, if `exact`; errno, or 0. */
static int create_temporary(output *o, mode_t mode, int exact)
{
    const char *slash = strrchr(o->target, '/');
    const int directory = slash == NULL ? 0 : (int)(slash + 1 - o->target);
    const size_t size = (size_t)directory + 64;
    int fd = -1;
    o->temporary = allocate(size, 1);
    for (int attempt = 0; fd < 0 && attempt < 1000; attempt++) {
        snprintf(o->temporary, size, "%.*s.moegeom-%ld-%d.tmp", directory, o->target, (long)getpid(), attempt);
        fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        return errno;
    /* Where the file system knows no permissions, nothing is lost if this fails. */
    if (exact)
        (void)fchmod(fd, mode);
    o->file = fdopen(fd, "w");
    return o->file == NULL ? errno : 0;
}

/* Opens the place where the bytes go; errno on failure, else 0. */
static int open_place(output *o)
{
    struct stat old;
    if (stat(o->path, &old) != 0) {
        if (errno != ENOENT || o->path[0] == '\0')
            return errno;
        o->target = allocate(strlen(o->path) + 1, 1);
        strcpy(o->target, o->path);
        return create_temporary(o, 0666, 0);
    }
    if (!S_ISREG(old.st_mode)) {
        o->file = fopen(o->path, "w");
        return o->file == NULL ? errno : 0;
    }
    if (faccessat(AT_FDCWD, o->path, W_OK, AT_EACCESS) != 0)
        return errno;
    o->target = realpath(o->path, NULL);
    return o->target == NULL ? errno : create_temporary(o, old.st_mode & 0777, 1);
}

/* Fails if the path cannot be written: as output_open() finds it, but what is no regular file is not opened, since its
 * other end would see that. */
static void require_writable(const char *option, const char *path)
{
    struct stat old;
    output o = {.path = path};
    int error = 0;
    if (strcmp(path, "-") == 0)
        return;
    if (stat(path, &old) != 0 || S_ISREG(old.st_mode))
        error = open_place(&o);
    else if (S_ISDIR(old.st_mode))
        error = EISDIR;
    else if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0)
        error = errno;
    if (error != 0)
        die("--%s: cannot write \"%s\": %s", option, path, strerror(error));
    if (o.file != NULL)
        output_discard(&o);
}

void outputs_require(const char *csv, const char *svg, size_t count, const input *inputs)
{
    if (svg != NULL)
        plot_require(svg);
    if (csv != NULL)
        require_distinct("csv", csv, "plot", svg);
    const input outputs[] = {{"csv", csv}, {"plot", svg}};
    for (size_t i = 0; i < 2; i++) {
        if (outputs[i].path == NULL)
            continue;
        for (size_t j = 0; j < count; j++)
            require_distinct(outputs[i].option, outputs[i].path, inputs[j].option, inputs[j].path);
        require_writable(outputs[i].option, outputs[i].path);
    }
}

output output_open(const char *path)
{
    output o = {.path = path};
    const int error = open_place(&o);
    if (error != 0)
        die("cannot write \"%s\": %s", path, strerror(error));
    return o;
}

void output_commit(output *o)
{
    errno = 0;
    const int written = ferror(o->file) == 0;
    if (fclose(o->file) != 0 || !written || (o->temporary != NULL && rename(o->temporary, o->target) != 0)) {
        const char *reason = strerror(errno != 0 ? errno : EIO);
        if (o->temporary != NULL)
            remove(o->temporary);
        die("cannot write \"%s\": %s", o->path, reason);
    }
    free(o->target);
    free(o->temporary);
}

void output_discard(output *o)
{
    fclose(o->file);
    if (o->temporary != NULL)
        remove(o->temporary);
    free(o->target);
    free(o->temporary);
}
