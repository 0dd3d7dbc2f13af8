/* M of a hard teacher in halves, one output, under a mixture of Gaussian laws: moments of x given t = v.x, which is
 * Gaussian, times sign(t), integrated over t by Simpson's rule on either side. */
#ifndef MOEG_TESTS_DYNAMICS_SYMMETRY_ORACLE_H
#define MOEG_TESTS_DYNAMICS_SYMMETRY_ORACLE_H

#include "support/check.h"

#include <moegeom/symmetry.h>

enum { ORACLE_D = 3, ORACLE_PHI = 1 + ORACLE_D, ORACLE_PARTS = 2 };

typedef struct oracle_part {
    double share, mean[ORACLE_D], covariance[ORACLE_D * ORACLE_D];
} oracle_part;

typedef struct oracle {
    double v[ORACLE_D], beta[ORACLE_D], mu;
    size_t parts;
    oracle_part part[ORACLE_PARTS];
} oracle;

/* Moments with phi = (1, x): of 1 and of Y. */
typedef struct oracle_moments {
    double second[ORACLE_PHI][ORACLE_PHI], third[ORACLE_PHI][ORACLE_PHI][ORACLE_PHI];
    double linear_y[ORACLE_PHI], second_y[ORACLE_PHI][ORACLE_PHI];
} oracle_moments;

/* A Gaussian vector phi whose coordinate 0 is 1: mean and covariance. */
typedef struct oracle_normal {
    double mean[ORACLE_PHI], covariance[ORACLE_PHI][ORACLE_PHI];
} oracle_normal;

static inline double oracle_second(const oracle_normal *g, size_t a, size_t b)
{
    return g->mean[a] * g->mean[b] + g->covariance[a][b];
}

static inline double oracle_third(const oracle_normal *g, size_t a, size_t b, size_t c)
{
    return g->mean[a] * g->mean[b] * g->mean[c] + g->mean[a] * g->covariance[b][c] + g->mean[b] * g->covariance[a][c] +
           g->mean[c] * g->covariance[a][b];
}

/* Adds a component: x and x given t. */
static inline void oracle_add(const oracle *o, const oracle_part *part, oracle_moments *m)
{
    enum { STEPS = 4000 };
    const double *S = part->covariance;
    oracle_normal whole = {.mean = {1}}, given = {.mean = {1}};
    double pull[ORACLE_D], location = 0, variance = 0;
    for (size_t i = 0; i < ORACLE_D; i++) {
        pull[i] = 0;
        for (size_t j = 0; j < ORACLE_D; j++)
            pull[i] += S[i * ORACLE_D + j] * o->v[j];
        location += o->v[i] * part->mean[i];
        variance += o->v[i] * pull[i];
        whole.mean[1 + i] = part->mean[i];
    }
    for (size_t i = 0; i < ORACLE_D; i++)
        for (size_t j = 0; j < ORACLE_D; j++) {
            whole.covariance[1 + i][1 + j] = S[i * ORACLE_D + j];
            given.covariance[1 + i][1 + j] = S[i * ORACLE_D + j] - pull[i] * pull[j] / variance;
        }
    for (size_t a = 0; a < ORACLE_PHI; a++)
        for (size_t b = 0; b < ORACLE_PHI; b++) {
            m->second[a][b] += part->share * oracle_second(&whole, a, b);
            for (size_t c = 0; c < ORACLE_PHI; c++)
                m->third[a][b][c] += part->share * oracle_third(&whole, a, b, c);
        }
    const double scale = sqrt(variance), reach = fabs(location) + 10 * scale, step = reach / STEPS;
    for (int side = -1; side <= 1; side += 2)
        for (int s = 0; s <= STEPS; s++) {
            const double t = side * step * s, z = (t - location) / scale;
            const double simpson = (s == 0 || s == STEPS ? 1 : s % 2 == 1 ? 4 : 2) * step / 3;
            const double weight = part->share * side * simpson * exp(-z * z / 2) / (scale * sqrt(2 * acos(-1)));
            for (size_t i = 0; i < ORACLE_D; i++)
                given.mean[1 + i] = part->mean[i] + pull[i] * (t - location) / variance;
            for (size_t a = 0; a < ORACLE_PHI; a++)
                for (size_t c = 0; c < ORACLE_PHI; c++) {
                    const double y = c == 0 ? o->mu : o->beta[c - 1];
                    m->linear_y[a] += weight * y * oracle_second(&given, a, c);
                    for (size_t b = 0; b < ORACLE_PHI; b++)
                        m->second_y[a][b] += weight * y * oracle_third(&given, a, b, c);
                }
        }
}

/* b <- A^-1 b, n <= ORACLE_PHI, A positive definite. */
static inline void oracle_solve(size_t n, double A[ORACLE_PHI][ORACLE_PHI], double *b)
{
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++) {
            const double factor = A[i][k] / A[k][k];
            for (size_t j = k; j < n && i != k; j++)
                A[i][j] -= factor * A[k][j];
            b[i] -= i != k ? factor * b[k] : 0;
        }
    for (size_t k = 0; k < n; k++)
        b[k] /= A[k][k];
}

/* M (d x (1 + d)) of the contrast (1, x). */
static inline void oracle_find(const oracle *o, moeg_symmetric symmetric, double *M)
{
    oracle_moments m = {.linear_y = {0}};
    for (size_t k = 0; k < o->parts; k++)
        oracle_add(o, &o->part[k], &m);
    const size_t from = symmetric == MOEG_SYMMETRIC_LINEAR ? 1 : 0;
    const size_t to = symmetric == MOEG_SYMMETRIC_ZERO ? 0 : symmetric == MOEG_SYMMETRIC_CONSTANT ? 1 : ORACLE_PHI;
    double A[ORACLE_PHI][ORACLE_PHI], fit[ORACLE_PHI] = {0};
    for (size_t a = from; a < to; a++) {
        fit[a - from] = m.linear_y[a];
        for (size_t b = from; b < to; b++)
            A[a - from][b - from] = m.second[a][b];
    }
    oracle_solve(to - from * (to > 0), A, fit);
    for (size_t i = 0; i < ORACLE_D; i++)
        for (size_t k = 0; k < ORACLE_PHI; k++) {
            double *entry = &M[i * ORACLE_PHI + k];
            *entry = m.second_y[1 + i][k];
            for (size_t a = from; a < to; a++)
                *entry -= fit[a - from] * m.third[1 + i][k][a];
        }
}

/* Its teacher and its law. */
static inline void oracle_make(const oracle *o, moeg_teacher **teacher, moeg_law **law)
{
    const moeg_halves halves = {.d = ORACLE_D, .outputs = 1, .v = o->v, .beta = o->beta, .mu = &o->mu};
    moeg_law *component[ORACLE_PARTS];
    double shares[ORACLE_PARTS];
    assert_ok(moeg_halves_teacher_create(&halves, teacher));
    for (size_t k = 0; k < o->parts; k++) {
        shares[k] = o->part[k].share;
        assert_ok(moeg_law_gaussian_create(&component[k], ORACLE_D, o->part[k].mean, o->part[k].covariance));
    }
    if (o->parts == 1) {
        *law = component[0];
        return;
    }
    assert_ok(moeg_law_mixture_create(law, o->parts, shares, component));
    for (size_t k = 0; k < o->parts; k++)
        moeg_law_free(component[k]);
}

static const oracle oracle_gaussian = {
    .v = {0.6, 0.48, 0.64},
    .beta = {0.5, -1.25, 2.1},
    .mu = 0.4,
    .parts = 1,
    .part = {{1, {0.5, -0.3, 0.2}, {1.4, 0.3, -0.2, 0.3, 0.8, 0.25, -0.2, 0.25, 1.1}}},
};

/* Skewed, and its components far from each other. */
static const oracle oracle_mixture = {
    .v = {0.6, 0.48, 0.64},
    .beta = {0.5, -1.25, 2.1},
    .mu = 0.4,
    .parts = 2,
    .part = {{0.3, {-0.5, 0, 0.2}, {1, 0, 0, 0, 1, 0, 0, 0, 1}},
             {0.7, {2, 1, -1.5}, {1.4, 0.3, -0.2, 0.3, 0.8, 0.25, -0.2, 0.25, 1.1}}},
};

#endif
