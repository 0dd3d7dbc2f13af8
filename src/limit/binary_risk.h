/* The risks of two affine experts behind an affine router under a Gaussian law [theory: one dimension is enough]: for
 * all four gates, and a teacher of one or two affine pieces. In terms of binary.h's x = s/deviation. */
#ifndef MOEG_LIMIT_BINARY_RISK_H
#define MOEG_LIMIT_BINARY_RISK_H

#include <moegeom/leading.h>
#include <moegeom/moe.h>
#include <moegeom/risk.h>
#include <moegeom/teacher.h>

#include "limit/binary.h"
#include "limit/two_gates.h"

/* How the two pieces of m lie: m is the first where t > 0, the second elsewhere, t the difference of the teacher's
 * logits. */
typedef enum moeg_binary_lay {
    MOEG_LAY_WHOLE,      /* One piece is all that X meets. */
    MOEG_LAY_COINCIDENT, /* t = 0 where s = 0: one piece in each cell. */
    MOEG_LAY_STEP,       /* t is a function of s: the pieces change at one x other than 0. */
    MOEG_LAY_OBLIQUE     /* Given x, t/deviation(t | x) is normal with mean h(x) and variance 1. */
} moeg_binary_lay;

typedef struct moeg_binary_teacher {
    const moeg_expert *piece[2];
    moeg_row row; /* Of t, the first piece less the second. */
    moeg_binary_lay lay;
    size_t near, far;      /* WHOLE, COINCIDENT: the piece in either cell. */
    double h0, h_mean, h1; /* OBLIQUE: h at x = 0 and at x = z, and its slope. STEP: h1 is its sign. */
    double edge, edge_t;   /* |x| where h = 0, infinite if nowhere; the same less z. */
    int edge_far;          /* That x is negative. */
} moeg_binary_teacher;

/* NULL if the teacher has one or two affine pieces, else why not; then pieces and row, which belong to it. */
const char *moeg_binary_teacher_read(const moeg_teacher *teacher, moeg_binary_teacher *pieces);

/* The rest. MOEG_ERANGE if t overflows. Cost O(d^2). */
moeg_status moeg_binary_teacher_place(const char *function, const moeg_binary_logit *logit, const moeg_router *router,
                                      const moeg_law *law, moeg_binary_teacher *pieces);

/* A quadratic in x, expanded at x = 0 and at x = z: each is used on its own side, so that neither loses digits when the
 * mean is many deviations from the interface. */
typedef struct moeg_quadratic {
    double interface[2], mean[2]; /* Value and slope at x = 0; at x = z. */
    double curvature;             /* Coefficient of the square, of both. */
} moeg_quadratic;

/* What the first piece has more along t than the second: with y the standardised part of t that x does not know, a
 * product is Q_0 + Q_1 y + Q_2 y^2, Q_1 linear in x, Q_2 constant; the differences of the pieces' Q_1 and Q_2. */
typedef struct moeg_binary_along {
    double interface, mean, slope; /* Q_1 at x = 0, at x = z, and its slope. */
    double square;                 /* Q_2 */
} moeg_binary_along;

/* The conditional mean E[a.b | x] of a product of affine forms in a cell, with either piece of m (of one: in the first
 * place). */
typedef struct moeg_binary_side {
    moeg_quadratic piece[2];
    moeg_binary_along along;
} moeg_binary_side;

/* A product in both cells. near(x) + far(-x) = fold[0] + fold[1] x + fold[2] x^2 of either piece, and of Q_1 with
 * fold_along[0] + fold_along[1] x, of Q_2 fold_along[2]: what cancels at the interface is 0 there. */
typedef struct moeg_binary_product {
    moeg_binary_side near, far;
    double fold[2][3], fold_along[3];
} moeg_binary_product;

/* With d, r and c as in two_gates.h, of the winner of either cell. */
typedef struct moeg_binary_risk {
    moeg_binary_logit logit;
    moeg_binary_teacher teacher;
    moeg_two_gates gates;
    double noise;                         /* E|Y - m|^2 */
    int underflows;                       /* Products that are not 0 have lost digits: all are below DBL_MIN/EPS. */
    moeg_binary_product contrast;         /* |d|^2; the same of either piece */
    moeg_binary_product direct, centre;   /* d.r, d.c */
    moeg_binary_product residual, middle; /* |r|^2, |c|^2 */
} moeg_binary_risk;

/* NULL if the closed forms apply to the risks, else why not. */
const char *moeg_binary_risk_refusal(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law);

/* The conditional means, where moeg_binary_risk_refusal() is NULL. MOEG_ERANGE, MOEG_ENOMEM. Cost O(d^2 m). */
moeg_status moeg_binary_risk_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                                  const moeg_law *law, moeg_binary_risk *risk);

/* A mean, and the size of the terms it was added from. */
typedef struct moeg_sized {
    double value, size;
} moeg_sized;

/* Where a mean is asked for: x >= 0 from the interface in either cell, near x and far -x. */
typedef struct moeg_binary_place {
    double x, t, w;       /* t = x - z, w = s/tau. */
    double h_near, h_far; /* OBLIQUE and STEP: h at x and at -x; +-infinity where t has one sign. */
} moeg_binary_place;

/* The means in the near cell, and in the far one. |d|^2 needs no piece: */
moeg_sized moeg_binary_contrast_near(const moeg_binary_risk *risk, const moeg_binary_place *at);
moeg_sized moeg_binary_contrast_far(const moeg_binary_risk *risk, const moeg_binary_place *at);
moeg_sized moeg_binary_near(const moeg_binary_risk *risk, const moeg_binary_product *q, const moeg_binary_place *at);
moeg_sized moeg_binary_far(const moeg_binary_risk *risk, const moeg_binary_product *q, const moeg_binary_place *at);

/* The derivative of what follows at x = 0, from the right. `at` is the interface. */
double moeg_binary_folded_slope(const moeg_binary_risk *risk, const moeg_binary_product *q,
                                const moeg_binary_place *at);

/* near(x) + far(-x) e^(-2 x z), the ratio of the densities: nothing is lost where the two cancel at the interface. */
moeg_sized moeg_binary_folded(const moeg_binary_risk *risk, const moeg_binary_product *q, const moeg_binary_place *at);

/* L_0, G(tau), dG/dtau and L_tau, each with a bound on its error from quadrature and rounding. tau is 0 or in
 * [1e-300, 1e300], of the derivative not 0. moeg_binary_soft() is for output mixing, and has the digits of L_tau where
 * L_0 + G has not. MOEG_ERANGE if they overflow, MOEG_ENOMEM. */
moeg_status moeg_binary_hard(const char *function, const moeg_binary_risk *risk, moeg_mixing mixing, double *value,
                             double *error);
moeg_status moeg_binary_gap(const char *function, const moeg_binary_risk *risk, moeg_mixing mixing, double tau,
                            int derivative, double *value, double *error);
moeg_status moeg_binary_soft(const char *function, const moeg_binary_risk *risk, double tau, double *value,
                             double *error);

/* The leading term of G. MOEG_EDOM if s is constant, MOEG_ERANGE if the coefficient overflows. */
moeg_status moeg_binary_leading(const char *function, const moeg_binary_risk *risk, moeg_mixing mixing,
                                moeg_leading *leading);

#endif
