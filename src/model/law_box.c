/* X_j = lo_j + (hi_j - lo_j) u_j, u the uniforms 0 .. d - 1 of unit i of the stream {seed, 0}. */
#include "base/error.h"
#include "base/kernel.h"
#include "base/streams.h"
#include "model/block.h"
#include "model/law_kind.h"

#include <math.h>

typedef struct box_law {
    moeg_law law;
    double sides[]; /* (dim x 2): lo, hi - lo */
} box_law;

static size_t workspace(const moeg_law *law, size_t stride)
{
    (void)law;
    (void)stride;
    return 0;
}

/* x is in [lo, hi]. With w = hi - lo rounded, u <= 1 - 2^-53 and w u rounds to the number before w at the most; that is
 * below the exact hi - lo, from which w is half a spacing away at the most. */
static moeg_status draw(const moeg_law *law, uint64_t seed, uint64_t first, size_t n, size_t stride, double *x,
                        double *scratch)
{
    (void)n;
    (void)scratch;
    const double *sides = ((const box_law *)law)->sides;
    moeg_kernel_uniforms(seed, MOEG_STREAM_LAW, first, law->dim, stride, x);
    for (size_t j = 0; j < law->dim; j++) {
        const double lo = sides[2 * j], width = sides[2 * j + 1];
        for (size_t i = 0; i < stride; i++)
            x[j * stride + i] = lo + width * x[j * stride + i];
    }
    return MOEG_OK;
}

static const moeg_law_kind box_kind = {.workspace = workspace, .draw = draw};

static moeg_status check_sides(const char *function, size_t d, const double *lo, const double *hi)
{
    moeg_status status = moeg_check_array(function, "lo", d, 1, lo);
    if (status == MOEG_OK)
        status = moeg_check_finite(function, "lo", d, lo);
    if (status == MOEG_OK)
        status = moeg_check_array(function, "hi", d, 1, hi);
    if (status == MOEG_OK)
        status = moeg_check_finite(function, "hi", d, hi);
    for (size_t j = 0; status == MOEG_OK && j < d; j++) {
        if (lo[j] >= hi[j])
            status = moeg_fail(MOEG_EINVAL, "%s: hi[%zu] must be above lo[%zu] = %.17g, got %.17g", function, j, j,
                               lo[j], hi[j]);
        else if (isinf(hi[j] - lo[j]))
            status = moeg_fail(MOEG_ERANGE, "%s: hi[%zu] - lo[%zu] overflows: %g and %g", function, j, j, hi[j], lo[j]);
    }
    return status;
}

moeg_status moeg_law_box_create(moeg_law **law, size_t d, const double *lo, const double *hi)
{
    static const char function[] = "law_box";
    moeg_status status = moeg_check_pointer(function, "law", law);
    if (status != MOEG_OK)
        return status;
    if (d == 0 || d > UINT32_MAX) /* a unit of the stream has 2^32 draws */
        return moeg_fail(MOEG_EINVAL, "%s: d must be in [1, 2^32), got %zu", function, d);
    status = check_sides(function, d, lo, hi);
    if (status != MOEG_OK)
        return status;
    box_law *b = moeg_object_alloc(sizeof *b, 2 * d);
    if (b == NULL)
        return moeg_fail_memory(function);
    b->law.kind = &box_kind;
    b->law.dim = d;
    b->law.rows = 0;
    for (size_t j = 0; j < d; j++) {
        b->sides[2 * j] = lo[j];
        b->sides[2 * j + 1] = hi[j] - lo[j];
    }
    *law = &b->law;
    return MOEG_OK;
}
