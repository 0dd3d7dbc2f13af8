#include "dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A matrix with a name for each column. */
typedef struct matrix {
    size_t rows, cols;
    double *values;
    char **names;
    int named; /* whether the names are the file's own */
} matrix;

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

static void free_matrix(matrix *m)
{
    for (size_t j = 0; j < m->cols; j++)
        free(m->names[j]);
    free(m->names);
    free(m->values);
}

static matrix read_matrix(const char *option, const char *path)
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

static void require_finite(const matrix *m, const char *option, const char *path)
{
    for (size_t i = 0; i < m->rows; i++)
        for (size_t j = 0; j < m->cols; j++)
            if (!isfinite(m->values[i * m->cols + j]))
                die("--%s: expected finite numbers in \"%s\", got %g in row %zu of column %s", option, path,
                    m->values[i * m->cols + j], i + 1, m->names[j]);
}

/* The column of that name (its first `length` characters). */
static size_t find_column(const matrix *m, const char *option, const char *name, size_t length)
{
    char list[512] = "";
    for (size_t j = 0; j < m->cols; j++) {
        if (strlen(m->names[j]) == length && strncmp(m->names[j], name, length) == 0)
            return j;
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", j > 0 ? ", " : "", m->names[j]);
    }
    die("--%s: expected one of the columns %s, got \"%.*s\"", option, list, (int)length, name);
}

static void take_logs(matrix *m, const char *logs)
{
    int *taken = allocate(m->cols, sizeof *taken);
    for (const char *name = logs; name != NULL;) {
        const size_t length = strcspn(name, ",");
        const size_t j = find_column(m, "log", name, length);
        if (taken[j]++)
            die("--log: expected every column once, got \"%s\" twice", m->names[j]);
        for (size_t i = 0; i < m->rows; i++) {
            double *value = &m->values[i * m->cols + j];
            if (*value <= 0)
                die("--log: expected positive values, got %g in row %zu of column %s", *value, i + 1, m->names[j]);
            *value = log(*value);
        }
        name = name[length] == ',' ? name + length + 1 : NULL;
    }
    free(taken);
}

/* {count, mean, sum of squared deviations} of column j of the features, in units of 2^exponent: the power of two that
 * makes the largest value less than 1, so that no square overflows, and none is lost that counts. */
static int column_moments(const dataset *data, size_t j, double *state)
{
    double *column = allocate(data->n, sizeof *column), largest = 0;
    int exponent;
    for (size_t i = 0; i < data->n; i++)
        largest = fmax(largest, fabs(data->x[i * data->d + j]));
    frexp(largest, &exponent);
    for (size_t i = 0; i < data->n; i++)
        column[i] = ldexp(data->x[i * data->d + j], -exponent);
    state[0] = state[1] = state[2] = 0;
    require(moeg_moments_add(1, data->n, data->n, column, state));
    free(column);
    return exponent;
}

/* Subtracts the mean of column j. A column so wide that this overflows stays as it is. */
static void centre_column(dataset *data, size_t j)
{
    double state[3];
    const int exponent = column_moments(data, j, state);
    const double mean = ldexp(state[1], exponent);
    for (size_t i = 0; i < data->n; i++)
        if (!isfinite(data->x[i * data->d + j] - mean))
            return;
    for (size_t i = 0; i < data->n; i++)
        data->x[i * data->d + j] -= mean;
    data->mean[j] = data->origin[j] = mean;
}

/* Standardises column j of the (n x d) features. */
static void standardize_column(dataset *data, size_t j, const char *name)
{
    double state[3];
    int varies = 0;
    for (size_t i = 0; i < data->n; i++)
        varies |= data->x[i * data->d + j] != data->x[j];
    if (!varies)
        die("--standardize: expected columns that vary, got %g in every row of column %s", data->x[j], name);
    const int exponent = column_moments(data, j, state);
    const double deviation = sqrt(state[2] / state[0]);
    if (!(deviation > 0))
        die("--standardize: expected a standard deviation above 0 to rounding, got 0 in column %s", name);
    for (size_t i = 0; i < data->n; i++) {
        double *value = &data->x[i * data->d + j];
        *value = (ldexp(*value, -exponent) - state[1]) / deviation;
    }
    data->origin[j] = state[1] / deviation;
}

dataset dataset_read(const char *path, const char *target, const char *logs, int standardize)
{
    matrix m = read_matrix("data", path);
    require_finite(&m, "data", path);
    take_logs(&m, logs);
    const size_t at = target != NULL ? find_column(&m, "target", target, strlen(target)) : m.cols;
    dataset data = {.n = m.rows, .d = m.cols - (target != NULL)};
    if (data.d == 0)
        die("--data: expected a column besides the target in \"%s\", got none", path);
    data.x = allocate(data.n * data.d, sizeof(double));
    data.mean = allocate(data.d, sizeof(double));
    data.origin = allocate(data.d, sizeof(double));
    if (target != NULL)
        data.y = allocate(data.n, sizeof(double));
    for (size_t i = 0; i < m.rows; i++)
        for (size_t j = 0; j < m.cols; j++) {
            const double value = m.values[i * m.cols + j];
            if (j == at)
                data.y[i] = value;
            else
                data.x[i * data.d + j - (j > at)] = value;
        }
    for (size_t j = 0; j < data.d; j++)
        if (standardize)
            standardize_column(&data, j, m.names[j + (j >= at)]);
        else
            centre_column(&data, j);
    free_matrix(&m);
    return data;
}

void dataset_free(dataset *data)
{
    free(data->x);
    free(data->mean);
    free(data->origin);
    free(data->y);
}

moeg_router *router_read(const char *path, size_t d, const double *mean)
{
    matrix m = read_matrix("router", path);
    if (m.named)
        die("--router: expected no header in \"%s\", got the column names %s, …", path, m.names[0]);
    if (m.cols != d + 1)
        die("--router: expected rows of %zu numbers in \"%s\" (%zu weights, then the bias), got rows of %zu", d + 1,
            path, d, m.cols);
    if (m.rows < 2)
        die("--router: expected at least 2 rows in \"%s\", one for each expert, got %zu", path, m.rows);
    require_finite(&m, "router", path);
    double *W = allocate(m.rows * d, sizeof *W), *b = allocate(m.rows, sizeof *b);
    for (size_t k = 0; k < m.rows; k++) {
        memcpy(W + k * d, m.values + k * m.cols, d * sizeof *W);
        long double bias = m.values[k * m.cols + d];
        for (size_t j = 0; j < d; j++)
            bias += (long double)W[k * d + j] * mean[j];
        b[k] = (double)bias;
        if (!isfinite(b[k]))
            die("--router: expected logits in the range of double precision at the mean of the rows, got more in row "
                "%zu of \"%s\"",
                k + 1, path);
    }
    moeg_router *router;
    if (moeg_router_affine_create(&router, m.rows, d, W, b) != MOEG_OK)
        die("--router: %s, in \"%s\"", moeg_last_error(), path);
    free(W);
    free(b);
    free_matrix(&m);
    return router;
}
