#include "limit/row_space.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* The experts that are not masked: their rows W L, their constants W mean + b, and the sizes of both together. */
typedef struct live_rows {
    size_t count, d;
    double *row;      /* (count x d) */
    double *constant; /* (count) */
    double *size;     /* (count) */
} live_rows;

static void live_rows_free(live_rows *live)
{
    moeg_release(live->row);
    moeg_release(live->constant);
    moeg_release(live->size);
}

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += a[j] * b[j];
    return sum;
}

/* row = w L; L = I if factor is NULL. */
static void transform_row(size_t d, const double *w, const double *factor, double *row)
{
    if (factor == NULL) {
        memcpy(row, w, d * sizeof *row);
        return;
    }
    memset(row, 0, d * sizeof *row);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            row[j] += w[i] * factor[i * d + j];
}

static double largest_magnitude(size_t n, const double *x)
{
    double largest = 0;
    for (size_t j = 0; j < n; j++)
        largest = fmax(largest, fabs(x[j]));
    return largest;
}

static void fill_live(size_t K, const double *W, const double *b, const double *mean, const double *factor,
                      live_rows *live)
{
    const size_t d = live->d;
    size_t at = 0;
    for (size_t k = 0; k < K; k++) {
        if (b[k] == -INFINITY)
            continue;
        transform_row(d, W + k * d, factor, live->row + at * d);
        live->constant[at] = b[k] + dot(d, W + k * d, mean);
        live->size[at] = fabs(live->constant[at]) + largest_magnitude(d, live->row + at * d);
        at++;
    }
}

/* All rows less the one of the smallest size, so that none loses more than the rounding of its own terms; that one
 * becomes zeros. 1, or 0 if some number is not finite. */
static int subtract_reference(live_rows *live)
{
    const size_t d = live->d;
    size_t reference = 0;
    for (size_t k = 1; k < live->count; k++)
        if (live->size[k] < live->size[reference])
            reference = k;
    int finite = 1;
    for (size_t step = 1; step <= live->count; step++) {
        const size_t k = (reference + step) % live->count; /* the reference last */
        for (size_t j = 0; j < d; j++) {
            /* + 0 turns -0 into 0: equal rows are then equal in all bits. */
            live->row[k * d + j] = live->row[k * d + j] - live->row[reference * d + j] + 0;
            finite &= isfinite(live->row[k * d + j]) != 0;
        }
        live->constant[k] = live->constant[k] - live->constant[reference] + 0;
        finite &= isfinite(live->constant[k]) != 0;
    }
    return finite;
}

/* x (I - v v' 2/v.v), from coordinate `from` on. */
static void reflect(size_t d, size_t from, const double *v, double square, double *x)
{
    const double share = 2 * dot(d - from, v + from, x + from) / square;
    for (size_t j = from; j < d; j++)
        x[j] -= share * v[j];
}

/* The lower triangle of rows (count x d) by Householder reflections, row by row, in place; v (d). Each row is first
 * scaled by a power of two, kept in `exponent`, so that no square over- or underflows. A row all of whose rest is zero
 * takes no reflection, and no dimension. Returns the dimensions. */
static size_t triangulate(size_t count, size_t d, double *row, int *exponent, double *v)
{
    for (size_t k = 0; k < count; k++) {
        frexp(largest_magnitude(d, row + k * d), &exponent[k]);
        for (size_t j = 0; j < d; j++)
            row[k * d + j] = ldexp(row[k * d + j], -exponent[k]);
    }
    size_t rank = 0;
    for (size_t k = 0; k < count && rank < d; k++) {
        memcpy(v, row + k * d, d * sizeof *v);
        const double norm = sqrt(dot(d - rank, v + rank, v + rank));
        if (norm == 0)
            continue;
        const double head = v[rank] < 0 ? norm : -norm;
        v[rank] -= head;
        const double square = dot(d - rank, v + rank, v + rank);
        for (size_t i = k + 1; i < count; i++)
            reflect(d, rank, v, square, row + i * d);
        row[k * d + rank] = head;
        memset(row + k * d + rank + 1, 0, (d - rank - 1) * sizeof *row);
        rank++;
    }
    return rank;
}

/* T (count x rank) from the triangle, scaled back; rows that were equal in all bits, as twin says, are so again. 0 if a
 * number overflows. */
static int make_weights(const live_rows *live, size_t rank, const int *exponent, const size_t *twin, double *T)
{
    int finite = 1;
    for (size_t k = 0; k < live->count; k++)
        for (size_t j = 0; j < rank; j++) {
            T[k * rank + j] = ldexp(live->row[twin[k] * live->d + j], exponent[twin[k]]);
            finite &= isfinite(T[k * rank + j]) != 0;
        }
    return finite;
}

/* twin[k]: the first row that is equal to row k in all bits. */
static void find_twins(size_t count, size_t d, const double *row, size_t *twin)
{
    for (size_t k = 0; k < count; k++) {
        twin[k] = 0;
        while (memcmp(row + twin[k] * d, row + k * d, d * sizeof *row) != 0)
            twin[k]++;
    }
}

/* From differences to the objects. */
static moeg_status make_objects(const char *function, const live_rows *live, moeg_router **small_router,
                                moeg_law **small_law)
{
    const size_t count = live->count, d = live->d;
    int *exponent = moeg_alloc(count, sizeof *exponent);
    size_t *twin = moeg_alloc(count, sizeof *twin);
    double *v = moeg_alloc(d, sizeof *v), *T = moeg_alloc(count * d, sizeof *T);
    moeg_router *router = NULL;
    moeg_status status = MOEG_OK;
    if (exponent == NULL || twin == NULL || v == NULL || T == NULL) {
        status = moeg_fail_memory(function);
        goto cleanup;
    }
    find_twins(count, d, live->row, twin);
    const size_t rank = triangulate(count, d, live->row, exponent, v);
    if (rank == 0 || !make_weights(live, rank, exponent, twin, T))
        goto cleanup;
    status = moeg_router_affine_create(&router, count, rank, T, live->constant);
    if (status == MOEG_OK)
        status = moeg_law_gaussian_create(small_law, rank, NULL, NULL);
    if (status == MOEG_OK) {
        *small_router = router;
        router = NULL;
    }
cleanup:
    moeg_router_free(router);
    moeg_release(exponent);
    moeg_release(twin);
    moeg_release(v);
    moeg_release(T);
    return status;
}

moeg_status moeg_row_space(const char *function, const moeg_router *router, const moeg_law *law,
                           moeg_router **small_router, moeg_law **small_law)
{
    *small_router = NULL;
    *small_law = NULL;
    const double *W, *b, *mean, *covariance;
    if (!moeg_router_affine_parts(router, &W, &b) || !moeg_law_gaussian_parts(law, &mean, &covariance))
        return MOEG_OK;
    const size_t K = moeg_router_experts(router);
    live_rows live = {.d = moeg_router_dim(router)};
    for (size_t k = 0; k < K; k++)
        live.count += b[k] != -INFINITY;
    if (live.count < 2 || live.count > live.d)
        return MOEG_OK;
    live.row = moeg_alloc(live.count * live.d, sizeof *live.row);
    live.constant = moeg_alloc(live.count, sizeof *live.constant);
    live.size = moeg_alloc(live.count, sizeof *live.size);
    moeg_status status = MOEG_OK;
    if (live.row == NULL || live.constant == NULL || live.size == NULL)
        status = moeg_fail_memory(function);
    if (status == MOEG_OK) {
        fill_live(K, W, b, mean, moeg_law_gaussian_factor(law), &live);
        if (subtract_reference(&live))
            status = make_objects(function, &live, small_router, small_law);
    }
    live_rows_free(&live);
    return status;
}
