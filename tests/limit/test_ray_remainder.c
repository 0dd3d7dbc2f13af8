/* The slope of the gap at 0 and what is left of the gap: the plane against the reference, more dimensions against gaps
 * at small temperatures and against the plane in disguise, one line against closed forms. */
#include <moegeom/leading.h>

#include "limit/lines.h"
#include "limit/plane_problem.h"
#include "limit/rays.h"
#include "support/coverage.h"
#include "support/estimates.h"

/* lead_coef of every softmax row that has one, and (G - tau lead_coef)/tau^2. */
static void plane_has_the_digits_of_the_reference(void **state)
{
    (void)state;
    struct reference *r = reference_read("gap_k3.csv");
    size_t seen = 0;
    for (size_t row = 0; row < r->row_count; row++) {
        if (reference_value(r, row, "k") > 1)
            continue;
        struct problem p;
        plane_problem(r, row, &p);
        const moeg_mixing mixing = plane_mixing(r, row);
        const double tau = (double)reference_value(r, row, "tau");
        long double lead = reference_value(r, row, "lead_coef");
        const moeg_sampling s = line_options();
        moeg_estimate slope, again, rest;
        if (isnan((double)lead))
            lead = 0;
        assert_ok(moeg_leading_slope(p.moe, p.teacher, p.law, mixing, &s, &slope));
        assert_near(slope.value, (double)lead, 1e-14 * fabs((double)lead));
        assert_near(slope.value, (double)lead, slope.quad_error);
        assert_ok(moeg_leading_remainder(p.moe, p.teacher, p.law, mixing, 1, &tau, &s, &again, &rest));
        assert_same_estimates(&again, &slope, 1);
        const double expected = (double)((reference_value(r, row, "G") / tau - lead) / tau);
        /* 17 digits of G; of loss mixing without jumps those that two sides of O(tau) leave. */
        assert_near(rest.value, expected, 2e-15 * (1 + 1 / tau) * fmax(1, fabs((double)lead)));
        assert_true(rest.std_error == 0 && rest.quad_error <= 2e-13 * (1 + 1 / tau));
        seen++;
        problem_free(&p);
    }
    assert_int_equal(seen, 72);
    free(r);
}

/* The plane in disguise: a fourth expert that depends on a third coordinate and never wins. */
static void lines_see_the_plane(void **state)
{
    (void)state;
    struct reference *r = reference_read("gap_k3.csv");
    size_t seen = 0;
    for (size_t row = 0; row < r->row_count; row++) {
        const double tau = (double)reference_value(r, row, "tau");
        if (reference_value(r, row, "k") > 1 || tau > 0.3 || tau < 0.03)
            continue;
        struct problem p;
        moeg_estimate gap, slope, rest;
        moeg_sampling s = line_options();
        s.n = 1 << 12;
        plane_in_space(r, row, &p);
        const moeg_mixing mixing = plane_mixing(r, row);
        const double expected = (double)reference_value(r, row, "G"),
                     lead = (double)reference_value(r, row, "lead_coef");
        assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, mixing, 1, &tau, &s, &gap));
        assert_near(gap.value, expected, 4 * gap.std_error);
        assert_true(gap.std_error > 0);
        assert_ok(moeg_leading_remainder(p.moe, p.teacher, p.law, mixing, 1, &tau, &s, &slope, &rest));
        const double at_0 = isnan(lead) ? 0 : lead;
        assert_near(slope.value, at_0, 4 * slope.std_error);
        assert_near(rest.value, (expected / tau - at_0) / tau, 4 * rest.std_error);
        assert_true(rest.std_error * 64 <= 1.5 / sqrt(tau));
        seen++;
        problem_free(&p);
    }
    assert_int_equal(seen, 24);
    free(r);
}

/* K = 8, d = 32: the slope is the gap over tau at 1e-8, with jumps and without; slope and remainder make up the gap.
 */
static void slope_is_the_gap_over_tau(void **state)
{
    (void)state;
    const double tau[2] = {1e-8, 0.05};
    for (uint64_t seed = 5; seed < 7; seed++)
        for (int mix = 0; mix < 2; mix++)
            for (int which = 0; which < 2; which++) {
                struct setup p;
                moeg_estimate slope, rest[2], gap[2];
                moeg_sampling s = line_options();
                s.n = 4096;
                make(seed, 1, &p);
                const moeg_teacher *teacher = which ? p.own : p.noisy;
                assert_ok(moeg_risk_gap(p.moe, teacher, p.law, both[mix], 2, tau, &s, gap));
                assert_ok(moeg_leading_remainder(p.moe, teacher, p.law, both[mix], 2, tau, &s, &slope, rest));
                const double both_errors = hypot(slope.std_error, gap[0].std_error / tau[0]);
                assert_near(slope.value, gap[0].value / tau[0], 4 * both_errors);
                const double sum = tau[1] * (slope.value + tau[1] * rest[1].value);
                assert_near(gap[1].value, sum, 3 * tau[1] * hypot(slope.std_error, tau[1] * rest[1].std_error));
                assert_true(mix == 0 || which == 1 ? slope.std_error > 0
                                                   : slope.value == 0 && slope.std_error == 0 && slope.hi == 0);
                assert_int_equal(slope.n, 4096);
                unmake(&p);
            }
}

/* On one line, and what that line has no slope of. */
static void one_line(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 3, 2, 3, 2);
    const moeg_sampling s = line_options();
    const double tau[3] = {0.02, 1e-3, 1e-16};
    moeg_leading leading;
    moeg_estimate slope, rest[3], gap[3];
    assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &leading));
    assert_int_equal(moeg_leading_remainder(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 3, tau, &s, &slope, rest),
                     MOEG_EUNABLE);
    assert_near(slope.value, leading.coefficient, 0);
    assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 3, tau, &s, gap));
    for (int t = 0; t < 2; t++)
        assert_near(tau[t] * (slope.value + tau[t] * rest[t].value), gap[t].value, 1e-14 * fabs(gap[t].value));
    assert_true(fabs(rest[1].value - rest[0].value) < 0.2 * fabs(rest[0].value)); /* towards a constant */
    assert_true(isnan(rest[2].value) && isinf(rest[2].std_error) && isinf(rest[2].lo) && isinf(rest[2].hi));
    assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, &leading));
    assert_near(leading.power, 2, 0);
    assert_ok(moeg_leading_remainder(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 2, tau, &s, &slope, rest));
    assert_near(slope.value, 0, 0);
    assert_relative(rest[1].value, leading.coefficient, 1e-2);
    problem_free(&p);
}

/* Lines: blank where rounding is all there is. */
static void rounding_leaves_a_blank(void **state)
{
    (void)state;
    struct problem p;
    tetrahedron(&p);
    moeg_sampling s = line_options();
    s.n = 4096;
    const double tau[2] = {1e-3, 1e-300};
    moeg_estimate rest[2];
    assert_int_equal(moeg_leading_remainder(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tau, &s, NULL, rest), MOEG_OK);
    assert_true(isfinite(rest[0].value) && rest[1].std_error > 1e140);
    problem_free(&p);
    struct reference *r = reference_read("gap_k3.csv");
    plane_problem(r, 0, &p);
    assert_status(moeg_leading_remainder(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tau, &s, NULL, rest),
                  MOEG_EUNABLE, "leading_remainder: remainder[1] is below rounding");
    assert_true(isfinite(rest[0].value) && isnan(rest[1].value) && rest[1].lo == -INFINITY && rest[1].hi == INFINITY);
    problem_free(&p);
    free(r);
}

/* Along rays and along general lines: logits so small that slopes have no square. */
static void variances_that_overflow_are_an_error(void **state)
{
    (void)state;
    const double scales[3] = {1e-150, 1e-155, 1e-200};
    const moeg_gate gates[2] = {moeg_gate_softmax(), moeg_gate_topk_raw(2)};
    for (int i = 0; i < 6; i++) {
        struct problem p;
        moeg_estimate slope = {.value = 42}, gap = {.value = 42};
        moeg_sampling s = line_options();
        const double scale = scales[i % 3], tau = 1e-3 * scale;
        s.n = 256;
        tetrahedron(&p);
        problem_free(&p);
        for (size_t j = 0; j < 12; j++)
            p.W[j] *= scale;
        for (size_t k = 0; k < 4; k++)
            p.b[k] *= scale;
        p.gate = gates[i / 3];
        problem_build(&p);
        const moeg_status slope_status = moeg_leading_slope(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &s, &slope);
        if (i % 3 == 0) {
            assert_ok(slope_status);
            assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &gap));
            assert_near(slope.value, gap.value / tau, 4 * slope.std_error);
            assert_true(slope.std_error > 0 && slope.std_error < 0.2 * fabs(slope.value));
        } else {
            assert_status(slope_status, MOEG_ERANGE,
                          "leading_slope: a mean over lines, or its variance, is not finite");
            assert_near(slope.value, 42, 0);
        }
        problem_free(&p);
    }
}

/* As no line comes near a tie of three any more, whether all e^(-gap/tau) underflow, or only their squares. */
static void no_error_bar_is_made_of_underflow(void **state)
{
    (void)state;
    enum { N = 60 };
    struct problem p;
    double tau[N];
    moeg_estimate rest[N];
    tetrahedron(&p);
    for (int t = 0; t < N; t++)
        tau[t] = 0.02 * pow(0.8, t);
    for (uint64_t n = 256; n <= 4096; n *= 4) {
        moeg_sampling s = line_options();
        s.n = n;
        assert_true(moeg_leading_remainder(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, N, tau, &s, NULL, rest) >= 0);
        for (int t = 0; t < N; t++)
            assert_true(rest[t].std_error * sqrt((double)n * tau[t]) > 0.5);
    }
    problem_free(&p);
}

static moeg_status cover(uint64_t seed, void *user, moeg_estimate *estimates)
{
    const struct problem *p = user;
    const double tau = 0.4;
    moeg_sampling s = line_options();
    s.seed = seed;
    s.n = 512;
    s.level = 0.9;
    s.max_threads = 1;
    return moeg_leading_remainder(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, 1, &tau, &s, &estimates[0],
                                  &estimates[1]);
}

static void error_bars_are_right(void **state)
{
    (void)state;
    struct problem p;
    tetrahedron(&p);
    moeg_estimate truth[2];
    const double tau = 0.4;
    moeg_sampling s = line_options();
    s.n = 1 << 17;
    s.seed = 4242;
    assert_ok(moeg_leading_remainder(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &truth[0], &truth[1]));
    const double truths[] = {truth[0].value, truth[1].value};
    assert_coverage(cover, &p, 2, truths, 0.9, 1000, COVERAGE_EXACT);
    problem_free(&p);
}

static void errors(void **state)
{
    (void)state;
    struct problem p;
    tetrahedron(&p);
    moeg_sampling s = line_options();
    moeg_estimate slope = {.value = 42}, rest = {.value = 42};
    const double tau = 0.1, zero = 0, wrong = NAN;
    s.method = MOEG_METHOD_MC;
    assert_status(moeg_leading_slope(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, &s, &slope), MOEG_EUNSUPPORTED,
                  "leading_slope: method mc does not apply: no row lies on an interface");
    s.method = MOEG_METHOD_AUTO;
    assert_status(moeg_leading_slope(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, NULL, &slope), MOEG_EINVAL, "options");
    assert_status(moeg_leading_slope(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, &s, NULL), MOEG_EINVAL,
                  "leading_slope: slope must not be NULL");
    assert_status(moeg_leading_slope(NULL, p.teacher, p.law, MOEG_MIX_LOSS, &s, &slope), MOEG_EINVAL, "moe");
    assert_status(moeg_leading_remainder(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, &tau, &s, &slope, NULL),
                  MOEG_EINVAL, "leading_remainder: remainder must not be NULL");
    assert_status(moeg_leading_remainder(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, &zero, &s, &slope, &rest),
                  MOEG_EDOM, "leading_remainder: tau[0] must be above 0, got 0");
    assert_status(moeg_leading_remainder(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, &wrong, &s, &slope, &rest),
                  MOEG_EINVAL, "tau[0]");
    s.n = 15;
    assert_status(moeg_leading_remainder(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, &tau, &s, &slope, &rest),
                  MOEG_EINVAL, "n must be at least");
    moeg_estimate few;
    s.n = 16;
    assert_status(moeg_leading_slope(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &s, &few), MOEG_EUNABLE,
                  "leading_slope: 16 lines are too few for an error bar");
    assert_true(isinf(few.std_error));
    moeg_law *box;
    const double lo[3] = {-1, -1, -1}, hi[3] = {1, 1, 1};
    assert_ok(moeg_law_box_create(&box, 3, lo, hi));
    assert_status(moeg_leading_slope(p.moe, p.teacher, box, MOEG_MIX_LOSS, &s, &slope), MOEG_EUNSUPPORTED,
                  "leading_slope: method line does not apply: there are more than two experts (nor do many lines: "
                  "the law is not Gaussian)");
    moeg_law_free(box);
    assert_true(slope.value == 42 && rest.value == 42);
    problem_free(&p);
}

static moeg_status everything(void *user)
{
    const struct problem *p = user;
    const double tau[2] = {1e-4, 0.2};
    moeg_estimate slope, rest[2];
    moeg_sampling s = line_options();
    s.n = 64;
    s.max_threads = 1;
    const moeg_status status =
        moeg_leading_remainder(p->moe, p->teacher, p->law, MOEG_MIX_LOSS, 2, tau, &s, &slope, rest);
    return status == MOEG_EUNABLE ? MOEG_OK : status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_on_tetrahedron(everything) > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plane_has_the_digits_of_the_reference),
        cmocka_unit_test(lines_see_the_plane),
        cmocka_unit_test(slope_is_the_gap_over_tau),
        cmocka_unit_test(one_line),
        cmocka_unit_test(rounding_leaves_a_blank),
        cmocka_unit_test(variances_that_overflow_are_an_error),
        cmocka_unit_test(no_error_bar_is_made_of_underflow),
        cmocka_unit_test(error_bars_are_right),
        cmocka_unit_test(errors),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
