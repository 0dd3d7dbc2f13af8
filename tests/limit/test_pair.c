/* Rows with their rounding errors, and multiples of rows in exact arithmetic. */
#include "limit/pair.h"

#include "support/check.h"

static moeg_row row(const double *plus, const double *minus, double plus_constant, double minus_constant)
{
    return (moeg_row){
        .d = 3, .plus = plus, .minus = minus, .plus_constant = plus_constant, .minus_constant = minus_constant};
}

static int is_multiple(const double *a, const double *b, int constants)
{
    static const double zero[3] = {0};
    const moeg_row of_a = row(a, zero, a[3], 0), of_b = row(b, zero, b[3], 0);
    size_t pivot;
    return moeg_row_is_multiple(&of_a, &of_b, constants, &pivot);
}

static void multiples_are_exact(void **state)
{
    (void)state;
    const double a[4] = {0, 0.731, -2.385, 0.1};
    static const double factors[] = {1, -1, 3, 0x1p-1000, 0x1p900, 0};
    for (size_t i = 0; i < 6; i++) {
        double b[4];
        for (size_t j = 0; j < 4; j++)
            b[j] = factors[i] * a[j];
        /* 3 a_j are rounded, the others not. */
        assert_int_equal(is_multiple(a, b, 1), factors[i] != 3);
        if (factors[i] == 0)
            continue;
        for (size_t j = 0; j < 4; j++) {
            double c[4];
            memcpy(c, b, sizeof c);
            c[j] = nextafter(b[j], 1);
            assert_false(is_multiple(a, c, 1));
            if (j == 3 && factors[i] != 3)
                assert_true(is_multiple(a, c, 0));
        }
    }
    const double wide[4] = {1e-300, 1e300, 0, 1}, scaled[4] = {1e-300 / 2, 1e300 / 2, 0, 0.5};
    assert_true(is_multiple(wide, scaled, 1));
    const double zero_first[4] = {0, 0, 0, 1};
    assert_false(is_multiple(wide, zero_first, 1));
    assert_true(is_multiple(wide, zero_first, 0));
}

/* Differences that need both halves of a pair: (1, 2^-70, ...) and three times that. */
static void differences_of_rows(void **state)
{
    (void)state;
    const double plus[3] = {1, 1, 2}, minus[3] = {0x1p-70, -0x1p-60, 0x1p-65};
    double plus3[3], minus3[3];
    for (size_t j = 0; j < 3; j++) {
        plus3[j] = 3 * plus[j];
        minus3[j] = 3 * minus[j];
    }
    const moeg_row a = row(plus, minus, 1, 0x1p-80), b = row(plus3, minus3, 3, 3 * 0x1p-80);
    size_t pivot;
    assert_true(moeg_row_is_multiple(&a, &b, 1, &pivot));
    assert_int_equal(pivot, 0);
    minus3[1] = nextafter(minus3[1], 0);
    assert_false(moeg_row_is_multiple(&a, &b, 1, &pivot));
    minus3[1] = 3 * minus[1];
    const moeg_row c = row(plus3, minus3, 3, nextafter(3 * 0x1p-80, 1));
    assert_true(moeg_row_is_multiple(&a, &c, 0, &pivot));
    assert_false(moeg_row_is_multiple(&a, &c, 1, &pivot));
}

/* t = 3 s + small r with Cov(r.X, s) = 0: its variance keeps its digits, 1e-15 of t's and less. */
static void the_part_without(void **state)
{
    (void)state;
    const double S[9] = {2, 0.5, 0, 0.5, 1, 0, 0, 0, 3}, s_row[3] = {1, -1, 0}, x[3] = {1e8, -3e8, 7};
    for (double small = 1; small > 1e-15; small /= 64) {
        const double t_row[3] = {3, -3, small}, zero[3] = {0};
        const moeg_row s = row(s_row, zero, 0.25, 0), t = row(t_row, zero, 0.5, 0);
        const moeg_row rest = moeg_row_without(&t, &s, S);
        assert_relative((double)moeg_pair_value(rest.multiple), 3.0, EPS);
        assert_relative((double)moeg_pair_value(moeg_row_product(&rest, &rest, S, NULL)), 3 * small * small, 4 * EPS);
        assert_near((double)moeg_pair_value(moeg_row_product(&rest, &s, S, NULL)), 0, 1e-34);
        /* (t - 3 s)(x): what is of 1e9 cancels. */
        assert_relative((double)moeg_pair_value(moeg_row_at(&rest, x)), 7 * small + 0.5 - 0.75, 4 * EPS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiples_are_exact),
        cmocka_unit_test(differences_of_rows),
        cmocka_unit_test(the_part_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
