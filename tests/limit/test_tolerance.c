/* Runs to a tolerance: that it is reached, that stopping early changes no bit of what was done and little of the
 * coverage, and what is said when it is not reached. */
#include <moegeom/leading.h>

#include "limit/lines.h"
#include "limit/rays.h"
#include "support/estimates.h"

static const double tau[2] = {0.3, 0.05}, w[2] = {0.5, 0.1};

static moeg_sampling options(moeg_method method, double rel_tol, double abs_tol)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = method;
    s.n = 1 << 20;
    s.rel_tol = rel_tol;
    s.abs_tol = abs_tol;
    return s;
}

static double half(const moeg_estimate *e)
{
    return (e->hi - e->lo) / 2;
}

/* Rows: the result is that of the rows done, bit by bit; all that is asked for is within the tolerance, and no less. */
static void rows_stop_where_they_may(void **state)
{
    (void)state;
    struct problem p;
    tetrahedron(&p);
    moeg_estimate hard[2], soft[2][2], gap[2][2], mass[2][2];
    double covariance[2][4];
    moeg_sampling s = options(MOEG_METHOD_MC, 0.1, 0);
    assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tau, &s, &hard[0], soft[0], gap[0],
                              covariance[0]));
    assert_true(gap[0][0].n < 1 << 16 && half(&gap[0][1]) <= 0.1 * fabs(gap[0][1].value));
    assert_true(half(&gap[0][1]) > 0.03 * fabs(gap[0][1].value));
    s = options(MOEG_METHOD_MC, 0, 0);
    s.n = gap[0][0].n;
    assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tau, &s, &hard[1], soft[1], gap[1],
                              covariance[1]));
    assert_same_estimates(&hard[0], &hard[1], 1);
    assert_same_estimates(soft[0], soft[1], 2);
    assert_same_estimates(gap[0], gap[1], 2);
    assert_memory_equal(covariance[0], covariance[1], sizeof covariance[0]);
    s = options(MOEG_METHOD_MC, 0, 2e-3);
    assert_ok(moeg_boundary_mass(p.router, p.law, 2, w, &s, mass[0]));
    assert_true(half(&mass[0][0]) <= 2e-3 && half(&mass[0][0]) > 1e-3 && mass[0][0].n < 1 << 20);
    const uint64_t n = mass[0][0].n;
    s = options(MOEG_METHOD_MC, 0, 0);
    s.n = n;
    assert_ok(moeg_boundary_mass(p.router, p.law, 2, w, &s, mass[1]));
    assert_same_estimates(mass[0], mass[1], 2);
    problem_free(&p);
}

/* Lines: what is asked for alone decides. */
static void lines_stop_where_they_may(void **state)
{
    (void)state;
    struct problem p;
    tetrahedron(&p);
    moeg_estimate gap[2], mass[2], slope, rest[2], hard;
    moeg_sampling s = options(MOEG_METHOD_LINE, 0.02, 0);
    assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tau, &s, gap));
    assert_true(half(&gap[1]) <= 0.02 * fabs(gap[1].value) && half(&gap[0]) <= 0.02 * fabs(gap[0].value));
    assert_true(gap[0].n < 1 << 16 &&
                fmax(half(&gap[0]) / fabs(gap[0].value), half(&gap[1]) / fabs(gap[1].value)) > 0.005);
    assert_ok(moeg_boundary_mass(p.router, p.law, 2, w, &s, mass));
    assert_true(half(&mass[0]) <= 0.02 * mass[0].value && half(&mass[1]) <= 0.02 * mass[1].value);
    assert_true(mass[0].n < 1 << 16);
    s = options(MOEG_METHOD_LINE, 0, 0.05);
    assert_ok(moeg_leading_remainder(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tau, &s, &slope, rest));
    assert_true(half(&slope) <= 0.05 && half(&rest[0]) <= 0.05 && half(&rest[1]) <= 0.05 && slope.n < 1 << 20);
    assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, tau, &s, &hard, NULL, NULL, NULL));
    assert_true(half(&hard) <= 0.05 && half(&hard) > 0.005);
    problem_free(&p);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    struct problem p;
    tetrahedron(&p);
    const moeg_method methods[] = {MOEG_METHOD_MC, MOEG_METHOD_LINE};
    const int threads[] = {1, 2, 5};
    for (int m = 0; m < 2; m++) {
        moeg_estimate gap[3][2], mass[3][2];
        moeg_sampling s = options(methods[m], m == 0 ? 0.1 : 0.02, 0);
        for (int i = 0; i < 3; i++) {
            s.max_threads = threads[i];
            assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tau, &s, gap[i]));
            assert_ok(moeg_boundary_mass(p.router, p.law, 2, w, &s, mass[i]));
            assert_same_estimates(gap[i], gap[0], 2);
            assert_same_estimates(mass[i], mass[0], 2);
        }
    }
    problem_free(&p);
}

/* At least 93 % of a nominal 95; of 6000 seeds it is 94.6 and 94.7 %. */
static void coverage_after_stopping(void **state)
{
    (void)state;
    enum { RUNS = 1000 };
    struct problem p;
    tetrahedron(&p);
    const moeg_method methods[] = {MOEG_METHOD_MC, MOEG_METHOD_LINE};
    moeg_estimate truth;
    moeg_sampling s = options(MOEG_METHOD_LINE, 0, 0);
    assert_ok(moeg_boundary_mass(p.router, p.law, 1, w, &s, &truth));
    for (int m = 0; m < 2; m++) {
        size_t covered = 0, several = 0;
        for (int run = 0; run < RUNS; run++) {
            moeg_estimate mass;
            s = options(methods[m], m == 0 ? 0.04 : 0.012, 0);
            s.seed = 1000 + (uint64_t)run;
            s.max_threads = 1;
            assert_ok(moeg_boundary_mass(p.router, p.law, 1, w, &s, &mass));
            covered += mass.lo <= truth.value && truth.value <= mass.hi;
            several += mass.n > 2048;
        }
        assert_in_range(covered, 930, 970);
        assert_int_equal(several, RUNS);
    }
    problem_free(&p);
}

static int stop_in_second_round(uint64_t done, uint64_t total, void *user)
{
    int *rounds = user;
    *rounds += done == total;
    return *rounds > 0 && done < total;
}

static void what_is_not_reached(void **state)
{
    (void)state;
    struct problem p;
    tetrahedron(&p);
    moeg_estimate gap[2] = {{.value = 42}}, exact[2];
    moeg_sampling s = options(MOEG_METHOD_MC, 1e-3, 0);
    s.n = 20000;
    assert_status(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tau, &s, gap), MOEG_EUNABLE,
                  "risk_gap: the tolerance is not reached with n = 20000: errors are ");
    assert_true(gap[0].n == 20000 && isfinite(gap[0].std_error));
    s.method = MOEG_METHOD_LINE;
    assert_status(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tau, &s, gap), MOEG_EUNABLE,
                  "risk_gap: the tolerance is not reached with n = 20000");
    assert_status(moeg_boundary_mass(p.router, p.law, 2, w, &s, gap), MOEG_EUNABLE, "boundary_mass: the tolerance");
    s = options(MOEG_METHOD_MC, 1e-3, 0);
    int rounds = 0;
    s.progress = stop_in_second_round;
    s.progress_user = &rounds;
    s.max_threads = 1;
    assert_int_equal(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tau, &s, gap), MOEG_ECANCELED);
    assert_true(gap[0].n >= 1024 && gap[0].n < 1 << 20);
    static double x[3 * 3000];
    moeg_law *rows;
    assert_ok(moeg_law_sample(p.law, 5, 0, 3000, x));
    assert_ok(moeg_law_empirical_create(&rows, 3000, 3, x, NULL));
    s = options(MOEG_METHOD_MC, 1e3, 1e3);
    assert_ok(moeg_risk_gap(p.moe, p.teacher, rows, MOEG_MIX_OUTPUT, 2, tau, &s, gap));
    assert_int_equal(gap[0].n, 3000);
    s.rel_tol = s.abs_tol = 0;
    assert_ok(moeg_risk_gap(p.moe, p.teacher, rows, MOEG_MIX_OUTPUT, 2, tau, &s, exact));
    assert_same_estimates(gap, exact, 2);
    moeg_law_free(rows);
    problem_free(&p);
}

static void tolerances_are_checked(void **state)
{
    (void)state;
    const double wrong[] = {NAN, -1, INFINITY};
    const char *said[] = {"got nan", "got -1", "got inf"};
    for (int i = 0; i < 3; i++) {
        moeg_sampling s = moeg_sampling_default();
        assert_true(s.rel_tol == 0 && s.abs_tol == 0);
        s.rel_tol = wrong[i];
        assert_status(moeg_sampling_check(&s), MOEG_EINVAL, "sampling: rel_tol must be finite and at least 0");
        assert_status(moeg_sampling_check(&s), MOEG_EINVAL, said[i]);
        s.rel_tol = 0;
        s.abs_tol = wrong[i];
        assert_status(moeg_sampling_check(&s), MOEG_EINVAL, "sampling: abs_tol must be finite and at least 0");
    }
}

static moeg_status everything(void *user)
{
    const struct problem *p = user;
    moeg_estimate gap[2];
    moeg_sampling s = options(MOEG_METHOD_MC, 0.3, 0);
    s.max_threads = 1;
    moeg_status status = moeg_risk_gap(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, 1, tau, &s, gap);
    if (status == MOEG_OK)
        status = moeg_boundary_mass(p->router, p->law, 1, w, &s, gap);
    s.method = MOEG_METHOD_LINE;
    s.rel_tol = 0.03;
    if (status == MOEG_OK)
        status = moeg_risk_gap(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, 1, tau, &s, gap);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_on_tetrahedron(everything) > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_stop_where_they_may),  cmocka_unit_test(lines_stop_where_they_may),
        cmocka_unit_test(threads_change_no_bit),     cmocka_unit_test(coverage_after_stopping),
        cmocka_unit_test(what_is_not_reached),       cmocka_unit_test(tolerances_are_checked),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
