/* Weighted means and the covariance of their estimates, in one pass. Two means are kept, under w and under w^2: scatter
 * under w^2 is merged about its own mean, as Chan's update wants, and moved to the other at the end. Weights are held
 * in units of a power of two, so that the largest is in [1/2, 1), whatever they are. */
#include <moegeom/estimate.h>

#include "base/error.h"
#include "base/moments.h"

#include <math.h>
#include <string.h>

/* Where the parts of a state begin: rows of positive weight, the power of two, sum w; what a covariance of units that
 * count w^2 times keeps, sum w^2, means (p), scatter; and, at its end, the means under w (p). */
enum { ROWS, EXPONENT, SUM, SQUARES };

static double *means_of(size_t p, double *state)
{
    return state + SQUARES + moeg_covariance_size(p);
}

size_t moeg_weighted_size(size_t p)
{
    const size_t covariance = moeg_covariance_size(p);
    return covariance > SIZE_MAX - SQUARES - p ? SIZE_MAX : SQUARES + covariance + p;
}

static moeg_status check(size_t p, size_t n, size_t stride, const double *values, const double *weights,
                         const double *state)
{
    static const char function[] = "weighted_add";
    moeg_status status = n > 0 ? moeg_check_pointer(function, "weights", weights) : MOEG_OK;
    for (size_t i = 0; i < n && status == MOEG_OK; i++)
        if (!(weights[i] >= 0 && isfinite(weights[i])))
            return moeg_fail(MOEG_EINVAL, "%s: weights[%zu] must be finite and at least 0, got %g", function, i,
                             weights[i]);
    return status == MOEG_OK ? moeg_check_units(function, p, n, stride, values, weights, state) : status;
}

/* a - b, or far enough: no powers of two of doubles are farther apart, but those of a damaged state may be. */
static int difference(double a, double b)
{
    const double most = 2200;
    return (int)fmax(fmin(a - b, most), -most);
}

/* A state in units of 2^exponent. Powers of two round nothing but what the largest weight leaves no trace of. */
static void rescale(size_t p, double exponent, double *state)
{
    const int step = difference(state[EXPONENT], exponent);
    double *scatter = state + SQUARES + 1 + p;
    state[EXPONENT] = exponent;
    state[SUM] = ldexp(state[SUM], step);
    state[SQUARES] = ldexp(state[SQUARES], 2 * step);
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j <= i; j++, scatter++)
            *scatter = moeg_keep_spread(ldexp(*scatter, 2 * step), i == j && *scatter > 0);
}

/* The tile's weights in units of the state, which are made those of its largest weight if that is larger. Returns how
 * many are positive. */
static size_t scale(size_t p, size_t units, const double *weights, double *state, double *w)
{
    double largest = 0;
    int exponent;
    size_t rows = 0;
    for (size_t i = 0; i < units; i++) {
        largest = fmax(largest, weights[i]);
        rows += weights[i] > 0;
    }
    frexp(largest, &exponent);
    if (rows > 0 && (state[ROWS] == 0 || exponent > state[EXPONENT]))
        rescale(p, exponent, state);
    for (size_t i = 0; rows > 0 && i < units; i++)
        w[i] = ldexp(weights[i], difference(0, state[EXPONENT]));
    return rows;
}

static void add_tile(size_t p, size_t units, size_t stride, const double *values, const double *weights, double *state)
{
    double w[MOEG_MOMENTS_TILE], sum = 0, squares = 0, *means = means_of(p, state);
    const size_t rows = scale(p, units, weights, state, w);
    for (size_t i = 0; rows > 0 && i < units; i++) {
        sum += w[i];
        squares += w[i] * w[i];
    }
    for (size_t j = 0; sum > 0 && j < p; j++) {
        const double mean = moeg_weighted_tile_mean(units, values + j * stride, w, 0, sum);
        means[j] = state[SUM] > 0 ? means[j] + (mean - means[j]) * (sum / (state[SUM] + sum)) : mean;
    }
    /* Squares of small weights may be lost, beside those that were there before: that their values differ is not. */
    double *covariance = state + SQUARES;
    if (squares > 0)
        moeg_covariance_tile(p, units, stride, values, w, squares, covariance);
    for (size_t j = 0; squares == 0 && rows > 0 && j < p; j++) {
        double *spread = &covariance[1 + p + j * (j + 3) / 2];
        *spread = moeg_keep_spread(*spread, *spread == 0 &&
                                                moeg_values_differ(units, values + j * stride, w, covariance[1 + j]));
    }
    state[SUM] += sum;
    state[ROWS] += (double)rows;
}

moeg_status moeg_weighted_add(size_t p, size_t n, size_t stride, const double *values, const double *weights,
                              double *state)
{
    const moeg_status status = check(p, n, stride, values, weights, state);
    if (status != MOEG_OK)
        return status;
    for (size_t first = 0; first < n; first += MOEG_MOMENTS_TILE)
        add_tile(p, n - first < MOEG_MOMENTS_TILE ? n - first : MOEG_MOMENTS_TILE, stride, values + first,
                 weights + first, state);
    return MOEG_OK;
}

void moeg_weighted_merge(size_t p, const double *right, double *left)
{
    if (right[ROWS] == 0)
        return;
    if (left[ROWS] == 0) {
        memcpy(left, right, moeg_weighted_size(p) * sizeof *left);
        return;
    }
    if (right[EXPONENT] > left[EXPONENT])
        rescale(p, right[EXPONENT], left);
    const double unit = ldexp(1, difference(right[EXPONENT], left[EXPONENT])), sum = unit * right[SUM];
    const double share = sum / (left[SUM] + sum);
    for (size_t j = moeg_weighted_size(p) - p; j < moeg_weighted_size(p); j++)
        left[j] += (right[j] - left[j]) * share;
    moeg_covariance_merge_scaled(p, unit, right + SQUARES, left + SQUARES);
    left[SUM] += sum;
    left[ROWS] += right[ROWS];
}

/* In [1, rows] by Cauchy's inequality, but for rounding. What is no number stays so. */
double moeg_weighted_units(const double *state)
{
    const double rows = state[ROWS], units = state[SUM] * (state[SUM] / state[SQUARES]);
    if (!(rows > 0))
        return 0;
    return units > rows ? rows : units < 1 ? 1 : units;
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
    const double *other = state + SQUARES + 1, *scatter = other + p, *means = state + moeg_weighted_size(p) - p;
    const double units = moeg_weighted_units(state), sum = state[SUM];
    memcpy(mean, means, p * sizeof *mean);
    for (size_t i = 0; covariance != NULL && i < p; i++)
        for (size_t j = 0; j <= i; j++) {
            const double shift = (other[i] - means[i]) * (other[j] - means[j]) * state[SQUARES];
            const double inside = scatter[i * (i + 1) / 2 + j];
            const double moment =
                moeg_keep_spread((inside + shift) / sum / sum, i == j && (inside > 0 || other[i] != means[i]));
            covariance[i * p + j] = covariance[j * p + i] = units > 1 ? moment * (units / (units - 1))
                                                            : i == j  ? INFINITY
                                                                      : NAN;
        }
    return MOEG_OK;
}
