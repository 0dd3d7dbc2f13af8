/* Timing for the benchmarks. */
#ifndef MOEG_TESTS_BENCH_BENCH_H
#define MOEG_TESTS_BENCH_BENCH_H

#include <time.h>

/* Processor time of the calling thread, which does all the work: what else the machine does is not in it. */
static inline double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline double bench_batch(void (*run)(void *user), void *user, int calls)
{
    const double start = bench_now();
    for (int i = 0; i < calls; i++)
        run(user);
    return bench_now() - start;
}

/* Seconds of one call of run(user): of the shortest of many batches of calls, for a tenth of a second. A batch is long
 * enough for the clock. */
static inline double bench_seconds(void (*run)(void *user), void *user)
{
    int calls = 1;
    while (bench_batch(run, user, calls) < 3e-4)
        calls *= 2;
    double best = 1e300, spent = 0;
    while (spent < 0.1) {
        const double seconds = bench_batch(run, user, calls);
        best = seconds < best ? seconds : best;
        spent += seconds;
    }
    return best / calls;
}

#endif
