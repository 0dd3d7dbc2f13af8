/* The pairwise bound against sums over pairs of two experts, and the band of a whole curve. */
#include "limit/boundary.h"
#include "support/coverage.h"
#include "support/failing_alloc.h"

#include <float.h>

enum { NW = 7 };
static const double widths[NW] = {0.3, 0, 1e-300, 2.385, 1e-9, 40, 0.731};

/* Mass and slope of experts i and j alone. */
static void of_pair(const struct problem *p, size_t i, size_t j, moeg_estimate *mass, double *slope)
{
    double W[2 * MOST_D], b[2] = {p->b[i], p->b[j]};
    memcpy(W, p->W + i * p->d, p->d * sizeof *W);
    memcpy(W + p->d, p->W + j * p->d, p->d * sizeof *W);
    moeg_router *two;
    const moeg_sampling s = options(MOEG_METHOD_LINE, 1, 1);
    assert_ok(moeg_router_affine_create(&two, 2, p->d, W, b));
    assert_ok(moeg_boundary_mass(two, p->law, NW, widths, &s, mass));
    assert_ok(moeg_boundary_slope(two, p->law, slope));
    moeg_router_free(two);
}

static void sums_over_pairs(void **state)
{
    (void)state;
    for (size_t shape = 0; shape < 8; shape++) {
        struct problem p;
        problem_draw(&p, 80 + shape, 1 + shape, 1 + shape % 4, 1);
        if (shape == 5)
            p.b[2] = p.b[4] = -INFINITY;
        problem_build(&p);
        long double expected[NW] = {0}, slopes = 0;
        for (size_t i = 0; i < p.K; i++)
            for (size_t j = i + 1; j < p.K; j++) {
                moeg_estimate mass[NW];
                double slope;
                if (isinf(p.b[i]) || isinf(p.b[j]))
                    continue;
                of_pair(&p, i, j, mass, &slope);
                slopes += slope;
                for (size_t l = 0; l < NW; l++)
                    expected[l] += mass[l].value;
            }
        double bound[NW], slope, same[NW], alone;
        assert_ok(moeg_boundary_pairwise(p.router, p.law, NW, widths, bound, &slope));
        for (size_t l = 0; l < NW; l++) {
            /* Rounded up; the oracle's terms to nearest. */
            assert_true(bound[l] >= (double)(expected[l] * (1 - EPS)));
            assert_near(bound[l], (double)expected[l], 4 * EPS * (double)expected[l] + DBL_TRUE_MIN);
        }
        assert_relative(slope, (double)slopes, 2 * EPS);
        assert_ok(moeg_boundary_pairwise(p.router, p.law, NW, widths, same, NULL));
        assert_memory_equal(bound, same, sizeof bound);
        assert_ok(moeg_boundary_pairwise(p.router, p.law, 0, NULL, NULL, &alone));
        assert_near(alone, slope, 0);
        problem_free(&p);
    }
}

/* It is a bound, and at small widths proportional to them. */
static void bounds_what_is_sampled(void **state)
{
    (void)state;
    for (uint64_t seed = 90; seed < 96; seed++) {
        struct problem p;
        problem_make(&p, seed, 6, 4, 1);
        const moeg_sampling s = options(MOEG_METHOD_MC, 2000, seed);
        const double w[] = {1e-6, 0.05, 0.3, 1, 3};
        double bound[5], slope;
        moeg_estimate mass[5];
        assert_ok(moeg_boundary_pairwise(p.router, p.law, 5, w, bound, &slope));
        assert_ok(moeg_boundary_mass(p.router, p.law, 5, w, &s, mass));
        for (size_t j = 0; j < 5; j++)
            assert_true(mass[j].lo <= bound[j]);
        assert_relative(bound[0], slope * w[0], 1e-9); /* The next term is of the order w^3. */
        problem_free(&p);
    }
}

static void pairs_that_tie_or_never_tie(void **state)
{
    (void)state;
    struct problem p;
    const double w[] = {0.75, 0.7499, 0};
    double bound[3], slope = 42;
    problem_draw(&p, 97, 2, 2, 1);
    memcpy(p.W + 2, p.W, 2 * sizeof *p.W);
    p.b[0] = 1;
    p.b[1] = 1.75; /* Always 0.75 apart. */
    problem_build(&p);
    assert_ok(moeg_boundary_pairwise(p.router, p.law, 3, w, bound, &slope));
    assert_true(bound[0] >= 1 && bound[0] <= 1 + 4 * EPS && bound[1] == 0 && bound[2] == 0 && slope == 0);
    problem_free(&p);
    problem_draw(&p, 97, 3, 2, 1);
    memcpy(p.W + 4, p.W, 2 * sizeof *p.W);
    p.b[2] = p.b[0];
    problem_build(&p);
    slope = bound[0] = 42;
    assert_status(moeg_boundary_pairwise(p.router, p.law, 3, w, bound, &slope), MOEG_EDOM,
                  "boundary_pairwise: experts 0 and 2 tie everywhere: the bound has no slope");
    assert_true(slope == 42 && bound[0] == 42);
    assert_ok(moeg_boundary_pairwise(p.router, p.law, 3, w, bound, NULL));
    assert_true(bound[2] >= 1 && bound[2] <= 1 + 4 * EPS);
    problem_free(&p);
}

/* An interface 300 deviations away: a positive bound is not 0, and a positive slope is none. */
static void what_underflows(void **state)
{
    (void)state;
    struct problem p = {.K = 2, .d = 1, .m = 1, .mean = {300}, .covariance = {1}, .W = {1, 0}};
    problem_build(&p);
    double bound[NW], slope = 42;
    assert_ok(moeg_boundary_pairwise(p.router, p.law, NW, widths, bound, NULL));
    for (size_t j = 0; j < NW; j++)
        assert_near(bound[j], widths[j] > 0 ? DBL_TRUE_MIN : 0, 0);
    bound[0] = 42;
    assert_status(moeg_boundary_pairwise(p.router, p.law, NW, widths, bound, &slope), MOEG_ERANGE,
                  "boundary_pairwise: the slope of the bound underflows");
    assert_status(moeg_boundary_slope(p.router, p.law, &slope), MOEG_ERANGE, "boundary_slope: the slope underflows");
    assert_near(bound[0], 42, 0);
    assert_near(slope, 42, 0);
    problem_free(&p);
}

static void pairwise_arguments_are_checked(void **state)
{
    (void)state;
    struct problem p;
    moeg_law *other, *box;
    moeg_router *steep, *mlp;
    const double lo[2] = {-1, -1}, hi[2] = {1, 1}, tiny[4] = {1e-320, 0, 0, 0}, large[4] = {1.7e308, 0, -1.7e308, 0};
    const size_t shape[] = {2, 2, 2};
    double w[2] = {0.3, 0.1}, bound[2] = {42, 42}, slope = 42;
    problem_make(&p, 98, 2, 2, 1);
    const double *const layers[] = {p.W, p.W};
    assert_ok(moeg_law_gaussian_create(&other, 3, NULL, NULL));
    assert_ok(moeg_law_box_create(&box, 2, lo, hi));
    assert_ok(moeg_router_mlp_create(&mlp, 2, shape, layers, NULL, MOEG_ACTIVATION_TANH));
#define PAIRWISE(router, law) moeg_boundary_pairwise(router, law, 2, w, bound, &slope)
    assert_status(PAIRWISE(NULL, p.law), MOEG_EINVAL, "boundary_pairwise: router must not be NULL");
    assert_status(PAIRWISE(p.router, NULL), MOEG_EINVAL, "law must not be NULL");
    assert_status(PAIRWISE(p.router, other), MOEG_EINVAL, "the router takes dimension 2, the law has 3");
    assert_status(PAIRWISE(p.router, box), MOEG_EUNSUPPORTED, "boundary_pairwise: the law is not Gaussian");
    assert_status(PAIRWISE(mlp, p.law), MOEG_EUNSUPPORTED, "boundary_pairwise: the router is not affine");
    assert_status(moeg_boundary_pairwise(p.router, p.law, 2, NULL, bound, &slope), MOEG_EINVAL, "w must not be NULL");
    assert_status(moeg_boundary_pairwise(p.router, p.law, 2, w, NULL, &slope), MOEG_EINVAL, "bound must not be NULL");
    static const double bad[] = {NAN, INFINITY, -1e-300};
    for (size_t i = 0; i < 3; i++) {
        w[1] = bad[i];
        assert_status(PAIRWISE(p.router, p.law), MOEG_EINVAL, "w[1] must be finite and at least 0");
    }
    w[1] = 0;
    assert_ok(moeg_router_affine_create(&steep, 2, 2, large, NULL));
    assert_status(PAIRWISE(steep, p.law), MOEG_ERANGE, "boundary_pairwise: the difference of the logits overflows");
    moeg_router_free(steep);
    assert_ok(moeg_router_affine_create(&steep, 2, 2, tiny, NULL));
    assert_status(PAIRWISE(steep, p.law), MOEG_ERANGE, "boundary_pairwise: the slope of the bound overflows");
    assert_true(bound[0] == 42 && bound[1] == 42 && slope == 42);
    moeg_router_free(steep);
    moeg_router_free(mlp);
    moeg_law_free(other);
    moeg_law_free(box);
    problem_free(&p);
}

static moeg_status allocating(void *user)
{
    const struct problem *p = user;
    double bound = 42;
    const moeg_status status = moeg_boundary_pairwise(p->router, p->law, 1, widths, &bound, NULL);
    assert_true(status == MOEG_OK || bound == 42);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 99, 3, 2, 1);
    assert_true(fail_every_allocation(allocating, &p) >= 1);
    problem_free(&p);
}

/* The masses of rows, without their intervals, which take long. */
static void count_masses(const struct problem *p, uint64_t seed, size_t n, size_t nw, const double *w,
                         moeg_estimate *mass)
{
    double *gaps = gaps_of_rows(p->router, moeg_gap_margin(), p->law, seed, n);
    for (size_t j = 0; j < nw; j++) {
        mass[j] = (moeg_estimate){.n = n, .method = MOEG_METHOD_MC};
        for (size_t i = 0; i < n; i++)
            mass[j].contributing += gaps[i] <= w[j];
        mass[j].value = (double)mass[j].contributing / (double)n;
    }
    free(gaps);
}

/* The band holds the whole exact curve at once, as often as it says and, of so many widths, hardly more often. */
static void bands_hold_whole_curves(void **state)
{
    (void)state;
    enum { RUNS = 1000, ROWS = 150, GRID = 200 };
    static const double levels[] = {0.5, 0.8, 0.95};
    struct problem p;
    double w[GRID], lo[GRID], hi[GRID];
    moeg_estimate exact[GRID], mass[GRID];
    size_t covered[3] = {0}, least, most;
    make_plain(&p, 0.4, 1, 1, 0);
    for (size_t j = 0; j < GRID; j++)
        w[j] = 3.5 * ((double)j + 0.5) / GRID;
    const moeg_sampling s = options(MOEG_METHOD_LINE, 1, 1);
    assert_ok(moeg_boundary_mass(p.router, p.law, GRID, w, &s, exact));
    for (size_t run = 0; run < RUNS; run++) {
        count_masses(&p, COVERAGE_SEED + run, ROWS, GRID, w, mass);
        for (size_t l = 0; l < 3; l++) {
            assert_ok(moeg_boundary_band(p.law, GRID, mass, levels[l], lo, hi));
            size_t inside = 0;
            for (size_t j = 0; j < GRID; j++)
                inside += lo[j] <= exact[j].value && exact[j].value <= hi[j];
            covered[l] += inside == GRID;
        }
    }
    for (size_t l = 0; l < 3; l++) {
        coverage_band(RUNS, levels[l], 0.0005, &least, &most);
        assert_true(covered[l] >= least);
        assert_true((double)covered[l] < RUNS * (levels[l] + 0.4 * (1 - levels[l])));
    }
    problem_free(&p);
}

static void bands_of_any_masses(void **state)
{
    (void)state;
    struct problem p;
    const double w[] = {0.2, 1e300, 0};
    double lo[3] = {42}, hi[3] = {42}, reach;
    moeg_estimate mass[3];
    problem_make(&p, 100, 3, 2, 1);
    moeg_sampling s = options(MOEG_METHOD_MC, 1000, 2);
    assert_ok(moeg_boundary_mass(p.router, p.law, 3, w, &s, mass));
    assert_ok(moeg_boundary_band(p.law, 3, mass, 0.9, lo, hi));
    assert_ok(moeg_dkw(1000, 0.9, &reach));
    assert_near(lo[0], fmax(0, mass[0].value - reach), 0);
    assert_near(hi[0], mass[0].value + reach, 0);
    assert_true(lo[1] == 1 - reach && hi[1] == 1 && lo[2] == 0 && hi[2] == reach);
    mass[1] = mass[2] = mass[0];
    mass[0].method = mass[1].method = mass[2].method = MOEG_METHOD_LINE;
    mass[1].quad_error = 1e-3;
    mass[0].std_error = mass[1].std_error = 0;
    assert_ok(moeg_boundary_band(p.law, 2, mass, 0.9, lo, hi));
    assert_true(lo[0] == mass[0].value && hi[0] == mass[0].value);
    assert_true(lo[1] == mass[1].value - 1e-3 && hi[1] == mass[1].value + 1e-3);
    lo[0] = 42;
    assert_status(moeg_boundary_band(p.law, 3, mass, 0.9, lo, hi), MOEG_EUNSUPPORTED,
                  "boundary_band: mass[2] is a mean over lines, for which no band is known");
    assert_near(lo[0], 42, 0);
    assert_ok(moeg_boundary_mass(p.router, p.law, 3, w, &s, mass));
    assert_status(moeg_boundary_band(NULL, 3, mass, 0.9, lo, hi), MOEG_EINVAL, "boundary_band: law must not be NULL");
    assert_status(moeg_boundary_band(p.law, 0, mass, 0.9, lo, hi), MOEG_EINVAL,
                  "boundary_band: nw must be at least 1, got 0");
    assert_status(moeg_boundary_band(p.law, 3, NULL, 0.9, lo, hi), MOEG_EINVAL, "mass must not be NULL");
    assert_status(moeg_boundary_band(p.law, 3, mass, 0.9, NULL, hi), MOEG_EINVAL, "lo must not be NULL");
    assert_status(moeg_boundary_band(p.law, 3, mass, 0.9, lo, NULL), MOEG_EINVAL, "hi must not be NULL");
    static const double bad[] = {0, 1, -0.5, NAN};
    for (size_t i = 0; i < 4; i++)
        assert_status(moeg_boundary_band(p.law, 3, mass, bad[i], lo, hi), MOEG_EINVAL, "level must be in (0, 1)");
    moeg_estimate wrong[3];
    for (size_t i = 0; i < 5; i++) {
        memcpy(wrong, mass, sizeof mass);
        wrong[1].value = i == 0 ? NAN : i == 1 ? 0.9999 : mass[1].value;
        wrong[1].contributing = i == 2 ? 1001 : mass[1].contributing;
        wrong[1].method = i == 3 ? MOEG_METHOD_AUTO : mass[1].method;
        wrong[1].n = i == 4 ? 0 : mass[1].n;
        assert_status(moeg_boundary_band(p.law, 3, wrong, 0.9, lo, hi), MOEG_EINVAL,
                      "boundary_band: mass[1] must be the share of its rows");
    }
    memcpy(wrong, mass, sizeof mass);
    wrong[2].n = 999;
    assert_status(moeg_boundary_band(p.law, 3, wrong, 0.9, lo, hi), MOEG_EINVAL,
                  "boundary_band: mass[2] must be of the same rows as mass[0], 1000, got 999");
    assert_near(lo[0], 42, 0);
    problem_free(&p);
    /* Of a closed form the curve itself; of no rows nothing. */
    make_plain(&p, 0.4, 1, 1, 0);
    s.method = MOEG_METHOD_LINE;
    assert_ok(moeg_boundary_mass(p.router, p.law, 3, w, &s, mass));
    assert_ok(moeg_boundary_band(p.law, 3, mass, 0.9, lo, hi));
    for (size_t j = 0; j < 3; j++)
        assert_true(lo[j] == mass[j].value && hi[j] == mass[j].value);
    const moeg_estimate none = {.value = NAN, .method = MOEG_METHOD_MC};
    assert_ok(moeg_boundary_band(p.law, 1, &none, 0.9, lo, hi));
    assert_true(lo[0] == 0 && hi[0] == 1);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_over_pairs),
        cmocka_unit_test(bounds_what_is_sampled),
        cmocka_unit_test(pairs_that_tie_or_never_tie),
        cmocka_unit_test(what_underflows),
        cmocka_unit_test(pairwise_arguments_are_checked),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(bands_hold_whole_curves),
        cmocka_unit_test(bands_of_any_masses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
