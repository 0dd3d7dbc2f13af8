#include "nearties.h"

#include <math.h>
#include <stdlib.h>

static const double masses[NEARTIES_QUANTILES] = {1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9};

/* Masses and exponents from one pass over the rows. */
static void sample(nearties *t, moeg_sampling *s)
{
    moeg_job *job;
    moeg_partial *partial;
    progress bar;
    s->method = MOEG_METHOD_MC;
    progress_begin(&bar, "sampling", s);
    require(moeg_boundary_job_create(&job, t->problem.router, t->problem.gap, t->problem.law, t->n, t->w, s));
    require(moeg_job_run(job, s, 0, moeg_job_blocks(job), &partial));
    progress_end(&bar, s);
    /* 99.9 % for all intervals together, and for the band. */
    require(moeg_boundary_job_result(job, partial, 1 - 0.001 / (double)t->n, t->sampled, t->exponent, NULL, NULL));
    require(moeg_boundary_band(t->problem.law, t->n, t->sampled, 0.999, t->band_lo, t->band_hi));
    moeg_partial_free(partial);
    moeg_job_free(job);
}

/* The widths of given masses. */
static void find_quantiles(nearties *t, moeg_sampling *s)
{
    const nearties_problem *p = &t->problem;
    progress bar;
    for (size_t j = 0; j < NEARTIES_QUANTILES; j++) {
        t->p[j] = masses[j];
        t->width[j] = pow(masses[j] / p->constant, 1.0 / p->order);
    }
    s->level = 1 - 0.001 / NEARTIES_QUANTILES;
    progress_begin(&bar, "quantiles", s);
    require(moeg_boundary_quantile(p->router, p->gap, p->law, NEARTIES_QUANTILES, t->p, s, t->quantile));
    progress_end(&bar, s);
    if (t->exact == NULL)
        return;
    moeg_estimate exact[NEARTIES_QUANTILES];
    s->method = MOEG_METHOD_LINE;
    require(moeg_boundary_quantile(p->router, p->gap, p->law, NEARTIES_QUANTILES, t->p, s, exact));
    for (size_t j = 0; j < NEARTIES_QUANTILES; j++)
        t->width[j] = exact[j].value;
}

nearties nearties_measure(nearties_problem problem, grid w, const moeg_sampling *options)
{
    const size_t n = w.count;
    moeg_sampling s = *options;
    nearties t = {.problem = problem,
                  .n = n,
                  .w = grid_values(w),
                  .leading = allocate(n, sizeof(double)),
                  .bound = allocate(n, sizeof(double)),
                  .sampled = allocate(n, sizeof(moeg_estimate)),
                  .exponent = allocate(n, sizeof(moeg_estimate)),
                  .band_lo = allocate(n, sizeof(double)),
                  .band_hi = allocate(n, sizeof(double))};
    for (size_t i = 0; i < n; i++)
        t.leading[i] = problem.constant * pow(t.w[i], problem.order);
    require(moeg_boundary_pairwise(problem.router, problem.law, n, t.w, t.bound, &t.slope));
    if (problem.deviation > 0) {
        t.exact = allocate(n, sizeof(moeg_estimate));
        s.method = MOEG_METHOD_LINE;
        require(moeg_boundary_mass(problem.router, problem.law, n, t.w, &s, t.exact));
    }
    sample(&t, &s);
    find_quantiles(&t, &s);
    return t;
}

void nearties_free(nearties *t)
{
    nearties_problem_free(&t->problem);
    free(t->w);
    free(t->leading);
    free(t->bound);
    free(t->exact);
    free(t->sampled);
    free(t->exponent);
    free(t->band_lo);
    free(t->band_hi);
}
