#include "example.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *report_stream(const char *csv)
{
    return csv != NULL && strcmp(csv, "-") == 0 ? stderr : stdout;
}

output output_open(const char *path)
{
    output o = {.path = path};
    struct stat there;
    if (stat(path, &there) != 0 || S_ISREG(there.st_mode)) {
        const size_t size = strlen(path) + 32;
        o.temporary = allocate(size, 1);
        snprintf(o.temporary, size, "%s.%ld.tmp", path, (long)getpid());
    }
    o.file = fopen(o.temporary != NULL ? o.temporary : path, "w");
    if (o.file == NULL)
        die("cannot write \"%s\": %s", path, strerror(errno));
    return o;
}

void output_commit(output *o)
{
    const int written = ferror(o->file) == 0;
    if (fclose(o->file) != 0 || !written || (o->temporary != NULL && rename(o->temporary, o->path) != 0)) {
        const char *reason = strerror(errno);
        if (o->temporary != NULL)
            remove(o->temporary);
        die("cannot write \"%s\": %s", o->path, reason);
    }
    free(o->temporary);
}
