#include "matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *copy_text(const char *text)
{
    char *copy = allocate(strlen(text) + 1, 1);
    return strcpy(copy, text);
}

static matrix copy_matrix(size_t rows, size_t cols, const double *values, char *const *names)
{
    matrix m = {.rows = rows, .cols = cols, .named = names != NULL};
    m.values = allocate(rows * cols, sizeof(double));
    memcpy(m.values, values, rows * cols * sizeof(double));
    m.names = allocate(cols, sizeof(char *));
    for (size_t j = 0; j < cols; j++) {
        char number[32];
        snprintf(number, sizeof number, "c%zu", j);
        m.names[j] = copy_text(names != NULL ? names[j] : number);
    }
    return m;
}

void matrix_free(matrix *m)
{
    for (size_t j = 0; j < m->cols; j++)
        free(m->names[j]);
    free(m->names);
    free(m->values);
}

matrix matrix_read(const char *option, const char *path)
{
    const size_t length = strlen(path);
    matrix m;
    if (length >= 4 && strcmp(path + length - 4, ".npy") == 0) {
        moeg_array array;
        if (moeg_npy_read(path, &array) != MOEG_OK)
            die("--%s: %s", option, moeg_last_error());
        if (array.dims != 2 || array.size == 0)
            die("--%s: expected a matrix with rows and columns in \"%s\", got an array of %zu dimensions and %zu "
                "values",
                option, path, array.dims, array.size);
        m = copy_matrix(array.shape[0], array.shape[1], array.values, NULL);
        moeg_array_free(&array);
    } else {
        moeg_table csv;
        if (moeg_csv_read(path, &csv) != MOEG_OK)
            die("--%s: %s", option, moeg_last_error());
        m = copy_matrix(csv.rows, csv.cols, csv.values, csv.names);
        moeg_table_free(&csv);
    }
    return m;
}

void matrix_require_finite(const matrix *m, const char *option, const char *path)
{
    for (size_t i = 0; i < m->rows; i++)
        for (size_t j = 0; j < m->cols; j++)
            if (!isfinite(m->values[i * m->cols + j]))
                die("--%s: expected finite numbers in \"%s\", got %g in row %zu of column %s", option, path,
                    m->values[i * m->cols + j], i + 1, m->names[j]);
}

matrix matrix_read_router(const char *path)
{
    matrix m = matrix_read("router", path);
    matrix_require_bare(&m, "router", path);
    if (m.rows < 2)
        die("--router: expected at least 2 rows in \"%s\", one for each expert, got %zu", path, m.rows);
    matrix_require_finite(&m, "router", path);
    return m;
}

void matrix_require_bare(const matrix *m, const char *option, const char *path)
{
    if (m->named)
        die("--%s: expected no header in \"%s\", got the column names %s, …", option, path, m->names[0]);
}
