#include "example.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct cell {
    char *text; /* NULL: a number */
    double value;
} cell;

struct table {
    size_t cols, cells, room;
    const char *const *names;
    cell *cell;
};

table *table_create(size_t cols, const char *const *names)
{
    table *t = allocate(1, sizeof *t);
    t->cols = cols;
    t->names = names;
    return t;
}

static cell *next_cell(table *t)
{
    if (t->cells == t->room) {
        t->room = t->room > 0 ? 2 * t->room : 64;
        t->cell = realloc(t->cell, t->room * sizeof *t->cell);
        if (t->cell == NULL)
            die("out of memory (a table of %zu cells)", t->room);
    }
    return &t->cell[t->cells++];
}

void table_number(table *t, double value)
{
    /* No -0. */
    *next_cell(t) = (cell){.text = NULL, .value = value == 0 ? 0 : value};
}

void table_text(table *t, const char *format, ...)
{
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cell *c = next_cell(t);
    c->text = allocate(strlen(text) + 1, 1);
    strcpy(c->text, text);
}

void table_exponent(table *t, const moeg_estimate *exponent)
{
    /* The standard error is value/sqrt(rows), of rows with weights what they are worth in equal ones. */
    const double worth = pow(exponent->value / exponent->std_error, 2) * (1 + 1e-9);
    if (isfinite(exponent->std_error) && exponent->contributing >= MOEG_ENOUGH_UNITS && worth >= MOEG_ENOUGH_UNITS) {
        table_text(t, "%.4f", exponent->value);
        table_text(t, "%.4f", exponent->std_error);
    } else {
        table_text(t, "-");
        table_text(t, "too few rows");
    }
}

static void cell_text(const cell *c, char *text, size_t size)
{
    if (c->text != NULL)
        snprintf(text, size, "%s", c->text);
    else
        snprintf(text, size, "%.6g", c->value);
}

void table_print(const table *t, FILE *file)
{
    char text[128];
    size_t *width = allocate(t->cols, sizeof *width);
    for (size_t j = 0; j < t->cols; j++)
        width[j] = strlen(t->names[j]);
    for (size_t i = 0; i < t->cells; i++) {
        cell_text(&t->cell[i], text, sizeof text);
        if (strlen(text) > width[i % t->cols])
            width[i % t->cols] = strlen(text);
    }
    for (size_t j = 0; j < t->cols; j++)
        fprintf(file, "%s%*s", j > 0 ? "  " : "", (int)width[j], t->names[j]);
    fputc('\n', file);
    for (size_t i = 0; i < t->cells; i++) {
        const size_t j = i % t->cols;
        cell_text(&t->cell[i], text, sizeof text);
        fprintf(file, "%s%*s%s", j > 0 ? "  " : "", (int)width[j], text, j + 1 == t->cols ? "\n" : "");
    }
    free(width);
}

static void write_csv(const table *t, FILE *file)
{
    char text[32];
    for (size_t j = 0; j < t->cols; j++)
        fprintf(file, "%s%s", j > 0 ? "," : "", t->names[j]);
    fputc('\n', file);
    for (size_t i = 0; i < t->cells; i++) {
        const size_t j = i % t->cols;
        if (t->cell[i].text == NULL)
            moeg_format_double(t->cell[i].value, text);
        fprintf(file, "%s%s%s", j > 0 ? "," : "", t->cell[i].text != NULL ? t->cell[i].text : text,
                j + 1 == t->cols ? "\n" : "");
    }
}

void table_csv(const table *t, const char *path)
{
    if (strcmp(path, "-") == 0) {
        write_csv(t, stdout);
        if (fflush(stdout) != 0)
            die("cannot write to standard output");
        return;
    }
    output o = output_open(path);
    write_csv(t, o.file);
    output_commit(&o);
}

void table_free(table *t)
{
    for (size_t i = 0; i < t->cells; i++)
        free(t->cell[i].text);
    free(t->cell);
    free(t);
}
