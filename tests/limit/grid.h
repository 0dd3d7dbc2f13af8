/* A plane in which several pairs of experts tie on one hyperplane. */
#ifndef MOEG_TESTS_LIMIT_GRID_H
#define MOEG_TESTS_LIMIT_GRID_H

#include "limit/problem.h"

/* Logits +- x_1 +- x_2 and constants, of a teacher that jumps where x_2 = 0; x ~ N(0, I). */
static inline void grid(struct problem *p, moeg_gate gate)
{
    const double W[] = {1, 1, 1, -1, -1, 1, -1, -1}, c[] = {0.5, -1, 2, -0.7, 1.3, -1.1};
    *p = (struct problem){.K = 4, .d = 2, .m = 1, .covariance = {1, 0, 0, 1}, .V = {0, 2}, .pieces = 2, .gate = gate};
    memcpy(p->W, W, sizeof W);
    for (size_t k = 0; k < 6; k++)
        p->c[k][0] = c[k];
}

/* Another law. */
static inline void tilt(uint64_t seed, struct problem *p)
{
    for (size_t l = 0; l < 2; l++)
        p->mean[l] = problem_number(seed, l);
    p->covariance[1] = p->covariance[2] = 0.4 * problem_number(seed, 4);
}

#endif
