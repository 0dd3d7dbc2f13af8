/* exp, log, sin and cos of one lane, without branches, for the loops of kernel_body.h.
 *
 * Contraction is off, so a lane gets the same operations however its loop is cut; FMA() is a fused multiply-add where
 * the instruction set has it and two roundings elsewhere. Polynomials are Chebyshev fits (mpmath.chebyfit, 300 bits)
 * with a relative error of the result below 2^-56. Assumes rounding to nearest. */
#ifndef MOEG_BASE_KERNEL_MATH_H
#define MOEG_BASE_KERNEL_MATH_H

#include <stdint.h>
#include <string.h>

#if defined(__FMA__)
#define FMA(a, b, c) __builtin_fma(a, b, c)
#else
#define FMA(a, b, c) ((a) * (b) + (c))
#endif

static inline uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* exp(x) = 2^k exp(r), k = rint(x / ln 2), |r| <= ln(2)/2; exp(r) = 1 + r + r^2 P(r). The exponent field of 2^k is
 * k + 1023: at the clamp k = -1023 makes it zero, so that far tails and masks need no case of their own. Returns
 * exp(r) - 1. What x lacks of the argument, if anything, is added to r: adding -0 is no operation. */
static inline double exp_parts(double x, double lacking, double *scale)
{
    const double shift = 0x1.8p52; /* Adding it rounds to an integer, which then stands in the low bits. */
    const double clamped = x < -709 ? -709 : x;
    const double shifted = FMA(clamped, 0x1.71547652b82fep+0, shift);
    const double k = shifted - shift;
    /* ln 2 in two pieces, the first with 20 zero bits at its end: k times it is exact. */
    const double r = FMA(k, -0x1.a39ef35793c76p-33, FMA(k, -0x1.62e42fee00000p-1, clamped)) + lacking;
    double p = 0x1.af390ba7e6f47p-26;
    p = FMA(p, r, 0x1.2891d4ffbb0f9p-22);
    p = FMA(p, r, 0x1.71de0d85293b8p-19);
    p = FMA(p, r, 0x1.a019b8ca26fcfp-16);
    p = FMA(p, r, 0x1.a01a01a7cebcdp-13);
    p = FMA(p, r, 0x1.6c16c1789d1d7p-10);
    p = FMA(p, r, 0x1.11111111109a6p-7);
    p = FMA(p, r, 0x1.5555555553d37p-5);
    p = FMA(p, r, 0x1.5555555555556p-3);
    p = FMA(p, r, 0x1.0000000000001p-1);
    *scale = of_bits((bits_of(shifted) + 1023) << 52);
    return FMA(p, r * r, r);
}

static inline double exp_lane(double x)
{
    double scale;
    const double p = exp_parts(x, -0.0, &scale);
    return (p + 1) * scale;
}

/* exp(x) - 1 for x <= 600: where k = 0, r is x, and nothing cancels. */
static inline double expm1_lane(double x)
{
    double scale;
    const double p = exp_parts(x, -0.0, &scale);
    return FMA(p, scale, scale - 1);
}

/* log(x) for normal x < 1: x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), s = f / (2 + f),
 * log(1 + f) = 2 atanh(s) = f - (f^2/2 - s (f^2/2 + s^2 P(s^2))): the exact f stands first, all else is small. */
static inline double log_lane(double x)
{
    const uint64_t sqrt_half = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000;
    const uint64_t moved = bits_of(x) + (one - sqrt_half); /* Exponent field now 1023 + k. */
    const double k = of_bits((moved >> 52) | 0x4330000000000000) - (0x1p52 + 1023);
    const double f = of_bits((moved & 0x000fffffffffffff) + sqrt_half) - 1;
    const double s = f / (2 + f);
    const double z = s * s;
    const double half_square = 0.5 * f * f;
    double p = 0x1.2b5f68a50d903p-3;
    p = FMA(p, z, 0x1.39fdcceb4bb45p-3);
    p = FMA(p, z, 0x1.7462b91b8df65p-3);
    p = FMA(p, z, 0x1.c71c62d5e53e0p-3);
    p = FMA(p, z, 0x1.2492492dfd86cp-2);
    p = FMA(p, z, 0x1.9999999995273p-2);
    p = FMA(p, z, 0x1.5555555555558p-1);
    const double tail = FMA(k, 0x1.a39ef35793c76p-33, s * FMA(p, z, half_square));
    return FMA(k, 0x1.62e42fee00000p-1, f - (half_square - tail));
}

/* sin and cos of 2 pi v, v in [0, 1]: v = n/4 + r with |r| <= 1/8 exactly; sin(2 pi r) = r P(r^2), cos(2 pi r) =
 * 1 + r^2 Q(r^2); n swaps and negates them. */
static inline void sincos_lane(double v, double *sine, double *cosine)
{
    const double shift = 0x1.8p50; /* Its last bit is worth 1/4. */
    const double shifted = v + shift;
    const double r = v - (shifted - shift);
    const double t = r * r;
    double p = 0x1.e3f38399551bfp+1;
    p = FMA(p, t, -0x1.e30071afc3e59p+3);
    p = FMA(p, t, 0x1.50782fda12d96p+5);
    p = FMA(p, t, -0x1.32d2cce2e5b19p+6);
    p = FMA(p, t, 0x1.466bc677587f8p+6);
    p = FMA(p, t, -0x1.4abbce625be41p+5);
    p = FMA(p, t, 0x1.921fb54442d18p+2);
    double q = -0x1.b2f3eb054afcdp+0;
    q = FMA(q, t, 0x1.f9ce245cada0bp+2);
    q = FMA(q, t, -0x1.a6d1eef479be1p+4);
    q = FMA(q, t, 0x1.e1f5068688d5bp+5);
    q = FMA(q, t, -0x1.55d3c7e3cb241p+6);
    q = FMA(q, t, 0x1.03c1f081b5ac0p+6);
    q = FMA(q, t, -0x1.3bd3cc9be45dep+4);
    const uint64_t n = bits_of(shifted);
    const uint64_t s = bits_of(r * p), c = bits_of(FMA(q, t, 1));
    const uint64_t swap = 0 - (n & 1), other = (s ^ c) & swap;
    *sine = of_bits((s ^ other) ^ ((n & 2) << 62));
    *cosine = of_bits((c ^ other) ^ (((n + 1) & 2) << 62));
}

/* (top 52 bits + 1/2) / 2^52, exactly: 1 + top/2^52, less 1 - 2^-53. */
static inline double uniform_lane(uint64_t word)
{
    return of_bits(word >> 12 | 0x3ff0000000000000) - (1 - 0x1p-53);
}

#endif
