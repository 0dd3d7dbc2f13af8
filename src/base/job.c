#include "base/job.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>

/* MOEG_OK, or MOEG_EINVAL naming the first field that does not fit. */
static moeg_status check_spec(const moeg_job_spec *spec)
{
    if (spec->name == NULL)
        return moeg_fail(MOEG_EINVAL, "job_create: name must not be NULL");
    if (spec->units == 0)
        return moeg_fail(MOEG_EINVAL, "job_create: units of job %s must be at least 1, got 0", spec->name);
    if (spec->block_size == 0)
        return moeg_fail(MOEG_EINVAL, "job_create: block_size of job %s must be at least 1, got 0", spec->name);
    if (spec->state_size == 0)
        return moeg_fail(MOEG_EINVAL, "job_create: state_size of job %s must be at least 1, got 0", spec->name);
    if (spec->state_size > PTRDIFF_MAX / (2 * sizeof(double)))
        return moeg_fail(MOEG_EINVAL, "job_create: state_size of job %s must be at most %zu, got %zu", spec->name,
                         PTRDIFF_MAX / (2 * sizeof(double)), spec->state_size);
    if (spec->block == NULL)
        return moeg_fail(MOEG_EINVAL, "job_create: block of job %s must not be NULL", spec->name);
    if (spec->merge == NULL)
        return moeg_fail(MOEG_EINVAL, "job_create: merge of job %s must not be NULL", spec->name);
    return MOEG_OK;
}

moeg_status moeg_job_create(moeg_job **job, const moeg_job_spec *spec)
{
    moeg_status status = moeg_check_pointer("job_create", "job", job);
    if (status == MOEG_OK)
        status = moeg_check_pointer("job_create", "spec", spec);
    if (status == MOEG_OK)
        status = check_spec(spec);
    if (status != MOEG_OK)
        return status;
    moeg_job *made = moeg_alloc(1, sizeof *made);
    if (made == NULL)
        return moeg_fail_memory("job_create");
    made->spec = *spec;
    made->blocks = spec->units / spec->block_size + (spec->units % spec->block_size != 0);
    *job = made;
    return MOEG_OK;
}

void moeg_job_free(moeg_job *job)
{
    if (job == NULL)
        return;
    if (job->spec.destroy != NULL)
        job->spec.destroy(job->spec.context);
    moeg_release(job);
}

const moeg_job_spec *moeg_job_get_spec(const moeg_job *job)
{
    return job != NULL ? &job->spec : NULL;
}

uint64_t moeg_job_blocks(const moeg_job *job)
{
    return job != NULL ? job->blocks : 0;
}

moeg_status moeg_job_check_run(const char *function, const moeg_job *job, const moeg_sampling *s, uint64_t first,
                               uint64_t end, moeg_partial *const *partial)
{
    moeg_status status = moeg_check_pointer(function, "job", job);
    if (status == MOEG_OK)
        status = moeg_sampling_check(s);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "partial", partial);
    if (status != MOEG_OK)
        return status;
    if (end > job->blocks)
        return moeg_fail(MOEG_EINVAL, "%s: end must be at most the %" PRIu64 " blocks of job %s, got %" PRIu64,
                         function, job->blocks, job->spec.name, end);
    if (first > end)
        return moeg_fail(MOEG_EINVAL, "%s: first must be at most end = %" PRIu64 ", got %" PRIu64, function, end,
                         first);
    return MOEG_OK;
}

/* What a runner returned without an error: a partial result of this job that covers the range or, if the run was
 * canceled, a prefix of it. */
static moeg_status check_result(const moeg_job *job, moeg_status status, uint64_t first, uint64_t end,
                                const moeg_partial *partial)
{
    const char *name = job->spec.name;
    if (status != MOEG_OK && status != MOEG_ECANCELED)
        return moeg_fail(MOEG_EINVAL,
                         "job_run: the runner of job %s must return MOEG_OK, MOEG_ECANCELED or an error, got %d (%s)",
                         name, (int)status, moeg_status_name(status));
    if (partial == NULL)
        return moeg_fail(MOEG_EINVAL, "job_run: the runner of job %s returned %s but no partial result", name,
                         moeg_status_name(status));
    if (!moeg_partial_fits(job, partial))
        return moeg_fail(MOEG_EINVAL, "job_run: the runner of job %s returned a partial result of another shape", name);
    const int fits = partial->first == first && (status == MOEG_OK ? partial->end == end : partial->end <= end);
    if (!fits)
        return moeg_fail(MOEG_EINVAL,
                         "job_run: the runner of job %s must return %sblocks [%" PRIu64 ", %" PRIu64 "), got [%" PRIu64
                         ", %" PRIu64 ")",
                         name, status == MOEG_OK ? "" : "a prefix of ", first, end, partial->first, partial->end);
    return MOEG_OK;
}

/* Calls the runner. What it returns, if not MOEG_OK, has a message: this thread's last error is cleared first, so that
 * a runner which sets none is not given an old one. A success puts the old one back. */
static moeg_status call_runner(const moeg_runner *runner, const moeg_job *job, const moeg_sampling *s, uint64_t first,
                               uint64_t end, moeg_partial **partial)
{
    char saved[512];
    snprintf(saved, sizeof saved, "%s", moeg_last_error());
    moeg_fail(MOEG_OK, "%s", "");
    const moeg_status status = runner->run(runner, job, s, first, end, partial);
    if (status == MOEG_OK)
        return moeg_fail(MOEG_OK, "%s", saved);
    if (moeg_last_error()[0] == '\0')
        return moeg_fail(status, "job_run: the runner of job %s returned %s (%d)", job->spec.name,
                         moeg_status_name(status), (int)status);
    return status;
}

moeg_status moeg_job_run(const moeg_job *job, const moeg_sampling *s, uint64_t first, uint64_t end,
                         moeg_partial **partial)
{
    moeg_status status = moeg_job_check_run("job_run", job, s, first, end, partial);
    if (status != MOEG_OK)
        return status;
    const moeg_runner *runner = s->runner != NULL ? s->runner : &moeg_runner_openmp;
    if (runner->run == NULL)
        return moeg_fail(MOEG_EINVAL, "job_run: run of the runner of job %s must not be NULL", job->spec.name);
    moeg_partial *result = NULL;
    status = call_runner(runner, job, s, first, end, &result);
    const moeg_status checked = status < 0 ? status : check_result(job, status, first, end, result);
    if (checked != MOEG_OK) {
        moeg_partial_free(result); /* of an error, too: a runner may not have left it alone */
        return checked;
    }
    *partial = result;
    return status;
}
