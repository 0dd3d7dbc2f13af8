#include "base/moments.h"

#include "base/error.h"
#include "base/kernel.h"

#include <math.h>
#include <moegeom/estimate.h>
#include <string.h>

enum { TILE = MOEG_MOMENTS_TILE };

double moeg_tile_mean(size_t n, const double *x)
{
    double unused;
    const double first = moeg_kernel_deviations(n, x, 0, &unused) / (double)n;
    return x[0] != x[n - 1] ? first : first + moeg_kernel_deviations(n, x, first, &unused) / (double)n;
}

moeg_status moeg_check_units(const char *function, size_t p, size_t n, size_t stride, const double *values,
                             const double *weights, const double *state)
{
    moeg_status status = moeg_check_pointer(function, "state", state);
    if (status == MOEG_OK && p == 0)
        status = moeg_fail(MOEG_EINVAL, "%s: p must be at least 1, got 0", function);
    if (status == MOEG_OK && stride < n)
        status = moeg_fail(MOEG_EINVAL, "%s: stride must be at least n = %zu, got %zu", function, n, stride);
    if (status == MOEG_OK && n > 0)
        status = moeg_check_array(function, "values", p, stride, values);
    for (size_t j = 0; n > 0 && j < p && status == MOEG_OK; j++)
        for (size_t i = moeg_kernel_finite(n, values + j * stride) ? n : 0; i < n; i++)
            if ((weights == NULL || weights[i] > 0) && !isfinite(values[j * stride + i]))
                return moeg_fail(MOEG_EINVAL, "%s: values[%zu, %zu] must be finite, got %g", function, j, i,
                                 values[j * stride + i]);
    return status;
}

int moeg_values_differ(size_t n, const double *x, const double *w, double mean)
{
    int differ = 0;
    for (size_t i = 0; i < n; i++)
        differ |= x[i] != mean && (w == NULL || w[i] > 0);
    return differ;
}

/* Chan's update of a variable with mean and sum of squared deviations M2, n units so far, by right_n more. The first
 * units are taken as they are: a large mean squared, times no units, is no number. */
static void merge_moments(double n, double *mean, double *m2, double right_n, double right_mean, double right_m2)
{
    if (n == 0) {
        *mean = right_mean;
        *m2 = right_m2;
        return;
    }
    const double delta = right_mean - *mean, share = right_n / (n + right_n);
    *m2 = moeg_keep_spread(*m2 + (right_m2 + delta * delta * (n * share)), delta != 0);
    *mean += delta * share;
}

size_t moeg_moments_size(size_t p)
{
    return p > (SIZE_MAX - 1) / 2 ? SIZE_MAX : 1 + 2 * p;
}

/* By chunks, as covariances are summed: their means are these to the bit. */
static double sum_deviations(size_t n, const double *x, double mean, double *squares)
{
    double sum = 0;
    *squares = 0;
    for (size_t first = 0; first < n; first += MOEG_MOMENTS_CHUNK) {
        const size_t count = n - first < MOEG_MOMENTS_CHUNK ? n - first : MOEG_MOMENTS_CHUNK;
        double square;
        sum += moeg_kernel_deviations(count, x + first, mean, &square);
        *squares += square;
    }
    return sum;
}

moeg_status moeg_moments_add(size_t p, size_t n, size_t stride, const double *values, double *state)
{
    const moeg_status status = moeg_check_units("moments_add", p, n, stride, values, NULL, state);
    if (status != MOEG_OK)
        return status;
    for (size_t first = 0; first < n; first += TILE) {
        const size_t count = n - first < TILE ? n - first : TILE;
        for (size_t j = 0; j < p; j++) {
            const double *x = values + j * stride + first;
            const double mean = moeg_tile_mean(count, x);
            double m2;
            const double rest = sum_deviations(count, x, mean, &m2), shift = rest / (double)count;
            m2 -= rest * shift;
            /* Not by fmax(), which would make a zero of the NaN that an overflow leaves. */
            m2 = m2 < 0 ? 0 : m2;
            m2 = moeg_keep_spread(m2, m2 == 0 && moeg_values_differ(count, x, NULL, mean));
            merge_moments(state[0], &state[1 + j], &state[1 + p + j], (double)count, mean + shift, m2);
        }
        state[0] += (double)count;
    }
    return MOEG_OK;
}

void moeg_moments_merge(size_t p, const double *right, double *left)
{
    if (right[0] == 0)
        return;
    if (left[0] == 0) {
        memcpy(left, right, moeg_moments_size(p) * sizeof *left);
        return;
    }
    for (size_t j = 0; j < p; j++)
        merge_moments(left[0], &left[1 + j], &left[1 + p + j], right[0], right[1 + j], right[1 + p + j]);
    left[0] += right[0];
}
