/* Double-double numbers hi + lo, |lo| <= ulp(hi)/2: sums and products of positive ones keep about 104 bits. */
#ifndef MOEG_MODEL_TWOFOLD_H
#define MOEG_MODEL_TWOFOLD_H

#include <math.h>

typedef struct moeg_twofold {
    double hi, lo;
} moeg_twofold;

/* |hi| >= |lo|, or hi = 0. */
static inline moeg_twofold moeg_twofold_normal(double hi, double lo)
{
    const double sum = hi + lo;
    return (moeg_twofold){sum, lo - (sum - hi)};
}

static inline moeg_twofold moeg_twofold_add(moeg_twofold a, moeg_twofold b)
{
    const double sum = a.hi + b.hi, part = sum - a.hi;
    const double lost = (a.hi - (sum - part)) + (b.hi - part);
    return moeg_twofold_normal(sum, lost + (a.lo + b.lo));
}

static inline moeg_twofold moeg_twofold_times(moeg_twofold a, moeg_twofold b)
{
    const double product = a.hi * b.hi;
    return moeg_twofold_normal(product, fma(a.hi, b.hi, -product) + (a.hi * b.lo + a.lo * b.hi));
}

static inline moeg_twofold moeg_twofold_over(moeg_twofold a, moeg_twofold b)
{
    const double quotient = a.hi / b.hi;
    return moeg_twofold_normal(quotient, (fma(-quotient, b.hi, a.hi) + (a.lo - quotient * b.lo)) / b.hi);
}

/* s is a power of two. */
static inline moeg_twofold moeg_twofold_scale(moeg_twofold a, double s)
{
    return (moeg_twofold){a.hi * s, a.lo * s};
}

static inline moeg_twofold moeg_twofold_minus(moeg_twofold a)
{
    return (moeg_twofold){-a.hi, -a.lo};
}

#endif
