#include "routed.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUTER_STREAM = 2001, DEFAULT_K = 8, DEFAULT_D = 32 };

const char *routed_asked(const routed_options *o)
{
    return o->router != NULL    ? "router"
           : o->K > 0           ? "K"
           : o->d > 0           ? "d"
           : o->experts != NULL ? "experts"
           : o->mean != NULL    ? "mean"
           : o->cov != NULL     ? "cov"
                                : NULL;
}

void routed_outputs(const routed_options *o, const char *csv, const char *svg)
{
    const input inputs[] = {{"router", o->router}, {"mean", o->mean}, {"cov", o->cov}};
    outputs_require(csv, svg, 3, inputs);
}

static router_file draw_router(const routed_options *o, uint64_t seed)
{
    router_file r = {.K = o->K > 0 ? (size_t)o->K : DEFAULT_K, .d = o->d > 0 ? (size_t)o->d : DEFAULT_D};
    if (r.K > 4096 || r.d > 65536)
        die("--K, --d: expected at most 4096 experts in 65536 dimensions, got %zu in %zu", r.K, r.d);
    r.W = allocate(r.K * r.d, sizeof(double));
    r.b = allocate(r.K, sizeof(double));
    require(moeg_stream_normals((moeg_stream){seed, ROUTER_STREAM}, 0, r.K, r.d, r.W));
    for (size_t i = 0; i < r.K * r.d; i++)
        r.W[i] /= sqrt((double)r.d);
    return r;
}

/* The numbers of a file that holds rows x cols of them, and why cols. */
static double *read_numbers(const char *option, const char *path, size_t rows, size_t cols, const char *why)
{
    matrix m = rows == 1 ? matrix_read_vector(option, path) : matrix_read(option, path);
    matrix_require_bare(&m, option, path);
    matrix_require_finite(&m, option, path);
    if (m.rows != rows || m.cols != cols)
        die("--%s: expected %zu x %zu numbers in \"%s\", as %s %zu, got %zu x %zu", option, rows, cols, path, why, cols,
            m.rows, m.cols);
    double *values = m.values;
    m.values = NULL;
    matrix_free(&m);
    return values;
}

routed routed_read(const routed_options *o, uint64_t seed)
{
    if (o->router != NULL && (o->K > 0 || o->d > 0))
        die("--K, --d: expected without --router, whose file has its own");
    routed r = {.rows = o->router != NULL ? router_file_read(o->router) : draw_router(o, seed)};
    const size_t K = r.rows.K, d = r.rows.d;
    const char *why = o->router != NULL ? "the columns of --router before its bias are"
                      : o->d > 0        ? "--d is"
                                        : "--d, which was not given, is";
    double *mean = o->mean == NULL ? NULL : read_numbers("mean", o->mean, 1, d, why);
    double *covariance = o->cov == NULL ? NULL : read_numbers("cov", o->cov, d, d, why);
    if (moeg_law_gaussian_create(&r.law, d, mean, covariance) != MOEG_OK)
        die("--cov: %s", moeg_last_error());
    require(moeg_router_affine_create(&r.router, K, d, r.rows.W, r.rows.b));
    snprintf(r.text, sizeof r.text, "%zu experts, X ~ N(%s, %s) in R^%zu, router %s%.100s", K, mean ? "mu" : "0",
             covariance ? "Sigma" : "I", d, o->router ? "" : "of entries N(0, 1/d)", o->router ? o->router : "");
    free(mean);
    free(covariance);
    return r;
}

void routed_free(routed *r)
{
    router_file_free(&r->rows);
    moeg_law_free(r->law);
    moeg_router_free(r->router);
}

/* The router of experts i and j alone. */
static moeg_router *pair_router(const routed *r, size_t i, size_t j)
{
    const size_t d = r->rows.d;
    const double b[2] = {r->rows.b[i], r->rows.b[j]};
    double *W = allocate(2 * d, sizeof *W);
    moeg_router *pair;
    memcpy(W, r->rows.W + i * d, d * sizeof *W);
    memcpy(W + d, r->rows.W + j * d, d * sizeof *W);
    require(moeg_router_affine_create(&pair, 2, d, W, b));
    free(W);
    return pair;
}

moeg_status routed_condition(const routed *r, moeg_margin_condition *condition)
{
    moeg_margin_condition sum = {.C = 0, .alpha = 1, .t0 = INFINITY};
    const size_t K = r->rows.K;
    moeg_status status = MOEG_OK;
    for (size_t i = 0; i < K; i++)
        for (size_t j = i + 1; j < K && status == MOEG_OK; j++) {
            moeg_margin_condition one;
            moeg_router *pair = pair_router(r, i, j);
            status = moeg_bound_margin_condition(pair, r->law, &one);
            moeg_router_free(pair);
            if (status == MOEG_OK) {
                sum.C += one.C * (1 + 4 * DBL_EPSILON * (double)K);
                sum.t0 = fmin(sum.t0, one.t0);
            }
        }
    if (status == MOEG_OK && !isfinite(sum.C))
        status = MOEG_ERANGE;
    if (status == MOEG_OK)
        *condition = sum;
    return status;
}

/* Whether the mass of two experts is its slope times w: to `bend` of that, or of the slope of all. A slope that
 * underflows is 0. */
static int is_straight(const routed *r, const moeg_router *pair, double w, double slope_of_all, double bend)
{
    double mass, slope;
    if (moeg_boundary_pairwise(pair, r->law, 1, &w, &mass, &slope) != MOEG_OK) {
        slope = 0;
        require(moeg_boundary_pairwise(pair, r->law, 1, &w, &mass, NULL));
    }
    return mass <= DBL_MIN || fabs(mass - slope * w) <= bend * fmax(slope, slope_of_all) * w;
}

double routed_straight(const routed *r, double w, double slope, double small_term)
{
    const double bend = small_term * small_term / 6;
    for (size_t i = 0; i < r->rows.K; i++)
        for (size_t j = i + 1; j < r->rows.K; j++) {
            moeg_router *pair = pair_router(r, i, j);
            while (w > 0 && !is_straight(r, pair, w, slope, bend))
                w /= 2;
            moeg_router_free(pair);
        }
    return w;
}

void routed_jumps(const routed *r, size_t n, const double *w, int *jump)
{
    for (size_t i = 0; i < n; i++) {
        const double around[2] = {w[i] * (1 - 1e-9), w[i] * (1 + 1e-9)};
        double mass[2];
        jump[i] =
            moeg_boundary_pairwise(r->router, r->law, 2, around, mass, NULL) == MOEG_OK && mass[1] - mass[0] > 0.5;
    }
}
