#include "limit/binary_risk.h"

#include "base/error.h"
#include "model/model.h"

#include <float.h>
#include <math.h>

/* One expert, which may be all that a mask leaves. */
static const char *read_whole(const moeg_expert *expert, moeg_binary_teacher *teacher)
{
    if (!moeg_expert_is_affine(expert))
        return "the teacher's expert is neither constant nor affine";
    teacher->piece[0] = teacher->piece[1] = expert;
    return NULL;
}

const char *moeg_binary_teacher_read(const moeg_teacher *teacher, moeg_binary_teacher *pieces)
{
    *pieces = (moeg_binary_teacher){.lay = MOEG_LAY_WHOLE, .edge = INFINITY, .edge_t = INFINITY};
    const moeg_expert *expert = moeg_teacher_expert(teacher);
    if (expert != NULL)
        return read_whole(expert, pieces);
    double tau = 0;
    const double *W, *b;
    const moeg_moe *moe = moeg_teacher_moe(teacher, &tau);
    if (moe == NULL)
        return "the teacher is neither an expert nor a mixture";
    if (tau != 0)
        return "the teacher is soft";
    const moeg_router *router = moeg_moe_router(moe);
    const moeg_gate gate = moeg_moe_gate(moe);
    const size_t K = moeg_router_experts(router), d = moeg_router_dim(router);
    if (K > 2)
        return "the teacher has more than two pieces";
    if (!moeg_router_affine_parts(router, &W, &b))
        return "the teacher's router is not affine";
    if (gate.kind == MOEG_GATE_SUBSET && gate.k > 1)
        return "the teacher is a mean of experts";
    if (moeg_router_live(router) < gate.k)
        return "the teacher's router masks an expert that its gate wants";
    if (moeg_router_live(router) == 1)
        return read_whole(moeg_moe_expert(moe, isinf(b[0]) ? 1 : 0), pieces);
    for (size_t k = 0; k < 2; k++) {
        pieces->piece[k] = moeg_moe_expert(moe, k);
        if (!moeg_expert_is_affine(pieces->piece[k]))
            return "an expert of the teacher is neither constant nor affine";
    }
    pieces->lay = MOEG_LAY_OBLIQUE;
    pieces->row = (moeg_row){.d = d, .plus = W, .minus = W + d, .plus_constant = b[0], .minus_constant = b[1]};
    return NULL;
}

/* t does not vary: the sign of its mean decides, and on a tie the lower index. */
static void place_constant(long double mean, moeg_binary_teacher *teacher)
{
    teacher->lay = MOEG_LAY_WHOLE;
    teacher->near = teacher->far = mean >= 0 ? 0 : 1;
}

static void place_coincident(int rises, moeg_binary_teacher *teacher)
{
    teacher->lay = MOEG_LAY_COINCIDENT;
    teacher->near = rises ? 0 : 1;
    teacher->far = 1 - teacher->near;
}

/* d epsilon of the terms of t(mu) - multiple s(mu). */
static long double rounding_at(const moeg_row *t, const moeg_row *s, const double *mu, long double multiple)
{
    long double size = 0;
    for (size_t j = 0; j <= t->d; j++)
        size += fabsl(j < t->d ? mu[j] : 1) *
                (fabsl(moeg_row_entry(t, j).high) + fabsl(multiple * moeg_row_entry(s, j).high));
    return (long double)t->d * DBL_EPSILON * size;
}

/* Where s varies. Interfaces that are the same, or parallel, are so in exact arithmetic on the routers' numbers. Where
 * the covariance is singular to its rank rule, t may be a function of s though its row is no multiple: then they are
 * the same to d epsilon of what t at s = 0 was added from. */
static void place_beside(const moeg_binary_logit *logit, const moeg_row *s, const double *mu, const double *S,
                         moeg_binary_teacher *teacher)
{
    size_t pivot;
    const moeg_row *t = &teacher->row;
    const int parallel = moeg_row_is_multiple(s, t, 0, &pivot), same = moeg_row_is_multiple(s, t, 1, &pivot);
    const moeg_row rest = moeg_row_without(t, s, S);
    const int rises =
        parallel ? (moeg_row_entry(s, pivot).high > 0) == (moeg_row_entry(t, pivot).high > 0) : rest.multiple.high > 0;
    if (same) {
        place_coincident(rises, teacher);
        return;
    }
    const long double at_0 = moeg_pair_value(moeg_row_at(&rest, mu)), slope = rest.multiple.high * logit->deviation;
    const long double deviation = parallel ? 0 : sqrtl(moeg_binary_variance(&rest, S));
    const long double edge = slope == 0 ? INFINITY : -at_0 / slope, h1 = slope / deviation;
    teacher->edge = (double)fabsl(edge);
    teacher->edge_t = (double)(fabsl(edge) - logit->z);
    teacher->edge_far = edge < 0;
    if (deviation > 0 && fabsl(h1) < 1e200L && fabsl(at_0 / deviation) < 1e200L) {
        teacher->h0 = (double)(at_0 / deviation);
        teacher->h1 = (double)h1;
        teacher->h_mean = (double)(moeg_pair_value(moeg_row_at(t, mu)) / deviation);
        return;
    }
    if (at_0 == 0 || (!parallel && fabsl(at_0) <= rounding_at(t, s, mu, rest.multiple.high))) {
        place_coincident(rises, teacher);
        return;
    }
    teacher->lay = MOEG_LAY_STEP;
    teacher->h1 = rises ? 1 : -1;
}

moeg_status moeg_binary_teacher_place(const char *function, const moeg_binary_logit *logit, const moeg_router *router,
                                      const moeg_law *law, moeg_binary_teacher *teacher)
{
    if (teacher->lay == MOEG_LAY_WHOLE)
        return MOEG_OK;
    const double *mu, *S;
    moeg_law_gaussian_parts(law, &mu, &S);
    const long double mean = moeg_pair_value(moeg_row_at(&teacher->row, mu));
    const long double deviation = sqrtl(moeg_binary_variance(&teacher->row, S));
    if (!isfinite((double)mean) || !isfinite((double)deviation))
        return moeg_fail(MOEG_ERANGE,
                         "%s: the difference of the teacher's logits overflows: mean %Lg, standard deviation %Lg",
                         function, mean, deviation);
    if (deviation <= 1e-20L * fabsl(mean)) {
        place_constant(mean, teacher);
    } else if (logit->constant) {
        teacher->h0 = teacher->h_mean = (double)(mean / deviation);
    } else {
        const moeg_row s = moeg_binary_row(logit, router);
        place_beside(logit, &s, mu, S, teacher);
    }
    return MOEG_OK;
}
