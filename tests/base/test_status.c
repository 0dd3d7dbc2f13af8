#include "base/error.h"
#include "base/memory.h"
#include "support/check.h"
#include "support/failing_alloc.h"

#include <moegeom/moegeom.h>
#include <omp.h>

static void names_and_texts_match_the_list(void **state)
{
    (void)state;
#define CHECK_ENTRY(name, value, text)                                                                                 \
    assert_int_equal(name, value);                                                                                     \
    assert_string_equal(moeg_status_name(name), #name);                                                                \
    assert_string_equal(moeg_strerror(name), text);
    MOEG_STATUS_LIST(CHECK_ENTRY)
#undef CHECK_ENTRY
    assert_string_equal(moeg_strerror((moeg_status)77), "unknown status");
    assert_string_equal(moeg_status_name((moeg_status)-77), "unknown");
}

static void last_error_is_of_this_thread(void **state)
{
    (void)state;
    assert_int_equal(moeg_fail(MOEG_EDOM, "outer: %d", 7), MOEG_EDOM);
    int seen[2] = {0, 0};
#pragma omp parallel num_threads(2)
    {
        const int t = omp_get_thread_num();
        if (t == 1)
            seen[1] = strcmp(moeg_last_error(), "") == 0;
        else
            seen[0] = strcmp(moeg_last_error(), "outer: 7") == 0;
    }
    assert_true(seen[0]);
    assert_true(seen[1]);
    moeg_fail(MOEG_EDOM, "again: %s", moeg_last_error());
    assert_string_equal(moeg_last_error(), "again: outer: 7");
}

static void checks_name_the_argument(void **state)
{
    (void)state;
    const double values[] = {2.385, NAN, -INFINITY};
    assert_status(moeg_check_finite("f", "x", 3, values), MOEG_EINVAL, "f: x[1] must be finite, got nan");
    assert_status(moeg_check_finite_matrix("f", "x", 1, 2, values + 1), MOEG_EINVAL,
                  "f: x[0, 0] must be finite, got nan");
    assert_status(moeg_check_finite_matrix("f", "x", 3, 1, values + 0), MOEG_EINVAL, "x[1, 0]");
    assert_ok(moeg_check_finite("f", "x", 1, values));
    assert_ok(moeg_check_finite("f", "x", 0, NULL));
    assert_status(moeg_check_pointer("f", "x", NULL), MOEG_EINVAL, "f: x must not be NULL");
    assert_status(moeg_fail_memory("f"), MOEG_ENOMEM, "f: out of memory");
}

static void arrays_are_checked(void **state)
{
    (void)state;
    double values[6] = {1, 2, 3, 4, 5, 2.385};
    assert_ok(moeg_check_rows("f", "x", 2, 3, values));
    assert_ok(moeg_check_rows("f", "x", 0, 3, NULL));
    assert_status(moeg_check_rows("f", "x", 1, 3, NULL), MOEG_EINVAL, "f: x must not be NULL");
    assert_status(moeg_check_array("f", "x", SIZE_MAX, 2, values), MOEG_EINVAL,
                  "f: x (18446744073709551615 x 2) has more values than memory can hold");
    assert_status(moeg_check_array("f", "x", SIZE_MAX / 16 + 1, 1, values), MOEG_EINVAL, "f: x (");
    assert_ok(moeg_check_array("f", "x", SIZE_MAX / 16, 1, values));
    values[5] = NAN;
    assert_status(moeg_check_rows("f", "x", 2, 3, values), MOEG_EINVAL, "f: x[1, 2] must be finite, got nan");
}

static void allocations_are_aligned_and_checked(void **state)
{
    (void)state;
    for (size_t n = 0; n < 200; n += 13) {
        unsigned char *memory = moeg_alloc_zero(n, 1);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 64, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(memory[i], 0);
        moeg_release(memory);
    }
    assert_null(moeg_alloc(SIZE_MAX / 2, 3));
    assert_null(moeg_alloc(SIZE_MAX, 1));
    assert_null(moeg_alloc_zero(SIZE_MAX, 8));
    moeg_release(NULL);
    long left = 1;
    moeg_alloc_set_hook(fail_at_zero, &left);
    void *first = moeg_alloc(8, 8);
    assert_non_null(first);
    assert_null(moeg_alloc(8, 8));
    moeg_alloc_set_hook(NULL, NULL);
    moeg_release(first);
}

static void asserts_fail_on_nan(void **state)
{
    (void)state;
    assert_false(check_is_near(NAN, 42, 1e-6));
    assert_false(check_is_near(42, NAN, 1e-6));
    assert_false(check_is_near(42, 42, NAN));
    assert_false(check_is_near(INFINITY, -INFINITY, 1e300));
    assert_true(check_is_near(INFINITY, INFINITY, 0));
    assert_true(check_is_near(42, 42, 0));
    assert_false(check_is_near(42, 42.5, 0.25));
}

static void version_is_the_headers(void **state)
{
    (void)state;
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", MOEG_VERSION_MAJOR, MOEG_VERSION_MINOR, MOEG_VERSION_PATCH);
    assert_string_equal(moeg_version(), expected);
}

/* A sentinel for each option: a default that changes must be changed here, in the header's comment and in the docs. */
static void default_options(void **state)
{
    (void)state;
    moeg_sampling s = moeg_sampling_default();
    assert_int_equal(s.seed, 1);
    assert_int_equal(s.n, 16384);
    assert_int_equal(s.method, MOEG_METHOD_AUTO);
    assert_near(s.level, 0.95, 0);
    assert_int_equal(s.max_threads, 0);
    assert_null(s.directions);
    assert_int_equal(s.direction_count, 0);
    assert_null(s.runner);
    assert_true(s.progress == NULL);
    assert_null(s.progress_user);
    assert_ok(moeg_sampling_check(&s));
    assert_status(moeg_sampling_check(NULL), MOEG_EINVAL, "options must not be NULL");
    s.n = 0;
    assert_status(moeg_sampling_check(&s), MOEG_EINVAL, "n must be at least 1, got 0");
    s = moeg_sampling_default();
    s.method = (moeg_method)9;
    assert_status(moeg_sampling_check(&s), MOEG_EINVAL, "method");
    s = moeg_sampling_default();
    const double bad[] = {0, 1, -0.5, NAN};
    for (size_t i = 0; i < 4; i++) {
        s.level = bad[i];
        assert_status(moeg_sampling_check(&s), MOEG_EINVAL, "level must be in (0, 1)");
    }
    s = moeg_sampling_default();
    s.max_threads = -1;
    assert_status(moeg_sampling_check(&s), MOEG_EINVAL, "max_threads");
    const double directions[] = {2.385, -0.7};
    s = moeg_sampling_default();
    s.method = MOEG_METHOD_LINE;
    s.direction_count = 2;
    assert_status(moeg_sampling_check(&s), MOEG_EINVAL, "directions must not be NULL: direction_count is 2");
    s.directions = directions;
    assert_ok(moeg_sampling_check(&s));
    s.direction_count = 0;
    assert_status(moeg_sampling_check(&s), MOEG_EINVAL, "direction_count must be at least 1 with directions, got 0");
    s.direction_count = 1;
    s.method = MOEG_METHOD_AUTO;
    assert_status(moeg_sampling_check(&s), MOEG_EINVAL, "method must be line with directions, got auto");
    s.method = MOEG_METHOD_MC;
    assert_status(moeg_sampling_check(&s), MOEG_EINVAL, "method must be line with directions, got mc");
    assert_string_equal(moeg_method_name(MOEG_METHOD_AUTO), "auto");
    assert_string_equal(moeg_method_name(MOEG_METHOD_MC), "mc");
    assert_string_equal(moeg_method_name(MOEG_METHOD_LINE), "line");
    assert_string_equal(moeg_method_name((moeg_method)9), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_texts_match_the_list),
        cmocka_unit_test(last_error_is_of_this_thread),
        cmocka_unit_test(checks_name_the_argument),
        cmocka_unit_test(arrays_are_checked),
        cmocka_unit_test(allocations_are_aligned_and_checked),
        cmocka_unit_test(asserts_fail_on_nan),
        cmocka_unit_test(version_is_the_headers),
        cmocka_unit_test(default_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
