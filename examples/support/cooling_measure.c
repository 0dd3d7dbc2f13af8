#include "cooling.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static moeg_router *make_router(const cooling_options *o, const dataset *data)
{
    if (o->router != NULL)
        return router_read(o->router, data->d, data->mean);
    moeg_router *router;
    double *centroids = allocate(o->centroids * data->d, sizeof *centroids);
    const moeg_status status =
        moeg_centroids(data->n, data->d, data->x, NULL, o->centroids, o->seed, centroids, NULL, NULL);
    if (status != MOEG_OK)
        die("--centroids: %s", moeg_last_error());
    require(moeg_router_centroids_create(&router, o->centroids, data->d, centroids));
    free(centroids);
    return router;
}

/* The unit of the default grids: the median margin; if that is 0 or infinite the mean of the positive finite margins,
 * if there is none 1. */
static double grid_unit(const cooling *c)
{
    if (c->median > 0 && isfinite(c->median))
        return c->median;
    double mean = 0, count = 0;
    for (size_t i = 0; i < c->data.n; i++)
        if (c->margin[i] > 0 && isfinite(c->margin[i]))
            mean += (c->margin[i] - mean) / ++count;
    return count > 0 ? mean : 1;
}

static void measure_margins(cooling *c)
{
    const size_t n = c->data.n;
    c->margin = allocate(n, sizeof(double));
    require(moeg_router_margin(c->router, n, c->data.x, c->margin));
    qsort(c->margin, n, sizeof(double), ascending);
    const double lower = c->margin[(n - 1) / 2], upper = c->margin[n / 2];
    c->median = lower == upper ? lower : lower + (upper - lower) / 2;
    c->unit = grid_unit(c);
    /* The share of margins up to t jumps at the margins only: C = max_i (i/n)/Delta_(i). */
    for (size_t i = 0; i < n; i++)
        c->C = fmax(c->C, (double)(i + 1) / (double)n / c->margin[i]);
}

static void measure_mass(cooling *c, const moeg_sampling *s)
{
    c->mass = allocate(c->nw, sizeof(moeg_estimate));
    c->exponent = allocate(c->nw, sizeof(moeg_estimate));
    require(moeg_boundary_mass(c->router, c->law, c->nw, c->w, s, c->mass));
    require(moeg_boundary_exponent(c->router, moeg_gap_margin(), c->law, c->nw, c->w, s, c->exponent, NULL, &c->ties));
}

/* |G| <= (K - 1) mean_i D_i (2 R_i + D_i) exp(-Delta_i/tau), D_i = max_k |f_k - f_k*|, R_i = |y_i - f_k*|; needs no
 * margin condition. */
static void moment_certificate(cooling *c, const moeg_moe *moe, const moeg_teacher *teacher, const moeg_sampling *s)
{
    moeg_estimate *bound = allocate(c->ntau, sizeof *bound);
    c->moment = allocate(c->ntau, sizeof(double));
    require(moeg_bound_moment(moe, teacher, c->law, MOEG_MIX_OUTPUT, c->ntau, c->tau, s, bound));
    for (size_t t = 0; t < c->ntau; t++)
        c->moment[t] = bound[t].value;
    free(bound);
}

/* Largest outputs of the experts and of the data. */
static moeg_output_limits measure_limits(const cooling *c)
{
    const size_t n = c->data.n;
    moeg_output_limits limits = {0, 0, 0};
    double *f = allocate(n, sizeof *f);
    for (size_t k = 0; k < c->K; k++) {
        require(moeg_expert_forward(c->experts[k], n, c->data.x, f));
        for (size_t i = 0; i < n; i++)
            limits.B = fmax(limits.B, fabs(f[i]));
    }
    for (size_t i = 0; i < n; i++)
        limits.M = fmax(limits.M, fabs(c->data.y[i]));
    free(f);
    return limits;
}

/* |G| <= 4 B (B + M) (K - 1) C tau: the margin condition with alpha = 1 that the data meet. */
static void bounded_certificate(cooling *c)
{
    const moeg_margin_condition condition = {.C = c->C, .alpha = 1, .t0 = INFINITY};
    if (!isfinite(c->C))
        return;
    c->bounded = allocate(c->ntau, sizeof(double));
    require(moeg_bound_bounded(&condition, moeg_gate_softmax(), MOEG_MIX_OUTPUT, c->K, &c->limits, c->ntau, c->tau,
                               c->bounded));
}

/* Outputs are right to some thousand roundings of the largest sum_j |A_j x_j| + |c|, whose terms may cancel, and to
 * those roundings of the data that the slopes magnify. */
static void measure_rounding(cooling *c)
{
    const size_t n = c->data.n, d = c->data.d;
    double *A = allocate(d, sizeof *A), size = c->limits.M, far = 0;
    for (size_t k = 0; k < c->K; k++) {
        double intercept, away = 0;
        require(moeg_expert_affine_form(c->experts[k], A, &intercept));
        for (size_t i = 0; i < n; i++) {
            double sum = fabs(intercept);
            for (size_t j = 0; j < d; j++)
                sum += fabs(A[j] * c->data.x[i * d + j]);
            size = fmax(size, sum);
        }
        for (size_t j = 0; j < d; j++)
            away += fabs(A[j] * c->data.origin[j]);
        far = fmax(far, away);
    }
    c->rounding = DBL_EPSILON * (1e3 * size + far);
    free(A);
}

static void measure_risks(cooling *c, moeg_sampling *s)
{
    moeg_moe *moe;
    moeg_teacher *teacher;
    progress bar;
    c->fit = allocate(c->K, sizeof(moeg_cell_fit));
    c->experts = allocate(c->K, sizeof(moeg_expert *));
    cooling_fit(c);
    require(moeg_moe_create(&moe, c->router, moeg_gate_softmax(), c->experts));
    require(moeg_teacher_data_create(&teacher, c->data.n, 1, c->data.y));
    c->soft = allocate(c->ntau, sizeof(moeg_estimate));
    c->gap = allocate(c->ntau, sizeof(moeg_estimate));
    progress_begin(&bar, "risks", s);
    require(
        moeg_risk_curve(moe, teacher, c->law, MOEG_MIX_OUTPUT, c->ntau, c->tau, s, &c->hard, c->soft, c->gap, NULL));
    progress_end(&bar, s);
    moment_certificate(c, moe, teacher, s);
    moeg_moe_free(moe);
    moeg_teacher_free(teacher);
    c->limits = measure_limits(c);
    bounded_certificate(c);
    measure_rounding(c);
}

/* The grid asked for, or the usual multiples of the unit as far as they are temperatures that the library takes. */
static double *make_grid(const cooling *c, const cooling_options *o, grid asked, size_t *count)
{
    if (asked.count == 0) {
        asked = (grid){fmax(1e-4 * c->unit, LEAST_GRID), fmin(10 * c->unit, MOST_GRID), o->quick ? 11 : 26};
        if (!(asked.lo < asked.hi))
            die("--tau, --w: expected grids from %g to %g, since the default grids, multiples of the median margin %g, "
                "are out of this range",
                LEAST_GRID, MOST_GRID, c->median);
    }
    *count = asked.count;
    return grid_values(asked);
}

cooling cooling_measure(const cooling_options *o)
{
    cooling c = {.data = dataset_read(o->data, o->target, o->logs, o->standardize)};
    if (o->centroids > c.data.n)
        die("--centroids: expected at most as many experts as rows, %zu, got %llu", c.data.n,
            (unsigned long long)o->centroids);
    c.router = make_router(o, &c.data);
    c.K = moeg_router_experts(c.router);
    if (c.K > c.data.n)
        die("--router: expected at most as many experts as rows, %zu, got %zu", c.data.n, c.K);
    require(moeg_law_empirical_create(&c.law, c.data.n, c.data.d, c.data.x, NULL));
    measure_margins(&c);
    moeg_sampling s = moeg_sampling_default();
    s.max_threads = o->threads;
    c.w = make_grid(&c, o, o->w, &c.nw);
    measure_mass(&c, &s);
    if (o->target != NULL) {
        c.tau = make_grid(&c, o, o->tau, &c.ntau);
        measure_risks(&c, &s);
    }
    return c;
}

void cooling_free(cooling *c)
{
    dataset_free(&c->data);
    moeg_router_free(c->router);
    moeg_law_free(c->law);
    for (size_t k = 0; k < c->K && c->experts != NULL; k++)
        moeg_expert_free(c->experts[k]);
    free(c->experts);
    free(c->fit);
    free(c->margin);
    free(c->w);
    free(c->mass);
    free(c->exponent);
    free(c->tau);
    free(c->soft);
    free(c->gap);
    free(c->bounded);
    free(c->moment);
}

int cooling_is_perfect(const cooling *c)
{
    return sqrt(c->hard.value) <= c->rounding;
}

size_t cooling_safe(const cooling *c)
{
    size_t safe = 0;
    while (safe < c->ntau && fabs(c->gap[safe].value) <= SAFE_SHARE * c->hard.value)
        safe++;
    return safe;
}
