/* What the examples share and no run of theirs can show: a verdict that disagrees, cells of a table. */
#include "support/check.h"

#include "../../examples/support/example.h"

#include <stdlib.h>

static void read_back(FILE *file, char *text, size_t size)
{
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static void verdict_says_what_fails(void **state)
{
    (void)state;
    char text[512];
    FILE *file = tmpfile();
    assert_non_null(file);
    verdict v = verdict_begin(file);
    verdict_check(&v, 1, "first %d", 1);
    verdict_check(&v, 0, "second %.3f", 2.385);
    verdict_check(&v, 0, "third");
    assert_int_equal(verdict_end(&v), EXIT_DISAGREES);
    read_back(file, text, sizeof text);
    assert_string_equal(text, "\nchecks:\n  ok    first 1\n  FAILS second 2.385\n  FAILS third\n"
                              "DISAGREES: second 2.385; third\n");
}

/* However many the rows are, an exponent that they do not tell is no number. */
static void exponents_worth_few_rows(void **state)
{
    (void)state;
    static const char *const names[] = {"alpha", "error"};
    const moeg_estimate exponents[] = {
        {.value = 1.1248, .std_error = 1.1248, .contributing = 100},
        {.value = 1.1248, .std_error = INFINITY, .contributing = 100},
        {.value = 1.1248, .std_error = 0.2053594, .contributing = 30},
    };
    for (int i = 0; i < 3; i++) {
        char text[512];
        FILE *file = tmpfile();
        assert_non_null(file);
        table *t = table_create(2, names);
        table_exponent(t, &exponents[i]);
        table_print(t, file);
        table_free(t);
        read_back(file, text, sizeof text);
        assert_true((strstr(text, "too few rows") != NULL) == (i < 2));
        assert_true((strstr(text, "1.1248") != NULL) == (i == 2));
    }
}

static void verdict_agrees(void **state)
{
    (void)state;
    char text[512];
    FILE *file = tmpfile();
    assert_non_null(file);
    verdict v = verdict_begin(file);
    verdict_check(&v, 1, "first");
    verdict_check(&v, 1, "second");
    assert_int_equal(verdict_end(&v), EXIT_SUCCESS);
    read_back(file, text, sizeof text);
    assert_non_null(strstr(text, "\nagrees with theory: 2 of 2 checks hold\n"));
}

/* Sentences longer than there is room for are cut, not written past it. */
static void verdict_counts_no_untested_claim(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    verdict v = verdict_begin(file);
    verdict_none(&v, "rows: %d", 7);
    verdict w = v;
    assert_int_equal(verdict_end(&v), EXIT_SUCCESS);
    verdict_check(&w, 1, "first");
    assert_int_equal(verdict_end(&w), EXIT_SUCCESS);
    fclose(file);
    assert_non_null(strstr(text, "  none  rows: 7\n"));
    assert_non_null(strstr(text, "not at all\n"));
    assert_non_null(strstr(text, "\nagrees with theory: 1 of 1 checks hold, 1 could not be made\n"));
    free(text);
}

static void verdict_is_cut(void **state)
{
    (void)state;
    char text[8192];
    FILE *file = tmpfile();
    assert_non_null(file);
    verdict v = verdict_begin(file);
    for (int i = 0; i < 9; i++)
        verdict_check(&v, 0, "%0400d", i);
    assert_int_equal(verdict_end(&v), EXIT_DISAGREES);
    assert_int_equal(v.failures, 9);
    assert_int_equal(strlen(v.failed), sizeof v.failed - 1);
    read_back(file, text, sizeof text);
}

static void table_in_columns(void **state)
{
    (void)state;
    static const char *const names[] = {"tau", "gap"};
    char text[512];
    FILE *file = tmpfile();
    assert_non_null(file);
    table *t = table_create(2, names);
    table_number(t, 0.1);
    table_text(t, "too %s", "few");
    table_number(t, 1e-20);
    table_number(t, -2.385);
    table_number(t, 1);
    table_number(t, -0.0);
    table_print(t, file);
    table_free(t);
    read_back(file, text, sizeof text);
    assert_string_equal(text, "  tau      gap\n  0.1  too few\n1e-20   -2.385\n    1        0\n");
}

static void grid_is_geometric(void **state)
{
    (void)state;
    double *values = grid_values((grid){1e-300, 1e300, 7});
    for (size_t i = 0; i < 7; i++)
        assert_relative(values[i], pow(10, -300 + 100 * (double)i), 2000 * EPS);
    assert_near(values[0], 1e-300, 0);
    assert_near(values[6], 1e300, 0);
    free(values);
    values = grid_values((grid){2.385, 2.385, 1});
    assert_near(values[0], 2.385, 0);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdict_says_what_fails), cmocka_unit_test(exponents_worth_few_rows),
        cmocka_unit_test(verdict_agrees),          cmocka_unit_test(verdict_counts_no_untested_claim),
        cmocka_unit_test(verdict_is_cut),          cmocka_unit_test(table_in_columns),
        cmocka_unit_test(grid_is_geometric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
