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
    int frozen;    /* the gap is 0: no temperature moves the gates, or all experts are one affine map */

    size_t pieces;           /* of a hard mixture, or 1 */
    const moeg_moe *mixture; /* the teacher's, or NULL */
    size_t winners;          /* whose mean it is */
    int jumps;               /* it may jump where the student's deciding ranks tie */
    /* Interfaces that the teacher's router and the student's share, numbered from 1: which one two pieces tie on
     * (pieces x pieces), and two experts (K x K; NULL without a mixture). 0: none of them. */
    uint32_t *twin, *student_twin;
    const uint32_t *third; /* (K x K) moeg_crowded_pairs(), where leading terms are needed */

    /* All of them affine: outputs in the frame, with further ones that are the same all over it for what is orthogonal
     * to it, value + slope u. Else NULL: experts are evaluated at points x = mean + factor z. */
    int affine;
    size_t outputs;        /* m, or more if affine */
    size_t drawn;          /* dimension of z: r of u = z if affine, else d, u = Q z */
    double *value, *slope; /* ((K + pieces) outputs), (... x r) */
} moeg_nodes;

/* *refusal: NULL if lines are for this problem, else why not. To be freed with moeg_nodes_free(), also then. The
 * objects must outlive it. MOEG_EDOM (fewer experts that are not masked than a gate wants), MOEG_ERANGE, MOEG_ENOMEM.
 * Cost O(K d^2 + K^2 m d), and to compare the interfaces O((K^2 + pieces^2) d + K^2 pieces^2), that times r
 * where the covariance is singular. */
moeg_status moeg_nodes_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                            moeg_nodes *nodes, const char **refusal);
void moeg_nodes_free(moeg_nodes *nodes);

/* Whether lines may have missed where the gap at tau is not 0: a few cells, ties or jumps may have all there is. */
static inline int moeg_nodes_may_miss(const moeg_nodes *nodes, double tau)
{
    return !nodes->frozen && tau > 0;
}

/* Whether `count` outputs from `first` on are one affine map. */
int moeg_nodes_agree(const moeg_nodes *nodes, size_t first, size_t count);

/* `jumps`: by the routers, and outputs that agree. */
int moeg_nodes_may_jump(const moeg_nodes *nodes);

/* Whether the gap may have a leading term: not that of loss mixing, of gates that sum to 1, where m jumps at no tie. */
int moeg_nodes_may_lead(const moeg_nodes *nodes, moeg_mixing mixing);

/* Its part for teachers: before the frame, what it is, and why it is refused (nodes_teacher.c); after it, twins
 * (nodes_twins.c). */
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

/* What is computed on a line: the hard risk (0 if not wanted), the gaps of the context's temperatures, and, if wanted,
 * the leading term of the gap, lim gap/tau, then for each temperature how near a tie of more than two is, or a jump of
 * the teacher to a tie: the sum over them of density/slope e^(-gap/tau). */
typedef struct moeg_nodes_curve {
    const moeg_nodes *nodes;
    moeg_risk_context *context;
    moeg_nodes_hard hard;
    int with_lead, with_near;
    int needs_lead; /* it is an error if there is none */
    double window;  /* what is farther out than this is left out */
    double felt;    /* so is what has a gap above this many tau */
    size_t rows;    /* of a block of nodes */
} moeg_nodes_curve;

/* To be freed with moeg_nodes_curve_free(). MOEG_ENOMEM. */
moeg_status moeg_nodes_curve_init(const char *function, const moeg_nodes *nodes, moeg_mixing mixing, size_t ntau,
                                  const double *tau, moeg_nodes_hard hard, double window, double felt,
                                  moeg_nodes_curve *curve);
void moeg_nodes_curve_free(moeg_nodes_curve *curve);

/* How many values a line has. */
size_t moeg_nodes_count(const moeg_nodes_curve *curve);

/* Doubles of workspace for n lines. */
size_t moeg_nodes_workspace(const moeg_nodes_curve *curve, size_t stride);

/* Values of the first n of each `period` of `stride` lines, those through z (drawn x stride): values and errors
 * (count x stride), those of the others 0. Fails as experts and teacher do; MOEG_ERANGE if something overflows. Of
 * leading terms: MOEG_EDOM (the deciding ranks tie everywhere), MOEG_EUNSUPPORTED (three experts tie where two do). */
moeg_status moeg_nodes_lines(const moeg_nodes_curve *curve, const moeg_nodes_way *way, size_t n, size_t period,
                             size_t stride, const double *z, double *workspace, double *values, double *errors);

/* As moeg_risk_curve(). */
moeg_status moeg_nodes_risk_curve(const char *function, const moeg_nodes *nodes, moeg_mixing mixing, size_t ntau,
                                  const double *tau, const moeg_sampling *s, moeg_estimate *hard, moeg_estimate *soft,
                                  moeg_estimate *gap, double *gap_covariance);

/* As moeg_leading_remainder(). */
moeg_status moeg_nodes_remainder(const char *function, const moeg_nodes *nodes, moeg_mixing mixing, size_t ntau,
                                 const double *tau, const moeg_sampling *s, moeg_estimate *slope,
                                 moeg_estimate *remainder);

/* What came out, each value in a unit of its own. */
typedef struct moeg_nodes_result {
    moeg_ray_result sampled; /* of `count` values; 1 line where none was drawn */
    size_t count;
    double *unit; /* (count) */
} moeg_nodes_result;

/* Room for `count` values in units of 1, zeroed. To be freed with moeg_nodes_result_free(), whatever it returns:
 * MOEG_ENOMEM. */
moeg_status moeg_nodes_result_init(const char *function, size_t count, moeg_nodes_result *result);
void moeg_nodes_result_free(moeg_nodes_result *result);

/* Value v over the divisor; `rare` as of moeg_ray_estimate(). MOEG_OK or MOEG_EUNABLE (too few lines for an error bar).
 */
moeg_status moeg_nodes_estimate(const moeg_nodes_result *result, size_t v, int rare, double divisor, double level,
                                moeg_estimate *out);

/* All of it times a scale > 0. */
void moeg_nodes_scale(double scale, moeg_estimate *e);

/* Makes a result of hard risk, gaps and soft risks; or, of rests, of the leading term and gaps over tau less it, tau >
 * 0. Values beyond these are its own. All there is varies in one dimension or two, and nothing is drawn; or lines are.
 * As moeg_lines_expect(), fails as moeg_nodes_lines(); MOEG_EINVAL also of directions, and where AUTO has too few lines
 * for a risk to tell its error. */
moeg_status moeg_nodes_expect(const char *function, const moeg_nodes *nodes, moeg_mixing mixing, size_t ntau,
                              const double *tau, int rests, const moeg_sampling *s, moeg_nodes_result *result);

/* Its two parts (nodes_whole.c, nodes_sample.c), and which it is. */
int moeg_nodes_are_whole(const moeg_nodes *nodes);
moeg_status moeg_nodes_whole(const char *function, const moeg_nodes *nodes, moeg_mixing mixing, size_t ntau,
                             const double *tau, int rests, const moeg_sampling *s, moeg_nodes_result *result);
moeg_status moeg_nodes_sample(const char *function, const moeg_nodes *nodes, moeg_mixing mixing, size_t ntau,
                              const double *tau, int rests, const moeg_sampling *s, moeg_nodes_result *result);

/* r = 2 and nothing else drawn, one temperature or none: by quadrature over the coordinate across lines of one
 * direction (nodes_plane.c). value and error of all values of a line. MOEG_ENOMEM, and as moeg_nodes_lines(). */
moeg_status moeg_nodes_plane(const char *function, const moeg_nodes_curve *curve, double *value, double *error);

#endif
