/* The OpenMP runner: progress, cancellation, memory, workers, runs inside runs. */
#include "base/memory.h"
#include "support/check.h"
#include "support/hash_job.h"

#include <gsl/gsl_errno.h>
#include <limits.h>
#include <moegeom/moegeom.h>
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>

/* ---- Progress and cancellation ---- */

typedef struct watcher {
    atomic_int inside;
    int overlaps, calls, wrong;
    uint64_t done, total;
    uint64_t cancel_at; /* units */
} watcher;

static int watch(uint64_t done, uint64_t total, void *user)
{
    watcher *w = user;
    w->overlaps += atomic_fetch_add(&w->inside, 1) != 0;
    sched_yield();
    w->calls++;
    w->wrong += done <= w->done;
    w->done = done;
    w->total = total;
    atomic_fetch_sub(&w->inside, 1);
    return done >= w->cancel_at ? 7 : 0;
}

static void progress_is_reported_after_each_block(void **state)
{
    (void)state;
    const moeg_job_spec spec = hash_spec(600, 7);
    moeg_job *job = make_job(&spec);
    for (size_t t = 0; t < THREAD_CASES; t++) {
        watcher w = {.cancel_at = UINT64_MAX};
        moeg_sampling s = with_threads(THREADS[t]);
        s.progress = watch;
        s.progress_user = &w;
        moeg_partial *partial = NULL;
        assert_ok(moeg_job_run(job, &s, 3, 86, &partial));
        assert_int_equal(w.calls, 83);
        assert_int_equal(w.overlaps, 0);
        assert_int_equal(w.wrong, 0);
        assert_int_equal(w.done, 600 - 21);
        assert_int_equal(w.total, 600 - 21);
        moeg_partial_free(partial);
    }
    moeg_job_free(job);
}

static void a_canceled_run_gives_a_prefix(void **state)
{
    (void)state;
    const moeg_job_spec spec = hash_spec(600, 7);
    moeg_job *job = make_job(&spec);
    for (size_t t = 0; t < THREAD_CASES; t++)
        for (uint64_t cancel_at = 1; cancel_at < 579; cancel_at += 41) {
            watcher w = {.cancel_at = cancel_at};
            moeg_sampling s = with_threads(THREADS[t]);
            s.progress = watch;
            s.progress_user = &w;
            moeg_partial *partial = NULL;
            assert_status(moeg_job_run(job, &s, 3, 86, &partial), MOEG_ECANCELED, "job hash: canceled by the progress");
            uint64_t first, end;
            moeg_partial_range(partial, &first, &end);
            assert_int_equal(first, 3);
            char text[128];
            snprintf(text, sizeof text, "job hash: canceled by the progress callback after %d of 579 units",
                     (int)moeg_partial_units(partial));
            assert_string_equal(moeg_last_error(), text);
            /* No block is begun after the cancellation, and the callback is not called again. */
            const uint64_t blocks = (cancel_at + 6) / 7;
            assert_int_equal(w.calls, blocks);
            assert_in_range(end - first, blocks, blocks + (uint64_t)THREADS[t] - 1);
            assert_is_range(job, partial, first, end);
            moeg_partial *rest = run_range(job, THREADS[t], end, 86);
            assert_ok(moeg_partial_merge(job, partial, rest));
            assert_is_range(job, partial, 3, 86);
            moeg_partial_free(partial);
            moeg_partial_free(rest);
        }
    moeg_job_free(job);
}

static void a_run_canceled_at_its_end_is_complete(void **state)
{
    (void)state;
    const moeg_job_spec spec = hash_spec(600, 7);
    moeg_job *job = make_job(&spec);
    watcher w = {.cancel_at = 600};
    moeg_sampling s = with_threads(2);
    s.progress = watch;
    s.progress_user = &w;
    moeg_partial *partial = NULL;
    assert_status(moeg_job_run(job, &s, 0, 86, &partial), MOEG_ECANCELED, "after 600 of 600 units");
    assert_is_range(job, partial, 0, 86);
    moeg_partial_free(partial);
    moeg_job_free(job);
}

/* ---- Memory ---- */

enum { WIDE = 300 };

static atomic_ullong blocks_begun;
static atomic_int waiting;

/* Now and then a block waits until the others are far ahead, if there are others: one of two threads always goes on. */
static moeg_status lagging_block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    const unsigned long long begun = atomic_fetch_add(&blocks_begun, 1);
    if (first % 1000 == 0 && first < 27000 && omp_get_num_threads() > 1) {
        if (atomic_fetch_add(&waiting, 1) + 1 < omp_get_num_threads())
            while (atomic_load(&blocks_begun) < begun + (first == 0 ? 2047 : 40))
                sched_yield();
        atomic_fetch_sub(&waiting, 1);
    }
    return hash_block(context, first, count, workspace, state);
}

static int count_states(size_t bytes, void *user)
{
    if (bytes >= WIDE * sizeof(double))
        atomic_fetch_add((atomic_int *)user, 1);
    return 0;
}

/* Nodes are used again, so that the allocations of a run count its living states. At each level at most one node waits
 * for its sibling for every block that is begun and not finished, and one at either end of the range; each thread holds
 * one more. */
static void few_states_live_at_once(void **state)
{
    (void)state;
    const uint64_t blocks = 30000;
    const int levels = 15;
    moeg_job_spec spec = hash_spec(blocks, 1);
    spec.state_size = WIDE;
    spec.block = lagging_block;
    moeg_job *job = make_job(&spec);
    double reference[WIDE] = {0}, actual[WIDE];
    for (size_t t = 0; t < 3; t++) {
        atomic_int states = 0;
        atomic_store(&blocks_begun, 0);
        moeg_alloc_set_hook(count_states, &states);
        moeg_partial *partial = run_range(job, THREADS[t], 0, blocks);
        moeg_alloc_set_hook(NULL, NULL);
        assert_in_range(atomic_load(&states), 2, THREADS[t] * (levels + 1) + levels);
        assert_ok(moeg_partial_state(job, partial, actual));
        if (t == 0)
            memcpy(reference, actual, sizeof reference);
        assert_memory_equal(actual, reference, sizeof reference);
        moeg_partial_free(partial);
    }
    moeg_job_free(job);
}

/* ---- Workers ---- */

enum { SEEN = 64 };

typedef struct workers {
    omp_lock_t lock;
    void *workspaces[SEEN];
    size_t count;
    int misaligned, most_threads, most_level;
} workers;

static moeg_status seen_block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    workers *w = *(workers *const *)context;
    memset(workspace, 0x5a, 1000);
    omp_set_lock(&w->lock);
    size_t i = 0;
    while (i < w->count && w->workspaces[i] != workspace)
        i++;
    if (i == w->count && i < SEEN)
        w->workspaces[w->count++] = workspace;
    w->misaligned += (uintptr_t)workspace % 64 != 0;
    if (omp_get_num_threads() > w->most_threads)
        w->most_threads = omp_get_num_threads();
    if (omp_get_level() > w->most_level)
        w->most_level = omp_get_level();
    omp_unset_lock(&w->lock);
    for (int turn = 0; turn < 10; turn++)
        sched_yield();
    return hash_block(context, first, count, workspace, state);
}

static void each_worker_has_one_workspace(void **state)
{
    (void)state;
    workers w = {.count = 0}, *context = &w;
    omp_init_lock(&w.lock);
    moeg_job_spec spec = hash_spec(600, 7);
    spec.workspace_size = 1000;
    spec.block = seen_block;
    spec.context = &context;
    moeg_job *job = make_job(&spec);
    const struct {
        int asked;
        uint64_t end;
        int most;
    } cases[] = {{1, 86, 1}, {5, 86, 5}, {8, 3, 3}, {INT_MAX, 2, 2}, {0, 86, omp_get_max_threads()}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        w.count = 0;
        w.misaligned = w.most_threads = w.most_level = 0;
        moeg_partial_free(run_range(job, cases[i].asked, 0, cases[i].end));
        assert_in_range(w.count, 1, cases[i].most);
        assert_in_range(w.most_threads, 1, cases[i].most);
        assert_int_equal(w.misaligned, 0);
        if (cases[i].asked == 1)
            assert_int_equal(w.most_level, 0); /* No team is made, for want of whose memory the process would end. */
    }
    omp_destroy_lock(&w.lock);
    moeg_job_free(job);
}

static moeg_status crowded_block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    atomic_int *most = *(atomic_int *const *)context;
    if (first == 0)
        atomic_store(most, omp_get_num_threads());
    return hash_block(context, first, count, workspace, state);
}

/* OpenMP would end the process. */
static void a_mistyped_number_of_threads_is_survived(void **state)
{
    (void)state;
    atomic_int threads = 0, *context = &threads;
    moeg_job_spec spec = hash_spec(1100, 1);
    spec.block = crowded_block;
    spec.context = &context;
    moeg_job *job = make_job(&spec);
    moeg_partial *partial = run_range(job, 2000000000, 0, 1100);
    assert_in_range(atomic_load(&threads), 1, 1024);
    assert_is_range(job, partial, 0, 1100);
    moeg_partial_free(partial);
    moeg_job_free(job);
}

static atomic_int host_handler_calls;

static void host_handler(const char *reason, const char *file, int line, int error)
{
    (void)reason;
    (void)file;
    (void)line;
    (void)error;
    atomic_fetch_add(&host_handler_calls, 1);
}

static moeg_status gsl_block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    gsl_error("provoked", __FILE__, __LINE__, GSL_EDOM);
    return hash_block(context, first, count, workspace, state);
}

static void blocks_run_inside_the_guard(void **state)
{
    (void)state;
    moeg_job_spec spec = hash_spec(100, 7);
    spec.block = gsl_block;
    moeg_job *job = make_job(&spec);
    gsl_error_handler_t *old = gsl_set_error_handler(host_handler);
    moeg_partial_free(run_range(job, 2, 0, 15));
    assert_int_equal(atomic_load(&host_handler_calls), 0);
    gsl_error("provoked", __FILE__, __LINE__, GSL_EDOM);
    assert_int_equal(atomic_load(&host_handler_calls), 1);
    gsl_set_error_handler(old);
    moeg_job_free(job);
}

/* A block, and a progress callback, that run a job themselves. */
static moeg_status nesting_block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    moeg_job *inner = *(moeg_job *const *)context;
    const moeg_sampling s = with_threads(2);
    moeg_partial *partial = NULL;
    moeg_status status = moeg_job_run(inner, &s, first % 9, 15, &partial);
    double result[HASH_STATE];
    if (status == MOEG_OK)
        status = moeg_partial_state(inner, partial, result);
    moeg_partial_free(partial);
    if (status == MOEG_OK)
        status = hash_block(context, first, count, workspace, state);
    state[0] = (double)hash_mix((uint64_t)state[0], (uint64_t)result[0]);
    return status;
}

static int nesting_progress(uint64_t done, uint64_t total, void *user)
{
    (void)total;
    const moeg_sampling s = with_threads(2);
    moeg_partial *partial = NULL;
    const moeg_status status = moeg_job_run(user, &s, done % 9, 15, &partial);
    moeg_partial_free(partial);
    return status;
}

static void runs_nest(void **state)
{
    (void)state;
    const moeg_job_spec inner_spec = hash_spec(100, 7);
    moeg_job *inner = make_job(&inner_spec);
    moeg_job_spec spec = hash_spec(60, 2);
    spec.block = nesting_block;
    spec.context = &inner;
    moeg_job *job = make_job(&spec);
    const int levels = omp_get_max_active_levels();
    for (int active = 1; active <= 3; active++) {
        omp_set_max_active_levels(active);
        moeg_sampling s = with_threads(3);
        s.progress = nesting_progress;
        s.progress_user = inner;
        moeg_partial *partial = NULL;
        assert_ok(moeg_job_run(job, &s, 0, 30, &partial));
        assert_is_range(job, partial, 0, 30);
        moeg_partial_free(partial);
    }
    omp_set_max_active_levels(levels);
    moeg_job_free(job);
    moeg_job_free(inner);
}

static void several_threads_run_jobs_at_once(void **state)
{
    (void)state;
    const moeg_job_spec spec = hash_spec(600, 7);
    moeg_job *job = make_job(&spec);
    double expected[HASH_STATE];
    naive_state(&spec, 0, 86, expected);
    const int levels = omp_get_max_active_levels();
    omp_set_max_active_levels(2);
    int wrong = 0;
#pragma omp parallel num_threads(4) reduction(+ : wrong)
    for (int repeat = 0; repeat < 10; repeat++) {
        const moeg_sampling s = with_threads(1 + repeat % 3);
        moeg_partial *partial = NULL;
        double actual[HASH_STATE];
        wrong += moeg_job_run(job, &s, 0, 86, &partial) != MOEG_OK;
        wrong += moeg_partial_state(job, partial, actual) != MOEG_OK;
        wrong += memcmp(actual, expected, sizeof actual) != 0;
        moeg_partial_free(partial);
    }
    omp_set_max_active_levels(levels);
    assert_int_equal(wrong, 0);
    moeg_job_free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_is_reported_after_each_block),
        cmocka_unit_test(a_canceled_run_gives_a_prefix),
        cmocka_unit_test(a_run_canceled_at_its_end_is_complete),
        cmocka_unit_test(few_states_live_at_once),
        cmocka_unit_test(each_worker_has_one_workspace),
        cmocka_unit_test(a_mistyped_number_of_threads_is_survived),
        cmocka_unit_test(blocks_run_inside_the_guard),
        cmocka_unit_test(runs_nest),
        cmocka_unit_test(several_threads_run_jobs_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
