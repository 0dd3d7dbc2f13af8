#include <moegeom/risk.h>

#include "base/error.h"
#include "base/interval.h"
#include "base/job.h"
#include "base/memory.h"
#include "limit/auto.h"
#include "limit/check.h"
#include "limit/line.h"
#include "limit/many_lines.h"
#include "limit/ray_estimate.h"
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

/* What is asked. */
typedef struct question {
    const char *function;
    const moeg_moe *moe;
    const moeg_teacher *teacher;
    const moeg_law *law;
    moeg_mixing mixing;
    size_t ntau;
    const double *tau;
    const moeg_sampling *s;
    moeg_estimate *hard, *soft, *gap;
    double *gap_covariance;
} question;

/* Whether they are AUTO's. */
static int is_choice(const question *q, const moeg_many_lines *m)
{
    if (moeg_many_lines_refused(m))
        return 0;
    return m->no_rays == NULL ? moeg_auto_follows_rays(&m->rays.rays, q->s) : moeg_auto_follows_nodes(&m->nodes);
}

static moeg_status follow_lines(const question *q, const moeg_many_lines *m)
{
    const moeg_status status = m->no_rays == NULL
                                   ? moeg_ray_risk_curve(q->function, &m->rays, q->mixing, q->ntau, q->tau, q->s,
                                                         q->hard, q->soft, q->gap, q->gap_covariance)
                                   : moeg_nodes_risk_curve(q->function, &m->nodes, q->mixing, q->ntau, q->tau, q->s,
                                                           q->hard, q->soft, q->gap, q->gap_covariance);
    moeg_ray_explain(q->function, status, q->s->n, q->hard != NULL, q->hard);
    moeg_ray_explain(q->function, status, q->s->n, q->ntau, q->soft);
    moeg_ray_explain(q->function, status, q->s->n, q->ntau, q->gap);
    return status;
}

/* LINE by name, or AUTO's choice, where more than one line is needed; `refusal` says why one is not enough. *rows: AUTO
 * leaves it to rows. */
static moeg_status run_lines(const question *q, const char *refusal, int *rows)
{
    moeg_many_lines m;
    moeg_status status = MOEG_OK;
    const int by_name = q->s->method == MOEG_METHOD_LINE;
    *rows = !by_name && !moeg_auto_prepares_risk(q->moe);
    if (*rows)
        return MOEG_OK;
    status = moeg_many_lines_init(q->function, q->moe, q->teacher, q->law, q->s, &m);
    *rows = !by_name && status == MOEG_OK && !is_choice(q, &m);
    if (status == MOEG_OK && !*rows)
        status = moeg_many_lines_check(q->function, refusal, &m);
    if (status == MOEG_OK && !*rows)
        status = follow_lines(q, &m);
    *rows = *rows || moeg_auto_gives_up(q->s, status);
    moeg_many_lines_free(&m);
    return status;
}

static moeg_status run(const question *q)
{
    int line, rows;
    const moeg_sampling *s = q->s;
    moeg_status status = moeg_check_risk(q->function, q->moe, q->teacher, q->law, q->mixing, q->ntau, q->tau, s);
    if (status != MOEG_OK)
        return status;
    const char *refusal = moeg_line_risk_refusal(q->moe, q->teacher, q->law);
    if (refusal == NULL && (status = moeg_check_no_directions(q->function, s)) != MOEG_OK)
        return status;
    if (refusal != NULL && s->method != MOEG_METHOD_MC) {
        status = run_lines(q, refusal, &rows);
        if (!rows)
            return status;
    }
    if ((status = moeg_choose_line(q->function, refusal, s->method, &line)) != MOEG_OK)
        return status;
    if (!line)
        return moeg_risk_sample(q->function, 0, q->moe, q->teacher, q->law, q->mixing, q->ntau, q->tau, s, q->hard,
                                q->soft, q->gap, q->gap_covariance);
    moeg_line_risk risk;
    if ((status = moeg_line_risk_init(q->function, q->moe, q->teacher, q->law, &risk)) != MOEG_OK)
        return status;
    return run_line(q->function, &risk, q->mixing, q->ntau, q->tau, s->level, q->hard, q->soft, q->gap,
                    q->gap_covariance);
}

moeg_status moeg_risk_curve(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law, moeg_mixing mixing,
                            size_t ntau, const double *tau, const moeg_sampling *s, moeg_estimate *hard,
                            moeg_estimate *soft, moeg_estimate *gap, double *gap_covariance)
{
    const question q = {"risk_curve", moe, teacher, law, mixing, ntau, tau, s, hard, soft, gap, gap_covariance};
    return run(&q);
}

moeg_status moeg_risk_gap(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law, moeg_mixing mixing,
                          size_t ntau, const double *tau, const moeg_sampling *s, moeg_estimate *gap)
{
    const question q = {"risk_gap", moe, teacher, law, mixing, ntau, tau, s, NULL, NULL, gap, NULL};
    const moeg_status status = moeg_check_pointer(q.function, "gap", gap);
    return status != MOEG_OK ? status : run(&q);
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
