/* The slope of the gap at tau = 0 and what is left of the gap, on general lines. */
#include "base/memory.h"
#include "limit/nodes.h"
#include "limit/ray_estimate.h"
#include "line/crowded.h"

moeg_status moeg_nodes_remainder(const char *function, const moeg_nodes *p, moeg_mixing mixing, size_t ntau,
                                 const double *tau, const moeg_sampling *s, moeg_estimate *slope,
                                 moeg_estimate *remainder)
{
    moeg_nodes_result result = {0};
    moeg_nodes with_third = *p;
    uint32_t *third;
    moeg_status status = moeg_crowded_pairs(function, &p->frame, &third);
    with_third.third = third;
    if (status == MOEG_OK)
        status = moeg_nodes_expect(function, &with_third, mixing, ntau, tau, 1, s, &result);
    for (size_t v = 0; v <= ntau && status >= 0; v++) {
        moeg_estimate *out = v == 0 ? slope : &remainder[v - 1];
        const int rare = moeg_nodes_may_miss(p, 1) && (v > 0 || moeg_nodes_may_lead(p, mixing));
        const moeg_status one = moeg_nodes_estimate(&result, v, rare, v == 0 ? 1 : tau[v - 1], s->level, out);
        status = status == MOEG_OK ? one : status;
    }
    moeg_release(third);
    moeg_nodes_result_free(&result);
    moeg_ray_explain(function, status, s->n, 1, slope);
    moeg_ray_explain(function, status, s->n, ntau, remainder);
    return status;
}
