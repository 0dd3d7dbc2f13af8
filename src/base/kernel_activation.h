/* Activations and their slopes at one lane, without branches, for the loops of kernel_body.h.
 *
 * An infinite x is a sum that overflowed, of which tanh or ReLU would make a number that looks right: it becomes NaN,
 * and NaN stays NaN. */
#ifndef MOEG_BASE_KERNEL_ACTIVATION_H
#define MOEG_BASE_KERNEL_ACTIVATION_H

#include "base/kernel_math.h"

#include <math.h>

static inline double finite_lane(double x)
{
    return FMA(0.0, x, x);
}

static inline double relu_lane(double x)
{
    const double v = finite_lane(x);
    return v <= 0 ? 0 : v;
}

static inline double relu_slope_lane(double x)
{
    const double v = finite_lane(x);
    return v <= 0 ? 0 : v > 0 ? 1 : v;
}

/* The logistic function of x and of -x, neither as 1 less the other: with e = exp(-|x|) one is 1/(1 + e), the other
 * e/(1 + e). */
static inline void logistic_lane(double x, double *right, double *left)
{
    const double e = exp_lane(-fabs(x));
    const double greater = 1 / (1 + e), lesser = e * greater;
    *right = x < 0 ? lesser : greater;
    *left = x < 0 ? greater : lesser;
}

static inline double silu_lane(double x)
{
    const double v = finite_lane(x);
    double right, left;
    logistic_lane(v, &right, &left);
    return v * right;
}

/* s (1 + x (1 - s)), s the logistic function. */
static inline double silu_slope_lane(double x)
{
    const double v = finite_lane(x);
    double right, left;
    logistic_lane(v, &right, &left);
    return right * FMA(v, left, 1);
}

/* With E = exp(-2 |x|) - 1, -E/(2 + E). */
static inline double tanh_lane(double x)
{
    const double v = finite_lane(x);
    const double E = expm1_lane(-2 * fabs(v));
    return copysign(E / (2 + E), v);
}

/* sech^2 = 4 e/(1 + e)^2 with e = exp(-2 |x|): 1 - tanh^2 would be 0 from |x| = 19 on. */
static inline double tanh_slope_lane(double x)
{
    const double v = finite_lane(x);
    const double e = exp_lane(-2 * fabs(v));
    const double q = 1 / (1 + e);
    return 4 * (e * q) * q;
}

/* exp(-t^2/2), 0 <= t <= 40, from t^2 = high + low exactly: rounded alone it would cost up to 350 ulp. */
static inline double gauss_lane(double t)
{
#if defined(__FMA__)
    const double high = t * t, low = FMA(t, t, -high);
#else
    /* The leading 26 bits of t have an exact square. */
    const double head = of_bits(bits_of(t) & 0xfffffffff8000000), square = head * head;
    const double rest = (t - head) * (t + head), high = square + rest, low = rest - (high - square);
#endif
    double scale;
    const double p = exp_parts(-0.5 * high, -0.5 * low, &scale);
    return (p + 1) * scale;
}

/* The normal tail P(Z > t) = exp(-t^2/2) R(t), 0 <= t <= 40: R(t) = P(u)/(t + 5/4), u = (t - 5)/(t + 5). The 5/4 makes
 * P nearly level at t = 0, so that the rounding of u hardly counts there. */
static inline double tail_ratio_lane(double t)
{
    const double u = (t - 5) / (t + 5);
    double p = 0x1.886712184f473p-31;
    p = FMA(p, u, 0x1.0ba7132d813e3p-28);
    p = FMA(p, u, 0x1.bd24178b74132p-31);
    p = FMA(p, u, -0x1.076388eb947cbp-25);
    p = FMA(p, u, -0x1.a8771209e041bp-26);
    p = FMA(p, u, 0x1.963cf61fba0c6p-23);
    p = FMA(p, u, 0x1.3537d289d6f25p-23);
    p = FMA(p, u, -0x1.4f526fefd0dd7p-20);
    p = FMA(p, u, -0x1.fe835ff16916cp-23);
    p = FMA(p, u, 0x1.2563b2a6f3e1bp-17);
    p = FMA(p, u, -0x1.14553c5cfdcb4p-17);
    p = FMA(p, u, -0x1.bfae49c14ba21p-15);
    p = FMA(p, u, 0x1.5eb37d7b7f152p-13);
    p = FMA(p, u, 0x1.5af5dc5e690cep-15);
    p = FMA(p, u, -0x1.a8fbdc7558c30p-10);
    p = FMA(p, u, 0x1.84736ad8311e8p-8);
    p = FMA(p, u, -0x1.a77265b3dc419p-7);
    p = FMA(p, u, 0x1.321c3a9d89347p-6);
    p = FMA(p, u, -0x1.d9140d6f75148p-7);
    p = FMA(p, u, -0x1.4ed7f8c39dca5p-7);
    p = FMA(p, u, 0x1.ebe8e26b6714cp-5);
    p = FMA(p, u, -0x1.04f3080b418b3p-3);
    p = FMA(p, u, 0x1.ec4896da77b19p-2);
    return p / (t + 1.25);
}

/* x Phi(x), the lower tail formed as a tail: 1 + erf would leave nothing of it at x = -9. Past 40 it is 0. */
static inline double gelu_lane(double x)
{
    const double v = finite_lane(x);
    const double t = fabs(v) < 40 ? fabs(v) : 40;
    const double tail = gauss_lane(t) * tail_ratio_lane(t);
    return v * (v < 0 ? tail : 1 - tail);
}

/* Phi(x) + x phi(x): at x = -t this is exp(-t^2/2) (R(t) - t/sqrt(2 pi)), at x = t it is 1 less that. */
static inline double gelu_slope_lane(double x)
{
    const double v = finite_lane(x);
    const double t = fabs(v) < 40 ? fabs(v) : 40;
    const double slope = gauss_lane(t) * FMA(t, -0x1.9884533d43651p-2, tail_ratio_lane(t));
    return v < 0 ? slope : v >= 0 ? 1 - slope : v;
}

#endif
