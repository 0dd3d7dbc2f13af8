/* When lines are enough for an error bar, and what is said where they are not. */
#include "limit/ray_estimate.h"

#include "base/error.h"
#include "support/check.h"

/* One value of 1000 lines: 2 with the standard error 0.1. */
struct one {
    double value, error, covariance, freedom, seen;
    uint64_t lines, contributing;
};
static const struct one plain = {
    .value = 2, .error = 1e-3, .covariance = 0.01, .freedom = 499, .seen = 400, .lines = 1000, .contributing = 1000};

static moeg_status estimate(struct one v, int rare, moeg_estimate *out)
{
    const moeg_ray_result result = {.lines = v.lines,
                                    .value = &v.value,
                                    .error = &v.error,
                                    .covariance = &v.covariance,
                                    .freedom = &v.freedom,
                                    .contributing = &v.contributing,
                                    .seen = &v.seen};
    return moeg_ray_estimate(&result, 1, 0, rare, 0.9, out);
}

static void assert_known(struct one v, int rare, uint64_t contributing)
{
    moeg_estimate e;
    assert_ok(estimate(v, rare, &e));
    assert_near(e.std_error, sqrt(v.covariance), 0);
    assert_true(e.n == v.lines && e.contributing == contributing && e.method == MOEG_METHOD_LINE);
    assert_true(isfinite(e.lo) && isfinite(e.hi));
}

static void assert_unknown(struct one v, int rare, uint64_t contributing)
{
    moeg_estimate e;
    assert_int_equal(estimate(v, rare, &e), MOEG_EUNABLE);
    assert_near(e.value, v.value, 0);
    assert_true(e.n == v.lines && e.contributing == contributing);
    assert_true(isinf(e.std_error) && e.lo == -INFINITY && e.hi == INFINITY);
}

static void enough_lines_have_an_interval(void **state)
{
    (void)state;
    moeg_estimate e;
    assert_ok(estimate(plain, 0, &e));
    /* The 95 % quantile of Student's t with 499 degrees of freedom is 1.6479130. */
    assert_near(e.hi, 2 + 1e-3 + 0.1 * 1.647913, 1e-7);
    assert_near(e.lo, 2 - 1e-3 - 0.1 * 1.647913, 1e-7);
    assert_near(e.quad_error, 1e-3, 0);
    assert_known(plain, 1, 1000);
    struct one v = plain;
    v.freedom = 29;
    assert_known(v, 0, 1000);
    v.freedom = 28.99;
    assert_unknown(v, 0, 1000);
}

static void few_lines_have_none(void **state)
{
    (void)state;
    for (int rare = 0; rare < 2; rare++) {
        struct one v = plain;
        v.contributing = 30;
        assert_known(v, rare, 30);
        v.contributing = 29;
        assert_unknown(v, rare, 29);
        v = plain;
        v.seen = 30;
        assert_known(v, rare, 1000);
        v.seen = 29.99;
        assert_unknown(v, rare, 1000);
    }
}

static void zero_is_certain_unless_lines_may_miss_it(void **state)
{
    (void)state;
    struct one v = plain;
    v.value = v.error = v.covariance = v.seen = 0;
    v.contributing = 0;
    assert_known(v, 0, 1000);
    assert_unknown(v, 1, 0);
}

static void variances_that_underflow_are_unknown(void **state)
{
    (void)state;
    struct one v = plain;
    v.covariance = DBL_MIN;
    assert_known(v, 0, 1000);
    v.covariance = DBL_MIN / 2;
    assert_unknown(v, 0, 1000);
    v.covariance = 0;
    assert_known(v, 0, 1000);
}

static void variances_that_overflow_are_unknown(void **state)
{
    (void)state;
    struct one v = plain;
    v.covariance = INFINITY;
    assert_unknown(v, 0, 1000);
    v.covariance = NAN;
    assert_unknown(v, 1, 1000);
}

/* Three values: a gap over tau, its leading term, and the rest at a temperature ten times as large. */
static void judge(int leads, double lead, double reference, int known, double *variance, double *freedom, double *seen)
{
    double covariance[9] = {1, 7, 7, 7, lead, 7, 7, 7, reference}, freedoms[3] = {500, 100, 50},
           sizes[3] = {99, 60, 40};
    moeg_ray_result result = {.covariance = covariance, .freedom = freedoms, .seen = sizes};
    const moeg_ray_rest rest = {.lead = leads ? 1 : 3, .reference = 2, .known = known, .share = 0.1, .scale = 1.5};
    sizes[1] = lead > 0 ? 60 : 0;
    moeg_ray_judge_rest(&rest, 3, 0, &result);
    assert_true(covariance[1] == 7 && covariance[4] == lead && covariance[8] == reference);
    *variance = covariance[0];
    *freedom = freedoms[0];
    *seen = sizes[0];
}

static void rests_are_judged_beside_leading_terms(void **state)
{
    (void)state;
    double variance, freedom, seen;
    judge(0, 5, 40, 1, &variance, &freedom, &seen); /* there is none */
    assert_relative(variance, 2.25 * 4, 1e-15);
    assert_true(freedom == 50 && seen == 40);
    judge(1, 12, 40, 1, &variance, &freedom, &seen);
    assert_relative(variance, 2.25 * 16, 1e-15);
    assert_relative(freedom, 1 / (0.75 * 0.75 / 100 + 0.25 * 0.25 / 50), 1e-15);
    assert_near(seen, 40, 0);
    judge(1, 12, 40, 0, &variance, &freedom, &seen);
    assert_near(freedom, 0, 0);
    judge(1, 12, 0.01, 0, &variance, &freedom, &seen); /* too little to matter */
    assert_true(freedom == 100 && seen == 60);
    judge(1, 0, 40, 1, &variance, &freedom, &seen); /* on no line that was drawn */
    assert_true(freedom == 50 && seen == 0);
    judge(1, 0, 1e-3, 1, &variance, &freedom, &seen); /* never less than its own */
    assert_true(variance == 1 && seen == 0);
}

/* One line is no sample. */
static void one_line_is_exact(void **state)
{
    (void)state;
    moeg_estimate e;
    struct one v = {.value = 2, .error = 1e-3, .lines = 1};
    for (int rare = 0; rare < 2; rare++) {
        assert_ok(estimate(v, rare, &e));
        assert_true(e.value == 2 && e.std_error == 0 && e.n == 1 && e.contributing == 1);
        assert_true(e.lo == 2 - 1e-3 && e.hi == 2 + 1e-3);
    }
}

/* A canceled run that has no value has no error bar. */
static void no_value_has_no_error_bar(void **state)
{
    (void)state;
    moeg_estimate e;
    struct one v = plain;
    v.value = v.covariance = v.seen = NAN;
    assert_int_equal(estimate(v, 0, &e), MOEG_EUNABLE);
    assert_true(isnan(e.value) && isinf(e.std_error) && isinf(e.lo) && isinf(e.hi));
}

static void what_is_wrong_is_said_once(void **state)
{
    (void)state;
    moeg_estimate all[2] = {{.std_error = 1}, {.std_error = INFINITY}};
    moeg_fail(MOEG_EUNABLE, "before");
    moeg_ray_explain("f", MOEG_EUNABLE, 77, 1, all);
    assert_string_equal(moeg_last_error(), "before");
    moeg_ray_explain("f", MOEG_OK, 77, 2, all);
    moeg_ray_explain("f", MOEG_ECANCELED, 77, 2, all);
    moeg_ray_explain("f", MOEG_EUNABLE, 77, 2, NULL);
    assert_string_equal(moeg_last_error(), "before");
    moeg_ray_explain("f", MOEG_EUNABLE, 77, 2, all);
    assert_string_equal(moeg_last_error(), "f: 77 lines are too few for an error bar");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enough_lines_have_an_interval),
        cmocka_unit_test(few_lines_have_none),
        cmocka_unit_test(zero_is_certain_unless_lines_may_miss_it),
        cmocka_unit_test(variances_that_underflow_are_unknown),
        cmocka_unit_test(variances_that_overflow_are_unknown),
        cmocka_unit_test(rests_are_judged_beside_leading_terms),
        cmocka_unit_test(one_line_is_exact),
        cmocka_unit_test(no_value_has_no_error_bar),
        cmocka_unit_test(what_is_wrong_is_said_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
