/* The values of a line (ray_risk.h): hard risk, gaps and soft risks, and the leading term of the gap on either side of
 * an interface [theory: star directions]. */
#ifndef MOEG_LIMIT_RAY_GAP_H
#define MOEG_LIMIT_RAY_GAP_H

#include "limit/ray_risk.h"

/* Which values, in this order: hard (1), lead (1; also beside felt), gaps (ntau), soft risks (ntau), felt (ntau),
 * control (1).
 *
 * As tau -> 0 the gap of a line is tau (lead + control): the control has mean 0, because the two sides of an interface
 * cancel in it. Small temperatures, those that no ray feels farther than 1 from its crossing, have their gap in parts,
 * tau (rest + lead + control), and the value is rest + lead, or, of remainders, rest alone. Of other temperatures it is
 * the gap in units of min(tau, 1), or, of remainders, gap/tau - lead - control. How much of a rest is seen is told by
 * felt, the sum of exp(-lag_j slope_j/tau) of losers that do not tie: few lines meet where three experts nearly tie,
 * and what happens there is as large as the rest of the rest; it is 1 for other temperatures. With it the last
 * temperature is a small one, whose gap is its rest alone. */
typedef struct moeg_ray_gap {
    const moeg_ray_risk *risk;
    moeg_mixing mixing;
    int with_hard; /* hard and soft risks */
    int with_lead; /* the leading term, and remainders for gaps */
    int with_felt;
    int with_control;
    size_t ntau;
    const double *tau;
    const moeg_sampling *s;                        /* for its tolerance */
    int want_hard, want_lead, want_gap, want_soft; /* which values it is for */
} moeg_ray_gap;

size_t moeg_ray_gap_count(const moeg_ray_gap *gap);

/* Which value is the first gap. */
static inline size_t moeg_ray_gap_first(const moeg_ray_gap *gap)
{
    return (size_t)(gap->with_hard != 0) + (size_t)(gap->with_lead || gap->with_felt);
}

/* Whether there may be a leading term: two experts differ, and of loss mixing m jumps between two cells. */
static inline int moeg_ray_gap_may_lead(const moeg_ray_gap *gap)
{
    return gap->risk->moves && (gap->mixing == MOEG_MIX_OUTPUT || gap->risk->jumps);
}

/* The largest small temperature. */
double moeg_ray_gap_small(const moeg_ray_gap *gap);

/* The unit of the gap of a temperature. */
double moeg_ray_gap_unit(const moeg_ray_gap *gap, double tau);

/* For moeg_ray_quantity. */
size_t moeg_ray_gap_workspace(const moeg_ray_gap *gap, const moeg_ray *ray, size_t stride);
void moeg_ray_gap_evaluate(const moeg_ray_gap *gap, const moeg_ray *ray, const moeg_ray_block *block, double *scratch,
                           double *values, double *errors);

/* The unit of an estimate of gap t: of remainders, (G - tau slope)/tau^2. */
double moeg_ray_gap_scale(const moeg_ray_gap *gap, size_t t);

/* The expectations of the values, less their regression on the control; `width` as in moeg_ray_quantity. To be freed
 * with moeg_ray_result_free(). */
moeg_status moeg_ray_gap_expect(const char *function, const moeg_ray_gap *c, double width, moeg_ray_result *result);

/* The same of all temperatures of c at once, which is made to draw lines where r > 2: with a control; and, if the value
 * of a small temperature may be all rest (remainders, and loss mixing, where m may jump at no tie that lines meet),
 * with what is felt and, last, the largest small temperature beside the others, so that ntau is one more. */
moeg_status moeg_ray_gap_expect_together(const char *function, moeg_ray_gap *c, moeg_ray_result *result);

/* The estimate of value j, which is in units of `unit`; `rare` as of moeg_ray_estimate(). And, if it is wanted, the
 * worst status so far. */
void moeg_ray_gap_put(const moeg_ray_result *result, size_t count, size_t j, int rare, double unit, double level,
                      int wanted, moeg_estimate *out, moeg_status *status);

/* What a block knows of the outputs at its crossings. */
typedef struct moeg_ray_crossing {
    double *outputs;                                     /* (rows m x stride) of moeg_ray_outputs */
    double *number;                                      /* (stride) of the loser that ties, as a double */
    double *tied;                                        /* (m + constants x stride) its contrast */
    double *lead, *lead_error, *control, *control_error; /* (stride) each */
} moeg_ray_crossing;

/* The leading term from the outputs, and number and tied on the way (ray_lead.c). */
void moeg_ray_lead(const moeg_ray_risk *risk, moeg_mixing mixing, const moeg_ray *ray, const moeg_ray_block *block,
                   moeg_ray_crossing *at);

#endif
