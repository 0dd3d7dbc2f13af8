/* Partial results as plain doubles: a header of words, then the states of the nodes from the left.
 *
 * Every word is a whole number that a double holds exactly; 64-bit fields take two, the high half first. */
#include "base/error.h"
#include "base/job.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* "moegJ1" in six bytes: read in another byte order it is another number. */
static const double MAGIC = (double)0x6d6f65674a31;

/* Where the words stand. */
enum { AT_MAGIC, AT_UNITS, AT_BLOCK_SIZE = 3, AT_STATE_SIZE = 5, AT_FIRST = 7, AT_END = 9, AT_COUNT = 11, HEADER };

static void put(double *data, size_t at, uint64_t value)
{
    data[at] = (double)(value >> 32);
    data[at + 1] = (double)(value & UINT32_MAX);
}

/* The field at data[at], data[at + 1]: MOEG_OK or MOEG_EFORMAT. */
static moeg_status get(const double *data, size_t at, uint64_t *value)
{
    uint64_t halves[2];
    for (size_t i = 0; i < 2; i++) {
        const double word = data[at + i];
        if (!(word >= 0 && word <= UINT32_MAX && word == floor(word) && !signbit(word)))
            return moeg_fail(MOEG_EFORMAT, "partial_import: data[%zu] must be a whole number below 2^32, got %g",
                             at + i, word);
        halves[i] = (uint64_t)word;
    }
    *value = halves[0] << 32 | halves[1];
    return MOEG_OK;
}

/* Reads a field and compares it with the job's. */
static moeg_status expect(const moeg_job *job, const double *data, size_t at, const char *name, uint64_t expected)
{
    uint64_t value = 0;
    const moeg_status status = get(data, at, &value);
    if (status == MOEG_OK && value != expected)
        return moeg_fail(MOEG_EFORMAT, "partial_import: %s must be %" PRIu64 " as in job %s, got %" PRIu64, name,
                         expected, job->spec.name, value);
    return status;
}

/* The number of maximal nodes of a range. */
static size_t count_nodes(uint64_t first, uint64_t end)
{
    size_t count = 0;
    for (; first < end; count++)
        first += UINT64_C(1) << moeg_dyadic_level(first, end);
    return count;
}

/* Everything but the states: on success, *first and *end. */
static moeg_status read_header(const moeg_job *job, size_t size, const double *data, uint64_t *first, uint64_t *end)
{
    if (size < HEADER)
        return moeg_fail(MOEG_EFORMAT, "partial_import: size must be at least the %d doubles of the header, got %zu",
                         (int)HEADER, size);
    if (data[AT_MAGIC] != MAGIC)
        return moeg_fail(MOEG_EFORMAT, "partial_import: data[0] must be %.17g, the mark of a partial result, got %.17g",
                         MAGIC, data[AT_MAGIC]);
    moeg_status status = expect(job, data, AT_UNITS, "units", job->spec.units);
    if (status == MOEG_OK)
        status = expect(job, data, AT_BLOCK_SIZE, "block_size", job->spec.block_size);
    if (status == MOEG_OK)
        status = expect(job, data, AT_STATE_SIZE, "state_size", job->spec.state_size);
    if (status == MOEG_OK)
        status = get(data, AT_FIRST, first);
    if (status == MOEG_OK)
        status = get(data, AT_END, end);
    if (status != MOEG_OK)
        return status;
    if (*first > *end || *end > job->blocks)
        return moeg_fail(MOEG_EFORMAT,
                         "partial_import: the range must be inside the %" PRIu64 " blocks of job %s, got [%" PRIu64
                         ", %" PRIu64 ")",
                         job->blocks, job->spec.name, *first, *end);
    const size_t count = count_nodes(*first, *end);
    if (data[AT_COUNT] != (double)count)
        return moeg_fail(MOEG_EFORMAT, "partial_import: blocks [%" PRIu64 ", %" PRIu64 ") must have %zu nodes, got %g",
                         *first, *end, count, data[AT_COUNT]);
    size_t states;
    if (moeg_multiply_overflows(count, job->spec.state_size, &states) || size - HEADER != states)
        return moeg_fail(MOEG_EFORMAT, "partial_import: size must be %d + %zu nodes of %zu doubles, got %zu",
                         (int)HEADER, count, job->spec.state_size, size);
    return MOEG_OK;
}

size_t moeg_partial_export_size(const moeg_partial *partial)
{
    return partial != NULL ? HEADER + partial->count * partial->state_size : 0;
}

void moeg_partial_export(const moeg_partial *partial, double *data)
{
    if (partial == NULL)
        return;
    data[AT_MAGIC] = MAGIC;
    put(data, AT_UNITS, partial->units);
    put(data, AT_BLOCK_SIZE, partial->block_size);
    put(data, AT_STATE_SIZE, partial->state_size);
    put(data, AT_FIRST, partial->first);
    put(data, AT_END, partial->end);
    data[AT_COUNT] = (double)partial->count;
    for (size_t i = 0; i < partial->count; i++)
        memcpy(data + HEADER + i * partial->state_size, partial->nodes[i]->state, partial->state_size * sizeof *data);
}

moeg_status moeg_partial_import(const moeg_job *job, size_t size, const double *data, moeg_partial **partial)
{
    uint64_t first = 0, end = 0;
    moeg_status status = moeg_check_pointer("partial_import", "job", job);
    if (status == MOEG_OK)
        status = moeg_check_pointer("partial_import", "data", data);
    if (status == MOEG_OK)
        status = moeg_check_pointer("partial_import", "partial", partial);
    if (status == MOEG_OK)
        status = read_header(job, size, data, &first, &end);
    if (status != MOEG_OK)
        return status;
    moeg_partial *made = moeg_partial_create(job, first);
    if (made == NULL)
        return moeg_fail_memory("partial_import");
    for (const double *state = data + HEADER; made->end < end; state += job->spec.state_size) {
        moeg_node *node = moeg_node_create(job);
        if (node == NULL) {
            moeg_partial_free(made);
            return moeg_fail_memory("partial_import");
        }
        node->level = moeg_dyadic_level(made->end, end);
        node->index = made->end >> node->level;
        memcpy(node->state, state, job->spec.state_size * sizeof *state);
        moeg_partial_push(job, made, node);
    }
    *partial = made;
    return MOEG_OK;
}
