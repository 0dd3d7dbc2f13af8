/* The kernels of each instruction set beside a peer of the same run: GSL's ziggurat on mt19937 for normals, its
 * uniforms for uniforms, libm for exp, OpenBLAS on one thread for the affine map. A ratio above 1 is faster than it. */
#include "base/kernel.h"
#include "base/kernel_table.h"
#include "base/memory.h"
#include "bench/bench.h"
#include "bench/dgemm.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdio.h>

enum { Q = 16, STRIDE = 512, COUNT = Q * STRIDE };

typedef struct bench_case {
    const moeg_kernel_table *set;
    gsl_rng *rng;
    size_t K, d, stride;
    double *W, *x, *out;
} bench_case;

static void normals(void *user)
{
    const bench_case *c = user;
    c->set->normals(1, 0, 0, 0, Q, STRIDE, c->out);
}

static void peer_normals(void *user)
{
    const bench_case *c = user;
    for (size_t i = 0; i < COUNT; i++)
        c->out[i] = gsl_ran_gaussian_ziggurat(c->rng, 1);
}

static void uniforms(void *user)
{
    const bench_case *c = user;
    c->set->uniforms(1, 0, 0, 0, Q, STRIDE, c->out);
}

static void peer_uniforms(void *user)
{
    const bench_case *c = user;
    for (size_t i = 0; i < COUNT; i++)
        c->out[i] = gsl_rng_uniform(c->rng);
}

static void exponentials(void *user)
{
    const bench_case *c = user;
    c->set->exp(COUNT, c->x, c->out);
}

static void peer_exponentials(void *user)
{
    const bench_case *c = user;
    for (size_t i = 0; i < COUNT; i++)
        c->out[i] = exp(c->x[i]);
}

static void affine(void *user)
{
    const bench_case *c = user;
    c->set->affine(c->K, c->d, c->W, NULL, c->stride, c->x, c->out);
}

static void peer_affine(void *user)
{
    const bench_case *c = user;
    bench_multiply(c->K, c->stride, c->d, c->W, c->x, c->out);
}

static void report_each(const char *what, void (*run)(void *), void (*peer)(void *), const char *peer_name,
                        bench_case *c)
{
    const double limit = bench_seconds(peer, c) / COUNT;
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
        c->set = set;
        const double each = bench_seconds(run, c) / COUNT;
        printf("%-8s %-8s %6.2f ns, %s %6.2f ns, ratio %5.2f\n", what, set->name, 1e9 * each, peer_name, 1e9 * limit,
               limit / each);
    }
}

static void report_affine(size_t K, size_t d, size_t stride, bench_case *c)
{
    c->K = K;
    c->d = d;
    c->stride = stride;
    const double work = 2e-9 * (double)(K * d * stride), limit = work / bench_seconds(peer_affine, c);
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
        c->set = set;
        const double speed = work / bench_seconds(affine, c);
        printf("affine   %-8s %6.1f GFLOP/s, dgemm %6.1f GFLOP/s, ratio %5.2f  (K %zu, d %zu, rows %zu)\n", set->name,
               speed, limit, speed / limit, K, d, stride);
    }
}

int main(int argc, char **argv)
{
    bench_quick(&argc, argv);
    enum { MAX_K = 64, MAX_D = 512, MAX_ROWS = 1024, MAX_X = 65536 };
    bench_case c = {
        .rng = gsl_rng_alloc(gsl_rng_mt19937),
        .W = moeg_alloc((size_t)MAX_K * MAX_D, sizeof(double)),
        .x = moeg_alloc(MAX_X, sizeof(double)),
        .out = moeg_alloc((size_t)MAX_K * MAX_ROWS, sizeof(double)),
    };
    if (c.rng == NULL || c.W == NULL || c.x == NULL || c.out == NULL)
        return 1;
    moeg_kernel_uniforms(1, 0, 0, 1, (size_t)MAX_K * MAX_D, c.W);
    moeg_kernel_uniforms(2, 0, 0, 1, MAX_X, c.x);
    for (size_t i = 0; i < COUNT; i++)
        c.x[i] *= -45;
    report_each("normal", normals, peer_normals, "ziggurat", &c);
    report_each("uniform", uniforms, peer_uniforms, "mt19937", &c);
    report_each("exp", exponentials, peer_exponentials, "libm", &c);
    const size_t experts[] = {4, 16, 64}, dims[][2] = {{16, 1024}, {64, 512}, {512, 128}};
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++)
            report_affine(experts[i], dims[j][0], dims[j][1], &c);
    gsl_rng_free(c.rng);
    moeg_release(c.W);
    moeg_release(c.x);
    moeg_release(c.out);
    return 0;
}
