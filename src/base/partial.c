#include "base/error.h"
#include "base/job.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

moeg_node *moeg_node_create(const moeg_job *job)
{
    /* moeg_job_create() has seen to it that this does not overflow. */
    return moeg_alloc(1, sizeof(moeg_node) + job->spec.state_size * sizeof(double));
}

int moeg_node_are_siblings(const moeg_node *left, const moeg_node *right)
{
    return left->level == right->level && left->index % 2 == 0 && right->index == left->index + 1;
}

void moeg_node_absorb(const moeg_job *job, moeg_node *left, const moeg_node *right)
{
    job->spec.merge(job->spec.context, right->state, left->state);
    left->level++;
    left->index /= 2;
}

unsigned moeg_dyadic_level(uint64_t first, uint64_t end)
{
    unsigned level = 0;
    while (level + 1 < MOEG_LEVELS) {
        const uint64_t size = UINT64_C(2) << level;
        if (first % size != 0 || end - first < size)
            break;
        level++;
    }
    return level;
}

moeg_partial *moeg_partial_create(const moeg_job *job, uint64_t first)
{
    moeg_partial *partial = moeg_alloc(1, sizeof *partial);
    if (partial == NULL)
        return NULL;
    partial->units = job->spec.units;
    partial->block_size = job->spec.block_size;
    partial->state_size = job->spec.state_size;
    partial->first = first;
    partial->end = first;
    partial->count = 0;
    return partial;
}

void moeg_partial_free(moeg_partial *partial)
{
    if (partial == NULL)
        return;
    for (size_t i = 0; i < partial->count; i++)
        moeg_release(partial->nodes[i]);
    moeg_release(partial);
}

void moeg_partial_push(const moeg_job *job, moeg_partial *partial, moeg_node *node)
{
    partial->end += UINT64_C(1) << node->level;
    partial->nodes[partial->count++] = node;
    /* The range before the node is a stack of its maximal nodes, so a sibling can only be on top of it. */
    while (partial->count >= 2) {
        moeg_node *right = partial->nodes[partial->count - 1];
        moeg_node *left = partial->nodes[partial->count - 2];
        if (!moeg_node_are_siblings(left, right))
            break;
        moeg_node_absorb(job, left, right);
        moeg_release(right);
        partial->count--;
    }
}

int moeg_partial_fits(const moeg_job *job, const moeg_partial *partial)
{
    return partial->units == job->spec.units && partial->block_size == job->spec.block_size &&
           partial->state_size == job->spec.state_size;
}

void moeg_partial_range(const moeg_partial *partial, uint64_t *first, uint64_t *end)
{
    *first = partial != NULL ? partial->first : 0;
    *end = partial != NULL ? partial->end : 0;
}

uint64_t moeg_units_between(uint64_t units, uint64_t block_size, uint64_t first, uint64_t end)
{
    if (first == end)
        return 0;
    /* Only the last block may be ragged; its nominal end may be beyond 64 bits. */
    const uint64_t stop = end <= units / block_size ? end * block_size : units;
    return stop - first * block_size;
}

uint64_t moeg_partial_units(const moeg_partial *partial)
{
    if (partial == NULL)
        return 0;
    return moeg_units_between(partial->units, partial->block_size, partial->first, partial->end);
}

/* MOEG_OK, or MOEG_EINVAL if a partial result is NULL or of another shape than the job. */
static moeg_status check_fit(const char *function, const char *name, const moeg_job *job, const moeg_partial *partial)
{
    const moeg_status status = moeg_check_pointer(function, name, partial);
    if (status != MOEG_OK || moeg_partial_fits(job, partial))
        return status;
    return moeg_fail(MOEG_EINVAL,
                     "%s: %s must be of the shape of job %s (units %" PRIu64 ", block_size %" PRIu64
                     ", state_size %zu), got (%" PRIu64 ", %" PRIu64 ", %zu)",
                     function, name, job->spec.name, job->spec.units, job->spec.block_size, job->spec.state_size,
                     partial->units, partial->block_size, partial->state_size);
}

/* A deep copy, or NULL. */
static moeg_partial *copy(const moeg_job *job, const moeg_partial *partial)
{
    moeg_partial *made = moeg_partial_create(job, partial->first);
    if (made == NULL)
        return NULL;
    for (; made->count < partial->count; made->count++) {
        const moeg_node *node = partial->nodes[made->count];
        moeg_node *twin = moeg_node_create(job);
        if (twin == NULL) {
            moeg_partial_free(made);
            return NULL;
        }
        twin->level = node->level;
        twin->index = node->index;
        memcpy(twin->state, node->state, job->spec.state_size * sizeof(double));
        made->nodes[made->count] = twin;
    }
    made->end = partial->end;
    return made;
}

moeg_status moeg_partial_merge(const moeg_job *job, moeg_partial *left, const moeg_partial *right)
{
    moeg_status status = moeg_check_pointer("partial_merge", "job", job);
    if (status == MOEG_OK)
        status = check_fit("partial_merge", "left", job, left);
    if (status == MOEG_OK)
        status = check_fit("partial_merge", "right", job, right);
    if (status != MOEG_OK)
        return status;
    if (left->end != right->first && right->end != left->first)
        return moeg_fail(MOEG_EINVAL,
                         "partial_merge: the ranges must be adjacent, got blocks [%" PRIu64 ", %" PRIu64
                         ") and [%" PRIu64 ", %" PRIu64 ")",
                         left->first, left->end, right->first, right->end);
    /* Nothing is merged before everything that can fail is done. */
    moeg_partial *other = copy(job, right);
    if (other == NULL)
        return moeg_fail_memory("partial_merge");
    if (left->end != right->first) {
        const moeg_partial lower = *other;
        *other = *left;
        *left = lower;
    }
    for (size_t i = 0; i < other->count; i++)
        moeg_partial_push(job, left, other->nodes[i]);
    other->count = 0;
    moeg_partial_free(other);
    return MOEG_OK;
}

moeg_status moeg_partial_state(const moeg_job *job, const moeg_partial *partial, double *state)
{
    moeg_status status = moeg_check_pointer("partial_state", "job", job);
    if (status == MOEG_OK)
        status = check_fit("partial_state", "partial", job, partial);
    if (status == MOEG_OK)
        status = moeg_check_pointer("partial_state", "state", state);
    if (status != MOEG_OK)
        return status;
    const size_t bytes = job->spec.state_size * sizeof(double);
    if (partial->count == 0)
        memset(state, 0, bytes);
    else
        memcpy(state, partial->nodes[0]->state, bytes);
    for (size_t i = 1; i < partial->count; i++)
        job->spec.merge(job->spec.context, partial->nodes[i]->state, state);
    return MOEG_OK;
}

moeg_status moeg_partial_count(const char *function, const char *what, size_t at, double value, uint64_t least,
                               uint64_t most, uint64_t *count)
{
    /* Whole numbers below 2^64 convert exactly; what is not one, NaN included, must not be converted at all. */
    const int whole = value >= 0 && value < 0x1p64 && value == floor(value);
    const uint64_t read = whole ? (uint64_t)value : 0;
    if (!whole || read < least || read > most)
        return moeg_fail(MOEG_EINVAL,
                         "%s: the partial result is damaged: %s (state[%zu]) must be a whole number from %" PRIu64
                         " to %" PRIu64 ", got %.17g",
                         function, what, at, least, most, value);
    *count = read;
    return MOEG_OK;
}
