/* What cooling_report measures, and how it is judged and drawn. */
#ifndef EXAMPLE_COOLING_H
#define EXAMPLE_COOLING_H

#include "dataset.h"
#include "example.h"

/* The gap counts as small below this share of the hard risk. */
#define SAFE_SHARE 0.01

typedef struct cooling_options {
    dataset_options data;
    const char *router, *csv, *plot;
    moeg_gate gate;
    uint64_t centroids; /* 0: a router file */
    int quick, threads;
    grid tau, w;
} cooling_options;

typedef struct cooling {
    dataset data;
    size_t n;                     /* rows to measure on, */
    const double *x, *y, *weight; /* and they: the last n of data; y and weight may be NULL */
    size_t K;
    moeg_gate gate;
    moeg_gap deciding; /* the gap that decides where the gate feels the temperature */
    moeg_router *router;
    moeg_law *law;
    double *margin; /* (n) deciding gaps, ascending */
    double *below;  /* (n) the share of rows up to there */
    double median, unit;
    double C; /* P(margin <= t) <= C t for every t > 0 over the data; infinite if margins tie */
    /* Boundary mass. */
    size_t nw;
    double *w;
    moeg_estimate *mass, *exponent;
    uint64_t ties;
    /* With a target: experts, risks, certificates; ntau = 0 without. */
    size_t ntau;
    double *tau;
    moeg_cell_fit *fit;
    moeg_expert **experts;
    moeg_estimate hard, *soft, *gap;
    moeg_output_limits limits; /* largest |f_k(x_i)| and |y_i| */
    double rounding;           /* what rounding may make of an output, at most */
    double *bounded;           /* (ntau) certificate from C; NULL if margins tie */
    double *moment;            /* (ntau) certificate from margins and outputs */
} cooling;

/* Everything that is measured. */
cooling cooling_measure(const cooling_options *o);
void cooling_free(cooling *c);

/* The experts by least squares inside each cell, and how they fit: c->experts, c->fit, which are there to be filled. */
void cooling_fit(cooling *c);

/* The margin below or at which this share of the rows lies. */
double cooling_margin(const cooling *c, double share);

/* Whether the gates do not depend on the temperature. */
int cooling_is_frozen(const cooling *c);

/* Whether the hard risk is 0, to rounding. */
int cooling_is_perfect(const cooling *c);

/* How many temperatures, from the lowest up, have a gap of at most SAFE_SHARE of the hard risk. */
size_t cooling_safe(const cooling *c);

/* The tables of the report, and one of them as CSV: of the gaps, without a target of the masses. */
void cooling_print(const cooling *c, const cooling_options *o, FILE *out);
void cooling_csv(const cooling *c, const char *path);

void cooling_draw(const cooling *c, const cooling_options *o);

/* Checks what theory says of the data as they are; returns the exit status. */
int cooling_judge(const cooling *c, FILE *out);

#endif
