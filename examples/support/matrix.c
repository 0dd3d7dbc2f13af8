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

/* An array of one dimension is a row, where those are taken. */
static matrix read_npy(const char *option, const char *path, size_t least_dims)
{
    moeg_array array;
    if (moeg_npy_read(path, &array) != MOEG_OK)
        die("--%s: %s", option, moeg_last_error());
    if (array.dims < least_dims || array.dims > 2 || array.size == 0)
        die("--%s: expected %s in \"%s\", got an array of %zu dimensions and %zu values", option,
            least_dims == 1 ? "a vector" : "a matrix with rows and columns", path, array.dims, array.size);
    const size_t rows = array.dims == 1 ? 1 : array.shape[0];
    matrix m = copy_matrix(rows, array.shape[array.dims - 1], array.values, NULL);
    moeg_array_free(&array);
    return m;
}

static matrix read_csv(const char *option, const char *path)
{
    moeg_table csv;
    if (moeg_csv_read(path, &csv) != MOEG_OK)
        die("--%s: %s", option, moeg_last_error());
    matrix m = copy_matrix(csv.rows, csv.cols, csv.values, csv.names);
    moeg_table_free(&csv);
    return m;
}

static int is_npy(const char *path)
{
    const size_t length = strlen(path);
    return length >= 4 && strcmp(path + length - 4, ".npy") == 0;
}

matrix matrix_read(const char *option, const char *path)
{
    return is_npy(path) ? read_npy(option, path, 2) : read_csv(option, path);
}

matrix matrix_read_vector(const char *option, const char *path)
{
    matrix m = is_npy(path) ? read_npy(option, path, 1) : read_csv(option, path);
    if (m.cols != 1 || m.rows == 1 || m.named)
        return m;
    matrix row = copy_matrix(1, m.rows, m.values, NULL);
    matrix_free(&m);
    return row;
}

void matrix_require_finite(const matrix *m, const char *option, const char *path)
{
    for (size_t i = 0; i < m->rows; i++)
        for (size_t j = 0; j < m->cols; j++)
            if (!isfinite(m->values[i * m->cols + j]))
                die("--%s: expected finite numbers in \"%s\", got %g in row %zu of column %s", option, path,
                    m->values[i * m->cols + j], i + 1, m->names[j]);
}

void matrix_require_bare(const matrix *m, const char *option, const char *path)
{
    if (m->named)
        die("--%s: expected no header in \"%s\", got the column names %s, …", option, path, m->names[0]);
}

router_file router_file_read(const char *path)
{
    matrix m = matrix_read("router", path);
    matrix_require_bare(&m, "router", path);
    if (m.rows < 2)
        die("--router: expected at least 2 rows in \"%s\", one for each expert, got %zu", path, m.rows);
    if (m.cols < 2)
        die("--router: expected weights, then the bias, in the rows of \"%s\", got rows of %zu", path, m.cols);
    matrix_require_finite(&m, "router", path);
    router_file r = {.K = m.rows, .d = m.cols - 1};
    r.W = allocate(r.K * r.d, sizeof(double));
    r.b = allocate(r.K, sizeof(double));
    for (size_t k = 0; k < r.K; k++) {
        memcpy(r.W + k * r.d, m.values + k * m.cols, r.d * sizeof(double));
        r.b[k] = m.values[k * m.cols + r.d];
    }
    matrix_free(&m);
    return r;
}

void router_file_free(router_file *r)
{
    free(r->W);
    free(r->b);
}
