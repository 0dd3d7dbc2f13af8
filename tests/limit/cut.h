/* Jobs that are run in two parts. */
#ifndef MOEG_TESTS_LIMIT_CUT_H
#define MOEG_TESTS_LIMIT_CUT_H

#include "support/check.h"

#include <moegeom/job.h>

/* The result of a job of blocks enough, its blocks from `cut` on run before the others. */
static inline moeg_partial *run_in_two(const moeg_job *job, const moeg_sampling *s, uint64_t cut)
{
    moeg_partial *left, *right;
    const uint64_t blocks = moeg_job_blocks(job);
    assert_true(cut > 0 && cut < blocks);
    assert_ok(moeg_job_run(job, s, cut, blocks, &right));
    assert_ok(moeg_job_run(job, s, 0, cut, &left));
    assert_ok(moeg_partial_merge(job, left, right));
    moeg_partial_free(right);
    return left;
}

#endif
