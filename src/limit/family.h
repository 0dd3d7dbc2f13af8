/* Two constant experts under a law with a known margin exponent [theory: known margin exponents].
 *
 * s = a_1 - a_2 = c x_1, so that |s| = |c| h(r) of a latent r = |z| > 0: h = r^p of POWER, r of RAYLEIGH, Delta_0 + r
 * of BOUNDED. The signs of s are equally likely and independent of r. */
#ifndef MOEG_LIMIT_FAMILY_H
#define MOEG_LIMIT_FAMILY_H

#include <moegeom/bound.h>
#include <moegeom/law.h>
#include <moegeom/leading.h>
#include <moegeom/moe.h>
#include <moegeom/risk.h>
#include <moegeom/router.h>
#include <moegeom/status.h>
#include <moegeom/teacher.h>
#include <stddef.h>

#include "limit/two_gates.h"

/* |s| = scale (offset + r^power), r of density normal r^(order - 1) e^(-r^2/2) on r > 0. */
typedef struct moeg_family_logit {
    size_t positive;    /* Expert whose cell is x_1 > 0. */
    long double scale;  /* |c| */
    double power;       /* p, or 1. */
    double offset;      /* Delta_0, or 0. */
    int order;          /* 2 of RAYLEIGH, else 1. */
    long double normal; /* sqrt(2/pi), or 1 of RAYLEIGH. */
} moeg_family_logit;

/* Whether the law is of these families: the closed forms of the others are in binary.h. */
int moeg_family_has(const moeg_law *law);

/* Of such a law: NULL if this router splits it at x_1 = 0 and nowhere else, else why not. */
const char *moeg_family_refusal(const moeg_router *router);

/* The expert whose cell is x_1 > 0, of a router without a refusal. */
size_t moeg_family_positive(const moeg_router *router);

/* The law of s, where moeg_family_refusal() is NULL. */
void moeg_family_logit_init(const moeg_router *router, const moeg_law *law, moeg_family_logit *logit);

/* P(|s| <= w), or, if `beyond`, P(|s| > w); w >= 0 finite; to a few epsilon of a long double. */
long double moeg_family_probability(const moeg_family_logit *logit, double w, int beyond);

/* An exact margin condition, rounded so that it stays true. MOEG_ERANGE if C or alpha overflow. */
moeg_status moeg_family_condition(const char *function, const moeg_family_logit *logit,
                                  moeg_margin_condition *condition);

/* A sum of products, and what rounding may have done to it: 0 where it is exactly 0. */
typedef struct moeg_family_sum {
    double value, slack;
} moeg_family_sum;

static inline int moeg_family_vanishes(const moeg_family_sum *sum)
{
    return sum->value == 0 && sum->slack == 0;
}

/* With d, r and c of either sign of x_1 as in two_gates.h and means over both signs,
 *
 *   output: G = E[-2 d.r] E q + E[|d|^2] E q^2,        loss: G = E[-2 d.c] E q, or of SWITCH -(L_0 + noise) E q.
 *
 * Of gates that sum to 1, delta = f_+ - f_- and J = m_+ - m_- (+: x_1 > 0), these are J.delta - |delta|^2, |delta|^2
 * and J.delta. */
typedef struct moeg_family_risk {
    moeg_family_logit logit;
    moeg_two_gates gates;
    double square;                  /* E |d|^2 */
    moeg_family_sum direct, centre; /* E[-2 d.r], E[-2 d.c] = E[-2 d.r] + E |d|^2 */
    moeg_family_sum loss;           /* The coefficient of loss mixing. */
    double hard[2];                 /* L_0 of output and of loss mixing, with the noise. */
    double residual, middle, noise; /* E |r|^2, E |c|^2; E|Y - m|^2. */
} moeg_family_risk;

/* Of such a law: NULL if the closed forms apply to the risks, else why not. */
const char *moeg_family_risk_refusal(const moeg_moe *moe, const moeg_teacher *teacher);

/* Where moeg_family_risk_refusal() is NULL. MOEG_ERANGE if a product overflows. */
moeg_status moeg_family_risk_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                                  const moeg_law *law, moeg_family_risk *risk);

/* L_0, its error 4 epsilon of it. */
void moeg_family_hard(const moeg_family_risk *risk, moeg_mixing mixing, double *value, double *error);

/* G(tau), or dG/dtau, with a bound on its error from quadrature and rounding, relative down to the smallest normal
 * double. tau is 0 or in [1e-300, 1e300], of the derivative not 0. MOEG_ERANGE if it overflows, MOEG_ENOMEM. */
moeg_status moeg_family_gap(const char *function, const moeg_family_risk *risk, moeg_mixing mixing, double tau,
                            int derivative, double *value, double *error);

/* L_tau of output mixing, with the digits that L_0 + G has not. MOEG_ERANGE if it overflows, MOEG_ENOMEM. */
moeg_status moeg_family_soft(const char *function, const moeg_family_risk *risk, double tau, double *value,
                             double *error);

/* The leading term of G. MOEG_ERANGE if a number in it overflows, or the coefficient underflows. */
moeg_status moeg_family_leading(const char *function, const moeg_family_risk *risk, moeg_mixing mixing,
                                moeg_leading *leading);

#endif
