/* What lines drawn at random go through: nodes_sample.c, which draws, and nodes_rests.c, which judges. */
#ifndef MOEG_LIMIT_NODES_SAMPLE_H
#define MOEG_LIMIT_NODES_SAMPLE_H

#include "limit/nodes.h"

/* Values of a line: the hard risk, the gaps, each in its unit, and soft risks; or, of rests, the leading term and the
 * gaps over tau less it. Then, where rests are judged, the rest at one more temperature, of gaps the leading term, if
 * there may be one, and, for each temperature and that one, how near what makes rests is. */
typedef struct moeg_nodes_sampler {
    const moeg_nodes *nodes;
    moeg_mixing mixing;
    size_t ntau; /* asked for */
    int rests;
    int leads; /* gaps may have a leading term, and their rests are judged */
    const moeg_sampling *s;
    size_t count;
    moeg_nodes_curve curve; /* of all temperatures */
    double *unit;           /* (all) */
    moeg_strata strata;
    moeg_nodes_way *way; /* (strata) */
    double *weight;      /* (strata x K x K) */
} moeg_nodes_sampler;

/* Which value is the gap of temperature t, or the rest of the one more. */
static inline size_t moeg_nodes_gap_place(const moeg_nodes_sampler *l, size_t t)
{
    return t < l->ntau ? 1 + t : 1 + (l->rests ? 1 : 2) * l->ntau;
}

/* Which value is the leading term, if there is one. */
static inline size_t moeg_nodes_lead_place(const moeg_nodes_sampler *l)
{
    return l->rests ? 0 : 2 + 2 * l->ntau;
}

/* The unit of the gap of a temperature, a power of two near it, so that no square of a small gap underflows. */
double moeg_nodes_unit(double tau);

/* The temperature by which the rests of smaller ones are judged, or 0 if none has to be: there are no such rests, or
 * all ties have leading terms beside which they are small, or no temperature is smaller. The strata are set. */
double moeg_nodes_judges_rests(const moeg_nodes_sampler *l, moeg_mixing mixing, const double *tau);

/* Where too few lines are near what makes the rests for their own variance to be known: that of the other temperature,
 * of gaps beside that of the leading term. A gap whose leading term lines may have missed is unknown. */
void moeg_nodes_correct_rests(const moeg_nodes_sampler *l, moeg_ray_result *result);

#endif
