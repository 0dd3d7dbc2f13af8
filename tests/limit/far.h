/* Problems whose law has its mean far from every tie. */
#ifndef MOEG_TESTS_LIMIT_FAR_H
#define MOEG_TESTS_LIMIT_FAR_H

#include "limit/lines.h"
#include "support/random.h"

/* Random routers of logits of unit gradients under covariances that stretch them, mean some 3 away from 0. */
static inline void far_numbers(uint64_t *seed, size_t K, size_t d, double *W, double *b, double *mean,
                               double *covariance)
{
    double F[36];
    for (size_t i = 0; i < K * d; i++)
        W[i] = next_normal(seed);
    for (size_t k = 0; k < K; k++)
        b[k] = next_normal(seed);
    for (size_t l = 0; l < d; l++)
        mean[l] = 3 * next_normal(seed);
    for (size_t i = 0; i < d * d; i++)
        F[i] = next_normal(seed) / sqrt((double)d);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            covariance[i * d + j] = i == j ? 0.05 : 0;
            for (size_t l = 0; l < d; l++)
                covariance[i * d + j] += F[i * d + l] * F[j * d + l];
        }
}

/* Five experts in a plane, whose mean is 2.5 from the nearest tie: constants and a teacher that is 0. Or, d > 2, the
 * same with d - 2 more experts, along the other axes, which are some 60 below these: they change nothing to 1e-300. */
static inline void far_plane(size_t d, moeg_gate gate, struct problem *p)
{
    static const double angle[5] = {0.2, 1.3, 2.4, 3.9, 5.2}, length[5] = {1, 1.4, 0.8, 1.1, 0.9};
    static const double b[5] = {0.3, -0.2, 0.4, 0, -0.5}, c[5] = {1, -0.5, 0.8, 2, -1};
    *p = (struct problem){.K = 3 + d, .d = d, .m = 1, .pieces = 1, .gate = gate, .mean = {4.5, -0.5}};
    for (size_t k = 0; k < p->K; k++) {
        if (k < 5) {
            p->W[k * d] = length[k] * cos(angle[k]);
            p->W[k * d + 1] = length[k] * sin(angle[k]);
        } else {
            p->W[k * d + k - 3] = 1;
        }
        p->b[k] = k < 5 ? b[k] : -60;
        p->c[k][0] = k < 5 ? c[k] : 0;
    }
    for (size_t j = 0; j < d; j++)
        p->covariance[j * d + j] = 1;
    problem_build(p);
}

/* Three experts in a plane, the first two alike and nearly tied at the mean, the third 5 away: all of the gap is there.
 * Or, d > 2, hidden in the same way. */
static inline void far_beside_near(size_t d, struct problem *p)
{
    *p = (struct problem){.K = 1 + d, .d = d, .m = 1, .pieces = 1, .gate = moeg_gate_softmax()};
    p->W[d + 1] = 1;
    p->W[2 * d] = 1;
    p->b[1] = -0.5;
    p->b[2] = -5;
    for (size_t k = 3; k < p->K; k++) {
        p->W[k * d] = p->W[k * d + 1] = -1;
        p->W[k * d + k - 1] = 1;
        p->b[k] = -1000;
    }
    for (size_t k = 0; k <= p->K; k++)
        p->c[k][0] = k < 2 ? 0.5 : k == 2 ? 2 : k < p->K ? 0.1 : -0.3;
    for (size_t j = 0; j < d; j++)
        p->covariance[j * d + j] = 1;
    problem_build(p);
}

#endif
