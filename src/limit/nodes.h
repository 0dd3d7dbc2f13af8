/* Risks on general lines: any gate, any expert, a teacher in pieces [theory: nodes on a line].
 *
 * A line is z = base + t e, t ~ N(0, 1). Along it logits are straight lines, whose envelope (line/envelope.h), with the
 * teacher's breakpoints merged in, cuts it into pieces where everything is smooth. Panels are graded from the ends of
 * pieces; each node becomes a row of the sampled risks (risk_job.h), with logits that are differences from the expert
 * of the deciding rank, formed from the offset to the end: none cancels, however near a tie. */
#ifndef MOEG_LIMIT_NODES_H
#define MOEG_LIMIT_NODES_H

#include "limit/risk_job.h"
#include "line/envelope.h"
#include "line/frame.h"
#include "line/sampler.h"

#include <moegeom/estimate.h>
#include <moegeom/options.h>

/* The problem, but for temperatures. Experts are numbered as in the frame, those that are masked left out; the pieces
 * of a teacher after them. */
typedef struct moeg_nodes {
    moeg_frame frame; /* of the router, and of the teacher's if it is a hard mixture */
    const moeg_moe *moe;
    const moeg_teacher *teacher;
    const moeg_law *law;
    moeg_gate gate;
    size_t K, r, m;
    size_t rank;   /* that decides: its gap to the next one is where the temperature is felt */
    size_t levels; /* ranks that the integrand knows apart */
    int frozen;    /* no temperature moves the gates */

    size_t pieces;           /* of a hard mixture, or 1 */
    const moeg_moe *mixture; /* the teacher's, or NULL */
    size_t winners;          /* whose mean it is */
    uint32_t *twin; /* (pieces x pieces) 1 + i K + j: that interface of the teacher is this one of the router */

    /* All of them affine: outputs in the frame, with further ones that are the same all over it for what is orthogonal
     * to it, value + slope u. Else NULL: experts are evaluated at points x = mean + factor z. */
    int affine;
    size_t outputs;        /* m, or more if affine */
    size_t drawn;          /* dimension of z: r of u = z if affine, else d, u = Q z */
    double *value, *slope; /* ((K + pieces) outputs), (... x r) */
} moeg_nodes;

/* *refusal: NULL if lines are for this problem, else why not. To be freed with moeg_nodes_free(), also then. The
 * objects must outlive it. MOEG_EDOM (fewer experts that are not masked than a gate wants), MOEG_ERANGE, MOEG_ENOMEM.
 * Cost O(K d^2 + K^2 m d), and to compare the interfaces O(K^2 pieces^2). */
moeg_status moeg_nodes_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                            moeg_nodes *nodes, const char **refusal);
void moeg_nodes_free(moeg_nodes *nodes);

/* Its part for teachers (nodes_teacher.c): before the frame, what it is, and why it is refused; after it, twins. */
const char *moeg_nodes_read_teacher(const moeg_teacher *teacher, moeg_nodes *nodes);
moeg_status moeg_nodes_find_twins(const char *function, moeg_nodes *nodes);

/* Lines of one direction. */
typedef struct moeg_nodes_way {
    double *e;            /* (r) */
    double *ahead;        /* (drawn) the same in what is drawn */
    double *step;         /* (d) dx/dt; not if affine */
    double *beta;         /* (K + pieces) slopes of logits, those of a mixture's after the router's */
    double *along;        /* ((K + pieces) outputs) slopes of outputs, if affine */
    double spread;        /* largest less smallest slope of the router's */
    const double *weight; /* (K x K) of a piece by its deciding pair, or NULL: 1 */
} moeg_nodes_way;

moeg_status moeg_nodes_way_init(const char *function, const moeg_nodes *nodes, const double *e, moeg_nodes_way *way);
void moeg_nodes_way_free(moeg_nodes_way *way);

/* How the hard risk of a line is had. */
typedef enum moeg_nodes_hard {
    MOEG_NODES_NO_HARD,
    MOEG_NODES_INTEGRATED, /* over the line */
    MOEG_NODES_DRAWN       /* where z is: with expectation that, from one point */
} moeg_nodes_hard;

/* What is computed on a line: the hard risk, then the gaps of the context's temperatures. */
typedef struct moeg_nodes_curve {
    const moeg_nodes *nodes;
    moeg_risk_context *context;
    moeg_nodes_hard hard;
    double window; /* what is farther out than this is left out */
    double felt;   /* so is what has a gap above this many tau */
    size_t rows;   /* of a block of nodes */
} moeg_nodes_curve;

/* To be freed with moeg_nodes_curve_free(). MOEG_ENOMEM. */
moeg_status moeg_nodes_curve_init(const char *function, const moeg_nodes *nodes, moeg_mixing mixing, size_t ntau,
                                  const double *tau, moeg_nodes_hard hard, double window, double felt,
                                  moeg_nodes_curve *curve);
void moeg_nodes_curve_free(moeg_nodes_curve *curve);

/* Doubles of workspace for n lines. */
size_t moeg_nodes_workspace(const moeg_nodes_curve *curve, size_t stride);

/* Values of the first n of each `period` of `stride` lines, those through z (drawn x stride): values and errors
 * (1 + ntau x stride), those of the others 0. Fails as experts and teacher do; MOEG_ERANGE if something overflows. */
moeg_status moeg_nodes_lines(const moeg_nodes_curve *curve, const moeg_nodes_way *way, size_t n, size_t period,
                             size_t stride, const double *z, double *workspace, double *values, double *errors);

/* As moeg_risk_curve(). */
moeg_status moeg_nodes_risk_curve(const char *function, const moeg_nodes *nodes, moeg_mixing mixing, size_t ntau,
                                  const double *tau, const moeg_sampling *s, moeg_estimate *hard, moeg_estimate *soft,
                                  moeg_estimate *gap, double *gap_covariance);

/* Into a result of 1 + 2 ntau: hard risk, gaps and soft risks (nodes_sample.c). As moeg_lines_expect().
 */
moeg_status moeg_nodes_sample(const char *function, const moeg_nodes *nodes, moeg_mixing mixing, size_t ntau,
                              const double *tau, const moeg_sampling *s, moeg_ray_result *result);

/* r = 2 and nothing else drawn, one temperature or none: by quadrature over the coordinate across lines of one
 * direction (nodes_plane.c). value and error (1 + ntau). MOEG_ENOMEM, and as moeg_nodes_lines(). */
moeg_status moeg_nodes_plane(const char *function, const moeg_nodes_curve *curve, double *value, double *error);

#endif
