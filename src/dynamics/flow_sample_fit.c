/* The best symmetric expert of a sample. Columns are centred and scaled first: an x far from 0, or of an odd unit, then
 * costs no digits, neither of the rank nor of the residual. */
#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "dynamics/flow_sample.h"

#include <float.h>
#include <math.h>

typedef struct fitter {
    moeg_flow_sample *s;
    size_t n;
    double *A, *Y, *X;      /* least squares: (n x features), (n x m), (features x m) */
    double *centre, *scale; /* (features) of a column, the scale a power of 2 */
    double rounding;        /* what rounding may have done to x, in those units */
} fitter;

static moeg_status allocate(const char *function, fitter *k)
{
    const size_t features = k->s->flow.features, m = k->s->flow.m;
    k->A = moeg_alloc(k->n, features * sizeof(double));
    k->Y = moeg_alloc(k->n, m * sizeof(double));
    k->X = moeg_alloc(features, m * sizeof(double));
    k->centre = moeg_alloc(features, sizeof(double));
    k->scale = moeg_alloc(features, sizeof(double));
    return k->A && k->Y && k->X && k->centre && k->scale ? MOEG_OK : moeg_fail_memory(function);
}

/* Of row `at` of a block, feature j in its unit. */
static double column(const fitter *k, double *block, size_t at, size_t j)
{
    return (moeg_flow_symmetric(k->s, block)[j * k->s->stride + at] - k->centre[j]) / k->scale[j];
}

/* The mean of feature j. */
static double mean(const fitter *k, size_t j)
{
    const moeg_flow_sample *s = k->s;
    double sum = 0;
    for (size_t i = 0; i < k->n; i++) {
        double *block = moeg_flow_block(s, i / s->stride);
        const size_t at = i % s->stride;
        sum += moeg_flow_weight(s, block)[at] * moeg_flow_symmetric(s, block)[j * s->stride + at];
    }
    return sum;
}

/* The largest distance of feature j from a place, over the rows that count. */
static double farthest(const fitter *k, size_t j, double from)
{
    const moeg_flow_sample *s = k->s;
    double largest = 0;
    for (size_t i = 0; i < k->n; i++) {
        double *block = moeg_flow_block(s, i / s->stride);
        const size_t at = i % s->stride;
        if (moeg_flow_weight(s, block)[at] > 0)
            largest = fmax(largest, fabs(moeg_flow_symmetric(s, block)[j * s->stride + at] - from));
    }
    return largest;
}

/* Centres only beside a constant, which takes them up. */
static void set_units(fitter *k)
{
    const int intercept = moeg_has_intercept(k->s->flow.options.symmetric);
    k->rounding = DBL_EPSILON;
    for (size_t j = 0; j < k->s->flow.features; j++) {
        k->centre[j] = intercept && j > 0 ? mean(k, j) : 0;
        int exponent;
        const double largest = farthest(k, j, k->centre[j]);
        frexp(largest, &exponent);
        k->scale[j] = largest > 0 ? ldexp(1, exponent - 1) : 1;
        k->rounding = fmax(k->rounding, DBL_EPSILON * (farthest(k, j, 0) / k->scale[j]));
    }
}

/* Rows sqrt(w) x~ and sqrt(w) Y. */
static void set_rows(fitter *k)
{
    const moeg_flow_sample *s = k->s;
    const size_t features = s->flow.features, m = s->flow.m;
    for (size_t i = 0; i < k->n; i++) {
        double *block = moeg_flow_block(s, i / s->stride);
        const size_t at = i % s->stride;
        const double root = sqrt(moeg_flow_weight(s, block)[at]);
        for (size_t j = 0; j < features; j++)
            k->A[i * features + j] = root > 0 ? root * column(k, block, at, j) : 0;
        for (size_t o = 0; o < m; o++)
            k->Y[i * m + o] = root * moeg_flow_residual(s, block)[o * s->stride + at];
    }
}

/* Coefficients of x~ as it is. */
static void set_best(const fitter *k)
{
    const moeg_flow *flow = &k->s->flow;
    const size_t features = flow->features, m = flow->m;
    for (size_t o = 0; o < m; o++) {
        double *best = flow->best + o * features;
        for (size_t j = 0; j < features; j++) {
            best[j] = k->X[j * m + o] / k->scale[j];
            best[0] -= best[j] * k->centre[j];
        }
    }
}

/* Y, where it stands, less the best symmetric expert; the root of the mean of its square. */
static void set_residual(const fitter *k)
{
    moeg_flow_sample *s = k->s;
    const size_t features = s->flow.features, m = s->flow.m;
    double root = 0;
    for (size_t b = 0; b < s->blocks; b++) {
        double *block = moeg_flow_block(s, b);
        const double *weight = moeg_flow_weight(s, block);
        for (size_t o = 0; o < m; o++) {
            double *r = moeg_flow_residual(s, block) + o * s->stride;
            for (size_t i = 0; i < s->stride; i++) {
                for (size_t j = 0; j < features; j++)
                    r[i] -= k->X[j * m + o] * column(k, block, i, j);
                root = weight[i] > 0 ? hypot(root, sqrt(weight[i]) * r[i]) : root;
            }
        }
    }
    s->flow.residual = root;
}

static moeg_status solve(const char *function, fitter *k)
{
    const size_t features = k->s->flow.features;
    set_units(k);
    set_rows(k);
    size_t rank;
    const moeg_status status =
        moeg_linalg_least_squares(function, k->n, features, k->s->flow.m, k->A, k->Y, k->rounding, k->X, &rank);
    if (status != MOEG_OK)
        return status == MOEG_EINVAL ? moeg_fail(MOEG_ERANGE, "%s: the rows overflow", function) : status;
    if (rank < features)
        return moeg_fail(MOEG_EDOM, "%s: the best symmetric expert is not unique: %zu coefficients, rows of rank %zu",
                         function, features, rank);
    set_best(k);
    return MOEG_OK;
}

moeg_status moeg_flow_sample_fit(const char *function, moeg_flow_sample *s, size_t n)
{
    fitter k = {.s = s, .n = n};
    moeg_status status = allocate(function, &k);
    if (status == MOEG_OK && s->flow.features > 0)
        status = solve(function, &k);
    if (status == MOEG_OK) {
        set_residual(&k);
        int finite = isfinite(s->flow.residual * s->flow.residual);
        for (size_t j = 0; j < s->flow.features * s->flow.m; j++)
            finite = finite && isfinite(s->flow.best[j]);
        if (!finite)
            status = moeg_fail(MOEG_ERANGE, "%s: the risk or the best symmetric expert overflows", function);
    }
    moeg_release(k.A);
    moeg_release(k.Y);
    moeg_release(k.X);
    moeg_release(k.centre);
    moeg_release(k.scale);
    return status;
}
