#include "base/normal.h"

#include <math.h>

/* 1/sqrt(2), 1/sqrt(2 pi) and 2/sqrt(pi), the first in two parts. */
static const double half_root = 0x1.6a09e667f3bcdp-1, half_root_rest = -0x1.bdd3413b26456p-55;
static const double density_at_0 = 0.39894228040143267794, two_over_root_pi = 1.12837916709551257390;

/* The square is p + q exactly; exp takes p, and q corrects it. */
double moeg_normal_density(double x)
{
    const double p = x * x, q = fma(x, x, -p);
    if (!(p < 1500))
        return isnan(x) ? x : 0;
    return density_at_0 * exp(-p / 2) * (1 - q / 2);
}

/* P(Z >= x + lacking): the rounding of x/sqrt(2), and what x lacks, enter by erfc's derivative, as far in the tail
 * they matter x^2 times as much. */
static double tail(double x, double lacking)
{
    const double y = x * half_root, value = erfc(y);
    if (!(fabs(y) < 27.5) || value == 0)
        return value / 2;
    const double rest = fma(x, half_root, -y) + x * half_root_rest + lacking * half_root;
    return (value - two_over_root_pi * exp(-y * y) * rest) / 2;
}

double moeg_normal_tail(double x)
{
    return tail(x, 0);
}

/* Mean of cosh(a s) exp(-h^2 s^2/2) over s in [0, 1], a <= 8, h <= 1/2: Gauss-Legendre with 12 nodes is exact to
 * rounding there. */
static double mean_profile(double a, double h)
{
    static const double node[6] = {0.12523340851146891547, 0.36783149899818019375, 0.58731795428661744730,
                                   0.76990267419430468704, 0.90411725637047485668, 0.98156063424671925069};
    static const double weight[6] = {0.24914704581340278500, 0.23349253653835480876, 0.20316742672306592175,
                                     0.16007832854334622633, 0.10693932599531843096, 0.04717533638651182719};
    const double b = h * h / 2;
    double sum = 0;
    for (int i = 0; i < 6; i++) {
        const double s = (1 - node[i]) / 2, t = (1 + node[i]) / 2;
        sum += weight[i] / 2 * (cosh(a * s) * exp(-b * s * s) + cosh(a * t) * exp(-b * t * t));
    }
    return sum;
}

double moeg_normal_mass(double mid, double half)
{
    const double m = fabs(mid), product = m * half;
    if (half <= 0.01 && product <= 0.01) { /* The series' next terms are below rounding. */
        const double h2 = half * half, a2 = product * product;
        return 2 * moeg_normal_density(m) * half * (1 + (a2 - h2) / 6 + (a2 * a2 - 6 * a2 * h2 + 3 * h2 * h2) / 120);
    }
    if (half <= 0.5 && product <= 8)
        return 2 * moeg_normal_density(m) * half * mean_profile(product, half);
    if (m < half)
        return (erf((half - m) * half_root) + erf((half + m) * half_root)) / 2;
    const double near = m - half, far = m + half;
    return tail(near, (m - near) - half) - tail(far, (m - far) + half);
}

/* A short interval from its middle; of a long one the end has the error of length, not of the end itself. */
double moeg_normal_interval(double from, double length)
{
    if (!(length > 1))
        return moeg_normal_mass(from + length / 2, length / 2);
    if (isinf(length))
        return isinf(from) ? 1 : moeg_normal_tail(from);
    const double end = from + length, added = end - from, lacking = (from - (end - added)) + (length - added);
    if (from >= 0)
        return tail(from, 0) - tail(end, lacking);
    return end > 0 ? (erf(-from * half_root) + erf(end * half_root)) / 2 : tail(-end, -lacking) - tail(-from, 0);
}

double moeg_normal_between(double lo, double hi)
{
    if (isinf(lo) && isinf(hi))
        return lo < hi;
    return fabs(lo) <= fabs(hi) ? moeg_normal_interval(lo, hi - lo) : moeg_normal_interval(-hi, hi - lo);
}
