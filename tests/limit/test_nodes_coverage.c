/* Error bars of general lines over many seeds: risks, slopes and remainders whose truth is in the reference table. */
#include "limit/nodes_problem.h"
#include "limit/nodes_run.h"
#include "limit/plane_problem.h"
#include "support/coverage.h"

/* A row of the table with a third coordinate. */
struct row {
    struct problem p;
    moeg_mixing mixing;
    double tau;
    uint64_t n;
};

/* Hard risk, gap, slope, remainder. */
enum { COUNT = 4 };

static moeg_status cover(uint64_t seed, void *user, moeg_estimate *estimates)
{
    const struct row *r = user;
    moeg_sampling s = lines_of(r->n);
    s.seed = seed;
    s.level = 0.9;
    s.max_threads = 1;
    const moeg_status status = nodes_curve(&r->p, r->mixing, 1, &r->tau, &s, &estimates[0], NULL, &estimates[1], NULL);
    if (status != MOEG_OK)
        return status;
    return nodes_remainder(&r->p, r->mixing, 1, &r->tau, &s, &estimates[2], &estimates[3]);
}

static void error_bars_are_right(void **state)
{
    (void)state;
    struct reference *r = reference_read("gap_k3.csv");
    size_t seen = 0;
    for (size_t at = 0; at < r->row_count; at++) {
        struct row row = {.mixing = plane_mixing(r, at), .tau = (double)reference_value(r, at, "tau"), .n = 256};
        if (strcmp(reference_text(r, at, "case"), "K3_affine") != 0 || row.tau != 0.3 || row.mixing != MOEG_MIX_OUTPUT)
            continue;
        plane_in_space(r, at, &row.p);
        const double gap = (double)reference_value(r, at, "G"), lead = (double)reference_value(r, at, "lead_coef");
        const double truths[COUNT] = {(double)reference_value(r, at, "L0"), gap, lead,
                                      (gap / row.tau - lead) / row.tau};
        assert_coverage(cover, &row, COUNT, truths, 0.9, 1000, COVERAGE_EXACT);
        seen++;
        problem_free(&row.p);
    }
    assert_int_equal(seen, 1);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_bars_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
