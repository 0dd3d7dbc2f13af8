/* Terms of the constants of masses by their definition, in the coordinates of x and long double: the five cells of
 * cells.h under the tilted law. */
#ifndef MOEG_TESTS_LIMIT_TIES_H
#define MOEG_TESTS_LIMIT_TIES_H

#include "limit/cells.h"

/* The density of the tilted law, by its inverse covariance. */
static inline long double density_at(const long double *x)
{
    const double *S = tilted_covariance;
    long double minor[9], off[3], form = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
            minor[3 * i + j] = (long double)S[3 * a + c] * S[3 * b + d] - (long double)S[3 * a + d] * S[3 * b + c];
        }
    const long double det = S[0] * minor[0] + S[1] * minor[1] + S[2] * minor[2];
    for (int i = 0; i < 3; i++)
        off[i] = x[i] - tilted_mean[i];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            form += off[i] * minor[3 * i + j] / det * off[j];
    return expl(-form / 2) / sqrtl(det * powl(2 * acosl(-1), 3));
}

static inline long double logit(size_t k, const long double *x)
{
    return five_rows[3 * k] * x[0] + five_rows[3 * k + 1] * x[1] + five_rows[3 * k + 2] * x[2] + five_biases[k];
}

static inline void cross(const long double *a, const long double *b, long double *c)
{
    for (int i = 0; i < 3; i++)
        c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static inline long double dot(const long double *a, const long double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The gradient of a_k - a_0 of a set, and how much it is at x = 0. */
static inline long double difference(const size_t *set, size_t k, long double *gradient)
{
    for (int l = 0; l < 3; l++)
        gradient[l] = (long double)five_rows[3 * set[k] + l] - five_rows[3 * set[0] + l];
    return (long double)five_biases[set[k]] - five_biases[set[0]];
}

/* Where all differences of four experts are 0, by Cramer's rule: p(x) over the volume that they span, 4 times, if no
 * other logit is above them. */
static inline long double point_term(const size_t *set)
{
    long double g[3][3], h[3], c[3][3], x[3];
    for (size_t k = 0; k < 3; k++)
        h[k] = difference(set, k + 1, g[k]);
    for (int k = 0; k < 3; k++)
        cross(g[(k + 1) % 3], g[(k + 2) % 3], c[k]);
    const long double det = dot(g[0], c[0]);
    for (int l = 0; l < 3; l++)
        x[l] = -(h[0] * c[0][l] + h[1] * c[1][l] + h[2] * c[2][l]) / det;
    for (size_t k = 0; k < 5; k++)
        if (k != set[0] && k != set[1] && k != set[2] && k != set[3] && logit(k, x) > logit(set[0], x))
            return 0;
    return 4 * density_at(x) / fabsl(det);
}

/* Along the line where three experts tie: 3 times the integral of p over the area that their differences span, where
 * no other is above them, by Simpson's rule. */
static inline long double line_term(const size_t *set)
{
    enum { STEPS = 20000 };
    long double g[2][3], h[2], along[3], across[2][3], at[3], lo = -30, hi = 30, sum = 0;
    for (size_t k = 0; k < 2; k++)
        h[k] = difference(set, k + 1, g[k]);
    cross(g[0], g[1], along);
    const long double square = dot(along, along), area = sqrtl(square);
    cross(g[1], along, across[0]);
    cross(along, g[0], across[1]);
    for (int l = 0; l < 3; l++) {
        at[l] = -(h[0] * across[0][l] + h[1] * across[1][l]) / square;
        along[l] /= area;
    }
    for (size_t k = 0; k < 5; k++) {
        long double row[3] = {five_rows[3 * k], five_rows[3 * k + 1], five_rows[3 * k + 2]}, slope = dot(row, along);
        for (int l = 0; l < 3; l++)
            slope -= five_rows[3 * set[0] + (size_t)l] * along[l];
        const long double above = logit(k, at) - logit(set[0], at);
        if (k == set[0] || k == set[1] || k == set[2])
            continue;
        lo = slope < 0 ? fmaxl(lo, -above / slope) : lo;
        hi = slope > 0 ? fminl(hi, -above / slope) : hi;
    }
    for (int i = 0; i <= STEPS && lo < hi; i++) {
        long double x[3];
        for (int l = 0; l < 3; l++)
            x[l] = at[l] + (lo + (hi - lo) * i / STEPS) * along[l];
        sum += density_at(x) * (i == 0 || i == STEPS ? 1 : i % 2 == 1 ? 4 : 2) * (hi - lo) / STEPS / 3;
    }
    return 3 * sum / area;
}

#endif
