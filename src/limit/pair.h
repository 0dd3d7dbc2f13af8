/* Sums and rows whose rounding errors are put aside: what is far from the origin, or nearly singular, cancels without
 * loss; and whether two rows are parallel, decided exactly. */
#ifndef MOEG_LIMIT_PAIR_H
#define MOEG_LIMIT_PAIR_H

#include <math.h>
#include <stddef.h>

/* high + low, low the rounding errors of the terms that high was added from. */
typedef struct moeg_pair {
    long double high, low;
} moeg_pair;

static inline long double moeg_pair_value(moeg_pair a)
{
    return a.high + a.low;
}

/* a + b, to the rounding of low. */
static inline moeg_pair moeg_pair_add(moeg_pair a, moeg_pair b)
{
    const long double sum = a.high + b.high, back = sum - a.high;
    return (moeg_pair){sum, a.low + (((a.high - (sum - back)) + (b.high - back)) + b.low)};
}

static inline moeg_pair moeg_pair_times(moeg_pair a, moeg_pair b)
{
    const long double product = a.high * b.high;
    return (moeg_pair){product, fmal(a.high, b.high, -product) + (a.high * b.low + a.low * b.high)};
}

static inline moeg_pair moeg_pair_scale(moeg_pair a, long double x)
{
    return moeg_pair_times(a, (moeg_pair){x, 0});
}

/* The row plus - minus - multiple base of d numbers and a constant after them: an affine function of x. minus and base
 * may be NULL. */
typedef struct moeg_row {
    size_t d;
    const double *plus, *minus; /* (d) each */
    double plus_constant, minus_constant;
    const struct moeg_row *base;
    moeg_pair multiple;
} moeg_row;

/* Entry j < d, or the constant, j = d: exact without a base. */
moeg_pair moeg_row_entry(const moeg_row *row, size_t j);

/* Its value at x (d). */
moeg_pair moeg_row_at(const moeg_row *row, const double *x);

/* Entry i of S row' (S NULL: the identity), and in size the sum of its terms' magnitudes. */
moeg_pair moeg_row_image(const moeg_row *row, const double *S, size_t i, long double *size);

/* a S b', and in size (or NULL) the sum of its terms' magnitudes. Cost O(d^2). */
moeg_pair moeg_row_product(const moeg_row *a, const moeg_row *b, const double *S, long double *size);

/* The part of t that X knows nothing of from s: t less the multiple of s such that t S s' = 0, to the rounding of low
 * by one correction. Refers to s. */
moeg_row moeg_row_without(const moeg_row *t, const moeg_row *s, const double *S);

/* Whether b is a multiple of a, constants included or not, in exact arithmetic: both without a base, a not zero. The
 * pivot is an entry of a that is not zero. */
int moeg_row_is_multiple(const moeg_row *a, const moeg_row *b, int constants, size_t *pivot);

#endif
