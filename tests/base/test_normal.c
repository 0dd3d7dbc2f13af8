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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mass_has_all_its_digits),
        cmocka_unit_test(test_mass_at_the_ends),
        cmocka_unit_test(test_tail_is_half_of_two_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
