/* Text of unknown origin, made fit for an error message. */
#ifndef MOEG_IO_TEXT_H
#define MOEG_IO_TEXT_H

#include <stddef.h>

/* What may stand at the beginning of a UTF-8 file, and is no part of its text. */
#define MOEG_BYTE_ORDER_MARK "\xef\xbb\xbf"

enum { MOEG_TEXT_QUOTED = 160 };

/* Writes the text in double quotes: printable ASCII as it is, quotes and backslashes after a backslash, every other
 * byte as \xNN; what does not fit is cut and replaced by "...". Returns `quoted`. */
const char *moeg_text_quote(const char *text, size_t length, char quoted[MOEG_TEXT_QUOTED]);

/* The end of a path, at most 200 bytes, so that the rest of a message fits behind it. */
const char *moeg_text_path(const char *path);

#endif
