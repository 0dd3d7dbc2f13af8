/* Data with weights, and M of them with its sandwich variance by sums written out. */
#ifndef MOEG_TESTS_DYNAMICS_SYMMETRY_DATA_H
#define MOEG_TESTS_DYNAMICS_SYMMETRY_DATA_H

#include "dynamics/symmetry_oracle.h"

#include <moegeom/moegeom.h>

enum { D = ORACLE_D, OUTPUTS = 2, FEATURES = 2, MOST_P = 1 + D, MOST = D * OUTPUTS * MOST_P, ROWS = 1500 };

static const moeg_symmetric classes[] = {MOEG_SYMMETRIC_ZERO, MOEG_SYMMETRIC_CONSTANT, MOEG_SYMMETRIC_LINEAR,
                                         MOEG_SYMMETRIC_AFFINE};

static inline int own(size_t n, const double *x, double *psi, void *user)
{
    (void)user;
    for (size_t i = 0; i < n; i++) {
        psi[FEATURES * i] = x[D * i] * x[D * i + 1];
        psi[FEATURES * i + 1] = fabs(x[D * i + 2]);
    }
    return 0;
}

static inline moeg_contrast make_contrast(int kind)
{
    switch (kind) {
    case MOEG_CONTRAST_CONSTANT:
        return moeg_contrast_constant();
    case MOEG_CONTRAST_LINEAR:
        return moeg_contrast_linear();
    case MOEG_CONTRAST_AFFINE:
        return moeg_contrast_affine();
    default:
        return moeg_contrast_user(FEATURES, own, NULL);
    }
}

/* Data, a row of whose Y is no function of x, with weights of which some are 0; the x and Y of these are enormous. */
struct data {
    double x[ROWS * D], y[ROWS * OUTPUTS], w[ROWS];
    moeg_law *law;
    moeg_teacher *teacher;
};

static inline void data_make(struct data *data, int weights)
{
    assert_ok(moeg_stream_normals((moeg_stream){5, 70}, 0, ROWS, D, data->x));
    assert_ok(moeg_stream_normals((moeg_stream){5, 71}, 0, ROWS, OUTPUTS, data->y));
    assert_ok(moeg_stream_uniforms((moeg_stream){5, 72}, 0, ROWS, 1, data->w));
    for (size_t i = 0; i < ROWS; i++) {
        double *x = data->x + i * D, *y = data->y + i * OUTPUTS;
        x[1] = 1.6 * fabs(x[0]) + x[1] - 40;
        y[0] += x[0] > 0.3 ? x[2] * x[0] : -2 * x[1];
        y[1] = 0.2 * y[1] + x[0] * x[2] + 3;
        if (i % 7 == 3)
            x[0] = y[1] = 1e200, data->w[i] = 0;
    }
    assert_ok(moeg_law_empirical_create(&data->law, ROWS, D, data->x, weights ? data->w : NULL));
    assert_ok(moeg_teacher_data_create(&data->teacher, ROWS, OUTPUTS, data->y));
}

static inline void data_free(struct data *data)
{
    moeg_law_free(data->law);
    moeg_teacher_free(data->teacher);
}

/* The rows of positive weight: residuals, and M with its covariances, from least squares over phi = (1, x). */
struct sums {
    double M[MOST], variance[MOST];
};

static inline size_t find_psi(int kind, const double *x, double *psi)
{
    if (kind == MOEG_CONTRAST_USER) {
        own(1, x, psi, NULL);
        return FEATURES;
    }
    size_t p = 0;
    if (kind != MOEG_CONTRAST_LINEAR)
        psi[p++] = 1;
    for (size_t j = 0; kind != MOEG_CONTRAST_CONSTANT && j < D; j++)
        psi[p++] = x[j];
    return p;
}

static inline size_t find_phi(moeg_symmetric symmetric, const double *x, double *phi)
{
    size_t n = 0;
    if (symmetric == MOEG_SYMMETRIC_CONSTANT || symmetric == MOEG_SYMMETRIC_AFFINE)
        phi[n++] = 1;
    for (size_t j = 0; (symmetric == MOEG_SYMMETRIC_LINEAR || symmetric == MOEG_SYMMETRIC_AFFINE) && j < D; j++)
        phi[n++] = x[j];
    return n;
}

/* The coefficients (features) of one output. */
static inline size_t fit(const struct data *data, const double *w, moeg_symmetric symmetric, size_t o,
                         double *coefficient)
{
    double A[ORACLE_PHI][ORACLE_PHI] = {{0}}, phi[ORACLE_PHI];
    size_t n = 0;
    memset(coefficient, 0, ORACLE_PHI * sizeof *coefficient);
    for (size_t i = 0; i < ROWS; i++) {
        if (w[i] == 0)
            continue;
        n = find_phi(symmetric, data->x + i * D, phi);
        for (size_t a = 0; a < n; a++) {
            coefficient[a] += w[i] * phi[a] * data->y[i * OUTPUTS + o];
            for (size_t b = 0; b < n; b++)
                A[a][b] += w[i] * phi[a] * phi[b];
        }
    }
    oracle_solve(n, A, coefficient);
    return n;
}

static inline double residual(const struct data *data, size_t i, moeg_symmetric symmetric, size_t o,
                              const double *coefficient)
{
    double phi[ORACLE_PHI], r = data->y[i * OUTPUTS + o];
    const size_t n = find_phi(symmetric, data->x + i * D, phi);
    for (size_t a = 0; a < n; a++)
        r -= coefficient[a] * phi[a];
    return r;
}

/* Its variance as the sandwich has it: the sum of squares of what each row adds to W M, less A[delta] of what it adds
 * to the fit. */
static inline void sum_rows(const struct data *data, const double *w, moeg_symmetric symmetric, int kind,
                            struct sums *sums)
{
    double W = 0, psi[MOST_P], phi[ORACLE_PHI], b[ORACLE_PHI];
    const size_t p = find_psi(kind, data->x, psi), q = OUTPUTS * p;
    memset(sums, 0, sizeof *sums);
    for (size_t o = 0; o < OUTPUTS; o++) {
        double A[ORACLE_PHI][ORACLE_PHI] = {{0}}, T[ORACLE_PHI][D * MOST_P] = {{0}};
        const size_t n = fit(data, w, symmetric, o, b);
        W = 0;
        for (size_t i = 0; i < ROWS; i++) {
            if (w[i] == 0)
                continue;
            const double *x = data->x + i * D, r = residual(data, i, symmetric, o, b);
            find_psi(kind, x, psi);
            find_phi(symmetric, x, phi);
            W += w[i];
            for (size_t a = 0; a < n; a++)
                for (size_t c = 0; c < n; c++)
                    A[a][c] += w[i] * phi[a] * phi[c];
            for (size_t j = 0; j < D; j++)
                for (size_t k = 0; k < p; k++) {
                    sums->M[j * q + o * p + k] += w[i] * x[j] * r * psi[k];
                    for (size_t a = 0; a < n; a++)
                        T[a][j * p + k] += w[i] * phi[a] * x[j] * psi[k];
                }
        }
        for (size_t j = 0; j < D; j++)
            for (size_t k = 0; k < p; k++)
                sums->M[j * q + o * p + k] /= W;
        for (size_t i = 0; i < ROWS; i++) {
            if (w[i] == 0)
                continue;
            const double *x = data->x + i * D, r = residual(data, i, symmetric, o, b);
            double copy[ORACLE_PHI][ORACLE_PHI];
            memcpy(copy, A, sizeof A);
            find_psi(kind, x, psi);
            find_phi(symmetric, x, phi);
            oracle_solve(n, copy, phi);
            for (size_t j = 0; j < D; j++)
                for (size_t k = 0; k < p; k++) {
                    const size_t at = j * q + o * p + k;
                    double influence = x[j] * r * psi[k] - sums->M[at];
                    for (size_t a = 0; a < n; a++)
                        influence -= phi[a] * r * T[a][j * p + k];
                    sums->variance[at] += w[i] * w[i] * influence * influence / W / W;
                }
        }
    }
}

#endif
