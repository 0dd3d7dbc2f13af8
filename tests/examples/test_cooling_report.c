/* cooling_report on data made here, without weights and on all rows, against the obvious computation of oracle.h. */
#include "examples/oracle.h"

enum { NW = 7 };

#define COMMON "--data data.csv --target price --router router.csv --log v,price --standardize "

static void risks_equal_the_obvious_computation(void **state)
{
    (void)state;
    data *s = malloc(sizeof *s);
    make_data(s, 0);
    oracle *o = plain_oracle(s);
    assert_int_equal(run(COMMON "--tau 0.002:4:33 --csv risks.csv"), 0);
    assert_risks_are_those_of(o);
    free(s);
    free(o);
}

/* Default grids are multiples of the median margin. */
static void default_grid(void **state)
{
    (void)state;
    data *s = malloc(sizeof *s);
    double found[26][5];
    long double sorted[N];
    make_data(s, 0);
    oracle *o = plain_oracle(s);
    for (size_t i = 0; i < N; i++) {
        size_t at = i;
        for (; at > 0 && sorted[at - 1] > o->margin[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = o->margin[i];
    }
    assert_int_equal(run(COMMON "--csv risks.csv"), 0);
    read_csv("risks.csv", "tau,soft_risk,hard_risk,gap,std_error", 26, 5, *found);
    double C = 0;
    char text[64];
    for (size_t i = 0; i < N; i++)
        C = fmax(C, (double)((long double)(i + 1) / N / sorted[i]));
    snprintf(text, sizeof text, "over the data: C = %.6g", C);
    assert_true(reported(text));
    const double median = (double)(sorted[N / 2 - 1] + sorted[N / 2]) / 2;
    assert_relative(found[0][0], 1e-4 * median, close_enough);
    assert_relative(found[25][0], 10 * median, close_enough);
    free(s);
    free(o);
}

static void mass_is_a_count(void **state)
{
    (void)state;
    data *s = malloc(sizeof *s);
    double found[NW][4];
    make_data(s, 0);
    oracle *o = plain_oracle(s);
    /* With price among the features the router needs one more weight: take it out of the data first. */
    FILE *file = open_file("features.csv", "w");
    for (size_t i = 0; i < N; i++)
        fprintf(file, "%.17g,%.17g,%.17g\n", s->raw[i][0], s->raw[i][2], s->raw[i][3]);
    fclose(file);
    assert_int_equal(run("--data features.csv --target none --router router.csv --log c1 --standardize "
                         "--w 0.001:5:7 --csv mass.csv"),
                     0);
    read_csv("mass.csv", "w,mass,lo,hi", NW, 4, *found);
    for (size_t j = 0; j < NW; j++) {
        size_t count = 0;
        for (size_t i = 0; i < N; i++)
            count += o->margin[i] <= (long double)found[j][0];
        assert_near(found[j][1], (double)count / N, EPS);
        assert_true(found[j][2] <= found[j][1] && found[j][1] <= found[j][3] && found[j][3] - found[j][2] > 3.2 / N);
    }
    assert_false(reported("gap"));
    free(s);
    free(o);
}

static void npy_has_columns_by_number(void **state)
{
    (void)state;
    data *s = malloc(sizeof *s);
    double with_names[NTAU][5], by_number[NTAU][5];
    const size_t shape[] = {N, D + 2}, router_shape[] = {K, D + 1};
    make_data(s, 1);
    assert_ok(moeg_npy_write(path("data.npy"), 2, shape, MOEG_NPY_F8, *s->raw));
    assert_ok(moeg_npy_write(path("router.npy"), 2, router_shape, MOEG_NPY_F8, *s->router));
    assert_int_equal(run(COMMON "--weights w --tau 0.02:4:33 --csv a.csv"), 0);
    assert_int_equal(
        run("--data data.npy --target c1 --router router.npy --log c2,c1 --standardize --weights c4 --tau 0.02:4:33 "
            "--csv b.csv"),
        0);
    read_csv("a.csv", "tau,soft_risk,hard_risk,gap,std_error", NTAU, 5, *with_names);
    read_csv("b.csv", "tau,soft_risk,hard_risk,gap,std_error", NTAU, 5, *by_number);
    assert_memory_equal(with_names, by_number, sizeof by_number);
    free(s);
}

/* Equal logits everywhere: no certificate of the form C tau, a unit of 1, and empty cells; still the others hold. */
static void ties_are_said(void **state)
{
    (void)state;
    data s;
    make_data(&s, 0);
    memset(s.router, 0, sizeof s.router);
    write_data(&s, 0);
    assert_int_equal(run(COMMON "--csv risks.csv"), 0);
    assert_true(reported("640 rows tie"));
    assert_true(reported("no certificate of the form C tau: 640 rows tie"));
    assert_true(reported("no usable median margin: the unit below is 1"));
    assert_true(reported("empty: zero expert"));
}

/* All rows in one cell, one column twice another: the slopes are not unique. And y linear in x: the hard risk is 0. */
static void perfect_and_deficient(void **state)
{
    (void)state;
    FILE *file = open_file("linear.csv", "w");
    fputs("a,b,y\n", file);
    for (size_t i = 0; i < 40; i++) {
        const double a = fmod(0.7548776662 * (double)(i + 1), 1);
        fprintf(file, "%.17g,%.17g,%.17g\n", a, 2 * a, 1.9 * a + 0.7);
    }
    fclose(file);
    file = open_file("two.csv", "w");
    fputs("1,0,-0.45\n-1,0,0.45\n", file);
    fclose(file);
    assert_int_equal(run("--data linear.csv --target y --router two.csv"), 0);
    assert_true(reported("slopes not unique: minimum norm"));
    assert_true(reported("safe temperature: undefined, since the hard risk is 0"));
    assert_true(reported("agrees with theory"));
}

/* Temperatures far below every margin: exact zeros over the data, and infinite error bars, which are said. */
static void temperatures_that_no_row_feels(void **state)
{
    (void)state;
    data s;
    double found[2][5];
    make_data(&s, 0);
    assert_int_equal(run(COMMON "--tau 1e-9:1e-8:2 --csv risks.csv"), 0);
    read_csv("risks.csv", "tau,soft_risk,hard_risk,gap,std_error", 2, 5, *found);
    assert_true(reported("no row feels this"));
    for (size_t t = 0; t < 2; t++) {
        assert_near(found[t][3], 0, 0);
        assert_true(isinf(found[t][4]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(risks_equal_the_obvious_computation),
        cmocka_unit_test(default_grid),
        cmocka_unit_test(mass_is_a_count),
        cmocka_unit_test(npy_has_columns_by_number),
        cmocka_unit_test(ties_are_said),
        cmocka_unit_test(perfect_and_deficient),
        cmocka_unit_test(temperatures_that_no_row_feels),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
