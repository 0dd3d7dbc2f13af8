/* Reads the tables of tests/reference/generate_limit.py: '#@ case name rows cols values' lines, a header, rows. */
#ifndef MOEG_TESTS_LIMIT_REFERENCE_H
#define MOEG_TESTS_LIMIT_REFERENCE_H

#include "support/check.h"

#include <stdlib.h>

enum { REFERENCE_PARAMETERS = 200, REFERENCE_ROWS = 400, REFERENCE_FIELDS = 20, REFERENCE_TEXT = 40 };

struct parameter {
    char of[REFERENCE_TEXT], name[REFERENCE_TEXT];
    size_t rows, cols;
    double values[32];
};

struct reference {
    struct parameter parameters[REFERENCE_PARAMETERS];
    char header[REFERENCE_FIELDS][REFERENCE_TEXT];
    char field[REFERENCE_ROWS][REFERENCE_FIELDS][REFERENCE_TEXT];
    size_t parameter_count, row_count, field_count;
};

static inline void reference_parameter_line(struct reference *r, char *line)
{
    assert_true(r->parameter_count < REFERENCE_PARAMETERS);
    struct parameter *p = &r->parameters[r->parameter_count++];
    int used;
    assert_int_equal(sscanf(line, "#@ %39s %39s %zu %zu%n", p->of, p->name, &p->rows, &p->cols, &used), 4);
    assert_true(p->rows * p->cols <= 32);
    char *at = line + used;
    for (size_t i = 0; i < p->rows * p->cols; i++)
        p->values[i] = strtod(at, &at);
}

static inline size_t reference_split(char *line, char (*fields)[REFERENCE_TEXT])
{
    size_t count = 0;
    for (char *field = strtok(line, ",\n"); field != NULL; field = strtok(NULL, ",\n")) {
        assert_true(count < REFERENCE_FIELDS && strlen(field) < REFERENCE_TEXT);
        strcpy(fields[count++], field);
    }
    return count;
}

/* To be freed with free(). */
static inline struct reference *reference_read(const char *name)
{
    struct reference *r = calloc(1, sizeof *r);
    char path[512], line[2048];
    assert_non_null(r);
    snprintf(path, sizeof path, "%s/%s", MOEG_TEST_DATA, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "#@", 2) == 0)
            reference_parameter_line(r, line);
        else if (line[0] == '#')
            continue;
        else if (r->field_count == 0)
            r->field_count = reference_split(line, r->header);
        else {
            assert_true(r->row_count < REFERENCE_ROWS);
            assert_int_equal(reference_split(line, r->field[r->row_count++]), r->field_count);
        }
    }
    fclose(file);
    assert_true(r->row_count > 0);
    return r;
}

static inline const char *reference_text(const struct reference *r, size_t row, const char *column)
{
    for (size_t j = 0; j < r->field_count; j++)
        if (strcmp(r->header[j], column) == 0)
            return r->field[row][j];
    fail_msg("no column %s", column);
    return NULL;
}

static inline long double reference_value(const struct reference *r, size_t row, const char *column)
{
    return strtold(reference_text(r, row, column), NULL);
}

/* NULL if the case has no such array. */
static inline const struct parameter *reference_parameter(const struct reference *r, const char *of, const char *name)
{
    for (size_t i = 0; i < r->parameter_count; i++)
        if (strcmp(r->parameters[i].of, of) == 0 && strcmp(r->parameters[i].name, name) == 0)
            return &r->parameters[i];
    return NULL;
}

/* Copies an array that the case must have. */
static inline void reference_copy(const struct reference *r, const char *of, const char *name, double *to)
{
    const struct parameter *p = reference_parameter(r, of, name);
    assert_non_null(p);
    memcpy(to, p->values, p->rows * p->cols * sizeof *to);
}

#endif
