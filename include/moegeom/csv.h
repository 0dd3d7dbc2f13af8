/** @file
 * Tables of numbers in comma-separated text (RFC 4180), independent of the locale. */
#ifndef MOEGEOM_CSV_H
#define MOEGEOM_CSV_H

#include <moegeom/export.h>
#include <moegeom/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A table of numbers. */
typedef struct moeg_table {
    size_t rows;    /**< Data rows, the header not counted. */
    size_t cols;    /**< Columns. */
    char **names;   /**< Column names (cols of them), or NULL if there was no header. */
    double *values; /**< (rows x cols), row-major. */
} moeg_table;

/** Reads a CSV file of numbers.
 *
 * The first row is a header if it holds a field that is no number. Every further field must be a number (decimal or
 * exponent form, "nan", "inf" and their signs in any case), with blanks around it allowed; quoted fields are
 * understood; LF and CRLF end a line; a UTF-8 byte-order mark is skipped; blank lines at the end are fine. Numbers are
 * read as strtod in the C locale does, to the nearest double, whatever the host's locale; one beyond the range of
 * double is an error in any row, and makes no header. Blanks around a column name are dropped unless it is quoted.
 * The file is read in one pass and may be a pipe; memory grows with what has been read.
 * @param table  written on success; to be freed with moeg_table_free()
 * @return #MOEG_OK; #MOEG_EINVAL (NULL); #MOEG_EIO (cannot open or read: the system's reason);
 *         #MOEG_EFORMAT (with line and column, the number of the field: a field that is no number or out of range, an
 *         empty field, a row of another length, an empty line before the last row, an unclosed quote, a quote inside a
 *         plain field, text behind a closing quote, a carriage return without a line feed, a NUL byte, a repeated or
 *         empty column name, a file without data rows); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_csv_read(const char *path, moeg_table *table);

/** Writes a CSV file: header (if names is not NULL), then rows, numbers in the shortest form that reads back to the
 * same double; "nan", "inf", "-inf" where not finite. The file is written under a temporary name beside it and renamed,
 * so that no reader sees a half-written file; "-" writes to standard output. A symbolic link is followed, or replaced
 * if it leads nowhere; a device or a pipe is written as it is; a file that is replaced must be writable and keeps its
 * permissions.
 *
 * @param names  cols names, or NULL; a name with a comma, quote, line break or blank at an end is quoted
 * @param values (rows x cols), row-major; may be NULL if rows is 0
 * @return #MOEG_OK; #MOEG_EINVAL (NULL; no columns; a product that overflows; names that moeg_csv_read() would refuse
 * or take for data: an empty or repeated one, one that is a number beyond the range of double, or all of them numbers);
 * #MOEG_EIO (the system's reason; a closed pipe raises SIGPIPE first, as any write to it does, unless the host ignores
 * that); #MOEG_ENOMEM. On error the old file is as it was. */
MOEG_EXPORT moeg_status moeg_csv_write(const char *path, size_t rows, size_t cols, const char *const *names,
                                       const double *values);

/** Index of the column of that name.
 *
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, no header, or no such column: the message lists the names there are). */
MOEG_EXPORT moeg_status moeg_table_column(const moeg_table *table, const char *name, size_t *column);

/** Frees what a table holds and zeroes it. NULL is fine, and so is a table of zeros. */
MOEG_EXPORT void moeg_table_free(moeg_table *table);

/** Writes the shortest decimal form of a double that reads back to the same double into text (at least 32 bytes), in
 * the C locale's notation whatever the host's locale. Thread-safe; never fails. */
MOEG_EXPORT void moeg_format_double(double value, char text[32]);

/** Reads a double from the whole of a string, blanks around it allowed, in the C locale's notation.
 *
 * @return #MOEG_OK; #MOEG_EINVAL (NULL); #MOEG_EFORMAT (no number, or something behind it); #MOEG_ENOMEM (the system
 * has no memory for the C locale). A number beyond the range of double is a format error, not infinity; one below it is
 * the nearest subnormal or zero. Hexadecimal numbers are none. */
MOEG_EXPORT moeg_status moeg_parse_double(const char *text, double *value);

#ifdef __cplusplus
}
#endif

#endif
