/* X_1 = s, of a family with a known margin exponent; X_2 .. X_d standard normal. The normals 0 .. d - 1 of unit i of
 * the stream {seed, 0} give s and the rest, in this order; RAYLEIGH takes two for s and hence d + 1 in all. */
#include "base/error.h"
#include "base/kernel.h"
#include "base/streams.h"
#include "model/law_kind.h"

#include <math.h>
#include <string.h>

/* |z| < 8.6 for the normals of the stream, and 8.6^300 < 1e281. */
#define LARGEST_POWER 300.0

typedef struct margin_law {
    moeg_law law;
    moeg_margin_family family;
    double parameter;
} margin_law;

static size_t workspace(const moeg_law *law, size_t stride)
{
    return ((const margin_law *)law)->family == MOEG_MARGIN_RAYLEIGH ? (law->dim + 1) * stride : 0;
}

/* The radius of two normals has the density s e^(-s^2/2), and is independent of their signs. */
static void draw_rayleigh(uint64_t seed, uint64_t first, size_t d, size_t stride, double *x, double *z)
{
    moeg_kernel_normals(seed, MOEG_STREAM_LAW, first, d + 1, stride, z);
    for (size_t i = 0; i < stride; i++)
        x[i] = copysign(sqrt(z[i] * z[i] + z[stride + i] * z[stride + i]), z[i]);
    memcpy(x + stride, z + 2 * stride, (d - 1) * stride * sizeof *x);
}

static moeg_status draw(const moeg_law *law, uint64_t seed, uint64_t first, size_t n, size_t stride, double *x,
                        double *scratch)
{
    (void)n;
    const margin_law *m = (const margin_law *)law;
    if (m->family == MOEG_MARGIN_RAYLEIGH) {
        draw_rayleigh(seed, first, law->dim, stride, x, scratch);
        return MOEG_OK;
    }
    moeg_kernel_normals(seed, MOEG_STREAM_LAW, first, law->dim, stride, x);
    if (m->family == MOEG_MARGIN_POWER)
        for (size_t i = 0; i < stride; i++)
            x[i] = copysign(pow(fabs(x[i]), m->parameter), x[i]);
    else
        for (size_t i = 0; i < stride; i++)
            x[i] = copysign(m->parameter + fabs(x[i]), x[i]);
    return MOEG_OK;
}

static const moeg_law_kind margin_kind = {.workspace = workspace, .draw = draw};

static moeg_status check_parameter(const char *function, moeg_margin_family family, double parameter)
{
    switch (family) {
    case MOEG_MARGIN_POWER:
        if (parameter > 0 && parameter <= LARGEST_POWER)
            return MOEG_OK;
        return moeg_fail(MOEG_EINVAL, "%s: parameter of MOEG_MARGIN_POWER must be in (0, %g], got %g", function,
                         LARGEST_POWER, parameter);
    case MOEG_MARGIN_RAYLEIGH:
        if (parameter == 0)
            return MOEG_OK;
        return moeg_fail(MOEG_EINVAL, "%s: parameter of MOEG_MARGIN_RAYLEIGH must be 0, got %g", function, parameter);
    case MOEG_MARGIN_BOUNDED:
        if (parameter >= 0 && isfinite(parameter))
            return MOEG_OK;
        return moeg_fail(MOEG_EINVAL, "%s: parameter of MOEG_MARGIN_BOUNDED must be finite and at least 0, got %g",
                         function, parameter);
    }
    return moeg_fail(MOEG_EINVAL, "%s: family must be power (0), rayleigh (1) or bounded (2), got %d", function,
                     (int)family);
}

moeg_status moeg_law_margin_create(moeg_law **law, size_t d, moeg_margin_family family, double parameter)
{
    static const char function[] = "law_margin";
    moeg_status status = moeg_check_pointer(function, "law", law);
    if (status != MOEG_OK)
        return status;
    if (d == 0 || d > UINT32_MAX) /* a unit of the stream has 2^32 draws */
        return moeg_fail(MOEG_EINVAL, "%s: d must be in [1, 2^32), got %zu", function, d);
    status = check_parameter(function, family, parameter);
    if (status != MOEG_OK)
        return status;
    margin_law *m = moeg_object_alloc(sizeof *m, 0);
    if (m == NULL)
        return moeg_fail_memory(function);
    m->law.kind = &margin_kind;
    m->law.dim = d;
    m->law.rows = 0;
    m->family = family;
    m->parameter = parameter;
    *law = &m->law;
    return MOEG_OK;
}

int moeg_law_margin_parts(const moeg_law *law, moeg_margin_family *family, double *parameter)
{
    if (law->kind != &margin_kind)
        return 0;
    *family = ((const margin_law *)law)->family;
    *parameter = ((const margin_law *)law)->parameter;
    return 1;
}
