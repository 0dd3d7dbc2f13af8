/* The slope of the gap at tau = 0 and what is left of the gap, from one set of lines. */
#include "limit/ray_gap.h"

#include "limit/ray_estimate.h"

/* Values from one set of lines: slope, rests. */
static moeg_status at_once(const char *function, const moeg_ray_gap *c, const moeg_sampling *s, moeg_estimate *slope,
                           moeg_estimate *remainder)
{
    moeg_ray_gap all = *c;
    moeg_ray_result result;
    moeg_status status = moeg_ray_gap_expect_together(function, &all, &result);
    if (status < 0)
        return status;
    const size_t count = moeg_ray_gap_count(&all);
    moeg_ray_gap_put(&result, count, 0, moeg_ray_gap_may_lead(c), 1, s->level, 1, slope, &status);
    for (size_t t = 0; t < c->ntau; t++)
        moeg_ray_gap_put(&result, count, 1 + t, c->risk->moves, moeg_ray_gap_scale(c, t), s->level, 1, &remainder[t],
                         &status);
    if (!moeg_ray_gap_may_lead(c))
        *slope = moeg_ray_zero(result.lines, s->level);
    moeg_ray_result_free(&result);
    return status;
}

/* r = 2: the slope, then one temperature at a time. */
static moeg_status by_parts(const char *function, const moeg_ray_gap *c, const moeg_sampling *s, moeg_estimate *slope,
                            moeg_estimate *remainder)
{
    moeg_ray_gap part = *c;
    part.ntau = 0;
    moeg_status status = at_once(function, &part, s, slope, NULL);
    for (size_t t = 0; t < c->ntau && status >= 0; t++) {
        moeg_ray_result result;
        part.ntau = 1;
        part.tau = c->tau + t;
        const moeg_status run = moeg_ray_gap_expect(function, &part, c->tau[t], &result);
        if (run < 0)
            return run;
        moeg_ray_gap_put(&result, 2, 1, 0, moeg_ray_gap_scale(c, t), s->level, 1, &remainder[t], &status);
        moeg_ray_result_free(&result);
    }
    return status;
}

moeg_status moeg_ray_remainder(const char *function, const moeg_ray_risk *risk, moeg_mixing mixing, size_t ntau,
                               const double *tau, const moeg_sampling *s, moeg_estimate *slope,
                               moeg_estimate *remainder)
{
    const moeg_ray_gap c = {.s = s,
                            .want_lead = 1,
                            .want_gap = 1,
                            .risk = risk,
                            .mixing = mixing,
                            .with_lead = 1,
                            .ntau = ntau,
                            .tau = tau};
    const moeg_status status =
        risk->rays.r == 2 ? by_parts(function, &c, s, slope, remainder) : at_once(function, &c, s, slope, remainder);
    moeg_ray_explain(function, status, s->n, 1, slope);
    moeg_ray_explain(function, status, s->n, ntau, remainder);
    return status;
}
