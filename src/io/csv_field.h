/* Comma-separated text, field by field. */
#ifndef MOEG_IO_CSV_FIELD_H
#define MOEG_IO_CSV_FIELD_H

#include <moegeom/status.h>

#include "io/buffer.h"
#include "io/file.h"

/* One pass over the input, a byte at a time, of which the field at hand is held. */
typedef struct moeg_csv_reader {
    moeg_source *source;
    int byte;          /* the one to be looked at next; -1 at the end */
    size_t line;       /* where it stands, from 1 */
    size_t field_line; /* of the field at hand: where it begins */
    size_t column;     /* likewise: its number, from 1; set to 0 before each row */
    int is_quoted;     /* likewise */
    moeg_buffer field; /* likewise: its text, without quotes and blanks around it, ended by a NUL */
} moeg_csv_reader;

/* Goes on to the next byte. */
void moeg_csv_advance(moeg_csv_reader *r);

/* Reads the field that begins here; afterwards r->byte is what ends it: comma, line feed, or the end of the input.
 * MOEG_EFORMAT, MOEG_ENOMEM. A failed read looks like the end: ask the source. */
moeg_status moeg_csv_read_field(moeg_csv_reader *r);

/* MOEG_EFORMAT, with a place and what is wrong there; the second one with that of the field at hand, whose text, as far
 * as it has been read, follows. */
moeg_status moeg_csv_fail_at(const moeg_csv_reader *r, size_t line, size_t column, const char *what);
moeg_status moeg_csv_fail_field(const moeg_csv_reader *r, const char *what);

#endif
