#include <moegeom/risk.h>

#include "base/error.h"
#include "base/interval.h"
#include "base/job.h"
#include "base/memory.h"
#include "limit/check.h"
#include "limit/line.h"
#include "limit/nodes.h"
#include "limit/ray_estimate.h"
#include "limit/ray_risk.h"
#include "limit/risk_result.h"
#include "model/model.h"

static moeg_status run_line(const char *function, const moeg_line_risk *risk, moeg_mixing mixing, size_t ntau,
                            const double *tau, double level, moeg_estimate *hard, moeg_estimate *soft,
                            moeg_estimate *gap, double *gap_covariance)
{
    double l0[2];
    moeg_status status = moeg_line_hard(function, risk, mixing, &l0[0], &l0[1]);
    double(*all)[2][2] = moeg_alloc(ntau, sizeof *all); /* Gap and soft risk, with their errors. */
    if (status == MOEG_OK && all == NULL)
        status = moeg_fail_memory(function);
    for (size_t t = 0; t < ntau && status == MOEG_OK; t++) {
        status = moeg_line_gap(function, risk, mixing, tau[t], &all[t][0][0], &all[t][0][1]);
        if (status == MOEG_OK)
            status = moeg_line_soft(function, risk, mixing, tau[t], l0, all[t][0], all[t][1]);
    }
    if (status == MOEG_OK) {
        for (size_t t = 0; t < ntau; t++) {
            if (soft != NULL)
                soft[t] = moeg_line_estimate(all[t][1][0], all[t][1][1], level);
            if (gap != NULL)
                gap[t] = moeg_line_estimate(all[t][0][0], all[t][0][1], level);
        }
        if (hard != NULL)
            *hard = moeg_line_estimate(l0[0], l0[1], level);
        for (size_t t = 0; gap_covariance != NULL && t < ntau * ntau; t++)
            gap_covariance[t] = 0;
    }
    moeg_release(all);
    return status;
}

/* Any lines, where rays are not for the problem. */
static moeg_status run_lines(const char *function, const char *refusal, const moeg_moe *moe,
                             const moeg_teacher *teacher, const moeg_law *law, moeg_mixing mixing, size_t ntau,
                             const double *tau, const moeg_sampling *s, moeg_estimate *hard, moeg_estimate *soft,
                             moeg_estimate *gap, double *gap_covariance)
{
    moeg_nodes nodes;
    const char *why;
    moeg_status status = moeg_nodes_init(function, moe, teacher, law, &nodes, &why);
    if (status != MOEG_OK)
        return status;
    if (why != NULL)
        status = moeg_fail(MOEG_EUNSUPPORTED, "%s: method line does not apply: %s (nor do many lines: %s)", function,
                           refusal, why);
    else
        status = moeg_nodes_risk_curve(function, &nodes, mixing, ntau, tau, s, hard, soft, gap, gap_covariance);
    moeg_nodes_free(&nodes);
    return status;
}

/* LINE by name, where more than one line is needed; `refusal` says why one is not enough. */
static moeg_status run_rays(const char *function, const char *refusal, const moeg_moe *moe, const moeg_teacher *teacher,
                            const moeg_law *law, moeg_mixing mixing, size_t ntau, const double *tau,
                            const moeg_sampling *s, moeg_estimate *hard, moeg_estimate *soft, moeg_estimate *gap,
                            double *gap_covariance)
{
    moeg_ray_risk risk = {.noise = 0};
    const char *why = "directions are given";
    moeg_status status = s->directions != NULL ? MOEG_OK : moeg_ray_risk_init(function, moe, teacher, law, &risk, &why);
    if (status != MOEG_OK)
        return status;
    if (why != NULL)
        status = run_lines(function, refusal, moe, teacher, law, mixing, ntau, tau, s, hard, soft, gap, gap_covariance);
    else
        status = moeg_ray_risk_curve(function, &risk, mixing, ntau, tau, s, hard, soft, gap, gap_covariance);
    moeg_ray_explain(function, status, s->n, hard != NULL, hard);
    moeg_ray_explain(function, status, s->n, ntau, soft);
    moeg_ray_explain(function, status, s->n, ntau, gap);
    moeg_ray_risk_free(&risk);
    return status;
}

static moeg_status run(const char *function, const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                       moeg_mixing mixing, size_t ntau, const double *tau, const moeg_sampling *s, moeg_estimate *hard,
                       moeg_estimate *soft, moeg_estimate *gap, double *gap_covariance)
{
    int line;
    moeg_status status = moeg_check_risk(function, moe, teacher, law, mixing, ntau, tau, s);
    if (status != MOEG_OK)
        return status;
    const char *refusal = moeg_line_risk_refusal(moe, teacher, law);
    if (refusal == NULL && (status = moeg_check_no_directions(function, s)) != MOEG_OK)
        return status;
    if (refusal != NULL && s->method == MOEG_METHOD_LINE)
        return run_rays(function, refusal, moe, teacher, law, mixing, ntau, tau, s, hard, soft, gap, gap_covariance);
    if ((status = moeg_choose_line(function, refusal, s->method, &line)) != MOEG_OK)
        return status;
    if (!line)
        return moeg_risk_sample(function, 0, moe, teacher, law, mixing, ntau, tau, s, hard, soft, gap, gap_covariance);
    moeg_line_risk risk;
    if ((status = moeg_line_risk_init(function, moe, teacher, law, &risk)) != MOEG_OK)
        return status;
    return run_line(function, &risk, mixing, ntau, tau, s->level, hard, soft, gap, gap_covariance);
}

moeg_status moeg_risk_curve(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law, moeg_mixing mixing,
                            size_t ntau, const double *tau, const moeg_sampling *s, moeg_estimate *hard,
                            moeg_estimate *soft, moeg_estimate *gap, double *gap_covariance)
{
    return run("risk_curve", moe, teacher, law, mixing, ntau, tau, s, hard, soft, gap, gap_covariance);
}

moeg_status moeg_risk_gap(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law, moeg_mixing mixing,
                          size_t ntau, const double *tau, const moeg_sampling *s, moeg_estimate *gap)
{
    const moeg_status status = moeg_check_pointer("risk_gap", "gap", gap);
    if (status != MOEG_OK)
        return status;
    return run("risk_gap", moe, teacher, law, mixing, ntau, tau, s, NULL, NULL, gap, NULL);
}

moeg_status moeg_risk_job_create(moeg_job **job, const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                 moeg_mixing mixing, size_t ntau, const double *tau, const moeg_sampling *s)
{
    static const char function[] = "risk_job_create";
    moeg_status status = moeg_check_pointer(function, "job", job);
    if (status == MOEG_OK)
        status = moeg_check_risk(function, moe, teacher, law, mixing, ntau, tau, s);
    if (status == MOEG_OK)
        status = moeg_check_job_method(function, s);
    if (status != MOEG_OK)
        return status;
    return moeg_risk_job_make(function, job, 0, moe, teacher, law, mixing, ntau, tau, s);
}

moeg_status moeg_risk_job_result(const moeg_job *job, const moeg_partial *partial, double level, moeg_estimate *hard,
                                 moeg_estimate *soft, moeg_estimate *gap, double *gap_covariance)
{
    static const char function[] = "risk_job_result";
    moeg_status status = moeg_check_pointer(function, "job", job);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "partial", partial);
    if (status != MOEG_OK)
        return status;
    if (moeg_risk_context_of(job) == NULL)
        return moeg_fail(MOEG_EINVAL, "%s: job must be one of risk_job_create, got \"%s\"", function,
                         moeg_job_get_spec(job)->name);
    if (!moeg_partial_fits(job, partial))
        return moeg_fail(MOEG_EINVAL, "%s: partial must be a part of such a job as this: of its units and its grid",
                         function);
    if ((status = moeg_check_level(function, level)) != MOEG_OK)
        return status;
    return moeg_risk_job_read(function, job, partial, level, hard, soft, gap, gap_covariance);
}
