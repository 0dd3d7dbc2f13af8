/* The one case with closed forms: two experts, an affine router, a Gaussian law [theory: one dimension is enough].
 *
 * s = a_1 - a_2 is normal. The two experts are relabelled so that E s >= 0: `near` is the one in whose cell the mean of
 * X lies (expert 0 on a tie), `far` the other. All that follows is in x = s/deviation, normal with mean z and variance
 * 1, positive in the near cell. */
#ifndef MOEG_LIMIT_BINARY_H
#define MOEG_LIMIT_BINARY_H

#include <moegeom/law.h>
#include <moegeom/router.h>
#include <moegeom/status.h>
#include <stddef.h>

#include "limit/pair.h"

/* The law of s. Moments are carried in long double: exp(-z^2/2) far in the tail multiplies the error of z by z^2. */
typedef struct moeg_binary_logit {
    size_t near;           /* Expert whose cell holds the mean. */
    int masked;            /* The other expert has logit -inf: s = inf. */
    int constant;          /* s does not vary, or by less than 1e-20 of its mean. */
    long double mean;      /* E s >= 0, of near minus far; infinite if masked. */
    long double deviation; /* 0 with identical rows, or no variance across the interface. */
    long double z;         /* mean/deviation; 0 if constant. */
} moeg_binary_logit;

/* NULL if the closed forms apply, else why not ("the router is not affine"). */
const char *moeg_binary_refusal(const moeg_router *router, const moeg_law *law);

/* The law of s, where moeg_binary_refusal() is NULL. MOEG_ERANGE if a moment overflows double. */
moeg_status moeg_binary_logit_init(const char *function, const moeg_router *router, const moeg_law *law,
                                   moeg_binary_logit *logit);

/* The row of s, of near minus far; it belongs to the router. */
moeg_row moeg_binary_row(const moeg_binary_logit *logit, const moeg_router *router);

/* row S row', or 0 if that is within d epsilon of the magnitudes it was added from: there is then no part along which X
 * varies, to the rank rule of the law. A small rest of large terms, of features that are nearly one, keeps its digits.
 */
long double moeg_binary_variance(const moeg_row *row, const double *S);

/* P(|t - z| <= h) of a standard normal t, h >= 0 and z >= 0, to a few epsilon. */
long double moeg_binary_normal_mass(long double z, long double h);

/* The law of a_first - a_second of any router that is affine, `near` being 0 for the first and 1 for the second.
 * MOEG_ERANGE as above. */
moeg_status moeg_binary_pair_init(const char *function, const moeg_router *router, const moeg_law *law, size_t first,
                                  size_t second, moeg_binary_logit *logit);

/* P(|s| <= w), or, if `beyond`, P(|s| > w); w >= 0 finite; each to a few epsilon of a long double at any w and z. */
long double moeg_binary_probability(const moeg_binary_logit *logit, double w, int beyond);

/* p_s(0); 0 if masked or constant. Undefined, and not to be asked, where deviation is 0. */
long double moeg_binary_density(const moeg_binary_logit *logit);

#endif
