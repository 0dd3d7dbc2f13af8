#include <moegeom/bound.h>

#include "base/error.h"

#include <float.h>
#include <math.h>

static const double pi = 3.14159265358979323846;

/* A logarithm, and a bound on its rounding error: four epsilon times the numbers that it was added from. */
struct logarithm {
    double value, error;
};

static struct logarithm logarithm(double value, double size)
{
    return (struct logarithm){value, 4 * DBL_EPSILON * size};
}

static struct logarithm add(struct logarithm a, struct logarithm b)
{
    return (struct logarithm){a.value + b.value, a.error + b.error};
}

/* An upper bound on log(Gamma(alpha + 1) tau^alpha), alpha > 0, tau > 0, with no overflow on the way.
 *
 * From 170 on, Stirling's series cut after a positive term, which bounds log Gamma from above; alpha (log(alpha tau) -
 * 1) is formed before it meets the rest, so that a huge alpha and a tiny tau do not make inf - inf. */
static struct logarithm log_gamma_power(double alpha, double tau)
{
    const double log_tau = log(tau), log_alpha = log(alpha);
    if (alpha < 170) {
        const double log_gamma = log(tgamma(alpha + 1));
        return logarithm(log_gamma + alpha * log_tau, 3 + fabs(log_gamma) + alpha * fabs(log_tau));
    }
    const double r = 1 / alpha;
    const double series = r * (1.0 / 12 - r * r * (1.0 / 360 - r * r / 1260));
    const struct logarithm rest = logarithm(0.5 * (log(2 * pi) + log_alpha) + series, log_alpha);
    /* The error of the brackets, then times alpha: the product of the sizes could overflow. */
    const struct logarithm bracket = logarithm(log_alpha + log_tau - 1, log_alpha + fabs(log_tau) + 1);
    return add((struct logarithm){alpha * bracket.value, alpha * bracket.error}, rest);
}

/* exp(a), rounded up, never to 0: a bound stays a bound. The error goes into the exponent, where it may be far above 1
 * (a huge alpha); the last term is for results below DBL_MIN, whose rounding is not relative. */
static double exp_above(struct logarithm a)
{
    return exp(a.value + a.error) * (1 + 8 * DBL_EPSILON) + DBL_TRUE_MIN;
}

/* The bound at one tau > 0; factor = log(4 B (B + M) (K - 1)), B > 0. The terms of C = 0 and of t0 = inf are 0. */
static double bound_at(const moeg_margin_condition *condition, struct logarithm factor, double tau)
{
    double bound = 0;
    if (condition->C > 0) {
        const double log_c = log(condition->C);
        bound += exp_above(add(add(factor, logarithm(log_c, fabs(log_c))), log_gamma_power(condition->alpha, tau)));
    }
    if (isfinite(condition->t0)) {
        /* Past the largest double the quotient is only known to be beyond it. */
        const double quotient = fmin(condition->t0 / tau, DBL_MAX);
        bound += exp_above(add(factor, logarithm(-quotient, quotient)));
    }
    return bound;
}

static moeg_status check(const moeg_margin_condition *condition, size_t K, double B, double M, size_t ntau,
                         const double *tau, const double *bound)
{
    static const char name[] = "bound_bounded";
    moeg_status status = moeg_check_pointer(name, "condition", condition);
    if (status != MOEG_OK)
        return status;
    if (!(condition->C >= 0 && isfinite(condition->C)))
        return moeg_fail(MOEG_EINVAL, "%s: C must be finite and at least 0, got %g", name, condition->C);
    if (!(condition->alpha > 0 && isfinite(condition->alpha)))
        return moeg_fail(MOEG_EINVAL, "%s: alpha must be finite and above 0, got %g", name, condition->alpha);
    if (!(condition->t0 > 0))
        return moeg_fail(MOEG_EINVAL, "%s: t0 must be above 0, got %g", name, condition->t0);
    if (K < 2)
        return moeg_fail(MOEG_EINVAL, "%s: K must be at least 2, got %zu", name, K);
    if (!(B >= 0 && isfinite(B)))
        return moeg_fail(MOEG_EINVAL, "%s: B must be finite and at least 0, got %g", name, B);
    if (!(M >= 0 && isfinite(M)))
        return moeg_fail(MOEG_EINVAL, "%s: M must be finite and at least 0, got %g", name, M);
    if (ntau == 0)
        return moeg_fail(MOEG_EINVAL, "%s: ntau must be at least 1, got 0", name);
    if ((status = moeg_check_pointer(name, "tau", tau)) != MOEG_OK ||
        (status = moeg_check_pointer(name, "bound", bound)) != MOEG_OK)
        return status;
    for (size_t t = 0; t < ntau; t++)
        if (!(tau[t] >= 0 && isfinite(tau[t])))
            return moeg_fail(MOEG_EINVAL, "%s: tau[%zu] must be finite and at least 0, got %g", name, t, tau[t]);
    return MOEG_OK;
}

moeg_status moeg_bound_bounded(const moeg_margin_condition *condition, size_t K, double B, double M, size_t ntau,
                               const double *tau, double *bound)
{
    const moeg_status status = check(condition, K, B, M, ntau, tau, bound);
    if (status != MOEG_OK)
        return status;
    /* log(B + M) without the sum overflowing. B = 0 makes the bound 0 whatever else there is. */
    struct logarithm factor = {0, 0};
    if (B > 0) {
        const double log_sum = log(fmax(B, M)) + log1p(fmin(B, M) / fmax(B, M)), log_pairs = log((double)(K - 1));
        factor =
            logarithm(log(4) + log(B) + log_sum + log_pairs, 2 + log(4) + fabs(log(B)) + fabs(log_sum) + log_pairs);
    }
    for (size_t t = 0; t < ntau; t++)
        bound[t] = B == 0 || tau[t] == 0 ? 0 : bound_at(condition, factor, tau[t]);
    return MOEG_OK;
}
