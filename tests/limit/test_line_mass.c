/* Masses on whole lines: any gap in the plane against 30 digits, by balance and by pairs against rays, sampling and
 * each other; routers whose cells have no star; the user's directions; error bars. */
#include "limit/ray_mass.h"

#include "limit/cells.h"
#include "limit/reference_problem.h"

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
        const char *quantity = reference_text(r, row, "quantity");
        const moeg_gap gap = strcmp(quantity, "TOPK2") == 0  ? moeg_gap_top(2)
                             : strcmp(quantity, "BM_2") == 0 ? moeg_gap_order(2)
                                                             : moeg_gap_margin();
        if (gap.lower == 2 && strcmp(quantity, "BM") != 0)
            continue;
        struct problem p;
        reference_boundary(r, row, &p);
        moeg_estimate got;
        moeg_sampling s = moeg_sampling_default();
        const double w = (double)reference_value(r, row, "w"), expected = reference_number(r, row);
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

/* The margin by balance and by pairs is that by rays; the standard deviation over lines of balance is at most 0.8 of
 * the mass, however narrow. */
static void balance_and_pairs_agree_with_stars(void **state)
{
    (void)state;
    for (uint64_t seed = 5; seed < 9; seed++) {
        moeg_router *router;
        moeg_law *law;
        moeg_rays rays, balance, pairs;
        moeg_estimate star[4], balanced[4], paired[4];
        const char *refusal;
        moeg_sampling s = moeg_sampling_default();
        const double w[4] = {1e-300, 1e-9, 1e-2, 0.3};
        s.n = 4096;
        uint64_t draw = seed;
        draw_cells(&draw, &router, &law);
        assert_ok(moeg_rays_init("test", router, law, &rays, &refusal));
        assert_int_equal(rays.cells, DRAWN_K);
        force(router, law, MOEG_SHARING_BALANCE, &balance);
        force(router, law, MOEG_SHARING_PAIR, &pairs);
        assert_ok(moeg_ray_mass("test", &rays, moeg_gap_margin(), 4, w, &s, star));
        assert_ok(moeg_ray_mass("test", &balance, moeg_gap_margin(), 4, w, &s, balanced));
        assert_ok(moeg_ray_mass("test", &pairs, moeg_gap_margin(), 4, w, &s, paired));
        for (int j = 0; j < 4; j++) {
            assert_true(balanced[j].std_error > 0 && balanced[j].std_error * 64 <= 0.8 * balanced[j].value);
            assert_near(balanced[j].value, star[j].value, 4.5 * hypot(balanced[j].std_error, star[j].std_error));
            assert_near(paired[j].value, star[j].value, 4.5 * hypot(paired[j].std_error, star[j].std_error));
        }
        moeg_rays_free(&rays);
        moeg_rays_free(&balance);
        moeg_rays_free(&pairs);
        moeg_router_free(router);
        moeg_law_free(law);
    }
}

/* A mass by LINE against the share of rows. */
static void check_against_rows(const moeg_router *router, const moeg_law *law, moeg_gap gap, double w)
{
    moeg_estimate line, mc;
    moeg_sampling s = moeg_sampling_default();
    s.n = 1 << 11;
    s.method = MOEG_METHOD_LINE;
    assert_ok(moeg_boundary_gap_mass(router, gap, law, 1, &w, &s, &line));
    assert_int_equal(line.method, MOEG_METHOD_LINE);
    s.n = 1 << 13;
    s.method = MOEG_METHOD_MC;
    assert_ok(moeg_boundary_gap_mass(router, gap, law, 1, &w, &s, &mc));
    assert_near(line.value, mc.value, 4.5 * hypot(line.std_error, mc.std_error));
}

static void every_gap_agrees_with_sampling(void **state)
{
    (void)state;
    moeg_router *router;
    moeg_law *law;
    uint64_t seed = 77;
    draw_cells(&seed, &router, &law);
    for (size_t upper = 1; upper < DRAWN_K; upper += 2)
        for (size_t lower = upper + 1; lower <= DRAWN_K; lower += 2)
            check_against_rows(router, law, (moeg_gap){upper, lower}, 0.3 * (double)(lower - upper));
    moeg_router_free(router);
    moeg_law_free(law);
}

/* Cells without a star in 1, 2 and 3 dimensions: bounded, or beside one with the same row; rows that are equal, or all
 * but equal; masks. */
static void cells_without_a_star_are_seen(void **state)
{
    (void)state;
    static const double W[8 * 3] = {1,    0.2,  -0.4, -0.7, 0.9, 0.3,  -0.3, -1.1, 0.5,    0.1, 0.3, -1.2,
                                    0.02, 0.06, -0.1, 1,    0.2, -0.4, -0.7, 0.9,  0.3001, 0.1, 0.3, -1.2};
    static const double b[8] = {0.1, -0.2, 0.05, 0.3, 0.6, 0.35, -0.1, 0.3},
                        masked[8] = {0.1, -0.2, -INFINITY, 0.3, 0.6, -INFINITY, -0.1, 0.3};
    static const double mean[3] = {0.2, -0.1, 0.3}, covariance[9] = {1.1, 0.3, 0, 0.3, 0.7, 0.1, 0, 0.1, 0.9};
    for (size_t d = 1; d <= 3; d++)
        for (size_t experts = 5; experts <= 8; experts += d == 3 ? 1 : 3)
            for (int mask = 0; mask < 2; mask++) {
                double rows[8 * 3], cov[9];
                moeg_router *router;
                moeg_law *law;
                for (size_t k = 0; k < experts; k++)
                    for (size_t j = 0; j < d; j++)
                        rows[k * d + j] = W[k * 3 + j];
                for (size_t i = 0; i < d; i++)
                    for (size_t j = 0; j < d; j++)
                        cov[i * d + j] = covariance[i * 3 + j];
                assert_ok(moeg_router_affine_create(&router, experts, d, rows, mask ? masked : b));
                assert_ok(moeg_law_gaussian_create(&law, d, mean, cov));
                for (size_t upper = 1; upper <= 4; upper++)
                    check_against_rows(router, law, (moeg_gap){upper, upper + 1 + upper % 2}, 0.4);
                moeg_router_free(router);
                moeg_law_free(law);
            }
}

/* Three experts tie on few lines: no false zero, and an interval where there are enough of them. */
static void rare_masses_are_no_zeros(void **state)
{
    (void)state;
    moeg_router *router;
    moeg_law *law;
    moeg_estimate mass[4];
    const double w[4] = {1e-12, 1e-4, 0.5, 0};
    moeg_sampling s = moeg_sampling_default();
    uint64_t seed = 3;
    draw_cells(&seed, &router, &law);
    s.method = MOEG_METHOD_LINE;
    assert_status(moeg_boundary_gap_mass(router, (moeg_gap){1, 3}, law, 4, w, &s, mass), MOEG_EUNABLE,
                  "boundary_gap_mass: 16384 lines are too few for an error bar");
    for (int j = 0; j < 2; j++)
        assert_true(isinf(mass[j].std_error) && mass[j].lo == 0 && mass[j].hi == 1);
    assert_true(mass[2].value > 20 * mass[2].std_error && mass[2].lo > 0 && mass[2].hi < 1);
    assert_true(mass[3].value == 0 && mass[3].hi == 0 && mass[3].std_error == 0);
    assert_true(mass[0].contributing == 0 && mass[1].contributing < 100 && mass[3].contributing == 16384);
    moeg_router_free(router);
    moeg_law_free(law);
}

/* No five logits come within 1e-4 in three dimensions: 0 is certain. Four do. */
static void more_than_can_tie_have_no_mass(void **state)
{
    (void)state;
    static const double W[6 * 3] = {1,   0.2, -0.4, -0.7, 0.9,  0.3,  -0.3, -1.1, 0.5,
                                    0.1, 0.3, -1.2, 0.02, 0.06, -0.1, 1,    -1,   1};
    static const double b[6] = {0.1, -0.2, 0.05, 0.3, 0.6, 0.1}, w = 1e-4;
    moeg_router *router;
    moeg_law *law;
    moeg_estimate mass;
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_LINE;
    assert_ok(moeg_router_affine_create(&router, 6, 3, W, b));
    assert_ok(moeg_law_gaussian_create(&law, 3, NULL, NULL));
    assert_ok(moeg_boundary_gap_mass(router, moeg_gap_order(4), law, 1, &w, &s, &mass));
    assert_true(mass.value == 0 && mass.hi == 0 && mass.contributing == s.n);
    assert_status(moeg_boundary_gap_mass(router, moeg_gap_order(3), law, 1, &w, &s, &mass), MOEG_EUNABLE, "too few");
    assert_true(mass.hi == 1 && mass.contributing < 30);
    moeg_router_free(router);
    moeg_law_free(law);
}

/* Lines pass within w of a tie of three with a probability of the order of w; all meet ties of two. */
static void contributing_lines_are_those_that_meet_the_event(void **state)
{
    (void)state;
    moeg_router *router;
    moeg_law *law;
    moeg_estimate three[3], two;
    const double w[3] = {0.01, 0.02, 0.04};
    moeg_sampling s = moeg_sampling_default();
    uint64_t seed = 3;
    draw_cells(&seed, &router, &law);
    s.method = MOEG_METHOD_LINE;
    s.n = 1 << 16;
    assert_true(moeg_boundary_gap_mass(router, (moeg_gap){1, 3}, law, 3, w, &s, three) >= 0);
    assert_ok(moeg_boundary_gap_mass(router, moeg_gap_margin(), law, 1, w, &s, &two));
    assert_int_equal(two.contributing, s.n);
    for (int j = 0; j < 2; j++) {
        /* The second count holds the first: what it has more is as many again. */
        const double count = (double)three[j].contributing, more = (double)three[j + 1].contributing - count;
        assert_true(count > 100 && count < (double)(s.n / 16));
        assert_near(more, count, 4.5 * sqrt(2 * count) + w[j] * count);
    }
    moeg_router_free(router);
    moeg_law_free(law);
}

/* Where hardly anything is left out, and nothing: never more than 1, and all of it where the gap is far below w. */
static void wide_widths_take_all(void **state)
{
    (void)state;
    static const double W[6 * 3] = {1,   0.2, -0.4, -0.7, 0.9,  0.3,  -0.3, -1.1, 0.5,
                                    0.1, 0.3, -1.2, 0.02, 0.06, -0.1, 1,    -1,   1};
    static const double b[6] = {0.1, -0.2, 0.05, 0.3, 0.6, 0.1}, w[6] = {1.5, 3, 30, 1e3, 1e12, 1e300};
    for (size_t d = 1; d <= 3; d++)
        for (size_t experts = 3; experts <= 6; experts++)
            for (size_t lower = 2; lower <= 3; lower++) {
                double rows[6 * 3];
                moeg_router *router;
                moeg_law *law;
                moeg_estimate mass[6];
                moeg_sampling s = moeg_sampling_default();
                s.method = MOEG_METHOD_LINE;
                s.n = 1 << 12;
                for (size_t k = 0; k < experts; k++)
                    memcpy(rows + k * d, W + k * 3, d * sizeof *rows);
                assert_ok(moeg_router_affine_create(&router, experts, d, rows, b));
                assert_ok(moeg_law_gaussian_create(&law, d, NULL, NULL));
                assert_ok(moeg_boundary_gap_mass(router, (moeg_gap){lower - 1, lower}, law, 6, w, &s, mass));
                for (size_t j = 0; j < 6; j++) {
                    assert_true(mass[j].lo <= mass[j].value && mass[j].value <= mass[j].hi && mass[j].hi <= 1);
                    if (j >= 2)
                        assert_near(mass[j].value, 1, 4.5 * mass[j].std_error + mass[j].quad_error + 8 * EPS);
                }
                moeg_router_free(router);
                moeg_law_free(law);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plane_has_the_digits_of_the_reference),
        cmocka_unit_test(balance_and_pairs_agree_with_stars),
        cmocka_unit_test(every_gap_agrees_with_sampling),
        cmocka_unit_test(cells_without_a_star_are_seen),
        cmocka_unit_test(rare_masses_are_no_zeros),
        cmocka_unit_test(more_than_can_tie_have_no_mass),
        cmocka_unit_test(contributing_lines_are_those_that_meet_the_event),
        cmocka_unit_test(wide_widths_take_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
