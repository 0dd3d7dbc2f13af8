/** @file
 * Jobs: work in fixed blocks, whose results merge to the same bits however the work was cut.
 *
 * A job is {units, block size, a flat state of doubles, block(), merge()}. Block b holds the units from b block_size up
 * to, not including, min((b + 1) block_size, units): the last block may be ragged. Node (l, i) is the state of blocks
 * i 2^l .. (i + 1) 2^l - 1, always made as merge(node (l - 1, 2i), node (l - 1, 2i + 1)). A partial result holds the
 * maximal nodes inside its range of blocks, which follow from the range alone; hence any cut at block boundaries, and
 * any order of merging, give the same bits, even though merge() is not associative in floating point. */
#ifndef MOEGEOM_JOB_H
#define MOEGEOM_JOB_H

#include <moegeom/export.h>
#include <moegeom/options.h>
#include <moegeom/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An immutable description of work; safe to share between threads. */
typedef struct moeg_job moeg_job;

/** What has been done of a job: the states of the maximal nodes inside one range of blocks. Not to be changed by two
 * threads at once. */
typedef struct moeg_partial moeg_partial;

/** What a job is made of. */
typedef struct moeg_job_spec {
    const char *name;      /**< For error messages; it must outlive the job. */
    uint64_t units;        /**< Units in total, at least 1. */
    uint64_t block_size;   /**< Units in a block, at least 1: a function of the problem's shape only. */
    size_t state_size;     /**< Doubles in a state, at least 1. All zeros is the empty state. */
    size_t workspace_size; /**< Bytes of scratch for each worker: 64-byte aligned, not cleared; may be 0. */
    void *context;         /**< Handed to the functions below; only read while the job runs. */

    /** Adds units first .. first + count - 1, one whole block, to a zeroed state. Called from several threads.
     *
     * @return #MOEG_OK or an error (negative), which stops the run and is handed to its caller with the message that
     *         the block left in moeg_last_error(), or, if it left none, with the name of the job and the block's index.
     *         A positive status is not for blocks: it stops the run with #MOEG_EINVAL. */
    moeg_status (*block)(const void *context, uint64_t first, uint64_t count, void *workspace, double *state);

    /** left <- left + right, where the units of right follow those of left. Called from several threads. */
    void (*merge)(const void *context, const double *right, double *left);

    /** Frees the context, when the job is freed; may be NULL. */
    void (*destroy)(void *context);
} moeg_job_spec;

/** Makes a job from a copy of the spec. On success the job owns the context; on failure the caller still does.
 *
 * @return #MOEG_OK; #MOEG_EINVAL (a field that does not fit, named); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_job_create(moeg_job **job, const moeg_job_spec *spec);

/** Frees a job and its context. NULL is fine. Partial results may outlive their job. */
MOEG_EXPORT void moeg_job_free(moeg_job *job);

/** The spec that a job was made from; valid while the job lives. NULL of NULL. */
MOEG_EXPORT const moeg_job_spec *moeg_job_get_spec(const moeg_job *job);

/** Number of blocks, ceil(units / block_size); 0 of NULL. */
MOEG_EXPORT uint64_t moeg_job_blocks(const moeg_job *job);

/** Runs blocks first .. end - 1 with the options' runner, and returns what was done.
 *
 * To extend a run, run a further range and merge. To spread a run over processes, each runs a range and exports it.
 * May be called from several threads at once, and from inside a parallel region, a block or a progress callback.
 * In a process that was forked after a run with several threads only max_threads = 1, or a runner of the user's own,
 * works: the OpenMP run-time library hangs there.
 *
 * @param job         the job
 * @param s           read here: max_threads, runner, progress; seed and n are in the job's own context already. A run
 *                    never has more threads than blocks, nor more than 1024.
 * @param first, end  0 <= first <= end <= moeg_job_blocks(); an empty range is fine
 * @param partial     the result, to be freed with moeg_partial_free()
 * @return #MOEG_OK; #MOEG_ECANCELED (written: the longest prefix of the range that was finished, which may be all of
 *         it); #MOEG_EINVAL (also: the runner returned something else than it should); #MOEG_ENOMEM; or what a block
 *         returned, with its message. Blocks are begun in increasing order, and those begun are brought to an end, so
 *         that the failing block reported is the lowest one of the range, whatever the number of threads; an error
 *         goes before a cancellation. Nothing leaks on any path.
 *
 * Memory: one workspace for each thread, and O(threads * log(blocks)) states. */
MOEG_EXPORT moeg_status moeg_job_run(const moeg_job *job, const moeg_sampling *s, uint64_t first, uint64_t end,
                                     moeg_partial **partial);

/** The range of blocks that a partial result covers: first .. end - 1; 0 and 0 of NULL. */
MOEG_EXPORT void moeg_partial_range(const moeg_partial *partial, uint64_t *first, uint64_t *end);

/** Units in the range; 0 of NULL. */
MOEG_EXPORT uint64_t moeg_partial_units(const moeg_partial *partial);

/** Adds `right` to `left`, which then covers both ranges. `right` may follow or precede `left`, but must be adjacent,
 * and both must be partial results of `job`, or of a job of the same shape: units, block size and state size.
 *
 * @return #MOEG_OK; #MOEG_EINVAL (NULL, not adjacent, or of another shape; left untouched); #MOEG_ENOMEM (untouched).
 */
MOEG_EXPORT moeg_status moeg_partial_merge(const moeg_job *job, moeg_partial *left, const moeg_partial *right);

/** Folds the nodes, from the left, into one state of state_size doubles; all zeros for an empty range.
 *
 * @return #MOEG_OK, #MOEG_EINVAL (NULL, or a partial of another shape). */
MOEG_EXPORT moeg_status moeg_partial_state(const moeg_job *job, const moeg_partial *partial, double *state);

/** Frees a partial result. NULL is fine. */
MOEG_EXPORT void moeg_partial_free(moeg_partial *partial);

/** Number of doubles that moeg_partial_export() writes; 0 of NULL. */
MOEG_EXPORT size_t moeg_partial_export_size(const moeg_partial *partial);

/** Writes a partial result as plain doubles, to be sent or stored (on the same kind of machine). The job's name and
 * context are not part of it. Writes nothing for NULL. */
MOEG_EXPORT void moeg_partial_export(const moeg_partial *partial, double *data);

/** Makes a partial result from exported doubles. Never reads past `size`; states are taken as they are.
 *
 * @return #MOEG_OK; #MOEG_EFORMAT (not an export, or not of a job of this shape: the message says where);
 *         #MOEG_EINVAL (NULL); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_partial_import(const moeg_job *job, size_t size, const double *data,
                                            moeg_partial **partial);

/** Something that runs blocks: the default is OpenMP; a user may hand in another through moeg_sampling::runner. */
typedef struct moeg_runner {
    /** Finishes blocks first .. end - 1 of the job, anywhere and in any order, and returns them merged in *partial.
     *
     * A runner cuts the range, has each part run by #moeg_runner_openmp (its run, which does not look at s->runner),
     * and merges the parts with moeg_partial_merge(). Called by moeg_job_run() with arguments already checked.
     * @param self  the runner itself, for its `user`
     * @return #MOEG_OK; #MOEG_ECANCELED, with a prefix of the range in *partial; or an error, of which *partial is
     * freed where it was set. Its message is the one left in moeg_last_error() during the call, or, if there was none,
     * the job's name and the status. */
    moeg_status (*run)(const struct moeg_runner *self, const moeg_job *job, const moeg_sampling *s, uint64_t first,
                       uint64_t end, moeg_partial **partial);
    void *user; /**< The runner's own. */
} moeg_runner;

/** The default runner: OpenMP threads of this process. Its run() checks its arguments as moeg_job_run() does. */
MOEG_EXPORT extern const moeg_runner moeg_runner_openmp;

#ifdef __cplusplus
}
#endif

#endif
