/* Grids that no memory holds are refused before they are read. */
#include "limit/boundary.h"

#include <stdint.h>

static void counts_beyond_memory(void **state)
{
    (void)state;
    static const size_t counts[] = {SIZE_MAX, SIZE_MAX / 8 + 1, SIZE_MAX / 64};
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 100, 1);
    const moeg_margin_condition c = {1, 1, 1};
    const moeg_output_limits limits = {1, 1, 0};
    const moeg_gate softmax = moeg_gate_softmax();
    const double one = 0.731;
    struct problem p;
    problem_make(&p, 3, 2, 2, 1);
    for (size_t i = 0; i < 3; i++) {
        const size_t n = counts[i];
        double bound = 42, lo, hi;
        moeg_estimate e = {.value = 42};
        const moeg_moe *moe = p.moe;
        const moeg_mixing mixing = MOEG_MIX_OUTPUT;
        const moeg_gap margin = moeg_gap_margin();
        const moeg_status statuses[] = {
            moeg_risk_gap(moe, p.teacher, p.law, mixing, n, &one, &s, &e),
            moeg_risk_curve(moe, p.teacher, p.law, mixing, n, &one, &s, NULL, NULL, &e, NULL),
            moeg_bound_moment(moe, p.teacher, p.law, mixing, n, &one, &s, &e),
            moeg_bound_bernstein(p.router, softmax, mixing, p.law, &limits, n, &one, &s, &bound),
            moeg_boundary_mass(p.router, p.law, n, &one, &s, &e),
            moeg_boundary_exponent(p.router, margin, p.law, n, &one, &s, &e, NULL, NULL),
            moeg_boundary_quantile(p.router, margin, p.law, n, &one, &s, &e),
            moeg_boundary_band(p.law, n, &e, 0.9, &lo, &hi),
        };
        for (size_t j = 0; j < sizeof statuses / sizeof *statuses; j++)
            assert_int_equal(statuses[j], MOEG_ENOMEM);
        if (n <= SIZE_MAX / 16)
            continue; /* so many plain doubles may be */
        assert_status(moeg_bound_bounded(&c, softmax, mixing, 2, &limits, n, &one, &bound), MOEG_ENOMEM,
                      "bound_bounded: ");
        assert_status(moeg_bound_holder(&c, softmax, 2, 2, 1, n, &one, &bound), MOEG_ENOMEM, "bound_holder: ");
        assert_status(moeg_boundary_pairwise(p.router, p.law, n, &one, &bound, NULL), MOEG_ENOMEM,
                      "boundary_pairwise: ");
        assert_true(bound == 42 && e.value == 42);
    }
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_beyond_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
