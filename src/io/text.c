#include "io/text.h"

#include <stdio.h>
#include <string.h>

/* One byte as it stands between the quotes: 1, 2 or 4 characters. */
static size_t escape(unsigned char byte, char out[5])
{
    const char *format = byte == '"' || byte == '\\' ? "\\%c" : byte >= 0x20 && byte < 0x7f ? "%c" : "\\x%02x";
    return (size_t)snprintf(out, 5, format, byte);
}

const char *moeg_text_quote(const char *text, size_t length, char quoted[MOEG_TEXT_QUOTED])
{
    const char more[] = "...\"";
    size_t used = 0;
    quoted[used++] = '"';
    for (size_t i = 0; i < length; i++) {
        char out[5];
        const size_t n = escape((unsigned char)text[i], out);
        if (used + n + sizeof more > MOEG_TEXT_QUOTED) {
            memcpy(quoted + used, more, sizeof more);
            return quoted;
        }
        memcpy(quoted + used, out, n);
        used += n;
    }
    memcpy(quoted + used, "\"", 2);
    return quoted;
}

const char *moeg_text_path(const char *path)
{
    const size_t longest = 200, length = strlen(path);
    if (length <= longest)
        return path;
    path += length - longest;
    /* Not from the middle of a UTF-8 character. */
    while (((unsigned char)*path & 0xc0) == 0x80)
        path++;
    return path;
}
