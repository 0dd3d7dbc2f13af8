/* The closed forms of one line at the edges: only the ratio of logits and temperature (or width) matters, at any size;
 * the ends of the temperatures and widths; logits that tie everywhere; one expert. And that sampled risks of every gate
 * keep their bits when logits and temperatures are scaled by a power of two. */
#include "limit/problem.h"
#include "support/estimates.h"

static const moeg_mixing both[] = {MOEG_MIX_OUTPUT, MOEG_MIX_LOSS};
static const double scales[] = {0x1p-960, 0x1p-60, 0x1p60, 0x1p960}; /* 1e-289 .. 1e289 */
enum { SCALES = sizeof scales / sizeof *scales, KINDS = 4 };

/* Kind 0: a Gaussian law and affine experts; 1 .. 3: the margin families, logits that differ by a multiple of x_1, and
 * constants. K = 2; the logits are scaled. */
static void make(struct problem *p, size_t kind, double scale)
{
    static const double parameter[] = {2.385, 0, 0.3};
    const size_t d = 3;
    problem_draw(p, 400 + kind, 2, d, 2);
    if (kind > 0) {
        memset(p->A, 0, sizeof p->A);
        p->b[1] = p->b[0];
        for (size_t j = 1; j < d; j++)
            p->W[d + j] = p->W[j];
    }
    for (size_t i = 0; i < 2 * d; i++)
        p->W[i] *= scale;
    for (size_t k = 0; k < 2; k++)
        p->b[k] *= scale;
    problem_build(p);
    if (kind == 0)
        return;
    moeg_expert *constants[3];
    moeg_law_free(p->law);
    moeg_moe_free(p->moe);
    moeg_teacher_free(p->teacher);
    assert_ok(moeg_law_margin_create(&p->law, d, (moeg_margin_family)(kind - 1), parameter[kind - 1]));
    for (size_t k = 0; k < 3; k++)
        assert_ok(moeg_expert_constant_create(&constants[k], d, 2, p->c[k]));
    assert_ok(moeg_moe_create(&p->moe, p->router, moeg_gate_softmax(), constants));
    assert_ok(moeg_teacher_expert_create(&p->teacher, constants[2]));
    for (size_t k = 0; k < 3; k++)
        moeg_expert_free(constants[k]);
}

static moeg_sampling line_options(void)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_LINE;
    return s;
}

struct results {
    moeg_estimate hard, soft[5], gap[5], mass[5];
    moeg_leading leading;
    moeg_margin_condition condition;
    moeg_status leading_status, condition_status;
};

static struct results solve(const struct problem *p, moeg_mixing mixing, double scale)
{
    const double unit[] = {1e-9, 0.021, 0.37, 2.385, 1e9};
    double grid[5];
    const moeg_sampling s = line_options();
    struct results r;
    for (size_t t = 0; t < 5; t++)
        grid[t] = unit[t] * scale;
    assert_ok(moeg_risk_curve(p->moe, p->teacher, p->law, mixing, 5, grid, &s, &r.hard, r.soft, r.gap, NULL));
    assert_ok(moeg_boundary_mass(p->router, p->law, 5, grid, &s, r.mass));
    r.leading_status = moeg_leading_term(p->moe, p->teacher, p->law, mixing, &r.leading);
    r.condition_status = moeg_bound_margin_condition(p->router, p->law, &r.condition);
    return r;
}

/* A coefficient of tau^power goes with scale^-power; where that leaves the range of double, so is it told, but that the
 * C of a condition may stay the least double there is. */
static void check_coefficient(moeg_status status, double actual, double unit, double power, double scale, int is_bound)
{
    const long double expected = unit * powl(scale, -(long double)power);
    const int underflows = expected != 0 && fabsl(expected) < DBL_TRUE_MIN;
    assert_int_equal(status, fabsl(expected) > DBL_MAX || (underflows && !is_bound) ? MOEG_ERANGE : MOEG_OK);
    if (status == MOEG_OK) /* the scale's exponent, 665 */
        assert_near(actual, (double)expected, 2000 * EPS * fabs((double)expected) + (is_bound ? DBL_TRUE_MIN : 0));
}

static void only_ratios_matter(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < 2 * SCALES; i++) {
            const double scale = scales[i / 2];
            struct problem p;
            make(&p, kind, 1);
            const struct results unit = solve(&p, both[i % 2], 1);
            problem_free(&p);
            make(&p, kind, scale);
            const struct results r = solve(&p, both[i % 2], scale);
            problem_free(&p);
            assert_near(r.hard.value, unit.hard.value, 4 * EPS * unit.hard.value);
            for (size_t t = 0; t < 5; t++) {
                const double error = r.gap[t].quad_error + unit.gap[t].quad_error;
                assert_near(r.gap[t].value, unit.gap[t].value, error);
                assert_near(r.soft[t].value, unit.soft[t].value, error + 8 * EPS * unit.hard.value);
                assert_relative(r.mass[t].value, unit.mass[t].value, 8 * EPS);
            }
            assert_int_equal(unit.leading_status, MOEG_OK);
            assert_int_equal(unit.condition_status, MOEG_OK);
            check_coefficient(r.leading_status, r.leading.coefficient, unit.leading.coefficient, unit.leading.power,
                              scale, 0);
            if (kind == 3) /* Nothing below a positive margin. */
                assert_relative(r.condition.t0, unit.condition.t0 * scale, 4 * EPS);
            else
                check_coefficient(r.condition_status, r.condition.C, unit.condition.C, unit.condition.alpha, scale, 1);
        }
}

/* E |sum_k g_k f_k(X) - m(X)|^2 or E sum_k g_k |f_k - m|^2 of constant gates, X ~ N(mean, covariance), affine experts.
 */
static long double constant_gates(const struct problem *p, moeg_mixing mixing, const double *gates)
{
    long double total = 0;
    for (size_t part = 0; part < (mixing == MOEG_MIX_LOSS ? 2u : 1u); part++)
        for (size_t j = 0; j < p->m; j++) {
            long double a[MOST_D], at = 0, square = 0;
            const long double g0 = mixing == MOEG_MIX_LOSS ? part == 0 : gates[0], g1 = 1 - g0;
            for (size_t i = 0; i < p->d; i++)
                a[i] = g0 * p->A[0][j * p->d + i] + g1 * p->A[1][j * p->d + i] - p->A[2][j * p->d + i];
            at = g0 * p->c[0][j] + g1 * p->c[1][j] - p->c[2][j];
            for (size_t i = 0; i < p->d; i++)
                at += a[i] * p->mean[i];
            for (size_t i = 0; i < p->d; i++)
                for (size_t k = 0; k < p->d; k++)
                    square += a[i] * p->covariance[i * p->d + k] * a[k];
            total += (mixing == MOEG_MIX_LOSS ? gates[part] : 1) * (square + at * at);
        }
    return total;
}

/* At 1e300 every gate is 1/2; at 1e-300 what is left is the leading term. */
static void ends_of_the_temperatures(void **state)
{
    (void)state;
    const double tau[] = {1e300, 1e-300, 0}, half[] = {0.5, 0.5};
    const moeg_sampling s = line_options();
    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < 2; i++) {
            struct problem p;
            moeg_estimate hard, soft[3], gap[3];
            moeg_leading leading;
            make(&p, kind, 1);
            assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, both[i], 3, tau, &s, &hard, soft, gap, NULL));
            /* Constants see no X, whatever its law: their slopes are 0. */
            const double expected = (double)constant_gates(&p, both[i], half);
            assert_near(soft[0].value, expected, soft[0].quad_error + 16 * EPS * expected);
            assert_near(gap[0].value, expected - hard.value, gap[0].quad_error + 16 * EPS * expected);
            assert_true(gap[0].quad_error <= 1e-10 * expected);
            assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, both[i], &leading));
            const double first = leading.coefficient * pow(1e-300, leading.power) * (leading.rate > 0 ? 0 : 1);
            /* 1e-300 to the power is off by its exponent, 690. */
            assert_near(gap[1].value, first, gap[1].quad_error + 2000 * EPS * fabs(first) + DBL_MIN);
            assert_near(soft[1].value, hard.value, soft[1].quad_error + fabs(first));
            assert_true(gap[2].value == 0 && gap[2].lo == 0 && gap[2].hi == 0);
            assert_near(soft[2].value, hard.value, 0);
            problem_free(&p);
        }
}

static void ends_of_the_widths(void **state)
{
    (void)state;
    const double w[] = {0, 1e-300, 1e300, DBL_MAX};
    const moeg_sampling s = moeg_sampling_default();
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct problem p;
        moeg_estimate mass[4];
        moeg_margin_condition condition;
        make(&p, kind, 1);
        assert_ok(moeg_boundary_mass(p.router, p.law, 4, w, &s, mass));
        assert_ok(moeg_bound_margin_condition(p.router, p.law, &condition));
        assert_near(mass[0].value, 0, 0);
        assert_near(mass[2].value, 1, 0);
        assert_near(mass[3].value, 1, 0);
        if (kind == 0) {
            double slope;
            assert_ok(moeg_boundary_slope(p.router, p.law, &slope));
            assert_relative(mass[1].value, slope * 1e-300, 8 * EPS);
        } else {
            /* The condition of a family is its leading term. */
            assert_near(mass[1].value, condition.C * pow(1e-300, condition.alpha), 2000 * EPS * mass[1].value);
        }
        problem_free(&p);
    }
}

/* Identical rows and biases: Delta = 0 everywhere, gates 1/2 at every tau > 0, and expert 0 the hard choice. */
static void logits_that_tie_everywhere(void **state)
{
    (void)state;
    const double tau[] = {1e-300, 0.37, 1e300, 0}, w[] = {0, 1e-300, 1e300}, half[] = {0.5, 0.5}, first[] = {1, 0};
    const double sizes[] = {0, 1e-300, 1, 1e300};
    const moeg_sampling s = line_options();
    for (size_t e = 0; e < 4; e++)
        for (size_t i = 0; i < 2; i++) {
            struct problem p;
            moeg_estimate hard, soft[4], gap[4], mass[3];
            double slope = 42;
            moeg_leading leading = {.coefficient = 42};
            moeg_margin_condition condition = {.C = 42};
            problem_draw(&p, 500, 2, 3, 2);
            for (size_t j = 0; j < 3; j++)
                p.W[j] = p.W[3 + j] *= sizes[e];
            p.b[1] = p.b[0];
            problem_build(&p);
            assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, both[i], 4, tau, &s, &hard, soft, gap, NULL));
            const double mixed = (double)constant_gates(&p, both[i], half);
            const double alone = (double)constant_gates(&p, both[i], first);
            assert_near(hard.value, alone, 32 * EPS * alone);
            for (size_t t = 0; t < 3; t++) {
                assert_near(soft[t].value, mixed, 64 * EPS * (mixed + alone));
                assert_near(gap[t].value, mixed - alone, 64 * EPS * (mixed + alone));
            }
            assert_near(gap[3].value, 0, 0);
            assert_ok(moeg_boundary_mass(p.router, p.law, 3, w, &s, mass));
            for (size_t j = 0; j < 3; j++)
                assert_true(mass[j].value == 1 && mass[j].lo == 1 && mass[j].hi == 1);
            assert_status(moeg_boundary_slope(p.router, p.law, &slope), MOEG_EDOM, "has no density");
            assert_status(moeg_leading_term(p.moe, p.teacher, p.law, both[i], &leading), MOEG_EDOM, "has no density");
            assert_status(moeg_bound_margin_condition(p.router, p.law, &condition), MOEG_EDOM, "tie everywhere");
            assert_true(slope == 42 && leading.coefficient == 42 && condition.C == 42);
            problem_free(&p);
        }
}

/* Every bound on a gap that cannot be is 0. */
static void check_bounds_of_one(const struct problem *p)
{
    const double tau[] = {0.37, 0, 1e300};
    const moeg_output_limits limits = {.B = 2.385, .M = 1.1, .noise = 0.4};
    const moeg_margin_condition condition = {.C = 0.7, .alpha = 1, .t0 = INFINITY};
    const moeg_gate gate = moeg_gate_softmax();
    const moeg_sampling s = moeg_sampling_default();
    moeg_estimate moment[3], holder, derivative;
    double bounded[3], bernstein[3];
    assert_ok(moeg_bound_bounded(&condition, gate, MOEG_MIX_LOSS, 1, &limits, 3, tau, bounded));
    assert_ok(moeg_bound_bernstein(p->router, gate, MOEG_MIX_LOSS, p->law, &limits, 3, tau, &s, bernstein));
    assert_ok(moeg_bound_moment(p->moe, p->teacher, p->law, MOEG_MIX_LOSS, 3, tau, &s, moment));
    assert_ok(moeg_bound_holder_moment(p->moe, p->teacher, p->law, MOEG_MIX_LOSS, 2, &s, &holder));
    assert_ok(moeg_risk_derivative(p->moe, p->teacher, p->law, MOEG_MIX_LOSS, 1, tau, &s, &derivative));
    for (size_t t = 0; t < 3; t++)
        assert_true(bounded[t] == 0 && bernstein[t] == 0 && moment[t].value == 0 && moment[t].hi == 0);
    assert_true(holder.value == 0 && holder.hi == 0);
    assert_true(derivative.value == 0 && derivative.lo == 0 && derivative.hi == 0);
}

/* One expert: no line is needed, or wanted. */
static void one_expert(void **state)
{
    (void)state;
    struct problem p;
    const double tau[] = {0.37, 0, 1e300};
    moeg_estimate hard, soft[3], gap[3];
    moeg_sampling s = moeg_sampling_default();
    problem_make(&p, 3, 1, 2, 1);
    for (size_t i = 0; i < 2; i++) {
        assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, both[i], 3, tau, &s, &hard, soft, gap, NULL));
        for (size_t t = 0; t < 3; t++) {
            assert_true(gap[t].value == 0 && gap[t].lo == 0 && gap[t].hi == 0 && gap[t].std_error == 0);
            assert_memory_equal(&soft[t].value, &hard.value, sizeof hard.value);
            assert_memory_equal(&soft[t].std_error, &hard.std_error, sizeof hard.std_error);
        }
    }
    check_bounds_of_one(&p);
    s.method = MOEG_METHOD_LINE;
    assert_status(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 3, tau, &s, gap), MOEG_EUNSUPPORTED,
                  "risk_gap: method line does not apply: there is but one expert");
    problem_free(&p);
}

/* Sampled: a power of two in logits and temperatures changes no bit. */
static void scaling_keeps_the_bits_of_samples(void **state)
{
    (void)state;
    const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_topk_renorm(2), moeg_gate_topk_raw(2),
                               moeg_gate_subset(2)};
    for (size_t g = 0; g < 4; g++)
        for (size_t i = 0; i < 2; i++) {
            moeg_estimate gap[SCALES + 1][3];
            for (size_t e = 0; e <= SCALES; e++) {
                const double scale = e < SCALES ? scales[e] : 1, tau[] = {0.1 * scale, 0.37 * scale, 2.385 * scale};
                struct problem p;
                moeg_moe *moe;
                moeg_expert *experts[4];
                moeg_sampling s = moeg_sampling_default();
                s.n = 2000;
                s.method = MOEG_METHOD_MC;
                problem_draw(&p, 600, 4, 3, 2);
                for (size_t j = 0; j < 12; j++)
                    p.W[j] *= scale;
                for (size_t k = 0; k < 4; k++)
                    p.b[k] *= scale;
                problem_build(&p);
                for (size_t k = 0; k < 4; k++)
                    experts[k] = problem_expert(&p, k);
                assert_ok(moeg_moe_create(&moe, p.router, gates[g], experts));
                assert_ok(moeg_risk_gap(moe, p.teacher, p.law, both[i], 3, tau, &s, gap[e]));
                for (size_t k = 0; k < 4; k++)
                    moeg_expert_free(experts[k]);
                moeg_moe_free(moe);
                problem_free(&p);
            }
            for (size_t e = 0; e < SCALES; e++)
                assert_same_estimates(gap[e], gap[SCALES], 3);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_ratios_matter), cmocka_unit_test(ends_of_the_temperatures),
        cmocka_unit_test(ends_of_the_widths), cmocka_unit_test(logits_that_tie_everywhere),
        cmocka_unit_test(one_expert),         cmocka_unit_test(scaling_keeps_the_bits_of_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
