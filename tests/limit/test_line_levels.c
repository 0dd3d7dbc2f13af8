/* The line's derivatives of the gap, against differences of the gap, and its soft risks where the hard one is far above
 * them: Gaussian laws and those with a known margin exponent, all gates, down to the smallest temperatures. */
#include "limit/lines.h"

enum { GATES = 4, FAMILIES = 6 };
static moeg_gate gates[GATES];

/* Two constant experts under a law of the families, and a teacher that splits as they do. */
static void make_family(struct problem *p, size_t which, uint64_t seed)
{
    static const struct {
        moeg_margin_family family;
        double parameter;
    } families[FAMILIES] = {{MOEG_MARGIN_POWER, 0.385}, {MOEG_MARGIN_POWER, 1},       {MOEG_MARGIN_POWER, 2.385},
                            {MOEG_MARGIN_RAYLEIGH, 0},  {MOEG_MARGIN_BOUNDED, 0.731}, {MOEG_MARGIN_POWER, 37}};
    problem_draw(p, seed, 2, 2, 2);
    memset(p->A, 0, sizeof p->A);
    p->W[1] = p->W[3];
    p->b[0] = p->b[1];
    p->W[0] += p->W[0] > p->W[2] ? 0.5 : -0.5;
    p->pieces = seed % 2 ? 2 : 1;
    p->noise = 0.2;
    memcpy(p->V, p->W, sizeof p->V);
    for (size_t j = 0; j < 2; j++)
        p->c[3][j] = 2.385 * problem_number(seed, 500 + j);
    moeg_law *law;
    assert_ok(moeg_law_margin_create(&law, 2, families[which].family, families[which].parameter));
    p->law = law;
}

/* The family's law in the place of the Gaussian one, and constants for the affine experts. */
static void build_family(struct problem *p)
{
    moeg_law *law = p->law;
    moeg_expert *experts[4];
    for (size_t k = 0; k < 4; k++)
        assert_ok(moeg_expert_constant_create(&experts[k], 2, 2, p->c[k]));
    assert_ok(moeg_router_affine_create(&p->router, 2, 2, p->W, p->b));
    assert_ok(moeg_moe_create(&p->moe, p->router, p->gate, experts));
    moeg_moe *pieces;
    moeg_teacher *mean;
    assert_ok(moeg_moe_create(&pieces, p->router, moeg_gate_softmax(), experts + 2));
    if (p->pieces == 2)
        assert_ok(moeg_teacher_moe_create(&mean, pieces, 0));
    else
        assert_ok(moeg_teacher_expert_create(&mean, experts[2]));
    assert_ok(moeg_teacher_noise_create(&p->teacher, mean, p->noise));
    moeg_teacher_free(mean);
    moeg_moe_free(pieces);
    for (size_t k = 0; k < 4; k++)
        moeg_expert_free(experts[k]);
    p->law = law;
}

/* Two-piece teachers of a Gaussian problem: none, the router's interface, another. */
static void make_gaussian(struct problem *p, uint64_t seed)
{
    problem_draw(p, seed, 2, 2, 2);
    p->W[0] += p->W[0] > p->W[2] ? 0.5 : -0.5;
    p->noise = 0.2;
    p->pieces = seed % 3 == 0 ? 1 : 2;
    for (size_t i = 0; i < 4; i++)
        p->V[i] = seed % 3 == 1 ? p->W[i] : problem_number(seed, 300 + i);
    for (size_t k = 0; k < 2; k++)
        p->e[k] = p->b[k];
    for (size_t j = 0; j < 2; j++)
        p->c[3][j] = 2.385 * problem_number(seed, 500 + j);
}

/* (4 D(h/2) - D(h))/3, D(h) central differences with steps h tau. */
static double difference(const struct problem *p, moeg_mixing mixing, double tau, double h)
{
    const double at[4] = {tau * (1 - h), tau * (1 + h), tau * (1 - h / 2), tau * (1 + h / 2)};
    const moeg_sampling s = line_options();
    moeg_estimate gap[4];
    assert_ok(moeg_risk_gap(p->moe, p->teacher, p->law, mixing, 4, at, &s, gap));
    return (4 * (gap[3].value - gap[2].value) / h - (gap[1].value - gap[0].value) / (2 * h)) / 3 / tau;
}

/* Of a gap of this order in tau, or infinite, which is 0: what is left where it underflows. */
static void check_underflow(const struct answer *a, double tau, double order)
{
    assert_true(fabs(a->gap.value) < 1e-300);
    if (order == INFINITY || (order - 1) * log(tau) < -740)
        assert_near(a->slope.value, 0, 0);
    else
        assert_true(a->slope.value != 0 && fabs(a->slope.value) < 100 * pow(tau, order - 1));
}

/* h is for gaps that change by e^(1/h) as tau does, `order` that of the gap at small tau, infinite where it is 0. */
static void check_slope_by(const struct problem *p, moeg_mixing mixing, double tau, double h, double order)
{
    const struct answer a = line(p, mixing, tau);
    const int still = p->gate.kind == MOEG_GATE_TOPK_RENORM || p->gate.kind == MOEG_GATE_SUBSET;
    if (still || order == INFINITY || order * log(tau) < -690) {
        check_underflow(&a, tau, still ? INFINITY : order);
        return;
    }
    /* h^4 of a fifth logarithmic derivative, and rounding over h. */
    const double expected = difference(p, mixing, tau, h), size = fmax(fabs(expected), fabs(a.gap.value) / tau);
    assert_true(fabs(a.gap.value) > 1e-300);
    if (!(fabs(a.slope.value - expected) <= 1e-8 * size) || !(a.slope.quad_error <= 1e-10 * size))
        fail_msg("mixing %d at tau %g: slope %.17g, difference %.17g, reported %g", (int)mixing, tau, a.slope.value,
                 expected, a.slope.quad_error);
}

static const double taus[] = {1e-290, 1e-9, 0.021, 0.6, 17, 1e6};

static void slopes_are_those_of_the_gap(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++)
        for (size_t g = 0; g < GATES; g++) {
            struct problem p;
            make_gaussian(&p, 30 + seed);
            p.gate = gates[g];
            problem_build(&p);
            for (size_t t = 0; t < sizeof taus / sizeof *taus; t++)
                for (int i = 0; i < 2; i++) {
                    /* The losses of a teacher without a jump there differ by nothing at the interface. */
                    const double order = i == 1 && g == 0 && seed % 3 != 1 ? 2 : 1;
                    check_slope_by(&p, both[i], taus[t], 2e-3, order);
                }
            problem_free(&p);
        }
}

static void slopes_of_the_families(void **state)
{
    (void)state;
    static const double exponents[FAMILIES] = {1 / 0.385, 1, 1 / 2.385, 2, INFINITY, 1.0 / 37};
    for (size_t f = 0; f < FAMILIES; f++)
        for (uint64_t seed = 0; seed < 2; seed++)
            for (size_t g = 0; g < GATES; g++) {
                struct problem p;
                make_family(&p, f, seed);
                p.gate = gates[g];
                build_family(&p);
                for (size_t t = 0; t < sizeof taus / sizeof *taus; t++)
                    for (int i = 0; i < 2; i++) {
                        /* Of one constant, what the losses differ by at one side is lost at the other. Logits that are
                         * apart everywhere leave exp(-0.731 |W_0 - W_2|/tau). */
                        const int nothing = i == 1 && g == 0 && p.pieces == 1;
                        const double order = f == 4 && taus[t] > 1e-3 ? 0 : exponents[f];
                        check_slope_by(&p, both[i], taus[t], f == 4 ? 2e-4 : 2e-3, nothing ? INFINITY : order);
                    }
                problem_free(&p);
            }
}

/* m is the winner: only q^2 is left, whose gap and slope are far below q; and a slope far in the tail. */
static void slopes_without_residual(void **state)
{
    (void)state;
    for (size_t f = 0; f < FAMILIES; f++) {
        struct problem p;
        make_family(&p, f, 1);
        memcpy(p.c[2], p.c[0], sizeof p.c[0]);
        memcpy(p.c[3], p.c[1], sizeof p.c[1]);
        build_family(&p);
        check_slope_by(&p, MOEG_MIX_OUTPUT, 0.021, f == 4 ? 1e-4 : 2e-3, 0);
        problem_free(&p);
    }
    struct problem p;
    make_gaussian(&p, 34);
    p.mean[0] = p.W[0] > p.W[2] ? 20 : -20;
    problem_build(&p);
    check_slope_by(&p, MOEG_MIX_OUTPUT, 0.3, 1e-4, 0);
    check_slope_by(&p, MOEG_MIX_LOSS, 0.3, 1e-4, 0);
    problem_free(&p);
}

/* s constant: G = -2 q d.c - p q |d|^2 at one w. */
static void slope_of_constant_logits(void **state)
{
    (void)state;
    struct problem p;
    problem_draw(&p, 3, 2, 2, 1);
    p.W[2] = p.W[0], p.W[3] = p.W[1];
    for (size_t g = 0; g < GATES; g++) {
        p.gate = gates[g];
        problem_build(&p);
        for (int i = 0; i < 2; i++)
            check_slope_by(&p, both[i], 0.4, 2e-3, 0);
        problem_free(&p);
    }
}

/* m halfway between the experts, or half the one of SWITCH: L_tau = E (p - q)^2 |d|^2/4, at huge tau
 * E s^2 |d|^2/(16 tau^2), while L_0 stays. */
static void soft_risks_far_below_the_hard_one(void **state)
{
    (void)state;
    for (int g = 0; g < 2; g++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            struct problem p;
            problem_draw(&p, 50 + seed, 2, 2, 2);
            p.gate = gates[g];
            memset(p.A, 0, sizeof p.A);
            for (size_t j = 0; j < 2; j++) {
                for (size_t k = 0; k < 2; k++)
                    p.c[k][j] = g == 1 ? p.c[0][j] : (double)(float)p.c[k][j]; /* Their mean is exact. */
                p.c[2][j] = g == 1 ? p.c[0][j] / 2 : (p.c[0][j] + p.c[1][j]) / 2;
            }
            problem_build(&p);
            const double v[2] = {p.W[0] - p.W[2], p.W[1] - p.W[3]}, *S = p.covariance;
            const double mean = v[0] * p.mean[0] + v[1] * p.mean[1] + p.b[0] - p.b[1];
            const double square = mean * mean + v[0] * v[0] * S[0] + 2 * v[0] * v[1] * S[1] + v[1] * v[1] * S[3];
            double contrast = 0;
            for (size_t j = 0; j < 2; j++)
                contrast += pow(p.c[0][j] - (g == 1 ? 0 : p.c[1][j]), 2);
            for (double tau = 1e9; tau < 1e140; tau *= 1e26) {
                const struct answer a = line(&p, MOEG_MIX_OUTPUT, tau);
                assert_relative(a.soft.value, square * contrast / (16 * tau * tau), 1e-12);
                assert_true(a.soft.quad_error <= 1e-10 * a.soft.value);
                assert_relative(a.hard.value, contrast / 4, 8 * EPS);
            }
            problem_free(&p);
        }
}

/* The same with E s^2 = c^2 E |s_1|^2 of the families. */
static void soft_risks_of_the_families(void **state)
{
    (void)state;
    const double squares[FAMILIES] = {0, 1, 0, 2, 0, 0};
    for (size_t f = 0; f < FAMILIES; f++) {
        struct problem p;
        make_family(&p, f, 2);
        p.noise = 0;
        for (size_t j = 0; j < 2; j++)
            p.c[2][j] = ((p.c[0][j] = (float)p.c[0][j]) + (p.c[1][j] = (float)p.c[1][j])) / 2;
        build_family(&p);
        const double contrast = pow(p.c[0][0] - p.c[1][0], 2) + pow(p.c[0][1] - p.c[1][1], 2);
        const double scale = fabs(p.W[0] - p.W[2]);
        const struct answer a = line(&p, MOEG_MIX_OUTPUT, 1e9), b = line(&p, MOEG_MIX_OUTPUT, 0.8 * scale);
        if (squares[f] > 0)
            assert_relative(a.soft.value, scale * scale * squares[f] * contrast / 16 * 1e-18, 1e-12);
        if (f == 4) /* Delta_0 + |z| */
            assert_relative(a.soft.value,
                            scale * scale * (0.731 * 0.731 + 2 * 0.731 * sqrt(2 / 3.14159265358979323846) + 1) *
                                contrast / 16 * 1e-18,
                            1e-12);
        /* Where both ways have their digits they agree. */
        assert_near(b.soft.value, b.hard.value + b.gap.value, 1e-14);
        problem_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_are_those_of_the_gap),       cmocka_unit_test(slopes_of_the_families),
        cmocka_unit_test(slopes_without_residual),           cmocka_unit_test(slope_of_constant_logits),
        cmocka_unit_test(soft_risks_far_below_the_hard_one), cmocka_unit_test(soft_risks_of_the_families),
    };
    gates[0] = moeg_gate_softmax();
    gates[1] = moeg_gate_topk_raw(1);
    gates[2] = moeg_gate_topk_renorm(1);
    gates[3] = moeg_gate_subset(2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
