#include <moegeom/csv.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/buffer.h"
#include "io/csv_field.h"
#include "io/names.h"
#include "io/number.h"
#include "io/read.h"
#include "io/text.h"

#include <string.h>

static const char csv_read[] = "csv_read";

/* The table as it grows. The first row is kept as text too, until it is known whether it is a header. */
typedef struct builder {
    moeg_csv_reader reader;
    locale_t c_locale;
    size_t blank_line;  /* the first empty line met, or 0 */
    size_t rows;        /* data rows up to now */
    size_t cols;        /* of the first row; 0 until it has been read */
    moeg_buffer values; /* doubles */
    moeg_buffer first;  /* texts of the first row, each ended by a NUL */
    int has_header;     /* the first row holds a field that is no number */
    size_t empty;       /* column of the first empty field of the first row, or 0 */
} builder;

static moeg_status keep_value(builder *b, double value)
{
    return moeg_buffer_append(&b->values, &value, sizeof value) != 0 ? moeg_fail_memory(csv_read) : MOEG_OK;
}

static int is_empty(const builder *b)
{
    return b->reader.field.used == 1;
}

/* Takes a field of the first row, of which it is not yet known whether it is a header. */
static moeg_status take_first(builder *b)
{
    double value;
    const moeg_number kind = moeg_number_read(b->c_locale, b->reader.field.data, &value);
    if (kind == MOEG_NUMBER_OUT_OF_RANGE)
        return moeg_csv_fail_field(&b->reader, "expected a number in the range of double, got");
    if (is_empty(b) && b->empty == 0)
        b->empty = b->reader.column;
    else if (kind == MOEG_NUMBER_NONE && !is_empty(b))
        b->has_header = 1;
    if (moeg_buffer_append(&b->first, b->reader.field.data, b->reader.field.used) != 0)
        return moeg_fail_memory(csv_read);
    return kind == MOEG_NUMBER_OK ? keep_value(b, value) : MOEG_OK;
}

static moeg_status take_value(builder *b)
{
    double value;
    if (b->reader.column > b->cols)
        return moeg_fail(MOEG_EFORMAT,
                         "%s: %s: line %zu, column %zu: expected %zu fields as in the first row, got more", csv_read,
                         b->reader.source->name, b->reader.field_line, b->reader.column, b->cols);
    if (is_empty(b))
        return moeg_csv_fail_at(&b->reader, b->reader.field_line, b->reader.column,
                                "expected a number, got an empty field");
    switch (moeg_number_read(b->c_locale, b->reader.field.data, &value)) {
    case MOEG_NUMBER_OK:
        return keep_value(b, value);
    case MOEG_NUMBER_OUT_OF_RANGE:
        return moeg_csv_fail_field(&b->reader, "expected a number in the range of double, got");
    case MOEG_NUMBER_NONE:
        break;
    }
    return moeg_csv_fail_field(&b->reader, "expected a number, got");
}

/* Reads one row and takes its fields; *is_row is 0 if it was an empty line. */
static moeg_status read_row(builder *b, moeg_status (*take)(builder *b), int *is_row)
{
    b->reader.column = 0;
    do {
        if (b->reader.column > 0)
            moeg_csv_advance(&b->reader);
        moeg_status status = moeg_csv_read_field(&b->reader);
        if (status != MOEG_OK)
            return status;
        *is_row = !(b->reader.column == 1 && is_empty(b) && !b->reader.is_quoted && b->reader.byte != ',');
        if (!*is_row && b->blank_line == 0)
            b->blank_line = b->reader.field_line;
        if (*is_row && b->blank_line != 0)
            return moeg_csv_fail_at(&b->reader, b->blank_line, 1, "expected a row, got an empty line");
        status = *is_row ? take(b) : MOEG_OK;
        if (status != MOEG_OK)
            return status;
    } while (b->reader.byte == ',');
    if (b->reader.byte == '\n')
        moeg_csv_advance(&b->reader);
    return MOEG_OK;
}

/* Finds out what the first row is: a header, whose values are then dropped, or data. */
static moeg_status judge_first(builder *b, size_t line)
{
    b->cols = b->reader.column;
    if (b->empty != 0)
        return moeg_csv_fail_at(&b->reader, line, b->empty,
                                b->has_header ? "expected a column name, got an empty field"
                                              : "expected a number, got an empty field");
    if (b->has_header)
        b->values.used = 0;
    else
        b->rows = 1;
    return MOEG_OK;
}

static moeg_status read_rows(builder *b)
{
    moeg_source_skip_prefix(b->reader.source, MOEG_BYTE_ORDER_MARK);
    b->reader.byte = moeg_source_get(b->reader.source);
    int is_row = 1;
    while (b->reader.byte >= 0) {
        const size_t line = b->reader.line;
        const int is_first = b->cols == 0;
        moeg_status status = read_row(b, is_first ? take_first : take_value, &is_row);
        if (status == MOEG_OK && is_row && is_first)
            status = judge_first(b, line);
        if (status != MOEG_OK)
            return status;
        if (!is_row || is_first)
            continue;
        if (b->reader.column < b->cols)
            return moeg_fail(MOEG_EFORMAT,
                             "%s: %s: line %zu, column %zu: expected %zu fields as in the first row, got %zu", csv_read,
                             b->reader.source->name, line, b->reader.column, b->cols, b->reader.column);
        b->rows++;
    }
    return b->rows > 0
               ? MOEG_OK
               : moeg_csv_fail_at(&b->reader, b->reader.line, 1, "expected a row of numbers, got the end of the file");
}

/* The names in one block of memory: the pointers, and behind them the texts. */
static moeg_status make_names(builder *b, char ***names)
{
    const size_t pointers = b->cols * sizeof(char *);
    char **made = moeg_alloc(pointers + b->first.used, 1);
    if (made == NULL)
        return moeg_fail_memory(csv_read);
    char *text = (char *)(made + b->cols);
    memcpy(text, b->first.data, b->first.used);
    for (size_t j = 0; j < b->cols; j++) {
        made[j] = text;
        text += strlen(text) + 1;
    }
    *names = made;
    return MOEG_OK;
}

/* No name may stand there twice, for moeg_table_column() could not tell the columns apart. */
static moeg_status check_names(const builder *b, char **names)
{
    size_t repeat;
    if (moeg_names_repeat(b->cols, (const char *const *)names, &repeat) != 0)
        return moeg_fail_memory(csv_read);
    if (repeat == b->cols)
        return MOEG_OK;
    char quoted[MOEG_TEXT_QUOTED];
    return moeg_fail(MOEG_EFORMAT, "%s: %s: line 1, column %zu: expected names that differ, got %s again", csv_read,
                     b->reader.source->name, repeat + 1, moeg_text_quote(names[repeat], strlen(names[repeat]), quoted));
}

static moeg_status read_table(builder *b, moeg_table *table)
{
    moeg_status status = read_rows(b);
    char **names = NULL;
    if (status == MOEG_OK && b->has_header)
        status = make_names(b, &names);
    if (status == MOEG_OK && b->has_header)
        status = check_names(b, names);
    /* A failed read ends the input early, which then looks malformed or, worse, does not. */
    if (b->reader.source->error != 0)
        status = moeg_source_status(b->reader.source);
    if (status != MOEG_OK) {
        moeg_release(names);
        return status;
    }
    *table = (moeg_table){.rows = b->rows, .cols = b->cols, .names = names, .values = b->values.data};
    b->values = (moeg_buffer){0};
    return MOEG_OK;
}

moeg_status moeg_csv_read_source(moeg_source *source, moeg_table *table)
{
    builder b = {.reader = {.source = source, .line = 1}, .c_locale = moeg_number_locale()};
    if (b.c_locale == (locale_t)0)
        return moeg_fail_memory(csv_read);
    const moeg_status status = read_table(&b, table);
    moeg_release(b.reader.field.data);
    moeg_release(b.first.data);
    moeg_release(b.values.data);
    freelocale(b.c_locale);
    return status;
}

moeg_status moeg_csv_read(const char *path, moeg_table *table)
{
    moeg_status status = moeg_check_pointer(csv_read, "path", path);
    if (status == MOEG_OK)
        status = moeg_check_pointer(csv_read, "table", table);
    if (status != MOEG_OK)
        return status;
    moeg_source source;
    status = moeg_source_open(&source, csv_read, path);
    if (status != MOEG_OK)
        return status;
    status = moeg_csv_read_source(&source, table);
    moeg_source_close(&source);
    return status;
}
