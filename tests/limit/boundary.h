/* What the tests of the boundary share. */
#ifndef MOEG_TESTS_LIMIT_BOUNDARY_H
#define MOEG_TESTS_LIMIT_BOUNDARY_H

#include "limit/problem.h"

static const long double root_two_pi = 2.50662827463100050242L;

static inline moeg_sampling options(moeg_method method, uint64_t n, uint64_t seed)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = method;
    s.n = n;
    s.seed = seed;
    return s;
}

/* d = 1, s = slope x + shift, X ~ N(mean, variance). */
static inline void make_plain(struct problem *p, double mean, double variance, double slope, double shift)
{
    *p = (struct problem){.K = 2, .d = 1, .m = 1, .mean = {mean}, .covariance = {variance}, .W = {0, -slope}};
    p->b[0] = shift;
    problem_build(p);
}

/* a_1 = scale x_1, a_2 = 0 under a law with a known exponent: the margin is scale |s|. */
static inline void make_family(double scale, moeg_margin_family family, double parameter, moeg_router **router,
                               moeg_law **law)
{
    const double W[2] = {scale, 0};
    assert_ok(moeg_router_affine_create(router, 2, 1, W, NULL));
    assert_ok(moeg_law_margin_create(law, 1, family, parameter));
}

/* The gaps of rows 0 .. n - 1, from the public functions; to be freed. */
static inline double *gaps_of_rows(const moeg_router *router, moeg_gap gap, const moeg_law *law, uint64_t seed,
                                   size_t n)
{
    double *x = malloc(n * moeg_law_dim(law) * sizeof *x), *out = malloc(n * sizeof *out);
    assert_non_null(x);
    assert_non_null(out);
    assert_ok(moeg_law_sample(law, seed, 0, n, x));
    assert_ok(moeg_router_gap(router, n, x, gap, out));
    free(x);
    return out;
}

#endif
