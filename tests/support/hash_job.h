/* A job whose result shows every operation and its order: merging hashes left and right, hence is neither associative
 * nor commutative. With the definition of its partial results, written down naively. */
#ifndef MOEG_TESTS_SUPPORT_HASH_JOB_H
#define MOEG_TESTS_SUPPORT_HASH_JOB_H

#include "support/check.h"

#include <moegeom/job.h>
#include <stdlib.h>

/* {hash, units}; the hash is a whole number below 2^53. */
enum { HASH_STATE = 2 };

static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
    uint64_t h = a * UINT64_C(0x9e3779b97f4a7c15) ^ (b + UINT64_C(0x7f4a7c159e3779b9)) * UINT64_C(0xbf58476d1ce4e5b9);
    h ^= h >> 31;
    h *= UINT64_C(0x94d049bb133111eb);
    return (h ^ h >> 29) >> 11;
}

static inline moeg_status hash_block(const void *context, uint64_t first, uint64_t count, void *workspace,
                                     double *state)
{
    (void)context;
    (void)workspace;
    state[0] += (double)hash_mix(first, count);
    state[1] += (double)count;
    return MOEG_OK;
}

static inline void hash_merge(const void *context, const double *right, double *left)
{
    (void)context;
    left[0] = (double)hash_mix((uint64_t)left[0], (uint64_t)right[0]);
    left[1] += right[1];
}

static inline moeg_job_spec hash_spec(uint64_t units, uint64_t block_size)
{
    return (moeg_job_spec){.name = "hash",
                           .units = units,
                           .block_size = block_size,
                           .state_size = HASH_STATE,
                           .block = hash_block,
                           .merge = hash_merge};
}

static inline moeg_job *make_job(const moeg_job_spec *spec)
{
    moeg_job *job = NULL;
    assert_ok(moeg_job_create(&job, spec));
    assert_non_null(job);
    return job;
}

/* Numbers of threads to try: more, too, than there are processors. */
static const int THREADS[] = {1, 2, 5, 8};
enum { THREAD_CASES = sizeof THREADS / sizeof *THREADS };

static inline moeg_sampling with_threads(int threads)
{
    moeg_sampling s = moeg_sampling_default();
    s.max_threads = threads;
    return s;
}

/* Runs a range that must succeed. */
static inline moeg_partial *run_range(const moeg_job *job, int threads, uint64_t first, uint64_t end)
{
    const moeg_sampling s = with_threads(threads);
    moeg_partial *partial = NULL;
    assert_ok(moeg_job_run(job, &s, first, end, &partial));
    assert_non_null(partial);
    return partial;
}

/* Node (level, index), by its definition. */
static inline void naive_node(const moeg_job_spec *spec, unsigned level, uint64_t index, double *state)
{
    if (level > 0) {
        double right[HASH_STATE];
        naive_node(spec, level - 1, 2 * index, state);
        naive_node(spec, level - 1, 2 * index + 1, right);
        spec->merge(spec->context, right, state);
        return;
    }
    const uint64_t first = index * spec->block_size;
    const uint64_t left = spec->units - first;
    memset(state, 0, HASH_STATE * sizeof *state);
    spec->block(spec->context, first, left < spec->block_size ? left : spec->block_size, NULL, state);
}

static inline int node_is_inside(unsigned level, uint64_t index, uint64_t first, uint64_t end)
{
    return index << level >= first && (index + 1) << level <= end;
}

/* The maximal nodes of a range of a few blocks, found by trying all, and folded from the left. */
static inline void naive_state(const moeg_job_spec *spec, uint64_t first, uint64_t end, double *state)
{
    memset(state, 0, HASH_STATE * sizeof *state);
    for (uint64_t block = first, begun = 0; block < end; block++)
        for (unsigned level = 0; level < 16; level++) {
            const uint64_t index = block >> level;
            if (index << level != block || !node_is_inside(level, index, first, end) ||
                node_is_inside(level + 1, index / 2, first, end))
                continue;
            double node[HASH_STATE];
            naive_node(spec, level, index, node);
            if (begun)
                spec->merge(spec->context, node, state);
            else
                memcpy(state, node, sizeof node);
            begun = 1;
        }
}

/* The state of a partial result is, to the bit, that of its range. */
static inline void assert_is_range(const moeg_job *job, const moeg_partial *partial, uint64_t first, uint64_t end)
{
    uint64_t range[2];
    moeg_partial_range(partial, &range[0], &range[1]);
    assert_int_equal(range[0], first);
    assert_int_equal(range[1], end);
    double expected[HASH_STATE], actual[HASH_STATE] = {NAN, NAN};
    naive_state(moeg_job_get_spec(job), first, end, expected);
    assert_ok(moeg_partial_state(job, partial, actual));
    assert_memory_equal(actual, expected, sizeof expected);
    assert_int_equal(moeg_partial_units(partial), (uint64_t)expected[1]);
}

#endif
