#include "line/tally.h"

#include <moegeom/estimate.h>

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"

#include <math.h>

moeg_status moeg_ray_result_init(const char *function, size_t count, moeg_ray_result *result)
{
    *result = (moeg_ray_result){
        .value = moeg_alloc_zero(count, sizeof(double)),
        .error = moeg_alloc_zero(count, sizeof(double)),
        .covariance = moeg_alloc_zero(count, count * sizeof(double)),
        .freedom = moeg_alloc_zero(count, sizeof(double)),
        .contributing = moeg_alloc_zero(count, sizeof(uint64_t)),
        .seen = moeg_alloc_zero(count, sizeof(double)),
    };
    if (result->value != NULL && result->error != NULL && result->covariance != NULL && result->freedom != NULL &&
        result->contributing != NULL && result->seen != NULL)
        return MOEG_OK;
    moeg_ray_result_free(result);
    return moeg_fail_memory(function);
}

void moeg_ray_result_free(moeg_ray_result *result)
{
    moeg_release(result->value);
    moeg_release(result->error);
    moeg_release(result->covariance);
    moeg_release(result->freedom);
    moeg_release(result->contributing);
    moeg_release(result->seen);
    *result = (moeg_ray_result){0};
}

/* Where the parts of a state stand. */
typedef struct parts {
    size_t errors, sizes, lines;
} parts;

static parts parts_of(size_t count)
{
    const size_t covariance = moeg_covariance_size(count);
    return (parts){covariance, covariance + count, covariance + 2 * count};
}

size_t moeg_tally_size(size_t count)
{
    return parts_of(count).lines + count;
}

moeg_status moeg_tally_add(size_t count, size_t n, size_t stride, double *values, const double *errors, double *state)
{
    const size_t half = stride / 2;
    const parts at = parts_of(count);
    for (size_t j = 0; j < count; j++) {
        double *value = values + j * stride, sums[3];
        const double *error = errors + j * stride;
        moeg_kernel_pairs(n, value, value + half, error, error + half, sums);
        state[at.errors + j] += sums[0];
        state[at.sizes + j] += sums[1];
        state[at.lines + j] += sums[2];
    }
    return moeg_covariance_add(count, n, stride, values, state);
}

void moeg_tally_merge(size_t count, const double *right, double *left)
{
    const size_t size = moeg_tally_size(count);
    moeg_covariance_merge(count, right, left);
    for (size_t j = moeg_covariance_size(count); j < size; j++)
        left[j] += right[j];
}

/* Value j: of the sizes |v| the squared mean over its variance. With M2 that of v, sum v^2 = M2 + n <v>^2, and that of
 * |v| is n <|v|>^2 less; all relative to the mean, whose square might underflow. */
static double seen(size_t strata, size_t count, const double *states, size_t j)
{
    const size_t size = moeg_tally_size(count), sizes = parts_of(count).sizes;
    double mean = 0, variance = 0;
    for (size_t k = 0; k < strata; k++)
        mean += states[k * size + sizes + j] / states[k * size];
    for (size_t k = 0; k < strata && mean > 0; k++) {
        const double *state = states + k * size, n = state[0], M2 = state[1 + count + j * (j + 3) / 2];
        const double value = state[1 + j] / mean, part = state[sizes + j] / n / mean;
        const double squares = M2 / mean / mean + n * (value * value - part * part);
        variance += fmax(squares, 0) / (n - 1) / n;
    }
    return mean > 0 ? 1 / variance : mean;
}

/* Degrees of freedom of the variance of value j, in units of a power of two: squares might underflow. */
static double freedom(size_t strata, size_t count, const double *states, size_t j, const moeg_ray_result *result)
{
    const size_t size = moeg_tally_size(count);
    const double variance = result->covariance[j * count + j];
    if (!(variance > 0))
        return (double)(result->lines / 2) - 1;
    const int unit = ilogb(variance);
    double squares = 0;
    for (size_t k = 0; k < strata; k++) {
        const double *state = states + k * size, n = state[0];
        const double part = scalbn(state[1 + count + j * (j + 3) / 2] / (n - 1) / n, -unit);
        squares += part * part / (n - 1);
    }
    return scalbn(variance, -unit) * scalbn(variance, -unit) / squares;
}

void moeg_tally_read(size_t strata, size_t count, const double *states, moeg_ray_result *result)
{
    const size_t size = moeg_tally_size(count);
    const parts at = parts_of(count);
    for (size_t k = 0; k < strata; k++) {
        const double *state = states + k * size, *M2 = state + 1 + count, n = state[0];
        result->lines += 2 * (uint64_t)n;
        for (size_t i = 0; i < count; i++) {
            result->value[i] += n > 0 ? state[1 + i] : NAN;
            result->error[i] += state[at.errors + i] / n;
            result->contributing[i] += (uint64_t)state[at.lines + i];
            for (size_t j = 0; j <= i; j++)
                result->covariance[i * count + j] += M2[i * (i + 1) / 2 + j] / (n - 1) / n;
        }
    }
    for (size_t i = 0; i < count; i++) {
        result->freedom[i] = freedom(strata, count, states, i, result);
        result->seen[i] = seen(strata, count, states, i);
        for (size_t j = 0; j < i; j++)
            result->covariance[j * count + i] = result->covariance[i * count + j];
    }
}
