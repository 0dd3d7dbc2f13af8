#include "base/moments.h"

#include "base/error.h"
#include "base/kernel.h"

#include <math.h>
#include <moegeom/estimate.h>
#include <string.h>

/* Products are summed by chunks of a tile, which stay in cache, and by so many variables. */
enum { TILE = MOEG_MOMENTS_TILE, CHUNK = MOEG_MOMENTS_CHUNK, VARIABLES = 32 };

/* x - mean of n <= CHUNK units, 0 where there is no weight, whatever x; zeros after them, to the end of a lane. */
static void deviate(size_t n, const double *x, const double *w, double mean, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = w[i] > 0 ? x[i] - mean : 0;
    for (size_t i = n; i < moeg_round_lanes(n); i++)
        out[i] = 0;
}

/* w, or w^2, of n <= CHUNK units, and zeros after them. */
static void power_weights(size_t n, const double *w, int squared, double *out)
{
    for (size_t i = 0; i < moeg_round_lanes(n); i++)
        out[i] = i >= n ? 0 : squared ? w[i] * w[i] : w[i];
}

double moeg_weighted_tile_mean(size_t n, const double *x, const double *w, int squared, double mass)
{
    _Alignas(64) double power[CHUNK], deviation[CHUNK];
    double mean = 0;
    for (int pass = 0; pass < 2; pass++) {
        double sum = 0, part;
        for (size_t first = 0; first < n; first += CHUNK) {
            const size_t count = n - first < CHUNK ? n - first : CHUNK;
            power_weights(count, w + first, squared, power);
            deviate(count, x + first, w + first, mean, deviation);
            moeg_kernel_products(1, 1, moeg_round_lanes(count), CHUNK, power, deviation, &part);
            sum += part;
        }
        mean += sum / mass;
    }
    return mean;
}

size_t moeg_covariance_size(size_t p)
{
    size_t triangle;
    const size_t half = p % 2 == 0 ? p / 2 : p, other = p % 2 == 0 ? p + 1 : p / 2 + 1;
    if (p == SIZE_MAX || moeg_multiply_overflows(half, other, &triangle) || triangle > SIZE_MAX - 1 - p)
        return SIZE_MAX;
    return 1 + p + triangle;
}

/* Some variables of one tile: their means over it, and the centred values of one chunk of it after the other, times w
 * where there are weights. */
typedef struct tile {
    size_t variables, stride;
    const double *values, *weights;
    double mass; /* the units, or the sum of w^2 */
    double mean[VARIABLES];
    double sum[VARIABLES];                          /* of all the centred values, or of w^2 times them: rounding */
    _Alignas(64) double centred[VARIABLES * CHUNK]; /* CHUNK apart, zeros after the last unit of a lane */
} tile;

static void begin_tile(size_t variables, size_t units, size_t stride, const double *values, const double *weights,
                       double mass, tile *t)
{
    t->variables = variables;
    t->stride = stride;
    t->values = values;
    t->weights = weights;
    t->mass = mass;
    for (size_t j = 0; j < variables; j++) {
        const double *x = values + j * stride;
        t->mean[j] = weights == NULL ? moeg_tile_mean(units, x) : moeg_weighted_tile_mean(units, x, weights, 1, mass);
    }
}

static void center_weighted_chunk(size_t first, size_t count, tile *t)
{
    _Alignas(64) double w[CHUNK];
    power_weights(count, t->weights + first, 0, w);
    for (size_t j = 0; j < t->variables; j++) {
        double *centred = t->centred + j * CHUNK, part;
        deviate(count, t->values + j * t->stride + first, w, t->mean[j], centred);
        for (size_t i = 0; i < count; i++)
            centred[i] *= w[i];
        moeg_kernel_products(1, 1, moeg_round_lanes(count), CHUNK, w, centred, &part);
        t->sum[j] = (first == 0 ? 0 : t->sum[j]) + part;
    }
}

static void center_chunk(size_t first, size_t count, tile *t)
{
    if (t->weights != NULL) {
        center_weighted_chunk(first, count, t);
        return;
    }
    for (size_t j = 0; j < t->variables; j++) {
        const double *x = t->values + j * t->stride + first;
        double *centred = t->centred + j * CHUNK;
        t->sum[j] = (first == 0 ? 0 : t->sum[j]) + moeg_kernel_center(count, x, t->mean[j], centred);
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

/* The mean of variable j, corrected by what it left, once that is summed. */
static double mean_of(const tile *t, size_t j)
{
    return t->mean[j] + t->sum[j] / t->mass;
}

/* Whether variable j differs among the units of a tile, or from the mean of n units before them. */
static int differs(const tile *t, size_t j, size_t units, double n, double mean)
{
    return (n > 0 && t->mean[j] != mean) ||
           moeg_values_differ(units, t->values + j * t->stride, t->weights, t->mean[j]);
}

/* Adds the products of the variables of a (from index i0 on) with those of b (from j0 <= i0 on) to M2, and the shift
 * between the tile's means and the state's. The state's n and means are those before this tile. */
static void add_products(size_t units, tile *a, size_t i0, tile *b, size_t j0, double n, const double *mean, double *M2)
{
    const double mass = a->mass, weight = n * (mass / (n + mass));
    double total[VARIABLES * VARIABLES];
    sum_products(units, a, b, total);
    for (size_t i = 0; i < a->variables; i++)
        for (size_t j = 0; j < b->variables && j0 + j <= i0 + i; j++) {
            const size_t row = i0 + i, col = j0 + j;
            const double shift = n > 0 ? (mean_of(a, i) - mean[row]) * (mean_of(b, j) - mean[col]) * weight : 0;
            const double inside = total[i * b->variables + j] - a->sum[i] * b->sum[j] / mass;
            double *to = &M2[row * (row + 1) / 2 + col];
            /* As in moments_add: no variance below 0, a NaN stays one, and 0 says that all are equal. */
            *to += (row == col && inside < 0 ? 0 : inside) + shift;
            if (row == col && *to == 0)
                *to = moeg_keep_spread(0, differs(a, i, units, n, mean[row]));
        }
}

/* One tile into the state, by blocks of VARIABLES so that the centred values fit the stack whatever p is; they are
 * centred anew for each pair of blocks, which costs little beside the products. From the last block down: the state's
 * means of a block are no more needed once it has met those before it. */
void moeg_covariance_tile(size_t p, size_t units, size_t stride, const double *values, const double *weights,
                          double mass, double *state)
{
    double *mean = state + 1, *M2 = state + 1 + p;
    const double share = mass / (state[0] + mass);
    tile a, b;
    for (size_t end = p, i; end > 0; end = i) {
        i = (end - 1) / VARIABLES * VARIABLES;
        begin_tile(end - i, units, stride, values + i * stride, weights, mass, &a);
        for (size_t j = 0; j < i; j += VARIABLES) {
            begin_tile(VARIABLES, units, stride, values + j * stride, weights, mass, &b);
            add_products(units, &a, i, &b, j, state[0], mean, M2);
        }
        add_products(units, &a, i, &a, i, state[0], mean, M2);
        for (size_t j = i; j < end; j++)
            mean[j] = state[0] > 0 ? mean[j] + (mean_of(&a, j - i) - mean[j]) * share : mean_of(&a, j - i);
    }
    state[0] += mass;
}

moeg_status moeg_covariance_add(size_t p, size_t n, size_t stride, const double *values, double *state)
{
    const moeg_status status = moeg_check_units("covariance_add", p, n, stride, values, NULL, state);
    if (status != MOEG_OK)
        return status;
    for (size_t first = 0; first < n; first += TILE) {
        const size_t units = n - first < TILE ? n - first : TILE;
        moeg_covariance_tile(p, units, stride, values + first, NULL, (double)units, state);
    }
    return MOEG_OK;
}

void moeg_covariance_merge_scaled(size_t p, double unit, const double *right, double *left)
{
    if (right[0] == 0)
        return;
    const double mass = right[0] * unit * unit;
    double *mean = left + 1, *M2 = left + 1 + p;
    const double *right_mean = right + 1, *right_m2 = right + 1 + p;
    for (size_t i = 0; i < p; i++) {
        double *spread = &M2[i * (i + 3) / 2];
        *spread = moeg_keep_spread(*spread, right_m2[i * (i + 3) / 2] > 0 || right_mean[i] != mean[i]);
    }
    if (mass == 0)
        return;
    const double share = mass / (left[0] + mass), weight = left[0] * share;
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j <= i; j++) {
            const size_t at = i * (i + 1) / 2 + j;
            M2[at] += right_m2[at] * unit * unit + (right_mean[i] - mean[i]) * (right_mean[j] - mean[j]) * weight;
        }
    for (size_t i = 0; i < p; i++)
        mean[i] += (right_mean[i] - mean[i]) * share;
    left[0] += mass;
}

void moeg_covariance_merge(size_t p, const double *right, double *left)
{
    if (left[0] == 0)
        memcpy(left, right, moeg_covariance_size(p) * sizeof *left);
    else
        moeg_covariance_merge_scaled(p, 1, right, left);
}
