/* Jobs: their specs, errors of blocks, allocations, and runners of the user's own. */
#include "base/error.h"
#include "support/check.h"
#include "support/failing_alloc.h"
#include "support/hash_job.h"

#include <moegeom/moegeom.h>
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>

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
    int in_order;        /* whether the first of them also fails first, where there are threads to let it */
} failing;

static atomic_int failing_begun;

/* The first of the failing blocks waits for another one to be begun. */
static moeg_status failing_block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    const failing *f = context;
    for (size_t i = 0; i < 3; i++)
        if (f->fails[i] == first) {
            atomic_fetch_add(&failing_begun, 1);
            while (i == 0 && omp_get_num_threads() > 1 && atomic_load(&failing_begun) < 2)
                sched_yield();
            for (size_t turn = 0; turn < 20 * (f->in_order ? i : 2 - i); turn++)
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
            f.in_order = repeat % 2;
            atomic_store(&failing_begun, 0);
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

/* ---- Allocations ---- */

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
        /* Its partial result is freed: a leak, which the sanitizer sees, if not. */
        {{MOEG_EIO, job, 2, 10}, MOEG_EIO, "run_answer: as told"},
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

/* How a runner fails: by itself or after a callee's failure that it sets, and with which status. */
typedef struct silence {
    moeg_status status;
    int callee, partial;
} silence;

static moeg_status run_silently(const moeg_runner *self, const moeg_job *job, const moeg_sampling *s, uint64_t first,
                                uint64_t end, moeg_partial **partial)
{
    const silence *given = self->user;
    if (given->callee)
        (void)moeg_fail(MOEG_EDOM, "callee: said so");
    if (given->partial)
        assert_ok(moeg_runner_openmp.run(self, job, s, first, end, partial));
    return given->status;
}

static void a_silent_runner_gets_no_old_message(void **state)
{
    (void)state;
    const moeg_job_spec spec = hash_spec(600, 7);
    moeg_job *job = make_job(&spec);
    moeg_sampling s = with_threads(2);
    silence given;
    const moeg_runner runner = {.run = run_silently, .user = &given};
    s.runner = &runner;
    moeg_partial *const untouched = (moeg_partial *)&s;
    moeg_partial *out = untouched;
    const struct {
        silence given;
        const char *text;
    } cases[] = {
        {{MOEG_EIO, 0, 0}, "job_run: the runner of job hash returned MOEG_EIO (-5)"},
        {{(moeg_status)-77, 0, 0}, "job_run: the runner of job hash returned unknown (-77)"},
        {{MOEG_ECANCELED, 0, 1}, "job_run: the runner of job hash returned MOEG_ECANCELED (2)"},
        {{MOEG_EIO, 1, 0}, "callee: said so"},
        {{MOEG_ECANCELED, 1, 1}, "callee: said so"},
        {{MOEG_OK, 1, 1}, "before"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        given = cases[i].given;
        moeg_fail(MOEG_EDOM, "before");
        assert_int_equal(moeg_job_run(job, &s, 2, 10, &out), given.status);
        assert_string_equal(moeg_last_error(), cases[i].text);
        if (given.partial) {
            assert_is_range(job, out, 2, 10);
            moeg_partial_free(out);
            out = untouched;
        }
        assert_ptr_equal(out, untouched);
    }
    moeg_job_free(job);
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
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_custom_runner_gives_the_same_bits),
        cmocka_unit_test(what_a_runner_returns_is_checked),
        cmocka_unit_test(a_silent_runner_gets_no_old_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
