/* Masses on rays: the plane by quadrature against 30 digits, more dimensions against sampling, their spread, and their
 * error bars. */
#include "limit/ray_mass.h"

#include "limit/cells.h"
#include "limit/reference_problem.h"
#include "support/coverage.h"
#include "support/failing_alloc.h"

/* Every row that is a gap from the best, BM and BM_2, and the slope of BM, which is that of a mass so narrow that
 * nothing else is left: thirteen digits (eleven of BM_2, whose reach is what is left of lags), inside the reported
 * error. */
static void plane_has_the_digits_of_the_reference(void **state)
{
    (void)state;
    struct reference *r = reference_read("boundary_k3.csv");
    size_t seen = 0;
    for (size_t row = 0; row < r->row_count; row++) {
        const char *quantity = reference_text(r, row, "quantity");
        const int rank = strcmp(quantity, "BM") == 0 ? 1 : strcmp(quantity, "BM_2") == 0 ? 2 : 0;
        if (rank == 0 && strcmp(quantity, "SLOPE_BM") != 0)
            continue;
        struct problem p;
        reference_boundary(r, row, &p);
        moeg_estimate got;
        moeg_sampling s = moeg_sampling_default();
        s.method = MOEG_METHOD_LINE;
        const double narrow = 0x1p-900, w = rank > 0 ? (double)reference_value(r, row, "w") : narrow;
        const double expected = reference_number(r, row) * (rank > 0 ? 1 : narrow);
        assert_ok(
            moeg_boundary_gap_mass(p.router, moeg_gap_order(rank > 0 ? (size_t)rank : 1), p.law, 1, &w, &s, &got));
        assert_relative(got.value, expected, rank > 1 ? 1e-11 : 1e-13);
        assert_near(got.value, expected, got.quad_error);
        assert_true(got.std_error == 0 && got.n == 1 && got.lo <= expected && got.hi >= expected);
        seen++;
        problem_free(&p);
    }
    assert_int_equal(seen, 70);
    free(r);
}

struct setup {
    moeg_router *router;
    moeg_law *law;
    moeg_rays rays;
};

static void make(uint64_t seed, struct setup *p)
{
    const char *refusal;
    draw_cells(&seed, &p->router, &p->law);
    assert_ok(moeg_rays_init("test", p->router, p->law, &p->rays, &refusal));
    assert_null(refusal);
}

static void unmake(struct setup *p)
{
    moeg_rays_free(&p->rays);
    moeg_router_free(p->router);
    moeg_law_free(p->law);
}

/* Standard deviation over lines at most 0.65 of the mass, however narrow; inside plain sampling's error where that can
 * tell; and the mass over its width settles. */
static void few_lines_see_what_no_sample_can(void **state)
{
    (void)state;
    for (uint64_t seed = 5; seed < 13; seed++) {
        struct setup p;
        moeg_estimate line[4], mc[4];
        moeg_sampling s = moeg_sampling_default();
        const double w[4] = {1e-300, 1e-9, 1e-2, 0.3};
        make(seed, &p);
        s.n = 4096;
        assert_ok(moeg_ray_mass("test", &p.rays, moeg_gap_margin(), 4, w, &s, line));
        for (int j = 0; j < 4; j++)
            assert_true(line[j].std_error * 64 <= 0.65 * line[j].value);
        assert_relative(line[1].value / w[1], line[0].value / w[0], 1e-7); /* what is of the order of w */
        s.n = 1 << 16;
        s.method = MOEG_METHOD_MC;
        assert_ok(moeg_boundary_mass(p.router, p.law, 4, w, &s, mc));
        for (int j = 2; j < 4; j++)
            assert_near(line[j].value, mc[j].value, 4.5 * hypot(line[j].std_error, mc[j].std_error));
        unmake(&p);
    }
}

/* Three and more experts near a tie, against sampling. */
static void orders_agree_with_sampling(void **state)
{
    (void)state;
    struct setup p;
    make(77, &p);
    const double w[2] = {0.4, 1.5};
    static double x[40000 * DRAWN_D], gap[40000];
    assert_ok(moeg_law_sample(p.law, 3, 0, 40000, x));
    for (size_t rank = 2; rank < 5; rank++) {
        moeg_estimate line[2];
        const moeg_sampling s = moeg_sampling_default();
        assert_ok(moeg_ray_mass("test", &p.rays, moeg_gap_order(rank), 2, w, &s, line));
        assert_ok(moeg_router_gap(p.router, 40000, x, moeg_gap_order(rank), gap));
        for (int j = 0; j < 2; j++) {
            double share = 0;
            for (size_t i = 0; i < 40000; i++)
                share += (gap[i] <= w[j]) / 40000.0;
            assert_near(line[j].value, share, 4.5 * hypot(line[j].std_error, sqrt(share * (1 - share) / 40000)));
        }
    }
    unmake(&p);
}

/* Four experts at the corners of a tetrahedron under N(0, I_3): every cell alike, the value from very many lines. */
static moeg_status cover(uint64_t seed, void *user, moeg_estimate *estimates)
{
    moeg_sampling s = moeg_sampling_default();
    const double w[2] = {1e-6, 0.5};
    s.seed = seed;
    s.n = 512;
    s.level = 0.9;
    s.max_threads = 1;
    return moeg_ray_mass("test", user, moeg_gap_margin(), 2, w, &s, estimates);
}

static void error_bars_are_right(void **state)
{
    (void)state;
    const double w[2] = {1e-6, 0.5};
    moeg_router *router;
    moeg_law *law;
    moeg_rays rays;
    const char *refusal;
    moeg_estimate truth[2];
    moeg_sampling s = moeg_sampling_default();
    assert_ok(moeg_router_affine_create(&router, 4, 3, five_rows, five_biases));
    assert_ok(moeg_law_gaussian_create(&law, 3, NULL, NULL));
    assert_ok(moeg_rays_init("test", router, law, &rays, &refusal));
    assert_null(refusal);
    s.n = 1 << 21;
    s.seed = 4242;
    assert_ok(moeg_ray_mass("test", &rays, moeg_gap_margin(), 2, w, &s, truth));
    const double truths[] = {truth[0].value, truth[1].value};
    assert_coverage(cover, &rays, 2, truths, 0.9, 1500, COVERAGE_EXACT);
    moeg_rays_free(&rays);
    moeg_router_free(router);
    moeg_law_free(law);
}

/* Rows that are no corners, equal rows, masks, and laws and routers without lines. */
static void what_has_no_rays_says_so(void **state)
{
    (void)state;
    const double inside[] = {1, 0, -1, 1, -1, -1, -0.1, 0}, masks[] = {0, -INFINITY, -INFINITY};
    const double zero[2] = {0, 0}, singular[4] = {0, 0, 0, 0};
    moeg_router *router;
    moeg_law *law, *box, *flat;
    moeg_rays rays;
    const char *refusal;
    assert_ok(moeg_law_gaussian_create(&law, 2, NULL, NULL));
    assert_ok(moeg_law_gaussian_create(&flat, 2, zero, singular));
    assert_ok(moeg_law_box_create(&box, 2, (double[]){-1, -1}, (double[]){1, 1}));
    const struct {
        size_t K;
        const double *W, *b;
        const moeg_law *law;
        const char *why;
    } cases[] = {{3, inside, masks, law, "all experts but one are masked"},
                 {3, inside, NULL, flat, "the logits do not vary"},
                 {3, inside, NULL, box, "the law is not Gaussian"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(moeg_router_affine_create(&router, cases[i].K, 2, cases[i].W, cases[i].b));
        assert_ok(moeg_rays_init("test", router, cases[i].law, &rays, &refusal));
        assert_non_null(refusal);
        assert_string_equal(refusal, cases[i].why);
        moeg_rays_free(&rays);
        moeg_router_free(router);
    }
    struct setup p;
    make(5, &p);
    moeg_sampling s = moeg_sampling_default();
    moeg_estimate mass;
    const double w = 0.1;
    s.n = 31;
    assert_status(moeg_ray_mass("test", &p.rays, moeg_gap_margin(), 1, &w, &s, &mass), MOEG_EINVAL,
                  "n must be at least 4 lines for each of 8 strata, got 31");
    s.n = 32;
    assert_int_equal(moeg_ray_mass("test", &p.rays, moeg_gap_margin(), 1, &w, &s, &mass), MOEG_EUNABLE);
    assert_true(isinf(mass.std_error) && isfinite(mass.value) && mass.lo == 0 && mass.hi == 1);
    unmake(&p);
    moeg_law_free(law);
    moeg_law_free(flat);
    moeg_law_free(box);
}

static moeg_status everything(void *user)
{
    const struct setup *p = user;
    moeg_rays rays;
    const char *refusal;
    moeg_estimate mass[2];
    moeg_sampling s = moeg_sampling_default();
    const double w[2] = {0.1, 0.2};
    s.n = 64;
    s.max_threads = 1;
    moeg_status status = moeg_rays_init("test", p->router, p->law, &rays, &refusal);
    if (status == MOEG_OK) {
        status = moeg_ray_mass("test", &rays, moeg_gap_margin(), 2, w, &s, mass);
        moeg_rays_free(&rays);
    }
    return status == MOEG_EUNABLE ? MOEG_OK : status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct setup p;
    make(6, &p);
    assert_true(fail_every_allocation(everything, &p) > 40);
    unmake(&p);
    const double W[] = {1, 0, -1, 1, -1, -1};
    assert_ok(moeg_router_affine_create(&p.router, 3, 2, W, NULL));
    assert_ok(moeg_law_gaussian_create(&p.law, 2, NULL, NULL));
    assert_true(fail_every_allocation(everything, &p) > 20);
    moeg_router_free(p.router);
    moeg_law_free(p.law);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plane_has_the_digits_of_the_reference),
        cmocka_unit_test(few_lines_see_what_no_sample_can),
        cmocka_unit_test(orders_agree_with_sampling),
        cmocka_unit_test(error_bars_are_right),
        cmocka_unit_test(what_has_no_rays_says_so),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
