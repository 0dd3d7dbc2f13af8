#include "base/error.h"
#include "base/kernel.h"
#include "dynamics/symmetry_sample.h"
#include "model/block.h"
#include "model/model.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Rows of one multiplication where the product is symmetric. */
enum { PANEL = 4 };

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t moeg_symmetry_layout(const moeg_symmetry_run *run, size_t stride, double *base, moeg_symmetry_tile *tile)
{
    const size_t d = run->d, m = run->m, p = run->p, widest = larger(d, p);
    const int user = run->contrast.kind == MOEG_CONTRAST_USER;
    const size_t law = moeg_law_workspace(run->law, larger(stride, MOEG_LANES));
    const size_t teacher = moeg_teacher_workspace(run->teacher, larger(stride, MOEG_LANES));
    size_t used = 0;
    *tile = (moeg_symmetry_tile){.stride = stride};
    tile->x = moeg_take(base, &used, d * stride);
    tile->y = moeg_take(base, &used, m * stride);
    tile->w = moeg_take(base, &used, stride);
    tile->fit = moeg_take(base, &used, m * stride);
    tile->psi = moeg_take(base, &used, user ? p * stride : 0);
    tile->rows = moeg_take(base, &used, user ? (d + p) * stride : 0);
    tile->scaled = moeg_take(base, &used, widest * stride);
    tile->product = moeg_take(base, &used, widest * larger(PANEL, larger(p, run->m)));
    tile->one = moeg_take(base, &used, (d + m) * MOEG_LANES);
    tile->scratch = moeg_take(base, &used, larger(law, teacher));
    return used;
}

uint64_t moeg_symmetry_row(const moeg_symmetry_run *run, uint64_t unit)
{
    return run->order != NULL ? run->order[unit] : unit;
}

/* Value 0 of each of the variables of a single row, to row i. */
static void spread(size_t variables, const double *one, size_t stride, size_t i, double *out)
{
    for (size_t j = 0; j < variables; j++)
        out[j * stride + i] = one[j * MOEG_LANES];
}

static void repeat_last(size_t variables, size_t n, size_t stride, double *out)
{
    for (size_t j = 0; j < variables; j++)
        for (size_t i = n; i < stride; i++)
            out[j * stride + i] = out[j * stride + n - 1];
}

/* Rows of data, one by one, in the run's order. */
static moeg_status gather(const moeg_symmetry_run *run, uint64_t first, moeg_symmetry_tile *t)
{
    const size_t d = run->d;
    const int data = moeg_teacher_rows(run->teacher) != 0;
    moeg_status status = MOEG_OK;
    for (size_t i = 0; i < t->n && status == MOEG_OK; i++) {
        const uint64_t row = run->order[first + i];
        status = moeg_law_draw(run->law, 0, row, 1, MOEG_LANES, t->one, t->scratch);
        spread(d, t->one, t->stride, i, t->x);
        double *y = t->one + d * MOEG_LANES;
        if (status == MOEG_OK && data) {
            status = moeg_teacher_mean_block(run->teacher, row, 1, MOEG_LANES, t->one, y, t->scratch);
            spread(run->m, y, t->stride, i, t->y);
        }
    }
    repeat_last(d, t->n, t->stride, t->x);
    if (data)
        repeat_last(run->m, t->n, t->stride, t->y);
    else if (status == MOEG_OK)
        status = moeg_teacher_mean_block(run->teacher, first, t->n, t->stride, t->x, t->y, t->scratch);
    return status;
}

/* MOEG_ERANGE for the first value that is not finite, if there is one. */
static moeg_status check_values(const moeg_symmetry_run *run, const char *what, uint64_t first, size_t variables,
                                const moeg_symmetry_tile *t, const double *values)
{
    for (size_t j = 0; j < variables; j++) {
        const double *value = values + j * t->stride;
        if (moeg_kernel_finite(t->n, value))
            continue;
        for (size_t i = 0; i < t->n; i++)
            if (!isfinite(value[i]))
                return moeg_fail(MOEG_ERANGE, "%s: %s %zu at sample %" PRIu64 " must be finite, got %g", run->name,
                                 what, j, moeg_symmetry_row(run, first + i), value[i]);
    }
    return MOEG_OK;
}

/* Whether x and y of the tile were kept; they are then as they were. */
static int recall(const moeg_symmetry_run *run, uint64_t first, moeg_symmetry_tile *t)
{
    if (run->kept == NULL || run->kept_rows[first] != t->n)
        return 0;
    const double *kept = run->kept + first * (run->d + run->m);
    for (size_t j = 0; j < run->d + run->m; j++) {
        double *variable = j < run->d ? t->x + j * t->stride : t->y + (j - run->d) * t->stride;
        memcpy(variable, kept + j * t->n, t->n * sizeof *variable);
    }
    repeat_last(run->d, t->n, t->stride, t->x);
    repeat_last(run->m, t->n, t->stride, t->y);
    return 1;
}

static void keep(const moeg_symmetry_run *run, uint64_t first, const moeg_symmetry_tile *t)
{
    if (run->kept == NULL)
        return;
    double *kept = run->kept + first * (run->d + run->m);
    for (size_t j = 0; j < run->d + run->m; j++) {
        const double *variable = j < run->d ? t->x + j * t->stride : t->y + (j - run->d) * t->stride;
        memcpy(kept + j * t->n, variable, t->n * sizeof *kept);
    }
    run->kept_rows[first] = (uint16_t)t->n;
}

/* x and y. */
static moeg_status draw(const moeg_symmetry_run *run, uint64_t first, moeg_symmetry_tile *t)
{
    moeg_status status;
    if (run->order != NULL) {
        status = gather(run, first, t);
    } else {
        status = moeg_law_draw(run->law, run->seed, first, t->n, t->stride, t->x, t->scratch);
        if (status == MOEG_OK)
            status = moeg_teacher_mean_block(run->teacher, first, t->n, t->stride, t->x, t->y, t->scratch);
    }
    if (status == MOEG_OK)
        status = check_values(run, "output of the teacher, number", first, run->m, t, t->y);
    if (status == MOEG_OK)
        keep(run, first, t);
    return status;
}

moeg_status moeg_symmetry_draw(const moeg_symmetry_run *run, uint64_t first, size_t n, moeg_symmetry_tile *t)
{
    t->n = n;
    const moeg_status status = recall(run, first, t) ? MOEG_OK : draw(run, first, t);
    for (size_t i = 0; i < t->stride; i++)
        t->w[i] = i >= n ? 0 : run->weights != NULL ? run->weights[run->order[first + i]] : 1;
    for (size_t j = 0; j < run->d && run->shifted; j++)
        for (size_t i = 0; i < t->stride; i++)
            t->x[j * t->stride + i] -= run->origin[j];
    return status;
}

/* NaN before they are called, so that what they leave out is seen. */
moeg_status moeg_symmetry_find_features(const moeg_symmetry_run *run, uint64_t first, moeg_symmetry_tile *t)
{
    if (run->contrast.kind != MOEG_CONTRAST_USER)
        return MOEG_OK;
    double *psi = t->rows + t->n * run->d;
    moeg_block_unpack(t->n, run->d, t->x, t->stride, t->rows);
    for (size_t i = 0; i < t->n * run->p; i++)
        psi[i] = NAN;
    const int answer = run->contrast.function(t->n, t->rows, psi, run->contrast.user);
    if (answer != 0)
        return moeg_fail(MOEG_ECALLBACK, "%s: the features returned %d at samples %" PRIu64 " .. %" PRIu64, run->name,
                         answer, moeg_symmetry_row(run, first), moeg_symmetry_row(run, first + t->n - 1));
    moeg_block_pack(t->n, run->p, psi, t->stride, t->psi);
    return check_values(run, "feature", first, run->p, t, t->psi);
}

const double *moeg_symmetry_center(const moeg_symmetry_run *run, moeg_symmetry_tile *t)
{
    if (run->shifted || !run->intercept)
        return t->x;
    for (size_t j = 0; j < run->d; j++)
        for (size_t i = 0; i < t->stride; i++)
            t->scaled[j * t->stride + i] = t->x[j * t->stride + i] - run->origin[j];
    return t->scaled;
}

void moeg_symmetry_residual(const moeg_symmetry_run *run, moeg_symmetry_tile *t)
{
    if (run->linear)
        moeg_kernel_affine(run->m, run->d, run->slope, run->constant, t->stride, moeg_symmetry_center(run, t), t->fit);
    for (size_t o = 0; o < run->m; o++) {
        double *r = t->y + o * t->stride;
        const double *fit = t->fit + o * t->stride, constant = run->intercept ? run->constant[o] : 0;
        for (size_t i = 0; i < t->stride; i++)
            r[i] = (r[i] - (run->linear ? fit[i] : constant)) * t->w[i];
    }
}

/* sum (rows x cols, `step` apart) += a b'. */
static void add_products(size_t rows, size_t cols, const moeg_symmetry_tile *t, const double *a, const double *b,
                         size_t step, double *sum)
{
    moeg_kernel_products(rows, cols, t->stride, t->stride, a, b, t->product);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            sum[i * step + j] += t->product[i * cols + j];
}

static void scale(size_t variables, const moeg_symmetry_tile *t, const double *values, const double *v)
{
    for (size_t j = 0; j < variables; j++)
        for (size_t i = 0; i < t->stride; i++)
            t->scaled[j * t->stride + i] = values[j * t->stride + i] * v[i];
}

void moeg_symmetry_add(const moeg_symmetry_run *run, const moeg_symmetry_tile *t, int ones, const double *v,
                       size_t step, double *sum)
{
    const moeg_contrast_kind kind = run->contrast.kind;
    if (kind == MOEG_CONTRAST_USER) {
        scale(run->p, t, t->psi, v);
        add_products(run->d, run->p, t, t->x, t->scaled, step, sum);
        return;
    }
    if (kind != MOEG_CONTRAST_LINEAR && ones)
        add_products(run->d, 1, t, t->x, v, step, sum);
    if (kind == MOEG_CONTRAST_CONSTANT)
        return;
    /* x times v x is symmetric: of each few rows no more than up to the diagonal. */
    double *part = sum + (kind == MOEG_CONTRAST_AFFINE);
    scale(run->d, t, t->x, v);
    for (size_t i = 0; i < run->d; i += PANEL) {
        const size_t rows = run->d - i < PANEL ? run->d - i : PANEL;
        add_products(rows, i + rows, t, t->x + i * t->stride, t->scaled, step, part + i * step);
    }
}

void moeg_symmetry_mirror(const moeg_symmetry_run *run, size_t step, double *sum)
{
    const moeg_contrast_kind kind = run->contrast.kind;
    if (kind != MOEG_CONTRAST_LINEAR && kind != MOEG_CONTRAST_AFFINE)
        return;
    double *part = sum + (kind == MOEG_CONTRAST_AFFINE);
    for (size_t i = 0; i < run->d; i++)
        for (size_t j = i + 1; j < run->d; j++)
            part[i * step + j] = part[j * step + i];
}
