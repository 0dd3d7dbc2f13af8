/* Runs of the flow of a teacher in halves, from random states. */
#ifndef MOEG_TESTS_DYNAMICS_FLOW_RUNS_H
#define MOEG_TESTS_DYNAMICS_FLOW_RUNS_H

#include "support/check.h"
#include "support/random.h"

#include <moegeom/flow.h>
#include <stdlib.h>

enum { ROWS = 60 };
static const double v2[2] = {1, 0}, beta2[2] = {0.7, 1.1};

static inline moeg_flow *make_plane(double teacher_tau, const moeg_flow_options *options)
{
    const moeg_halves halves = {.d = 2, .outputs = 1, .v = v2, .beta = beta2, .tau = teacher_tau};
    moeg_flow *flow = NULL;
    assert_ok(moeg_flow_plane_create(&halves, 1, options, &flow));
    return flow;
}

/* A run from a random state of this size to `end`, in ROWS even steps. Returns its states, to be freed. */
static inline double *run(const moeg_flow *flow, double size, uint64_t seed, double end, double *times, double *risks)
{
    const size_t d = moeg_flow_router_size(flow), q = moeg_flow_contrast_size(flow);
    double *states = malloc(ROWS * (d + q + moeg_flow_symmetric_size(flow)) * sizeof *states);
    double *start = malloc((d + q) * sizeof *start);
    for (size_t i = 0; i < d + q; i++)
        start[i] = size * next_uniform(&seed);
    for (int i = 0; i < ROWS; i++)
        times[i] = end * i / (ROWS - 1);
    assert_ok(moeg_flow_run(flow, start, start + d, ROWS, times, 1e-8, 1e-14 * size, states, risks));
    free(start);
    return states;
}

#endif
