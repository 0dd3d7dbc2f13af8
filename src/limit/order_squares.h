/* The least squares of a straight line y = log c + p x through correlated values. */
#ifndef MOEG_LIMIT_ORDER_SQUARES_H
#define MOEG_LIMIT_ORDER_SQUARES_H

#include <stddef.h>

/* Weights of nearly singular covariances lose ten digits. */
typedef long double moeg_order_real;

typedef struct moeg_order_squares {
    size_t n;
    moeg_order_real *covariance; /* (n x n) C of y, the lower triangle */
    moeg_order_real *floor;      /* (n) what the weights add to its diagonal: they are M^{-1}, M = C + diag(floor) */
    moeg_order_real *y, *x;      /* (n) not kept */
    moeg_order_real *factor;     /* (n x n) L, M = L L' */
    moeg_order_real *one;        /* (n) scratch */
    moeg_order_real *a, *b;      /* (n) the line as a map: p = sum a_i y_i, log c = sum b_i y_i */
    moeg_order_real order, log_constant;
    moeg_order_real left; /* r'M^{-1}r of the residuals */
} moeg_order_squares;

/* moeg_order_real that the arrays of n values take, or 0 where that overflows; and their places in a block of so many.
 */
size_t moeg_order_squares_size(size_t n);
void moeg_order_squares_place(moeg_order_squares *s, size_t n, moeg_order_real *base);

/* From C, floor, y and x (n >= 2, not all x equal) to all else. Returns n, or the first row at which M is not positive
 * definite. Cost O(n^3). */
size_t moeg_order_squares_solve(moeg_order_squares *s);

/* Variance w'C w of sum w_i y_i; never negative. */
moeg_order_real moeg_order_squares_variance(const moeg_order_squares *s, const moeg_order_real *w);

#endif
