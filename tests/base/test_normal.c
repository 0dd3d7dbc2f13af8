/* Normal masses against 25 digits. */
#include "base/normal.h"
#include "support/check.h"

static void test_mass_has_all_its_digits(void **state)
{
    (void)state;
    FILE *file = fopen(MOEG_TEST_DATA "/normal.csv", "r");
    assert_non_null(file);
    char line[256];
    size_t rows = 0;
    double worst = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        double mid, half, mass;
        if (sscanf(line, "%lf,%lf,%lf", &mid, &half, &mass) != 3)
            continue;
        rows++;
        if (mass < 1e-290 * half && mass < 1e-290) /* Near the end of the range the density itself is subnormal. */
            continue;
        const double got = moeg_normal_mass(mid, half);
        worst = fmax(worst, fabs(got / mass - 1));
        assert_relative(got, mass, 1e-14);
        assert_true(moeg_normal_mass(-mid, half) == got);
    }
    fclose(file);
    assert_true(rows > 200);
    print_message("worst: %.2g epsilon\n", worst / EPS);
    assert_true(worst < 16 * EPS);
}

static void test_mass_at_the_ends(void **state)
{
    (void)state;
    assert_true(moeg_normal_mass(1.3, 0) == 0);
    assert_true(moeg_normal_mass(1.3, INFINITY) == 1);
    assert_true(moeg_normal_mass(500, 1) == 0);
    assert_true(isnan(moeg_normal_density(NAN)));
    assert_true(moeg_normal_density(-INFINITY) == 0);
    assert_true(moeg_normal_tail(-INFINITY) == 1);
    assert_true(moeg_normal_tail(INFINITY) == 0);
}

/* Half a line is an interval too. */
static void test_tail_is_half_of_two_sides(void **state)
{
    (void)state;
    for (double x = -8; x < 37; x += 0.37) {
        const double rounded = (x + 20) - 20, both = moeg_normal_tail(x) + moeg_normal_tail(-x);
        assert_near(both, 1, 4 * EPS);
        if (x > 0)
            assert_relative(moeg_normal_mass(x + 20, 20), moeg_normal_tail(rounded), 8 * EPS);
    }
    assert_relative(moeg_normal_tail(30.0625), 1.0 / 2 * erfc(30.0625 / sqrt(2)), 1e-12);
}

/* From its beginning: the same where that and the length are those of middle and half-width, and no end is lost beside
 * a long length. */
static void test_intervals_keep_their_ends(void **state)
{
    (void)state;
    static const double halves[] = {1e-300, 1e-9, 0.25, 0.5, 0.75, 8, 64};
    for (int from = -64; from <= 30; from++)
        for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
            const double begin = from < 0 || halves[i] > 1e-10 ? from / 2.0 : 0, mid = begin + halves[i];
            if (mid - begin == halves[i] || halves[i] < 1e-200)
                assert_relative(moeg_normal_interval(begin, 2 * halves[i]), moeg_normal_mass(mid, halves[i]), 1e-14);
        }
    for (double length = 1e3; length < 1e308; length *= 1e5)
        for (double from = -3.3; from < 4; from += 0.7)
            assert_relative(moeg_normal_interval(from, length), moeg_normal_tail(from), 4 * EPS);
    for (double from = -1e3; from < -990; from++) /* up to a half, exactly */
        assert_relative(moeg_normal_interval(from, 0.5 - from), moeg_normal_tail(-0.5), 4 * EPS);
    assert_true(moeg_normal_interval(-INFINITY, INFINITY) == 1);
    assert_relative(moeg_normal_interval(1.5, INFINITY), moeg_normal_tail(1.5), 0);
    assert_relative(moeg_normal_interval(-2.7, 3.9), 0.881463355975251, 4 * EPS); /* in 30 digits */
}

/* Between two ends, however far one of them is; from either side. */
static void test_between_keeps_the_nearer_end(void **state)
{
    (void)state;
    for (double end = -3.3; end < 4; end += 0.7) {
        for (double far = 1e3; far < 1e308; far *= 1e5) {
            assert_relative(moeg_normal_between(end, far), moeg_normal_tail(end), 4 * EPS);
            assert_relative(moeg_normal_between(-far, end), moeg_normal_tail(-end), 4 * EPS);
        }
        assert_true(moeg_normal_between(end, INFINITY) == moeg_normal_tail(end));
        assert_true(moeg_normal_between(-INFINITY, end) == moeg_normal_tail(-end));
        assert_true(moeg_normal_between(end, end) == 0);
    }
    assert_true(moeg_normal_between(-INFINITY, INFINITY) == 1);
    assert_relative(moeg_normal_between(-2.7, 1.2), 0.881463355975251, 4 * EPS); /* in 30 digits */
    assert_true(moeg_normal_between(-1.2, 2.7) == moeg_normal_between(-2.7, 1.2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mass_has_all_its_digits),      cmocka_unit_test(test_mass_at_the_ends),
        cmocka_unit_test(test_tail_is_half_of_two_sides),    cmocka_unit_test(test_intervals_keep_their_ends),
        cmocka_unit_test(test_between_keeps_the_nearer_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
