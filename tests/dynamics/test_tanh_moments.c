/* E[z tanh(z/2s)], E[z^3 tanh(z/2s)] against 25 digits, and at their limits. */
#include "dynamics/tanh_moments.h"
#include "support/check.h"
#include "support/failing_alloc.h"

static void have_all_their_digits(void **state)
{
    (void)state;
    FILE *file = fopen(MOEG_TEST_DATA "/tanh_moments.csv", "r");
    assert_non_null(file);
    char line[256];
    size_t rows = 0;
    double worst = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        double s, expected[2], got[2];
        if (sscanf(line, "%lf,%lf,%lf", &s, &expected[0], &expected[1]) != 3)
            continue;
        rows++;
        assert_ok(moeg_tanh_moments(s, &got[0], &got[1]));
        for (size_t i = 0; i < 2; i++) {
            worst = fmax(worst, fabs(got[i] / expected[i] - 1));
            assert_relative(got[i], expected[i], 10 * EPS);
        }
    }
    fclose(file);
    assert_true(rows > 60);
    print_message("worst: %.2g epsilon\n", worst / EPS);
}

static void at_the_ends(void **state)
{
    (void)state;
    double first, third;
    const double one = sqrt(2 / acos(-1));
    assert_ok(moeg_tanh_moments(0, &first, &third));
    assert_relative(first, one, EPS);
    assert_relative(third, 2 * one, EPS);
    assert_ok(moeg_tanh_moments(INFINITY, &first, &third));
    assert_near(first, 0, 0);
    assert_near(third, 0, 0);
}

static moeg_status scenario(void *user)
{
    double first = 5, third = 7;
    const moeg_status status = moeg_tanh_moments(*(const double *)user, &first, &third);
    assert_true(status == MOEG_OK || (first == 5 && third == 7));
    return status;
}

static void out_of_memory(void **state)
{
    (void)state;
    double s = 0.5;
    assert_int_equal(fail_every_allocation(scenario, &s), 1);
    s = 2;
    assert_int_equal(fail_every_allocation(scenario, &s), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(have_all_their_digits),
        cmocka_unit_test(at_the_ends),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
