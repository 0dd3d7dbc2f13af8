/* Risks on rays: the plane by quadrature against the reference, more dimensions against sampling and the leading slope,
 * their spread and their error bars. */
#include "limit/ray_risk.h"

#include "limit/plane_problem.h"
#include "limit/rays.h"
#include "support/coverage.h"

/* The softmax rows; L_0 and L_tau too. */
static void plane_has_the_digits_of_the_reference(void **state)
{
    (void)state;
    struct reference *r = reference_read("gap_k3.csv");
    size_t seen = 0;
    for (size_t row = 0; row < r->row_count; row++) {
        const char *of = reference_text(r, row, "case");
        if (reference_value(r, row, "k") > 1)
            continue;
        const int whole = reference_parameter(r, of, "m_A") != NULL;
        struct problem p;
        plane_problem(r, row, &p);
        const double tau = (double)reference_value(r, row, "tau"), expected = (double)reference_value(r, row, "G");
        const int loss = plane_mixing(r, row) == MOEG_MIX_LOSS;
        moeg_estimate hard, soft, gap;
        moeg_sampling s = moeg_sampling_default();
        s.method = MOEG_METHOD_LINE;
        assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, loss ? MOEG_MIX_LOSS : MOEG_MIX_OUTPUT, 1, &tau, &s, &hard,
                                  &soft, &gap, NULL));
        /* The reference has 17 digits, or of loss mixing without jumps those that two sides of O(tau) leave. */
        assert_relative(gap.value, expected, loss && whole ? fmax(1e-13, 1e-16 / tau) : 1e-13);
        assert_near(gap.value, expected, gap.quad_error);
        assert_true(gap.quad_error <= 1e-13 * (whole && loss ? tau : fabs(expected)));
        assert_near(hard.value, (double)reference_value(r, row, "L0"), 1e-13);
        assert_relative(soft.value, (double)reference_value(r, row, "Ltau"), 1e-13);
        assert_true(gap.std_error == 0 && gap.n == 1 && gap.method == MOEG_METHOD_LINE);
        seen++;
        problem_free(&p);
    }
    assert_int_equal(seen, 72);
    free(r);
}

/* m = 0 and m of the hard model itself: the spread over lines is at most 0.7 of the gap at every temperature, and at
 * tau = 1e-12 at most 1.15 times that at 1e-2. */
static void spread_does_not_grow_as_tau_falls(void **state)
{
    (void)state;
    enum { NT = 5 };
    const double tau[NT] = {1e-2, 1e-4, 1e-6, 1e-9, 1e-12};
    for (uint64_t run = 0; run < 16; run++) {
        const uint64_t seed = 5 + run / 2;
        struct setup p;
        moeg_estimate gap[NT];
        moeg_sampling s = moeg_sampling_default();
        s.method = MOEG_METHOD_LINE;
        s.n = 4096;
        make(seed, 0, &p);
        assert_ok(moeg_risk_gap(p.moe, run % 2 ? p.own : p.teacher, p.law, MOEG_MIX_OUTPUT, NT, tau, &s, gap));
        for (int t = 0; t < NT; t++) {
            assert_true(gap[t].std_error * 64 <= 0.7 * fabs(gap[t].value));
            assert_true(gap[t].quad_error <= 1e-13 * fabs(gap[t].value));
        }
        assert_true(gap[4].std_error / fabs(gap[4].value) <= 1.15 * gap[0].std_error / fabs(gap[0].value));
        assert_near(gap[4].value / tau[4], gap[3].value / tau[3], 1e-6 * fabs(gap[3].value / tau[3]));
        unmake(&p);
    }
}

/* Loss mixing, m = 0: the gap is O(tau^2), its error O(tau^1.5) at every temperature, though no line meets three
 * experts within 1e-8 of a tie. */
static void loss_mixing_keeps_its_digits(void **state)
{
    (void)state;
    enum { NT = 6 };
    const double tau[NT] = {0.3, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10};
    for (uint64_t seed = 5; seed < 9; seed++) {
        struct setup p;
        moeg_estimate gap[NT];
        moeg_sampling s = moeg_sampling_default();
        s.method = MOEG_METHOD_LINE;
        s.n = 4096;
        make(seed, 0, &p);
        assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, NT, tau, &s, gap));
        for (int t = 0; t < NT; t++) {
            const double spread = gap[t].std_error * 64 / pow(tau[t], 1.5);
            assert_true(spread > 0.2 && spread < 1);
            assert_near(gap[t].value, 0, 4 * gap[t].std_error + 0.1 * tau[t] * tau[t]);
            assert_true(gap[t].quad_error <= 1e-13 * tau[t]);
        }
        unmake(&p);
    }
}

/* Both mixings, all outputs, where a sample can tell; noise in the risks and not in the gap. */
static void lines_agree_with_sampling(void **state)
{
    (void)state;
    enum { NT = 4 };
    const double tau[NT] = {2, 0.4, 0.05, 0};
    for (uint64_t seed = 50; seed < 53; seed++)
        for (int mix = 0; mix < 2; mix++) {
            struct setup p;
            moeg_estimate hard, soft[NT], gap[NT], mc_hard, mc_soft[NT], mc_gap[NT];
            double covariance[NT * NT];
            moeg_sampling s = moeg_sampling_default();
            make(seed, 1, &p);
            s.method = MOEG_METHOD_LINE;
            s.n = 2048;
            assert_ok(
                moeg_risk_curve(p.moe, p.noisy, p.law, (moeg_mixing)mix, NT, tau, &s, &hard, soft, gap, covariance));
            s.method = MOEG_METHOD_MC;
            s.n = 1 << 15;
            assert_ok(
                moeg_risk_curve(p.moe, p.noisy, p.law, (moeg_mixing)mix, NT, tau, &s, &mc_hard, mc_soft, mc_gap, NULL));
            assert_near(hard.value, mc_hard.value, 4.5 * hypot(hard.std_error, mc_hard.std_error));
            for (int t = 0; t < NT; t++) {
                assert_near(gap[t].value, mc_gap[t].value, 4.5 * hypot(gap[t].std_error, mc_gap[t].std_error));
                assert_near(soft[t].value, mc_soft[t].value, 4.5 * hypot(soft[t].std_error, mc_soft[t].std_error));
                assert_near(covariance[t * NT + t], gap[t].std_error * gap[t].std_error,
                            1e-12 * covariance[t * NT + t]);
                assert_near(soft[t].value, hard.value + gap[t].value, 1e-12);
            }
            assert_true(gap[3].value == 0 && gap[3].std_error == 0 && gap[3].quad_error == 0);
            unmake(&p);
        }
}

static moeg_status cover(uint64_t seed, void *user, moeg_estimate *estimates)
{
    const struct problem *p = user;
    const double tau = 1e-2;
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_LINE;
    s.seed = seed;
    s.n = 800;
    s.level = 0.9;
    s.max_threads = 1;
    return moeg_risk_curve(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, 1, &tau, &s, &estimates[1], NULL, estimates,
                           NULL);
}

static void error_bars_are_right(void **state)
{
    (void)state;
    struct problem p;
    tetrahedron(&p);
    moeg_estimate truth[2];
    const double tau = 1e-2;
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_LINE;
    s.n = 1 << 18;
    s.seed = 4242;
    assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &truth[1], NULL, truth, NULL));
    const double truths[] = {truth[0].value, truth[1].value};
    assert_coverage(cover, &p, 2, truths, 0.9, 1000, COVERAGE_EXACT);
    problem_free(&p);
}

static void too_few_lines_say_so(void **state)
{
    (void)state;
    struct problem p;
    tetrahedron(&p);
    moeg_sampling s = moeg_sampling_default();
    moeg_estimate gap[3];
    double covariance[9];
    const double tau[3] = {0.1, 0, 0.3};
    s.method = MOEG_METHOD_LINE;
    s.n = 15;
    assert_status(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, tau, &s, gap), MOEG_EINVAL,
                  "risk_gap: n must be at least 4 lines for each of 4 strata, got 15");
    s.n = 16;
    assert_status(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, tau, &s, gap), MOEG_EUNABLE,
                  "risk_gap: 16 lines are too few for an error bar");
    assert_true(isinf(gap[0].std_error) && isfinite(gap[0].value) && gap[0].contributing == 16);
    assert_status(moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 3, tau, &s, NULL, NULL, gap, covariance),
                  MOEG_EUNABLE, "risk_curve: 16 lines are too few for an error bar");
    assert_true(gap[1].value == 0 && gap[1].std_error == 0 && isinf(gap[2].std_error));
    for (int t = 0; t < 3; t++)
        for (int v = 0; v < 3; v++) {
            const double got = covariance[3 * t + v];
            assert_true(t == 1 || v == 1 ? got == 0 : t == v ? got == INFINITY : isnan(got));
        }
    /* Lines come in pairs. */
    s.n = 3001;
    assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, tau, &s, gap));
    assert_int_equal(gap[0].n, 3000);
    problem_free(&p);
}

static moeg_status everything(void *user)
{
    const struct problem *p = user;
    moeg_estimate hard, soft[2], gap[2];
    double covariance[4];
    const double tau[2] = {1e-3, 0.3};
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_LINE;
    s.n = 64;
    s.max_threads = 1;
    const moeg_status status =
        moeg_risk_curve(p->moe, p->teacher, p->law, MOEG_MIX_LOSS, 2, tau, &s, &hard, soft, gap, covariance);
    return status == MOEG_EUNABLE ? MOEG_OK : status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_on_tetrahedron(everything) > 60);
    struct problem p;
    const double W[] = {1, 0, -1, 1, -1, -1};
    problem_draw(&p, 8, 3, 2, 1);
    memcpy(p.W, W, sizeof W);
    problem_build(&p);
    assert_true(fail_every_allocation(everything, &p) > 40);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plane_has_the_digits_of_the_reference),
        cmocka_unit_test(spread_does_not_grow_as_tau_falls),
        cmocka_unit_test(loss_mixing_keeps_its_digits),
        cmocka_unit_test(lines_agree_with_sampling),
        cmocka_unit_test(error_bars_are_right),
        cmocka_unit_test(too_few_lines_say_so),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
