/* Rows with outputs that are known, features of one's own, and noisy teachers in halves. */
#ifndef MOEG_TESTS_DYNAMICS_FLOW_ROWS_H
#define MOEG_TESTS_DYNAMICS_FLOW_ROWS_H

#include "support/check.h"
#include "support/random.h"

#include <moegeom/flow.h>

enum { N = 437, D = 3, OUTPUTS = 2, FEATURES = 4, MOST = D + OUTPUTS * FEATURES + OUTPUTS * (D + 1) };

/* Weighted rows, with the outputs on each and features of one's own. */
struct rows {
    double x[N * D], y[N * OUTPUTS], w[N];
};

static inline void fill(struct rows *r)
{
    uint64_t seed = 5;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < D; j++)
            r->x[i * D + j] = next_normal(&seed) + 0.3 * j;
        const double *x = r->x + i * D, sign = x[0] - 0.4 * x[2] > 0 ? 1 : -1;
        r->y[i * OUTPUTS] = sign * (x[0] + 0.7 * x[1] + 0.2) + 0.1 * next_normal(&seed);
        r->y[i * OUTPUTS + 1] = sign * (0.8 - x[2]);
        r->w[i] = i % 7 == 3 ? 0 : 1 + next_uniform(&seed);
    }
}

/* (x_1 x_2, sin x_3, 1, |x_1|). A user that is not NULL is a code to be returned, or, if that is 0, a NaN to be made.
 */
static inline int features(size_t n, const double *x, double *psi, void *user)
{
    for (size_t i = 0; i < n; i++, x += D, psi += FEATURES) {
        psi[0] = x[0] * x[1];
        psi[1] = sin(x[2]);
        psi[2] = 1;
        psi[3] = fabs(x[0]);
        if (user != NULL && i == n - 1)
            psi[2] = NAN;
    }
    return user != NULL ? *(int *)user : 0;
}

static inline moeg_teacher *halves_teacher(size_t d, const double *v, const double *beta, double noise)
{
    const moeg_halves halves = {.d = d, .outputs = 1, .v = v, .beta = beta};
    moeg_teacher *mean = NULL, *teacher = NULL;
    assert_ok(moeg_halves_teacher_create(&halves, &mean));
    assert_ok(moeg_teacher_noise_create(&teacher, mean, noise));
    moeg_teacher_free(mean);
    return teacher;
}

#endif
