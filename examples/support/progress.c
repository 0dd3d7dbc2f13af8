#include "example.h"

#include <time.h>
#include <unistd.h>

enum { WIDTH = 40 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int show(uint64_t done, uint64_t total, void *user)
{
    progress *p = user;
    const double share = (double)done / (double)total;
    const int filled = (int)(share * WIDTH), percent = (int)(100 * share);
    if (now() - p->start < 2 || percent == p->shown)
        return 0;
    p->shown = percent;
    fprintf(stderr, "\r%s [", p->label);
    for (int i = 0; i < WIDTH; i++)
        fputc(i < filled ? '#' : '.', stderr);
    fprintf(stderr, "] %3d%%", percent);
    fflush(stderr);
    return 0;
}

void progress_begin(progress *p, const char *label, moeg_sampling *s)
{
    *p = (progress){.label = label, .start = now(), .shown = -1};
    if (isatty(STDERR_FILENO)) {
        s->progress = show;
        s->progress_user = p;
    }
}

void progress_end(progress *p, moeg_sampling *s)
{
    if (p->shown >= 0)
        fputs("\r\033[K", stderr);
    s->progress = NULL;
    s->progress_user = NULL;
}
