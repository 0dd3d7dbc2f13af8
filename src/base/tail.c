#include "base/tail.h"

#include "base/quad.h"

#include <float.h>
#include <gsl/gsl_cdf.h>
#include <math.h>

static const double LOG_2PI = 1.8378770664093454836;

/* log Gamma(n + 1) - [(n + 1/2) log n - n + log(2 pi)/2], n > 0: Stirling's error. Below 16 a table of the whole
 * numbers; between them the difference, which there loses no more than 1e-14. */
static double stirling_error(double n)
{
    static const double table[] = {
        0.08106146679532725822,  0.041340695955409294094, 0.027677925684998339149, 0.020790672103765093112,
        0.016644691189821192163, 0.013876128823070747999, 0.011896709945891770095, 0.010411265261972096497,
        0.009255462182712732918, 0.008330563433362871256, 0.007573675487951840795, 0.006942840107209529866,
        0.006408994188004207068, 0.005951370112758847736, 0.005554733551962801371,
    };
    if (n < 16 && n != floor(n))
        return log(tgamma(n + 1)) - ((n + 0.5) * log(n) - n + 0.5 * LOG_2PI);
    if (n < 16)
        return table[(int)n - 1];
    const double q = 1 / (n * n);
    return (1.0 / 12 - q * (1.0 / 360 - q * (1.0 / 1260 - q * (1.0 / 1680 - q / 1188)))) / n;
}

/* The logarithm of a density's ratio at distance v >= 0 beyond u to the density at u: 0 at v = 0. */
typedef double (*log_ratio)(double v, const double *p);

/* Integral over v >= 0 of exp(g(v)), g log-concave with slope -slope0 (negative slopes count as 0) and second
 * derivative -curvature at 0: panels from the scale of the first decay, doubling until they add nothing. */
static double ratio_integral(log_ratio g, const double *p, double slope0, double curvature)
{
    double sum = 0, begin = 0, width = 1 / (fmax(slope0, 0) + sqrt(curvature));
    for (int panel = 0; panel < 1100; panel++) {
        const double half = 0.5 * width, middle = begin + half;
        double part = moeg_quad_rule[0].kronrod * exp(g(middle, p));
        for (int i = 1; i < MOEG_QUAD_NODES; i++) {
            const double shift = half * moeg_quad_rule[i].node;
            part += moeg_quad_rule[i].kronrod * (exp(g(middle - shift, p)) + exp(g(middle + shift, p)));
        }
        sum += half * part;
        if (half * part <= 0.01 * DBL_EPSILON * sum)
            break;
        begin += width;
        width *= 2;
    }
    return sum;
}

/* The logarithm of a tail at u, and its derivative there. */
typedef double (*log_tail)(double u, const double *p, double *derivative);

/* Newton for log tail(u) = target. The tails here are log-concave in u: after the first step the iterates lie on the
 * side from which they approach the root monotonically, hence no bracket. The last step is the one whose square times
 * the curvature, as two derivatives tell it, leaves no more than rounding. */
static double solve(log_tail tail, const double *p, double target, double u)
{
    double step = 0, before = 0;
    for (int i = 0; i < 200; i++) {
        double derivative;
        const double value = tail(u, p, &derivative), last = step;
        step = (target - value) / derivative;
        u += step;
        const double left = last != 0 ? fabs((derivative - before) / last / derivative) * step * step : INFINITY;
        if (fmin(left, fabs(step)) <= 1e-13 * fmax(1, fabs(u)))
            break;
        before = derivative;
    }
    return u;
}

/* p = {a, b - 1, r}: t = x exp(-v) turns t^(a-1) (1 - t)^(b-1) dt into exp(-a v) (1 - x exp(-v))^(b-1) dv. */
static double beta_ratio(double v, const double *p)
{
    return -p[0] * v + p[1] * log1p(-p[2] * expm1(-v));
}

/* log P(Beta(a, b) <= x), p = {a, b}, in terms of d = logit(x) - log(a/b): offsets from the mean, so that the density's
 * exponent a d - (a + b) log(b/(a + b) + a/(a + b) exp(d)) cancels no more than sqrt(a) epsilon. */
static double beta_log_tail(double d, const double *p, double *derivative)
{
    const double a = p[0], b = p[1], n = a + b, r = a / b * exp(d);
    const double exponent = a <= b ? a * d - n * log1p(a / n * expm1(d)) : -b * d - n * log1p(b / n * expm1(-d));
    const double constant = stirling_error(n) - stirling_error(a) - stirling_error(b);
    const double log_density = 0.5 * (log(a / n * b) - LOG_2PI) + constant + exponent;
    const double ratio[] = {a, b - 1, r};
    const double integral = ratio_integral(beta_ratio, ratio, a - (b - 1) * r, (b - 1) * r * (1 + r));
    *derivative = 1 / ((1 + r) * integral);
    return log_density + log((1 + r) * integral);
}

/* By the first three cumulants of logit(x) - log(a/b), where they tell them (Cornish and Fisher). */
static double beta_start(double a, double b, double z)
{
    const double spread = sqrt(1 / a + 1 / b);
    if (fmin(a, b) < 4 || !(fabs(z) < 9))
        return z * spread;
    const double third = 1 / (b * b) - 1 / (a * a);
    return 0.5 / b - 0.5 / a + z * spread + (z * z - 1) / 6 * third / (spread * spread);
}

void moeg_tail_beta_quantile(double a, double b, double probability, double *x, double *y)
{
    const double p[] = {a, b};
    const double start = beta_start(a, b, -gsl_cdf_ugaussian_Qinv(probability));
    const double r = a / b * exp(solve(beta_log_tail, p, log(probability), start));
    *x = r / (1 + r);
    *y = 1 / (1 + r);
}

/* p = {n, g, sign}: t = g exp(sign v), sign -1 for the lower tail. */
static double gamma_ratio(double v, const double *p)
{
    return p[2] * p[0] * v - p[1] * expm1(p[2] * v);
}

/* log of either tail of Gamma(n) beyond n exp(d), p = {n, sign}. */
static double gamma_log_tail(double d, const double *p, double *derivative)
{
    const double n = p[0], sign = p[1], g = n * exp(d);
    const double log_density = 0.5 * (log(n) - LOG_2PI) - stirling_error(n) - n * (expm1(d) - d);
    const double ratio[] = {n, g, sign};
    const double integral = ratio_integral(gamma_ratio, ratio, sign * (g - n), g);
    *derivative = -sign / integral;
    return log_density + log(integral);
}

double moeg_tail_gamma_quantile(double n, double probability, int upper)
{
    const double p[] = {n, upper ? 1 : -1};
    const double start = p[1] * gsl_cdf_ugaussian_Qinv(probability) / sqrt(n);
    return n * exp(solve(gamma_log_tail, p, log(probability), start));
}

/* p = {(dof + 1)/2, t, dof + t^2}. */
static double student_ratio(double v, const double *p)
{
    return -p[0] * log1p((2 * p[1] + v) * v / p[2]);
}

/* log of the density at 0. The constant is Gamma(h + 1/2)/(Gamma(h) sqrt(h)), h = dof/2, by its expansion in 1/h. */
static double student_log_peak(double dof)
{
    const double h = dof / 2, q = 1 / (h * h);
    const double constant = (-1.0 / 8 + q * (1.0 / 192 + q * (-1.0 / 640 + q * (17.0 / 14336 - q * 31 / 18432)))) / h;
    return -0.5 * LOG_2PI + constant;
}

/* log P(T >= t), p = {dof}. */
static double student_log_tail(double t, const double *p, double *derivative)
{
    const double dof = p[0], h = dof / 2, scale = dof + t * t;
    const double log_density = student_log_peak(dof) - (h + 0.5) * log1p(t * t / dof);
    const double ratio[] = {h + 0.5, t, scale};
    const double integral = ratio_integral(student_ratio, ratio, (dof + 1) * t / scale, (dof + 1) / scale);
    *derivative = -1 / integral;
    return log_density + log(integral);
}

double moeg_tail_student_quantile(double dof, double probability)
{
    return solve(student_log_tail, &dof, log(probability), gsl_cdf_ugaussian_Qinv(probability));
}

/* From the tail where level > 1/2, else from the centre, as 1 - level has no digits of a small level left:
 * P(|T| <= t) = 2 f(0) t times the mean of (1 + s^2/dof)^-((dof + 1)/2) over [0, t], t < 0.7, by one Kronrod panel. The
 * probability is concave in t and the first t, of a density that stays f(0), too small: Newton's steps rise to it. */
static double find_reach(double dof, double level)
{
    if (level > 0.5)
        return moeg_tail_student_quantile(dof, 0.5 * (1 - level));
    const double power = -0.5 * (dof + 1), peak = 2 * exp(student_log_peak(dof)), start = level / peak;
    double t = start;
    for (int i = 0; i < 50; i++) {
        const double half = 0.5 * t;
        double mean = moeg_quad_rule[0].kronrod * exp(power * log1p(half * half / dof));
        for (int k = 1; k < MOEG_QUAD_NODES; k++) {
            const double low = half * (1 - moeg_quad_rule[k].node), high = half * (1 + moeg_quad_rule[k].node);
            mean += moeg_quad_rule[k].kronrod *
                    (exp(power * log1p(low * low / dof)) + exp(power * log1p(high * high / dof)));
        }
        const double step = (start - 0.5 * mean * t) / exp(power * log1p(t * t / dof));
        t += step;
        if (step <= DBL_EPSILON * t)
            break;
    }
    return t;
}

/* The last one is kept: estimates come in grids. */
double moeg_tail_student_reach(double dof, double level)
{
    static _Thread_local double last[3];
    if (dof != last[0] || level != last[1]) {
        last[2] = find_reach(dof, level);
        last[0] = dof;
        last[1] = level;
    }
    return last[2];
}
