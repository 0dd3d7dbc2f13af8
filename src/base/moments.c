#include "base/error.h"
#include "base/kernel.h"

#include <math.h>
#include <moegeom/estimate.h>
#include <string.h>

/* Units of a tile: a batch is cut into tiles of this fixed size, each summed in two passes and merged in turn.
 * Each merging rounds the mean once more, so that tiles are large; products are summed by chunks of them. */
enum { TILE = 4096, CHUNK = 128, VARIABLES = 32 };

/* Mean of n >= 1 values, right to rounding: the mean of what the first mean leaves corrects it. */
static double tile_mean(size_t n, const double *x)
{
    double unused;
    const double first = moeg_kernel_deviations(n, x, 0, &unused) / (double)n;
    return first + moeg_kernel_deviations(n, x, first, &unused) / (double)n;
}

static moeg_status check_values(const char *function, size_t p, size_t n, size_t stride, const double *values,
                                const double *state)
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
            if (!isfinite(values[j * stride + i]))
                return moeg_fail(MOEG_EINVAL, "%s: values[%zu, %zu] must be finite, got %g", function, j, i,
                                 values[j * stride + i]);
    return status;
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
    *m2 += right_m2 + delta * delta * (n * share);
    *mean += delta * share;
}

size_t moeg_moments_size(size_t p)
{
    return p > (SIZE_MAX - 1) / 2 ? SIZE_MAX : 1 + 2 * p;
}

moeg_status moeg_moments_add(size_t p, size_t n, size_t stride, const double *values, double *state)
{
    const moeg_status status = check_values("moments_add", p, n, stride, values, state);
    if (status != MOEG_OK)
        return status;
    for (size_t first = 0; first < n; first += TILE) {
        const size_t count = n - first < TILE ? n - first : TILE;
        for (size_t j = 0; j < p; j++) {
            const double *x = values + j * stride + first;
            const double mean = tile_mean(count, x);
            double m2;
            const double rest = moeg_kernel_deviations(count, x, mean, &m2);
            m2 -= rest * rest / (double)count;
            /* Not by fmax(), which would make a zero of the NaN that an overflow leaves. */
            merge_moments(state[0], &state[1 + j], &state[1 + p + j], (double)count, mean, m2 < 0 ? 0 : m2);
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

size_t moeg_covariance_size(size_t p)
{
    size_t triangle;
    const size_t half = p % 2 == 0 ? p / 2 : p, other = p % 2 == 0 ? p + 1 : p / 2 + 1;
    if (p == SIZE_MAX || moeg_multiply_overflows(half, other, &triangle) || triangle > SIZE_MAX - 1 - p)
        return SIZE_MAX;
    return 1 + p + triangle;
}

/* Some variables of one tile: their means over it, and the centred values of one chunk of it after the other. */
typedef struct tile {
    size_t variables, stride;
    const double *values;
    double mean[VARIABLES];
    double sum[VARIABLES];                          /* of all the centred values: rounding only */
    _Alignas(64) double centred[VARIABLES * CHUNK]; /* CHUNK apart, zeros after the last unit of a lane */
} tile;

static void begin_tile(size_t variables, size_t units, size_t stride, const double *values, tile *t)
{
    t->variables = variables;
    t->stride = stride;
    t->values = values;
    for (size_t j = 0; j < variables; j++)
        t->mean[j] = tile_mean(units, values + j * stride);
}

static void center_chunk(size_t first, size_t count, tile *t)
{
    for (size_t j = 0; j < t->variables; j++) {
        const double *x = t->values + j * t->stride + first;
        double *centred = t->centred + j * CHUNK, unused;
        moeg_kernel_center(count, x, t->mean[j], centred);
        t->sum[j] = (first == 0 ? 0 : t->sum[j]) + moeg_kernel_deviations(count, centred, 0, &unused);
        for (size_t i = count; i < moeg_round_lanes(count); i++)
            centred[i] = 0;
    }
}

/* Sums over the tile of the products of the centred variables of a with those of b, which may be a, by chunks that stay
 * in cache. */
static void sum_products(size_t units, tile *a, tile *b, double *total)
{
    double product[VARIABLES * VARIABLES];
    for (size_t first = 0; first < units; first += CHUNK) {
        const size_t count = units - first < CHUNK ? units - first : CHUNK;
        center_chunk(first, count, a);
        if (b != a)
            center_chunk(first, count, b);
        moeg_kernel_products(a->variables, b->variables, moeg_round_lanes(count), CHUNK, a->centred, b->centred,
                             product);
        for (size_t i = 0; i < a->variables; i++)
            for (size_t j = 0; j < (b == a ? i + 1 : b->variables); j++) {
                const size_t at = i * b->variables + j;
                total[at] = (first == 0 ? 0 : total[at]) + product[at];
            }
    }
}

/* Adds the products of the variables of a (from index i0 on) with those of b (from j0 <= i0 on) to M2, and the shift
 * between the tile's means and the state's. The state's n and means are those before this tile. */
static void add_products(size_t tile_units, tile *a, size_t i0, tile *b, size_t j0, double n, const double *mean,
                         double *M2)
{
    const double units = (double)tile_units, weight = n * (units / (n + units));
    double total[VARIABLES * VARIABLES];
    sum_products(tile_units, a, b, total);
    for (size_t i = 0; i < a->variables; i++)
        for (size_t j = 0; j < b->variables && j0 + j <= i0 + i; j++) {
            const size_t row = i0 + i, col = j0 + j;
            const double shift = n > 0 ? (a->mean[i] - mean[row]) * (b->mean[j] - mean[col]) * weight : 0;
            const double inside = total[i * b->variables + j] - a->sum[i] * b->sum[j] / units;
            /* As in moments_add: no variance below 0, and a NaN stays one. */
            M2[row * (row + 1) / 2 + col] += (row == col && inside < 0 ? 0 : inside) + shift;
        }
}

/* One tile into the state, by blocks of VARIABLES so that the centred values fit the stack whatever p is; they are
 * centred anew for each pair of blocks, which costs little beside the products. From the last block down: the state's
 * means of a block are no more needed once it has met those before it. */
static void add_covariance_tile(size_t p, size_t units, size_t stride, const double *values, double *state)
{
    double *mean = state + 1, *M2 = state + 1 + p;
    const double share = (double)units / (state[0] + (double)units);
    tile a, b;
    for (size_t end = p, i; end > 0; end = i) {
        i = (end - 1) / VARIABLES * VARIABLES;
        begin_tile(end - i, units, stride, values + i * stride, &a);
        for (size_t j = 0; j < i; j += VARIABLES) {
            begin_tile(VARIABLES, units, stride, values + j * stride, &b);
            add_products(units, &a, i, &b, j, state[0], mean, M2);
        }
        add_products(units, &a, i, &a, i, state[0], mean, M2);
        for (size_t j = i; j < end; j++)
            mean[j] = state[0] > 0 ? mean[j] + (a.mean[j - i] - mean[j]) * share : a.mean[j - i];
    }
    state[0] += (double)units;
}

moeg_status moeg_covariance_add(size_t p, size_t n, size_t stride, const double *values, double *state)
{
    const moeg_status status = check_values("covariance_add", p, n, stride, values, state);
    if (status != MOEG_OK)
        return status;
    for (size_t first = 0; first < n; first += TILE) {
        const size_t units = n - first < TILE ? n - first : TILE;
        add_covariance_tile(p, units, stride, values + first, state);
    }
    return MOEG_OK;
}

void moeg_covariance_merge(size_t p, const double *right, double *left)
{
    if (right[0] == 0)
        return;
    if (left[0] == 0) {
        memcpy(left, right, moeg_covariance_size(p) * sizeof *left);
        return;
    }
    const double share = right[0] / (left[0] + right[0]), weight = left[0] * share;
    double *mean = left + 1, *M2 = left + 1 + p;
    const double *right_mean = right + 1, *right_m2 = right + 1 + p;
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j <= i; j++) {
            const size_t at = i * (i + 1) / 2 + j;
            M2[at] += right_m2[at] + (right_mean[i] - mean[i]) * (right_mean[j] - mean[j]) * weight;
        }
    for (size_t i = 0; i < p; i++)
        mean[i] += (right_mean[i] - mean[i]) * share;
    left[0] += right[0];
}
