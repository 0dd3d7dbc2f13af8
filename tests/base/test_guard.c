#include "base/guard.h"
#include "support/check.h"

#include <cblas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_sf_gamma.h>
#include <omp.h>

static void host_handler(const char *reason, const char *file, int line, int gsl_errno)
{
    (void)reason;
    (void)file;
    (void)line;
    (void)gsl_errno;
    fail_msg("the host's handler was called inside the guard");
}

/* The handler in force, found by swapping. */
static gsl_error_handler_t *handler_now(void)
{
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    gsl_set_error_handler(handler);
    return handler;
}

/* A GSL call that fails: ln Gamma at a pole. */
static int failing_gsl_call(void)
{
    gsl_sf_result result;
    return gsl_sf_lngamma_e(-2.0, &result);
}

static void settings_come_back(void **state)
{
    (void)state;
    gsl_error_handler_t *const before = gsl_set_error_handler(host_handler);
    openblas_set_num_threads(2);
    const int threads = openblas_get_num_threads();
    moeg_guard_enter();
    assert_int_equal(failing_gsl_call(), GSL_EDOM);
    assert_int_equal(openblas_get_num_threads(), 1);
    moeg_guard_enter();
    moeg_guard_leave();
    assert_int_equal(failing_gsl_call(), GSL_EDOM);
    assert_int_equal(openblas_get_num_threads(), 1);
    moeg_guard_leave();
    assert_true(handler_now() == host_handler);
    assert_int_equal(openblas_get_num_threads(), threads);
    gsl_set_error_handler(before);
}

static void default_handler_comes_back(void **state)
{
    (void)state;
    gsl_set_error_handler(NULL);
    moeg_guard_enter();
    assert_int_equal(failing_gsl_call(), GSL_EDOM);
    moeg_guard_leave();
    assert_true(handler_now() == NULL);
}

static void eight_threads_share_the_guard(void **state)
{
    (void)state;
    gsl_error_handler_t *const before = gsl_set_error_handler(host_handler);
    openblas_set_num_threads(2);
    const int threads = openblas_get_num_threads();
    int wrong = 0;
#pragma omp parallel num_threads(8) reduction(+ : wrong)
    for (int i = 0; i < 500; i++) {
        moeg_guard_enter();
        wrong += failing_gsl_call() != GSL_EDOM;
        if (i % 3 == 0) {
            moeg_guard_enter();
            wrong += openblas_get_num_threads() != 1;
            moeg_guard_leave();
        }
        wrong += failing_gsl_call() != GSL_EDOM;
        moeg_guard_leave();
    }
    assert_int_equal(wrong, 0);
    assert_true(handler_now() == host_handler);
    assert_int_equal(openblas_get_num_threads(), threads);
    gsl_set_error_handler(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_come_back),
        cmocka_unit_test(default_handler_comes_back),
        cmocka_unit_test(eight_threads_share_the_guard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
