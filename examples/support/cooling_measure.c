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
        moeg_centroids(data->fitted, data->d, data->x, data->w, o->centroids, o->data.seed, centroids, NULL, NULL);
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
    for (size_t i = 0; i < c->n; i++)
        if (c->margin[i] > 0 && isfinite(c->margin[i]))
            mean += (c->margin[i] - mean) / ++count;
    return count > 0 ? mean : 1;
}

double cooling_margin(const cooling *c, double share)
{
    if (c->weight == NULL)
        return c->margin[(size_t)(share * (double)(c->n - 1))];
    size_t i = 0;
    while (i + 1 < c->n && (c->below[i] == 0 || c->below[i] < share))
        i++;
    return c->margin[i];
}

/* A margin with the weight of its row. */
struct weighed {
    double margin, weight;
};

static int by_margin(const void *left, const void *right)
{
    const struct weighed *a = left, *b = right;
    return ascending(&a->margin, &b->margin);
}

/* Deciding gaps in order, with the shares of rows up to each. */
static void sort_margins(cooling *c)
{
    const size_t n = c->n;
    struct weighed *rows = allocate(n, sizeof *rows);
    long double total = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        rows[i] = (struct weighed){c->margin[i], c->weight == NULL ? 1 : c->weight[i]};
        total += rows[i].weight;
    }
    qsort(rows, n, sizeof *rows, by_margin);
    for (size_t i = 0; i < n; i++) {
        c->margin[i] = rows[i].margin;
        sum += rows[i].weight;
        c->below[i] = (double)(sum / total);
    }
    free(rows);
}

static void measure_margins(cooling *c)
{
    const size_t n = c->n;
    c->margin = allocate(n, sizeof(double));
    c->below = allocate(n, sizeof(double));
    if (moeg_router_gap(c->router, n, c->x, c->deciding, c->margin) != MOEG_OK)
        die("--gate: %s", moeg_last_error());
    sort_margins(c);
    const double lower = c->margin[(n - 1) / 2], upper = c->margin[n / 2];
    c->median = c->weight != NULL ? cooling_margin(c, 0.5) : lower == upper ? lower : lower + (upper - lower) / 2;
    c->unit = grid_unit(c);
    /* The share of margins up to t jumps at the margins only: C = max_i share_i/Delta_(i). */
    for (size_t i = 0; i < n; i++)
        if (c->below[i] > 0)
            c->C = fmax(c->C, c->below[i] / c->margin[i]);
}

static void measure_mass(cooling *c, const moeg_sampling *s)
{
    c->mass = allocate(c->nw, sizeof(moeg_estimate));
    c->exponent = allocate(c->nw, sizeof(moeg_estimate));
    require(moeg_boundary_gap_mass(c->router, c->deciding, c->law, c->nw, c->w, s, c->mass));
    require(moeg_boundary_exponent(c->router, c->deciding, c->law, c->nw, c->w, s, c->exponent, NULL, &c->ties));
}

/* |G| <= mu mean_i Q_i exp(-gap_i/tau) (moeg_bound_moment()): needs no margin condition. */
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
    const size_t n = c->n;
    moeg_output_limits limits = {0, 0, 0};
    double *f = allocate(n, sizeof *f);
    for (size_t k = 0; k < c->K; k++) {
        require(moeg_expert_forward(c->experts[k], n, c->x, f));
        for (size_t i = 0; i < n; i++)
            limits.B = fmax(limits.B, fabs(f[i]));
    }
    for (size_t i = 0; i < n; i++)
        limits.M = fmax(limits.M, fabs(c->y[i]));
    free(f);
    return limits;
}

/* |G| <= 4 B (B + M) mu C tau: the margin condition with alpha = 1 that the data meet. */
static void bounded_certificate(cooling *c)
{
    const moeg_margin_condition condition = {.C = c->C, .alpha = 1, .t0 = INFINITY};
    if (!isfinite(c->C))
        return;
    c->bounded = allocate(c->ntau, sizeof(double));
    require(moeg_bound_bounded(&condition, c->gate, MOEG_MIX_OUTPUT, c->K, &c->limits, c->ntau, c->tau, c->bounded));
}

/* Outputs are right to some thousand roundings of the largest sum_j |A_j x_j| + |c|, whose terms may cancel, and to
 * those roundings of the data that the slopes magnify. */
static void measure_rounding(cooling *c)
{
    const size_t n = c->n, d = c->data.d;
    double *A = allocate(d, sizeof *A), size = c->limits.M, far = 0;
    for (size_t k = 0; k < c->K; k++) {
        double intercept, away = 0;
        require(moeg_expert_affine_form(c->experts[k], A, &intercept));
        for (size_t i = 0; i < n; i++) {
            double sum = fabs(intercept);
            for (size_t j = 0; j < d; j++)
                sum += fabs(A[j] * c->x[i * d + j]);
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
    require(moeg_moe_create(&moe, c->router, c->gate, c->experts));
    require(moeg_teacher_data_create(&teacher, c->n, 1, c->y));
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

/* The gap that decides where a gate feels the temperature. */
static moeg_gap deciding_gap(moeg_gate gate)
{
    return gate.kind == MOEG_GATE_SUBSET ? moeg_gap_top(gate.k) : moeg_gap_margin();
}

/* Points to the rows to measure on. */
static void take_rows(cooling *c)
{
    const dataset *data = &c->data;
    c->n = data->n - data->first;
    c->x = data->x + data->first * data->d;
    c->y = data->y == NULL ? NULL : data->y + data->first;
    c->weight = data->w == NULL ? NULL : data->w + data->first;
}

cooling cooling_measure(const cooling_options *o)
{
    cooling c = {.data = dataset_read(&o->data), .gate = o->gate, .deciding = deciding_gap(o->gate)};
    const size_t fitted = c.data.fitted;
    if (o->centroids > fitted)
        die("--centroids: expected at most as many experts as rows, %zu, got %llu", fitted,
            (unsigned long long)o->centroids);
    take_rows(&c);
    c.router = make_router(o, &c.data);
    c.K = moeg_router_experts(c.router);
    if (c.K > fitted)
        die("--router: expected at most as many experts as rows, %zu, got %zu", fitted, c.K);
    if (c.gate.k > c.K || (c.gate.kind == MOEG_GATE_SUBSET && c.gate.k == c.K))
        die("--k: expected at most %zu for %zu experts and this gate, got %zu",
            c.gate.kind == MOEG_GATE_SUBSET ? c.K - 1 : c.K, c.K, c.gate.k);
    require(moeg_law_empirical_create(&c.law, c.n, c.data.d, c.x, c.weight));
    measure_margins(&c);
    moeg_sampling s = moeg_sampling_default();
    s.max_threads = o->threads;
    c.w = make_grid(&c, o, o->w, &c.nw);
    measure_mass(&c, &s);
    if (o->data.target != NULL) {
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
    free(c->below);
    free(c->w);
    free(c->mass);
    free(c->exponent);
    free(c->tau);
    free(c->soft);
    free(c->gap);
    free(c->bounded);
    free(c->moment);
}

int cooling_is_frozen(const cooling *c)
{
    return c->gate.kind == MOEG_GATE_TOPK_RENORM && c->gate.k == 1;
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
