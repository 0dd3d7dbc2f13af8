#include "io/files.h"

#include <moegeom/csv.h>

static void numbers_are_read_to_the_nearest_double(void **state)
{
    (void)state;
    const struct {
        const char *text;
        double value;
    } cases[] = {
        {"2.385", 2.385},
        {"-2.385e-3", -2.385e-3},
        {"+17", 17},
        {"007", 7},
        {".5", 0.5},
        {"5.", 5},
        {"-.25E+2", -25},
        {" \t 1e5\t ", 1e5},
        {"-0", -0.0},
        {"0e999999999999", 0},
        {"0.1", 0.1},
        /* Half-way between two doubles, and a little past it. */
        {"9007199254740993", 9007199254740992.0},
        {"9007199254740993.00000000000000000000000000000000000001", 9007199254740994.0},
        {"1.00000000000000011102230246251565404236316680908203125", 1.0},
        {"1.00000000000000011102230246251565404236316680908203126", 0x1.0000000000001p0},
        {"1.00000000000000011102230246251565404236316680908203124", 1.0},
        /* The edge of the subnormals, which has hung readers. */
        {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022},
        {"2.2250738585072014e-308", DBL_MIN},
        {"4.9406564584124654e-324", 0x1p-1074},
        {"2.4703282292062328e-324", 0x1p-1074},
        {"2.4703282292062327e-324", 0},
        {"1e-400", 0},
        {"-1e-99999999999999999999", -0.0},
        {"1.7976931348623157e308", DBL_MAX},
        /* Just below half a unit above the largest double. */
        {"1.7976931348623158079372897140e308", DBL_MAX},
        {"nan", NAN},
        {"-NaN", NAN},
        {"inf", INFINITY},
        {"+INF", INFINITY},
        {"-Infinity", -INFINITY},
        {"iNfInItY ", INFINITY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double value = 42.5;
        assert_ok(moeg_parse_double(cases[i].text, &value));
        if (!same_bits(value, cases[i].value))
            fail_msg("%s: got %a, expected %a", cases[i].text, value, cases[i].value);
    }
}

static void what_is_no_number_is_refused(void **state)
{
    (void)state;
    const char *cases[] = {"",      " ",  "\t",   "x",        "1d3",   "1_000",    "1 2",  "1,5",   "1e",
                           "1e+",   ".",  "-",    "+-1",      "--1",   "- 1",      "0x10", "0x1p3", "1.2.3",
                           "1e2.5", "e5", "infi", "infx",     "nan1",  "nan(123)", "na",   "in",    "1\n",
                           "\n1",   "1f", "1L",   "\xd9\xa1", "1\xa0", "1e5e5",    "0b1",  "True",  "1'000"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double value = 42.5;
        assert_status(moeg_parse_double(cases[i], &value), MOEG_EFORMAT, "parse_double: expected a number, got \"");
        assert_true(value == 42.5);
    }
}

static void errors_name_the_text(void **state)
{
    (void)state;
    double value = 42.5;
    assert_status(moeg_parse_double(NULL, &value), MOEG_EINVAL, "parse_double: text must not be NULL");
    assert_status(moeg_parse_double("1", NULL), MOEG_EINVAL, "parse_double: value must not be NULL");
    const char *beyond[] = {
        "1e999", "-1e999", "1e309", "1.7976931348623159e308", " 1e99999999999999999999 ", "1.797693134862315808e308"};
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++)
        assert_status(moeg_parse_double(beyond[i], &value), MOEG_EFORMAT, "is beyond the range of double");
    assert_status(moeg_parse_double("1e999", &value), MOEG_EFORMAT, "parse_double: \"1e999\" is beyond");
    assert_status(moeg_parse_double("a\"\\\x01\x7f\xff", &value), MOEG_EFORMAT, "got \"a\\\"\\\\\\x01\\x7f\\xff\"");
    char text[1000];
    memset(text, 'q', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_status(moeg_parse_double(text, &value), MOEG_EFORMAT, "qqqq...\"");
    assert_true(strlen(moeg_last_error()) < 250);
    memset(text, '1', sizeof text - 1);
    assert_status(moeg_parse_double(text, &value), MOEG_EFORMAT, "beyond the range");
    text[300] = '.';
    assert_ok(moeg_parse_double(text, &value));
    assert_relative(value, 1e300 / 9, EPS);
}

static void known_forms_are_written(void **state)
{
    (void)state;
    const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {2.385, "2.385"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {-1e-9, "-1e-09"},
        {123456789012345, "123456789012345"},
        {9007199254740994, "9007199254740994"},
        {1e22, "1e+22"},
        {5e-324, "5e-324"},
        {-2.5e-323, "-2.5e-323"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {-DBL_MAX, "-1.7976931348623157e+308"},
        /* Powers of two for which the nearest 16 digits read back to the double below, and the next ones do not. */
        {0x1p-44, "5.684341886080802e-14"},
        {-0x1p-24, "-5.960464477539063e-08"},
        {NAN, "nan"},
        {-NAN, "nan"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];
        moeg_format_double(cases[i].value, text);
        assert_string_equal(text, cases[i].text);
    }
    moeg_format_double(1, NULL);
}

static size_t count_digits(const char *text)
{
    size_t count = 0;
    for (; *text != '\0' && *text != 'e'; text++)
        count += *text >= '0' && *text <= '9' && (count > 0 || *text != '0');
    return count;
}

/* The text reads back, and the nearest decimal with one digit less does not. Zeros before the exponent or the point are
 * the one way in which more digits may stand there than needed: %.15g strips them only behind the point. */
static void check_shortest(double value)
{
    char text[32], shorter[64];
    double back;
    moeg_format_double(value, text);
    assert_ok(moeg_parse_double(text, &back));
    if (!same_bits(value, back))
        fail_msg("%a is written as %s", value, text);
    const size_t count = count_digits(text);
    if (!isfinite(value) || count < 2 || strchr(text, '.') == NULL)
        return;
    snprintf(shorter, sizeof shorter, "%.*e", (int)count - 2, value);
    if (strtod(shorter, NULL) == value)
        fail_msg("%a is written as %s, though %s would do", value, text, shorter);
}

static void written_numbers_read_back_and_are_short(void **state)
{
    (void)state;
    uint64_t seed = 2385;
    for (int i = 0; i < 20000; i++) {
        check_shortest(random_double(&seed));
        check_shortest((double)(next_random(&seed) % 2000000) / 1000 - 1000);
        check_shortest((double)(next_random(&seed) >> 40) * 0x1p-1074);
    }
    for (int exponent = -1074; exponent < 1024; exponent++) {
        check_shortest(ldexp(1, exponent));
        check_shortest(nextafter(ldexp(1, exponent), 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_to_the_nearest_double),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(errors_name_the_text),
        cmocka_unit_test(known_forms_are_written),
        cmocka_unit_test(written_numbers_read_back_and_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
