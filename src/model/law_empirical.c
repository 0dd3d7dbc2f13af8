/* X is row i of the data: sample i is row i. Weights, if there are any, stand behind the rows. */
#include "base/error.h"
#include "model/block.h"
#include "model/law_kind.h"

#include <math.h>
#include <string.h>

typedef struct empirical_law {
    moeg_law law;
    int weighted;
    double x[]; /* (rows x dim), row-major; (rows) */
} empirical_law;

static size_t workspace(const moeg_law *law, size_t stride)
{
    (void)law;
    (void)stride;
    return 0;
}

static moeg_status draw(const moeg_law *law, uint64_t seed, uint64_t first, size_t n, size_t stride, double *x,
                        double *scratch)
{
    (void)seed;
    (void)scratch;
    const empirical_law *e = (const empirical_law *)law;
    moeg_block_pack(n, law->dim, e->x + (size_t)first * law->dim, stride, x);
    return MOEG_OK;
}

static const moeg_law_kind empirical_kind = {.workspace = workspace, .draw = draw};

const double *moeg_law_weights(const moeg_law *law)
{
    const empirical_law *e = (const empirical_law *)law;
    return law->kind == &empirical_kind && e->weighted ? e->x + law->rows * law->dim : NULL;
}

/* *largest of the weights, which are finite, >= 0 and not all 0. */
static moeg_status check_weights(const char *function, size_t n, const double *weights, double *largest)
{
    *largest = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(weights[i] >= 0 && isfinite(weights[i])))
            return moeg_fail(MOEG_EINVAL, "%s: weights[%zu] must be finite and at least 0, got %g", function, i,
                             weights[i]);
        *largest = fmax(*largest, weights[i]);
    }
    return *largest > 0 ? MOEG_OK : moeg_fail(MOEG_EINVAL, "%s: weights must not all be 0", function);
}

moeg_status moeg_law_empirical_create(moeg_law **law, size_t n, size_t d, const double *x, const double *weights)
{
    static const char function[] = "law_empirical";
    double largest = 1;
    moeg_status status = moeg_check_pointer(function, "law", law);
    if (status != MOEG_OK)
        return status;
    if (n == 0 || d == 0)
        return moeg_fail(MOEG_EINVAL, "%s: n and d must be at least 1, got n = %zu, d = %zu", function, n, d);
    status = moeg_check_rows(function, "x", n, d, x);
    if (status == MOEG_OK && weights != NULL)
        status = check_weights(function, n, weights, &largest);
    if (status != MOEG_OK)
        return status;
    empirical_law *e = moeg_object_alloc(sizeof *e, weights == NULL ? n * d : n * (d + 1));
    if (e == NULL)
        return moeg_fail_memory(function);
    e->law.kind = &empirical_kind;
    e->law.dim = d;
    e->law.rows = n;
    e->weighted = weights != NULL;
    memcpy(e->x, x, n * d * sizeof *x);
    int exponent;
    frexp(largest, &exponent);
    for (size_t i = 0; weights != NULL && i < n; i++)
        e->x[n * d + i] = ldexp(weights[i], -exponent);
    *law = &e->law;
    return MOEG_OK;
}
