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

/* The law of s, where moeg_family_refusal() is NULL. */
void moeg_family_logit_init(const moeg_router *router, const moeg_law *law, moeg_family_logit *logit);

/* P(|s| <= w), w >= 0 finite, to rounding. */
double moeg_family_mass(const moeg_family_logit *logit, double w);

/* An exact margin condition, rounded so that it stays true. MOEG_ERANGE if C or alpha overflow. */
moeg_status moeg_family_condition(const char *function, const moeg_family_logit *logit,
                                  moeg_margin_condition *condition);

/* With delta = f_+ - f_-, J = m_+ - m_- (+: x_1 > 0) and q = 1/(1 + e^(|s|/tau)):
 *
 *   output: G = (J.delta - |delta|^2) E q + |delta|^2 E q^2,        loss: G = J.delta E q. */
typedef struct moeg_family_risk {
    moeg_family_logit logit;
    double contrast;             /* |delta|^2 */
    double jump, jump_slack;     /* J.delta, and what rounding may have done to the sum: 0 if J = 0. */
    double excess, excess_slack; /* J.delta - |delta|^2, as delta.(J - delta): both 0 if J = delta. */
    double hard;                 /* L_0 */
} moeg_family_risk;

/* Of such a law: NULL if the closed forms apply to the risks, else why not. */
const char *moeg_family_risk_refusal(const moeg_moe *moe, const moeg_teacher *teacher);

/* Where moeg_family_risk_refusal() is NULL. MOEG_ERANGE if a product overflows. */
moeg_status moeg_family_risk_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                                  const moeg_law *law, moeg_family_risk *risk);

/* L_0, its error 4 epsilon of it. */
void moeg_family_hard(const moeg_family_risk *risk, double *value, double *error);

/* G(tau), with a bound on its error from quadrature and rounding, relative down to the smallest normal double.
 * MOEG_ERANGE if it overflows, MOEG_ENOMEM. */
moeg_status moeg_family_gap(const char *function, const moeg_family_risk *risk, moeg_mixing mixing, double tau,
                            double *value, double *error);

/* The leading term of G. MOEG_ERANGE if a number in it overflows, or the coefficient underflows. */
moeg_status moeg_family_leading(const char *function, const moeg_family_risk *risk, moeg_mixing mixing,
                                moeg_leading *leading);

#endif
