/* What whole lines can be asked for: directions of the user's, their refusals; error bars, threads and memory. */
#include "limit/ray_mass.h"

#include "limit/cells.h"
#include "support/coverage.h"
#include "support/estimates.h"
#include "support/failing_alloc.h"

#include <moegeom/boundary.h>

enum { K = 5, D = 3 };
struct setup {
    moeg_router *router;
    moeg_law *law;
    moeg_gap gap;
    double truth[2];
};
static const double widths[2] = {1e-200, 0.5}, squarable[2] = {1e-100, 0.5};

static void make(moeg_gap gap, struct setup *p)
{
    p->gap = gap;
    five_cells(1, &p->router, &p->law);
}

static void unmake(struct setup *p)
{
    moeg_router_free(p->router);
    moeg_law_free(p->law);
}

static moeg_sampling lines(uint64_t seed, uint64_t n)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_LINE;
    s.seed = seed;
    s.n = n;
    return s;
}

static const double axes[4 * D] = {2, 0, 0, 0, -0.5, 0, 0, 0, 1e-9, 1e5, -1e5, 0.3e5};

static void users_directions_see_the_same(void **state)
{
    (void)state;
    static const moeg_gap gaps[] = {{1, 2}, {1, 3}, {2, 3}, {3, 5}};
    for (size_t g = 0; g < 4; g++) {
        struct setup p;
        moeg_estimate chosen[2], own[2];
        make(gaps[g], &p);
        moeg_sampling s = lines(3, 1 << 13);
        /* Masses of higher order may be too rare. */
        assert_true(moeg_boundary_gap_mass(p.router, p.gap, p.law, 2, widths, &s, chosen) >= 0);
        s.directions = axes;
        s.direction_count = 4;
        assert_true(moeg_boundary_gap_mass(p.router, p.gap, p.law, 2, widths, &s, own) >= 0);
        for (int j = 0; j < 2; j++) {
            assert_true(own[j].value != chosen[j].value || own[j].value == 0);
            assert_near(own[j].value, chosen[j].value, 4.5 * hypot(own[j].std_error, chosen[j].std_error));
        }
        unmake(&p);
    }
}

/* In the plane too, by quadrature: steep ties and all. */
static void users_directions_leave_one_quadrature(void **state)
{
    (void)state;
    struct setup p;
    assert_ok(moeg_router_affine_create(&p.router, K, 2, five_rows, five_biases));
    assert_ok(moeg_law_gaussian_create(&p.law, 2, tilted_mean, (double[]){1.1, 0.3, 0.3, 0.7}));
    const double gradients[4] = {0.3, 1, 1, -0.02};
    for (size_t upper = 1; upper < 4; upper++)
        for (int j = 0; j < 3; j++) {
            /* The last: the constant gap of experts 2 and 4, whose rows are equal. */
            moeg_estimate chosen, own;
            const moeg_gap gap = {upper, upper + 1};
            const double w = j == 0 ? 1e-200 : j == 1 ? 0.7 : five_biases[4] - five_biases[2];
            moeg_sampling s = lines(1, 1);
            assert_ok(moeg_boundary_gap_mass(p.router, gap, p.law, 1, &w, &s, &chosen));
            s.directions = gradients;
            s.direction_count = 2;
            assert_ok(moeg_boundary_gap_mass(p.router, gap, p.law, 1, &w, &s, &own));
            assert_relative(own.value, chosen.value, 1e-12);
            assert_true(own.quad_error <= 1e-11 * own.value && own.std_error == 0);
        }
    unmake(&p);
}

static void what_cannot_be_asked_for_says_so(void **state)
{
    (void)state;
    struct setup p;
    moeg_estimate mass[2] = {{.value = 42}, {.value = 42}};
    double bad[2 * D] = {1, 0, 0, 0.2, NAN, 0};
    make((moeg_gap){2, 3}, &p);
    moeg_sampling s = lines(1, 1 << 10);
    s.directions = bad;
    s.direction_count = 2;
    assert_status(moeg_boundary_gap_mass(p.router, p.gap, p.law, 2, widths, &s, mass), MOEG_EINVAL,
                  "boundary_gap_mass: directions[1, 1] must be finite, got nan");
    bad[3] = bad[4] = 0;
    assert_status(moeg_boundary_gap_mass(p.router, p.gap, p.law, 2, widths, &s, mass), MOEG_EINVAL,
                  "boundary_gap_mass: directions[1] must be one along which the logits differ");
    /* Experts 0 and 1 differ by 2 x_2 + 2 x_3 + 0.2. */
    const double orthogonal[D] = {
        1, -(tilted_covariance[1] + tilted_covariance[2]) / (tilted_covariance[4] + tilted_covariance[5]), 0};
    s.directions = orthogonal;
    s.direction_count = 1;
    assert_status(moeg_boundary_gap_mass(p.router, p.gap, p.law, 2, widths, &s, mass), MOEG_EINVAL,
                  "boundary_gap_mass: no row of directions sees the tie of experts 0 and 1");
    /* One line is enough, or rows are drawn: no use for directions. */
    moeg_router *two;
    assert_ok(moeg_router_affine_create(&two, 2, D, five_rows, five_biases));
    assert_status(moeg_boundary_mass(two, p.law, 2, widths, &s, mass), MOEG_EUNSUPPORTED,
                  "boundary_mass: directions must be NULL: no lines are drawn along them here");
    assert_status(moeg_boundary_quantile(two, moeg_gap_margin(), p.law, 1, widths + 1, &s, mass), MOEG_EUNSUPPORTED,
                  "boundary_quantile: directions must be NULL");
    moeg_router_free(two);
    s = lines(1, 19);
    assert_status(moeg_boundary_gap_mass(p.router, p.gap, p.law, 2, widths, &s, mass), MOEG_EINVAL,
                  "boundary_gap_mass: n must be at least 4 lines for each of 5 strata, got 19");
    s.n = 20;
    assert_status(moeg_boundary_gap_mass(p.router, p.gap, p.law, 1, widths + 1, &s, mass), MOEG_EUNABLE,
                  "boundary_gap_mass: 20 lines are too few for an error bar");
    assert_true(isinf(mass[0].std_error) && mass[0].lo == 0 && mass[0].hi == 1 && mass[1].value == 42);
    unmake(&p);
}

/* Logits that do not vary, and ranks that masks leave empty. */
static void constant_gaps_are_there_or_not(void **state)
{
    (void)state;
    const double zero[D * D] = {0}, masked[K] = {0.2, -INFINITY, -0.3, -INFINITY, 1.1}, w[2] = {0.89, 0.91};
    moeg_router *router;
    moeg_law *point, *law;
    moeg_estimate mass[2];
    const moeg_sampling s = lines(1, 1);
    assert_ok(moeg_router_affine_create(&router, K, D, five_rows, masked));
    assert_ok(moeg_law_gaussian_create(&point, D, zero, zero));
    assert_ok(moeg_law_gaussian_create(&law, D, NULL, NULL));
    assert_ok(moeg_boundary_mass(router, point, 2, w, &s, mass));
    assert_true(mass[0].value == 0 && mass[1].value == 1 && mass[1].std_error == 0);
    assert_ok(moeg_boundary_gap_mass(router, (moeg_gap){2, 5}, law, 2, w, &s, mass));
    assert_true(mass[0].value == 0 && mass[1].value == 0);
    assert_status(moeg_boundary_gap_mass(router, (moeg_gap){4, 5}, law, 2, w, &s, mass), MOEG_EDOM,
                  "boundary_gap_mass: the router masks all but 3 experts, fewer than gap.upper = 4");
    moeg_router_free(router);
    moeg_law_free(point);
    moeg_law_free(law);
}

static moeg_status cover(uint64_t seed, void *user, moeg_estimate *estimates)
{
    const struct setup *p = user;
    moeg_sampling s = lines(seed, 512);
    s.level = 0.9;
    s.max_threads = 1;
    return moeg_boundary_gap_mass(p->router, p->gap, p->law, 2, squarable, &s, estimates);
}

/* Of lines alone, and of rays with lines for what they leave: the value from very many lines. */
static void error_bars_are_right(void **state)
{
    (void)state;
    for (size_t upper = 1; upper <= 2; upper++) {
        struct setup p;
        moeg_estimate truth[2];
        make((moeg_gap){upper, upper + 1}, &p);
        const moeg_sampling s = lines(4242, 1 << 18);
        assert_ok(moeg_boundary_gap_mass(p.router, p.gap, p.law, 2, squarable, &s, truth));
        const double truths[] = {truth[0].value, truth[1].value};
        assert_coverage(cover, &p, 2, truths, 0.9, 1000, COVERAGE_EXACT);
        unmake(&p);
    }
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    for (size_t upper = 1; upper <= 2; upper++) {
        struct setup p;
        moeg_estimate first[2], again[2];
        make((moeg_gap){upper, upper + 1}, &p);
        moeg_sampling s = lines(9, 5000);
        s.max_threads = 1;
        assert_ok(moeg_boundary_gap_mass(p.router, p.gap, p.law, 2, widths, &s, first));
        for (int threads = 2; threads <= 5; threads += 3) {
            s.max_threads = threads;
            assert_ok(moeg_boundary_gap_mass(p.router, p.gap, p.law, 2, widths, &s, again));
            assert_same_estimates(first, again, 2);
        }
        unmake(&p);
    }
}

static moeg_status everything(void *user)
{
    const struct setup *p = user;
    moeg_estimate mass[2];
    moeg_sampling s = lines(1, 64);
    s.max_threads = 1;
    const moeg_status status = moeg_boundary_gap_mass(p->router, p->gap, p->law, 2, widths, &s, mass);
    return status == MOEG_EUNABLE ? MOEG_OK : status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (size_t d = 1; d <= D; d++)
        for (size_t upper = 1; upper <= 2; upper++) {
            struct setup p = {.gap = {upper, upper + 1}};
            double rows[K * D];
            for (size_t k = 0; k < K * d; k++)
                rows[k] = five_rows[k / d * D + k % d];
            assert_ok(moeg_router_affine_create(&p.router, K, d, rows, five_biases));
            assert_ok(moeg_law_gaussian_create(&p.law, d, NULL, NULL));
            assert_true(fail_every_allocation(everything, &p) > 15);
            unmake(&p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_directions_see_the_same),
        cmocka_unit_test(users_directions_leave_one_quadrature),
        cmocka_unit_test(what_cannot_be_asked_for_says_so),
        cmocka_unit_test(constant_gaps_are_there_or_not),
        cmocka_unit_test(error_bars_are_right),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
