/* How much is known of rests, what gaps have beyond their leading terms [theory: star directions, nodes on a line].
 *
 * On a share of lines of the order of tau a third expert, or a jump of the teacher, is within tau of a tie. There the
 * rest of gap/tau is of order 1, elsewhere O(tau): its variance is proportional to tau. Lines that have not met these
 * places know nothing of it, and take what a larger temperature has, in proportion. */
#include "limit/nodes_sample.h"
#include "limit/ray_estimate.h"
#include "model/model.h"

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

/* Whether gates that tau moves sum to 1. */
static int shares_gates(const moeg_nodes *p)
{
    return p->gate.kind != MOEG_GATE_TOPK_RAW || p->gate.k > 1;
}

/* Whether each two pieces tie on an interface of the student's, and no others do there. */
static int has_separate_twins(const moeg_nodes *p)
{
    const size_t n = p->pieces;
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++) {
            const uint32_t twin = p->twin[a * n + b];
            for (size_t i = 0; i < a * n + b; i++)
                if (i % n < i / n && p->twin[i] == twin)
                    return 0;
            if (twin == 0)
                return 0;
        }
    return 1;
}

int moeg_nodes_may_jump(const moeg_nodes *p)
{
    if (p->mixture == NULL || moeg_nodes_agree(p, p->K, p->pieces))
        return 0;
    /* Behind the student's own router other ranks decide: where a pair has the student's, it has not the teacher's. */
    if (moeg_moe_router(p->mixture) == moeg_moe_router(p->moe) && p->winners != p->rank && has_separate_twins(p))
        return 0;
    for (size_t i = 0; i < p->pieces * p->pieces; i++)
        if (p->twin[i] != 0)
            return 1;
    return 0;
}

int moeg_nodes_may_lead(const moeg_nodes *p, moeg_mixing mixing)
{
    return mixing != MOEG_MIX_LOSS || !shares_gates(p) || p->jumps;
}

/* Whether gaps may be all rest, on the lines that were drawn: of loss mixing there is no leading term but where m jumps
 * at a tie. */
static int may_be_rests(const moeg_nodes *p, moeg_mixing mixing)
{
    return mixing == MOEG_MIX_LOSS && shares_gates(p);
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
    if (p->frozen || !rare || !(l->rests || may_be_rests(p, mixing)))
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
    const size_t last = l->ntau;
    const double *tau = l->curve.context->tau;
    if (!l->curve.with_near)
        return;
    moeg_ray_rest rest = {.lead = l->leads ? moeg_nodes_lead_place(l) : l->count,
                          .reference = moeg_nodes_gap_place(l, last),
                          .known = is_near_known(l, result, last)};
    for (size_t t = 0; t < l->ntau; t++) {
        if (!(tau[t] > 0 && tau[t] < tau[last]) || is_near_known(l, result, t))
            continue;
        rest.share = tau[t] / tau[last];
        rest.scale = tau[t] / l->unit[t];
        moeg_ray_judge_rest(&rest, l->count, moeg_nodes_gap_place(l, t), result);
    }
}
