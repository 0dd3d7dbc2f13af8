#include <moegeom/csv.h>

#include "base/error.h"
#include "io/file.h"
#include "io/names.h"
#include "io/number.h"
#include "io/text.h"

#include <string.h>

static const char csv_write[] = "csv_write";

/* Whether a name reads back as it is only from within quotes. */
static int needs_quotes(const char *name)
{
    const char last = name[strlen(name) - 1];
    return strpbrk(name, ",\"\r\n") != NULL || *name == ' ' || *name == '\t' || last == ' ' || last == '\t' ||
           strncmp(name, MOEG_BYTE_ORDER_MARK, strlen(MOEG_BYTE_ORDER_MARK)) == 0;
}

/* One name; *numbers counts those that read back as numbers. */
static moeg_status check_name(locale_t c_locale, size_t j, const char *name, size_t *numbers)
{
    if (name == NULL || *name == '\0')
        return moeg_fail(MOEG_EINVAL, "%s: names[%zu] must not be %s", csv_write, j, name == NULL ? "NULL" : "empty");
    double value;
    const moeg_number kind = moeg_number_read(c_locale, name, &value);
    char quoted[MOEG_TEXT_QUOTED];
    if (kind == MOEG_NUMBER_OUT_OF_RANGE)
        return moeg_fail(MOEG_EINVAL, "%s: names[%zu] must not be a number beyond the range of double, got %s",
                         csv_write, j, moeg_text_quote(name, strlen(name), quoted));
    *numbers += kind == MOEG_NUMBER_OK;
    return MOEG_OK;
}

/* Refuses what moeg_csv_read() would refuse, or would take for data. */
static moeg_status check_names(size_t cols, const char *const *names)
{
    size_t repeat, numbers = 0;
    const locale_t c_locale = moeg_number_locale();
    if (c_locale == (locale_t)0)
        return moeg_fail_memory(csv_write);
    moeg_status status = MOEG_OK;
    for (size_t j = 0; j < cols && status == MOEG_OK; j++)
        status = check_name(c_locale, j, names[j], &numbers);
    freelocale(c_locale);
    if (status != MOEG_OK)
        return status;
    if (numbers == cols)
        return moeg_fail(MOEG_EINVAL, "%s: names must not all be numbers, or they read back as data", csv_write);
    if (moeg_names_repeat(cols, names, &repeat) != 0)
        return moeg_fail_memory(csv_write);
    if (repeat == cols)
        return MOEG_OK;
    char quoted[MOEG_TEXT_QUOTED];
    return moeg_fail(MOEG_EINVAL, "%s: names[%zu] must differ from those before, got %s", csv_write, repeat,
                     moeg_text_quote(names[repeat], strlen(names[repeat]), quoted));
}

static moeg_status check_arguments(const char *path, size_t rows, size_t cols, const char *const *names,
                                   const double *values)
{
    size_t size;
    const moeg_status status = moeg_check_pointer(csv_write, "path", path);
    if (status != MOEG_OK)
        return status;
    if (cols == 0)
        return moeg_fail(MOEG_EINVAL, "%s: cols must be at least 1, got 0", csv_write);
    if (moeg_multiply_overflows(rows, cols, &size) || moeg_multiply_overflows(size, sizeof(double), &size))
        return moeg_fail(MOEG_EINVAL, "%s: rows * cols must fit in memory, got %zu * %zu", csv_write, rows, cols);
    if (rows > 0 && values == NULL)
        return moeg_check_pointer(csv_write, "values", values);
    return names != NULL ? check_names(cols, names) : MOEG_OK;
}

static void put_text(moeg_sink *sink, const char *text)
{
    moeg_sink_put(sink, text, strlen(text));
}

static void put_name(moeg_sink *sink, const char *name)
{
    if (!needs_quotes(name)) {
        put_text(sink, name);
        return;
    }
    put_text(sink, "\"");
    for (const char *quote; (quote = strchr(name, '"')) != NULL; name = quote + 1) {
        moeg_sink_put(sink, name, (size_t)(quote - name));
        put_text(sink, "\"\"");
    }
    put_text(sink, name);
    put_text(sink, "\"");
}

moeg_status moeg_csv_write(const char *path, size_t rows, size_t cols, const char *const *names, const double *values)
{
    moeg_status status = check_arguments(path, rows, cols, names, values);
    if (status != MOEG_OK)
        return status;
    moeg_sink sink;
    status = moeg_sink_open(&sink, csv_write, path);
    if (status != MOEG_OK)
        return status;
    for (size_t j = 0; names != NULL && j < cols; j++) {
        put_name(&sink, names[j]);
        put_text(&sink, j + 1 < cols ? "," : "\n");
    }
    for (size_t i = 0; i < rows * cols; i++) {
        char text[32];
        moeg_format_double(values[i], text);
        put_text(&sink, text);
        put_text(&sink, (i + 1) % cols != 0 ? "," : "\n");
    }
    return moeg_sink_close(&sink);
}
