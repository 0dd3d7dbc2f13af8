/* What comes out of general lines. */
#include "base/error.h"
#include "base/memory.h"
#include "limit/nodes.h"
#include "limit/ray_estimate.h"

moeg_status moeg_nodes_result_init(const char *function, size_t count, moeg_nodes_result *result)
{
    *result = (moeg_nodes_result){.count = count, .unit = moeg_alloc(count, sizeof *result->unit)};
    moeg_status status = result->unit == NULL ? moeg_fail_memory(function) : MOEG_OK;
    for (size_t v = 0; v < count && status == MOEG_OK; v++)
        result->unit[v] = 1;
    if (status == MOEG_OK)
        status = moeg_ray_result_init(function, count, &result->sampled);
    return status;
}

void moeg_nodes_result_free(moeg_nodes_result *result)
{
    moeg_ray_result_free(&result->sampled);
    moeg_release(result->unit);
    *result = (moeg_nodes_result){0};
}

void moeg_nodes_scale(double scale, moeg_estimate *e)
{
    e->value *= scale;
    e->std_error *= scale;
    e->lo *= scale;
    e->hi *= scale;
    e->quad_error *= scale;
}

moeg_status moeg_nodes_estimate(const moeg_nodes_result *result, size_t v, int rare, double divisor, double level,
                                moeg_estimate *out)
{
    const moeg_status status = moeg_ray_estimate(&result->sampled, result->count, v, rare, level, out);
    moeg_nodes_scale(result->unit[v] / divisor, out);
    return status;
}

moeg_status moeg_nodes_expect(const char *function, const moeg_nodes *p, moeg_mixing mixing, size_t ntau,
                              const double *tau, int rests, const moeg_sampling *s, moeg_nodes_result *result)
{
    return (moeg_nodes_are_whole(p) ? moeg_nodes_whole : moeg_nodes_sample)(function, p, mixing, ntau, tau, rests, s,
                                                                            result);
}
