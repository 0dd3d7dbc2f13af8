/* Estimates of risks on general lines. */
#include "base/error.h"
#include "base/memory.h"
#include "limit/nodes.h"
#include "limit/ray_estimate.h"
#include "limit/support.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* Whether the hard risk may be more than noise: not if the teacher is the hard model itself, or all outputs agree. */
static int may_err(const moeg_nodes *p, moeg_mixing mixing)
{
    const int own = p->mixture == p->moe && (mixing == MOEG_MIX_OUTPUT || p->winners == 1);
    return !own && !moeg_nodes_agree(p, 0, p->K + p->pieces);
}

/* Estimates (1 + 2 ntau) of a result, the risks with the teacher's noise; a soft risk is no better known than its gap.
 * The first status that is not MOEG_OK. */
static moeg_status estimate(const char *function, const moeg_nodes *p, moeg_mixing mixing,
                            const moeg_nodes_result *result, size_t ntau, const double *tau, double level,
                            moeg_estimate *all)
{
    const int errs = may_err(p, mixing);
    const double noise = moeg_teacher_noise(p->teacher);
    moeg_status status = MOEG_OK, noisy = MOEG_OK;
    for (size_t v = 0; v <= 2 * ntau; v++) {
        const int moves = v > 0 && moeg_nodes_may_miss(p, tau[(v - 1) % ntau]);
        const int rare = v == 0 ? errs : v <= ntau ? moves : moves || errs;
        const moeg_status one = moeg_nodes_estimate(result, v, rare, 1, level, &all[v]);
        status = status == MOEG_OK ? one : status;
        if (v > ntau && isinf(all[v - ntau].std_error))
            moeg_ray_forget(&all[v]);
        if ((v == 0 || v > ntau) && noisy == MOEG_OK)
            noisy = moeg_support_add_noise(function, noise, &all[v]);
    }
    return noisy != MOEG_OK ? noisy : status;
}

static void write_covariance(size_t ntau, const moeg_nodes_result *result, const moeg_estimate *gap, double *out)
{
    for (size_t t = 0; t < ntau; t++)
        for (size_t u = 0; u < ntau; u++) {
            const double value = result->sampled.covariance[(1 + t) * result->count + 1 + u];
            out[t * ntau + u] =
                moeg_ray_covariance(&gap[t], &gap[u], value * result->unit[1 + t] * result->unit[1 + u]);
        }
}

moeg_status moeg_nodes_risk_curve(const char *function, const moeg_nodes *p, moeg_mixing mixing, size_t ntau,
                                  const double *tau, const moeg_sampling *s, moeg_estimate *hard, moeg_estimate *soft,
                                  moeg_estimate *gap, double *gap_covariance)
{
    moeg_nodes_result result = {0};
    moeg_estimate *all = moeg_alloc(1 + 2 * ntau, sizeof *all);
    moeg_status status = all == NULL ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK)
        status = moeg_nodes_expect(function, p, mixing, ntau, tau, 0, s, &result);
    if (status >= 0) {
        const moeg_status read = estimate(function, p, mixing, &result, ntau, tau, s->level, all);
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
    moeg_nodes_result_free(&result);
    moeg_release(all);
    return status;
}
