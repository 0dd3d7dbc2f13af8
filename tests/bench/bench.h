/* Timing for the benchmarks. Each takes `--quick`, which times a single batch: whether it works, not how fast. */
#ifndef MOEG_TESTS_BENCH_BENCH_H
#define MOEG_TESTS_BENCH_BENCH_H

#include <string.h>
#include <time.h>

/* Seconds that a case is repeated for. */
static double bench_budget = 0.2;

/* Takes --quick out of the arguments; whether it was there. */
static inline int bench_quick(int *argc, char **argv)
{
    if (*argc < 2 || strcmp(argv[1], "--quick") != 0)
        return 0;
    bench_budget = 0;
    argv[1] = argv[0];
    --*argc;
    return 1;
}

static inline double bench_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline double bench_batch(clockid_t clock, void (*run)(void *user), void *user, int calls)
{
    const double start = bench_clock(clock);
    for (int i = 0; i < calls; i++)
        run(user);
    return bench_clock(clock) - start;
}

/* Seconds of one call of run(user): of the shortest of many batches of calls. A batch is long enough for the clock,
 * which is the processor time of the calling thread that does all the work: what else the machine does is not in it. */
static inline double bench_seconds(void (*run)(void *user), void *user)
{
    const clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
    int calls = 1;
    double best = bench_batch(clock, run, user, calls), spent = 0;
    while (bench_budget > 0 && best < 3e-4) {
        calls *= 2;
        best = bench_batch(clock, run, user, calls);
    }
    while (spent < bench_budget) {
        const double seconds = bench_batch(clock, run, user, calls);
        best = seconds < best ? seconds : best;
        spent += seconds;
    }
    return best / calls;
}

/* How many times as long one run takes as the other, by the clock on the wall: of the shortest of many in turn. */
static inline double bench_wall_ratio(void (*slow)(void *user), void (*fast)(void *user), void *user)
{
    double longest = 1e300, shortest = 1e300, spent = 0;
    do {
        const double a = bench_batch(CLOCK_MONOTONIC, slow, user, 1), b = bench_batch(CLOCK_MONOTONIC, fast, user, 1);
        longest = a < longest ? a : longest;
        shortest = b < shortest ? b : shortest;
        spent += b;
    } while (spent < 4 * bench_budget);
    return longest / shortest;
}

#endif
