/* The pairwise bound on the boundary mass [theory: boundary mass]. */
#include <moegeom/boundary.h>

#include "base/error.h"
#include "base/memory.h"
#include "limit/binary.h"
#include "limit/boundary_pairwise.h"
#include "limit/check.h"
#include "model/model.h"

#include <float.h>
#include <math.h>

/* A probability is right to a few epsilon of a long double, and so is a sum of positive ones; rounding it to double
 * loses half an epsilon. */
static const long double up = 1 + 2 * (long double)DBL_EPSILON;

static moeg_status check_pairwise(const char *function, const moeg_router *router, const moeg_law *law, size_t nw,
                                  const double *w, const double *bound)
{
    const double *W, *b, *mean, *covariance;
    moeg_status status = moeg_check_router_law(function, router, law);
    if (status == MOEG_OK && nw > 0)
        status = moeg_check_pointer(function, "w", w);
    if (status == MOEG_OK && nw > 0)
        status = moeg_check_pointer(function, "bound", bound);
    if (status == MOEG_OK)
        status = moeg_check_grid_size(function, nw, sizeof(long double));
    for (size_t j = 0; j < nw && status == MOEG_OK; j++)
        if (!(w[j] >= 0 && w[j] <= DBL_MAX))
            return moeg_fail(MOEG_EINVAL, "%s: w[%zu] must be finite and at least 0, got %g", function, j, w[j]);
    if (status != MOEG_OK)
        return status;
    if (!moeg_router_affine_parts(router, &W, &b))
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: the router is not affine", function);
    if (!moeg_law_gaussian_parts(law, &mean, &covariance))
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: the law is not Gaussian", function);
    return MOEG_OK;
}

/* A number that is positive, but where it underflows. */
static long double positive(long double value)
{
    return value > 0 ? value : LDBL_MIN;
}

/* Adds the pair i < j to the sums. Two experts that never tie have no part in the slope; nor has one that is masked. */
static moeg_status add_pair(const char *function, size_t i, size_t j, const moeg_binary_logit *logit, size_t nw,
                            const double *w, long double *bound, long double *slope)
{
    const int varies = !logit->masked && logit->deviation > 0;
    for (size_t l = 0; l < nw; l++) {
        const long double mass = moeg_binary_probability(logit, w[l], 0);
        bound[l] += varies && w[l] > 0 ? positive(mass) : mass;
    }
    if (slope == NULL || logit->masked)
        return MOEG_OK;
    if (logit->deviation == 0 && logit->mean == 0)
        return moeg_fail(MOEG_EDOM, "%s: experts %zu and %zu tie everywhere: the bound has no slope", function, i, j);
    if (varies)
        *slope += 2 * positive(moeg_binary_density(logit));
    return MOEG_OK;
}

static moeg_status add_pairs(const char *function, const moeg_router *router, const moeg_law *law, size_t nw,
                             const double *w, long double *bound, long double *slope)
{
    const size_t K = moeg_router_experts(router);
    for (size_t i = 0; i < K; i++)
        for (size_t j = i + 1; j < K; j++) {
            moeg_binary_logit logit;
            moeg_status status = moeg_binary_pair_init(function, router, law, i, j, &logit);
            if (status == MOEG_OK)
                status = add_pair(function, i, j, &logit, nw, w, bound, slope);
            if (status != MOEG_OK)
                return status;
        }
    return MOEG_OK;
}

static moeg_status round_slope(const char *function, long double sum, double *slope)
{
    if (!isfinite((double)sum) || (sum > 0 && (double)sum == 0))
        return moeg_fail(MOEG_ERANGE, "%s: the slope of the bound %s", function, sum > 1 ? "overflows" : "underflows");
    *slope = (double)sum;
    return MOEG_OK;
}

moeg_status moeg_pairwise_slope(const char *function, const moeg_router *router, const moeg_law *law, double *slope)
{
    long double sum = 0;
    moeg_status status = check_pairwise(function, router, law, 0, NULL, NULL);
    if (status == MOEG_OK)
        status = add_pairs(function, router, law, 0, NULL, NULL, &sum);
    return status == MOEG_OK ? round_slope(function, sum, slope) : status;
}

moeg_status moeg_boundary_pairwise(const moeg_router *router, const moeg_law *law, size_t nw, const double *w,
                                   double *bound, double *slope)
{
    static const char function[] = "boundary_pairwise";
    moeg_status status = check_pairwise(function, router, law, nw, w, bound);
    if (status != MOEG_OK)
        return status;
    long double slope_sum = 0, *sums = moeg_alloc_zero(nw, sizeof *sums);
    if (sums == NULL)
        return moeg_fail_memory(function);
    status = add_pairs(function, router, law, nw, w, sums, slope == NULL ? NULL : &slope_sum);
    if (status == MOEG_OK && slope != NULL)
        status = round_slope(function, slope_sum, slope);
    for (size_t j = 0; j < nw && status == MOEG_OK; j++)
        bound[j] = sums[j] > 0 ? (double)(sums[j] * up) + DBL_TRUE_MIN : 0;
    moeg_release(sums);
    return status;
}
