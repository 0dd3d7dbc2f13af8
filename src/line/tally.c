#include "line/tally.h"

#include <moegeom/estimate.h>

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/moments.h"

#include <math.h>
#include <string.h>

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

/* The share of a variance that a slope is worth its while for. */
static const double WORTH = 0.5;

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

double moeg_tally_scatter(size_t count, const double *state, size_t j, double slope)
{
    const size_t last = count - 1;
    const double *M2 = state + 1 + count, own = M2[j * (j + 3) / 2];
    return slope == 0 ? own : own - slope * (2 * M2[last * (last + 1) / 2 + j] - slope * M2[last * (last + 3) / 2]);
}

/* Degrees of freedom of the variance of value j, in units of a power of two: squares might underflow. Of values less
 * slope_k (strata, stride apart) times the last one; NULL: less nothing. */
static double freedom(size_t strata, size_t count, const double *states, size_t j, const double *slope, size_t stride,
                      double variance, uint64_t lines)
{
    const size_t size = moeg_tally_size(count);
    if (!(variance > 0))
        return (double)(lines / 2) - 1;
    const int unit = ilogb(variance);
    double squares = 0;
    for (size_t k = 0; k < strata; k++) {
        const double *state = states + k * size, n = state[0];
        const double left = moeg_tally_scatter(count, state, j, slope != NULL ? slope[k * stride] : 0);
        const double part = scalbn(left / (n - 1) / n, -unit);
        squares += part * part / (n - 1);
    }
    return scalbn(variance, -unit) * scalbn(variance, -unit) / squares;
}

/* The first `wanted` of the values. */
static void read(size_t strata, size_t count, size_t wanted, const double *states, moeg_ray_result *result)
{
    const size_t size = moeg_tally_size(count);
    const parts at = parts_of(count);
    for (size_t k = 0; k < strata; k++) {
        const double *state = states + k * size, *M2 = state + 1 + count, n = state[0];
        result->lines += 2 * (uint64_t)n;
        for (size_t i = 0; i < wanted; i++) {
            result->value[i] += n > 0 ? state[1 + i] : NAN;
            result->error[i] += state[at.errors + i] / n;
            result->contributing[i] += (uint64_t)state[at.lines + i];
            for (size_t j = 0; j <= i; j++)
                result->covariance[i * wanted + j] +=
                    i == j ? moeg_mean_variance(n, M2[i * (i + 3) / 2]) : M2[i * (i + 1) / 2 + j] / (n - 1) / n;
        }
    }
    for (size_t i = 0; i < wanted; i++)
        result->seen[i] = seen(strata, count, states, i);
}

static void complete(size_t count, moeg_ray_result *result)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            result->covariance[j * count + i] = result->covariance[i * count + j];
}

void moeg_tally_read(size_t strata, size_t count, const double *states, moeg_ray_result *result)
{
    read(strata, count, count, states, result);
    for (size_t i = 0; i < count; i++)
        result->freedom[i] =
            freedom(strata, count, states, i, NULL, 0, result->covariance[i * count + i], result->lines);
    complete(count, result);
}

/* The end of the group that begins at `first`. */
static size_t group_end(size_t strata, const uint32_t *group, size_t first)
{
    size_t end = first + 1;
    while (end < strata && group[end] == group[first])
        end++;
    return end;
}

void moeg_tally_slopes(size_t strata, const uint32_t *group, size_t count, const double *states, double *slope)
{
    const size_t size = moeg_tally_size(count + 1), last = count * (count + 1) / 2;
    memset(slope, 0, strata * count * sizeof *slope);
    for (size_t first = 0, end; first < strata; first = end) {
        end = group_end(strata, group, first);
        double *own = slope + first * count;
        for (size_t j = 0; j < count; j++) {
            double of_last = 0, of_value = 0, both = 0;
            for (size_t k = first; k < end; k++) {
                const double *state = states + k * size, *M2 = state + 2 + count, n = state[0];
                of_last += M2[last + count] / (n - 1) / n;
                of_value += M2[j * (j + 3) / 2] / (n - 1) / n;
                both += M2[last + j] / (n - 1) / n;
            }
            own[j] = of_last > 0 && both / of_last * both > WORTH * of_value ? both / of_last : 0;
        }
        for (size_t k = first + 1; k < end; k++)
            memcpy(slope + k * count, own, count * sizeof *slope);
    }
}

/* Values of one stratum less their slopes times the last one. */
static void control(size_t count, const double *state, const double *slope, moeg_ray_result *result)
{
    const double *M2 = state + 2 + count, *of_last = M2 + count * (count + 1) / 2, n = state[0];
    for (size_t i = 0; i < count; i++) {
        result->value[i] -= slope[i] * state[1 + count];
        for (size_t j = 0; j <= i; j++)
            result->covariance[i * count + j] -=
                (slope[i] * of_last[j] + slope[j] * of_last[i] - slope[i] * of_last[count] * slope[j]) / (n - 1) / n;
    }
}

void moeg_tally_read_controlled(size_t strata, const uint32_t *group, size_t count, const double *states,
                                const double *slope, moeg_ray_result *result)
{
    const size_t size = moeg_tally_size(count + 1);
    read(strata, count + 1, count, states, result);
    for (size_t k = 0; k < strata; k++) {
        const int first_of_group = k == 0 || group[k] != group[k - 1];
        control(count, states + k * size, slope + k * count, result);
        for (size_t i = 0; i < count && first_of_group; i++)
            result->value[i] += slope[k * count + i];
    }
    for (size_t i = 0; i < count; i++) {
        double *variance = &result->covariance[i * count + i];
        *variance = *variance < 0 ? 0 : *variance;
        result->freedom[i] = freedom(strata, count + 1, states, i, slope + i, count, *variance, result->lines);
    }
    complete(count, result);
}
