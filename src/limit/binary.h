/* The one case with closed forms: two experts, an affine router, a Gaussian law [theory: one dimension is enough].
 *
 * s = a_1 - a_2 is normal. The two experts are relabelled so that E s >= 0: `near` is the one in whose cell the mean of
 * X lies (expert 0 on a tie), `far` the other. All that follows is in x = s/deviation, normal with mean z and variance
 * 1, positive in the near cell. */
#ifndef MOEG_LIMIT_BINARY_H
#define MOEG_LIMIT_BINARY_H

#include <moegeom/law.h>
#include <moegeom/moe.h>
#include <moegeom/risk.h>
#include <moegeom/router.h>
#include <moegeom/status.h>
#include <moegeom/teacher.h>

#include <math.h>
#include <stddef.h>

/* The law of s. Moments are carried in long double: exp(-z^2/2) far in the tail multiplies the error of z by z^2. */
typedef struct moeg_binary_logit {
    size_t near;           /* Expert whose cell holds the mean. */
    int masked;            /* The other expert has logit -inf: s = inf. */
    int constant;          /* s does not vary, or by less than 1e-20 of its mean. */
    long double mean;      /* E s >= 0, of near minus far; infinite if masked. */
    long double deviation; /* 0 with identical rows, or no variance across the interface. */
    long double z;         /* mean/deviation; 0 if constant. */
} moeg_binary_logit;

/* A sum as high + low, the rounding errors of its terms put aside in low: what is far from the origin, or nearly
 * singular, cancels without loss. */
typedef struct moeg_pair {
    long double high, low;
} moeg_pair;

/* a + high + low, to the rounding of low. */
static inline moeg_pair moeg_pair_add(moeg_pair a, long double high, long double low)
{
    const long double sum = a.high + high, back = sum - a.high;
    return (moeg_pair){sum, a.low + (((a.high - (sum - back)) + (high - back)) + low)};
}

/* (a.high + a.low) x. */
static inline moeg_pair moeg_pair_times(moeg_pair a, long double x)
{
    const long double product = a.high * x;
    return (moeg_pair){product, fmal(a.high, x, -product) + a.low * x};
}

/* c + a.x. */
static inline moeg_pair moeg_pair_affine(size_t d, const double *a, const double *x, double c)
{
    moeg_pair s = {c, 0};
    for (size_t j = 0; j < d; j++) {
        const moeg_pair term = moeg_pair_times((moeg_pair){a[j], 0}, x[j]);
        s = moeg_pair_add(s, term.high, term.low);
    }
    return s;
}

/* Entry i of S v, v = w0 - w1 (S NULL: the identity), and in size the sum of its terms' magnitudes. */
moeg_pair moeg_binary_image(size_t d, size_t i, const double *w0, const double *w1, const double *S, long double *size);

static inline long double moeg_pair_difference(moeg_pair a, moeg_pair b)
{
    return (a.high - b.high) + (a.low - b.low);
}

/* NULL if the closed forms apply, else why not ("the router is not affine"). */
const char *moeg_binary_refusal(const moeg_router *router, const moeg_law *law);

/* The law of s, where moeg_binary_refusal() is NULL. MOEG_ERANGE if a moment overflows double. */
moeg_status moeg_binary_logit_init(const char *function, const moeg_router *router, const moeg_law *law,
                                   moeg_binary_logit *logit);

/* P(|s| <= w), w >= 0 finite, to a few epsilon at any w and z. */
double moeg_binary_mass(const moeg_binary_logit *logit, double w);

/* p_s(0); 0 if masked or constant. Undefined, and not to be asked, where deviation is 0. */
double moeg_binary_density(const moeg_binary_logit *logit);

/* A quadratic in x, expanded at x = 0 and at x = z: each is used on its own side, so that neither loses digits when the
 * mean is many deviations from the interface. */
typedef struct moeg_quadratic {
    double interface[2], mean[2]; /* Value and slope at x = 0; at x = z. */
    double curvature;             /* Coefficient of the square, of both. */
} moeg_quadratic;

/* Conditional means given s of products of delta = f_near - f_far, the residuals r = f - m of either expert, and
 * c = (f_near + f_far)/2 - m. If s is constant they are the unconditional means (slopes and curvatures are 0). */
typedef struct moeg_binary_risk {
    moeg_binary_logit logit;
    moeg_quadratic contrast;            /* |delta|^2 */
    moeg_quadratic centre;              /* delta.c */
    moeg_quadratic near;                /* delta.r_near */
    moeg_quadratic far;                 /* -delta.r_far: the contrast of the far cell's winner */
    moeg_quadratic near_risk, far_risk; /* |r|^2 */
} moeg_binary_risk;

/* NULL if the closed forms apply to the risks, else why not. */
const char *moeg_binary_risk_refusal(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law);

/* The conditional means, where moeg_binary_risk_refusal() is NULL. MOEG_ERANGE, MOEG_ENOMEM. Cost O(d^2 m). */
moeg_status moeg_binary_risk_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                                  const moeg_law *law, moeg_binary_risk *risk);

/* L_0 and G(tau), each with a bound on its error from quadrature and rounding. tau is 0 or in [1e-300, 1e300].
 * MOEG_ERANGE if they overflow, MOEG_ENOMEM. */
moeg_status moeg_binary_hard(const char *function, const moeg_binary_risk *risk, double *value, double *error);
moeg_status moeg_binary_gap(const char *function, const moeg_binary_risk *risk, moeg_mixing mixing, double tau,
                            double *value, double *error);

#endif
