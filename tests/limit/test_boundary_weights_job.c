/* Jobs over data with weights: threads and cuts, damaged parts, parts without weight, and memory. */
#include "limit/cut.h"
#include "limit/damage.h"
#include "limit/weighted_rows.h"
#include "support/estimates.h"
#include "support/failing_alloc.h"

static void threads_and_cuts_leave_the_bits(void **state)
{
    (void)state;
    struct data d;
    make_data(MANY, 1, some_weight, moeg_gap_order(2), &d);
    moeg_sampling s = options(MOEG_METHOD_AUTO, 3, 8);
    s.max_threads = 1;
    const struct results one = measure(&d, &s);
    s.max_threads = 5;
    const struct results more = measure(&d, &s);
    assert_same_estimates(one.mass, more.mass, NW);
    assert_same_estimates(one.alpha, more.alpha, NW);
    assert_same_estimates(one.C, more.C, NW);
    assert_same_estimates(one.quantile, more.quantile, NP);
    assert_int_equal(one.ties, more.ties);
    moeg_job *job;
    struct results two = one;
    assert_ok(moeg_boundary_job_create(&job, d.router, d.gap, d.law, NW, widths, &s));
    free_data(&d); /* The job keeps what it needs. */
    moeg_partial *whole = run_in_two(job, &s, 1);
    memset(two.mass, 0, sizeof two.mass);
    assert_true(moeg_boundary_job_result(job, whole, 0.95, two.mass, two.alpha, two.C, &two.ties) >= 0);
    for (size_t j = 0; j < NW; j++)
        assert_true(two.mass[j].value == one.mass[j].value && two.mass[j].lo == one.mass[j].lo &&
                    two.mass[j].n == one.mass[j].n);
    moeg_partial_free(whole);
    moeg_job_free(job);
}

/* State: rows, ties, NW bins, their sums, then weights and squares of ties, of rows above, and of NW bins, and
 * three sums of logarithms of these. */
static void damaged_results_are_refused(void **state)
{
    (void)state;
    struct data d;
    make_data(N, 1, some_weight, moeg_gap_margin(), &d);
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 3, 8);
    moeg_job *job;
    moeg_partial *whole;
    moeg_estimate mass[NW] = {{.value = 42}};
    assert_ok(moeg_boundary_job_create(&job, d.router, d.gap, d.law, NW, widths, &s));
    assert_ok(moeg_job_run(job, &s, 0, moeg_job_blocks(job), &whole));
    assert_int_equal(moeg_job_get_spec(job)->state_size, 2 + 2 * NW + 4 + 5 * NW);
    const double no_sums[] = {-0.5, NAN, INFINITY, 1e300};
    for (size_t at = 0; at < 2 + 2 * NW + 4 + 5 * NW; at++)
        for (size_t i = 0; i < 4; i++) {
            if (i == 3 && ((at >= 2 + NW && at < 2 + 2 * NW) || at >= 2 + 2 * NW + 4 + 2 * NW))
                continue; /* a sum of logarithms may be large */
            moeg_partial *bad = damaged(job, whole, at, no_sums[i]);
            assert_status(moeg_boundary_job_result(job, bad, 0.95, mass, NULL, NULL, NULL), MOEG_EINVAL,
                          "boundary_job_result: the partial result is damaged: ");
            assert_near(mass[0].value, 42, 0);
            moeg_partial_free(bad);
        }
    moeg_partial_free(whole);
    moeg_job_free(job);
    free_data(&d);
}

/* The rows done so far have no weight. */
static void parts_without_weight(void **state)
{
    (void)state;
    struct data d;
    make_data(MANY, 1, equal_weight, moeg_gap_margin(), &d);
    moeg_law_free(d.law);
    memset(d.weights, 0, (MANY - 3) * sizeof *d.weights);
    assert_ok(moeg_law_empirical_create(&d.law, MANY, D, d.x, d.weights));
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 3, 8);
    moeg_job *job;
    moeg_partial *part;
    moeg_estimate mass[NW], quantile;
    assert_ok(moeg_boundary_job_create(&job, d.router, d.gap, d.law, NW, widths, &s));
    assert_true(moeg_job_blocks(job) > 1);
    assert_ok(moeg_job_run(job, &s, 0, 1, &part));
    assert_ok(moeg_boundary_job_result(job, part, 0.95, mass, NULL, NULL, NULL));
    assert_true(isnan(mass[0].value) && mass[0].lo == 0 && mass[0].hi == 1 && mass[0].n == 0);
    moeg_partial_free(part);
    moeg_job_free(job);
    /* Three rows are left. */
    assert_status(moeg_boundary_quantile(d.router, d.gap, d.law, 1, shares, &s, &quantile), MOEG_EUNABLE,
                  "boundary_quantile: 3 rows are too few for an interval at p[0] = 0.3");
    assert_int_equal(quantile.n, 3);
    assert_near(quantile.lo, 0, 0);
    free_data(&d);
}

static moeg_status allocating(void *user)
{
    const struct data *d = user;
    moeg_sampling s = options(MOEG_METHOD_AUTO, 1, 1);
    s.max_threads = 1;
    moeg_estimate q[NP] = {{.value = 42}};
    const moeg_status status = moeg_boundary_quantile(d->router, d->gap, d->law, NP, shares, &s, q);
    assert_true(status == MOEG_OK || q[0].value == 42);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct data d;
    make_data(N, 1, some_weight, moeg_gap_margin(), &d);
    assert_true(fail_every_allocation(allocating, &d) >= 5);
    free_data(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_cuts_leave_the_bits),
        cmocka_unit_test(damaged_results_are_refused),
        cmocka_unit_test(parts_without_weight),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
