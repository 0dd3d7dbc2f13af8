/* The leading term under a Gaussian law: the table's, finite differences of the gap, and the corners of the contract.
 */
#include "limit/lines.h"
#include "support/failing_alloc.h"

#define LN2 0.69314718055994530942

/* G(tau)/tau as tau -> 0, of problems of several dimensions and outputs. */
static void it_is_the_limit_of_the_gap(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct problem p;
        problem_make(&p, seed, 2, 1 + seed % 4, 1 + seed % 3);
        const moeg_sampling s = moeg_sampling_default();
        const double tau[] = {1e-9, 1e-30};
        moeg_estimate gap[2];
        moeg_leading c;
        assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &c));
        assert_true(c.coefficient < 0 && c.power == 1 && c.rate == 0);
        assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tau, &s, gap));
        assert_relative(gap[1].value / tau[1], c.coefficient, 40 * EPS);
        /* O(tau^2) away from it; slopes here are of order 10. */
        assert_relative(gap[0].value / tau[0], c.coefficient, 100 * tau[0]);
        assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, &c));
        assert_true(c.power == 2 && c.rate == 0);
        assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 2, tau, &s, gap));
        assert_relative(gap[1].value / tau[1] / tau[1], c.coefficient, 100 * EPS);
        assert_relative(gap[0].value / tau[0] / tau[0], c.coefficient, 100 * tau[0]);
        problem_free(&p);
    }
}

/* s = x, X ~ N(0, 1), f = +-1: -4/sqrt(2 pi) = -1.595769..., whatever m is. */
static void closed_form(void **state)
{
    (void)state;
    struct problem p = {.K = 2, .d = 1, .m = 1, .covariance = {1}, .W = {1, 0}};
    p.c[0][0] = 1;
    p.c[1][0] = -1;
    for (int i = 0; i < 3; i++) {
        p.c[2][0] = 0.2 + 1e3 * i;
        problem_build(&p);
        moeg_leading c;
        assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &c));
        assert_relative(c.coefficient, -1.5957691216057307117597842397375, 4 * EPS);
        problem_free(&p);
    }
}

/* s = x_1, X ~ N((0.3, 0), I) in two dimensions, constants: all coefficients by hand. Teachers: one constant; two that
 * change at s = 0, where J = m_1 - m_2; across, at x_2 = 0.2; and apart, at x_1 = -0.4. */
struct by_hand {
    struct problem p;
    double f1f1, f2f2, delta2, Jdelta, fm, r2; /* |f_k|^2, |delta|^2, J.delta, f_1.m_1 + f_2.m_2, their losses. */
    double losses;                             /* E[l_1 - l_2 | s = 0] */
};

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1];
}

enum { CONSTANT, JUMPS, CROSSES, APART, LAYS };

static void by_hand(struct by_hand *h, int lay, double noise)
{
    *h = (struct by_hand){.p = {.K = 2,
                                .d = 2,
                                .m = 2,
                                .mean = {0.3, 0},
                                .covariance = {1, 0, 0, 1},
                                .W = {1.5, 0.7, 0.5, 0.7},
                                .noise = noise}};
    struct problem *p = &h->p;
    const double c[4][2] = {{1.3, -0.4}, {-0.731, 0.9}, {0.2, 0.31}, {2.385, 0.7}};
    memcpy(p->c[0], c[0], sizeof c[0]);
    memcpy(p->c[1], c[1], sizeof c[1]);
    memcpy(p->c[2], c[2], sizeof c[2]);
    memcpy(p->c[3], c[3], sizeof c[3]);
    p->pieces = lay == CONSTANT ? 1 : 2;
    p->V[lay == CROSSES ? 1 : 0] = lay == JUMPS ? 4 : 1;
    p->e[0] = lay == CROSSES ? -0.2 : lay == APART ? 0.4 : 0;
    /* The mean of m and of |m|^2 on either side of s = 0. */
    const double share = lay == CROSSES ? erfc(0.2 / sqrt(2)) / 2 : 1;
    double m[2][2], squares[2];
    for (int k = 0; k < 2; k++) {
        const double first = lay == JUMPS && k == 1 ? 0 : share;
        squares[k] = first * dot(c[2], c[2]) + (1 - first) * dot(c[3], c[3]);
        for (int j = 0; j < 2; j++)
            m[k][j] = first * c[2][j] + (1 - first) * c[3][j];
    }
    const double delta[2] = {c[0][0] - c[1][0], c[0][1] - c[1][1]}, J[2] = {m[0][0] - m[1][0], m[0][1] - m[1][1]};
    h->f1f1 = dot(c[0], c[0]);
    h->f2f2 = dot(c[1], c[1]);
    h->delta2 = dot(delta, delta);
    h->Jdelta = dot(J, delta);
    h->fm = dot(c[0], m[0]) + dot(c[1], m[1]);
    h->r2 = h->f1f1 + h->f2f2 - 2 * h->fm + squares[0] + squares[1];
    h->losses = h->f1f1 - h->f2f2 - 2 * dot(delta, m[0]);
}

static void coefficients_by_hand(void **state)
{
    (void)state;
    const double density = exp(-0.045) / sqrt(2 * 3.14159265358979323846), noise = 0.385;
    const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_topk_renorm(2), moeg_gate_topk_raw(2),
                               moeg_gate_subset(1), moeg_gate_topk_raw(1),    moeg_gate_topk_renorm(1),
                               moeg_gate_subset(2)};
    for (int lay = 0; lay < LAYS; lay++)
        for (int g = 0; g < 7; g++) {
            struct by_hand h;
            by_hand(&h, lay, noise);
            h.p.gate = gates[g];
            problem_build(&h.p);
            moeg_leading output, loss;
            assert_ok(moeg_leading_term(h.p.moe, h.p.teacher, h.p.law, MOEG_MIX_OUTPUT, &output));
            assert_ok(moeg_leading_term(h.p.moe, h.p.teacher, h.p.law, MOEG_MIX_LOSS, &loss));
            assert_true(output.power == 1 && output.rate == 0 && loss.rate == 0);
            if (g < 4) {
                assert_relative(output.coefficient, density * (2 * LN2 * h.Jdelta - h.delta2), 16 * EPS);
                assert_near(loss.power, lay == JUMPS ? 1 : 2, 0);
                /* d/ds of p_s(s) is 0.3 p_s(0) there, and constants have no slope. */
                const double second = -1.64493406684822643647 * 0.3 * h.losses;
                assert_relative(loss.coefficient, density * (lay == JUMPS ? 2 * LN2 * h.Jdelta : second), 16 * EPS);
            } else if (g == 4) {
                assert_relative(output.coefficient, density * (2 * LN2 * h.fm - (LN2 + 0.5) * (h.f1f1 + h.f2f2)),
                                16 * EPS);
                assert_relative(loss.coefficient, -density * LN2 * (h.r2 + 2 * noise), 16 * EPS);
                assert_near(loss.power, 1, 0);
            } else {
                assert_near(fabs(output.coefficient) + fabs(loss.coefficient), 0, 0);
            }
            problem_free(&h.p);
        }
}

/* Affine experts, teachers of all lays, all gates: G/leading - 1 falls with tau, at an order of at least 1. */
static void the_remainder_is_of_higher_order(void **state)
{
    (void)state;
    const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_topk_raw(1)};
    for (uint64_t seed = 0; seed < 24; seed++)
        for (int i = 0; i < 2; i++) {
            struct problem p;
            problem_draw(&p, 120 + seed, 2, 3, 2);
            const int lay = (int)(seed % 6);
            p.gate = gates[seed / 6 % 2];
            p.noise = 0.2;
            p.pieces = lay == 0 ? 1 : 2;
            for (size_t j = 0; j < 6; j++)
                p.V[j] = lay < 5 ? p.W[j] : problem_number(seed, 300 + j);
            p.e[0] = p.b[0] + (lay == 4 ? 0.2 : 0);
            p.e[1] = p.b[1];
            for (size_t j = 0; j < 6; j++)
                p.A[3][j] = problem_number(seed, 400 + j);
            for (size_t j = 0; j < 2; j++)
                p.c[3][j] = problem_number(seed, 500 + j);
            if (lay == 1) { /* The model itself: J = delta. */
                memcpy(p.A[2], p.A[0], 2 * sizeof p.A[0]);
                memcpy(p.c[2], p.c[0], 2 * sizeof p.c[0]);
            }
            for (size_t j = 0; j < 6 && lay == 2; j++) { /* A kink at s = 0: m_1 - m_2 = (s, -2 s), exactly. */
                p.A[2][j] = j < 3 ? p.W[j] : -2 * p.W[j - 3];
                p.A[3][j] = j < 3 ? p.W[3 + j] : -2 * p.W[j];
                p.c[2][j / 3] = j < 3 ? p.b[0] : -2 * p.b[0];
                p.c[3][j / 3] = j < 3 ? p.b[1] : -2 * p.b[1];
            }
            problem_build(&p);
            moeg_leading c;
            assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, both[i], &c));
            const int first = i == 0 || p.gate.k == 1 || lay == 1 || lay == 3;
            assert_near(c.power, first ? 1 : 2, 0);
            double off[3];
            for (int t = 0; t < 3; t++) {
                const double tau = ldexp(1, -10 - 2 * t);
                off[t] = fabs(line(&p, both[i], tau).gap.value / (c.coefficient * pow(tau, c.power)) - 1);
            }
            /* A rest of 1e-12 is rounding. */
            for (int t = 1; t < 3; t++)
                assert_true(off[t] < 1e-12 || log2(off[t - 1] / off[t]) / 2 > 0.9);
            assert_true(off[2] < 0.01);
            problem_free(&p);
        }
}

/* Experts that meet at the interface: nothing of first order is left, by exact arithmetic. */
static void experts_that_meet(void **state)
{
    (void)state;
    struct problem p;
    problem_draw(&p, 9, 2, 3, 1);
    for (size_t j = 0; j < 3; j++) {
        p.A[0][j] = 0.5 * p.W[j];
        p.A[1][j] = 0.5 * p.W[3 + j];
    }
    p.c[0][0] = 0.5 * p.b[0];
    p.c[1][0] = 0.5 * p.b[1];
    problem_build(&p);
    moeg_leading c;
    assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &c));
    assert_near(c.coefficient, 0, 0);
    const double cold = line(&p, MOEG_MIX_OUTPUT, 1e-6).gap.value, cool = line(&p, MOEG_MIX_OUTPUT, 2e-6).gap.value;
    assert_true(cold != 0);
    assert_near(log2(cool / cold), 2, 1e-4); /* The loss gap's order: |delta|^2 is of the third. */
    problem_free(&p);
}

/* -(pi^2/6) d/ds {p_s E[l_1 - l_2]}, l_1 - l_2 = F^2 (0.3^2 - 1.2^2), in units of F^2: to the ends of the range. */
static void outputs_of_any_size(void **state)
{
    (void)state;
    static const int exponents[] = {0, 400, -100, -250, -300, -470, -485};
    const double expected = 3.14159265358979323846 * 3.14159265358979323846 / 6 * 0.3 * exp(-0.045) /
                            sqrt(2 * 3.14159265358979323846) * (1.44 - 0.09);
    for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
        const double F = ldexp(1, exponents[i]);
        struct problem p = {.K = 2, .d = 1, .m = 1, .mean = {0.3}, .covariance = {1}, .W = {1, 0}};
        p.c[0][0] = F;
        p.c[1][0] = -F / 2;
        p.c[2][0] = 0.7 * F;
        problem_build(&p);
        moeg_leading c;
        assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, &c));
        assert_true(c.power == 2);
        assert_relative(c.coefficient / F / F, expected, 20 * EPS);
        problem_free(&p);
    }
    /* Below, the products have no digits to tell the order by. */
    struct problem p = {.K = 2, .d = 1, .m = 1, .mean = {0.3}, .covariance = {1}, .W = {1, 0}};
    p.c[0][0] = 1e-160;
    p.c[1][0] = -3e-161;
    problem_build(&p);
    moeg_leading c = {.power = 42};
    for (int mixing = 0; mixing < 2; mixing++)
        assert_status(moeg_leading_term(p.moe, p.teacher, p.law, (moeg_mixing)mixing, &c), MOEG_ERANGE,
                      "leading_term: the coefficient underflows");
    assert_near(c.power, 42, 0);
    problem_free(&p);
}

static moeg_status allocating(void *user)
{
    const struct problem *p = user;
    moeg_leading c = {42, 42, 42};
    const moeg_status status = moeg_leading_term(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, &c);
    if (status != MOEG_OK)
        assert_near(c.coefficient + c.power + c.rate, 126, 0);
    return status;
}

static void errors(void **state)
{
    (void)state;
    struct problem p, wide;
    moeg_leading c = {42, 42, 42};
    problem_make(&p, 3, 2, 2, 1);
    problem_make(&wide, 3, 2, 3, 2);
#define TERM(moe, teacher, law, mixing, out) moeg_leading_term(moe, teacher, law, mixing, out)
    assert_status(TERM(NULL, p.teacher, p.law, 0, &c), MOEG_EINVAL, "leading_term: moe must not be NULL");
    assert_status(TERM(p.moe, NULL, p.law, 0, &c), MOEG_EINVAL, "teacher must not be NULL");
    assert_status(TERM(p.moe, p.teacher, NULL, 0, &c), MOEG_EINVAL, "law must not be NULL");
    assert_status(TERM(p.moe, p.teacher, p.law, 0, NULL), MOEG_EINVAL, "leading must not be NULL");
    assert_status(TERM(p.moe, p.teacher, p.law, (moeg_mixing)2, &c), MOEG_EINVAL, "mixing must be");
    assert_status(TERM(p.moe, wide.teacher, p.law, 0, &c), MOEG_EINVAL, "has 1 outputs, the teacher 2");
    assert_status(TERM(p.moe, p.teacher, wide.law, 0, &c), MOEG_EINVAL, "takes dimension 2, the law has 3");
    assert_true(fail_every_allocation(allocating, &p) >= 2);
    moeg_teacher *soft;
    assert_ok(moeg_teacher_moe_create(&soft, p.moe, 0.1));
    assert_status(TERM(p.moe, soft, p.law, 0, &c), MOEG_EUNSUPPORTED, "leading_term: the teacher is soft");
    moeg_teacher_free(soft);
    problem_free(&wide);
    problem_make(&wide, 3, 3, 2, 1);
    assert_status(TERM(wide.moe, wide.teacher, wide.law, 0, &c), MOEG_EUNSUPPORTED, "more than two experts");
    problem_free(&wide);
    moeg_law *data;
    assert_ok(moeg_law_empirical_create(&data, 1, 2, p.W, NULL));
    assert_status(TERM(p.moe, p.teacher, data, 0, &c), MOEG_EUNSUPPORTED, "the law is not Gaussian");
    moeg_law_free(data);
    problem_free(&p);
    p.W[2] = p.W[0];
    p.W[3] = p.W[1];
    problem_build(&p);
    assert_status(TERM(p.moe, p.teacher, p.law, 0, &c), MOEG_EDOM, "is constant and has no density");
    problem_free(&p);
    p.A[0][0] = 1e200;
    p.W[0] = 3.1;
    problem_build(&p);
    assert_status(TERM(p.moe, p.teacher, p.law, 0, &c), MOEG_ERANGE, "overflows");
    problem_free(&p);
    assert_near(c.coefficient + c.power + c.rate, 126, 0);
    /* A masked expert has no interface. */
    p.A[0][0] = 0.3;
    p.b[1] = -INFINITY;
    problem_build(&p);
    assert_ok(TERM(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &c));
    assert_near(c.coefficient, 0, 0);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_limit_of_the_gap), cmocka_unit_test(closed_form),
        cmocka_unit_test(coefficients_by_hand),       cmocka_unit_test(the_remainder_is_of_higher_order),
        cmocka_unit_test(experts_that_meet),          cmocka_unit_test(errors),
        cmocka_unit_test(outputs_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
