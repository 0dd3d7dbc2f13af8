/* X is row i of the data: sample i is row i. */
#include "base/error.h"
#include "model/block.h"
#include "model/law_kind.h"

#include <string.h>

typedef struct empirical_law {
    moeg_law law;
    double x[]; /* (rows x dim), row-major */
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

moeg_status moeg_law_empirical_create(moeg_law **law, size_t n, size_t d, const double *x)
{
    static const char function[] = "law_empirical";
    moeg_status status = moeg_check_pointer(function, "law", law);
    if (status != MOEG_OK)
        return status;
    if (n == 0 || d == 0)
        return moeg_fail(MOEG_EINVAL, "%s: n and d must be at least 1, got n = %zu, d = %zu", function, n, d);
    status = moeg_check_rows(function, "x", n, d, x);
    if (status != MOEG_OK)
        return status;
    empirical_law *e = moeg_object_alloc(sizeof *e, n * d);
    if (e == NULL)
        return moeg_fail_memory(function);
    e->law.kind = &empirical_kind;
    e->law.dim = d;
    e->law.rows = n;
    memcpy(e->x, x, n * d * sizeof *x);
    *law = &e->law;
    return MOEG_OK;
}
