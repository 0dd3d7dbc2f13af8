#include "limit/binary.h"

#include "base/error.h"
#include "model/model.h"

#include <float.h>
#include <math.h>

static const long double sqrt_half = 0.70710678118654752440084436210485L;
static const long double sqrt_two_pi = 2.50662827463100050241576528481105L;

const char *moeg_binary_refusal(const moeg_router *router, const moeg_law *law)
{
    const double *W, *b, *mean, *covariance;
    if (moeg_router_experts(router) != 2)
        return moeg_router_experts(router) < 2 ? "there is but one expert" : "there are more than two experts";
    if (!moeg_router_affine_parts(router, &W, &b))
        return "the router is not affine";
    if (!moeg_law_gaussian_parts(law, &mean, &covariance))
        return "the law is not Gaussian";
    return NULL;
}

moeg_pair moeg_binary_image(size_t d, size_t i, const double *w0, const double *w1, const double *S, long double *size)
{
    moeg_pair sum = {0, 0};
    *size = 0;
    for (size_t j = S == NULL ? i : 0; j < (S == NULL ? i + 1 : d); j++) {
        const moeg_pair v = moeg_pair_add((moeg_pair){w0[j], 0}, -(long double)w1[j], 0);
        const moeg_pair term = moeg_pair_times(v, S == NULL ? 1 : S[i * d + j]);
        sum = moeg_pair_add(sum, term.high, term.low);
        *size += fabsl(term.high);
    }
    return sum;
}

/* v' S v, or 0 if that is within d epsilon of the magnitudes it was added from: v has then no part along which X
 * varies, to the rank rule of the law. A small rest of large terms, of features that are nearly one, keeps its digits.
 */
static long double quadratic_form(size_t d, const double *w0, const double *w1, const double *S)
{
    moeg_pair sum = {0, 0};
    long double size = 0, row;
    for (size_t i = 0; i < d; i++) {
        const moeg_pair v = moeg_pair_add((moeg_pair){w0[i], 0}, -(long double)w1[i], 0);
        const moeg_pair image = moeg_binary_image(d, i, w0, w1, S, &row), term = moeg_pair_times(image, v.high);
        sum = moeg_pair_add(sum, term.high, term.low + image.high * v.low);
        size += fabsl(v.high) * row;
    }
    const long double form = sum.high + sum.low;
    return form > (long double)d * DBL_EPSILON * size ? form : 0;
}

moeg_status moeg_binary_logit_init(const char *function, const moeg_router *router, const moeg_law *law,
                                   moeg_binary_logit *logit)
{
    const double *W, *b, *mu, *S;
    const size_t d = moeg_router_dim(router);
    moeg_router_affine_parts(router, &W, &b);
    moeg_law_gaussian_parts(law, &mu, &S);
    if (isinf(b[0]) || isinf(b[1])) {
        *logit = (moeg_binary_logit){.near = isinf(b[0]) ? 1 : 0, .masked = 1, .constant = 1, .mean = INFINITY};
        return MOEG_OK;
    }
    const long double mean =
        moeg_pair_difference(moeg_pair_affine(d, W, mu, b[0]), moeg_pair_affine(d, W + d, mu, b[1]));
    const long double deviation = sqrtl(quadratic_form(d, W, W + d, S));
    if (!isfinite((double)mean) || !isfinite((double)deviation))
        return moeg_fail(MOEG_ERANGE, "%s: the difference of the logits overflows: mean %Lg, standard deviation %Lg",
                         function, mean, deviation);
    const int constant = deviation <= 1e-20L * fabsl(mean);
    *logit = (moeg_binary_logit){
        .near = mean < 0 ? 1 : 0,
        .constant = constant,
        .mean = fabsl(mean),
        .deviation = deviation,
        .z = constant ? 0 : fabsl(mean) / deviation,
    };
    return MOEG_OK;
}

/* P(|t - z| <= h) for t ~ N(0, 1), zh < 1, h < 1, as 2 phi(z) h sum_k T_2k/(2k + 1), T_n = He_n(z) h^n/n!: the Taylor
 * series of phi around z. The sum stays of order 1, whatever z and h. */
static long double narrow_mass(long double z, long double h)
{
    long double previous = 0, term = 1, sum = 1;
    for (int n = 0; n < 40; n++) {
        const long double next = (z * h * term - h * h * previous) / (n + 1);
        previous = term;
        term = next;
        if (n % 2 == 1)
            sum += term / (n + 2);
    }
    return 2 * expl(-z * z / 2) / sqrt_two_pi * h * sum;
}

double moeg_binary_mass(const moeg_binary_logit *logit, double w)
{
    if (logit->masked)
        return 0;
    if (logit->constant)
        return logit->mean <= w ? 1 : 0;
    const long double z = logit->z, h = w / logit->deviation;
    if (h >= z) /* Two positive terms. */
        return (double)((erfl((h - z) * sqrt_half) + erfl((h + z) * sqrt_half)) / 2);
    if (z * h >= 1) /* The second is below e^-2 times the first. */
        return (double)((erfcl((z - h) * sqrt_half) - erfcl((z + h) * sqrt_half)) / 2);
    return (double)narrow_mass(z, h);
}

double moeg_binary_density(const moeg_binary_logit *logit)
{
    if (logit->constant)
        return 0;
    return (double)(expl(-logit->z * logit->z / 2) / (sqrt_two_pi * logit->deviation));
}
