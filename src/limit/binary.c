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

long double moeg_binary_variance(const moeg_row *row, const double *S)
{
    long double size;
    const long double form = moeg_pair_value(moeg_row_product(row, row, S, &size));
    return form > (long double)row->d * DBL_EPSILON * size ? form : 0;
}

static moeg_row row_between(const moeg_router *router, size_t plus, size_t minus)
{
    const double *W, *b;
    const size_t d = moeg_router_dim(router);
    moeg_router_affine_parts(router, &W, &b);
    return (moeg_row){
        .d = d,
        .plus = W + plus * d,
        .minus = W + minus * d,
        .plus_constant = b[plus],
        .minus_constant = b[minus],
    };
}

moeg_row moeg_binary_row(const moeg_binary_logit *logit, const moeg_router *router)
{
    return row_between(router, logit->near, 1 - logit->near);
}

moeg_status moeg_binary_pair_init(const char *function, const moeg_router *router, const moeg_law *law, size_t first,
                                  size_t second, moeg_binary_logit *logit)
{
    const double *mu, *S;
    const moeg_row row = row_between(router, first, second);
    moeg_law_gaussian_parts(law, &mu, &S);
    if (isinf(row.plus_constant) || isinf(row.minus_constant)) {
        *logit =
            (moeg_binary_logit){.near = isinf(row.plus_constant) ? 1 : 0, .masked = 1, .constant = 1, .mean = INFINITY};
        return MOEG_OK;
    }
    const long double mean = moeg_pair_value(moeg_row_at(&row, mu));
    const long double deviation = sqrtl(moeg_binary_variance(&row, S));
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

moeg_status moeg_binary_logit_init(const char *function, const moeg_router *router, const moeg_law *law,
                                   moeg_binary_logit *logit)
{
    return moeg_binary_pair_init(function, router, law, 0, 1, logit);
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

long double moeg_binary_normal_mass(long double z, long double h)
{
    if (h >= z) /* Two positive terms. */
        return (erfl((h - z) * sqrt_half) + erfl((h + z) * sqrt_half)) / 2;
    if (z * h >= 1) /* The second is below e^-2 times the first. */
        return (erfcl((z - h) * sqrt_half) - erfcl((z + h) * sqrt_half)) / 2;
    return narrow_mass(z, h);
}

/* The complement is at least 1/2 where h < z. */
long double moeg_binary_probability(const moeg_binary_logit *logit, double w, int beyond)
{
    if (logit->masked)
        return beyond ? 1 : 0;
    if (logit->constant)
        return (logit->mean <= w) == !beyond ? 1 : 0;
    const long double z = logit->z, h = w / logit->deviation;
    if (!beyond)
        return moeg_binary_normal_mass(z, h);
    return h < z ? 1 - moeg_binary_normal_mass(z, h) : (erfcl((h - z) * sqrt_half) + erfcl((h + z) * sqrt_half)) / 2;
}

long double moeg_binary_density(const moeg_binary_logit *logit)
{
    if (logit->constant)
        return 0;
    return expl(-logit->z * logit->z / 2) / (sqrt_two_pi * logit->deviation);
}
