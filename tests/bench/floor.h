/* The rates of one thread behind the floors of the benchmarks, measured in the run that they are used in. */
#ifndef MOEG_TESTS_BENCH_FLOOR_H
#define MOEG_TESTS_BENCH_FLOOR_H

#include "base/kernel.h"
#include "base/memory.h"
#include "bench/bench.h"
#include "bench/dgemm.h"

#include <stdio.h>

typedef struct floor_rates {
    double flop, normal, exponential, gelu; /* seconds each */
} floor_rates;

enum { FLOOR_ORDER = 512, FLOOR_COUNT = 8192 };

static inline void floor_multiply(void *user)
{
    double *a = user;
    const size_t n = FLOOR_ORDER;
    bench_multiply(n, n, n, a, a + n * n, a + 2 * n * n);
}

static inline void floor_normals(void *user)
{
    moeg_kernel_normals(1, 0, 0, 16, FLOOR_COUNT / 16, user);
}

static inline void floor_exponentials(void *user)
{
    double *x = user;
    moeg_kernel_exp(FLOOR_COUNT, x, x + FLOOR_COUNT);
}

static inline void floor_activations(void *user)
{
    double *x = user;
    moeg_kernel_activate(MOEG_KERNEL_GELU, FLOOR_COUNT, x, x + FLOOR_COUNT);
}

/* 0, or 1 without memory. Prints the rates. */
static inline int floor_measure(floor_rates *rates)
{
    const size_t size = 3 * (size_t)FLOOR_ORDER * FLOOR_ORDER;
    double *a = moeg_alloc(size, sizeof *a);
    if (a == NULL)
        return 1;
    moeg_kernel_uniforms(1, 0, 0, 1, size, a);
    const double n = FLOOR_ORDER;
    rates->flop = bench_seconds(floor_multiply, a) / (2 * n * n * n);
    rates->normal = bench_seconds(floor_normals, a) / FLOOR_COUNT;
    for (size_t i = 0; i < FLOOR_COUNT; i++)
        a[i] = -45.0 * (double)(i % 97) / 97;
    rates->exponential = bench_seconds(floor_exponentials, a) / FLOOR_COUNT;
    moeg_kernel_normals(2, 0, 0, 1, FLOOR_COUNT, a);
    rates->gelu = bench_seconds(floor_activations, a) / FLOOR_COUNT;
    moeg_release(a);
    printf("rates    %.1f GFLOP/s of dgemm, %.2f ns per normal, %.2f per exp, %.2f per GELU (%s)\n", 1e-9 / rates->flop,
           1e9 * rates->normal, 1e9 * rates->exponential, 1e9 * rates->gelu, moeg_kernel_name());
    return 0;
}

#endif
