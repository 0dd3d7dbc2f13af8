#include "limit/line.h"

#include "base/error.h"
#include "model/model.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

const char *moeg_line_refusal(const moeg_router *router, const moeg_law *law)
{
    return moeg_family_has(law) ? moeg_family_refusal(router) : moeg_binary_refusal(router, law);
}

const char *moeg_line_gap_refusal(const moeg_router *router, moeg_gap gap, const moeg_law *law)
{
    return gap.lower == 2 || moeg_router_experts(router) != 2 ? moeg_line_refusal(router, law)
                                                              : "the gap is not the margin";
}

moeg_status moeg_line_logit_init(const char *function, const moeg_router *router, const moeg_law *law,
                                 moeg_line_logit *logit)
{
    logit->is_family = moeg_family_has(law);
    if (!logit->is_family)
        return moeg_binary_logit_init(function, router, law, &logit->as.binary);
    moeg_family_logit_init(router, law, &logit->as.family);
    return MOEG_OK;
}

long double moeg_line_probability(const moeg_line_logit *logit, double w, int beyond)
{
    return logit->is_family ? moeg_family_probability(&logit->as.family, w, beyond)
                            : moeg_binary_probability(&logit->as.binary, w, beyond);
}

/* The double that has these bits: from 0 up, they are in the order of the numbers. */
static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Whether P(|s| <= w) >= p, from the smaller of the probability and its complement, neither of which then cancels: 1 -
 * p is exact for p >= 1/2. */
static int reaches(const moeg_line_logit *logit, double w, double p)
{
    return p <= 0.5 ? moeg_line_probability(logit, w, 0) >= p : moeg_line_probability(logit, w, 1) <= 1 - p;
}

/* The smallest double at which the mass is p, by bisection among all of them. No s that varies is bounded, though far
 * out nothing is left of its tail in a long double. */
double moeg_line_quantile(const moeg_line_logit *logit, double p)
{
    uint64_t below = 0, above;
    const double most = INFINITY;
    memcpy(&above, &most, sizeof above);
    if (p == 1 && (logit->is_family || !logit->as.binary.constant))
        return INFINITY;
    if (reaches(logit, 0, p))
        return 0;
    while (above - below > 1) {
        const uint64_t middle = below + (above - below) / 2;
        if (reaches(logit, from_bits(middle), p))
            above = middle;
        else
            below = middle;
    }
    return from_bits(above);
}

const char *moeg_line_risk_refusal(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law)
{
    return moeg_family_has(law) ? moeg_family_risk_refusal(moe, teacher) : moeg_binary_risk_refusal(moe, teacher, law);
}

moeg_status moeg_line_risk_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                                const moeg_law *law, moeg_line_risk *risk)
{
    const size_t live = moeg_router_live(moeg_moe_router(moe)), k = moeg_moe_gate(moe).k;
    if (live < k)
        return moeg_fail(MOEG_EDOM, "%s: the router masks all but %zu experts, fewer than gate.k = %zu", function, live,
                         k);
    risk->is_family = moeg_family_has(law);
    return risk->is_family ? moeg_family_risk_init(function, moe, teacher, law, &risk->as.family)
                           : moeg_binary_risk_init(function, moe, teacher, law, &risk->as.binary);
}

moeg_status moeg_line_hard(const char *function, const moeg_line_risk *risk, moeg_mixing mixing, double *value,
                           double *error)
{
    if (!risk->is_family)
        return moeg_binary_hard(function, &risk->as.binary, mixing, value, error);
    moeg_family_hard(&risk->as.family, mixing, value, error);
    return MOEG_OK;
}

static moeg_status moved(const char *function, const moeg_line_risk *risk, moeg_mixing mixing, double tau,
                         int derivative, double *value, double *error)
{
    return risk->is_family ? moeg_family_gap(function, &risk->as.family, mixing, tau, derivative, value, error)
                           : moeg_binary_gap(function, &risk->as.binary, mixing, tau, derivative, value, error);
}

moeg_status moeg_line_gap(const char *function, const moeg_line_risk *risk, moeg_mixing mixing, double tau,
                          double *value, double *error)
{
    return moved(function, risk, mixing, tau, 0, value, error);
}

moeg_status moeg_line_gap_derivative(const char *function, const moeg_line_risk *risk, moeg_mixing mixing, double tau,
                                     double *value, double *error)
{
    return moved(function, risk, mixing, tau, 1, value, error);
}

/* The sum, but where output mixing leaves less than half of L_0. (A loss that is mixed is at least that: the winner's
 * gate is.) */
moeg_status moeg_line_soft(const char *function, const moeg_line_risk *risk, moeg_mixing mixing, double tau,
                           const double *hard, const double *gap, double *soft)
{
    if (mixing == MOEG_MIX_OUTPUT && hard[0] + gap[0] < hard[0] / 2)
        return risk->is_family ? moeg_family_soft(function, &risk->as.family, tau, &soft[0], &soft[1])
                               : moeg_binary_soft(function, &risk->as.binary, tau, &soft[0], &soft[1]);
    if (!isfinite(hard[0] + gap[0]))
        return moeg_fail(MOEG_ERANGE, "%s: the soft risk overflows at tau = %g", function, tau);
    soft[0] = fmax(hard[0] + gap[0], 0);
    soft[1] = hard[1] + gap[1];
    return MOEG_OK;
}

int moeg_line_moves(const moeg_line_risk *risk)
{
    return risk->is_family ? moeg_two_gates_move(risk->as.family.gates)
                           : moeg_two_gates_move(risk->as.binary.gates) && !risk->as.binary.logit.masked;
}

moeg_estimate moeg_line_estimate(double value, double error, double level)
{
    return (moeg_estimate){
        .value = value,
        .lo = value - error,
        .hi = value + error,
        .level = level,
        .quad_error = error,
        .n = 1,
        .contributing = 1,
        .method = MOEG_METHOD_LINE,
    };
}
