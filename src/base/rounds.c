#include "base/rounds.h"

#include "base/error.h"

#include <math.h>

/* Units of the first round; the most that a round has of those before it, and the least. */
static const double FIRST = 1024, MOST = 8, LEAST = 0.25;

int moeg_has_tolerance(const moeg_sampling *s)
{
    return s->rel_tol > 0 || s->abs_tol > 0;
}

moeg_sampling moeg_without_tolerance(const moeg_sampling *s)
{
    moeg_sampling options = *s;
    options.rel_tol = options.abs_tol = 0;
    return options;
}

double moeg_tolerance_excess(const moeg_sampling *s, size_t n, const moeg_estimate *estimates)
{
    double excess = 0;
    for (size_t i = 0; moeg_has_tolerance(s) && i < n; i++) {
        const moeg_estimate *e = &estimates[i];
        const double half = (e->hi - e->lo) / 2, most = fmax(s->abs_tol, s->rel_tol * fabs(e->value));
        const double ratio = half == 0 ? 0 : half / most;
        excess = ratio >= 0 ? fmax(excess, ratio) : INFINITY;
    }
    return excess;
}

/* The end of the next round: by the square root law and a tenth more, within limits. */
static uint64_t next_end(uint64_t end, uint64_t blocks, double excess)
{
    const double grown = fmin(fmax(1.1 * excess * excess, 1 + LEAST), 1 + MOST), next = ceil((double)end * grown);
    return next < (double)blocks ? (uint64_t)next : blocks;
}

/* Runs blocks first .. end - 1 and adds them to *partial, which may be NULL. */
static moeg_status run_round(const moeg_job *job, const moeg_sampling *s, uint64_t first, uint64_t end,
                             moeg_partial **partial)
{
    moeg_partial *part = NULL;
    const moeg_status status = moeg_job_run(job, s, first, end, &part);
    if (status < 0 || *partial == NULL) {
        *partial = status < 0 ? *partial : part;
        return status;
    }
    const moeg_status merged = moeg_partial_merge(job, *partial, part);
    moeg_partial_free(part);
    return merged == MOEG_OK ? status : merged;
}

moeg_status moeg_rounds_run(const moeg_job *job, const moeg_sampling *s, moeg_rounds_judge judge, void *user,
                            moeg_partial **partial, double *excess)
{
    const uint64_t blocks = moeg_job_blocks(job);
    const double size = (double)moeg_job_get_spec(job)->block_size, first = ceil(FIRST / size);
    uint64_t end = moeg_has_tolerance(s) && first < (double)blocks ? (uint64_t)first : blocks;
    moeg_partial *all = NULL;
    *excess = 0;
    moeg_status status = run_round(job, s, 0, end, &all);
    while (status == MOEG_OK && moeg_has_tolerance(s)) {
        status = judge(user, job, all, excess);
        if (status != MOEG_OK || *excess <= 1 || end == blocks)
            break;
        const uint64_t next = next_end(end, blocks, *excess);
        status = run_round(job, s, end, next, &all);
        end = next;
    }
    if (status < 0)
        moeg_partial_free(all);
    else
        *partial = all;
    return status;
}

moeg_status moeg_rounds_status(const char *function, moeg_status status, const moeg_sampling *s, double excess)
{
    if (status != MOEG_OK || excess <= 1)
        return status;
    return moeg_fail(MOEG_EUNABLE, "%s: the tolerance is not reached with n = %llu: errors are %.3g times as large",
                     function, (unsigned long long)s->n, excess);
}
