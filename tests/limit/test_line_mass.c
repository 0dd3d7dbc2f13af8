/* Masses on whole lines: any gap in the plane against 30 digits, by balance and by pairs against rays, sampling and
 * each other; routers whose cells have no star; the user's directions; error bars. */
#include "limit/ray_mass.h"

#include "limit/problem.h"
#include "limit/reference.h"
#include "support/coverage.h"
#include "support/failing_alloc.h"
#include "support/random.h"

#include <stdlib.h>

/* The strata of a router as they would not be chosen: no rays, and shares of the given kind. */
static void force(const moeg_router *router, const moeg_law *law, moeg_sharing sharing, moeg_rays *rays)
{
    *rays = (moeg_rays){0};
    assert_ok(moeg_frame_init("test", 1, &router, law, &rays->frame));
    rays->r = rays->frame.r;
    assert_ok(moeg_strata_init("test", &rays->frame, sharing, NULL, 0, NULL, &rays->lines));
}

/* Every row: the top-2 gap as it is chosen, the gaps from the best expert with no rays. */
static void plane_has_the_digits_of_the_reference(void **state)
{
    (void)state;
    struct reference *r = reference_read("boundary_k3.csv");
    size_t seen = 0;
    for (size_t row = 0; row < r->row_count; row++) {
        const char *of = reference_text(r, row, "case"), *quantity = reference_text(r, row, "quantity");
        const moeg_gap gap = strcmp(quantity, "TOPK2") == 0  ? moeg_gap_top(2)
                             : strcmp(quantity, "BM_2") == 0 ? moeg_gap_order(2)
                                                             : moeg_gap_margin();
        if (gap.lower == 2 && strcmp(quantity, "BM") != 0)
            continue;
        struct problem p = {.K = (size_t)reference_value(r, row, "K"), .d = 2, .m = 1};
        reference_copy(r, of, "W", p.W);
        reference_copy(r, of, "b", p.b);
        reference_copy(r, of, "mu", p.mean);
        reference_copy(r, of, "Sigma", p.covariance);
        problem_build(&p);
        moeg_estimate got;
        moeg_sampling s = moeg_sampling_default();
        const double w = (double)reference_value(r, row, "w"), expected = (double)strtold(r->field[row][4], NULL);
        s.method = MOEG_METHOD_LINE;
        if (gap.upper == 2) {
            assert_ok(moeg_boundary_gap_mass(p.router, gap, p.law, 1, &w, &s, &got));
        } else {
            moeg_rays rays;
            force(p.router, p.law, row % 2 == 0 ? MOEG_SHARING_PAIR : MOEG_SHARING_BALANCE, &rays);
            assert_ok(moeg_ray_mass("test", &rays, gap, 1, &w, &s, &got));
            moeg_rays_free(&rays);
        }
        /* BM_2 at a width of 1e-6 is what is left of two crossings that lie as near to each other. */
        assert_relative(got.value, expected, gap.lower - gap.upper > 1 ? fmax(1e-14, 1e-16 / w) : 20 * EPS);
        assert_near(got.value, expected, got.quad_error);
        assert_true(got.quad_error <= fmax(200 * EPS * expected, expected * 1e-13 / w));
        assert_true(got.std_error == 0 && got.n == 1 && got.lo <= expected && got.hi >= expected);
        seen++;
        problem_free(&p);
    }
    assert_int_equal(seen, 102);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plane_has_the_digits_of_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
