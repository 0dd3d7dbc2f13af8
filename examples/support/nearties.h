/* What boundary_mass measures, and how it is judged and drawn. */
#ifndef EXAMPLE_NEARTIES_H
#define EXAMPLE_NEARTIES_H

#include "example.h"

enum { NEARTIES_QUANTILES = 6 };

/* A law, a router and a gap of it, P(gap <= w) ~ constant w^order. */
typedef struct nearties_problem {
    const char *text;
    char name[32]; /* of the gap */
    moeg_law *law;
    moeg_router *router;
    moeg_gap gap;
    int order;
    double constant;
    double deviation; /* of a_1 - a_2, of two experts; else 0 */
} nearties_problem;

/* Two experts in R^3. */
nearties_problem nearties_two(void);

/* Five experts in the plane: the gap of order r (1 or 2), or the top-k gap (1 to 4). */
nearties_problem nearties_five_order(uint64_t r);
nearties_problem nearties_five_top(uint64_t k);
void nearties_problem_free(nearties_problem *p);

typedef struct nearties {
    nearties_problem problem;
    size_t n;
    double *w, *leading, *bound;                /* constant w^order; the pairwise bound */
    double slope;                               /* of the bound at 0 */
    moeg_estimate *exact;                       /* of two experts, else NULL */
    moeg_estimate *sampled, *exponent;          /* 99.9 % for all together */
    double *band_lo, *band_hi;                  /* of the whole curve, 99.9 % */
    double p[NEARTIES_QUANTILES];               /* boundary masses whose width is wanted */
    double width[NEARTIES_QUANTILES];           /* in closed form, of two experts; else (p/constant)^(1/order) */
    moeg_estimate quantile[NEARTIES_QUANTILES]; /* sampled, 99.9 % for all together */
} nearties;

/* Measures on a grid of widths. */
nearties nearties_measure(nearties_problem problem, grid w, const moeg_sampling *s);
void nearties_free(nearties *t);

/* Draws the curves into a file; `rows` were sampled. */
void nearties_draw(const nearties *t, const char *path, uint64_t rows);

/* Checks the claims; returns the exit status. */
int nearties_judge(const nearties *t, FILE *out);

#endif
