#include "limit/bound_log.h"

#include "base/error.h"

#include <float.h>
#include <math.h>

static const double pi = 3.14159265358979323846;

/* Four epsilon times the numbers that a logarithm was added from: `size`. */
static moeg_logarithm logarithm(double value, double size)
{
    return (moeg_logarithm){fmax(value, -DBL_MAX), 4 * DBL_EPSILON * size};
}

static int is_zero(moeg_logarithm x)
{
    return x.value == -INFINITY;
}

moeg_logarithm moeg_log_of(double x)
{
    return x == 0 ? (moeg_logarithm){-INFINITY, 0} : logarithm(log(x), fabs(log(x)));
}

moeg_logarithm moeg_log_product(moeg_logarithm x, moeg_logarithm y)
{
    if (is_zero(x) || is_zero(y))
        return moeg_log_of(0);
    moeg_logarithm sum = logarithm(x.value + y.value, 0);
    sum.error = x.error + y.error + DBL_EPSILON * fmin(fabs(sum.value), DBL_MAX);
    return sum;
}

/* log(exp(x) + exp(y)): the larger one plus log(1 + exp(-distance)). */
static double log_sum(double x, double y)
{
    return fmax(x, y) + log1p(exp(-fabs(x - y)));
}

/* A term counts with its error, so that one far below the other adds nothing, however large its logarithm and the error
 * of that. The sum of exponentials is convex: it is nowhere farther off than where both errors point up. */
moeg_logarithm moeg_log_sum(moeg_logarithm x, moeg_logarithm y)
{
    if (!isfinite(fmax(x.value, y.value)) || is_zero(x) || is_zero(y))
        return x.value >= y.value ? x : y;
    const double above = log_sum(x.value + x.error, y.value + y.error);
    moeg_logarithm sum = logarithm(log_sum(x.value, y.value), 1);
    sum.error += 4 * DBL_EPSILON * fmin(fabs(sum.value), DBL_MAX) + fmax(above - sum.value, 0);
    return sum;
}

moeg_logarithm moeg_log_power(moeg_logarithm x, double power)
{
    if (is_zero(x) || power == 1)
        return x;
    moeg_logarithm result = logarithm(power * x.value, fmin(fabs(power * x.value), DBL_MAX));
    result.error += power * x.error;
    return result;
}

/* The error goes into the exponent, where it may be far above 1 (a huge alpha); the last term is for results below
 * DBL_MIN, whose rounding is not relative. */
double moeg_exp_above(moeg_logarithm x)
{
    return is_zero(x) ? 0 : exp(x.value + x.error) * (1 + 8 * DBL_EPSILON) + DBL_TRUE_MIN;
}

/* An upper bound on log(Gamma(alpha + 1) (tau/q)^alpha), alpha > 0, with no overflow on the way.
 *
 * From 170 on, Stirling's series cut after a positive term, which bounds log Gamma from above; alpha (log(alpha tau/q)
 * - 1) is formed before it meets the rest, so that a huge alpha and a tiny tau do not make inf - inf. */
static moeg_logarithm log_gamma_power(double alpha, double q, double tau)
{
    const double log_tau = log(tau), log_q = log(q), log_ratio = log_tau - log_q, log_alpha = log(alpha);
    const double size = fabs(log_tau) + fabs(log_q) + 1;
    if (alpha < 170) {
        const double log_gamma = log(tgamma(alpha + 1));
        return logarithm(log_gamma + alpha * log_ratio, 3 + fabs(log_gamma) + alpha * size);
    }
    const double r = 1 / alpha;
    const double series = r * (1.0 / 12 - r * r * (1.0 / 360 - r * r / 1260));
    const moeg_logarithm rest = logarithm(0.5 * (log(2 * pi) + log_alpha) + series, log_alpha);
    /* The error of the brackets, then times alpha: the product of the sizes could overflow. */
    const moeg_logarithm bracket = logarithm(log_alpha + log_ratio - 1, log_alpha + size);
    return moeg_log_product((moeg_logarithm){fmax(alpha * bracket.value, -DBL_MAX), alpha * bracket.error}, rest);
}

moeg_logarithm moeg_bound_laplace(const moeg_margin_condition *condition, double q, double tau)
{
    moeg_logarithm power = moeg_log_of(condition->C), rest = moeg_log_of(0);
    if (condition->C > 0)
        power = moeg_log_product(power, log_gamma_power(condition->alpha, q, tau));
    if (isfinite(condition->t0)) {
        /* Past the largest double the quotient is only known to be beyond it. */
        const double quotient = fmin(q * (condition->t0 / tau), DBL_MAX);
        rest = logarithm(-quotient, quotient);
    }
    return moeg_log_sum(power, rest);
}

/* SUBSET: a set S that holds i but not S* misses some j of S*. Exchanging i for the first such j makes its weight
 * exp((a_j - a_i)/tau) >= exp(gap/tau) times as large, and makes any set from k sets at the most, one for each of its
 * members in S*. So P(i in S) <= k exp(-gap/tau), and g_i = P(i in S)/k <= exp(-gap/tau) for each of K - k. */
size_t moeg_bound_mass(moeg_gate gate, size_t K)
{
    return gate.kind == MOEG_GATE_SUBSET ? K - gate.k : gate.kind == MOEG_GATE_TOPK_RENORM ? gate.k - 1 : K - 1;
}

moeg_logarithm moeg_bound_size(moeg_gate gate, moeg_mixing mixing, size_t K, const moeg_output_limits *limits)
{
    const size_t mass = moeg_bound_mass(gate, K);
    const moeg_logarithm B = moeg_log_of(limits->B), both = moeg_log_sum(B, moeg_log_of(limits->M));
    moeg_logarithm size = moeg_log_product(moeg_log_of(4), moeg_log_product(B, both));
    if (gate.kind == MOEG_GATE_TOPK_RAW && gate.k < K && mixing == MOEG_MIX_LOSS) {
        const moeg_logarithm dropped = moeg_log_sum(moeg_log_power(both, 2), moeg_log_of(limits->noise));
        size = dropped.value + dropped.error > size.value + size.error ? dropped : size;
    }
    return moeg_log_product(size, moeg_log_of((double)mass));
}

moeg_status moeg_check_limits(const char *function, const moeg_output_limits *limits)
{
    const moeg_status status = moeg_check_pointer(function, "limits", limits);
    if (status != MOEG_OK)
        return status;
    const double values[] = {limits->B, limits->M, limits->noise};
    static const char *const names[] = {"B", "M", "noise"};
    for (size_t i = 0; i < 3; i++)
        if (!(values[i] >= 0 && isfinite(values[i])))
            return moeg_fail(MOEG_EINVAL, "%s: %s must be finite and at least 0, got %g", function, names[i],
                             values[i]);
    return MOEG_OK;
}
