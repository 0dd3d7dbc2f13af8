/* Orders of gaps that are measured: sampled under laws whose gaps are powers of tau exactly, with their error bars; by
 * quadrature under laws of known exponents. */
#include "support/check.h"
#include "support/coverage.h"

#include <moegeom/moegeom.h>

enum { NTAU = 6 };

struct problem {
    double power; /* s = sign(x) |x|^power, x uniform on (-1, 1) */
    double tau[NTAU];
    uint64_t n;
    double chi_square; /* summed over the runs */
    moeg_law *law;
    moeg_router *router;
    moeg_moe *moe;
    moeg_teacher *teacher;
};

static int signed_power(size_t n, const double *x, double *logits, void *user)
{
    const double power = *(const double *)user;
    for (size_t i = 0; i < n; i++) {
        logits[2 * i] = copysign(pow(fabs(x[i]), power), x[i]);
        logits[2 * i + 1] = 0;
    }
    return 0;
}

/* Experts 1.2 and -0.7, teacher 0.2: J = 0. */
static void make(struct problem *p, double power, double lowest, double highest)
{
    const double lo = -1, hi = 1, f[] = {1.2, -0.7, 0.2};
    moeg_expert *experts[3];
    *p = (struct problem){.power = power};
    for (size_t i = 0; i < NTAU; i++)
        p->tau[i] = lowest * pow(highest / lowest, (double)i / (NTAU - 1));
    assert_ok(moeg_law_box_create(&p->law, 1, &lo, &hi));
    assert_ok(moeg_router_callback_create(&p->router, 2, 1, signed_power, &p->power));
    for (size_t k = 0; k < 3; k++)
        assert_ok(moeg_expert_constant_create(&experts[k], 1, 1, &f[k]));
    assert_ok(moeg_moe_create(&p->moe, p->router, moeg_gate_softmax(), experts));
    assert_ok(moeg_teacher_expert_create(&p->teacher, experts[2]));
    for (size_t k = 0; k < 3; k++)
        moeg_expert_free(experts[k]);
}

static void destroy(struct problem *p)
{
    moeg_law_free(p->law);
    moeg_router_free(p->router);
    moeg_moe_free(p->moe);
    moeg_teacher_free(p->teacher);
}

/* The order and constant of the fit, then the local orders. */
static moeg_status ask(uint64_t seed, void *user, moeg_estimate *e)
{
    struct problem *p = user;
    moeg_sampling s = moeg_sampling_default();
    s.seed = seed;
    s.n = p->n;
    s.max_threads = 1;
    moeg_estimate gap[NTAU];
    double covariance[NTAU * NTAU];
    moeg_power_law fit;
    moeg_status status =
        moeg_risk_curve(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, NTAU, p->tau, &s, NULL, NULL, gap, covariance);
    if (status == MOEG_OK)
        status = moeg_order_fit(NTAU, p->tau, gap, covariance, 0.9, &fit);
    if (status == MOEG_OK)
        status = moeg_order_local(NTAU, p->tau, gap, covariance, 0.9, e + 2);
    if (status == MOEG_OK) {
        e[0] = fit.order;
        e[1] = fit.constant;
        p->chi_square += fit.chi_square;
    }
    return status;
}

/* With |s| = y^power, y uniform on (0, 1), P(|s| <= t) = t^alpha, alpha = 1/power, up to t = 1: the gap is
 * -delta^2 E q (1 - q) = -delta^2 Gamma(alpha + 1) eta(alpha - 1) tau^alpha, but for less than 4e-4 of it, about
 * e^(-1/tau)/tau^alpha, at the highest temperature. */
static void sampled_orders_cover(void **state)
{
    (void)state;
    enum { RUNS = 1000, CASES = 3 };
    const uint64_t n[CASES] = {5000, 1000, 6000};
    const double alpha[CASES] = {1, 0.5, 1.5}, lowest[CASES] = {0.006, 0.004, 0.04},
                 highest[CASES] = {0.03, 0.03, 0.09};
    const double eta[CASES] = {0.5, 0.38010481260968402, 0.60489864342163037}; /* of alpha - 1 */
    for (size_t a = 0; a < CASES; a++) {
        struct problem p;
        double truth[1 + NTAU];
        make(&p, 1 / alpha[a], lowest[a], highest[a]);
        for (size_t i = 0; i <= NTAU; i++)
            truth[i] = alpha[a];
        p.n = n[a];
        truth[1] = -1.9 * 1.9 * tgamma(alpha[a] + 1) * eta[a];
        assert_coverage(ask, &p, 1 + NTAU, truth, 0.9, RUNS, 0);
        /* chi^2 of NTAU - 2 degrees of freedom, of weights that are estimated too. */
        if (COVERAGE_JUDGES)
            assert_near(p.chi_square / RUNS, NTAU - 2.0, 0.15 * (NTAU - 2));
        destroy(&p);
    }
}

/* Where |s| <= 1 is felt the gap bends: chi^2 sees it. */
static void a_bend_shows(void **state)
{
    (void)state;
    struct problem p;
    moeg_estimate e[1 + NTAU];
    make(&p, 1, 0.05, 0.7);
    p.n = 10000;
    assert_ok(ask(1, &p, e));
    assert_true(p.chi_square > 200);
    destroy(&p);
}

/* Gaps by quadrature, s = sign(x) |x|^p, X ~ N(0, 1): order 1/p as tau -> 0, and a higher one nowhere near. */
static void orders_of_exact_gaps(void **state)
{
    (void)state;
    enum { N = 5 };
    const double tau[N] = {1e-12, 1e-11, 1e-10, 1e-9, 1e-8}, powers[] = {1, 2, 3, 5}, W[] = {2.385, -1};
    for (size_t l = 0; l < sizeof powers / sizeof *powers; l++) {
        struct problem p;
        const moeg_sampling s = moeg_sampling_default();
        moeg_estimate gap[N], order[N - 1];
        double covariance[N * N];
        moeg_power_law fit;
        moeg_leading leading;
        make(&p, 1, 1, 1);
        moeg_law_free(p.law);
        moeg_router_free(p.router);
        moeg_moe_free(p.moe);
        moeg_expert *experts[2];
        const double f[] = {1.2, -0.7};
        for (size_t k = 0; k < 2; k++)
            assert_ok(moeg_expert_constant_create(&experts[k], 1, 1, &f[k]));
        assert_ok(moeg_law_margin_create(&p.law, 1, MOEG_MARGIN_POWER, powers[l]));
        assert_ok(moeg_router_affine_create(&p.router, 2, 1, W, NULL));
        assert_ok(moeg_moe_create(&p.moe, p.router, moeg_gate_softmax(), experts));
        moeg_expert_free(experts[0]);
        moeg_expert_free(experts[1]);
        assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, N, tau, &s, NULL, NULL, gap, covariance));
        assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &leading));
        assert_ok(moeg_order_local(N, tau, gap, covariance, 0.9, order));
        assert_ok(moeg_order_fit(N, tau, gap, covariance, 0.9, &fit));
        /* The next term is smaller by tau^(2/p), at most 1e-8^(2/5) = 6e-4. */
        const double next = pow(tau[N - 1], 2 / powers[l]) + 1e-13;
        for (size_t i = 0; i + 1 < N; i++) {
            assert_near(order[i].value, leading.power, next);
            assert_true(order[i].std_error == 0 && order[i].quad_error < 1e-12);
        }
        assert_near(fit.order.value, leading.power, next);
        assert_relative(fit.constant.value, leading.coefficient, 40 * next);
        assert_int_equal(fit.order.method, MOEG_METHOD_LINE);
        destroy(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampled_orders_cover),
        cmocka_unit_test(a_bend_shows),
        cmocka_unit_test(orders_of_exact_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
