/* Constants of higher order: against 30 digits, against slopes and narrow masses by other ways, their error bars. */
#include <moegeom/surface.h>

#include "limit/cells.h"
#include "limit/reference_problem.h"
#include "limit/ties.h"
#include "support/coverage.h"
#include "support/failing_alloc.h"

#include <moegeom/boundary.h>
#include <stdlib.h>

static void plane_has_the_digits_of_the_reference(void **state)
{
    (void)state;
    struct reference *r = reference_read("boundary_k3.csv");
    size_t seen = 0;
    for (size_t row = 0; row < r->row_count; row++) {
        if (strcmp(reference_text(r, row, "quantity"), "C2") != 0)
            continue;
        struct problem p;
        reference_boundary(r, row, &p);
        const double expected = reference_number(r, row);
        const moeg_sampling s = moeg_sampling_default();
        moeg_estimate got, slope;
        assert_ok(moeg_surface_order_constant(p.router, 2, p.law, &s, &got));
        assert_relative(got.value, expected, 40 * EPS);
        assert_near(got.value, expected, got.quad_error);
        assert_true(got.std_error == 0 && got.n == 1);
        /* C_1 as a sum of closed forms, and by quadrature over lines. */
        assert_ok(moeg_surface_order_constant(p.router, 1, p.law, &s, &got));
        assert_ok(moeg_surface_slope(p.router, 1, p.law, &s, &slope));
        assert_relative(got.value, slope.value, 40 * EPS);
        seen++;
        problem_free(&p);
    }
    assert_int_equal(seen, 2);
    free(r);
}

struct setup {
    moeg_router *router;
    moeg_law *law;
    size_t r;
};

static void make(size_t r, struct setup *p)
{
    p->r = r;
    five_cells(1, &p->router, &p->law);
}

static void unmake(struct setup *p)
{
    moeg_router_free(p->router);
    moeg_law_free(p->law);
}

/* Sums over all sets of the experts, in the coordinates of x. */
static void constants_have_their_definition(void **state)
{
    (void)state;
    struct setup p;
    long double expected[2] = {0, 0};
    size_t set[4];
    make(1, &p);
    for (set[0] = 0; set[0] < 5; set[0]++)
        for (set[1] = set[0] + 1; set[1] < 5; set[1]++)
            for (set[2] = set[1] + 1; set[2] < 5; set[2]++) {
                expected[0] += line_term(set);
                for (set[3] = set[2] + 1; set[3] < 5; set[3]++)
                    expected[1] += point_term(set);
            }
    for (size_t r = 2; r <= 3; r++) {
        moeg_estimate got;
        const moeg_sampling s = moeg_sampling_default();
        assert_ok(moeg_surface_order_constant(p.router, r, p.law, &s, &got));
        assert_true(got.std_error == 0 && got.value > 1e-3);
        assert_relative(got.value, (double)expected[r - 2], 64 * EPS);
        assert_near(got.value, (double)expected[r - 2], got.quad_error);
    }
    unmake(&p);
}

/* Masses of the width w are C_r w^r (1 + O(w)). */
static void narrow_masses_have_these_constants(void **state)
{
    (void)state;
    struct setup p;
    make(1, &p);
    for (size_t r = 1; r <= 2; r++) {
        moeg_estimate got, mass;
        moeg_sampling s = moeg_sampling_default();
        const double w = r == 1 ? 1e-9 : 0.02; /* few lines see those of order 2 */
        assert_ok(moeg_surface_order_constant(p.router, r, p.law, &s, &got));
        assert_true((got.std_error == 0) == (r > 1) && got.value > 0);
        s.method = MOEG_METHOD_LINE;
        s.n = 1 << 18;
        assert_ok(moeg_boundary_gap_mass(p.router, moeg_gap_order(r), p.law, 1, &w, &s, &mass));
        assert_near(mass.value / pow(w, (double)r), got.value,
                    4.5 * hypot(mass.std_error / pow(w, (double)r), got.std_error) + 2 * w * got.value);
    }
    unmake(&p);
}

static moeg_status cover(uint64_t seed, void *user, moeg_estimate *estimates)
{
    const struct setup *p = user;
    moeg_sampling s = moeg_sampling_default();
    s.seed = seed;
    s.n = 128;
    s.level = 0.9;
    s.max_threads = 1;
    return moeg_surface_order_constant(p->router, p->r, p->law, &s, estimates);
}

static void error_bars_are_right(void **state)
{
    (void)state;
    struct setup p;
    moeg_estimate truth;
    moeg_sampling s = moeg_sampling_default();
    make(1, &p);
    s.n = 1 << 17;
    s.seed = 4242;
    assert_ok(moeg_surface_order_constant(p.router, 1, p.law, &s, &truth));
    assert_coverage(cover, &p, 1, &truth.value, 0.9, 1500, COVERAGE_EXACT);
    unmake(&p);
}

static void what_cannot_be_had_says_so(void **state)
{
    (void)state;
    const double masks[5] = {0.2, -INFINITY, -0.3, -INFINITY, -INFINITY}, flat[3 * 2] = {1, 0, -0.5, 0, 0.3, 0},
                 twins[3 * 2] = {1, 0, 1, 0, 0.3, 0.7}, huge[3 * 2] = {1e200, 0, 0, 1e200, 0.3, 0.7};
    struct setup p;
    moeg_router *masked, *line, *tied, *large;
    moeg_law *box, *plane;
    moeg_estimate got = {.value = 42};
    moeg_sampling s = moeg_sampling_default();
    make(1, &p);
    assert_ok(moeg_router_affine_create(&masked, 5, 3, five_rows, masks));
    assert_ok(moeg_router_affine_create(&line, 3, 2, flat, NULL));
    assert_ok(moeg_router_affine_create(&tied, 3, 2, twins, NULL));
    assert_ok(moeg_router_affine_create(&large, 3, 2, huge, NULL));
    assert_ok(moeg_law_gaussian_create(&plane, 2, NULL, NULL));
    assert_ok(moeg_law_box_create(&box, 3, (double[]){-1, -0.3, 0}, (double[]){1, 0.8, 1}));
#define CONSTANT(router, r, law) moeg_surface_order_constant(router, r, law, &s, &got)
    assert_status(CONSTANT(NULL, 1, p.law), MOEG_EINVAL, "surface_order_constant: router must not be NULL");
    assert_status(CONSTANT(p.router, 0, p.law), MOEG_EINVAL, "r must be at least 1 and below K = 5, got 0");
    assert_status(CONSTANT(p.router, 5, p.law), MOEG_EINVAL, "r must be at least 1 and below K = 5, got 5");
    assert_status(CONSTANT(p.router, 4, p.law), MOEG_EDOM,
                  "at most the 3 dimensions in which the logits differ, got 4");
    assert_status(CONSTANT(p.router, 1, box), MOEG_EUNSUPPORTED, "surface_order_constant: the law is not Gaussian");
    assert_status(CONSTANT(line, 2, plane), MOEG_EDOM, "at most the 1 dimensions");
    assert_status(CONSTANT(tied, 1, plane), MOEG_EDOM, "experts 0 and 1 tie everywhere");
    assert_status(CONSTANT(large, 1, plane), MOEG_ERANGE, "overflow");
    assert_status(moeg_surface_order_constant(p.router, 1, p.law, &s, NULL), MOEG_EINVAL, "constant must not be NULL");
    s.n = 3;
    assert_status(CONSTANT(p.router, 1, p.law), MOEG_EINVAL, "n must be at least 4 lines");
    s.method = MOEG_METHOD_LINE;
    s.directions = five_rows;
    s.direction_count = 1;
    assert_status(CONSTANT(p.router, 1, p.law), MOEG_EUNSUPPORTED, "directions must be NULL");
    s.directions = NULL;
    s.direction_count = 0;
    s.method = MOEG_METHOD_MC;
    assert_status(CONSTANT(p.router, 1, p.law), MOEG_EUNSUPPORTED, "must be auto or line, got mc");
    s.level = 1;
    assert_status(CONSTANT(p.router, 1, p.law), MOEG_EINVAL, "level must be in (0, 1)");
    assert_near(got.value, 42, 0);
    s = moeg_sampling_default();
    s.n = 4;
    assert_status(CONSTANT(p.router, 1, p.law), MOEG_EUNABLE, "4 lines are too few for an error bar");
    assert_ok(CONSTANT(masked, 2, p.law));
    assert_true(got.value == 0 && got.std_error == 0);
    unmake(&p);
    moeg_router_free(masked);
    moeg_router_free(line);
    moeg_router_free(tied);
    moeg_router_free(large);
    moeg_law_free(box);
    moeg_law_free(plane);
}

static moeg_status everything(void *user)
{
    const struct setup *p = user;
    moeg_estimate got;
    moeg_sampling s = moeg_sampling_default();
    s.n = 64;
    s.max_threads = 1;
    return moeg_surface_order_constant(p->router, p->r, p->law, &s, &got);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (size_t r = 1; r <= 2; r++) {
        struct setup p;
        make(r, &p);
        assert_true(fail_every_allocation(everything, &p) > 8);
        unmake(&p);
    }
}

/* More experts tie than should: in a point of the plane, at the top and below it; and on lines of four dimensions,
 * where one row is the mean of three. */
static void crowded_ties_have_no_such_constant(void **state)
{
    (void)state;
    const double rows[5 * 2] = {1, 0.3, -0.4, 1, -0.8, -0.9, 0.5, -1.2, 0.1, 0.05}, above[5] = {0, 0, 0, 0, 0.4};
    const double wide[6 * 4] = {1,   0.3, 0,       0.2,  -0.4, 1,   0.1, 0,   0,    -1,  0.3,  -0.5,
                                0.2, 0.1, 0.4 / 3, -0.1, 0.3,  0.1, 1.2, 0.7, -0.2, 0.4, -0.3, 1};
    const double w = 1e-9;
    moeg_router *router;
    moeg_law *plane, *space;
    moeg_sampling s = moeg_sampling_default();
    moeg_estimate got = {.value = 42}, mass;
    s.method = MOEG_METHOD_LINE;
    s.n = 1000;
    assert_ok(moeg_law_gaussian_create(&plane, 2, NULL, NULL));
    assert_ok(moeg_law_gaussian_create(&space, 4, NULL, NULL));
    assert_ok(moeg_router_affine_create(&router, 4, 2, rows, NULL));
    assert_status(moeg_surface_order_constant(router, 2, plane, &s, &got), MOEG_EDOM,
                  "surface_order_constant: more than 3 experts tie at the top wherever some 3 do");
    moeg_router_free(router);
    assert_ok(moeg_router_affine_create(&router, 6, 4, wide, NULL));
    assert_status(moeg_surface_order_constant(router, 2, space, &s, &got), MOEG_EDOM, "more than 3 experts tie");
    moeg_router_free(router);
    assert_near(got.value, 42, 0);
    /* Three that tie below the others but for one point. */
    const double point[5 * 2] = {-2, 1, 1, -1, 0, 0, -2, 0, -1, 0},
                           mean[2] = {0.36903818258446291, -0.036567496724185598};
    moeg_law *beside;
    assert_ok(moeg_law_gaussian_create(&beside, 2, mean, NULL));
    assert_ok(moeg_router_affine_create(&router, 5, 2, point, NULL));
    assert_ok(moeg_surface_order_constant(router, 1, beside, &s, &got));
    assert_ok(moeg_surface_slope(router, 1, beside, &s, &mass));
    assert_relative(got.value, mass.value, 1e-13);
    moeg_router_free(router);
    moeg_law_free(beside);
    assert_ok(moeg_router_affine_create(&router, 5, 2, rows, above));
    assert_ok(moeg_surface_order_constant(router, 2, plane, &s, &got));
    assert_ok(moeg_boundary_gap_mass(router, moeg_gap_order(2), plane, 1, &w, &s, &mass));
    /* The mass is a quadrature of what is felt on 1e-9 of its range. */
    assert_relative(mass.value / (w * w), got.value, 1e-5);
    moeg_router_free(router);
    moeg_law_free(plane);
    moeg_law_free(space);
}

/* Three rows on one line, or four: along the tie of two of them the others stay at their distance, but for rounding,
 * and leave an interval whose other end is some 1e16 away. */
static void constants_beside_parallel_ties(void **state)
{
    (void)state;
    const double W[6 * 2] = {-1, 1, -2, 1, 1, 0, 2, -2, 0, 2, 0, 0}, b[6] = {0.05, 0.5, 0.02, 0.09, -0.15, -0.3};
    const moeg_sampling s = moeg_sampling_default();
    for (int turn = 0; turn < 8; turn++) {
        const double x = cos(turn), y = sin(turn), w = 1e-5;
        moeg_router *router;
        moeg_law *law;
        moeg_estimate got, slope, mass;
        assert_ok(moeg_router_affine_create(&router, 6, 2, W, b));
        assert_ok(moeg_law_gaussian_create(&law, 2, NULL, (double[]){1 + x / 2, y / 2, y / 2, 1 - x / 2}));
        assert_ok(moeg_surface_order_constant(router, 1, law, &s, &got));
        assert_ok(moeg_surface_slope(router, 1, law, &s, &slope));
        assert_relative(got.value, slope.value, 1e-13);
        /* A corner of the plane is w wide. */
        assert_ok(moeg_boundary_mass(router, law, 1, &w, &s, &mass));
        assert_relative(got.value, mass.value / w, 1e-4);
        moeg_router_free(router);
        moeg_law_free(law);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crowded_ties_have_no_such_constant),
        cmocka_unit_test(plane_has_the_digits_of_the_reference),
        cmocka_unit_test(constants_have_their_definition),
        cmocka_unit_test(narrow_masses_have_these_constants),
        cmocka_unit_test(error_bars_are_right),
        cmocka_unit_test(what_cannot_be_had_says_so),
        cmocka_unit_test(constants_beside_parallel_ties),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
