#include "limit/ray_estimate.h"

#include "base/error.h"
#include "base/tail.h"
#include "limit/line.h"

#include <float.h>
#include <math.h>

/* Whether lines that were drawn are enough for an error bar. */
static int is_known(const moeg_ray_result *result, size_t j, double variance, const moeg_estimate *e)
{
    const int is_zero = result->contributing[j] == 0 && e->contributing > 0;
    return result->freedom[j] >= MOEG_ENOUGH_UNITS - 1 && e->contributing >= MOEG_ENOUGH_UNITS &&
           (is_zero || result->seen[j] >= MOEG_ENOUGH_UNITS) && isfinite(variance) &&
           !(variance > 0 && variance < DBL_MIN);
}

void moeg_ray_forget(moeg_estimate *e)
{
    e->std_error = INFINITY;
    e->lo = -INFINITY;
    e->hi = INFINITY;
}

moeg_status moeg_ray_estimate(const moeg_ray_result *result, size_t count, size_t j, int rare, double level,
                              moeg_estimate *out)
{
    const double variance = result->covariance[j * count + j];
    *out = moeg_line_estimate(result->value[j], result->error[j], level);
    if (result->lines == 1)
        return MOEG_OK;
    out->n = result->lines;
    out->contributing = result->contributing[j] > 0 || rare ? result->contributing[j] : result->lines;
    if (!is_known(result, j, variance, out)) {
        moeg_ray_forget(out);
        return MOEG_EUNABLE;
    }
    out->std_error = sqrt(variance);
    const double reach = out->std_error * moeg_tail_student_reach(result->freedom[j], level);
    out->lo -= reach;
    out->hi += reach;
    return MOEG_OK;
}

moeg_estimate moeg_ray_zero(uint64_t lines, double level)
{
    moeg_estimate zero = moeg_line_estimate(0, 0, level);
    zero.n = zero.contributing = lines;
    return zero;
}

double moeg_ray_covariance(const moeg_estimate *a, const moeg_estimate *b, double value)
{
    if (isfinite(a->std_error) && isfinite(b->std_error))
        return value;
    if (a == b)
        return INFINITY;
    return a->std_error == 0 || b->std_error == 0 ? 0 : NAN;
}

void moeg_ray_explain(const char *function, moeg_status status, uint64_t lines, size_t n, const moeg_estimate *all)
{
    int unknown = 0;
    for (size_t j = 0; status == MOEG_EUNABLE && all != NULL && j < n; j++)
        unknown = unknown || isinf(all[j].std_error);
    if (unknown)
        moeg_fail(status, "%s: %llu lines are too few for an error bar", function, (unsigned long long)lines);
}
