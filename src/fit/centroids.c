/* k-means on squared distances formed from differences x - c, never from |x|^2 - 2 c.x + |c|^2: data far from the
 * origin lose nothing. Rows are held by columns, so that the loops over rows are contiguous; every row is computed
 * alone and in a fixed order, so that threads change nothing. */
#include <moegeom/centroids.h>
#include <moegeom/stream.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/streams.h"
#include "fit/fit.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

enum { MAX_SWEEPS = 10000, BLOCK = 256 };

/* Below this many operations starting threads costs more than it gains. */
static const double worth_threads = 1e5;

typedef struct kmeans {
    size_t n, d, K;
    double *x;          /* (d x n) */
    const double *w;    /* (n), or NULL: all 1 */
    double *centroids;  /* (K x d) */
    double *distance;   /* (n) squared, to the row's own centroid */
    size_t *assignment; /* (n) */
    size_t *previous;   /* (n) the assignment of the sweep before */
    size_t *count;      /* (K) rows of each centroid, of positive weight */
    double *weight;     /* (K) and their weight */
    size_t *first;      /* (K) its first such row */
    double *sum;        /* (K) scratch */
    double *lost;       /* (K) scratch */
} kmeans;

static void kmeans_free(kmeans *km)
{
    moeg_release(km->x);
    moeg_release(km->centroids);
    moeg_release(km->distance);
    moeg_release(km->assignment);
    moeg_release(km->previous);
    moeg_release(km->count);
    moeg_release(km->weight);
    moeg_release(km->first);
    moeg_release(km->sum);
    moeg_release(km->lost);
}

static moeg_status kmeans_alloc(kmeans *km, size_t n, size_t d, size_t K, const double *x, const double *weights)
{
    *km = (kmeans){.n = n,
                   .d = d,
                   .K = K,
                   .w = weights,
                   .x = moeg_alloc(n * d, sizeof(double)),
                   .centroids = moeg_alloc(K * d, sizeof(double)),
                   .distance = moeg_alloc(n, sizeof(double)),
                   .assignment = moeg_alloc_zero(n, sizeof(size_t)),
                   .previous = moeg_alloc(n, sizeof(size_t)),
                   .count = moeg_alloc(K, sizeof(size_t)),
                   .weight = moeg_alloc(K, sizeof(double)),
                   .first = moeg_alloc(K, sizeof(size_t)),
                   .sum = moeg_alloc(K, sizeof(double)),
                   .lost = moeg_alloc(K, sizeof(double))};
    if (!km->x || !km->centroids || !km->distance || !km->assignment || !km->previous || !km->count || !km->weight ||
        !km->first || !km->sum || !km->lost)
        return moeg_fail_memory("centroids");
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            km->x[j * n + i] = x[i * d + j];
    return MOEG_OK;
}

static double weight(const kmeans *km, size_t i)
{
    return km->w == NULL ? 1 : km->w[i];
}

/* Squared distances of rows lo .. hi - 1, at most BLOCK of them, to centroid k. */
static void block_distances(const kmeans *km, size_t k, size_t lo, size_t hi, double *distance)
{
    for (size_t i = lo; i < hi; i++)
        distance[i - lo] = 0;
    for (size_t j = 0; j < km->d; j++) {
        const double c = km->centroids[k * km->d + j];
        const double *x = km->x + j * km->n;
        for (size_t i = lo; i < hi; i++)
            distance[i - lo] += (x[i] - c) * (x[i] - c);
    }
}

/* Offers centroids k_first .. k_end - 1 to the rows lo .. hi - 1: each takes a nearer one, ties going to the earlier.
 */
static void offer_block(kmeans *km, size_t k_first, size_t k_end, size_t lo, size_t hi)
{
    double distance[BLOCK];
    for (size_t k = k_first; k < k_end; k++) {
        block_distances(km, k, lo, hi, distance);
        for (size_t i = lo; i < hi; i++)
            if (distance[i - lo] < km->distance[i]) {
                km->distance[i] = distance[i - lo];
                km->assignment[i] = k;
            }
    }
}

static void offer(kmeans *km, size_t k_first, size_t k_end)
{
    const size_t blocks = (km->n + BLOCK - 1) / BLOCK;
    const double cost = (double)km->n * (double)km->d * (double)(k_end - k_first);
#pragma omp parallel for schedule(static) if (cost > worth_threads)
    for (size_t b = 0; b < blocks; b++)
        offer_block(km, k_first, k_end, b * BLOCK, b + 1 < blocks ? (b + 1) * BLOCK : km->n);
}

static void forget_distances(kmeans *km)
{
    for (size_t i = 0; i < km->n; i++)
        km->distance[i] = INFINITY;
}

static void put_on_row(kmeans *km, size_t k, size_t row)
{
    for (size_t j = 0; j < km->d; j++)
        km->centroids[k * km->d + j] = km->x[j * km->n + row];
}

/* Every squared distance to the c centroids chosen so far is 0: then c is the number of distinct rows, unless a square
 * underflowed. */
static moeg_status fail_few_rows(const kmeans *km, size_t c)
{
    for (size_t i = 0; i < km->n; i++)
        for (size_t j = 0; j < km->d; j++)
            if (weight(km, i) > 0 && km->x[j * km->n + i] != km->centroids[km->assignment[i] * km->d + j])
                return moeg_fail(MOEG_ERANGE, "centroids: the squared distance of row %zu to a centroid underflows", i);
    return moeg_fail(MOEG_EDOM, "centroids: K must be at most the number of distinct rows, %zu, got %zu", c, km->K);
}

/* What row i counts in the draw of centroid c: its weight, and its squared distance to the nearest one so far. */
static double chance(const kmeans *km, size_t c, size_t i)
{
    return c == 0 ? weight(km, i) : weight(km, i) > 0 ? weight(km, i) * km->distance[i] : 0;
}

/* The row whose interval of the running sum of chances holds u of the total. */
static moeg_status draw_row(const kmeans *km, size_t c, double u, size_t *row)
{
    double total = 0;
    for (size_t i = 0; i < km->n; i++)
        total += chance(km, c, i);
    if (total == 0)
        return fail_few_rows(km, c);
    if (total == INFINITY)
        return moeg_fail(MOEG_ERANGE, "centroids: the sum of squared distances overflows");
    double running = 0;
    for (size_t i = 0; i < km->n && running <= u * total; i++)
        if (chance(km, c, i) > 0) {
            running += chance(km, c, i);
            *row = i;
        }
    return MOEG_OK;
}

/* k-means++: the first centroid on a row at random, each further one on a row with probability proportional to its
 * squared distance to the nearest so far. Chosen rows are at distance 0: the centroids are distinct. */
static moeg_status seed_centroids(kmeans *km, uint64_t seed)
{
    const moeg_stream stream = {.seed = seed, .id = MOEG_STREAM_CENTROIDS};
    forget_distances(km);
    for (size_t c = 0; c < km->K; c++) {
        double u;
        moeg_status status = moeg_stream_uniforms(stream, c, 1, 1, &u);
        if (status != MOEG_OK)
            return status;
        size_t row = (size_t)(u * (double)km->n);
        if (c > 0 || km->w != NULL)
            status = draw_row(km, c, u, &row);
        if (status != MOEG_OK)
            return status;
        put_on_row(km, c, row);
        offer(km, c, c + 1);
    }
    return MOEG_OK;
}

static moeg_status assign(kmeans *km)
{
    forget_distances(km);
    offer(km, 0, km->K);
    for (size_t i = 0; i < km->n; i++)
        if (km->distance[i] == INFINITY)
            return moeg_fail(MOEG_ERANGE, "centroids: the squared distance of row %zu to every centroid overflows", i);
    return MOEG_OK;
}

static void count_rows(kmeans *km)
{
    for (size_t k = 0; k < km->K; k++) {
        km->count[k] = 0;
        km->weight[k] = 0;
    }
    for (size_t i = 0; i < km->n; i++) {
        const size_t k = km->assignment[i];
        if (!(weight(km, i) > 0))
            continue;
        if (km->count[k]++ == 0)
            km->first[k] = i;
        km->weight[k] += weight(km, i);
    }
}

/* Coordinate j of every mean: that of the centroid's first row plus the mean difference from it, by Neumaier's
 * compensated sum, so that equal rows have exactly their value as mean. A centroid without rows stays. */
static void mean_coordinate(kmeans *km, size_t j)
{
    const double *x = km->x + j * km->n;
    double *sum = km->sum, *lost = km->lost;
    for (size_t k = 0; k < km->K; k++)
        sum[k] = lost[k] = 0;
    for (size_t i = 0; i < km->n; i++) {
        const size_t k = km->assignment[i];
        if (!(weight(km, i) > 0))
            continue;
        const double term = weight(km, i) * (x[i] - x[km->first[k]]);
        const double next = sum[k] + term;
        lost[k] += fabs(sum[k]) >= fabs(term) ? (sum[k] - next) + term : (term - next) + sum[k];
        sum[k] = next;
    }
    for (size_t k = 0; k < km->K; k++)
        if (km->count[k] > 0)
            km->centroids[k * km->d + j] = x[km->first[k]] + (sum[k] + lost[k]) / km->weight[k];
}

/* Squared distances of the rows to the centroid they are assigned to, whichever is the nearest. */
static void own_distances(kmeans *km)
{
    for (size_t i = 0; i < km->n; i++) {
        km->distance[i] = 0;
        for (size_t j = 0; j < km->d; j++) {
            const double difference = km->x[j * km->n + i] - km->centroids[km->assignment[i] * km->d + j];
            km->distance[i] += difference * difference;
        }
    }
}

/* Puts each centroid without rows on the row farthest from its own centroid. Returns whether there was one. */
static int fill_empty(kmeans *km)
{
    int found = 0;
    for (size_t k = 0; k < km->K; k++) {
        if (km->count[k] > 0)
            continue;
        if (!found)
            own_distances(km);
        found = 1;
        size_t farthest = km->n;
        for (size_t i = 0; i < km->n; i++)
            if (weight(km, i) > 0 && (farthest == km->n || km->distance[i] > km->distance[farthest]))
                farthest = i;
        put_on_row(km, k, farthest);
        km->distance[farthest] = 0;
    }
    return found;
}

/* Lloyd's iteration: rows to their nearest centroid, centroids to the mean of their rows. It ends with every centroid
 * the mean of its rows and every row at its nearest centroid. */
static moeg_status iterate(kmeans *km, size_t most_sweeps, size_t *sweeps)
{
    int settled = 0; /* whether the centroids are the means of the assignment, and none without rows */
    for (*sweeps = 0; *sweeps < most_sweeps;) {
        memcpy(km->previous, km->assignment, km->n * sizeof *km->previous);
        const moeg_status status = assign(km);
        if (status != MOEG_OK)
            return status;
        ++*sweeps;
        if (settled && memcmp(km->previous, km->assignment, km->n * sizeof *km->previous) == 0)
            return MOEG_OK;
        count_rows(km);
        for (size_t j = 0; j < km->d; j++)
            mean_coordinate(km, j);
        settled = !fill_empty(km);
    }
    return moeg_fail(MOEG_EUNABLE, "centroids: rows still change their centroid after %zu sweeps", most_sweeps);
}

static moeg_status check_weights(size_t n, const double *weights)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(weights[i] >= 0 && isfinite(weights[i])))
            return moeg_fail(MOEG_EINVAL, "centroids: weights[%zu] must be finite and at least 0, got %g", i,
                             weights[i]);
        largest = fmax(largest, weights[i]);
    }
    return largest > 0 ? MOEG_OK : moeg_fail(MOEG_EINVAL, "centroids: weights must not all be 0");
}

static moeg_status check_arguments(size_t n, size_t d, const double *x, const double *weights, size_t K,
                                   const double *centroids)
{
    static const char function[] = "centroids";
    if (n == 0 || d == 0 || K == 0)
        return moeg_fail(MOEG_EINVAL, "%s: %s must be at least 1, got 0", function, n == 0 ? "n" : d == 0 ? "d" : "K");
    if (K > n)
        return moeg_fail(MOEG_EINVAL, "%s: K must be at most n = %zu, got %zu", function, n, K);
    moeg_status status = moeg_check_pointer(function, "centroids", centroids);
    if (status == MOEG_OK)
        status = moeg_check_rows(function, "x", n, d, x);
    return status == MOEG_OK && weights != NULL ? check_weights(n, weights) : status;
}

moeg_status moeg_centroids_within(size_t most_sweeps, size_t n, size_t d, const double *x, const double *weights,
                                  size_t K, uint64_t seed, double *centroids, size_t *assignment, size_t *iterations)
{
    moeg_status status = check_arguments(n, d, x, weights, K, centroids);
    if (status != MOEG_OK)
        return status;
    kmeans km = {0};
    size_t sweeps = 0;
    status = kmeans_alloc(&km, n, d, K, x, weights);
    if (status == MOEG_OK)
        status = seed_centroids(&km, seed);
    if (status == MOEG_OK)
        status = iterate(&km, most_sweeps, &sweeps);
    if (status >= 0) {
        memcpy(centroids, km.centroids, K * d * sizeof *centroids);
        if (assignment != NULL)
            memcpy(assignment, km.assignment, n * sizeof *assignment);
        if (iterations != NULL)
            *iterations = sweeps;
    }
    kmeans_free(&km);
    return status;
}

moeg_status moeg_centroids(size_t n, size_t d, const double *x, const double *weights, size_t K, uint64_t seed,
                           double *centroids, size_t *assignment, size_t *iterations)
{
    return moeg_centroids_within(MAX_SWEEPS, n, d, x, weights, K, seed, centroids, assignment, iterations);
}

moeg_status moeg_router_centroids_create(moeg_router **router, size_t K, size_t d, const double *centroids)
{
    static const char function[] = "router_centroids";
    moeg_status status = moeg_router_check_affine(function, router, K, d, "centroids", centroids);
    if (status != MOEG_OK)
        return status;
    double *bias = moeg_alloc(K, sizeof *bias);
    if (bias == NULL)
        return moeg_fail_memory(function);
    for (size_t k = 0; k < K && status == MOEG_OK; k++) {
        double norm = 0;
        for (size_t j = 0; j < d; j++)
            norm += centroids[k * d + j] * centroids[k * d + j];
        bias[k] = -norm / 2;
        if (norm == INFINITY)
            status = moeg_fail(MOEG_ERANGE, "%s: the squared norm of centroid %zu overflows", function, k);
    }
    if (status == MOEG_OK)
        status = moeg_router_affine_create(router, K, d, centroids, bias);
    moeg_release(bias);
    return status;
}
