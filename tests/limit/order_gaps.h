/* Gaps that were not measured, for the tests of orders. */
#ifndef MOEG_TESTS_LIMIT_ORDER_GAPS_H
#define MOEG_TESTS_LIMIT_ORDER_GAPS_H

#include "support/check.h"
#include "support/random.h"

#include <moegeom/moegeom.h>

enum { MOST = 8 };

/* A sampled gap, of 1000 units. */
static inline moeg_estimate sampled(double value, double std_error)
{
    return (moeg_estimate){
        .value = value, .std_error = std_error, .level = 0.9, .n = 1000, .contributing = 500, .method = MOEG_METHOD_MC};
}

/* Correlated gaps around a power law: relative errors of `size`, covariance R R' of them. */
static inline void draw_gaps(uint64_t seed, size_t n, double size, double *tau, moeg_estimate *gap, double *covariance)
{
    double R[MOST * MOST];
    for (size_t i = 0; i < n * n; i++)
        R[i] = size * next_uniform(&seed);
    for (size_t i = 0; i < n; i++) {
        tau[i] = 0.01 * pow(1.9, (double)i);
        gap[i].value = -2.385 * pow(tau[i], 1.3) * (1 + size * next_normal(&seed));
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += R[i * n + k] * R[j * n + k];
            covariance[i * n + j] = sum * gap[i].value * gap[j].value;
        }
    for (size_t i = 0; i < n; i++)
        gap[i] = sampled(gap[i].value, sqrt(covariance[i * n + i]));
}

#endif
