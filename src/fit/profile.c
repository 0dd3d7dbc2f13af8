#include <moegeom/profile.h>

#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const char function[] = "profile_hard";

typedef struct problem {
    size_t n, d, m;
    const double *x, *y; /* (n x d), (n x m) */
    const double *w;     /* (n), or NULL: all 1 */
    size_t *row;         /* (n) rows of positive weight by cell, in order */
    size_t *start;       /* (K + 1) first entry of each cell in row */
    double *features;    /* (most rows x d) contrasts of a cell, then its rows */
    double *outputs;     /* (most rows x m) contrasts, then what the expert says */
    double *slopes;      /* (d x m) */
    double *transposed;  /* (m x d) */
    double *mean;        /* (d + m) of a cell, less its first row */
    double *intercept;   /* (m) */
} problem;

static void problem_free(problem *p)
{
    moeg_release(p->row);
    moeg_release(p->start);
    moeg_release(p->features);
    moeg_release(p->outputs);
    moeg_release(p->slopes);
    moeg_release(p->transposed);
    moeg_release(p->mean);
    moeg_release(p->intercept);
}

static double weight(const problem *p, size_t i)
{
    return p->w == NULL ? 1 : p->w[i];
}

/* Sorts the rows by cell: p->row, p->start. Counting sort: rows stay in order inside a cell. */
static moeg_status find_cells(problem *p, const moeg_router *router, size_t K)
{
    size_t *choice = moeg_alloc(p->n, sizeof *choice);
    p->row = moeg_alloc(p->n, sizeof *p->row);
    p->start = moeg_alloc_zero(K + 1, sizeof *p->start);
    moeg_status status = choice && p->row && p->start ? MOEG_OK : moeg_fail_memory(function);
    if (status == MOEG_OK)
        status = moeg_router_top(router, p->n, p->x, 1, choice);
    if (status == MOEG_OK) {
        for (size_t i = 0; i < p->n; i++)
            p->start[choice[i] + 1] += weight(p, i) > 0;
        for (size_t k = 0; k < K; k++)
            p->start[k + 1] += p->start[k];
        for (size_t i = 0; i < p->n; i++)
            if (weight(p, i) > 0)
                p->row[p->start[choice[i]]++] = i;
        memmove(p->start + 1, p->start, K * sizeof *p->start);
        p->start[0] = 0;
    }
    moeg_release(choice);
    return status;
}

static moeg_status problem_alloc(problem *p, size_t K)
{
    size_t most = 0;
    for (size_t k = 0; k < K; k++)
        if (p->start[k + 1] - p->start[k] > most)
            most = p->start[k + 1] - p->start[k];
    p->features = moeg_alloc(most, p->d * sizeof(double));
    p->outputs = moeg_alloc(most, p->m * sizeof(double));
    p->slopes = moeg_alloc(p->d, p->m * sizeof(double));
    p->transposed = moeg_alloc(p->d, p->m * sizeof(double));
    p->mean = moeg_alloc(p->d + p->m, sizeof(double));
    p->intercept = moeg_alloc(p->m, sizeof(double));
    if (!p->features || !p->outputs || !p->slopes || !p->transposed || !p->mean || !p->intercept)
        return moeg_fail_memory(function);
    return MOEG_OK;
}

/* Helmert contrasts of r rows of z_i = row i - row 0: out_i = sqrt(w_i W/(w_i + W)) (z_i - mean of z_0 .. z_(i - 1)),
 * W = w_0 + ... + w_(i - 1), i = 1 .. r - 1, and mean = the mean of all. They are the centred rows, times sqrt(w), seen
 * in an orthonormal basis of the complement of (sqrt(w_0), …): the same Gram matrix and least squares with one row
 * less, so that a cell of r rows has rank r - 1 at most, and a constant column is exactly 0. Shifting all rows changes
 * nothing but the rounding of z. */
static void contrast(const problem *p, size_t r, size_t cols, const size_t *row, const double *values, double *mean,
                     double *out)
{
    double before = weight(p, row[0]);
    for (size_t j = 0; j < cols; j++)
        mean[j] = 0;
    for (size_t i = 1; i < r; i++) {
        const double own = weight(p, row[i]), share = own / (own + before), scale = sqrt(share * before);
        for (size_t j = 0; j < cols; j++) {
            const double z = values[row[i] * cols + j] - values[row[0] * cols + j];
            const double step = z - mean[j];
            out[(i - 1) * cols + j] = scale * step;
            mean[j] += step * share;
        }
        before += own;
    }
}

/* What rounding may have done to the contrasts: every x_ij is right to epsilon |x_ij| at best, so that a matrix of the
 * norm sqrt(sum w) epsilon max |x_ij| is not seen. Columns that are constant in the cell have contrasts of exactly 0.
 */
static double rounding(const problem *p, size_t r, const size_t *row)
{
    double largest = 0, total = 0;
    for (size_t i = 0; i < r; i++)
        total += weight(p, row[i]);
    for (size_t j = 0; j < p->d; j++) {
        double size = 0;
        int varies = 0;
        for (size_t i = 0; i < r; i++) {
            const double x = p->x[row[i] * p->d + j];
            size = fmax(size, fabs(x));
            varies |= x < p->x[row[0] * p->d + j] || x > p->x[row[0] * p->d + j];
        }
        if (varies)
            largest = fmax(largest, size);
    }
    return sqrt(total) * DBL_EPSILON * largest;
}

/* Sum over the cell of w |y - f(x)|^2, f the expert as it is: its coefficients are rounded, and so is its arithmetic.
 */
static moeg_status residual(problem *p, size_t r, const size_t *row, const moeg_expert *expert, double *sum)
{
    for (size_t i = 0; i < r; i++)
        memcpy(p->features + i * p->d, p->x + row[i] * p->d, p->d * sizeof(double));
    const moeg_status status = moeg_expert_forward(expert, r, p->features, p->outputs);
    if (status != MOEG_OK)
        return status;
    *sum = 0;
    for (size_t i = 0; i < r; i++)
        for (size_t o = 0; o < p->m; o++) {
            const double error = p->y[row[i] * p->m + o] - p->outputs[i * p->m + o];
            *sum += weight(p, row[i]) * error * error;
        }
    return MOEG_OK;
}

/* The expert of slopes and means: A = slopes', c = (y_0 + mean of y - y_0) - A (x_0 + mean of x - x_0). */
static moeg_status make_expert(problem *p, const size_t *row, moeg_expert **expert)
{
    for (size_t o = 0; o < p->m; o++) {
        double shift = 0;
        for (size_t j = 0; j < p->d; j++) {
            const double slope = p->slopes[j * p->m + o];
            p->transposed[o * p->d + j] = slope;
            shift += slope * (p->x[row[0] * p->d + j] + p->mean[j]);
        }
        p->intercept[o] = p->y[row[0] * p->m + o] + p->mean[p->d + o] - shift;
    }
    return moeg_expert_affine_create(expert, p->d, p->m, p->transposed, p->intercept);
}

static moeg_status fail_range(size_t k)
{
    return moeg_fail(MOEG_ERANGE, "%s: the least squares of cell %zu overflow", function, k);
}

static int all_finite(size_t n, const double *values)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return 0;
    return 1;
}

static moeg_status fit_cell(problem *p, size_t k, moeg_expert **expert, moeg_cell_fit *fit)
{
    const size_t r = p->start[k + 1] - p->start[k], contrasts = r > 0 ? r - 1 : 0;
    const size_t *row = p->row + p->start[k];
    *fit = (moeg_cell_fit){.rows = r, .rank = 0, .deficient = 1, .residual = 0};
    if (r == 0) {
        memset(p->intercept, 0, p->m * sizeof(double));
        return moeg_expert_constant_create(expert, p->d, p->m, p->intercept);
    }
    contrast(p, r, p->d, row, p->x, p->mean, p->features);
    contrast(p, r, p->m, row, p->y, p->mean + p->d, p->outputs);
    if (!all_finite(contrasts * p->d, p->features) || !all_finite(contrasts * p->m, p->outputs))
        return fail_range(k);
    moeg_status status = moeg_linalg_least_squares(function, contrasts, p->d, p->m, p->features, p->outputs,
                                                   rounding(p, r, row), p->slopes, &fit->rank);
    if (status != MOEG_OK)
        return status;
    fit->deficient = fit->rank < p->d;
    status = make_expert(p, row, expert);
    if (status == MOEG_OK)
        status = residual(p, r, row, *expert, &fit->residual);
    /* The coefficients are ours: if the expert refuses them, or its outputs, they overflowed. */
    return status == MOEG_EINVAL || status == MOEG_ERANGE || !isfinite(fit->residual) ? fail_range(k) : status;
}

static moeg_status check_arguments(const moeg_router *router, size_t n, const double *x, size_t m, const double *y,
                                   const double *weights, moeg_expert *const *experts)
{
    moeg_status status = moeg_check_pointer(function, "router", router);
    if (status == MOEG_OK && (n == 0 || m == 0))
        status = moeg_fail(MOEG_EINVAL, "%s: %s must be at least 1, got 0", function, n == 0 ? "n" : "m");
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "experts", experts);
    if (status == MOEG_OK)
        status = moeg_check_rows(function, "x", n, moeg_router_dim(router), x);
    if (status == MOEG_OK)
        status = moeg_check_rows(function, "y", n, m, y);
    for (size_t i = 0; weights != NULL && i < n && status == MOEG_OK; i++)
        if (!(weights[i] >= 0 && isfinite(weights[i])))
            status = moeg_fail(MOEG_EINVAL, "%s: weights[%zu] must be finite and at least 0, got %g", function, i,
                               weights[i]);
    return status;
}

moeg_status moeg_profile_hard(const moeg_router *router, size_t n, const double *x, size_t m, const double *y,
                              const double *weights, moeg_expert **experts, moeg_cell_fit *fit)
{
    moeg_status status = check_arguments(router, n, x, m, y, weights, experts);
    if (status != MOEG_OK)
        return status;
    const size_t K = moeg_router_experts(router);
    problem p = {.n = n, .d = moeg_router_dim(router), .m = m, .x = x, .y = y, .w = weights};
    moeg_expert **made = moeg_alloc_zero(K, sizeof(moeg_expert *));
    moeg_cell_fit *found = moeg_alloc(K, sizeof *found);
    status = made && found ? find_cells(&p, router, K) : moeg_fail_memory(function);
    if (status == MOEG_OK)
        status = problem_alloc(&p, K);
    for (size_t k = 0; k < K && status == MOEG_OK; k++)
        status = fit_cell(&p, k, &made[k], &found[k]);
    if (status == MOEG_OK) {
        memcpy(experts, made, K * sizeof(moeg_expert *));
        if (fit != NULL)
            memcpy(fit, found, K * sizeof *fit);
    } else if (made != NULL) {
        for (size_t k = 0; k < K; k++)
            moeg_expert_free(made[k]);
    }
    moeg_release(made);
    moeg_release(found);
    problem_free(&p);
    return status;
}
