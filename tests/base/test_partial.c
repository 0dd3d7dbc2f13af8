/* Partial results: any cut and any order of merging give the same bits; export, import. */
#include "support/check.h"
#include "support/failing_alloc.h"
#include "support/hash_job.h"

#include <moegeom/moegeom.h>

static uint64_t random_state = UINT64_C(0x2385);

/* A number below n. */
static uint64_t random_below(uint64_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 33) % n;
}

enum { MAX_PARTS = 7 };

/* Cuts [first, end) at random, runs each part, and merges neighbours in random order and either direction. */
static void check_random_cut(const moeg_job *job, int threads, uint64_t first, uint64_t end)
{
    moeg_partial *parts[MAX_PARTS];
    size_t n = 1 + random_below(MAX_PARTS);
    uint64_t from = first;
    for (size_t i = 0; i < n; i++) {
        const uint64_t to = i + 1 == n ? end : from + random_below(end - from + 1);
        parts[i] = run_range(job, threads, from, to);
        assert_is_range(job, parts[i], from, to);
        from = to;
    }
    while (n > 1) {
        const size_t i = random_below(n - 1);
        const int forward = random_below(2) == 0;
        moeg_partial *kept = parts[forward ? i : i + 1], *other = parts[forward ? i + 1 : i];
        assert_ok(moeg_partial_merge(job, kept, other));
        moeg_partial_free(other);
        parts[i] = kept;
        memmove(parts + i + 1, parts + i + 2, (n - i - 2) * sizeof *parts);
        n--;
    }
    assert_is_range(job, parts[0], first, end);
    moeg_partial_free(parts[0]);
}

static void any_cut_and_order_gives_the_same_bits(void **state)
{
    (void)state;
    static const uint64_t block_counts[] = {1, 2, 3, 4, 5, 7, 8, 13, 31, 32, 33, 64, 97, 200};
    for (size_t b = 0; b < sizeof block_counts / sizeof *block_counts; b++) {
        const uint64_t blocks = block_counts[b];
        const moeg_job_spec spec = hash_spec(7 * blocks - 4, 7);
        moeg_job *job = make_job(&spec);
        assert_int_equal(moeg_job_blocks(job), blocks);
        for (size_t t = 0; t < THREAD_CASES; t++) {
            moeg_partial *whole = run_range(job, THREADS[t], 0, blocks);
            assert_is_range(job, whole, 0, blocks);
            assert_int_equal(moeg_partial_units(whole), 7 * blocks - 4);
            moeg_partial_free(whole);
            for (int repeat = 0; repeat < 12; repeat++) {
                const uint64_t first = repeat % 2 == 0 ? 0 : random_below(blocks + 1);
                check_random_cut(job, THREADS[t], first, first + random_below(blocks - first + 1));
            }
        }
        moeg_job_free(job);
    }
}

/* A partial result holds no more than its maximal nodes: the export shows how many. */
static void nodes_are_maximal(void **state)
{
    (void)state;
    const moeg_job_spec spec = hash_spec(64, 1);
    moeg_job *job = make_job(&spec);
    moeg_partial *empty = run_range(job, 1, 9, 9);
    const size_t header = moeg_partial_export_size(empty);
    moeg_partial_free(empty);
    for (uint64_t first = 0; first <= 64; first++)
        for (uint64_t end = first; end <= 64; end += 1 + first % 3) {
            moeg_partial *partial = run_range(job, 1, first, end);
            size_t maximal = 0;
            for (unsigned level = 0; level < 7; level++)
                for (uint64_t index = 0; index < UINT64_C(64) >> level; index++)
                    maximal +=
                        node_is_inside(level, index, first, end) && !node_is_inside(level + 1, index / 2, first, end);
            assert_int_equal(moeg_partial_export_size(partial), header + maximal * HASH_STATE);
            moeg_partial_free(partial);
        }
    moeg_job_free(job);
}

/* Block indices up to 2^64 - 2, and blocks whose nominal end is beyond 64 bits. */
static void the_last_blocks_of_huge_jobs(void **state)
{
    (void)state;
    moeg_job_spec spec = hash_spec(UINT64_MAX, 1);
    moeg_job *job = make_job(&spec);
    assert_int_equal(moeg_job_blocks(job), UINT64_MAX);
    moeg_partial *left = run_range(job, 2, UINT64_MAX - 9, UINT64_MAX - 4);
    moeg_partial *right = run_range(job, 1, UINT64_MAX - 4, UINT64_MAX);
    assert_ok(moeg_partial_merge(job, right, left));
    moeg_partial *both = run_range(job, 1, UINT64_MAX - 9, UINT64_MAX);
    double a[HASH_STATE], b[HASH_STATE];
    assert_ok(moeg_partial_state(job, right, a));
    assert_ok(moeg_partial_state(job, both, b));
    assert_memory_equal(a, b, sizeof a);
    assert_int_equal(moeg_partial_units(both), 9);
    moeg_partial_free(left);
    moeg_partial_free(right);
    moeg_partial_free(both);
    moeg_job_free(job);

    spec = hash_spec(UINT64_MAX, (UINT64_C(1) << 63) - 1);
    job = make_job(&spec);
    assert_int_equal(moeg_job_blocks(job), 3);
    moeg_partial *last = run_range(job, 1, 2, 3);
    assert_int_equal(moeg_partial_units(last), 1);
    assert_ok(moeg_partial_state(job, last, a));
    assert_near(a[0], (double)hash_mix(UINT64_MAX - 1, 1), 0);
    moeg_partial_free(last);
    moeg_job_free(job);
}

static void merging_refuses_what_does_not_fit(void **state)
{
    (void)state;
    moeg_job_spec spec = hash_spec(100, 7);
    moeg_job *job = make_job(&spec);
    moeg_partial *a = run_range(job, 1, 2, 5), *b = run_range(job, 1, 6, 9), *none = run_range(job, 1, 4, 4);
    assert_status(moeg_partial_merge(job, a, b), MOEG_EINVAL,
                  "partial_merge: the ranges must be adjacent, got blocks [2, 5) and [6, 9)");
    assert_status(moeg_partial_merge(job, b, a), MOEG_EINVAL, "[6, 9) and [2, 5)");
    assert_status(moeg_partial_merge(job, a, a), MOEG_EINVAL, "[2, 5) and [2, 5)");
    assert_status(moeg_partial_merge(job, a, none), MOEG_EINVAL, "[2, 5) and [4, 4)");
    assert_ok(moeg_partial_merge(job, none, none));
    assert_is_range(job, none, 4, 4);
    assert_status(moeg_partial_merge(NULL, a, b), MOEG_EINVAL, "partial_merge: job must not be NULL");
    assert_status(moeg_partial_merge(job, NULL, b), MOEG_EINVAL, "partial_merge: left must not be NULL");
    assert_status(moeg_partial_merge(job, a, NULL), MOEG_EINVAL, "partial_merge: right must not be NULL");
    double out[HASH_STATE] = {2.385, -7.25};
    assert_status(moeg_partial_state(NULL, a, out), MOEG_EINVAL, "partial_state: job must not be NULL");
    assert_status(moeg_partial_state(job, NULL, out), MOEG_EINVAL, "partial_state: partial must not be NULL");
    assert_status(moeg_partial_state(job, a, NULL), MOEG_EINVAL, "partial_state: state must not be NULL");
    const moeg_job_spec shapes[] = {hash_spec(101, 7), hash_spec(100, 8)};
    for (int i = 0; i < 3; i++) {
        spec = shapes[i % 2];
        spec.state_size = i < 2 ? HASH_STATE : HASH_STATE + 1;
        if (i == 2)
            spec.units = 100, spec.block_size = 7;
        moeg_job *other = make_job(&spec);
        moeg_partial *c = run_range(other, 1, 5, 6);
        assert_status(moeg_partial_merge(job, a, c), MOEG_EINVAL,
                      "partial_merge: right must be of the shape of job hash (units 100, block_size 7, state_size 2)");
        assert_status(moeg_partial_merge(job, c, a), MOEG_EINVAL, "partial_merge: left must be of the shape");
        assert_status(moeg_partial_state(job, c, out), MOEG_EINVAL, "partial_state: partial must be of the shape");
        moeg_partial_free(c);
        moeg_job_free(other);
    }
    assert_near(out[0], 2.385, 0);
    assert_near(out[1], -7.25, 0);
    assert_is_range(job, a, 2, 5);
    assert_is_range(job, b, 6, 9);
    moeg_partial_free(a);
    moeg_partial_free(b);
    moeg_partial_free(none);
    moeg_job_free(job);
}

/* A copy of exactly `size` doubles, so that a sanitizer sees one read past them. */
static moeg_status import_copy(const moeg_job *job, size_t size, const double *data, moeg_partial **partial)
{
    double *exact = malloc(size * sizeof *exact + (size == 0));
    assert_non_null(exact);
    memcpy(exact, data, size * sizeof *exact);
    const moeg_status status = moeg_partial_import(job, size, exact, partial);
    free(exact);
    return status;
}

static void nothing_of_null(void **state)
{
    (void)state;
    uint64_t first = 7, end = 7;
    moeg_partial_range(NULL, &first, &end);
    assert_int_equal(first, 0);
    assert_int_equal(end, 0);
    assert_int_equal(moeg_partial_units(NULL), 0);
    assert_int_equal(moeg_partial_export_size(NULL), 0);
    moeg_partial_export(NULL, NULL);
    moeg_partial_free(NULL);
}

static void exports_come_back(void **state)
{
    (void)state;
    const moeg_job_spec spec = hash_spec(611, 7);
    moeg_job *job = make_job(&spec);
    double data[64];
    for (uint64_t first = 0; first <= 88; first += 3)
        for (uint64_t end = first; end <= 88; end += 5) {
            moeg_partial *partial = run_range(job, 2, first, end), *back = NULL;
            const size_t size = moeg_partial_export_size(partial);
            assert_true(size <= 64);
            moeg_partial_export(partial, data);
            assert_ok(import_copy(job, size, data, &back));
            assert_is_range(job, back, first, end);
            moeg_partial *rest = run_range(job, 2, end, 88);
            assert_ok(moeg_partial_merge(job, back, rest));
            assert_is_range(job, back, first, 88);
            moeg_partial_free(rest);
            moeg_partial_free(partial);
            moeg_partial_free(back);
        }
    moeg_job_free(job);
}

static void imports_are_checked(void **state)
{
    (void)state;
    const moeg_job_spec spec = hash_spec(611, 7);
    moeg_job *job = make_job(&spec);
    moeg_partial *partial = run_range(job, 1, 3, 43), *out = partial;
    double data[64] = {0};
    const size_t size = moeg_partial_export_size(partial), header = 12;
    assert_int_equal(size, header + HASH_STATE * 7); /* 3, 4-7, 8-15, 16-31, 32-39, 40-41, 42 */
    moeg_partial_export(partial, data);
    for (size_t n = 0; n < 64; n++)
        if (n != size)
            assert_status(import_copy(job, n, data, &out), MOEG_EFORMAT, "partial_import: size must be ");
    const double garbage[] = {NAN, INFINITY, -INFINITY, -1, 0.5, 4294967296.0, 1e300, -0.0, 5e-324, 77};
    for (size_t at = 0; at < header; at++)
        for (size_t g = 0; g < sizeof garbage / sizeof *garbage; g++) {
            const double kept = data[at];
            data[at] = garbage[g];
            assert_status(import_copy(job, size, data, &out), MOEG_EFORMAT, "partial_import: ");
            data[at] = kept;
        }
    /* Ranges outside the job whose nodes are as many as there are states: 3, 4-7 .. 32-63, 64-95, 96-111, and none. */
    data[10] = 112;
    assert_status(import_copy(job, size, data, &out), MOEG_EFORMAT,
                  "partial_import: the range must be inside the 88 blocks of job hash, got [3, 112)");
    data[10] = 2;
    data[11] = 0;
    assert_status(import_copy(job, header, data, &out), MOEG_EFORMAT, "job hash, got [3, 2)");
    assert_status(moeg_partial_import(NULL, size, data, &out), MOEG_EINVAL, "partial_import: job must not be NULL");
    assert_status(moeg_partial_import(job, size, NULL, &out), MOEG_EINVAL, "partial_import: data must not be NULL");
    assert_status(moeg_partial_import(job, size, data, NULL), MOEG_EINVAL, "partial_import: partial must not be NULL");
    assert_ptr_equal(out, partial);
    moeg_partial_free(partial);
    moeg_job_free(job);
}

/* Merging and importing under a failing allocator; the ranges are [3, 9) and [9, 13). */
typedef struct parts {
    moeg_job *job;
    moeg_partial *left, *right;
    double data[64];
    size_t size;
} parts;

static moeg_status merge_scenario(void *user)
{
    parts *p = user;
    const moeg_status status = moeg_partial_merge(p->job, p->left, p->right);
    assert_is_range(p->job, p->left, 3, status == MOEG_OK ? 13 : 9);
    assert_is_range(p->job, p->right, 9, 13);
    return status;
}

static moeg_status import_scenario(void *user)
{
    parts *p = user;
    moeg_partial *out = p->right;
    const moeg_status status = moeg_partial_import(p->job, p->size, p->data, &out);
    if (status == MOEG_OK) {
        assert_is_range(p->job, out, 3, 9);
        moeg_partial_free(out);
    } else {
        assert_ptr_equal(out, p->right);
    }
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const moeg_job_spec spec = hash_spec(611, 7);
    parts p = {.job = make_job(&spec)};
    p.left = run_range(p.job, 1, 3, 9);
    p.right = run_range(p.job, 1, 9, 13);
    p.size = moeg_partial_export_size(p.left);
    moeg_partial_export(p.left, p.data);
    assert_int_equal(fail_every_allocation(import_scenario, &p), 4); /* itself; blocks 3, 4-7, 8 */
    assert_int_equal(fail_every_allocation(merge_scenario, &p), 4);  /* a copy; blocks 9, 10-11, 12 */
    moeg_partial_free(p.left);
    moeg_partial_free(p.right);
    moeg_job_free(p.job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_cut_and_order_gives_the_same_bits),
        cmocka_unit_test(nodes_are_maximal),
        cmocka_unit_test(the_last_blocks_of_huge_jobs),
        cmocka_unit_test(merging_refuses_what_does_not_fit),
        cmocka_unit_test(nothing_of_null),
        cmocka_unit_test(exports_come_back),
        cmocka_unit_test(imports_are_checked),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
