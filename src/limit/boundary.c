#include <moegeom/boundary.h>

#include "base/error.h"
#include "base/interval.h"
#include "base/job.h"
#include "base/memory.h"
#include "base/rounds.h"
#include "limit/auto.h"
#include "limit/boundary_job.h"
#include "limit/check.h"
#include "limit/line.h"
#include "limit/ray_mass.h"
#include "model/model.h"

#include <math.h>

/* Widths are finite, and at least 0 or above it. */
static moeg_status check_widths(const char *function, size_t nw, const double *w, int zero_allowed)
{
    if (nw == 0)
        return moeg_fail(MOEG_EINVAL, "%s: nw must be at least 1, got 0", function);
    moeg_status status = moeg_check_pointer(function, "w", w);
    if (status == MOEG_OK)
        status = moeg_check_grid_size(function, nw, sizeof(moeg_estimate));
    if (status != MOEG_OK)
        return status;
    for (size_t j = 0; j < nw; j++)
        if (!(isfinite(w[j]) && (zero_allowed ? w[j] >= 0 : w[j] > 0)))
            return moeg_fail(MOEG_EINVAL, "%s: w[%zu] must be finite and %s 0, got %g", function, j,
                             zero_allowed ? "at least" : "above", w[j]);
    return MOEG_OK;
}

static moeg_status check_all(const char *function, const moeg_router *router, moeg_gap gap, const moeg_law *law,
                             size_t nw, const double *w, int zero_allowed, const moeg_sampling *s)
{
    moeg_status status = moeg_check_router_law(function, router, law);
    if (status == MOEG_OK)
        status = moeg_check_gap(function, gap, moeg_router_experts(router));
    if (status == MOEG_OK)
        status = check_widths(function, nw, w, zero_allowed);
    return status == MOEG_OK ? moeg_sampling_check(s) : status;
}

static moeg_status run_line(const char *function, const moeg_router *router, const moeg_law *law, size_t nw,
                            const double *w, double level, moeg_estimate *mass)
{
    moeg_line_logit logit;
    const moeg_status status = moeg_line_logit_init(function, router, law, &logit);
    for (size_t j = 0; status == MOEG_OK && j < nw; j++)
        mass[j] = moeg_line_estimate((double)moeg_line_probability(&logit, w[j], 0), 0, level);
    return status;
}

/* LINE by name, or AUTO's choice, where more than one line is needed; `refusal` says why one is not enough. *rows: AUTO
 * leaves it to rows. */
static moeg_status run_rays(const char *function, const char *refusal, const moeg_router *router, moeg_gap gap,
                            const moeg_law *law, size_t nw, const double *w, const moeg_sampling *s,
                            moeg_estimate *mass, int *rows)
{
    moeg_rays rays = {0};
    const char *why = NULL;
    const int by_name = s->method == MOEG_METHOD_LINE;
    const size_t live = moeg_router_live(router);
    *rows = !by_name && (live < gap.upper || !moeg_auto_prepares_mass(router));
    if (*rows)
        return MOEG_OK;
    if (live < gap.upper)
        return moeg_fail(MOEG_EDOM, "%s: the router masks all but %zu experts, fewer than gap.upper = %zu", function,
                         live, gap.upper);
    moeg_status status = moeg_rays_init_gap(function, router, law, gap, s, &rays, &why);
    *rows = !by_name && status == MOEG_OK && (why != NULL || !moeg_auto_follows_rays(&rays, s));
    if (status == MOEG_OK && !*rows)
        status = why != NULL
                     ? moeg_fail(MOEG_EUNSUPPORTED, "%s: method line does not apply: %s (nor do many lines: %s)",
                                 function, refusal, why)
                     : moeg_ray_mass(function, &rays, gap, nw, w, s, mass);
    *rows = *rows || moeg_auto_gives_up(s, status);
    moeg_rays_free(&rays);
    return status;
}

/* What a round is judged by: masses alone. */
typedef struct judged {
    const char *function;
    moeg_sampling s;
    size_t nw;
    moeg_estimate *mass; /* (nw) */
} judged;

static moeg_status judge(void *user, const moeg_job *job, const moeg_partial *partial, double *excess)
{
    const judged *j = user;
    const moeg_boundary_results results = {.mass = j->mass};
    const moeg_status status = moeg_boundary_job_read(j->function, job, partial, j->s.level, &results);
    *excess = moeg_tolerance_excess(&j->s, status < 0 ? 0 : j->nw, j->mass);
    return status < 0 ? status : MOEG_OK;
}

static moeg_status run_sampling(const char *function, const moeg_router *router, moeg_gap gap, const moeg_law *law,
                                size_t nw, const double *w, const moeg_sampling *s,
                                const moeg_boundary_results *results)
{
    moeg_job *job = NULL;
    moeg_partial *partial = NULL;
    double excess = 0;
    const int fixed = results->alpha != NULL || moeg_law_rows(law) != 0;
    judged run = {function, fixed ? moeg_without_tolerance(s) : *s, nw, NULL};
    moeg_status status = moeg_boundary_job_make(function, &job, router, gap, law, nw, w, results->alpha != NULL, 1, s);
    if (status == MOEG_OK && (run.mass = moeg_alloc(nw, sizeof *run.mass)) == NULL)
        status = moeg_fail_memory(function);
    if (status == MOEG_OK)
        status = moeg_rounds_run(job, &run.s, judge, &run, &partial, &excess);
    if (status >= 0)
        status =
            moeg_sampled_status(function, status, moeg_boundary_job_read(function, job, partial, s->level, results));
    status = moeg_rounds_status(function, status, s, excess);
    moeg_release(run.mass);
    moeg_partial_free(partial);
    moeg_job_free(job);
    return status;
}

static moeg_status compute_mass(const char *function, const moeg_router *router, moeg_gap gap, const moeg_law *law,
                                size_t nw, const double *w, const moeg_sampling *s, moeg_estimate *mass)
{
    int line = 0, rows = 0;
    moeg_status status = check_all(function, router, gap, law, nw, w, 1, s);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "mass", mass);
    if (status != MOEG_OK)
        return status;
    const char *refusal = moeg_line_gap_refusal(router, gap, law);
    if (refusal != NULL && s->method != MOEG_METHOD_MC) {
        status = run_rays(function, refusal, router, gap, law, nw, w, s, mass, &rows);
        if (!rows)
            return status;
    }
    status = moeg_check_no_directions(function, s);
    if (status == MOEG_OK)
        status = moeg_choose_line(function, refusal, s->method, &line);
    if (status != MOEG_OK)
        return status;
    return line ? run_line(function, router, law, nw, w, s->level, mass)
                : run_sampling(function, router, gap, law, nw, w, s, &(moeg_boundary_results){.mass = mass});
}

moeg_status moeg_boundary_mass(const moeg_router *router, const moeg_law *law, size_t nw, const double *w,
                               const moeg_sampling *s, moeg_estimate *mass)
{
    return compute_mass("boundary_mass", router, moeg_gap_margin(), law, nw, w, s, mass);
}

moeg_status moeg_boundary_gap_mass(const moeg_router *router, moeg_gap gap, const moeg_law *law, size_t nw,
                                   const double *w, const moeg_sampling *s, moeg_estimate *mass)
{
    return compute_mass("boundary_gap_mass", router, gap, law, nw, w, s, mass);
}

moeg_status moeg_boundary_exponent(const moeg_router *router, moeg_gap gap, const moeg_law *law, size_t nw,
                                   const double *w, const moeg_sampling *s, moeg_estimate *alpha, moeg_estimate *C,
                                   uint64_t *ties)
{
    static const char function[] = "boundary_exponent";
    moeg_status status = check_all(function, router, gap, law, nw, w, 0, s);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "alpha", alpha);
    if (status != MOEG_OK)
        return status;
    if (s->method == MOEG_METHOD_LINE)
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: method line does not apply: Hill's estimator needs rows", function);
    const moeg_boundary_results results = {.alpha = alpha, .C = C, .ties = ties};
    return run_sampling(function, router, gap, law, nw, w, s, &results);
}

moeg_status moeg_boundary_slope(const moeg_router *router, const moeg_law *law, double *slope)
{
    static const char function[] = "boundary_slope";
    moeg_status status = moeg_check_router_law(function, router, law);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "slope", slope);
    if (status != MOEG_OK)
        return status;
    const char *refusal = moeg_binary_refusal(router, law);
    if (refusal != NULL)
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: %s", function, refusal);
    moeg_binary_logit logit;
    if ((status = moeg_binary_logit_init(function, router, law, &logit)) != MOEG_OK)
        return status;
    if (!logit.masked && logit.deviation == 0)
        return moeg_fail(MOEG_EDOM, "%s: the difference of the logits is constant and has no density", function);
    const double density = (double)moeg_binary_density(&logit);
    if (!isfinite(2 * density) || (!logit.masked && density == 0))
        return moeg_fail(MOEG_ERANGE, "%s: the slope %s", function, density > 0 ? "overflows" : "underflows");
    *slope = 2 * density;
    return MOEG_OK;
}

moeg_status moeg_boundary_job_create(moeg_job **job, const moeg_router *router, moeg_gap gap, const moeg_law *law,
                                     size_t nw, const double *w, const moeg_sampling *s)
{
    static const char function[] = "boundary_job_create";
    moeg_status status = moeg_check_pointer(function, "job", job);
    if (status == MOEG_OK)
        status = check_all(function, router, gap, law, nw, w, 1, s);
    if (status == MOEG_OK)
        status = moeg_check_job_method(function, s);
    if (status != MOEG_OK)
        return status;
    return moeg_boundary_job_make(function, job, router, gap, law, nw, w, 1, 1, s);
}

moeg_status moeg_boundary_job_result(const moeg_job *job, const moeg_partial *partial, double level,
                                     moeg_estimate *mass, moeg_estimate *alpha, moeg_estimate *C, uint64_t *ties)
{
    static const char function[] = "boundary_job_result";
    moeg_status status = moeg_check_pointer(function, "job", job);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "partial", partial);
    if (status != MOEG_OK)
        return status;
    const moeg_boundary_context *c = moeg_boundary_context_of(job);
    if (c == NULL)
        return moeg_fail(MOEG_EINVAL, "%s: job must be one of boundary_job_create, got \"%s\"", function,
                         moeg_job_get_spec(job)->name);
    if (!moeg_partial_fits(job, partial))
        return moeg_fail(MOEG_EINVAL, "%s: partial must be a part of such a job as this: of its units and its grid",
                         function);
    if ((status = moeg_check_level(function, level)) != MOEG_OK)
        return status;
    if ((alpha != NULL || C != NULL) && c->w[0] == 0)
        return moeg_fail(MOEG_EINVAL, "%s: %s cannot be had: w[%zu] is 0", function, alpha != NULL ? "alpha" : "C",
                         c->order[0]);
    const moeg_boundary_results results = {mass, alpha, C, ties};
    return moeg_boundary_job_read(function, job, partial, level, &results);
}
