/* Weighted means and the covariance of their estimates, in one pass. Two means are kept, under w and under w^2: scatter
 * under w^2 is merged about its own mean, as Chan's update wants, and moved to the other at the end. */
#include <moegeom/estimate.h>

#include "base/error.h"

#include <math.h>
#include <string.h>

/* Where the parts of a state begin. */
enum { ROWS, SUM, SQUARES, MEANS };

/* Units of a tile, summed in two passes and merged. */
enum { TILE = 1024 };

size_t moeg_weighted_size(size_t p)
{
    const size_t covariance = moeg_covariance_size(p);
    return covariance > SIZE_MAX - 2 - p ? SIZE_MAX : covariance + 2 + p;
}

static moeg_status check(size_t p, size_t n, size_t stride, const double *values, const double *weights,
                         const double *state)
{
    static const char function[] = "weighted_add";
    moeg_status status = moeg_check_pointer(function, "state", state);
    if (status == MOEG_OK && p == 0)
        status = moeg_fail(MOEG_EINVAL, "%s: p must be at least 1, got 0", function);
    if (status == MOEG_OK && stride < n)
        status = moeg_fail(MOEG_EINVAL, "%s: stride must be at least n = %zu, got %zu", function, n, stride);
    if (status == MOEG_OK && n > 0)
        status = moeg_check_array(function, "values", p, stride, values);
    if (status == MOEG_OK && n > 0)
        status = moeg_check_pointer(function, "weights", weights);
    for (size_t i = 0; i < n && status == MOEG_OK; i++) {
        if (!(weights[i] >= 0 && isfinite(weights[i])))
            return moeg_fail(MOEG_EINVAL, "%s: weights[%zu] must be finite and at least 0, got %g", function, i,
                             weights[i]);
        for (size_t j = 0; weights[i] > 0 && j < p; j++)
            if (!isfinite(values[j * stride + i]))
                return moeg_fail(MOEG_EINVAL, "%s: values[%zu, %zu] must be finite, got %g", function, j, i,
                                 values[j * stride + i]);
    }
    return status;
}

/* The mean of one variable under w^power, corrected by the mean of what it leaves. total: the sum of those weights. */
static double tile_mean(size_t n, const double *x, const double *weights, int power, double total)
{
    double mean = 0;
    for (int pass = 0; pass < 2; pass++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            if (weights[i] > 0)
                sum += (power == 1 ? weights[i] : weights[i] * weights[i]) * (x[i] - mean);
        mean += sum / total;
    }
    return mean;
}

/* Scatter under w^2 of two variables about their means. */
static double tile_scatter(size_t n, const double *x, double x_mean, const double *y, double y_mean,
                           const double *weights)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        if (weights[i] > 0)
            sum += weights[i] * (x[i] - x_mean) * (weights[i] * (y[i] - y_mean));
    return sum;
}

/* One tile into the state. From the last variable down: the state's means of one are no more needed when it is done. */
static void add_tile(size_t p, size_t n, size_t stride, const double *values, const double *weights, double *state)
{
    double rows = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        rows += weights[i] > 0;
        sum += weights[i];
        squares += weights[i] * weights[i];
    }
    if (!(squares > 0))
        return;
    double *mean = state + MEANS, *other = mean + p, *scatter = other + p;
    const double before = state[SQUARES], share = squares / (before + squares);
    const double part = sum / (state[SUM] + sum);
    for (size_t i = p; i-- > 0;) {
        const double *x = values + i * stride;
        const double x_mean = tile_mean(n, x, weights, 2, squares);
        for (size_t j = 0; j <= i; j++) {
            const double *y = values + j * stride;
            const double y_mean = j == i ? x_mean : tile_mean(n, y, weights, 2, squares);
            scatter[i * (i + 1) / 2 + j] += tile_scatter(n, x, x_mean, y, y_mean, weights) +
                                            (x_mean - other[i]) * (y_mean - other[j]) * (before * share);
        }
        other[i] += (x_mean - other[i]) * share;
        mean[i] += (tile_mean(n, x, weights, 1, sum) - mean[i]) * part;
    }
    state[ROWS] += rows;
    state[SUM] += sum;
    state[SQUARES] += squares;
}

moeg_status moeg_weighted_add(size_t p, size_t n, size_t stride, const double *values, const double *weights,
                              double *state)
{
    const moeg_status status = check(p, n, stride, values, weights, state);
    if (status != MOEG_OK)
        return status;
    for (size_t first = 0; first < n; first += TILE)
        add_tile(p, n - first < TILE ? n - first : TILE, stride, values + first, weights + first, state);
    return MOEG_OK;
}

void moeg_weighted_merge(size_t p, const double *right, double *left)
{
    if (!(right[SQUARES] > 0))
        return;
    if (!(left[SQUARES] > 0)) {
        memcpy(left, right, moeg_weighted_size(p) * sizeof *left);
        return;
    }
    double *mean = left + MEANS, *other = mean + p, *scatter = other + p;
    const double *right_mean = right + MEANS, *right_other = right_mean + p, *right_scatter = right_other + p;
    const double share = right[SQUARES] / (left[SQUARES] + right[SQUARES]),
                 part = right[SUM] / (left[SUM] + right[SUM]);
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j <= i; j++) {
            const size_t at = i * (i + 1) / 2 + j;
            scatter[at] +=
                right_scatter[at] + (right_other[i] - other[i]) * (right_other[j] - other[j]) * (left[SQUARES] * share);
        }
    for (size_t i = 0; i < p; i++) {
        other[i] += (right_other[i] - other[i]) * share;
        mean[i] += (right_mean[i] - mean[i]) * part;
    }
    for (size_t i = 0; i < MEANS; i++)
        left[i] += right[i];
}

double moeg_weighted_units(const double *state)
{
    return state[SQUARES] > 0 ? state[SUM] * (state[SUM] / state[SQUARES]) : 0;
}

moeg_status moeg_weighted_means(size_t p, const double *state, double *mean, double *covariance)
{
    static const char function[] = "weighted_means";
    moeg_status status = moeg_check_pointer(function, "state", state);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "mean", mean);
    if (status != MOEG_OK)
        return status;
    if (p == 0)
        return moeg_fail(MOEG_EINVAL, "%s: p must be at least 1, got 0", function);
    if (!(state[ROWS] > 0))
        return moeg_fail(MOEG_EINVAL, "%s: the state has no rows", function);
    const double *means = state + MEANS, *other = means + p, *scatter = other + p, n = state[ROWS];
    memcpy(mean, means, p * sizeof *mean);
    for (size_t i = 0; covariance != NULL && i < p; i++)
        for (size_t j = 0; j <= i; j++) {
            const double shift = (other[i] - means[i]) * (other[j] - means[j]) * state[SQUARES];
            const double moment = (scatter[i * (i + 1) / 2 + j] + shift) / state[SUM] / state[SUM];
            covariance[i * p + j] = covariance[j * p + i] = n > 1 ? moment * (n / (n - 1)) : i == j ? INFINITY : NAN;
        }
    return MOEG_OK;
}
