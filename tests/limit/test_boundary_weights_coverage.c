/* The error bars of masses, exponents, constants and quantiles of data with weights, over many sets of data: of weights
 * that are worth fewer rows than they are, and of such as go with gaps. */
#include "limit/boundary.h"
#include "support/coverage.h"

static const double share = 0.3;

/* Weights that do not depend on the rows: intervals of mass, exponent and quantile hold the truth of the law. */
static moeg_status estimate_weighted(uint64_t seed, void *user, moeg_estimate *e)
{
    enum { ROWS = 400 };
    const double *truths = user, w = 0.6;
    double x[ROWS], u[ROWS];
    const double W[2] = {1, 0};
    moeg_router *router;
    moeg_law *law;
    moeg_sampling s = options(MOEG_METHOD_AUTO, 1, 1);
    s.max_threads = 1;
    assert_ok(moeg_stream_uniforms((moeg_stream){seed, 99}, 0, ROWS, 1, x));
    assert_ok(moeg_stream_uniforms((moeg_stream){seed, 98}, 0, ROWS, 1, u));
    for (size_t i = 0; i < ROWS; i++) {
        x[i] = pow(x[i], 1 / truths[1]);
        u[i] = 0.1 + u[i] * u[i];
    }
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, NULL));
    assert_ok(moeg_law_empirical_create(&law, ROWS, 1, x, u));
    assert_ok(moeg_boundary_mass(router, law, 1, &w, &s, &e[0]));
    assert_ok(moeg_boundary_exponent(router, moeg_gap_margin(), law, 1, &w, &s, &e[1], &e[3], NULL));
    assert_ok(moeg_boundary_quantile(router, moeg_gap_margin(), law, 1, &share, &s, &e[2]));
    moeg_router_free(router);
    moeg_law_free(law);
    return MOEG_OK;
}

/* Rows of small gaps stand for ten times as many as the others: x ~ U(0, 1) with the weight 3 below 0.3, else 0.3. Mass
 * below 0.25, and the median. */
static moeg_status estimate_heavy_event(uint64_t seed, void *user, moeg_estimate *e)
{
    enum { ROWS = 300 };
    const double W[2] = {1, 0}, w = 0.25, half = 0.5;
    double x[ROWS], weights[ROWS];
    moeg_router *router;
    moeg_law *law;
    moeg_sampling s = options(MOEG_METHOD_AUTO, 1, 1);
    (void)user;
    s.max_threads = 1;
    assert_ok(moeg_stream_uniforms((moeg_stream){seed, 97}, 0, ROWS, 1, x));
    for (size_t i = 0; i < ROWS; i++)
        weights[i] = x[i] < 0.3 ? 3 : 0.3;
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, NULL));
    assert_ok(moeg_law_empirical_create(&law, ROWS, 1, x, weights));
    assert_ok(moeg_boundary_mass(router, law, 1, &w, &s, &e[0]));
    assert_ok(moeg_boundary_quantile(router, moeg_gap_margin(), law, 1, &half, &s, &e[1]));
    moeg_router_free(router);
    moeg_law_free(law);
    return MOEG_OK;
}

static void error_bars_are_honest(void **state)
{
    (void)state;
    const double alpha = 1.3;
    double truths[4] = {pow(0.6, alpha), alpha, pow(share, 1 / alpha), 1};
    const int flags = COVERAGE_AT_LEAST | COVERAGE_MAY_BIAS;
    assert_coverage(estimate_weighted, truths, 4, truths, 0.95, 1000, flags);
    const double all = 0.3 * 3 + 0.7 * 0.3, heavy[2] = {0.25 * 3 / all, 0.5 * all / 3};
    assert_coverage(estimate_heavy_event, NULL, 2, heavy, 0.95, 1000, flags);
}

/* Gaps s = U^(1/gamma), weights s^(1 - gamma): the law of what they stand for has alpha = 1 up to 1. Where small gaps
 * weigh the most Hill's estimate is less certain than Kish's number says, and where they weigh the least, more. */
static moeg_status estimate_tied_weights(uint64_t seed, void *user, moeg_estimate *e)
{
    enum { ROWS = 800 };
    static const double W[2] = {1, 0}, gammas[] = {1.3, 0.5, 0.8}, w = 0.8;
    double x[ROWS], gap[ROWS], weights[ROWS];
    moeg_router *router;
    moeg_law *law;
    moeg_sampling s = options(MOEG_METHOD_AUTO, 1, 1);
    (void)user;
    s.max_threads = 1;
    assert_ok(moeg_stream_uniforms((moeg_stream){seed, 96}, 0, ROWS, 1, x));
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, NULL));
    for (size_t g = 0; g < 3; g++) {
        for (size_t i = 0; i < ROWS; i++) {
            gap[i] = pow(x[i], 1 / gammas[g]);
            weights[i] = pow(gap[i], 1 - gammas[g]);
        }
        assert_ok(moeg_law_empirical_create(&law, ROWS, 1, gap, weights));
        assert_ok(moeg_boundary_exponent(router, moeg_gap_margin(), law, 1, &w, &s, &e[g], NULL, NULL));
        moeg_law_free(law);
    }
    moeg_router_free(router);
    return MOEG_OK;
}

static void weights_that_go_with_gaps(void **state)
{
    (void)state;
    const double truths[3] = {1, 1, 1};
    assert_coverage(estimate_tied_weights, NULL, 3, truths, 0.95, 1000, COVERAGE_MAY_BIAS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_bars_are_honest),
        cmocka_unit_test(weights_that_go_with_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
