/* Laws with a known margin exponent: risks and leading terms against the reference table,
 * sampling, closed forms and an obvious quadrature in long double. */
#include "limit/margin_laws.h"
#include "limit/reference.h"

#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sf_zeta.h>

static moeg_margin_family family_named(const char *name)
{
    return strcmp(name, "power") == 0      ? MOEG_MARGIN_POWER
           : strcmp(name, "rayleigh") == 0 ? MOEG_MARGIN_RAYLEIGH
                                           : MOEG_MARGIN_BOUNDED;
}

/* Every row of the table; tau c in place of tau, which changes neither risk nor gap (c a power of two). */
static void the_table(void **state)
{
    (void)state;
    struct reference *r = reference_read("gap_alpha.csv");
    for (size_t i = 0; i < r->row_count; i++) {
        const moeg_margin_family family = family_named(reference_text(r, i, "family"));
        const double f_plus = (double)reference_value(r, i, "f1"), f_minus = (double)reference_value(r, i, "f2");
        const double m_plus = (double)reference_value(r, i, "m_plus"),
                     m_minus = (double)reference_value(r, i, "m_minus");
        const double p = (double)reference_value(r, i, "p"), floor = (double)reference_value(r, i, "Delta0");
        const moeg_mixing mixing =
            strcmp(reference_text(r, i, "mixing"), "loss") == 0 ? MOEG_MIX_LOSS : MOEG_MIX_OUTPUT;
        static const double scales[] = {1, -1, 0.25, -16};
        for (size_t k = 0; k < 4; k++) {
            const double parameter = family == MOEG_MARGIN_POWER ? p : floor, c = scales[k];
            const double tau = (double)reference_value(r, i, "tau") * fabs(c);
            struct family p_ = make(family, parameter, c, 1, &f_plus, &f_minus, &m_plus, &m_minus);
            const moeg_sampling s = by(MOEG_METHOD_AUTO);
            moeg_estimate hard, soft, gap;
            assert_ok(moeg_risk_curve(p_.moe, p_.teacher, p_.law, mixing, 1, &tau, &s, &hard, &soft, &gap, NULL));
            assert_int_equal(gap.method, MOEG_METHOD_LINE);
            const double G = (double)reference_value(r, i, "G");
            /* 64 epsilon for the quadrature, and epsilon Delta_0/tau for the tau of a double in e^(-Delta_0/tau). */
            const double rounding = (64 + 2 * floor * fabs(c) / tau) * EPS;
            assert_relative(gap.value, G, rounding);
            assert_true(gap.quad_error <= 1e-10 * fabs(G));
            assert_near(gap.value, G, gap.quad_error + 2 * floor * fabs(c) / tau * EPS * fabs(G));
            assert_near(hard.value, (double)reference_value(r, i, "L0"), 4 * EPS);
            assert_near(soft.value, (double)reference_value(r, i, "Ltau"), 64 * EPS);
            moeg_leading leading;
            assert_ok(moeg_leading_term(p_.moe, p_.teacher, p_.law, mixing, &leading));
            const double coefficient = (double)reference_value(r, i, "lead_coef");
            if (coefficient != 0) {
                const double alpha = family == MOEG_MARGIN_BOUNDED ? 1 : (double)reference_value(r, i, "alpha");
                assert_relative(leading.coefficient * pow(fabs(c), alpha), coefficient, 32 * EPS);
                assert_relative(leading.power, alpha, EPS);
                assert_near(leading.rate, floor * fabs(c), 0);
            }
            release(&p_);
        }
    }
    free(r);
}

/* The known coefficients of f = 1, -1 and m = 0.2. */
static void known_coefficients(void **state)
{
    (void)state;
    static const struct {
        moeg_margin_family family;
        double parameter, coefficient;
    } known[] = {
        {MOEG_MARGIN_POWER, 1, -1.595769}, {MOEG_MARGIN_POWER, 2, -1.075099},   {MOEG_MARGIN_POWER, 3, -0.961932},
        {MOEG_MARGIN_POWER, 5, -0.887306}, {MOEG_MARGIN_POWER, 0.5, -4.424411}, {MOEG_MARGIN_RAYLEIGH, 0, -2.772589},
    };
    const double one = 1, minus = -1, mean = 0.2;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct family p = make(known[i].family, known[i].parameter, 1, 1, &one, &minus, &mean, &mean);
        moeg_leading leading;
        assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &leading));
        assert_near(leading.coefficient, known[i].coefficient, 5.1e-7);
        assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, &leading));
        assert_near(leading.coefficient, 0, 0);
        release(&p);
    }
}

#define ROOT_TWO_OVER_PI 0.79788456080286535588
/* |s|/c at r = e^t. */
static long double margin_at(const struct member *m, long double t)
{
    return m->family == MOEG_MARGIN_POWER ? expl(m->parameter * t) : m->parameter + expl(t);
}

/* Of r = e^t, with dr = e^t dt. */
static long double density_at(const struct member *m, long double t)
{
    const long double r = expl(t);
    return m->family == MOEG_MARGIN_RAYLEIGH ? r * r * expl(-r * r / 2)
                                             : 0.79788456080286535587989211986876L * r * expl(-r * r / 2);
}

/* E q and E q^2 by the trapezoidal rule in t = log r, whose integrand dies as e^t below and doubly exponentially above.
 * Its nearest poles and growth are pi/2 p and pi/4 away from the line: a step of 0.05/max(p, 1) leaves nothing. */
static void moments(const struct member *m, double c, double tau, long double *q1, long double *q2)
{
    const double p = m->family == MOEG_MARGIN_POWER ? m->parameter : 1;
    const long double step = 0.05L / fmax(p, 1), start = fmin(0, log(tau / c) / p) - 45;
    *q1 = *q2 = 0;
    for (long double t = start; t < 3; t += step) {
        const long double q = 1 / (1 + expl(c * margin_at(m, t) / tau)), weight = density_at(m, t) * step;
        *q1 += weight * q;
        *q2 += weight * q * q;
    }
}

/* Two outputs, J neither 0 nor delta, any exponent and scale; both mixings. */
static void other_exponents(void **state)
{
    (void)state;
    const double f_plus[] = {1.3, -0.4}, f_minus[] = {-0.731, 0.9}, m_plus[] = {0.2, 0.31}, m_minus[] = {2.385, 0.7};
    const double delta[] = {1.3 + 0.731, -1.3}, J[] = {0.2 - 2.385, 0.31 - 0.7};
    const long double jump = delta[0] * J[0] + (long double)delta[1] * J[1],
                      contrast = delta[0] * delta[0] + (long double)delta[1] * delta[1];
    static const double taus[] = {1e-5, 0.03, 0.7, 40, 1e6};
    const moeg_sampling s = by(MOEG_METHOD_LINE);
    for (size_t i = 0; i < MEMBERS; i++)
        for (size_t t = 0; t < 5; t++) {
            if (members[i].parameter > 14 && t != 1) /* The obvious sum would be a long one. */
                continue;
            struct family p = make(members[i].family, members[i].parameter, -1.9, 2, f_plus, f_minus, m_plus, m_minus);
            long double q1, q2;
            moments(&members[i], 1.9, taus[t], &q1, &q2);
            for (int mixing = 0; mixing < 2; mixing++) {
                moeg_estimate gap;
                assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, (moeg_mixing)mixing, 1, &taus[t], &s, &gap));
                const double expected =
                    (double)(mixing == MOEG_MIX_LOSS ? jump * q1 : (jump - contrast) * q1 + contrast * q2);
                if (fabs(expected) < 1e-300) {
                    assert_near(gap.value, expected, 1e-300);
                    continue;
                }
                /* 2000 epsilon: exponents of several hundred in units of v = |s|/tau. */
                assert_relative(gap.value, expected, 2000 * EPS);
                assert_true(gap.quad_error <= 1e-10 * fabs(expected));
                assert_near(gap.value, expected, gap.quad_error + 1e-15 * fabs(expected));
            }
            release(&p);
        }
}

/* C Gamma(alpha + 1) c^-alpha {J.delta eta(alpha) - |delta|^2 eta(alpha - 1)} by GSL's functions. */
static void closed_coefficients(void **state)
{
    (void)state;
    const double plus = 1.3, minus = -0.731, m_plus = 0.9, m_minus = 0.31, c = 0.37;
    const double delta = plus - minus, J = m_plus - m_minus;
    for (size_t i = 0; i < MEMBERS; i++) {
        if (members[i].family == MOEG_MARGIN_BOUNDED)
            continue;
        struct family p = make(members[i].family, members[i].parameter, c, 1, &plus, &minus, &m_plus, &m_minus);
        const int power = members[i].family == MOEG_MARGIN_POWER;
        const double alpha = power ? 1 / members[i].parameter : 2, C = power ? ROOT_TWO_OVER_PI : 0.5;
        const double factor = C * exp(gsl_sf_lngamma(alpha + 1) - alpha * log(c)) * delta;
        for (int mixing = 0; mixing < 2; mixing++) {
            moeg_leading leading;
            assert_ok(moeg_leading_term(p.moe, p.teacher, p.law, (moeg_mixing)mixing, &leading));
            const double other = mixing == MOEG_MIX_LOSS ? 0 : delta * gsl_sf_eta(alpha - 1);
            /* Logarithms of up to 500, and GSL's eta to a few hundred epsilon. */
            assert_relative(leading.coefficient, factor * (J * gsl_sf_eta(alpha) - other), 2000 * EPS);
        }
        release(&p);
    }
}

/* Every gate: of those that sum to 1 what SOFTMAX has; of TOPK_RAW with k = 1, with B = (|f_+|^2 + |f_-|^2)/2 and
 * A = f_+.m_+ + f_-.m_- - B, C Gamma(alpha + 1) {A eta(alpha) - B eta(alpha - 1)}, of loss mixing
 * -C Gamma(alpha + 1) eta(alpha) (L_0 + sigma^2); gaps and slopes by the obvious moments. */
static void every_gate(void **state)
{
    (void)state;
    const double plus = 1.3, minus = -0.731, m_plus = 0.9, m_minus = 0.31, c = 0.37, noise = 0.385, tau = 0.03;
    const double B = (plus * plus + minus * minus) / 2, A = plus * m_plus + minus * m_minus - B;
    const double residual = ((plus - m_plus) * (plus - m_plus) + (minus - m_minus) * (minus - m_minus)) / 2 + noise;
    const moeg_sampling s = by(MOEG_METHOD_LINE);
    const moeg_gate gates[] = {moeg_gate_topk_renorm(2), moeg_gate_topk_raw(2),    moeg_gate_subset(1),
                               moeg_gate_topk_raw(1),    moeg_gate_topk_renorm(1), moeg_gate_subset(2)};
    for (size_t i = 0; i < MEMBERS; i++)
        for (size_t g = 0; g < 6; g++)
            for (int mixing = 0; mixing < 2; mixing++) {
                struct family p = make(members[i].family, members[i].parameter, c, 1, &plus, &minus, &m_plus, &m_minus);
                moeg_teacher *noisy;
                moeg_expert *experts[2];
                moeg_moe *moe;
                moeg_leading leading, softmax;
                moeg_estimate hard, gap, same;
                assert_ok(moeg_teacher_noise_create(&noisy, p.teacher, noise));
                assert_ok(moeg_expert_constant_create(&experts[0], D, 1, &plus));
                assert_ok(moeg_expert_constant_create(&experts[1], D, 1, &minus));
                assert_ok(moeg_moe_create(&moe, p.router, gates[g], experts));
                assert_ok(
                    moeg_risk_curve(moe, noisy, p.law, (moeg_mixing)mixing, 1, &tau, &s, &hard, NULL, &gap, NULL));
                assert_ok(moeg_leading_term(moe, noisy, p.law, (moeg_mixing)mixing, &leading));
                assert_ok(moeg_risk_gap(p.moe, noisy, p.law, (moeg_mixing)mixing, 1, &tau, &s, &same));
                assert_ok(moeg_leading_term(p.moe, noisy, p.law, (moeg_mixing)mixing, &softmax));
                if (g < 3) {
                    assert_near(gap.value, same.value, 0);
                    assert_near(leading.coefficient, softmax.coefficient, 0);
                } else if (g == 3 && members[i].parameter < 14) {
                    const double alpha =
                        members[i].family == MOEG_MARGIN_RAYLEIGH ? 2 : 1 / fmax(members[i].parameter, 1e-3);
                    const double C = members[i].family == MOEG_MARGIN_RAYLEIGH ? 0.5 : ROOT_TWO_OVER_PI;
                    long double q1, q2;
                    moments(&members[i], c, tau, &q1, &q2);
                    const double expected = (double)(mixing == MOEG_MIX_LOSS ? -residual * q1 : (A - B) * q1 + B * q2);
                    if (fabs(expected) > 1e-300)
                        assert_relative(gap.value, expected, 2000 * EPS);
                    if (members[i].family != MOEG_MARGIN_BOUNDED) {
                        const double factor = C * exp(gsl_sf_lngamma(alpha + 1) - alpha * log(c));
                        assert_relative(leading.coefficient,
                                        factor * (mixing == MOEG_MIX_LOSS
                                                      ? -residual * gsl_sf_eta(alpha)
                                                      : A * gsl_sf_eta(alpha) - B * gsl_sf_eta(alpha - 1)),
                                        4000 * EPS);
                    }
                } else if (g >= 4) {
                    assert_near(fabs(gap.value) + gap.quad_error + fabs(leading.coefficient), 0, 0);
                }
                const double mean = (plus + minus) / 2, spread = (plus - minus) * (plus - minus) / 4;
                const double averaged =
                    ((mean - m_plus) * (mean - m_plus) + (mean - m_minus) * (mean - m_minus)) / 2 + noise;
                assert_relative(hard.value, g < 5 ? residual : averaged + mixing * spread, 8 * EPS);
                moeg_teacher_free(noisy);
                moeg_moe_free(moe);
                moeg_expert_free(experts[0]);
                moeg_expert_free(experts[1]);
                release(&p);
            }
}

/* G/leading -> 1, down to where the gap leaves the doubles; with J = delta in output mixing too. */
static void the_leading_term_leads(void **state)
{
    (void)state;
    const double one = 1, minus = -1, mean = 0.2, other = -0.9;
    const moeg_sampling s = by(MOEG_METHOD_AUTO);
    for (size_t i = 0; i < MEMBERS; i++)
        for (int kind = 0; kind < 3 && members[i].parameter < 14; kind++) /* The next term falls as tau^(2/p). */
            for (int mixing = 0; mixing < 2; mixing++) {
                const double *m_plus = kind == 2 ? &one : &mean;
                const double *m_minus = kind == 0 ? &mean : kind == 1 ? &other : &minus;
                const double p = members[i].parameter;
                struct family f = make(members[i].family, p, 0.37, 1, &one, &minus, m_plus, m_minus);
                moeg_leading lead;
                moeg_estimate gap;
                assert_ok(moeg_leading_term(f.moe, f.teacher, f.law, (moeg_mixing)mixing, &lead));
                /* Next terms, up to (tau/c)^(2/p) or (tau/c)^2 and e^(-c Delta_0/tau) of a bounded margin. */
                const double tau = members[i].family == MOEG_MARGIN_BOUNDED && p > 0 ? 1.0 / 1024 : ldexp(1, -40);
                assert_ok(moeg_risk_gap(f.moe, f.teacher, f.law, (moeg_mixing)mixing, 1, &tau, &s, &gap));
                const double term = lead.coefficient * pow(tau, lead.power) * exp(-lead.rate / tau);
                if (fabs(term) < 1e-290)
                    assert_near(gap.value, term, 1e-290);
                else
                    assert_relative(gap.value, term, 100 * pow(tau, fmin(2, 2 / fmax(p, 1))) + 1e-12);
                assert_true((lead.coefficient == 0) == (kind == 0 && mixing == MOEG_MIX_LOSS));
                if (lead.coefficient == 0)
                    assert_near(fabs(gap.value) + gap.quad_error, 0, 0);
                release(&f);
            }
}

/* Against sampling with a teacher that jumps: the signs of J and of the router are those of the rows. */
static void sampling_agrees(void **state)
{
    (void)state;
    const double f_plus[] = {1.3, -0.4}, f_minus[] = {-0.731, 0.9}, m_plus[] = {0.2, 0.31}, m_minus[] = {2.385, 0.7};
    const double tau = 0.6, w = 0.8;
    for (size_t i = 2; i < MEMBERS; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            if (members[i].parameter > 14)
                continue;
            struct family p =
                make(members[i].family, members[i].parameter, 0.8 * sign, 2, f_plus, f_minus, m_plus, m_minus);
            moeg_sampling line = by(MOEG_METHOD_LINE), mc = by(MOEG_METHOD_MC);
            mc.n = 20000;
            for (int mixing = 0; mixing < 2; mixing++) {
                moeg_estimate hard[2], soft[2], gap[2];
                assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, (moeg_mixing)mixing, 1, &tau, &line, hard, soft, gap,
                                          NULL));
                assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, (moeg_mixing)mixing, 1, &tau, &mc, hard + 1,
                                          soft + 1, gap + 1, NULL));
                assert_near(gap[1].value, gap[0].value, 4.5 * gap[1].std_error);
                assert_near(soft[1].value, soft[0].value, 4.5 * soft[1].std_error);
                assert_near(hard[1].value, hard[0].value, 4.5 * hard[1].std_error + 8 * EPS * hard[0].value);
            }
            moeg_estimate mass[2];
            assert_ok(moeg_boundary_mass(p.router, p.law, 1, &w, &line, mass));
            assert_ok(moeg_boundary_mass(p.router, p.law, 1, &w, &mc, mass + 1));
            assert_near(mass[1].value, mass[0].value, 4.5 * sqrt(0.25 / 20000));
            release(&p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table),       cmocka_unit_test(known_coefficients),
        cmocka_unit_test(other_exponents), cmocka_unit_test(closed_coefficients),
        cmocka_unit_test(every_gate),      cmocka_unit_test(the_leading_term_leads),
        cmocka_unit_test(sampling_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
