/* Sampled boundary mass beside its floor: normals and flops at the rates measured in the same run, on one thread. The
 * floor of the full space draws d normals a row, that of the row space K - 1 < d. Two threads beside one.
 *
 * bench_boundary [--quick] */
#include "bench/bench.h"
#include "bench/floor.h"
#include "limit/boundary_job.h"

#include <math.h>
#include <moegeom/moegeom.h>
#include <stdio.h>

/* So many rows that the intervals of the masses, a millisecond of one thread, weigh little. */
enum { WIDTHS = 64, ROWS = 1 << 20 };

typedef struct boundary_case {
    moeg_router *router;
    moeg_law *law;
    int row_space;
    double w[WIDTHS];
    moeg_estimate mass[WIDTHS];
    int failed;
} boundary_case;

static void run_threads(boundary_case *c, int threads)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_MC;
    s.n = ROWS;
    s.max_threads = threads;
    moeg_job *job = NULL;
    moeg_partial *partial = NULL;
    moeg_status status =
        moeg_boundary_job_make("bench", &job, c->router, moeg_gap_margin(), c->law, WIDTHS, c->w, 0, c->row_space, &s);
    if (status == MOEG_OK)
        status = moeg_job_run(job, &s, 0, moeg_job_blocks(job), &partial);
    if (status == MOEG_OK)
        status = moeg_boundary_job_read("bench", job, partial, s.level, &(moeg_boundary_results){.mass = c->mass});
    c->failed |= status != MOEG_OK;
    moeg_partial_free(partial);
    moeg_job_free(job);
}

static void run(void *user)
{
    run_threads(user, 1);
}

static void run_two(void *user)
{
    run_threads(user, 2);
}

static void report(const char *name, const floor_rates *rates, size_t K, size_t d, int row_space, boundary_case *c)
{
    const size_t normals = row_space ? K - 1 : d;
    c->row_space = row_space;
    const double each = bench_seconds(run, c) / ROWS, flops = 2 * (double)(K * normals);
    const double least = flops * rates->flop + (double)normals * rates->normal;
    printf("boundary %-13s %9.1f ns/row, floor %9.1f, floor/time %4.2f  (K %zu, d %zu, %d widths)\n", name, 1e9 * each,
           1e9 * least, least / each, K, d, WIDTHS);
    printf("boundary %-13s two threads are %4.2f times as fast as one\n", name, bench_wall_ratio(run, run_two, c));
}

int main(int argc, char **argv)
{
    enum { K = 8, D = 32 };
    floor_rates rates;
    boundary_case c = {.failed = 0};
    bench_quick(&argc, argv);
    if (floor_measure(&rates) != 0)
        return 1;
    double numbers[K * D + K];
    moeg_kernel_normals(1, 0, 0, 1, K * D + K, numbers);
    for (int j = 0; j < WIDTHS; j++)
        c.w[j] = pow(10, -6 + 7.0 * j / (WIDTHS - 1));
    if (moeg_router_affine_create(&c.router, K, D, numbers, numbers + K * D) != MOEG_OK ||
        moeg_law_gaussian_create(&c.law, D, NULL, NULL) != MOEG_OK)
        return 1;
    report("full space", &rates, K, D, 0, &c);
    report("row space", &rates, K, D, 1, &c);
    moeg_router_free(c.router);
    moeg_law_free(c.law);
    return c.failed;
}
