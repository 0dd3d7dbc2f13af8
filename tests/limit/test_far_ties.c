/* Laws whose mean is far from every tie: what rare lines see has an error bar that knows it. All of the probability;
 * planes, hidden in more dimensions by experts that never win, against quadrature; coverage. */
#include "limit/far.h"
#include "limit/lines.h"
#include "support/coverage.h"
#include "support/random.h"

#include <moegeom/surface.h>

/* Random routers, means and covariances: the mass of all is 1. */
static void all_mass_is_one(void **state)
{
    (void)state;
    uint64_t seed = 5;
    double squares = 0;
    size_t count = 0;
    for (int trial = 0; trial < 60; trial++) {
        const size_t K = 3 + (size_t)trial % 5, d = 3 + (size_t)trial % 4;
        const moeg_gap gaps[3] = {moeg_gap_margin(), moeg_gap_top(2), moeg_gap_order(2)};
        double W[7 * 6], b[7], mean[6], covariance[36];
        far_numbers(&seed, K, d, W, b, mean, covariance);
        moeg_router *router;
        moeg_law *law;
        assert_ok(moeg_router_affine_create(&router, K, d, W, b));
        assert_ok(moeg_law_gaussian_create(&law, d, mean, covariance));
        moeg_sampling s = line_options();
        s.n = 2048;
        s.seed = (uint64_t)trial;
        const double all = 1e6;
        moeg_estimate e;
        const moeg_status status = moeg_boundary_gap_mass(router, gaps[trial % 3], law, 1, &all, &s, &e);
        assert_true(status == MOEG_OK || status == MOEG_EUNABLE);
        if (status == MOEG_OK && e.std_error > 0) {
            squares += (e.value - 1) * (e.value - 1) / (e.std_error * e.std_error + 1e-24);
            assert_true(fabs(e.value - 1) <= 5 * e.std_error + 1e-12);
            count++;
        }
        moeg_law_free(law);
        moeg_router_free(router);
    }
    assert_true(count >= 40);
    assert_true(squares <= (double)count * 1.5);
}

/* Estimates of `count` quantities of a problem. */
typedef moeg_status (*far_quantity)(const struct problem *p, const moeg_sampling *s, moeg_estimate *estimates);

static const double widths[3] = {1e-9, 0.05, 0.6}, taus[3] = {1e-9, 0.3, 0.5};

static moeg_status masses(const struct problem *p, const moeg_sampling *s, moeg_estimate *estimates)
{
    return moeg_boundary_gap_mass(p->router, moeg_gap_margin(), p->law, 3, widths, s, estimates);
}

static moeg_status top_masses(const struct problem *p, const moeg_sampling *s, moeg_estimate *estimates)
{
    return moeg_boundary_gap_mass(p->router, moeg_gap_top(2), p->law, 3, widths, s, estimates);
}

static moeg_status gaps(const struct problem *p, const moeg_sampling *s, moeg_estimate *estimates)
{
    moeg_estimate hard, soft[3];
    const moeg_status status =
        moeg_risk_curve(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, 2, taus, s, &hard, soft, estimates, NULL);
    estimates[2] = hard;
    return status;
}

static moeg_status surfaces(const struct problem *p, const moeg_sampling *s, moeg_estimate *estimates)
{
    moeg_status status = moeg_surface_slope(p->router, 1, p->law, s, &estimates[0]);
    if (status == MOEG_OK)
        status = moeg_surface_slope(p->router, 2, p->law, s, &estimates[1]);
    return status == MOEG_OK ? moeg_surface_order_constant(p->router, 1, p->law, s, &estimates[2]) : status;
}

static moeg_status rests(const struct problem *p, const moeg_sampling *s, moeg_estimate *estimates)
{
    return moeg_leading_remainder(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, 2, taus + 1, s, &estimates[0],
                                  &estimates[1]);
}

/* By lines in more dimensions over seeds, as normal deviates from the quadrature in the plane: none too large, their
 * mean 0 and their mean square about 1. */
static void plane_agrees(moeg_gate gate, size_t d, uint64_t n, uint64_t seeds, far_quantity quantity)
{
    struct problem plane, hidden;
    far_plane(2, gate, &plane);
    far_plane(d, gate, &hidden);
    moeg_sampling s = line_options();
    moeg_estimate truth[3], found[3];
    double sum[3] = {0}, squares[3] = {0};
    assert_ok(quantity(&plane, &s, truth));
    s.n = n;
    seeds = COVERAGE_JUDGES ? seeds : 1;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        s.seed = seed;
        assert_ok(quantity(&hidden, &s, found));
        for (int j = 0; j < 3; j++) {
            assert_near(truth[j].std_error, 0, 0);
            const double z = (found[j].value - truth[j].value) / found[j].std_error;
            assert_true(fabs(z) <= 4.5);
            sum[j] += z;
            squares[j] += z * z;
        }
    }
    for (int j = 0; j < 3 && COVERAGE_JUDGES; j++) {
        assert_true(fabs(sum[j]) <= 3.5 * sqrt((double)seeds));
        assert_true(squares[j] >= 0.2 * (double)seeds);
        assert_true(squares[j] <= (double)seeds + 4.5 * sqrt(2 * (double)seeds));
    }
    problem_free(&plane);
    problem_free(&hidden);
}

static void planes_agree(void **state)
{
    (void)state;
    const moeg_gate softmax = moeg_gate_softmax();
    plane_agrees(softmax, 5, 4096, 24, masses);
    plane_agrees(softmax, 5, 4096, 24, top_masses);
    plane_agrees(softmax, 5, 4096, 24, surfaces);
    plane_agrees(softmax, 5, 4096, 24, gaps);
    plane_agrees(softmax, 5, 4096, 24, rests);
    plane_agrees(moeg_gate_topk_renorm(2), 3, 4096, 6, gaps);
    plane_agrees(moeg_gate_topk_renorm(2), 3, 4096, 6, rests);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_mass_is_one), cmocka_unit_test(planes_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
