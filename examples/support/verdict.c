#include "example.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

verdict verdict_begin(FILE *out)
{
    fputs("\nchecks:\n", out);
    return (verdict){.out = out};
}

void verdict_check(verdict *v, int holds, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(v->out, "  %-5s %s\n", holds ? "ok" : "FAILS", text);
    v->checks++;
    if (holds)
        return;
    const size_t used = strlen(v->failed);
    snprintf(v->failed + used, sizeof v->failed - used, "%s%s", v->failures++ > 0 ? "; " : "", text);
}

void verdict_none(verdict *v, const char *format, ...)
{
    va_list arguments;
    v->untested++;
    va_start(arguments, format);
    fputs("  none  ", v->out);
    vfprintf(v->out, format, arguments);
    fputc('\n', v->out);
    va_end(arguments);
}

int verdict_end(verdict *v)
{
    char untested[64] = "";
    if (v->untested > 0)
        snprintf(untested, sizeof untested, ", %zu could not be made", v->untested);
    if (v->failures > 0)
        fprintf(v->out, "DISAGREES: %s\n", v->failed);
    else if (v->checks == 0)
        fputs("agrees with theory as far as it was put to a test: not at all\n", v->out);
    else
        fprintf(v->out, "agrees with theory: %zu of %zu checks hold%s\n", v->checks, v->checks, untested);
    return v->failures > 0 ? EXIT_DISAGREES : EXIT_SUCCESS;
}
