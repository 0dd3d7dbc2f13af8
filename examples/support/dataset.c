#include "dataset.h"

#include "matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Mean and population variance of column j over the rows to fit on, in units of 2^exponent: the power of two that makes
 * the largest value less than 1, so that no square overflows, and none is lost that counts. */
static int column_moments(const dataset *data, size_t j, double *mean, double *variance)
{
    const size_t n = data->fitted;
    double *column = allocate(n, sizeof *column), largest = 0;
    int exponent;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(data->x[i * data->d + j]));
    frexp(largest, &exponent);
    for (size_t i = 0; i < n; i++)
        column[i] = ldexp(data->x[i * data->d + j], -exponent);
    double *state = allocate(data->w == NULL ? moeg_moments_size(1) : moeg_weighted_size(1), sizeof *state);
    if (data->w == NULL) {
        require(moeg_moments_add(1, n, n, column, state));
        *mean = state[1];
        *variance = state[2] / state[0];
    } else {
        double total = 0, squares = 0;
        require(moeg_weighted_add(1, n, n, column, data->w, state));
        require(moeg_weighted_means(1, state, mean, NULL));
        for (size_t i = 0; i < n; i++) {
            total += data->w[i];
            squares += data->w[i] > 0 ? data->w[i] * pow(column[i] - *mean, 2) : 0;
        }
        *variance = squares / total;
    }
    free(state);
    free(column);
    return exponent;
}

/* Subtracts the mean of column j. A column so wide that this overflows stays as it is. */
static void centre_column(dataset *data, size_t j)
{
    double mean, variance;
    const int exponent = column_moments(data, j, &mean, &variance);
    mean = ldexp(mean, exponent);
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
    double mean, variance;
    int varies = 0;
    for (size_t i = 0; i < data->fitted; i++)
        varies |= data->x[i * data->d + j] != data->x[j];
    if (!varies)
        die("--standardize: expected columns that vary, got %g in every row of column %s", data->x[j], name);
    const int exponent = column_moments(data, j, &mean, &variance);
    const double deviation = sqrt(variance);
    if (!(deviation > 0))
        die("--standardize: expected a standard deviation above 0 to rounding, got 0 in column %s", name);
    for (size_t i = 0; i < data->n; i++) {
        double *value = &data->x[i * data->d + j];
        *value = (ldexp(*value, -exponent) - mean) / deviation;
    }
    data->origin[j] = mean / deviation;
}

/* A row of the file with the number that decides whether it is held out. */
struct drawn {
    double u;
    size_t row;
};

static int by_draw(const void *a, const void *b)
{
    const struct drawn *p = a, *q = b;
    return p->u != q->u ? (p->u > q->u) - (p->u < q->u) : (p->row > q->row) - (p->row < q->row);
}

static int by_row(const void *a, const void *b)
{
    const struct drawn *p = a, *q = b;
    return (p->row > q->row) - (p->row < q->row);
}

/* The order of the rows: those to fit on, then those held out, of the smallest draws. Returns how many to fit on. */
static size_t deal_rows(const dataset_options *o, size_t n, struct drawn *rows)
{
    enum { HOLDOUT_STREAM = 1000 };
    for (size_t i = 0; i < n; i++)
        rows[i].row = i;
    if (o->holdout == 0)
        return n;
    const size_t held = (size_t)floor(o->holdout * (double)n + 0.5);
    if (held < 2 || n - held < 2)
        die("--holdout: expected a share that leaves at least 2 of %zu rows on either side, got %g: %zu held out", n,
            o->holdout, held);
    double *u = allocate(n, sizeof *u);
    require(moeg_stream_uniforms((moeg_stream){o->seed, HOLDOUT_STREAM}, 0, n, 1, u));
    for (size_t i = 0; i < n; i++)
        rows[i].u = -u[i];
    free(u);
    qsort(rows, n, sizeof *rows, by_draw);
    qsort(rows, n - held, sizeof *rows, by_row);
    qsort(rows + n - held, held, sizeof *rows, by_row);
    return n - held;
}

/* Weights are numbers of rows, or of something else that is counted: not negative, and some on either side. */
static void require_weights(const dataset *data, const struct drawn *rows, const char *name)
{
    double fit = 0, measure = 0;
    for (size_t i = 0; i < data->n; i++) {
        if (data->w[i] < 0)
            die("--weights: expected weights of at least 0, got %g in row %zu of column %s", data->w[i],
                rows[i].row + 1, name);
        fit += i < data->fitted ? data->w[i] : 0;
        measure += i >= data->first ? data->w[i] : 0;
    }
    if (fit == 0 || measure == 0)
        die("--weights: expected a row of positive weight %s, got none in column %s",
            data->first == 0 ? "among all" : "among those to fit on, and among those held out", name);
}

/* The columns of the file to their places. */
static void fill(const matrix *m, const struct drawn *rows, size_t target, size_t weights, dataset *data)
{
    for (size_t i = 0; i < m->rows; i++)
        for (size_t j = 0, at = 0; j < m->cols; j++) {
            const double value = m->values[rows[i].row * m->cols + j];
            if (j == target)
                data->y[i] = value;
            else if (j == weights)
                data->w[i] = value;
            else
                data->x[i * data->d + at++] = value;
        }
}

dataset dataset_read(const dataset_options *o)
{
    matrix m = matrix_read("data", o->path);
    matrix_require_finite(&m, "data", o->path);
    take_logs(&m, o->logs);
    const size_t target = o->target != NULL ? find_column(&m, "target", o->target, strlen(o->target)) : m.cols;
    const size_t weights = o->weights != NULL ? find_column(&m, "weights", o->weights, strlen(o->weights)) : m.cols;
    if (target == weights && target < m.cols)
        die("--weights: expected a column other than the target, got \"%s\"", o->weights);
    dataset data = {.n = m.rows, .d = m.cols - (o->target != NULL) - (o->weights != NULL)};
    if (data.d == 0)
        die("--data: expected a column besides the target%s in \"%s\", got none",
            o->weights != NULL ? " and the weights" : "", o->path);
    struct drawn *rows = allocate(data.n, sizeof *rows);
    data.fitted = deal_rows(o, data.n, rows);
    data.first = data.fitted < data.n ? data.fitted : 0;
    data.x = allocate(data.n * data.d, sizeof(double));
    data.mean = allocate(data.d, sizeof(double));
    data.origin = allocate(data.d, sizeof(double));
    if (o->target != NULL)
        data.y = allocate(data.n, sizeof(double));
    if (o->weights != NULL)
        data.w = allocate(data.n, sizeof(double));
    fill(&m, rows, target, weights, &data);
    if (data.w != NULL)
        require_weights(&data, rows, o->weights);
    for (size_t j = 0, at = 0; j < m.cols; j++) {
        if (j == target || j == weights)
            continue;
        if (o->standardize)
            standardize_column(&data, at++, m.names[j]);
        else
            centre_column(&data, at++);
    }
    free(rows);
    matrix_free(&m);
    return data;
}

void dataset_free(dataset *data)
{
    free(data->x);
    free(data->mean);
    free(data->origin);
    free(data->y);
    free(data->w);
}

moeg_router *router_read(const char *path, size_t d, const double *mean)
{
    router_file file = router_file_read(path);
    if (file.d != d)
        die("--router: expected rows of %zu numbers in \"%s\" (%zu weights, then the bias), got rows of %zu", d + 1,
            path, d, file.d + 1);
    for (size_t k = 0; k < file.K; k++) {
        long double bias = file.b[k];
        for (size_t j = 0; j < d; j++)
            bias += (long double)file.W[k * d + j] * mean[j];
        file.b[k] = (double)bias;
        if (!isfinite(file.b[k]))
            die("--router: expected logits in the range of double precision at the mean of the rows, got more in row "
                "%zu of \"%s\"",
                k + 1, path);
    }
    moeg_router *router;
    if (moeg_router_affine_create(&router, file.K, d, file.W, file.b) != MOEG_OK)
        die("--router: %s, in \"%s\"", moeg_last_error(), path);
    router_file_free(&file);
    return router;
}
