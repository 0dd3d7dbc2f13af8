/* Jobs and the OpenMP runner: errors, cancellation, progress, memory, custom runners, threads in threads. */
#include "base/error.h"
#include "support/check.h"
#include "support/failing_alloc.h"
#include "support/hash_job.h"

#include <gsl/gsl_errno.h>
#include <limits.h>
#include <moegeom/moegeom.h>
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>

static const int THREADS[] = {1, 2, 5, 8};
enum { THREAD_CASES = 4 };

static moeg_sampling with_threads(int threads)
{
    moeg_sampling s = moeg_sampling_default();
    s.max_threads = threads;
    return s;
}

/* ---- Making jobs ---- */

static void count_destroy(void *context)
{
    ++*(int *)context;
}

static void a_job_owns_its_context(void **state)
{
    (void)state;
    int destroyed = 0;
    moeg_job_spec spec = hash_spec(100, 7);
    spec.context = &destroyed;
    spec.destroy = count_destroy;
    moeg_job *job = make_job(&spec);
    assert_int_equal(moeg_job_blocks(job), 15);
    assert_memory_equal(moeg_job_get_spec(job), &spec, sizeof spec);
    assert_int_equal(destroyed, 0);
    moeg_job_free(job);
    assert_int_equal(destroyed, 1);
    moeg_job_free(NULL);
    assert_null(moeg_job_get_spec(NULL));
    assert_int_equal(moeg_job_blocks(NULL), 0);
}

static void assert_spec_refused(const moeg_job_spec *spec, const char *text)
{
    moeg_job *const untouched = (moeg_job *)&text;
    moeg_job *job = untouched;
    assert_status(moeg_job_create(&job, spec), MOEG_EINVAL, text);
    assert_ptr_equal(job, untouched);
}

static void specs_are_checked(void **state)
{
    (void)state;
    int destroyed = 0;
    const moeg_job_spec good = {.name = "hash",
                                .units = 100,
                                .block_size = 7,
                                .state_size = HASH_STATE,
                                .context = &destroyed,
                                .block = hash_block,
                                .merge = hash_merge,
                                .destroy = count_destroy};
    moeg_job_spec spec = good;
    assert_status(moeg_job_create(NULL, &spec), MOEG_EINVAL, "job_create: job must not be NULL");
    assert_spec_refused(NULL, "job_create: spec must not be NULL");
    spec.name = NULL;
    assert_spec_refused(&spec, "job_create: name must not be NULL");
    spec = good, spec.units = 0;
    assert_spec_refused(&spec, "job_create: units of job hash must be at least 1, got 0");
    spec = good, spec.block_size = 0;
    assert_spec_refused(&spec, "job_create: block_size of job hash must be at least 1, got 0");
    spec = good, spec.state_size = 0;
    assert_spec_refused(&spec, "job_create: state_size of job hash must be at least 1, got 0");
    spec = good, spec.state_size = SIZE_MAX / 8 + 2;
    assert_spec_refused(&spec, "job_create: state_size of job hash must be at most");
    spec = good, spec.block = NULL;
    assert_spec_refused(&spec, "job_create: block of job hash must not be NULL");
    spec = good, spec.merge = NULL;
    assert_spec_refused(&spec, "job_create: merge of job hash must not be NULL");
    assert_int_equal(destroyed, 0);
}

static void arguments_of_a_run_are_checked(void **state)
{
    (void)state;
    const moeg_job_spec spec = hash_spec(100, 7);
    moeg_job *job = make_job(&spec);
    moeg_partial *const untouched = (moeg_partial *)&job;
    moeg_partial *out = untouched;
    moeg_sampling s = moeg_sampling_default();
    const moeg_runner *omp = &moeg_runner_openmp;
    assert_status(moeg_job_run(NULL, &s, 0, 1, &out), MOEG_EINVAL, "job_run: job must not be NULL");
    assert_status(moeg_job_run(job, NULL, 0, 1, &out), MOEG_EINVAL, "options must not be NULL");
    assert_status(moeg_job_run(job, &s, 0, 1, NULL), MOEG_EINVAL, "job_run: partial must not be NULL");
    assert_status(moeg_job_run(job, &s, 3, 16, &out), MOEG_EINVAL,
                  "job_run: end must be at most the 15 blocks of job hash, got 16");
    assert_status(moeg_job_run(job, &s, 5, 4, &out), MOEG_EINVAL, "job_run: first must be at most end = 4, got 5");
    assert_status(omp->run(omp, job, &s, 5, 4, &out), MOEG_EINVAL, "runner_openmp: first must be at most end");
    assert_status(omp->run(omp, NULL, &s, 5, 4, &out), MOEG_EINVAL, "runner_openmp: job must not be NULL");
    s.max_threads = -1;
    assert_status(moeg_job_run(job, &s, 0, 1, &out), MOEG_EINVAL, "max_threads must be at least 0, got -1");
    assert_ptr_equal(out, untouched);
    moeg_job_free(job);
}

static void empty_ranges_are_fine(void **state)
{
    (void)state;
    const moeg_job_spec spec = hash_spec(100, 7);
    moeg_job *job = make_job(&spec);
    for (uint64_t first = 0; first <= 15; first += 5) {
        moeg_partial *partial = run_range(job, 0, first, first);
        assert_is_range(job, partial, first, first);
        moeg_partial_free(partial);
    }
    moeg_job_free(job);
}

/* ---- Errors of blocks ---- */

typedef struct failing {
    uint64_t fails[3];   /* first units of the blocks that fail */
    moeg_status returns; /* with this */
    const char *message; /* and this, or NULL for none */
} failing;

static moeg_status failing_block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    const failing *f = context;
    for (size_t i = 0; i < 3; i++)
        if (f->fails[i] == first) {
            /* The later one fails first, where there are threads to let it. */
            for (size_t turn = 0; turn < 20 * (3 - i); turn++)
                sched_yield();
            return f->message == NULL ? f->returns : moeg_fail(f->returns, "%s %d", f->message, (int)first);
        }
    return hash_block(context, first, count, workspace, state);
}

static void the_lowest_failing_block_is_reported(void **state)
{
    (void)state;
    failing f = {.fails = {70, 77, 84}, .returns = MOEG_EDOM, .message = "router: tie in unit"};
    moeg_job_spec spec = hash_spec(2000, 7);
    spec.block = failing_block;
    spec.context = &f;
    moeg_job *job = make_job(&spec);
    moeg_partial *const untouched = (moeg_partial *)&f;
    moeg_partial *out = untouched;
    for (size_t t = 0; t < THREAD_CASES; t++) {
        const moeg_sampling s = with_threads(THREADS[t]);
        f = (failing){.fails = {70, 77, 84}, .returns = MOEG_EDOM, .message = "router: tie in unit"};
        for (int repeat = 0; repeat < 20; repeat++) {
            assert_status(moeg_job_run(job, &s, 2, 200, &out), MOEG_EDOM, "tie");
            assert_string_equal(moeg_last_error(), "router: tie in unit 70");
        }
        /* A block that says nothing is not given an old message, neither this thread's nor a worker's. */
        f.message = NULL;
        assert_status(moeg_job_run(job, &s, 2, 200, &out), MOEG_EDOM, "hash");
        assert_string_equal(moeg_last_error(), "job hash: block 10 returned -2 (MOEG_EDOM)");
        f.returns = (moeg_status)-77;
        assert_status(moeg_job_run(job, &s, 2, 200, &out), (moeg_status)-77,
                      "job hash: block 10 returned -77 (unknown)");
        f.returns = MOEG_EUNABLE;
        assert_status(moeg_job_run(job, &s, 2, 200, &out), MOEG_EINVAL,
                      "job hash: block 10 must return MOEG_OK or an error, got 1 (MOEG_EUNABLE)");
    }
    assert_ptr_equal(out, untouched);
    moeg_job_free(job);
}

/* A block's own calls may fail and be recovered from. */
static moeg_status recovering_block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    (void)moeg_fail(MOEG_EINVAL, "recovered");
    return hash_block(context, first, count, workspace, state);
}

static void success_leaves_the_last_error(void **state)
{
    (void)state;
    moeg_job_spec spec = hash_spec(100, 7);
    spec.block = recovering_block;
    moeg_job *job = make_job(&spec);
    for (size_t t = 0; t < THREAD_CASES; t++) {
        moeg_fail(MOEG_EDOM, "before");
        moeg_partial *partial = run_range(job, THREADS[t], 0, 15);
        assert_string_equal(moeg_last_error(), "before");
        assert_is_range(job, partial, 0, 15);
        moeg_partial_free(partial);
    }
    moeg_job_free(job);
}

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
    if (first % 1000 == 0 && first < 90000 && omp_get_num_threads() > 1) {
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
    const uint64_t blocks = 100000;
    const int levels = 17;
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

typedef struct scenario {
    moeg_job *job;
    int threads;
} scenario;

static moeg_status create_scenario(void *user)
{
    const moeg_job_spec spec = hash_spec(100, 7);
    moeg_job *const untouched = user;
    moeg_job *job = untouched;
    const moeg_status status = moeg_job_create(&job, &spec);
    if (status == MOEG_OK)
        moeg_job_free(job);
    else
        assert_ptr_equal(job, untouched);
    return status;
}

static moeg_status run_scenario(void *user)
{
    const scenario *c = user;
    const moeg_sampling s = with_threads(c->threads);
    moeg_partial *const untouched = (moeg_partial *)c->job;
    moeg_partial *partial = untouched;
    const moeg_status status = moeg_job_run(c->job, &s, 1, 64, &partial);
    if (status == MOEG_OK) {
        assert_is_range(c->job, partial, 1, 64);
        moeg_partial_free(partial);
    } else {
        assert_ptr_equal(partial, untouched);
    }
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    moeg_job_spec spec = hash_spec(600, 7);
    spec.workspace_size = 1000;
    scenario c = {.job = make_job(&spec)};
    assert_int_equal(fail_every_allocation(create_scenario, &c), 1);
    for (size_t t = 0; t < THREAD_CASES; t++) {
        c.threads = THREADS[t];
        /* The partial result, a workspace, and at least 6 states: 1, 2-3, 4-7 .. 32-63. */
        assert_in_range(fail_every_allocation(run_scenario, &c), 8, 100);
    }
    moeg_job_free(c.job);
}

/* ---- Workers ---- */

enum { SEEN = 64 };

typedef struct workers {
    omp_lock_t lock;
    void *workspaces[SEEN];
    size_t count;
    int misaligned, most_threads;
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
        w.misaligned = w.most_threads = 0;
        moeg_partial_free(run_range(job, cases[i].asked, 0, cases[i].end));
        assert_in_range(w.count, 1, cases[i].most);
        assert_in_range(w.most_threads, 1, cases[i].most);
        assert_int_equal(w.misaligned, 0);
    }
    omp_destroy_lock(&w.lock);
    moeg_job_free(job);
}

/* The number of threads asked for is never more than the process can bear. */
static void a_mistyped_number_of_threads_is_survived(void **state)
{
    (void)state;
    const moeg_job_spec spec = hash_spec(3000, 1);
    moeg_job *job = make_job(&spec);
    moeg_partial *partial = run_range(job, 2000000000, 0, 3000);
    assert_is_range(job, partial, 0, 3000);
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

/* ---- Custom runners ---- */

/* Cuts the range in three, runs the parts through OpenMP, and merges the right one, then the left one, to the middle.
 */
static moeg_status run_in_three(const moeg_runner *self, const moeg_job *job, const moeg_sampling *s, uint64_t first,
                                uint64_t end, moeg_partial **partial)
{
    ++*(int *)self->user;
    const uint64_t third = (end - first) / 3, cuts[] = {first, first + third, first + 2 * third, end};
    static const size_t order[] = {1, 2, 0};
    moeg_partial *merged = NULL;
    for (size_t i = 0; i < 3; i++) {
        moeg_partial *part = NULL;
        moeg_status status =
            moeg_runner_openmp.run(&moeg_runner_openmp, job, s, cuts[order[i]], cuts[order[i] + 1], &part);
        if (status == MOEG_OK && merged != NULL) {
            status = moeg_partial_merge(job, merged, part);
            moeg_partial_free(part);
        } else if (status == MOEG_OK) {
            merged = part;
        }
        if (status != MOEG_OK) {
            moeg_partial_free(merged);
            return status;
        }
    }
    *partial = merged;
    return MOEG_OK;
}

static void a_custom_runner_gives_the_same_bits(void **state)
{
    (void)state;
    int calls = 0;
    const moeg_runner runner = {.run = run_in_three, .user = &calls};
    const moeg_job_spec spec = hash_spec(600, 7);
    moeg_job *job = make_job(&spec);
    moeg_sampling s = with_threads(2);
    s.runner = &runner;
    for (uint64_t first = 0; first <= 86; first += 17) {
        moeg_partial *partial = NULL;
        assert_ok(moeg_job_run(job, &s, first, 86, &partial));
        assert_is_range(job, partial, first, 86);
        moeg_partial_free(partial);
    }
    assert_int_equal(calls, 6);
    moeg_job_free(job);
}

/* What a runner returns: this status, and these blocks of this job. */
typedef struct answer {
    moeg_status status;
    const moeg_job *job;
    uint64_t first, end;
} answer;

static moeg_status run_answer(const moeg_runner *self, const moeg_job *job, const moeg_sampling *s, uint64_t first,
                              uint64_t end, moeg_partial **partial)
{
    (void)job;
    (void)first;
    (void)end;
    const answer *a = self->user;
    if (a->job != NULL) {
        const moeg_status status = moeg_runner_openmp.run(self, a->job, s, a->first, a->end, partial);
        if (status != MOEG_OK)
            return status;
    }
    return a->status == MOEG_OK ? MOEG_OK : moeg_fail(a->status, "run_answer: as told");
}

static void what_a_runner_returns_is_checked(void **state)
{
    (void)state;
    const moeg_job_spec spec = hash_spec(600, 7), other_spec = hash_spec(601, 7);
    moeg_job *job = make_job(&spec), *other = make_job(&other_spec);
    const struct {
        answer given;
        moeg_status status;
        const char *text;
    } cases[] = {
        {{MOEG_EIO, NULL, 0, 0}, MOEG_EIO, "run_answer: as told"},
        {{MOEG_OK, NULL, 0, 0}, MOEG_EINVAL, "the runner of job hash returned MOEG_OK but no partial result"},
        {{MOEG_OK, job, 2, 9}, MOEG_EINVAL, "the runner of job hash must return blocks [2, 10), got [2, 9)"},
        {{MOEG_OK, job, 1, 10}, MOEG_EINVAL, "the runner of job hash must return blocks [2, 10), got [1, 10)"},
        {{MOEG_OK, job, 2, 11}, MOEG_EINVAL, "the runner of job hash must return blocks [2, 10), got [2, 11)"},
        {{MOEG_OK, other, 2, 10}, MOEG_EINVAL, "the runner of job hash returned a partial result of another shape"},
        {{MOEG_EUNABLE, job, 2, 10}, MOEG_EINVAL, "must return MOEG_OK, MOEG_ECANCELED or an error, got 1"},
        {{MOEG_ECANCELED, NULL, 0, 0}, MOEG_EINVAL, "returned MOEG_ECANCELED but no partial result"},
        {{MOEG_ECANCELED, job, 3, 9}, MOEG_EINVAL, "must return a prefix of blocks [2, 10), got [3, 9)"},
        {{MOEG_ECANCELED, job, 2, 11}, MOEG_EINVAL, "must return a prefix of blocks [2, 10), got [2, 11)"},
    };
    moeg_sampling s = with_threads(2);
    moeg_partial *const untouched = (moeg_partial *)&s;
    moeg_partial *out = untouched;
    answer given;
    moeg_runner runner = {.run = run_answer, .user = &given};
    s.runner = &runner;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        given = cases[i].given;
        assert_status(moeg_job_run(job, &s, 2, 10, &out), cases[i].status, cases[i].text);
        assert_ptr_equal(out, untouched);
    }
    for (uint64_t end = 2; end <= 10; end += 4) {
        given = (answer){MOEG_ECANCELED, job, 2, end};
        assert_status(moeg_job_run(job, &s, 2, 10, &out), MOEG_ECANCELED, "run_answer: as told");
        assert_is_range(job, out, 2, end);
        moeg_partial_free(out);
    }
    out = untouched;
    runner.run = NULL;
    assert_status(moeg_job_run(job, &s, 2, 10, &out), MOEG_EINVAL, "run of the runner of job hash must not be NULL");
    assert_ptr_equal(out, untouched);
    moeg_job_free(job);
    moeg_job_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_owns_its_context),
        cmocka_unit_test(specs_are_checked),
        cmocka_unit_test(arguments_of_a_run_are_checked),
        cmocka_unit_test(empty_ranges_are_fine),
        cmocka_unit_test(the_lowest_failing_block_is_reported),
        cmocka_unit_test(success_leaves_the_last_error),
        cmocka_unit_test(progress_is_reported_after_each_block),
        cmocka_unit_test(a_canceled_run_gives_a_prefix),
        cmocka_unit_test(a_run_canceled_at_its_end_is_complete),
        cmocka_unit_test(few_states_live_at_once),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(each_worker_has_one_workspace),
        cmocka_unit_test(a_mistyped_number_of_threads_is_survived),
        cmocka_unit_test(blocks_run_inside_the_guard),
        cmocka_unit_test(runs_nest),
        cmocka_unit_test(several_threads_run_jobs_at_once),
        cmocka_unit_test(a_custom_runner_gives_the_same_bits),
        cmocka_unit_test(what_a_runner_returns_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
