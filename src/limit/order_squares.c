#include "limit/order_squares.h"

#include "base/error.h"

#include <math.h>
#include <stdint.h>

typedef moeg_order_real real;

size_t moeg_order_squares_size(size_t n)
{
    size_t count;
    return n > SIZE_MAX / 64 || moeg_multiply_overflows(n, 2 * n + 6, &count) ? 0 : count;
}

void moeg_order_squares_place(moeg_order_squares *s, size_t n, real *base)
{
    s->covariance = base;
    s->factor = s->covariance + n * n;
    s->floor = s->factor + n * n;
    s->y = s->floor + n;
    s->x = s->y + n;
    s->one = s->x + n;
    s->a = s->one + n;
    s->b = s->a + n;
}

/* v <- L^{-1} v. */
static void solve_lower(const moeg_order_squares *s, real *v)
{
    for (size_t i = 0; i < s->n; i++) {
        for (size_t j = 0; j < i; j++)
            v[i] -= s->factor[i * s->n + j] * v[j];
        v[i] /= s->factor[i * s->n + i];
    }
}

/* v <- L'^{-1} v. */
static void solve_upper(const moeg_order_squares *s, real *v)
{
    for (size_t i = s->n; i-- > 0;) {
        v[i] /= s->factor[i * s->n + i];
        for (size_t j = 0; j < i; j++)
            v[j] -= s->factor[i * s->n + j] * v[i];
    }
}

/* Cholesky of M; returns as moeg_order_squares_solve(). */
static size_t factorise(moeg_order_squares *s)
{
    const size_t n = s->n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            real sum = s->covariance[i * n + j] + (i == j ? s->floor[i] : 0);
            for (size_t k = 0; k < j; k++)
                sum -= s->factor[i * n + k] * s->factor[j * n + k];
            if (i == j && !(sum > 0))
                return i;
            s->factor[i * n + j] = i == j ? sqrtl(sum) : sum / s->factor[j * n + j];
        }
    return n;
}

static real dot(size_t n, const real *u, const real *v)
{
    real sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += u[i] * v[i];
    return sum;
}

/* From the columns whitened by L^{-1}: x' = x - m 1 with m = x.1/1.1 is orthogonal to 1, p = x'.y/x'.x', and
 * log c = y.1/1.1 - m p. */
size_t moeg_order_squares_solve(moeg_order_squares *s)
{
    const size_t n = s->n, definite = factorise(s);
    if (definite < n)
        return definite;
    for (size_t i = 0; i < n; i++)
        s->one[i] = 1;
    solve_lower(s, s->y);
    solve_lower(s, s->one);
    solve_lower(s, s->x);
    const real ones = dot(n, s->one, s->one), mean = dot(n, s->x, s->one) / ones;
    for (size_t i = 0; i < n; i++)
        s->a[i] = s->x[i] - mean * s->one[i];
    const real spread = dot(n, s->a, s->a);
    for (size_t i = 0; i < n; i++) {
        s->a[i] /= spread;
        s->b[i] = s->one[i] / ones - mean * s->a[i];
    }
    s->order = dot(n, s->a, s->y);
    s->log_constant = dot(n, s->b, s->y);
    s->left = 0;
    for (size_t i = 0; i < n; i++) {
        const real r = s->y[i] - s->log_constant * s->one[i] - s->order * s->x[i];
        s->left += r * r;
    }
    solve_upper(s, s->a);
    solve_upper(s, s->b);
    return n;
}

real moeg_order_squares_variance(const moeg_order_squares *s, const real *w)
{
    real sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        real row = s->covariance[i * s->n + i] * w[i];
        for (size_t j = 0; j < i; j++)
            row += 2 * s->covariance[i * s->n + j] * w[j];
        sum += row * w[i];
    }
    return fmaxl(sum, 0);
}
