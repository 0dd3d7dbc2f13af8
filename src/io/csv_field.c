#include "io/csv_field.h"

#include "base/error.h"
#include "io/text.h"

#include <string.h>

void moeg_csv_advance(moeg_csv_reader *r)
{
    if (r->byte == '\n')
        r->line++;
    r->byte = moeg_source_get(r->source);
}

static int is_blank(int byte)
{
    return byte == ' ' || byte == '\t';
}

static void skip_blanks(moeg_csv_reader *r)
{
    while (is_blank(r->byte))
        moeg_csv_advance(r);
}

moeg_status moeg_csv_fail_at(const moeg_csv_reader *r, size_t line, size_t column, const char *what)
{
    return moeg_fail(MOEG_EFORMAT, "%s: %s: line %zu, column %zu: %s", r->source->function, r->source->name, line,
                     column, what);
}

moeg_status moeg_csv_fail_field(const moeg_csv_reader *r, const char *what)
{
    char quoted[MOEG_TEXT_QUOTED];
    const char *text = r->field.used > 0 ? r->field.data : "";
    const size_t length = r->field.used > 0 && text[r->field.used - 1] == '\0' ? r->field.used - 1 : r->field.used;
    return moeg_fail(MOEG_EFORMAT, "%s: %s: line %zu, column %zu: %s %s", r->source->function, r->source->name,
                     r->field_line, r->column, what, moeg_text_quote(text, length, quoted));
}

static moeg_status keep(moeg_csv_reader *r, char byte)
{
    if (r->field.used == r->field.capacity && moeg_buffer_reserve(&r->field, 1) != 0)
        return moeg_fail_memory(r->source->function);
    ((char *)r->field.data)[r->field.used++] = byte;
    return MOEG_OK;
}

/* The inside of a quoted field, where "" stands for one quote and everything but NUL is allowed. */
static moeg_status read_quoted(moeg_csv_reader *r)
{
    moeg_status status = MOEG_OK;
    for (moeg_csv_advance(r); status == MOEG_OK; moeg_csv_advance(r)) {
        if (r->byte == '"') {
            moeg_csv_advance(r);
            if (r->byte != '"')
                break;
        }
        if (r->byte < 0)
            return moeg_csv_fail_field(r, "expected a closing quote, got the end of the file after");
        if (r->byte == '\0')
            return moeg_csv_fail_field(r, "expected text, got a NUL byte after");
        status = keep(r, (char)r->byte);
    }
    skip_blanks(r);
    return status;
}

static moeg_status read_plain(moeg_csv_reader *r)
{
    moeg_status status = MOEG_OK;
    for (; status == MOEG_OK && r->byte >= 0 && strchr(",\r\n", r->byte) == NULL; moeg_csv_advance(r)) {
        if (r->byte == '"')
            return moeg_csv_fail_field(r, "expected no quote inside a plain field, got one after");
        status = keep(r, (char)r->byte);
    }
    if (status == MOEG_OK && r->byte == '\0')
        return moeg_csv_fail_field(r, "expected text, got a NUL byte after");
    while (r->field.used > 0 && is_blank(((const char *)r->field.data)[r->field.used - 1]))
        r->field.used--;
    return status;
}

moeg_status moeg_csv_read_field(moeg_csv_reader *r)
{
    r->field.used = 0;
    r->field_line = r->line;
    r->column++;
    skip_blanks(r);
    r->is_quoted = r->byte == '"';
    const moeg_status status = r->is_quoted ? read_quoted(r) : read_plain(r);
    if (status != MOEG_OK)
        return status;
    if (r->byte == '\r') {
        moeg_csv_advance(r);
        if (r->byte != '\n')
            return moeg_csv_fail_field(r, "expected a line feed behind the carriage return after");
    }
    if (r->byte >= 0 && r->byte != ',' && r->byte != '\n')
        return moeg_csv_fail_field(r, r->byte == '\0'
                                          ? "expected text, got a NUL byte after"
                                          : "expected a comma or the end of the line behind the closing quote of");
    return keep(r, '\0');
}
