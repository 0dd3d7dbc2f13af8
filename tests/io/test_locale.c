#include "io/files.h"

#include <locale.h>
#include <moegeom/csv.h>

/* Locales with another decimal point are made on the spot, for few machines have one installed: the system's localedef
 * and two lines of text suffice. */
static const struct {
    const char *name, *point, *charmap;
} made[] = {{"xx_XX", ",", "ANSI_X3.4-1968"}, {"yy_YY.UTF-8", "<U066B>", "UTF-8"}};

static int make_locale(size_t i)
{
    char text[256], command[1024];
    snprintf(text, sizeof text,
             "comment_char %%\nescape_char /\nLC_NUMERIC\ndecimal_point \"%s\"\nthousands_sep \".\"\ngrouping 3;3\n"
             "END LC_NUMERIC\n",
             made[i].point);
    const char *source = write_text("source", text);
    snprintf(command, sizeof command, "localedef -c --quiet --no-archive -i %s -f %s %s >/dev/null 2>&1", source,
             made[i].charmap, test_path(made[i].name));
    (void)!system(command);
    return setlocale(LC_NUMERIC, made[i].name) != NULL;
}

static void check_numbers(void)
{
    char text[32];
    double value = 0;
    assert_ok(moeg_parse_double("2.385", &value));
    assert_true(value == 2.385);
    assert_status(moeg_parse_double("2,385", &value), MOEG_EFORMAT, "2,385");
    const double values[] = {2.385, -1.5e-9, 1.0 / 3, 0x1p-44, 1e22, 17, -INFINITY};
    const char *texts[] = {"2.385", "-1.5e-09", "0.3333333333333333", "5.684341886080802e-14", "1e+22", "17", "-inf"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        moeg_format_double(values[i], text);
        assert_ok(moeg_parse_double(text, &value));
        assert_true(value == values[i]);
        assert_string_equal(text, texts[i]);
    }
}

static void check_files(void)
{
    const double values[] = {2.385, -0.125, 1e-300, 12345.678};
    const char *const names[] = {"x", "y"};
    const char *path = test_path("locale.csv");
    moeg_table table;
    assert_ok(moeg_csv_write(path, 2, 2, names, values));
    assert_file(path, "x,y\n2.385,-0.125\n1e-300,12345.678\n");
    assert_ok(moeg_csv_read(path, &table));
    assert_memory_equal(table.values, values, sizeof values);
    moeg_table_free(&table);
}

static void check_under(size_t i)
{
    if (!make_locale(i)) {
        print_message("skipped: no locale with another decimal point, and no localedef to make one\n");
        skip();
    }
    char host[32];
    snprintf(host, sizeof host, "%.1f", 1.5);
    assert_true(strchr(host, '.') == NULL);
    check_numbers();
    check_files();
    /* The host's locale is as it was. */
    char after[32];
    snprintf(after, sizeof after, "%.1f", 1.5);
    assert_string_equal(after, host);
    assert_string_equal(setlocale(LC_NUMERIC, NULL), made[i].name);
    setlocale(LC_NUMERIC, "C");
}

static void a_comma_is_no_point(void **state)
{
    (void)state;
    check_under(0);
}

static void a_point_of_two_bytes(void **state)
{
    (void)state;
    check_under(1);
}

/* A locale of the thread alone is put back too. */
static void the_threads_locale_stays(void **state)
{
    (void)state;
    if (!make_locale(0))
        skip();
    const locale_t mine = duplocale(LC_GLOBAL_LOCALE);
    assert_true(mine != (locale_t)0);
    setlocale(LC_NUMERIC, "C");
    const locale_t before = uselocale(mine);
    check_numbers();
    check_files();
    assert_true(uselocale(before) == mine);
    freelocale(mine);
}

static int set_up(void **state)
{
    return make_test_directory(state) != 0 || setenv("LOCPATH", test_directory, 1) != 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", test_directory);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_comma_is_no_point),
        cmocka_unit_test(a_point_of_two_bytes),
        cmocka_unit_test(the_threads_locale_stays),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
