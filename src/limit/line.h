/* The problems that one deterministic line solves, whichever closed forms they have: binary.h under a Gaussian law,
 * family.h under one with a known margin exponent. */
#ifndef MOEG_LIMIT_LINE_H
#define MOEG_LIMIT_LINE_H

#include "limit/binary_risk.h"
#include "limit/family.h"

/* The law of s. */
typedef struct moeg_line_logit {
    int is_family;
    union {
        moeg_binary_logit binary;
        moeg_family_logit family;
    } as;
} moeg_line_logit;

/* NULL if the closed forms of the law apply, else why not. */
const char *moeg_line_refusal(const moeg_router *router, const moeg_law *law);

/* The same where a gap is wanted: only the margin of two experts is one of these. */
const char *moeg_line_gap_refusal(const moeg_router *router, moeg_gap gap, const moeg_law *law);

/* Where moeg_line_refusal() is NULL. MOEG_ERANGE if a moment overflows double. */
moeg_status moeg_line_logit_init(const char *function, const moeg_router *router, const moeg_law *law,
                                 moeg_line_logit *logit);

/* P(|s| <= w), or, if `beyond`, P(|s| > w); w >= 0 finite. */
long double moeg_line_probability(const moeg_line_logit *logit, double w, int beyond);

/* The smallest w with P(|s| <= w) >= p, 0 < p <= 1, to rounding; +inf if there is none. */
double moeg_line_quantile(const moeg_line_logit *logit, double p);

/* What the risks need. */
typedef struct moeg_line_risk {
    int is_family;
    union {
        moeg_binary_risk binary;
        moeg_family_risk family;
    } as;
} moeg_line_risk;

const char *moeg_line_risk_refusal(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law);

/* Where moeg_line_risk_refusal() is NULL. MOEG_EDOM where the router masks an expert that the gate wants, and the
 * errors of either kind. */
moeg_status moeg_line_risk_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                                const moeg_law *law, moeg_line_risk *risk);

/* L_0, G(tau), dG/dtau and L_tau, each with a bound on its error. tau is 0 or in [1e-300, 1e300]; of the derivative it
 * is not 0. MOEG_ERANGE if they overflow, MOEG_ENOMEM. */
moeg_status moeg_line_hard(const char *function, const moeg_line_risk *risk, moeg_mixing mixing, double *value,
                           double *error);
moeg_status moeg_line_gap(const char *function, const moeg_line_risk *risk, moeg_mixing mixing, double tau,
                          double *value, double *error);
moeg_status moeg_line_gap_derivative(const char *function, const moeg_line_risk *risk, moeg_mixing mixing, double tau,
                                     double *value, double *error);

/* L_tau, from hard = {L_0, its error}, gap = {G, its error} or where they cancel without them: to soft likewise. */
moeg_status moeg_line_soft(const char *function, const moeg_line_risk *risk, moeg_mixing mixing, double tau,
                           const double *hard, const double *gap, double *soft);

/* Whether G can be other than 0. */
int moeg_line_moves(const moeg_line_risk *risk);

/* An estimate of the one deterministic line. */
moeg_estimate moeg_line_estimate(double value, double error, double level);

#endif
