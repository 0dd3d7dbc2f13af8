/** @file
 * Jobs: work in fixed blocks, whose results merge to the same bits however it was cut.
 *
 * A job is {units, block size, a flat state of doubles, block(), merge()}. Block b holds units [b B, min((b + 1) B,
 * n)). A partial result over a range of blocks holds the states of the maximal dyadic nodes of the range: node (l, i)
 * is the merge of blocks i 2^l .. (i + 1) 2^l - 1, always as merge(node(l - 1, 2i), node(l - 1, 2i + 1)). Any cut at a
 * block boundary therefore merges to the same bits, and a run in progress holds O(threads * log blocks) states. */
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

/** What has been done of a job: the states of the maximal dyadic nodes of one range of blocks. */
typedef struct moeg_partial moeg_partial;

/** What a job is made of. */
typedef struct moeg_job_spec {
    const char *name;      /**< For error messages; a static string. */
    uint64_t units;        /**< Units in total, at least 1. */
    uint64_t block_size;   /**< Units in a block, at least 1: a function of the problem's shape only. */
    size_t state_size;     /**< Doubles in a state, at least 1. All zeros is the empty state. */
    size_t workspace_size; /**< Bytes of scratch that a worker needs; 64-byte aligned, not cleared, may be 0. */
    void *context;         /**< Handed to the functions; read only while the job runs. */
    /** Adds units first .. first + count - 1 to a zeroed state. Called from several threads. */
    moeg_status (*block)(const void *context, uint64_t first, uint64_t count, void *workspace, double *state);
    /** left <- left + right; right follows left. */
    void (*merge)(const void *context, const double *right, double *left);
    /** Frees the context, when the job is freed; may be NULL. */
    void (*destroy)(void *context);
} moeg_job_spec;

/** Makes a job. On success it owns the context; on failure the caller still does.
 *
 * @return #MOEG_OK; #MOEG_EINVAL (a field that does not fit, named); #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_job_create(moeg_job **job, const moeg_job_spec *spec);

/** Frees a job and its context. NULL is fine. */
MOEG_EXPORT void moeg_job_free(moeg_job *job);

/** The spec that a job was made from; valid while the job lives. */
MOEG_EXPORT const moeg_job_spec *moeg_job_get_spec(const moeg_job *job);

/** Number of blocks, ceil(units / block_size). */
MOEG_EXPORT uint64_t moeg_job_blocks(const moeg_job *job);

/** Runs blocks first .. end - 1 with the options' runner, and returns what was done.
 *
 * To extend: run a further range and merge. To spread a run over processes: each runs a range and exports it.
 * @param s        seed and n are the job's own, already in its context; read here: max_threads, runner, progress
 * @param first, end  0 <= first <= end <= moeg_job_blocks(); an empty range is fine
 * @param partial  the result, to be freed with moeg_partial_free()
 * @return #MOEG_OK; #MOEG_ECANCELED (written: the longest prefix of the range that was finished); #MOEG_EINVAL;
 *         #MOEG_ENOMEM; or what a block returned (the first failing block in block order among those run), with its
 *         message. Nothing leaks on any path. Memory O(threads * log(blocks) * state_size). */
MOEG_EXPORT moeg_status moeg_job_run(const moeg_job *job, const moeg_sampling *s, uint64_t first, uint64_t end,
                                     moeg_partial **partial);

/** The range of blocks that a partial result covers. */
MOEG_EXPORT void moeg_partial_range(const moeg_partial *partial, uint64_t *first, uint64_t *end);

/** Units in the range. */
MOEG_EXPORT uint64_t moeg_partial_units(const moeg_partial *partial);

/** Appends `right` to `left`, in either order of blocks: the ranges must be adjacent, the jobs of the same shape.
 *
 * @return #MOEG_OK; #MOEG_EINVAL (not adjacent, or of another shape; left untouched); #MOEG_ENOMEM (untouched). */
MOEG_EXPORT moeg_status moeg_partial_merge(const moeg_job *job, moeg_partial *left, const moeg_partial *right);

/** Folds the nodes, from the left, into one state of state_size doubles.
 *
 * @return #MOEG_OK, #MOEG_EINVAL (NULL, or a partial of another shape). */
MOEG_EXPORT moeg_status moeg_partial_state(const moeg_job *job, const moeg_partial *partial, double *state);

/** Frees a partial result. NULL is fine. */
MOEG_EXPORT void moeg_partial_free(moeg_partial *partial);

/** Number of doubles that moeg_partial_export() writes. */
MOEG_EXPORT size_t moeg_partial_export_size(const moeg_partial *partial);

/** Writes a partial result as plain doubles, to be sent or stored (on the same kind of machine). */
MOEG_EXPORT void moeg_partial_export(const moeg_partial *partial, double *data);

/** Makes a partial result from exported doubles.
 *
 * @return #MOEG_OK; #MOEG_EFORMAT (not an export, or of a job of another shape); #MOEG_EINVAL; #MOEG_ENOMEM. */
MOEG_EXPORT moeg_status moeg_partial_import(const moeg_job *job, size_t size, const double *data,
                                            moeg_partial **partial);

/** Something that runs blocks: the default is OpenMP; a user may hand in another through moeg_sampling::runner.
 *
 * run() must finish blocks first .. end - 1 of the job, anywhere and in any order, and return them merged: a runner
 * cuts the range, has each part run by #moeg_runner_openmp (its run()), and merges with moeg_partial_merge(). */
typedef struct moeg_runner {
    /** Runs blocks first .. end - 1 of the job; the result belongs to the caller. */
    moeg_status (*run)(const struct moeg_runner *self, const moeg_job *job, const moeg_sampling *s, uint64_t first,
                       uint64_t end, moeg_partial **partial);
    void *user; /**< The runner's own. */
} moeg_runner;

/** The default runner: OpenMP threads of this process. */
MOEG_EXPORT extern const moeg_runner moeg_runner_openmp;

#ifdef __cplusplus
}
#endif

#endif
