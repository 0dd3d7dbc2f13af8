/* How much is known of rests, what gaps have beyond their leading terms [theory: star directions, nodes on a line].
 *
 * On a share of lines of the order of tau a third expert, or a jump of the teacher, is within tau of a tie. There the
 * rest of gap/tau is of order 1, elsewhere O(tau): its variance is proportional to tau. Lines that have not met these
 * places know nothing of it, and take what a larger temperature has, in proportion. */
#include "limit/nodes_sample.h"

#include <moegeom/estimate.h>

#include <math.h>

double moeg_nodes_unit(double tau)
{
    return tau > 0 && tau < 1 ? ldexp(1, ilogb(tau)) : 1;
}

/* In how many dimensions the student's logits vary: they are the first of the frame. */
static size_t student_dimensions(const moeg_nodes *p)
{
    size_t dimensions = 0;
    for (size_t i = 0; i < p->K * p->r; i++)
        if (p->frame.logits[0].T[i] != 0 && i % p->r >= dimensions)
            dimensions = i % p->r + 1;
    return dimensions;
}

/* Whether an interface of the teacher is none of the student's. */
static int jumps_elsewhere(const moeg_nodes_sampler *l)
{
    const moeg_nodes *p = l->nodes;
    for (size_t i = 0; p->mixture != NULL && i < p->pieces * p->pieces; i++)
        for (size_t k = 0; k < l->strata.count && p->twin[i] == 0; k++) {
            const double *beta = l->way[k].beta + p->K;
            if (beta[i / p->pieces] != beta[i % p->pieces])
                return 1;
        }
    return 0;
}

/* Whether the gap has no leading term by its algebra: loss mixing where m has no jump at a tie. */
static int has_rests_alone(const moeg_nodes *p, moeg_mixing mixing)
{
    if (mixing != MOEG_MIX_LOSS || (p->gate.kind == MOEG_GATE_TOPK_RAW && p->gate.k == 1))
        return 0;
    for (size_t i = 0; p->mixture != NULL && i < p->pieces * p->pieces; i++)
        if (p->twin[i] != 0)
            return 0;
    return 1;
}

/* No pair of which differs by less, along the direction that sees it best; or a hundredth of the steepest, if that is
 * more. */
static double flattest_pair(const moeg_nodes_sampler *l)
{
    const size_t K = l->nodes->K;
    double flattest = INFINITY, steepest = 0;
    for (size_t i = 0; i < K; i++)
        for (size_t j = 0; j < i; j++) {
            double seen = 0;
            for (size_t k = 0; k < l->strata.count; k++)
                seen = fmax(seen, fabs(l->way[k].beta[i] - l->way[k].beta[j]));
            flattest = seen > 0 ? fmin(flattest, seen) : flattest;
            steepest = fmax(steepest, seen);
        }
    return fmax(flattest, steepest / 100);
}

double moeg_nodes_judges_rests(const moeg_nodes_sampler *l, moeg_mixing mixing, const double *tau)
{
    const moeg_nodes *p = l->nodes;
    const int rare = (p->K > 2 && student_dimensions(p) > 1) || jumps_elsewhere(l);
    if (p->frozen || !rare || !(l->rests || has_rests_alone(p, mixing)))
        return 0;
    const double reference = flattest_pair(l) / MOEG_FELT;
    for (size_t t = 0; t < l->ntau; t++)
        if (tau[t] > 0 && tau[t] < reference)
            return reference;
    return 0;
}

/* Whether lines enough are near: the sum is known to 1/sqrt(MOEG_ENOUGH_UNITS) of itself. */
static int is_near_known(const moeg_nodes_sampler *l, const moeg_ray_result *result, size_t t)
{
    return result->seen[l->count - l->curve.context->ntau + t] >= MOEG_ENOUGH_UNITS;
}

void moeg_nodes_correct_rests(const moeg_nodes_sampler *l, moeg_ray_result *result)
{
    const size_t last = l->ntau, reference = moeg_nodes_gap_place(l, last);
    const double *tau = l->curve.context->tau;
    if (!l->curve.with_near)
        return;
    const int known = is_near_known(l, result, last);
    /* Of gap/tau. */
    const double scale = l->unit[last] / tau[last];
    const double variance = result->covariance[reference * (l->count + 1)] * scale * scale;
    for (size_t t = 0; t < l->ntau; t++) {
        if (!(tau[t] > 0 && tau[t] < tau[last]) || is_near_known(l, result, t))
            continue;
        const size_t at = moeg_nodes_gap_place(l, t);
        const double own = l->unit[t] / tau[t];
        double *mine = &result->covariance[at * (l->count + 1)];
        *mine = fmax(*mine, variance * (tau[t] / tau[last]) / (own * own));
        result->freedom[at] = known ? result->freedom[reference] : 0;
        result->seen[at] = result->seen[reference];
    }
}
