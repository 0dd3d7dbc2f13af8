#include "limit/ray_estimate.h"

#include "base/error.h"
#include "base/tail.h"
#include "limit/line.h"

#include <float.h>
#include <math.h>

/* A variance that does not matter beside another, not even if it is as badly known as a handful of lines may leave it.
 */
static const double NEGLIGIBLE = 1e-2;

/* Whether lines that were drawn are enough for an error bar. */
static int is_known(const moeg_ray_result *result, size_t j, double variance, const moeg_estimate *e)
{
    const int is_zero = result->contributing[j] == 0 && e->contributing > 0;
    return result->freedom[j] >= MOEG_ENOUGH_UNITS - 1 && e->contributing >= MOEG_ENOUGH_UNITS &&
           (is_zero || result->seen[j] >= MOEG_ENOUGH_UNITS) && isfinite(variance) && !isnan(e->value) &&
           !(variance > 0 && variance < DBL_MIN);
}

void moeg_ray_judge_rest(const moeg_ray_rest *rest, size_t count, size_t at, moeg_ray_result *result)
{
    const int leads = rest->lead < count;
    const double *freedom = result->freedom, *seen = result->seen;
    const double lead = leads ? result->covariance[rest->lead * (count + 1)] : 0;
    const double beyond = result->covariance[rest->reference * (count + 1)] * rest->share;
    const double all = lead + beyond, part = lead > 0 ? lead / all : 0;
    double *mine = &result->covariance[at * (count + 1)];
    *mine = fmax(*mine, all * (rest->scale * rest->scale));
    if (lead > 0 && beyond <= NEGLIGIBLE * lead) {
        result->freedom[at] = freedom[rest->lead];
        result->seen[at] = seen[rest->lead];
        return;
    }
    /* Welch and Satterthwaite. */
    double inverse = (1 - part) * (1 - part) / freedom[rest->reference];
    if (leads)
        inverse += part * part / freedom[rest->lead];
    result->freedom[at] = rest->known ? 1 / inverse : 0;
    result->seen[at] = leads ? fmin(seen[rest->lead], seen[rest->reference]) : seen[rest->reference];
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
