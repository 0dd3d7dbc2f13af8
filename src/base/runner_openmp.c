/* The default runner. Workers take blocks in increasing order, one at a time; the state of a finished block becomes a
 * dyadic node, which merges with its sibling as soon as that is there too. With T threads at most T blocks are begun
 * and not finished, and between two of them the maximal nodes are O(log(blocks)): so many states live at once. */
#include "base/error.h"
#include "base/guard.h"
#include "base/job.h"
#include "base/memory.h"

#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

/* The longest message that is handed from a worker to the caller, and the most threads of a run: OpenMP ends the
 * process where it cannot start a thread, which a typing error in max_threads must not do. */
enum { MESSAGE = 512, MAX_THREADS = 1024 };

/* A run in progress. Everything below the lock is read and written under it. */
typedef struct run {
    const moeg_job *job;
    const moeg_sampling *s;
    uint64_t end, units; /* units of the run */
    omp_lock_t lock;
    uint64_t next, done;            /* the first block that nobody has taken; units finished */
    moeg_node *levels[MOEG_LEVELS]; /* finished nodes without a finished sibling */
    moeg_node *spare;               /* nodes to be used again */
    int canceled;
    moeg_status status;    /* MOEG_OK, or of the lowest block that failed */
    uint64_t failed;       /* its index */
    char message[MESSAGE]; /* its message */
} run;

/* A node for the state of a block, zeroed, or NULL. */
static moeg_node *take_node(run *r)
{
    omp_set_lock(&r->lock);
    moeg_node *node = r->spare;
    if (node != NULL)
        r->spare = node->next;
    omp_unset_lock(&r->lock);
    if (node == NULL)
        node = moeg_node_create(r->job);
    if (node != NULL)
        memset(node->state, 0, r->job->spec.state_size * sizeof(double));
    return node;
}

/* Takes a node out of those finished; NULL if it is not there. Under the lock. */
static moeg_node *detach(run *r, unsigned level, uint64_t index)
{
    for (moeg_node **link = &r->levels[level]; *link != NULL; link = &(*link)->next)
        if ((*link)->index == index) {
            moeg_node *node = *link;
            *link = node->next;
            return node;
        }
    return NULL;
}

/* Adds a finished node, merging siblings; the merging itself is done outside the lock, on nodes that only this worker
 * knows of. */
static void add_node(run *r, moeg_node *node)
{
    omp_set_lock(&r->lock);
    moeg_node *sibling;
    while ((sibling = detach(r, node->level, node->index ^ 1)) != NULL) {
        omp_unset_lock(&r->lock);
        moeg_node *left = node->index % 2 == 0 ? node : sibling;
        moeg_node *right = left == node ? sibling : node;
        moeg_node_absorb(r->job, left, right);
        node = left;
        omp_set_lock(&r->lock);
        right->next = r->spare;
        r->spare = right;
    }
    node->next = r->levels[node->level];
    r->levels[node->level] = node;
    omp_unset_lock(&r->lock);
}

/* Takes the next block, unless there is none or the run is to stop. */
static int take_block(run *r, uint64_t *block)
{
    omp_set_lock(&r->lock);
    const int taken = r->next < r->end && r->status == MOEG_OK && !r->canceled;
    if (taken)
        *block = r->next++;
    omp_unset_lock(&r->lock);
    return taken;
}

/* Counts a finished block, and tells the host about it. */
static void report_progress(run *r, uint64_t units)
{
    omp_set_lock(&r->lock);
    r->done += units;
    if (r->s->progress != NULL && r->status == MOEG_OK && !r->canceled)
        r->canceled = r->s->progress(r->done, r->units, r->s->progress_user) != 0;
    omp_unset_lock(&r->lock);
}

/* Stops the run with this thread's last error, unless a lower block has stopped it already. */
static void report_failure(run *r, uint64_t block, moeg_status status)
{
    omp_set_lock(&r->lock);
    if (r->status == MOEG_OK || block < r->failed) {
        r->status = status;
        r->failed = block;
        snprintf(r->message, sizeof r->message, "%s", moeg_last_error());
    }
    omp_unset_lock(&r->lock);
}

/* Runs one block into a zeroed state: MOEG_OK, or an error that has a message. This thread's last error is cleared
 * first, so that a block which sets none is not given an old one. */
static moeg_status run_block(const run *r, uint64_t block, uint64_t units, void *workspace, double *state)
{
    const moeg_job_spec *spec = &r->job->spec;
    moeg_fail(MOEG_OK, "%s", "");
    const moeg_status status = spec->block(spec->context, block * spec->block_size, units, workspace, state);
    if (status > 0)
        return moeg_fail(MOEG_EINVAL, "job %s: block %" PRIu64 " must return MOEG_OK or an error, got %d (%s)",
                         spec->name, block, (int)status, moeg_status_name(status));
    if (status != MOEG_OK && moeg_last_error()[0] == '\0')
        return moeg_fail(status, "job %s: block %" PRIu64 " returned %d (%s)", spec->name, block, (int)status,
                         moeg_status_name(status));
    return status;
}

/* Takes and runs blocks until there are no more. */
static void run_blocks(run *r, void *workspace)
{
    uint64_t block;
    while (take_block(r, &block)) {
        const uint64_t units = moeg_units_between(r->job->spec.units, r->job->spec.block_size, block, block + 1);
        moeg_node *node = take_node(r);
        if (node == NULL) {
            report_failure(r, block, moeg_fail_memory("job_run"));
            return;
        }
        node->level = 0;
        node->index = block;
        const moeg_status status = run_block(r, block, units, workspace, node->state);
        if (status != MOEG_OK) {
            moeg_release(node);
            report_failure(r, block, status);
            return;
        }
        add_node(r, node);
        report_progress(r, units);
    }
}

/* What one thread does. Its last error is left as it was: the caller's own thread works too, and a run that succeeds
 * must not touch it. */
static void work(run *r)
{
    char saved[MESSAGE];
    snprintf(saved, sizeof saved, "%s", moeg_last_error());
    void *workspace = moeg_alloc(1, r->job->spec.workspace_size);
    if (workspace != NULL)
        run_blocks(r, workspace);
    else
        report_failure(r, r->end, moeg_fail_memory("job_run"));
    moeg_release(workspace);
    moeg_fail(MOEG_OK, "%s", saved);
}

static void run_parallel(run *r)
{
    const uint64_t blocks = r->end - r->next;
    int threads = r->s->max_threads > 0 ? r->s->max_threads : omp_get_max_threads();
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    if ((uint64_t)threads > blocks)
        threads = (int)blocks;
    omp_init_lock(&r->lock);
    moeg_guard_enter();
    if (threads == 1) {
        work(r); /* Without the memory that a team of threads takes, for want of which the process would end. */
    } else {
#pragma omp parallel num_threads(threads)
        work(r);
    }
    moeg_guard_leave();
    omp_destroy_lock(&r->lock);
}

/* Moves the nodes of the blocks that were taken, all of them finished, into `partial`. */
static void collect(run *r, moeg_partial *partial)
{
    while (partial->end < r->next) {
        const unsigned level = moeg_dyadic_level(partial->end, r->next);
        moeg_partial_push(r->job, partial, detach(r, level, partial->end >> level));
    }
}

static void release_list(moeg_node *node)
{
    while (node != NULL) {
        moeg_node *next = node->next;
        moeg_release(node);
        node = next;
    }
}

static moeg_status run_openmp(const moeg_runner *self, const moeg_job *job, const moeg_sampling *s, uint64_t first,
                              uint64_t end, moeg_partial **partial)
{
    (void)self;
    moeg_status status = moeg_job_check_run("runner_openmp", job, s, first, end, partial);
    if (status != MOEG_OK)
        return status;
    moeg_partial *result = moeg_partial_create(job, first);
    if (result == NULL)
        return moeg_fail_memory("job_run");
    if (first == end) {
        *partial = result;
        return MOEG_OK;
    }
    run r = {.job = job, .s = s, .end = end, .next = first};
    r.units = moeg_units_between(job->spec.units, job->spec.block_size, first, end);
    run_parallel(&r);
    if (r.status != MOEG_OK) {
        status = moeg_fail(r.status, "%s", r.message);
        moeg_partial_free(result);
    } else {
        collect(&r, result);
        *partial = result;
        if (r.canceled)
            status = moeg_fail(MOEG_ECANCELED,
                               "job %s: canceled by the progress callback after %" PRIu64 " of %" PRIu64 " units",
                               job->spec.name, r.done, r.units);
    }
    for (unsigned level = 0; level < MOEG_LEVELS; level++)
        release_list(r.levels[level]);
    release_list(r.spare);
    return status;
}

const moeg_runner moeg_runner_openmp = {.run = run_openmp, .user = NULL};
