#include "line/panel.h"

#include "base/normal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

void moeg_panel_sum(const moeg_rays *rays, size_t stratum, const moeg_ray_quantity *quantity, const double *normal,
                    double anchor, double lo, double hi, moeg_ray_buffers *buffers, double *sums)
{
    const size_t stride = buffers->stride;
    const double half = (hi - lo) / 2, middle = (hi + lo) / 2;
    double kronrod[MOEG_PANEL], gauss[MOEG_PANEL];
    for (size_t i = 0; i < stride; i++) {
        const size_t node = i < MOEG_PANEL ? i : 0, at = (node + 1) / 2; /* 0, +1, -1, +2, -2, ... */
        const double y = anchor + (middle + (node % 2 == 1 ? half : -half) * moeg_quad_rule[at].node);
        buffers->u[i] = y * normal[0];
        buffers->u[stride + i] = y * normal[1];
        if (i < MOEG_PANEL) {
            kronrod[i] = moeg_quad_rule[at].kronrod * half * moeg_normal_density(y);
            gauss[i] = moeg_quad_rule[at].gauss * half * moeg_normal_density(y);
        }
    }
    moeg_rays_evaluate(rays, stratum, quantity, buffers);
    for (size_t j = 0; j < quantity->count; j++) {
        double fine = 0, coarse = 0, rounding = 0;
        for (size_t i = 0; i < MOEG_PANEL; i++) {
            const double value = buffers->values[j * stride + i];
            fine += kronrod[i] * value;
            coarse += gauss[i] * value;
            rounding += kronrod[i] * (4 * DBL_EPSILON * fabs(value) + buffers->errors[j * stride + i]);
        }
        sums[3 * j] = fine;
        sums[3 * j + 1] = fabs(fine - coarse);
        sums[3 * j + 2] = rounding;
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

size_t moeg_panel_merge(size_t count, double *ends)
{
    size_t kept = 0;
    qsort(ends, count, sizeof *ends, ascending);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || ends[i] - ends[kept - 1] > 16 * DBL_EPSILON * (1 + fabs(ends[i])))
            ends[kept++] = ends[i];
    return kept;
}
