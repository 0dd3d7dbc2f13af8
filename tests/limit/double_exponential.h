/* The gap of two experts in one dimension by a double-exponential quadrature in long double. */
#ifndef MOEG_TESTS_LIMIT_DOUBLE_EXPONENTIAL_H
#define MOEG_TESTS_LIMIT_DOUBLE_EXPONENTIAL_H

#include "limit/problem.h"

/* ∫_0^∞ f(u) du by u = scale exp(pi/2 sinh t): each halving of the step doubles the digits. */
typedef long double (*half_line)(long double u, const void *user);

static inline long double exp_sinh(half_line f, const void *user, long double scale)
{
    const long double step = 1.0L / 256, half_pi = 1.57079632679489661923L;
    long double sum = 0;
    for (int k = -1100; k <= 1100; k++) {
        const long double t = k * step, u = scale * expl(half_pi * sinhl(t));
        sum += f(u, user) * u * half_pi * coshl(t) * step;
    }
    return sum;
}

/* d = 1: the row gap at x = x0 + u or x0 - u, times the density. */
struct side {
    const struct problem *p;
    moeg_mixing mixing;
    double tau;
    long double foot, sign;
};

static inline long double side_gap(long double u, const void *user)
{
    const struct side *s = user;
    const struct problem *p = s->p;
    const long double slope = (long double)p->W[0] - p->W[1], x = s->foot + s->sign * u;
    const size_t win = slope * s->sign > 0 ? 0 : 1;
    const long double q = 1 / (1 + expl(fabsl(slope) * u / s->tau));
    long double gap = 0;
    for (size_t j = 0; j < p->m; j++) {
        long double f[3];
        for (size_t k = 0; k < 3; k++)
            f[k] = p->A[k][j] * x + p->c[k][j];
        const long double delta = f[win] - f[1 - win], r = f[win] - f[2];
        gap += s->mixing == MOEG_MIX_OUTPUT ? q * delta * (q * delta - 2 * r) : q * delta * (delta - 2 * r);
    }
    const long double t = (x - p->mean[0]) / sqrtl(p->covariance[0]);
    return gap * expl(-t * t / 2) / sqrtl(2 * 3.14159265358979323846L * p->covariance[0]);
}

static inline long double double_exponential_gap(const struct problem *p, moeg_mixing mixing, double tau)
{
    const long double slope = (long double)p->W[0] - p->W[1], foot = -((long double)p->b[0] - p->b[1]) / slope;
    struct side s = {p, mixing, tau, foot, 1};
    const long double scale = fminl(tau / fabsl(slope), sqrtl(p->covariance[0]));
    const long double up = exp_sinh(side_gap, &s, scale);
    s.sign = -1;
    return up + exp_sinh(side_gap, &s, scale);
}

#endif
