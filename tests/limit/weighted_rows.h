/* Data with weights, and what boundary.h measures of them. */
#ifndef MOEG_TESTS_LIMIT_WEIGHTED_ROWS_H
#define MOEG_TESTS_LIMIT_WEIGHTED_ROWS_H

#include "limit/boundary.h"

enum { N = 700, MANY = 6000, D = 2, NW = 5, NP = 4 }; /* MANY rows are more than a block */
static const double widths[NW] = {0.4, 3, 1e-3, 1, 0.1}, shares[NP] = {0.3, 0.05, 0.9, 0.5};

/* Rows of which some tie and some have no weight; a router of three experts. */
struct data {
    double x[MANY * D], weights[MANY], gaps[MANY];
    moeg_router *router;
    moeg_law *law;
    moeg_gap gap;
};

static inline double some_weight(size_t i)
{
    const double u = problem_number(5, i);
    return i % 9 == 4 ? 0 : 0.05 + u * u;
}

static inline double equal_weight(size_t i)
{
    (void)i;
    return 0.7;
}

static inline void make_data(size_t n, double scale, double (*weight)(size_t), moeg_gap gap, struct data *d)
{
    static const double W[] = {1, 0.2, -0.6, 0.9, -0.3, -1.1}, b[] = {0.1, -0.2, 0.05};
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < D; j++)
            d->x[i * D + j] = i % 50 == 7 ? 0.25 * (double)(i % 3) : 2 * problem_number(6, i * D + j);
        d->weights[i] = scale * weight(i);
    }
    d->gap = gap;
    assert_ok(moeg_router_affine_create(&d->router, 3, D, W, b));
    assert_ok(moeg_law_empirical_create(&d->law, n, D, d->x, d->weights));
    assert_ok(moeg_router_gap(d->router, n, d->x, gap, d->gaps));
}

static inline void free_data(struct data *d)
{
    moeg_router_free(d->router);
    moeg_law_free(d->law);
}

struct results {
    moeg_estimate mass[NW], alpha[NW], C[NW], quantile[NP];
    uint64_t ties;
};

static inline struct results measure(const struct data *d, const moeg_sampling *s)
{
    struct results r;
    memset(&r, 0, sizeof r);
    assert_ok(moeg_boundary_gap_mass(d->router, d->gap, d->law, NW, widths, s, r.mass));
    assert_true(moeg_boundary_exponent(d->router, d->gap, d->law, NW, widths, s, r.alpha, r.C, &r.ties) >= 0);
    assert_ok(moeg_boundary_quantile(d->router, d->gap, d->law, NP, shares, s, r.quantile));
    return r;
}

#endif
