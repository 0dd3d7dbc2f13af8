/* Any affine router under a Gaussian law, from files or drawn by a seed: gaps and near ties by lines and by sampling.
 */
#ifndef EXAMPLE_ROUTED_H
#define EXAMPLE_ROUTED_H

#include "example.h"
#include "matrix.h"

typedef struct routed_options {
    const char *router, *mean, *cov, *experts; /* files, and the kind of the experts; NULL: not given */
    uint64_t K, d;                             /* 0: not given */
} routed_options;

/* Their place in a list of options, and how many rows and lines are taken where it was not asked for a number. */
#define ROUTED_OPTIONS(o)                                                                                              \
    {"router",                                                                                                         \
     OPTION_TEXT,                                                                                                      \
     &(o)->router,                                                                                                     \
     "FILE",                                                                                                           \
     "in place of those: an affine router, .npy or headerless .csv, a row for each expert, weights then bias",         \
     NULL},                                                                                                            \
        {"K", OPTION_EXPERTS, &(o)->K, "K", "in place of a file: experts of a router drawn by the seed (8)", NULL},    \
        {"d", OPTION_COUNT, &(o)->d, "D", "its dimension; its entries are N(0, 1/d) (32)", NULL},                      \
        {"mean", OPTION_TEXT, &(o)->mean, "FILE", "of the Gaussian law under the router, d numbers (0)", NULL},        \
    {                                                                                                                  \
        "cov", OPTION_TEXT, &(o)->cov, "FILE", "its covariance, d x d numbers (the identity)", NULL                    \
    }

#define ROUTED_UNITS(quick) ((quick) ? 1 << 13 : 1 << 16)

/* The name of an option that was given; NULL: none was. */
const char *routed_asked(const routed_options *o);

/* outputs_require() with the files. */
void routed_outputs(const routed_options *o, const char *csv, const char *svg);

/* X ~ N(mean, covariance), logits W x + b. */
typedef struct routed {
    router_file rows; /* K, d, W and b */
    moeg_law *law;
    moeg_router *router;
    char text[256];
} routed;

/* Reads the files; what was not given is drawn by the seed, rows of W with entries N(0, 1/d) and no bias, or the
 * standard normal law. Anything that does not fit ends the program. */
routed routed_read(const routed_options *o, uint64_t seed);
void routed_free(routed *r);

/* P(margin <= t) <= C t for every t <= t0, or no tie at all below t0: the sum over the pairs of experts. Status as
 * moeg_bound_margin_condition(). */
moeg_status routed_condition(const routed *r, moeg_margin_condition *condition);

/* The first of w, w/2, ... at which the mass of each pair of experts is its slope times w, to small_term^2/6 of that or
 * of the slope of all. For s ~ N(m, sigma^2) that is where m w/sigma^2 <= small_term, as the density of s changes by
 * e^(m w/sigma^2) and its odd part cancels: to what the next term is where others tie too, or of a gap. 0: nowhere. */
double routed_straight(const routed *r, double w, double slope, double small_term);

/* Whether w is, to rounding, the constant difference of the logits of two experts: their mass jumps there, and which
 * rows are within w is rounding. */
void routed_jumps(const routed *r, size_t n, const double *w, int *jump);

/* A curve over x (tau or w), by both methods. What is not known has a reason instead. */
typedef struct routed_curve {
    const char *name, *variable; /* of what is measured: gap or mass; of x: tau or w */
    const char *felt;            /* which rows contribute */
    char what[64];               /* of whom, for the head of the report */
    size_t n;
    double *x;
    moeg_estimate *line, *sampled; /* (n), each 99.9 % for all together; line is NULL where no lines are to be had */
    double *covariance;            /* (n x n) of line, or NULL */
    int power;                     /* of x as x -> 0 */
    moeg_estimate constant;        /* of the leading term, 99.9 %, on other lines; of value NaN: not known */
    double *bound;                 /* (n) infinite: none is known */
    int *jump;                     /* (n) as of routed_jumps(); NULL: none */
    const char *bound_name;
    double small; /* below this x the leading term is near; 0: not known */
    char no_lines[256], no_constant[256], no_bound[256];
} routed_curve;

/* Gaps L_tau - L_0 of scalar experts drawn by the seed (constant, affine or mlp; NULL: affine) around the teacher 0. A
 * tolerance in the options is that of the lines; all rows are sampled. */
routed_curve routed_gap(const routed *r, const char *experts, grid tau, const moeg_sampling *s);

/* Masses P(gap <= w) of a gap of the router, ~ w^power. */
routed_curve routed_mass(const routed *r, moeg_gap gap, int power, grid w, const moeg_sampling *s);
void routed_curve_free(routed_curve *c);

/* Whether `line` is of lines that were drawn; else one or two dimensions were integrated. And the name of that: lines
 * or quadrature. */
int routed_is_drawn(const routed_curve *c);
const char *routed_source(const routed_curve *c);

/* What the next term may bend below `small`, relative to the leading one. */
#define ROUTED_SMALL_TERM 0.01

/* Whether an estimate is a fair judge of theory, or at least has an error bar. */
int routed_tells(const moeg_estimate *e);
int routed_has_error(const moeg_estimate *e);

/* Draws the curve into a file. */
void routed_draw(const routed *r, const routed_curve *c, const char *path);

/* Checks the claims; returns the exit status. */
int routed_curve_judge(const routed_curve *c, FILE *out);

/* Table, CSV and plot (NULL: none), and verdict; returns the exit status. */
int routed_report(const routed *r, const routed_curve *c, const moeg_sampling *s, const char *csv, const char *svg);

#endif
