/* Partial results whose export was altered. */
#ifndef MOEG_TESTS_LIMIT_DAMAGE_H
#define MOEG_TESTS_LIMIT_DAMAGE_H

#include "support/check.h"

#include <moegeom/moegeom.h>
#include <stdlib.h>

/* A partial result of one node with state[at] set to `value`. */
static inline moeg_partial *damaged(const moeg_job *job, const moeg_partial *whole, size_t at, double value)
{
    const size_t size = moeg_partial_export_size(whole), state_size = moeg_job_get_spec(job)->state_size;
    double *data = malloc(size * sizeof *data);
    moeg_partial *made = NULL;
    moeg_partial_export(whole, data);
    /* The first node carries the damage; the others are added to it. */
    const size_t nodes = (size_t)data[11];
    assert_true(nodes > 0 && at < state_size);
    data[size - nodes * state_size + at] = value;
    assert_ok(moeg_partial_import(job, size, data, &made));
    free(data);
    return made;
}

/* A runner whose results come back with state[at] set to `value`. */
struct damage {
    size_t at;
    double value;
};

static inline moeg_status run_and_damage(const moeg_runner *self, const moeg_job *job, const moeg_sampling *s,
                                         uint64_t first, uint64_t end, moeg_partial **partial)
{
    const struct damage *damage = self->user;
    moeg_partial *whole = NULL;
    assert_ok(moeg_runner_openmp.run(&moeg_runner_openmp, job, s, first, end, &whole));
    *partial = damaged(job, whole, damage->at, damage->value);
    moeg_partial_free(whole);
    return MOEG_OK;
}

/* What no count can be: not whole, negative, out of range of any integer, no number. */
static const double no_counts[] = {-1, 0.5, 1e300, -1e300, NAN, INFINITY, -INFINITY, 0x1p64};
enum { NO_COUNTS = sizeof no_counts / sizeof *no_counts };

#endif
