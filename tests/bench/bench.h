/* Timing for the benchmarks. */
#ifndef MOEG_TESTS_BENCH_BENCH_H
#define MOEG_TESTS_BENCH_BENCH_H

#include <time.h>

static inline double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds of one call of run(user): the shortest of many, for a tenth of a second. */
static inline double bench_seconds(void (*run)(void *user), void *user)
{
    const double start = bench_now();
    double best = 1e300, before = start;
    do {
        run(user);
        const double after = bench_now();
        best = after - before < best ? after - before : best;
        before = after;
    } while (before - start < 0.1);
    return best;
}

#endif
