/* Estimates of risks on general lines: one line, the plane, or lines drawn at random. */
#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/normal.h"
#include "limit/nodes.h"
#include "limit/ray_estimate.h"
#include "limit/support.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* Beyond EDGE the density is 0 in double; beyond NEAR it is e^-45 of what it is at 0. On one line every gap is looked
 * at whose exp(-gap/tau) is not 0. */
static const double EDGE = 38.5, NEAR = 9.5, FELT_ON_ONE_LINE = 745;

/* Values and errors of 1 + ntau: the hard risk, then the gaps. */
typedef struct sums {
    double *value, *error;
} sums;

static moeg_status one_line(const char *function, const moeg_nodes *p, moeg_mixing mixing, size_t ntau,
                            const double *tau, const sums *out)
{
    const double e = 1, zeros[MOEG_LANES] = {0};
    moeg_nodes_curve curve;
    moeg_nodes_way way = {0};
    double *memory = NULL;
    moeg_status status =
        moeg_nodes_curve_init(function, p, mixing, ntau, tau, MOEG_NODES_INTEGRATED, EDGE, FELT_ON_ONE_LINE, &curve);
    if (status == MOEG_OK)
        status = moeg_nodes_way_init(function, p, &e, &way);
    if (status == MOEG_OK) {
        const size_t values = (1 + ntau) * MOEG_LANES;
        memory = moeg_alloc(2 * values + moeg_nodes_workspace(&curve, MOEG_LANES), sizeof *memory);
        status = memory == NULL ? moeg_fail_memory(function)
                                : moeg_nodes_lines(&curve, &way, 1, MOEG_LANES, MOEG_LANES, zeros, memory + 2 * values,
                                                   memory, memory + values);
        for (size_t v = 0; v <= ntau && status == MOEG_OK; v++) {
            out->value[v] = memory[v * MOEG_LANES];
            out->error[v] = memory[values + v * MOEG_LANES];
        }
    }
    moeg_release(memory);
    moeg_nodes_way_free(&way);
    moeg_nodes_curve_free(&curve);
    return status;
}

/* One value of the plane: the hard risk (tau = 0) or a gap, whose window is widened until what it leaves out is lost
 * beside what is in it. */
static moeg_status plane_value(const char *function, const moeg_nodes *p, moeg_mixing mixing, double tau, double *value,
                               double *error)
{
    const size_t ntau = tau > 0;
    double both[2], errors[2];
    moeg_status status = MOEG_OK;
    for (double window = NEAR; status == MOEG_OK; window = fmin(2 * window, EDGE)) {
        moeg_nodes_curve curve;
        status =
            moeg_nodes_curve_init(function, p, mixing, ntau, &tau,
                                  ntau > 0 ? MOEG_NODES_NO_HARD : MOEG_NODES_INTEGRATED, window, MOEG_FELT, &curve);
        if (status == MOEG_OK)
            status = moeg_nodes_plane(function, &curve, both, errors);
        moeg_nodes_curve_free(&curve);
        if (ntau == 0 || window >= EDGE || fabs(both[1]) > 1e13 * moeg_normal_density(window) * fmin(tau, 1))
            break;
    }
    if (status == MOEG_OK) {
        *value = both[ntau];
        *error = errors[ntau];
    }
    return status;
}

static moeg_status plane(const char *function, const moeg_nodes *p, moeg_mixing mixing, size_t ntau, const double *tau,
                         const sums *out)
{
    moeg_status status = plane_value(function, p, mixing, 0, &out->value[0], &out->error[0]);
    for (size_t t = 0; t < ntau && status == MOEG_OK; t++)
        if (tau[t] > 0)
            status = plane_value(function, p, mixing, tau[t], &out->value[1 + t], &out->error[1 + t]);
    return status;
}

/* Whether nothing is left to be drawn. */
static int is_whole(const moeg_nodes *p)
{
    return p->drawn == p->r && p->r <= 2;
}

/* The hard risk, the gaps, and the soft risks, their sums. */
static void add_soft(size_t ntau, const sums *in, moeg_ray_result *result)
{
    for (size_t v = 0; v <= ntau; v++) {
        result->value[v] = in->value[v];
        result->error[v] = in->error[v];
        if (v > 0) {
            result->value[ntau + v] = in->value[0] + in->value[v];
            result->error[ntau + v] = in->error[0] + in->error[v];
        }
    }
    result->lines = 1;
}

static moeg_status whole_space(const char *function, const moeg_nodes *p, moeg_mixing mixing, size_t ntau,
                               const double *tau, moeg_ray_result *result)
{
    double *memory = moeg_alloc_zero(1 + ntau, 2 * sizeof *memory);
    if (memory == NULL)
        return moeg_fail_memory(function);
    const sums out = {memory, memory + 1 + ntau};
    const moeg_status status =
        p->r == 1 ? one_line(function, p, mixing, ntau, tau, &out) : plane(function, p, mixing, ntau, tau, &out);
    if (status == MOEG_OK)
        add_soft(ntau, &out, result);
    moeg_release(memory);
    return status;
}

/* Estimates (1 + 2 ntau) of a result, the risks with the teacher's noise. The first status that is not MOEG_OK. */
static moeg_status estimate(const char *function, const moeg_ray_result *result, size_t ntau, double noise,
                            double level, moeg_estimate *all)
{
    moeg_status status = MOEG_OK, noisy = MOEG_OK;
    for (size_t v = 0; v <= 2 * ntau; v++) {
        const moeg_status one = moeg_ray_estimate(result, 1 + 2 * ntau, v, 0, level, &all[v]);
        status = status == MOEG_OK ? one : status;
        if ((v == 0 || v > ntau) && noisy == MOEG_OK)
            noisy = moeg_support_add_noise(function, noise, &all[v]);
    }
    return noisy != MOEG_OK ? noisy : status;
}

static void write_covariance(size_t ntau, const moeg_ray_result *result, const moeg_estimate *gap, double *out)
{
    for (size_t t = 0; t < ntau; t++)
        for (size_t u = 0; u < ntau; u++)
            out[t * ntau + u] =
                moeg_ray_covariance(&gap[t], &gap[u], result->covariance[(1 + t) * (1 + 2 * ntau) + 1 + u]);
}

moeg_status moeg_nodes_risk_curve(const char *function, const moeg_nodes *p, moeg_mixing mixing, size_t ntau,
                                  const double *tau, const moeg_sampling *s, moeg_estimate *hard, moeg_estimate *soft,
                                  moeg_estimate *gap, double *gap_covariance)
{
    const size_t count = 1 + 2 * ntau;
    moeg_ray_result result;
    moeg_estimate *all = moeg_alloc(count, sizeof *all);
    moeg_status status = moeg_ray_result_init(function, count, &result);
    if (status == MOEG_OK && all == NULL)
        status = moeg_fail_memory(function);
    if (status == MOEG_OK)
        status = is_whole(p) ? whole_space(function, p, mixing, ntau, tau, &result)
                             : moeg_nodes_sample(function, p, mixing, ntau, tau, s, &result);
    if (status >= 0) {
        const moeg_status read = estimate(function, &result, ntau, moeg_teacher_noise(p->teacher), s->level, all);
        status = status == MOEG_OK || read < 0 ? read : status;
    }
    if (status >= 0 && hard != NULL)
        *hard = all[0];
    if (status >= 0 && gap != NULL)
        memcpy(gap, all + 1, ntau * sizeof *gap);
    if (status >= 0 && soft != NULL)
        memcpy(soft, all + 1 + ntau, ntau * sizeof *soft);
    if (status >= 0 && gap_covariance != NULL)
        write_covariance(ntau, &result, all + 1, gap_covariance);
    moeg_ray_result_free(&result);
    moeg_release(all);
    return status;
}
