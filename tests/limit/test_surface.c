/* Integrals over interfaces: slopes against 30 digits, functions against sums over points of the interfaces, the part
 * of x that no logit sees, and what cannot be had. */
#include <moegeom/surface.h>

#include "limit/cells.h"
#include "limit/reference_problem.h"
#include "support/coverage.h"
#include "support/estimates.h"
#include "support/failing_alloc.h"
#include "support/random.h"

#include <moegeom/boundary.h>
#include <stdlib.h>

static void slopes_have_the_digits_of_the_reference(void **state)
{
    (void)state;
    struct reference *r = reference_read("boundary_k3.csv");
    double bound = NAN;
    size_t seen = 0;
    for (size_t row = 0; row < r->row_count; row++) {
        const char *quantity = reference_text(r, row, "quantity");
        if (strncmp(quantity, "SLOPE", 5) != 0)
            continue;
        struct problem p;
        reference_boundary(r, row, &p);
        const double expected = reference_number(r, row);
        const moeg_sampling s = moeg_sampling_default();
        moeg_estimate got, slack;
        if (strcmp(quantity, "SLOPE_PAIRWISE") == 0) {
            assert_ok(moeg_boundary_pairwise(p.router, p.law, 0, NULL, NULL, &bound));
            assert_relative(bound, expected, 8 * EPS);
            assert_ok(moeg_surface_slope(p.router, 1, p.law, &s, &got));
            assert_ok(moeg_surface_slack(p.router, p.law, &s, &slack));
            assert_relative(slack.value, bound / got.value, 4 * EPS);
            assert_true(slack.lo <= slack.value && slack.value <= slack.hi && slack.hi - slack.lo < 1e-12);
        } else {
            assert_ok(moeg_surface_slope(p.router, strcmp(quantity, "SLOPE_BM") == 0 ? 1 : 2, p.law, &s, &got));
            assert_relative(got.value, expected, 20 * EPS);
            assert_near(got.value, expected, got.quad_error);
            assert_true(got.std_error == 0 && got.method == MOEG_METHOD_LINE && got.quad_error < 1e-12 * expected);
        }
        seen++;
        problem_free(&p);
    }
    assert_int_equal(seen, 6);
    free(r);
}

enum { K = 4 };
static const double W[K * 2] = {1.0, 0.2, -0.6, 0.9, -0.3, -1.1, 0.1, -0.05}, b[K] = {0.1, -0.2, 0.05, 0.35};

static double smooth(double x, double y)
{
    return 1 + 0.3 * x - 0.7 * y + 0.2 * x * y + y * y;
}

/* q = {smooth, x_1 of the pair, the pair itself} in the first two coordinates. */
static int functions(size_t n, const double *x, const size_t *i, const size_t *j, double *q, void *user)
{
    const size_t d = *(const size_t *)user;
    for (size_t p = 0; p < n; p++) {
        double rest = 0;
        for (size_t c = 2; c < d; c++)
            rest += (double)c * x[p * d + c] * x[p * d + c] + 0.4 * x[p * d + c];
        q[2 * p] = smooth(x[p * d], x[p * d + 1]) + rest;
        q[2 * p + 1] = (double)(10 * i[p] + j[p]) * x[p * d] * x[p * d];
    }
    return 0;
}

/* The same under N(0, I_2) by midpoints on the lines a_i = a_j. */
static void by_points(size_t k, double *sums)
{
    sums[0] = sums[1] = sums[2] = 0;
    for (size_t i = 0; i < K; i++)
        for (size_t j = i + 1; j < K; j++) {
            const double g[2] = {W[2 * i] - W[2 * j], W[2 * i + 1] - W[2 * j + 1]}, norm = hypot(g[0], g[1]);
            const double from = (b[j] - b[i]) / norm, step = 1e-3;
            for (int at = -8000; at < 8000; at++) {
                const double y = (at + 0.5) * step, u = (from * g[0] - y * g[1]) / norm,
                             v = (from * g[1] + y * g[0]) / norm;
                size_t above = 0;
                for (size_t c = 0; c < K; c++)
                    above += c != i && c != j &&
                             W[2 * c] * u + W[2 * c + 1] * v + b[c] > W[2 * i] * u + W[2 * i + 1] * v + b[i];
                if (above != k - 1)
                    continue;
                const double p = exp(-(u * u + v * v) / 2) / 6.283185307179586 * step / norm;
                sums[0] += p * smooth(u, v);
                sums[1] += p * (double)(10 * i + j) * u * u;
                sums[2] += p;
            }
        }
}

/* In the plane by quadrature; in five dimensions, of which the logits see two, by lines. */
static void functions_are_integrated(void **state)
{
    (void)state;
    for (size_t k = 1; k < K; k++)
        for (size_t d = 2; d <= 5; d += 3) {
            double rows[K * 5] = {0}, expected[3];
            moeg_router *router;
            moeg_law *law;
            moeg_estimate got[2];
            moeg_sampling s = moeg_sampling_default();
            for (size_t i = 0; i < K; i++)
                memcpy(rows + i * d, W + 2 * i, 2 * sizeof *rows);
            assert_ok(moeg_router_affine_create(&router, K, d, rows, b));
            assert_ok(moeg_law_gaussian_create(&law, d, NULL, NULL));
            by_points(k, expected);
            assert_ok(moeg_surface_integral(router, k, law, 2, functions, &d, &s, got));
            expected[0] += d == 5 ? (2 + 3 + 4) * expected[2] : 0;
            for (int j = 0; j < 2; j++) {
                assert_true((got[j].std_error == 0) == (d == 2) && got[j].std_error < 0.05 * expected[j]);
                assert_near(got[j].value, expected[j], 4.5 * got[j].std_error + 3e-3 * expected[j]);
            }
            moeg_router_free(router);
            moeg_law_free(law);
        }
}

/* Two experts, any mean and covariance: S[q] = p_s(0) E[q | s = 0]. */
static int linear(size_t n, const double *x, const size_t *i, const size_t *j, double *q, void *user)
{
    (void)user;
    for (size_t p = 0; p < n; p++)
        q[p] = i[p] == 0 && j[p] == 2 ? x[2 * p] - 0.5 * x[2 * p + 1] : NAN;
    return 0;
}

static void two_experts_have_a_closed_form(void **state)
{
    (void)state;
    const double rows[6] = {1, 0.4, 7, 7, -0.3, 0.2}, biases[3] = {0.3, -INFINITY, 0.1};
    const double mean[2] = {0.2, -0.1}, covariance[4] = {1.1, 0.3, 0.3, 0.7};
    const double g[2] = {1.3, 0.2}, m = g[0] * mean[0] + g[1] * mean[1] + 0.2;
    const double c[2] = {1.1 * g[0] + 0.3 * g[1], 0.3 * g[0] + 0.7 * g[1]}, v = g[0] * c[0] + g[1] * c[1];
    const double density = exp(-m * m / v / 2) / sqrt(6.283185307179586 * v);
    const double expected = density * (mean[0] - 0.5 * mean[1] - (c[0] - 0.5 * c[1]) * m / v);
    moeg_router *router;
    moeg_law *law;
    moeg_estimate got;
    moeg_sampling s = moeg_sampling_default();
    assert_ok(moeg_router_affine_create(&router, 3, 2, rows, biases));
    assert_ok(moeg_law_gaussian_create(&law, 2, mean, covariance));
    assert_ok(moeg_surface_slope(router, 1, law, &s, &got));
    assert_relative(got.value, 2 * density, 8 * EPS);
    assert_true(got.n == 1);
    assert_ok(moeg_surface_integral(router, 1, law, 1, linear, NULL, &s, &got));
    /* x is affine along the interface: antithetic lines leave rounding. */
    assert_near(got.value, expected, 4.5 * got.std_error + got.quad_error);
    assert_true(got.std_error < 1e-15 && got.quad_error < 1e-15);
    assert_ok(moeg_surface_slope(router, 2, law, &s, &got));
    assert_true(got.value == 0 && got.std_error == 0);
    moeg_router_free(router);
    moeg_law_free(law);
}

/* The bound of two experts gives nothing away: 1, and no less by rounding. */
static void slack_is_at_least_1(void **state)
{
    (void)state;
    uint64_t seed = 8;
    for (int i = 0; i < 100; i++) {
        double rows[4], biases[2], mean[2];
        moeg_router *router;
        moeg_law *law;
        moeg_estimate slack;
        const moeg_sampling s = moeg_sampling_default();
        for (size_t j = 0; j < 4; j++)
            rows[j] = next_normal(&seed);
        for (size_t j = 0; j < 2; j++) {
            biases[j] = next_normal(&seed) / 3;
            mean[j] = next_normal(&seed) / 3;
        }
        assert_ok(moeg_router_affine_create(&router, 2, 2, rows, biases));
        assert_ok(moeg_law_gaussian_create(&law, 2, mean, (double[]){1.1, 0.3, 0.3, 0.7}));
        assert_ok(moeg_surface_slack(router, law, &s, &slack));
        assert_near(slack.value, 1, 40 * EPS);
        assert_true(slack.value >= 1 && slack.lo <= slack.value && slack.value <= slack.hi);
        moeg_router_free(router);
        moeg_law_free(law);
    }
}

static int fails(size_t n, const double *x, const size_t *i, const size_t *j, double *q, void *user)
{
    (void)x;
    (void)i;
    (void)j;
    for (size_t p = 0; p < n; p++)
        q[p] = NAN;
    return *(int *)user;
}

static void what_cannot_be_had_says_so(void **state)
{
    (void)state;
    const double twins[K * 2] = {1, 0.2, 1, 0.2, -0.6, 0.9, -0.3, -1.1}, level[K] = {0.1, 0.1, -0.2, 0.3},
                           masks[K] = {0.1, -INFINITY, -INFINITY, -INFINITY};
    moeg_router *router, *tied, *masked;
    moeg_law *law, *box;
    moeg_estimate got = {.value = 42};
    moeg_sampling s = moeg_sampling_default();
    int code = 7, none = 0;
    assert_ok(moeg_router_affine_create(&router, K, 2, W, b));
    assert_ok(moeg_router_affine_create(&tied, K, 2, twins, level));
    assert_ok(moeg_router_affine_create(&masked, K, 2, W, masks));
    assert_ok(moeg_law_gaussian_create(&law, 2, NULL, NULL));
    assert_ok(moeg_law_box_create(&box, 2, (double[]){-1, -0.3}, (double[]){1, 0.8}));
#define INTEGRAL(router, k, law, count, q, user) moeg_surface_integral(router, k, law, count, q, user, &s, &got)
    assert_status(INTEGRAL(NULL, 1, law, 1, NULL, NULL), MOEG_EINVAL, "surface_integral: router must not be NULL");
    assert_status(INTEGRAL(router, 0, law, 1, NULL, NULL), MOEG_EINVAL, "k must be at least 1 and below K = 4, got 0");
    assert_status(INTEGRAL(router, 4, law, 1, NULL, NULL), MOEG_EINVAL, "below K = 4, got 4");
    assert_status(INTEGRAL(router, 1, law, 0, NULL, NULL), MOEG_EINVAL, "count must be at least 1, got 0");
    assert_status(INTEGRAL(router, 1, law, 2, NULL, NULL), MOEG_EINVAL, "count must be 1 if q is NULL, got 2");
    assert_status(INTEGRAL(router, 1, law, 0, fails, &code), MOEG_EINVAL, "count must be at least 1, got 0");
    assert_status(INTEGRAL(router, 1, box, 1, NULL, NULL), MOEG_EUNSUPPORTED,
                  "surface_integral: the law is not Gaussian");
    assert_status(INTEGRAL(router, 1, law, 1, fails, &code), MOEG_ECALLBACK, "surface_integral: q returned 7");
    assert_status(INTEGRAL(router, 1, law, 1, fails, &none), MOEG_ERANGE,
                  "surface_integral: a mean over lines, or its variance, is not finite");
    assert_status(INTEGRAL(tied, 1, law, 1, NULL, NULL), MOEG_EDOM,
                  "two experts tie everywhere where they have the ranks 1 and 2");
    assert_status(INTEGRAL(masked, 2, law, 1, NULL, NULL), MOEG_EDOM, "masks all but 1 experts, fewer than k = 2");
    assert_status(moeg_surface_integral(router, 1, law, 1, NULL, NULL, &s, NULL), MOEG_EINVAL,
                  "integral must not be NULL");
    assert_status(moeg_surface_slope(router, 1, law, &s, NULL), MOEG_EINVAL, "slope must not be NULL");
    assert_status(moeg_surface_slack(router, law, &s, NULL), MOEG_EINVAL, "slack must not be NULL");
    assert_status(moeg_surface_slack(masked, law, &s, &got), MOEG_EDOM,
                  "surface_slack: the boundary mass has no slope");
    assert_status(moeg_surface_slack(tied, law, &s, &got), MOEG_EDOM, "surface_slack: experts 0 and 1 tie everywhere");
    s.method = MOEG_METHOD_MC;
    assert_status(moeg_surface_slope(router, 1, law, &s, &got), MOEG_EUNSUPPORTED, "must be auto or line, got mc");
    s.method = (moeg_method)9;
    assert_status(moeg_surface_slope(router, 1, law, &s, &got), MOEG_EINVAL, "method must be one of");
    assert_near(got.value, 42, 0);
    moeg_router_free(router);
    moeg_router_free(tied);
    moeg_router_free(masked);
    moeg_law_free(law);
    moeg_law_free(box);
}

/* Rows on one line whose ties are one plane: there no two experts tie alone. Rows that are parallel, with ties apart,
 * have the sum of their planes. */
static void pairs_that_never_tie_alone_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t K, d, k;
        double W[12], b[4];
        int apart; /* 0: refused */
    } cases[] = {
        {3, 2, 1, {1, 2, 2, 4, 3, 6}, {0, 0, 0}, 0},
        {3, 2, 1, {0.1, 0.2, 0.2, 0.4, 0.3, 0.6}, {0.1, 0.2, 0.3}, 0},
        {4, 2, 1, {1, 0, 2, 0, 3, 0, 0, 1.5}, {0, 0, 0, 0}, 0},
        {4, 2, 3, {1, 0, 2, 0, 3, 0, 0, 90}, {0, 0, 0, 0}, 0},
        {4, 3, 2, {1, 0, 0, 2, 0, 0, 3, 0, 0, 0, 1.5, 0}, {0, 0, 0, 0}, 0},
        {3, 1, 1, {1, -0.4, 2}, {0, 0, 0}, 0},
        {3, 1, 1, {1, 2, 3}, {0, 0.5, 0}, 1},
        {3, 1, 1, {1, 2, 3}, {0, -0.5, 0}, 1},
    };
    const moeg_sampling s = moeg_sampling_default();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        moeg_router *router;
        moeg_law *law;
        moeg_estimate slope = {.value = 42}, slack = {.value = 42};
        assert_ok(moeg_router_affine_create(&router, cases[c].K, cases[c].d, cases[c].W, cases[c].b));
        assert_ok(moeg_law_gaussian_create(&law, cases[c].d, NULL, NULL));
        const moeg_status status = moeg_surface_slope(router, cases[c].k, law, &s, &slope);
        if (!cases[c].apart) {
            assert_status(status, MOEG_EDOM, "surface_slope: more than two experts tie wherever two that do have the");
            assert_near(slope.value, 42, 0);
            if (cases[c].k == 1)
                assert_status(moeg_surface_slack(router, law, &s, &slack), MOEG_EDOM, "surface_slack: more than two");
        } else {
            const double w = 1e-9;
            moeg_estimate mass;
            assert_ok(status);
            assert_ok(moeg_boundary_mass(router, law, 1, &w, &s, &mass));
            assert_relative(slope.value, mass.value / w, 1e-8);
        }
        moeg_router_free(router);
        moeg_law_free(law);
    }
}

struct setup {
    moeg_router *router;
    moeg_law *law;
    size_t k, d;
};

static void make(size_t k, struct setup *p)
{
    *p = (struct setup){.k = k, .d = 3};
    five_cells(0, &p->router, &p->law);
}

static moeg_status cover(uint64_t seed, void *user, moeg_estimate *estimates)
{
    struct setup *p = user;
    moeg_sampling s = moeg_sampling_default();
    s.seed = seed;
    s.n = 512;
    s.level = 0.9;
    s.max_threads = 1;
    return moeg_surface_integral(p->router, p->k, p->law, 2, functions, &p->d, &s, estimates);
}

static void error_bars_are_right(void **state)
{
    (void)state;
    for (size_t k = 1; k <= 2; k++) {
        struct setup p;
        moeg_estimate truth[2];
        moeg_sampling s = moeg_sampling_default();
        make(k, &p);
        s.n = 1 << 19;
        s.seed = 4242;
        assert_ok(moeg_surface_integral(p.router, k, p.law, 2, functions, &p.d, &s, truth));
        const double truths[] = {truth[0].value, truth[1].value};
        assert_coverage(cover, &p, 2, truths, 0.9, 1000, COVERAGE_EXACT);
        /* A narrow mass over its width is the slope. */
        const double w = 0x1p-300;
        moeg_estimate slope, mass;
        s.method = MOEG_METHOD_LINE;
        s.n = 4096;
        assert_ok(moeg_surface_slope(p.router, k, p.law, &s, &slope));
        assert_ok(moeg_boundary_gap_mass(p.router, moeg_gap_top(k), p.law, 1, &w, &s, &mass));
        assert_relative(slope.value, mass.value / w, 1e-12);
        moeg_router_free(p.router);
        moeg_law_free(p.law);
    }
}

/* q = {1 far out, 1 near the origin, 1e-165 y^2}: of too few lines, of enough, of such as leave no variance. */
static int seldom(size_t n, const double *x, const size_t *i, const size_t *j, double *q, void *user)
{
    (void)i;
    (void)j;
    (void)user;
    for (size_t p = 0; p < n; p++) {
        q[3 * p] = x[3 * p] > 9;
        q[3 * p + 1] = fabs(x[3 * p]) < 0.5;
        q[3 * p + 2] = 1e-165 * x[3 * p] * x[3 * p];
    }
    return 0;
}

static void what_lines_may_have_missed_is_no_zero(void **state)
{
    (void)state;
    struct setup p;
    moeg_estimate got[3], slope;
    moeg_sampling s = moeg_sampling_default();
    make(1, &p);
    assert_status(moeg_surface_integral(p.router, 1, p.law, 3, seldom, NULL, &s, got), MOEG_EUNABLE,
                  "surface_integral: 16384 lines are too few for an error bar");
    assert_true(got[0].value == 0 && got[0].contributing == 0 && got[0].hi == INFINITY && isinf(got[0].std_error));
    assert_true(got[1].std_error < 0.05 * got[1].value && got[1].contributing > 1000 && got[1].contributing < s.n);
    assert_true(got[2].value > 0 && got[2].lo == -INFINITY && isinf(got[2].std_error));
    assert_ok(moeg_surface_slope(p.router, 1, p.law, &s, &slope));
    /* Rays meet an interface each; lines may miss the cell that is bounded. */
    assert_true(slope.contributing > s.n / 2 && slope.contributing < s.n);
    moeg_router_free(p.router);
    moeg_law_free(p.law);
}

static moeg_status everything(void *user)
{
    struct setup *p = user;
    moeg_estimate got[2];
    moeg_sampling s = moeg_sampling_default();
    s.n = 64;
    s.max_threads = 1;
    moeg_status status = moeg_surface_integral(p->router, p->k, p->law, 2, functions, &p->d, &s, got);
    if (status >= 0)
        status = moeg_surface_slack(p->router, p->law, &s, got);
    return status == MOEG_EUNABLE ? MOEG_OK : status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct setup p;
    make(1, &p);
    assert_true(fail_every_allocation(everything, &p) > 40);
    moeg_router_free(p.router);
    moeg_law_free(p.law);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_have_the_digits_of_the_reference),
        cmocka_unit_test(functions_are_integrated),
        cmocka_unit_test(two_experts_have_a_closed_form),
        cmocka_unit_test(slack_is_at_least_1),
        cmocka_unit_test(what_cannot_be_had_says_so),
        cmocka_unit_test(pairs_that_never_tie_alone_are_refused),
        cmocka_unit_test(error_bars_are_right),
        cmocka_unit_test(what_lines_may_have_missed_is_no_zero),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
