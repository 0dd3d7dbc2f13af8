/* Flows from small random starts: the rate of their early growth, and which way u points at its end. */
#include "breaking.h"

#include <math.h>
#include <stdlib.h>

enum { START_STREAM = 2003, ROWS = 60 };

/* Starts are so small that the growing directions stand out long before anything saturates: |u| = START tau, |c| =
 * START times the smaller of tau and 1. Runs end where |u| should be REACH tau, or where all else is e^-LAST of what
 * grows, or that has decayed to e^-DECAY, if one of these comes first. */
static const double START = 1e-6, REACH = 0.02, LAST = 30, DECAY = 20;
static const double rel_tol = 1e-8, tie = 1e-6, rounding = 1e-13, TOLD_APART = 5;

moeg_symmetry_rates breaking_rates(double lambda)
{
    moeg_symmetry_rates rates = moeg_symmetry_rates_default();
    rates.lambda_u = rates.lambda_c = lambda;
    return rates;
}

moeg_flow *breaking_flow(const breaking_problem *p, double tau, const moeg_symmetry_rates *rates,
                         const moeg_sampling *s)
{
    moeg_flow_options o = moeg_flow_options_default();
    moeg_flow *flow;
    o.tau = tau;
    o.rates = *rates;
    o.symmetric = p->teacher->symmetric;
    o.contrast = p->contrast;
    if (s == NULL) {
        require(moeg_flow_plane_create(&p->halves, 1, &o, &flow));
        return flow;
    }
    moeg_teacher *teacher;
    require(moeg_halves_teacher_create(&p->halves, &teacher));
    require(moeg_flow_sample_create(teacher, p->law, s, &o, &flow));
    moeg_teacher_free(teacher);
    return flow;
}

static double length_of(size_t n, const double *a)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * a[i];
    return sqrt(sum);
}

/* A random direction of this length. */
static void draw_start(size_t n, double length, uint64_t seed, uint64_t unit, double *z)
{
    require(moeg_stream_normals((moeg_stream){seed, START_STREAM}, unit, 1, n, z));
    const double scale = length / length_of(n, z);
    for (size_t i = 0; i < n; i++)
        z[i] *= scale;
}

/* M of a flow, its largest singular value, the next one that differs, and the part of a start in the top pair. */
typedef struct spectrum {
    size_t d, q, multiple;
    double *M, sigma, next, part;
} spectrum;

static spectrum spectrum_of(const moeg_flow *flow, const moeg_symmetry_rates *rates, const double *u, const double *c)
{
    spectrum s = {.d = moeg_flow_router_size(flow), .q = moeg_flow_contrast_size(flow)};
    const size_t least = s.d < s.q ? s.d : s.q;
    double *sigma = allocate(least, sizeof(double)), *left = allocate(s.d, sizeof(double));
    double *right = allocate(s.q, sizeof(double));
    s.M = allocate(s.d * s.q, sizeof(double));
    require(moeg_flow_operator(flow, s.M));
    require(moeg_symmetry_spectrum(s.d, s.q, s.M, tie, sigma, left, right, &s.multiple));
    s.sigma = sigma[0] > rounding ? sigma[0] : 0;
    s.next = s.multiple < least ? sigma[s.multiple] : 0;
    for (size_t i = 0; i < s.d; i++)
        s.part += left[i] * u[i] / sqrt(2 * rates->eta_u);
    for (size_t i = 0; i < s.q; i++)
        s.part += right[i] * c[i] / sqrt(2 * rates->eta_c);
    s.part = fabs(s.part);
    free(sigma);
    free(left);
    free(right);
    return s;
}

/* How long the early phase takes. */
static double duration(const spectrum *s, double tau, double growth, const moeg_symmetry_rates *rates)
{
    double next;
    require(moeg_symmetry_growth(s->next, tau, rates, &next));
    const double until = LAST / (growth - next);
    if (growth <= 0)
        return fmin(until, -DECAY / growth);
    return fmin(until, log(REACH * fmin(tau, 1) / s->part) / growth);
}

/* Cosines between u (d) and v, and the directions that grow fastest as far as a run of so many e-folds tells. */
static void align(const breaking_problem *p, const spectrum *s, double folds, const double *u, breaking_growth *g)
{
    double along = 0, least;
    for (size_t i = 0; i < s->d; i++)
        along += g->d == 0 ? u[i] * (i == 0) : u[i] * p->v[i];
    g->with_v = fabs(along) / length_of(s->d, u);
    require(moeg_symmetry_alignment(s->d, s->q, s->M, fmin(0.5, TOLD_APART / folds), u, &least, &g->with_top));
}

static void run(const breaking_problem *p, const moeg_flow *flow, const spectrum *s, const moeg_symmetry_rates *rates,
                const double *u, const double *c, breaking_growth *g)
{
    const size_t size = s->d + s->q + moeg_flow_symmetric_size(flow);
    double *states = allocate(ROWS * size, sizeof(double)), times[ROWS];
    const double end = duration(s, g->tau, g->predicted, rates);
    for (size_t i = 0; i < ROWS; i++)
        times[i] = end * (double)i / (ROWS - 1);
    const double lowest = START * fmin(g->tau, 1) * exp(fmin(0, g->predicted * end)) / sqrt((double)size);
    const double *last = &states[(ROWS - 1) * size];
    if (require(moeg_flow_run(flow, u, c, ROWS, times, rel_tol, rel_tol * lowest, states, NULL)) == MOEG_OK) {
        if (require(moeg_flow_growth(flow, ROWS, times, states, 0.999, &g->measured)) != MOEG_OK)
            g->measured.value = NAN;
        else
            align(p, s, sqrt(rates->eta_u * rates->eta_c) * s->sigma / g->tau * end, last, g);
    }
    free(states);
}

static void follow(const breaking_problem *p, const moeg_flow *flow, const moeg_symmetry_rates *rates, uint64_t seed,
                   breaking_growth *g)
{
    const size_t d = moeg_flow_router_size(flow), q = moeg_flow_contrast_size(flow);
    double *u = allocate(d, sizeof(double)), *c = allocate(q, sizeof(double));
    draw_start(d, START * g->tau, seed, 0, u);
    draw_start(q, START * fmin(g->tau, 1), seed, 1, c);
    spectrum s = spectrum_of(flow, rates, u, c);
    g->sigma = s.sigma;
    if (s.sigma > 0) {
        require(moeg_symmetry_growth(s.sigma, g->tau, rates, &g->predicted));
        run(p, flow, &s, rates, u, c, g);
    }
    free(s.M);
    free(u);
    free(c);
}

breaking_growth breaking_grow(const breaking_problem *p, double tau, const moeg_symmetry_rates *rates,
                              const moeg_sampling *s, uint64_t seed)
{
    breaking_growth g = {.teacher = p->teacher,
                         .d = s == NULL ? 0 : p->d,
                         .tau = tau,
                         .lambda = rates->lambda_u,
                         .measured = {.value = NAN},
                         .with_v = NAN,
                         .with_top = NAN};
    moeg_flow *flow = breaking_flow(p, tau, rates, s);
    follow(p, flow, rates, seed, &g);
    moeg_flow_free(flow);
    return g;
}

breaking_threshold breaking_threshold_measure(const breaking_problem *p, double sigma, const moeg_symmetry_rates *rates,
                                              uint64_t seed)
{
    breaking_threshold t = {.teacher = p->teacher, .rates = *rates};
    require(moeg_symmetry_threshold(sigma, rates, &t.tau));
    t.below = breaking_grow(p, 0.99 * t.tau, rates, NULL, seed);
    t.above = breaking_grow(p, 1.01 * t.tau, rates, NULL, seed);
    return t;
}
