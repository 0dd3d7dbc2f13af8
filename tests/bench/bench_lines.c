/* Lines beside plain sampling, the library's own, in the same run and on one thread: wall time to 1 % relative error of
 * the gap and of the boundary mass, each extrapolated from its error, for eight routers; and what a line costs.
 *
 * bench_lines [--quick] */
#include "base/kernel.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "base/streams.h"
#include "bench/bench.h"
#include "line/envelope.h"
#include "line/sampler.h"

#include <math.h>
#include <moegeom/moegeom.h>
#include <stdio.h>

enum { ROUTERS = 8, MOST_K = 64, MOST_COSTS = 32 };

/* Sizes of the runs: lines, and rows for the higher and the lower temperature, which 30 of equal weight must feel. */
typedef struct sizes {
    uint64_t lines, rows[2];
} sizes;

/* Router and scalar affine experts, entries N(0, 1/d), around m = 0; X ~ N(0, I). */
typedef struct problem {
    size_t K, d;
    moeg_law *law;
    moeg_router *router;
    moeg_moe *moe;
    moeg_teacher *teacher;
    double x; /* tau, or w */
    moeg_sampling s;
    moeg_estimate found;
    moeg_status status;
} problem;

static int problem_make(problem *p, size_t K, size_t d, uint64_t seed)
{
    moeg_expert *experts[MOST_K] = {NULL}, *mean = NULL;
    double *z = moeg_alloc(2 * K * d + K, sizeof *z), zero = 0;
    *p = (problem){.K = K, .d = d, .s = moeg_sampling_default()};
    p->s.max_threads = 1;
    p->s.seed = seed;
    int ok = z != NULL && moeg_stream_normals((moeg_stream){seed, 77}, 0, 1, 2 * K * d + K, z) == MOEG_OK;
    for (size_t i = 0; i < 2 * K * d && ok; i++)
        z[i] /= sqrt((double)d);
    ok = ok && moeg_law_gaussian_create(&p->law, d, NULL, NULL) == MOEG_OK &&
         moeg_router_affine_create(&p->router, K, d, z, NULL) == MOEG_OK &&
         moeg_expert_constant_create(&mean, d, 1, &zero) == MOEG_OK &&
         moeg_teacher_expert_create(&p->teacher, mean) == MOEG_OK;
    for (size_t k = 0; k < K && ok; k++)
        ok = moeg_expert_affine_create(&experts[k], d, 1, z + (K + k) * d, z + 2 * K * d + k) == MOEG_OK;
    ok = ok && moeg_moe_create(&p->moe, p->router, moeg_gate_softmax(), experts) == MOEG_OK;
    for (size_t k = 0; k < K; k++)
        moeg_expert_free(experts[k]);
    moeg_expert_free(mean);
    moeg_release(z);
    return ok;
}

static void problem_free(problem *p)
{
    moeg_moe_free(p->moe);
    moeg_teacher_free(p->teacher);
    moeg_router_free(p->router);
    moeg_law_free(p->law);
}

static void run_gap(void *user)
{
    problem *p = user;
    p->status = moeg_risk_gap(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, 1, &p->x, &p->s, &p->found);
}

static void run_mass(void *user)
{
    problem *p = user;
    p->status = moeg_boundary_mass(p->router, p->law, 1, &p->x, &p->s, &p->found);
}

static double seconds_of(void (*run)(void *), problem *p, moeg_method method, uint64_t n)
{
    p->s.method = method;
    p->s.n = n;
    return bench_batch(CLOCK_MONOTONIC, run, p, 1);
}

/* Seconds to 1 % of a run that took so many: time (error/(0.01 value))^2. */
static double to_percent(double seconds, double error, double value)
{
    return seconds * 1e4 * (error / value) * (error / value);
}

/* How many times as long rows take. Few of them feel a low temperature: their error bar is known to some 10 %. */
static double gap_ratio(problem *p, const sizes *n, int low, double *lines, double *rows)
{
    double seconds = seconds_of(run_gap, p, MOEG_METHOD_LINE, n->lines);
    const moeg_estimate by_lines = p->found;
    *lines = to_percent(seconds, by_lines.std_error, by_lines.value);
    seconds = seconds_of(run_gap, p, MOEG_METHOD_MC, n->rows[low]);
    *rows = to_percent(seconds, p->found.std_error, by_lines.value);
    return *rows / *lines;
}

/* Of the mass the variance of a row is known, P (1 - P). */
static double mass_ratio(problem *p, const sizes *n, double *lines, double *rows)
{
    double seconds = seconds_of(run_mass, p, MOEG_METHOD_LINE, n->lines);
    const double P = p->found.value;
    *lines = to_percent(seconds, p->found.std_error, P);
    seconds = seconds_of(run_mass, p, MOEG_METHOD_MC, n->rows[0]);
    *rows = to_percent(seconds, sqrt(P * (1 - P) / (double)n->rows[0]), P);
    return *rows / *lines;
}

/* Geometric means over the routers, and the least ratio. */
static int report_percent(int mass, int low, const sizes *n)
{
    enum { K = 8, D = 32 };
    double least = INFINITY, sums[3] = {0};
    for (uint64_t router = 1; router <= ROUTERS; router++) {
        problem p;
        double lines = NAN, rows = NAN;
        if (!problem_make(&p, K, D, router))
            return 1;
        p.x = low ? 1e-6 : 1e-4;
        const double ratio = mass ? mass_ratio(&p, n, &lines, &rows) : gap_ratio(&p, n, low, &lines, &rows);
        problem_free(&p);
        if (p.status < 0)
            return 1;
        least = fmin(least, ratio);
        sums[0] += log(lines) / ROUTERS;
        sums[1] += log(rows) / ROUTERS;
        sums[2] += log(ratio) / ROUTERS;
    }
    if (!isfinite(sums[1])) {
        printf("%-4s to 1 %% at %s = %.0e: lines %9.3g ms, too few rows felt it to tell\n", mass ? "mass" : "gap",
               mass ? "w" : "tau", low ? 1e-6 : 1e-4, 1e3 * exp(sums[0]));
        return 0;
    }
    printf("%-4s to 1 %% at %s = %.0e: lines %9.3g ms, rows %9.3g ms, ratio %8.3g, least %8.3g  (K %d, d %d, %d "
           "routers)\n",
           mass ? "mass" : "gap", mass ? "w" : "tau", low ? 1e-6 : 1e-4, 1e3 * exp(sums[0]), 1e3 * exp(sums[1]),
           exp(sums[2]), least, K, D, ROUTERS);
    return 0;
}

/* Costs of lines, to be explained by K r, K log K and 1, r = min(d, K - 1) the dimension of the row space. */
typedef struct costs {
    size_t n;
    double terms[MOST_COSTS * 3], ones[MOST_COSTS], seconds[MOST_COSTS];
} costs;

/* Whether the cells have rays, all of them; else the pieces of a general line, on average, two ranks known apart. */
static double pieces_of(const problem *p)
{
    enum { LINES = 64 };
    const moeg_sampling s = moeg_sampling_default();
    const char *refusal;
    moeg_rays rays;
    moeg_strata strata = {0};
    double pieces = 0;
    if (moeg_rays_init_gap("bench", p->router, p->law, moeg_gap_margin(), &s, &rays, &refusal) != MOEG_OK)
        return NAN;
    const size_t K = p->K, r = rays.r;
    double *u = moeg_alloc((r + K) * LINES + moeg_envelope_size(K), sizeof *u), *alpha = u + r * LINES;
    if (rays.lines.count == 0 || u == NULL ||
        moeg_strata_init("bench", &rays.frame, MOEG_SHARING_BALANCE, NULL, 0, NULL, &strata) != MOEG_OK) {
        moeg_release(u);
        moeg_rays_free(&rays);
        return 0;
    }
    for (size_t l = 0; l < strata.count; l++) {
        moeg_envelope e;
        moeg_kernel_normals(5, MOEG_STREAM_LINE, l * LINES, r, LINES, u);
        moeg_strata_lines(&strata, l, LINES, u, alpha);
        moeg_envelope_init(&e, K, 2, strata.stratum[l].slope, alpha + K * LINES);
        for (size_t i = 0; i < LINES; i++) {
            moeg_envelope_start(&e, alpha + i, LINES);
            do {
                pieces += 1 / (double)(LINES * strata.count);
            } while (moeg_envelope_next(&e));
        }
    }
    moeg_strata_free(&strata);
    moeg_release(u);
    moeg_rays_free(&rays);
    return pieces;
}

/* One line more. What comes before is the directions, what is known of every pair of experts, and the pilot. */
static int report_line(int mass, size_t K, size_t d, uint64_t lines, costs *c)
{
    problem p;
    void (*const run)(void *) = mass ? run_mass : run_gap;
    if (!problem_make(&p, K, d, 1))
        return 1;
    p.x = 1e-4;
    p.s.method = MOEG_METHOD_LINE;
    p.s.n = lines;
    const double few = bench_seconds(run, &p);
    if (K == 2) {
        problem_free(&p);
        printf("%-4s K %2zu, d %3zu: one line, %.1f us in all\n", mass ? "mass" : "gap", K, d, 1e6 * few);
        return p.status < 0;
    }
    p.s.n = 4 * lines;
    const double each = (bench_seconds(run, &p) - few) / (3 * (double)lines), pieces = mass ? 0 : pieces_of(&p);
    problem_free(&p);
    if (p.status < 0)
        return p.status != MOEG_EUNSUPPORTED;
    if (pieces != 0) { /* The gap on general lines: nodes on every piece, the outputs of all experts at each. */
        printf("%-4s K %2zu, d %3zu: %9.1f ns a line, general ones of %.1f pieces, %.1f for each of pieces K\n", "gap",
               K, d, 1e9 * each, pieces, 1e9 * each / (pieces * (double)K));
        return !(pieces > 0);
    }
    const double r = (double)(d < K - 1 ? d : K - 1), flow = (double)K * r, order = (double)K * log2((double)K);
    printf("%-4s K %2zu, d %3zu: %9.1f ns a line, %6.2f for each of K r + K log K, %9.1f us before\n",
           mass ? "mass" : "gap", K, d, 1e9 * each, 1e9 * each / (flow + order),
           1e6 * fmax(few - (double)lines * each, 0));
    c->terms[3 * c->n] = flow / each;
    c->terms[3 * c->n + 1] = order / each;
    c->terms[3 * c->n + 2] = 1 / each;
    c->seconds[c->n++] = each;
    return 0;
}

/* Least squares of relative deviations. */
static int report_fit(int mass, costs *c)
{
    double found[3], worst = 1;
    size_t rank;
    for (size_t i = 0; i < c->n; i++)
        c->ones[i] = 1;
    if (moeg_linalg_least_squares("bench", c->n, 3, 1, c->terms, c->ones, 0, found, &rank) != MOEG_OK)
        return 1;
    for (size_t i = 0; i < c->n; i++) {
        double fitted = 0;
        for (size_t j = 0; j < 3; j++)
            fitted += c->terms[3 * i + j] * found[j];
        worst = fmax(worst, fmax(fitted, 1 / fitted));
    }
    printf("%-4s line: %.2f ns K r + %.2f ns K log2 K + %.1f ns, all within a factor of %.2f\n", mass ? "mass" : "gap",
           1e9 * found[0], 1e9 * found[1], 1e9 * found[2], worst);
    return 0;
}

int main(int argc, char **argv)
{
    /* Two experts are one line, three take a quadrature: none are drawn. */
    static const size_t experts[] = {2, 4, 8, 16, 32, 64}, dims[] = {8, 32, 128, 512};
    const int quick = bench_quick(&argc, argv);
    const sizes n = quick ? (sizes){1 << 9, {1 << 10, 1 << 10}} : (sizes){1 << 14, {1 << 21, 1 << 25}};
    int failed = 0;
    for (int mass = 0; mass < 2; mass++)
        for (int low = 0; low < 2; low++)
            failed |= report_percent(mass, low, &n);
    for (int mass = 0; mass < 2; mass++) {
        costs c = {.n = 0};
        for (size_t i = 0; i < (quick ? 3 : sizeof experts / sizeof *experts); i++)
            for (size_t j = 0; j < sizeof dims / sizeof *dims; j++)
                failed |= report_line(mass, experts[i], dims[j], quick ? 512 : 4096, &c);
        failed |= report_fit(mass, &c);
    }
    return failed;
}
