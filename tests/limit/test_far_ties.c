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
static void agree(struct problem plane, struct problem hidden, uint64_t n, uint64_t seeds, far_quantity quantity)
{
    moeg_sampling s = line_options();
    moeg_estimate truth[3], found[3];
    double sum[3] = {0}, squares[3] = {0};
    size_t known[3] = {0};
    assert_ok(quantity(&plane, &s, truth));
    s.n = n;
    seeds = COVERAGE_JUDGES ? seeds : 1;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        s.seed = seed;
        const moeg_status status = quantity(&hidden, &s, found);
        assert_true(status == MOEG_OK || status == MOEG_EUNABLE);
        for (int j = 0; j < 3; j++) {
            if (isinf(found[j].std_error))
                continue;
            known[j]++;
            assert_near(truth[j].std_error, 0, 0);
            const double z = (found[j].value - truth[j].value) / found[j].std_error;
            assert_true(fabs(z) <= 4.5);
            sum[j] += z;
            squares[j] += z * z;
        }
    }
    for (int j = 0; j < 3 && COVERAGE_JUDGES; j++) {
        const double runs = (double)known[j];
        assert_true(runs >= 0.7 * (double)seeds);
        assert_true(fabs(sum[j]) <= 3.5 * sqrt(runs));
        assert_true(squares[j] >= 0.25 * runs && squares[j] <= runs + 4.5 * sqrt(2 * runs));
    }
    problem_free(&plane);
    problem_free(&hidden);
}

static void plane_agrees(moeg_gate gate, size_t d, uint64_t n, uint64_t seeds, far_quantity quantity)
{
    struct problem plane, hidden;
    far_plane(2, gate, &plane);
    far_plane(d, gate, &hidden);
    agree(plane, hidden, n, seeds, quantity);
}

static moeg_status gaps_of_losses(const struct problem *p, const moeg_sampling *s, moeg_estimate *estimates)
{
    static const double tau[3] = {0.01, 0.1, 0.3};
    moeg_estimate hard, soft[3];
    return moeg_risk_curve(p->moe, p->teacher, p->law, MOEG_MIX_LOSS, 3, tau, s, &hard, soft, estimates, NULL);
}

/* A tie at the mean that counts for nothing hides none. */
static void near_tie_hides_none(void **state)
{
    (void)state;
    struct problem plane, hidden;
    far_beside_near(2, &plane);
    far_beside_near(4, &hidden);
    agree(plane, hidden, 4096, 24, gaps_of_losses);
}

static moeg_status far_masses(const struct problem *p, const moeg_sampling *s, moeg_estimate *estimates)
{
    static const double half_way[3] = {1, 2, 2.6};
    return moeg_boundary_gap_mass(p->router, moeg_gap_margin(), p->law, 3, half_way, s, estimates);
}

/* What begins on the way to a tie. */
static void ways_are_seen(void **state)
{
    (void)state;
    plane_agrees(moeg_gate_softmax(), 5, 4096, 24, far_masses);
}

/* Many that tie far out want more lines than there are: by name an error, by AUTO rows. */
static void many_far_ties(void **state)
{
    (void)state;
    enum { K = 40, D = 16 };
    static double W[K * D], b[K];
    uint64_t seed = 2;
    for (size_t i = D; i < K * D; i++)
        W[i] = next_normal(&seed) / sqrt(D);
    for (size_t k = 1; k < K; k++)
        b[k] = -4;
    moeg_router *router;
    moeg_law *law;
    assert_ok(moeg_router_affine_create(&router, K, D, W, b));
    assert_ok(moeg_law_gaussian_create(&law, D, NULL, NULL));
    moeg_sampling s = line_options();
    s.n = 512;
    const double w = 0.1;
    moeg_estimate e = {.value = 42};
    assert_status(moeg_boundary_mass(router, law, 1, &w, &s, &e), MOEG_EINVAL,
                  "boundary_mass: n must be more than 512: lines have to be drawn around more than 32 places");
    assert_near(e.value, 42, 0);
    s.method = MOEG_METHOD_AUTO;
    assert_ok(moeg_boundary_mass(router, law, 1, &w, &s, &e));
    assert_int_equal(e.method, MOEG_METHOD_MC);
    moeg_law_free(law);
    moeg_router_free(router);
}

static int stop(uint64_t done, uint64_t total, void *user)
{
    (void)total;
    (void)user;
    return done > 0;
}

/* A canceled run says so, and knows nothing of parts that no line is of. */
static void canceled_runs(void **state)
{
    (void)state;
    struct problem p;
    far_plane(5, moeg_gate_softmax(), &p);
    moeg_sampling s = line_options();
    s.n = 1 << 14;
    s.max_threads = 1;
    s.progress = stop;
    moeg_estimate e[3];
    assert_int_equal(masses(&p, &s, e), MOEG_ECANCELED);
    for (int j = 0; j < 3; j++)
        assert_true(isinf(e[j].std_error) || (isfinite(e[j].value) && e[j].std_error > 0));
    assert_int_equal(gaps(&p, &s, e), MOEG_ECANCELED);
    for (int j = 0; j < 3; j++)
        assert_true(isinf(e[j].std_error) || (isfinite(e[j].value) && e[j].std_error > 0));
    assert_int_equal(moeg_surface_slack(p.router, p.law, &s, e), MOEG_ECANCELED);
    assert_true(isinf(e->std_error) || (isfinite(e->value) && e->std_error > 0));
    problem_free(&p);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_mass_is_one),     cmocka_unit_test(planes_agree),
                                       cmocka_unit_test(near_tie_hides_none), cmocka_unit_test(ways_are_seen),
                                       cmocka_unit_test(many_far_ties),       cmocka_unit_test(canceled_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
