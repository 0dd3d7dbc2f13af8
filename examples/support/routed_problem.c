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

/* The numbers of a file that holds rows x cols of them. */
static double *read_numbers(const char *option, const char *path, size_t rows, size_t cols)
{
    matrix m = rows == 1 ? matrix_read_vector(option, path) : matrix_read(option, path);
    matrix_require_bare(&m, option, path);
    matrix_require_finite(&m, option, path);
    if (m.rows != rows || m.cols != cols)
        die("--%s: expected %zu x %zu numbers in \"%s\", got %zu x %zu", option, rows, cols, path, m.rows, m.cols);
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
    double *mean = o->mean == NULL ? NULL : read_numbers("mean", o->mean, 1, d);
    double *covariance = o->cov == NULL ? NULL : read_numbers("cov", o->cov, d, d);
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

moeg_status routed_condition(const routed *r, moeg_margin_condition *condition)
{
    moeg_margin_condition sum = {.C = 0, .alpha = 1, .t0 = INFINITY};
    const size_t K = r->rows.K, d = r->rows.d;
    double *W = allocate(2 * d, sizeof *W);
    moeg_status status = MOEG_OK;
    for (size_t i = 0; i < K; i++)
        for (size_t j = i + 1; j < K && status == MOEG_OK; j++) {
            const double b[2] = {r->rows.b[i], r->rows.b[j]};
            moeg_router *pair;
            moeg_margin_condition one;
            memcpy(W, r->rows.W + i * d, d * sizeof *W);
            memcpy(W + d, r->rows.W + j * d, d * sizeof *W);
            require(moeg_router_affine_create(&pair, 2, d, W, b));
            status = moeg_bound_margin_condition(pair, r->law, &one);
            moeg_router_free(pair);
            if (status == MOEG_OK) {
                sum.C += one.C * (1 + 4 * DBL_EPSILON * (double)K);
                sum.t0 = fmin(sum.t0, one.t0);
            }
        }
    free(W);
    if (status == MOEG_OK && !isfinite(sum.C))
        status = MOEG_ERANGE;
    if (status == MOEG_OK)
        *condition = sum;
    return status;
}
