/* The inside of jobs and partial results, shared by job.c, partial.c and runner_openmp.c. */
#ifndef MOEG_BASE_JOB_H
#define MOEG_BASE_JOB_H

#include <moegeom/job.h>

struct moeg_job {
    moeg_job_spec spec;
    uint64_t blocks;
};

/* Dyadic node (level, index): the state of blocks index 2^level .. (index + 1) 2^level - 1. */
typedef struct moeg_node {
    struct moeg_node *next; /* the owner's, for lists */
    unsigned level;
    uint64_t index;
    _Alignas(64) double state[];
} moeg_node;

/* Inside a range of 64-bit indices, maximal nodes rise in size, at most once for each level, and then fall. */
enum { MOEG_LEVELS = 64, MOEG_NODES = 2 * MOEG_LEVELS };

struct moeg_partial {
    uint64_t units, block_size; /* the shape of the job, with state_size */
    size_t state_size;
    uint64_t first, end;
    size_t count;
    moeg_node *nodes[MOEG_NODES]; /* count of them, the maximal ones of the range, from the left */
};

/* A node with uninitialised fields, to be freed with moeg_release(), or NULL. */
moeg_node *moeg_node_create(const moeg_job *job);

/* Whether two nodes are the children of one: the left one even. */
int moeg_node_are_siblings(const moeg_node *left, const moeg_node *right);

/* Turns `left` into the parent of the siblings `left` and `right`. The caller then disposes of `right`. */
void moeg_node_absorb(const moeg_job *job, moeg_node *left, const moeg_node *right);

/* The level of the maximal node that begins at block `first` of the range first .. end - 1, not empty. */
unsigned moeg_dyadic_level(uint64_t first, uint64_t end);

/* Units in blocks first .. end - 1 of a job of this shape. */
uint64_t moeg_units_between(uint64_t units, uint64_t block_size, uint64_t first, uint64_t end);

/* The partial result of an empty range that begins at block `first`, or NULL. */
moeg_partial *moeg_partial_create(const moeg_job *job, uint64_t first);

/* Appends a node that begins where the range ends, merging siblings. The partial result owns the node. */
void moeg_partial_push(const moeg_job *job, moeg_partial *partial, moeg_node *node);

/* Whether a partial result is of a job of this shape. */
int moeg_partial_fits(const moeg_job *job, const moeg_partial *partial);

/* Reads the count `value`, called `what`, of state[at]: MOEG_OK, or MOEG_EINVAL if it is not a whole number from
 * `least` to `most`, as in a partial result whose export was damaged: states are imported as they are. */
moeg_status moeg_partial_count(const char *function, const char *what, size_t at, double value, uint64_t least,
                               uint64_t most, uint64_t *count);

/* The arguments of a run, checked on behalf of `function`: MOEG_OK or MOEG_EINVAL. */
moeg_status moeg_job_check_run(const char *function, const moeg_job *job, const moeg_sampling *s, uint64_t first,
                               uint64_t end, moeg_partial *const *partial);

#endif
