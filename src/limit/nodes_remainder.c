/* The slope of the gap at tau = 0 and what is left of the gap, on general lines. */
#include "base/error.h"
#include "base/memory.h"
#include "limit/check.h"
#include "limit/nodes.h"
#include "limit/ray_estimate.h"

#include <float.h>
#include <math.h>

/* Without lines that are drawn: the slope, and gap/tau less it. */
static moeg_status whole_space(const char *function, const moeg_nodes *p, moeg_mixing mixing, size_t ntau,
                               const double *tau, const moeg_sampling *s, moeg_nodes_result *out)
{
    moeg_status status = moeg_check_no_directions(function, s);
    if (status != MOEG_OK)
        return status;
    status = moeg_nodes_result_init(function, 1 + ntau, out);
    if (status != MOEG_OK)
        return status;
    double *value = out->sampled.value, *error = out->sampled.error;
    status = moeg_nodes_whole(function, p, mixing, ntau, tau, MOEG_NODES_LEAD, value, error);
    for (size_t t = 1; t <= ntau; t++) {
        value[t] = value[t] / tau[t - 1] - value[0];
        error[t] = error[t] / tau[t - 1] + error[0] + DBL_EPSILON * fabs(value[0]);
    }
    out->sampled.lines = 1;
    return status;
}

moeg_status moeg_nodes_remainder(const char *function, const moeg_nodes *p, moeg_mixing mixing, size_t ntau,
                                 const double *tau, const moeg_sampling *s, moeg_estimate *slope,
                                 moeg_estimate *remainder)
{
    moeg_nodes_result result = {0};
    moeg_status status = moeg_nodes_are_whole(p) ? whole_space(function, p, mixing, ntau, tau, s, &result)
                                                 : moeg_nodes_sample(function, p, mixing, ntau, tau, 1, s, &result);
    for (size_t v = 0; v <= ntau && status >= 0; v++) {
        moeg_estimate *out = v == 0 ? slope : &remainder[v - 1];
        /* Of loss mixing the slope is 0 where m has no jump. */
        const int rare = (v > 0 || mixing == MOEG_MIX_OUTPUT) && moeg_nodes_may_miss(p, 1);
        const moeg_status one = moeg_nodes_estimate(&result, v, rare, v == 0 ? 1 : tau[v - 1], s->level, out);
        status = status == MOEG_OK ? one : status;
    }
    moeg_nodes_result_free(&result);
    moeg_ray_explain(function, status, s->n, 1, slope);
    moeg_ray_explain(function, status, s->n, ntau, remainder);
    return status;
}
