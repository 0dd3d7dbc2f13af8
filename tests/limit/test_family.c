/* Laws with a known margin exponent: risks, masses, leading terms and margin conditions against the reference table,
 * sampling, closed forms and an obvious quadrature in long double. */
#include "limit/problem.h"
#include "limit/reference.h"
#include "support/failing_alloc.h"

#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sf_zeta.h>

/* s = c x_1 in d = 3, experts and teacher of m outputs, row 0 the expert of x_1 > 0 if c > 0. */
struct family {
    moeg_law *law;
    moeg_router *router;
    moeg_moe *moe;
    moeg_teacher *teacher;
};

enum { D = 3 };

static moeg_router *make_router(double c)
{
    const double W[2 * D] = {0.25 + c, -0.7, 1.3, 0.25, -0.7, 1.3}, b[2] = {0.4, 0.4};
    moeg_router *router;
    assert_ok(moeg_router_affine_create(&router, 2, D, W, b));
    return router;
}

static moeg_moe *make_moe(moeg_router *router, size_t m, const double *f0, const double *f1)
{
    moeg_expert *experts[2];
    moeg_moe *moe;
    assert_ok(moeg_expert_constant_create(&experts[0], D, m, f0));
    assert_ok(moeg_expert_constant_create(&experts[1], D, m, f1));
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), experts));
    moeg_expert_free(experts[0]);
    moeg_expert_free(experts[1]);
    return moe;
}

/* f and m of x_1 > 0, then of x_1 < 0. A constant teacher if the two are the same; else a mixture on a router of the
 * other sign and scale. */
static struct family make(moeg_margin_family family, double parameter, double c, size_t m, const double *f_plus,
                          const double *f_minus, const double *m_plus, const double *m_minus)
{
    struct family p;
    assert_ok(moeg_law_margin_create(&p.law, D, family, parameter));
    p.router = make_router(c);
    p.moe = make_moe(p.router, m, c > 0 ? f_plus : f_minus, c > 0 ? f_minus : f_plus);
    if (memcmp(m_plus, m_minus, m * sizeof *m_plus) == 0) {
        moeg_expert *mean;
        assert_ok(moeg_expert_constant_create(&mean, D, m, m_plus));
        assert_ok(moeg_teacher_expert_create(&p.teacher, mean));
        moeg_expert_free(mean);
    } else {
        moeg_router *other = make_router(-1.7 * c);
        moeg_moe *moe = make_moe(other, m, c > 0 ? m_minus : m_plus, c > 0 ? m_plus : m_minus);
        assert_ok(moeg_teacher_moe_create(&p.teacher, moe, 0));
        moeg_moe_free(moe);
        moeg_router_free(other);
    }
    return p;
}

static void release(struct family *p)
{
    moeg_law_free(p->law);
    moeg_router_free(p->router);
    moeg_moe_free(p->moe);
    moeg_teacher_free(p->teacher);
}

static moeg_sampling by(moeg_method method)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = method;
    return s;
}

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
static const struct member {
    moeg_margin_family family;
    double parameter;
} members[] = {
    {MOEG_MARGIN_POWER, 0.01},  {MOEG_MARGIN_POWER, 0.385},   {MOEG_MARGIN_POWER, 0.5}, {MOEG_MARGIN_POWER, 1},
    {MOEG_MARGIN_POWER, 2.385}, {MOEG_MARGIN_POWER, 7.3},     {MOEG_MARGIN_POWER, 300}, {MOEG_MARGIN_RAYLEIGH, 0},
    {MOEG_MARGIN_BOUNDED, 0},   {MOEG_MARGIN_BOUNDED, 0.731},
};
enum { MEMBERS = sizeof members / sizeof *members };

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

static double mass_of(const struct member *m, double c, double w)
{
    moeg_law *law;
    moeg_router *router = make_router(c);
    const moeg_sampling s = by(MOEG_METHOD_AUTO);
    moeg_estimate mass;
    assert_ok(moeg_law_margin_create(&law, D, m->family, m->parameter));
    assert_ok(moeg_boundary_mass(router, law, 1, &w, &s, &mass));
    assert_int_equal(mass.method, MOEG_METHOD_LINE);
    assert_true(mass.lo == mass.value && mass.hi == mass.value && mass.quad_error == 0);
    moeg_router_free(router);
    moeg_law_free(law);
    return mass.value;
}

static void masses(void **state)
{
    (void)state;
    const double c = -2.5, root = 0.70710678118654752440;
    for (double w = 1e-300; w < 1e300; w *= 1234.5) {
        for (size_t i = 0; i < MEMBERS; i++)
            if (members[i].family == MOEG_MARGIN_POWER)
                assert_relative(mass_of(&members[i], c, w),
                                (double)erfl(expl((logl(w) - logl(2.5L)) / members[i].parameter) * root), 8 * EPS);
        assert_relative(mass_of(&members[7], c, w), (double)-expm1l(-(w / 2.5L) * (w / 2.5L) / 2), 8 * EPS);
    }
    /* Next to Delta_0 = 0.731 c, no digit is lost: w - c Delta_0 is exact. */
    const struct member *bounded = &members[9];
    const double edge = 0.731 * 2.5, above = nextafter(edge, 2), far = edge * (1 + 1e-9);
    for (int k = 0; k < 2; k++) {
        const double w = k == 0 ? nextafter(above, 2) : far;
        const long double excess = ((long double)w - edge) - (long double)fma(0.731, 2.5, -edge);
        assert_relative(mass_of(bounded, c, w), (double)erfl(excess / 2.5L * root), 4 * EPS);
    }
    assert_near(mass_of(bounded, c, nextafter(edge, 0)), 0, 0);
    assert_near(mass_of(bounded, c, 0), 0, 0);
    assert_near(mass_of(bounded, c, 1e300), 1, 0);
}

/* P(|s| <= t) <= C t^alpha for every t <= t0, and C is the limit of the ratio where it is not 0. */
static void conditions(void **state)
{
    (void)state;
    static const double scales[] = {1, -0.37, 1e3};
    for (size_t i = 1; i < MEMBERS; i++)
        for (size_t k = 0; k < 3; k++) {
            moeg_law *law;
            moeg_router *router = make_router(scales[k]);
            moeg_margin_condition condition;
            assert_ok(moeg_law_margin_create(&law, D, members[i].family, members[i].parameter));
            assert_ok(moeg_bound_margin_condition(router, law, &condition));
            const double alpha = members[i].family == MOEG_MARGIN_RAYLEIGH ? 2
                                 : members[i].family == MOEG_MARGIN_POWER  ? 1 / members[i].parameter
                                                                           : 1;
            assert_relative(condition.alpha, alpha, EPS);
            const double c = fabs(0.25 + scales[k] - 0.25);
            if (members[i].family == MOEG_MARGIN_BOUNDED && members[i].parameter > 0) {
                assert_near(condition.C, 0, 0);
                assert_relative(condition.t0, c * members[i].parameter, 4 * EPS);
                assert_true(mass_of(&members[i], scales[k], condition.t0) == 0);
            } else {
                assert_true(isinf(condition.t0));
                const double first = members[i].family == MOEG_MARGIN_RAYLEIGH ? 0.5 : 0.79788456080286535588;
                assert_relative(condition.C, first * pow(c, -alpha), (8 + 2 * alpha * fabs(log(c))) * EPS);
                for (double t = 1e-100; t < 1e100; t *= 1.37) {
                    const double mass = mass_of(&members[i], scales[k], t);
                    const long double bound = condition.C * powl(t, condition.alpha);
                    assert_true(mass <= bound * (1 + EPS));
                }
            }
            moeg_router_free(router);
            moeg_law_free(law);
        }
}

/* Gaussian: at several means, on a dense grid; tight at 0 for |mean| <= sigma. */
static void gaussian_conditions(void **state)
{
    (void)state;
    static const double means[] = {0, 0.5, -1, 1.01, 3, -20};
    const double W[2] = {1.7, -0.8}, b[2] = {0, 0}, sigma = 2.5;
    moeg_router *router;
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, b));
    for (size_t i = 0; i < 6; i++) {
        moeg_law *law;
        moeg_margin_condition condition;
        const moeg_sampling s = by(MOEG_METHOD_LINE);
        const double z = fabs(means[i]);
        double largest = 0;
        assert_ok(moeg_law_gaussian_create(&law, 1, &means[i], NULL));
        assert_ok(moeg_bound_margin_condition(router, law, &condition));
        assert_true(condition.alpha == 1 && isinf(condition.t0));
        assert_relative(condition.C,
                        z <= 1 ? 2 * exp(-z * z / 2) / (2.5066282746310005 * sigma)
                               : (1 + exp(-z * z / 2)) / (2.5066282746310005 * sigma),
                        8 * EPS);
        for (double t = 1e-9; t < 1e3; t *= 1.007) {
            moeg_estimate mass;
            assert_ok(moeg_boundary_mass(router, law, 1, &t, &s, &mass));
            assert_true(mass.value <= condition.C * t * (1 + EPS));
            largest = fmax(largest, mass.value / (condition.C * t));
        }
        assert_true(z <= 1 ? largest > 1 - 1e-12 : largest > 0.1);
        moeg_law_free(law);
    }
    moeg_router_free(router);
    /* Constant differences: no mass below them. */
    const double same[2] = {0.5, 0.5}, bias[2] = {0.3, -0.2}, masked[2] = {0.3, -INFINITY}, mean = 2.385;
    moeg_law *law;
    moeg_margin_condition condition = {42, 42, 42};
    assert_ok(moeg_law_gaussian_create(&law, 1, &mean, NULL));
    assert_ok(moeg_router_affine_create(&router, 2, 1, same, bias));
    assert_ok(moeg_bound_margin_condition(router, law, &condition));
    assert_true(condition.C == 0 && condition.t0 < 0.5 && condition.t0 > 0.5 * (1 - 8 * EPS));
    moeg_router_free(router);
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, masked));
    assert_ok(moeg_bound_margin_condition(router, law, &condition));
    assert_true(condition.C == 0 && isinf(condition.t0));
    moeg_router_free(router);
    assert_ok(moeg_router_affine_create(&router, 2, 1, same, b));
    condition.C = 42;
    assert_status(moeg_bound_margin_condition(router, law, &condition), MOEG_EDOM, "the logits tie everywhere");
    moeg_router_free(router);
    const double narrow[2] = {1e-310, 0};
    assert_ok(moeg_router_affine_create(&router, 2, 1, narrow, b));
    assert_status(moeg_bound_margin_condition(router, law, &condition), MOEG_ERANGE, "C overflows");
    moeg_router_free(router);
    assert_near(condition.C, 42, 0);
    moeg_law_free(law);
}

static void condition_errors(void **state)
{
    (void)state;
    moeg_law *law, *wide, *data;
    moeg_router *router = make_router(1e-4), *three;
    moeg_margin_condition condition = {42, 42, 42};
    const double W[3 * D] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, b[3] = {0};
    assert_ok(moeg_law_margin_create(&law, D, MOEG_MARGIN_POWER, 0.01));
    assert_ok(moeg_law_margin_create(&wide, D + 1, MOEG_MARGIN_RAYLEIGH, 0));
    assert_ok(moeg_law_empirical_create(&data, 3, D, W, NULL));
    assert_ok(moeg_router_affine_create(&three, 3, D, W, b));
#define CONDITION(router, law, out) moeg_bound_margin_condition(router, law, out)
    assert_status(CONDITION(NULL, law, &condition), MOEG_EINVAL, "bound_margin_condition: router must not be NULL");
    assert_status(CONDITION(router, NULL, &condition), MOEG_EINVAL, "law must not be NULL");
    assert_status(CONDITION(router, law, NULL), MOEG_EINVAL, "condition must not be NULL");
    assert_status(CONDITION(router, wide, &condition), MOEG_EINVAL, "takes dimension 3, the law has 4");
    assert_status(CONDITION(router, data, &condition), MOEG_EUNSUPPORTED, "the law is not Gaussian");
    assert_status(CONDITION(three, law, &condition), MOEG_EUNSUPPORTED, "more than two experts");
    assert_status(CONDITION(router, law, &condition), MOEG_ERANGE, "overflows: alpha = 100");
    moeg_law *sharp;
    assert_ok(moeg_law_margin_create(&sharp, D, MOEG_MARGIN_POWER, 1e-310));
    assert_status(CONDITION(router, sharp, &condition), MOEG_ERANGE, "overflows: alpha = inf");
    moeg_law_free(sharp);
    assert_near(condition.C + condition.alpha + condition.t0, 126, 0);
    moeg_router_free(router);
    moeg_router_free(three);
    moeg_law_free(law);
    moeg_law_free(wide);
    moeg_law_free(data);
}

/* What has no line, and says why; AUTO samples. */
static void refusals(void **state)
{
    (void)state;
    static const struct {
        double W[2 * D], b[2];
        const char *text;
    } routers[] = {
        {{1, 2, 3, 4, 2, 3}, {0.1, 0.2}, "different biases"},
        {{1, 2, 3, 4, 2.5, 3}, {0.1, 0.1}, "more than the first coordinate"},
        {{1, 2, 3, 1, 2, 3}, {0.1, 0.1}, "the logits are equal"},
        {{1, 2, 3, 4, 2, 3}, {0.1, -INFINITY}, "different biases"},
    };
    const double one = 1, minus = -1, mean = 0.2, other = 0.4, tau = 0.3, w = 0.4;
    struct family p = make(MOEG_MARGIN_RAYLEIGH, 0, 1, 1, &one, &minus, &mean, &other);
    moeg_sampling line = by(MOEG_METHOD_LINE), any = by(MOEG_METHOD_AUTO);
    moeg_estimate e;
    any.n = 1000;
    for (size_t i = 0; i < 4; i++) {
        moeg_router *router;
        assert_ok(moeg_router_affine_create(&router, 2, D, routers[i].W, routers[i].b));
        moeg_moe *moe = make_moe(router, 1, &one, &minus);
        moeg_teacher *hard;
        assert_ok(moeg_teacher_moe_create(&hard, moe, 0));
        assert_status(moeg_boundary_mass(router, p.law, 1, &w, &line, &e), MOEG_EUNSUPPORTED, routers[i].text);
        assert_status(moeg_risk_gap(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &line, &e), MOEG_EUNSUPPORTED,
                      routers[i].text);
        assert_ok(moeg_boundary_mass(router, p.law, 1, &w, &any, &e));
        assert_int_equal(e.method, MOEG_METHOD_MC);
        assert_status(moeg_risk_gap(p.moe, hard, p.law, MOEG_MIX_OUTPUT, 1, &tau, &line, &e), MOEG_EUNSUPPORTED,
                      "the teacher is neither constant nor a hard mixture of two constants");
        moeg_teacher_free(hard);
        moeg_moe_free(moe);
        moeg_router_free(router);
    }
    moeg_teacher *soft;
    moeg_leading leading = {42, 42, 42};
    assert_ok(moeg_teacher_moe_create(&soft, p.moe, 0.1));
    assert_status(moeg_risk_gap(p.moe, soft, p.law, MOEG_MIX_OUTPUT, 1, &tau, &line, &e), MOEG_EUNSUPPORTED,
                  "the teacher is neither");
    assert_status(moeg_leading_term(p.moe, soft, p.law, MOEG_MIX_OUTPUT, &leading), MOEG_EUNSUPPORTED,
                  "leading_term: the teacher is neither");
    moeg_teacher_free(soft);
    const double A[D] = {0, 0, 0};
    moeg_expert *experts[2];
    moeg_moe *affine, *both;
    assert_ok(moeg_expert_constant_create(&experts[0], D, 1, &one));
    assert_ok(moeg_expert_constant_create(&experts[1], D, 1, &minus));
    assert_ok(moeg_moe_create(&both, p.router, moeg_gate_subset(2), experts)); /* The mean of both. */
    assert_ok(moeg_teacher_moe_create(&soft, both, 0));
    assert_status(moeg_risk_gap(p.moe, soft, p.law, MOEG_MIX_OUTPUT, 1, &tau, &line, &e), MOEG_EUNSUPPORTED,
                  "the teacher is neither");
    moeg_teacher_free(soft);
    moeg_moe_free(both);
    moeg_expert_free(experts[0]);
    moeg_expert_free(experts[1]);
    assert_ok(moeg_expert_affine_create(&experts[0], D, 1, A, &one));
    assert_ok(moeg_expert_constant_create(&experts[1], D, 1, &minus));
    assert_ok(moeg_moe_create(&affine, p.router, moeg_gate_softmax(), experts));
    assert_status(moeg_risk_gap(affine, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &line, &e), MOEG_EUNSUPPORTED,
                  "an expert is not constant");
    assert_ok(moeg_teacher_expert_create(&soft, experts[0]));
    assert_status(moeg_risk_gap(p.moe, soft, p.law, MOEG_MIX_OUTPUT, 1, &tau, &line, &e), MOEG_EUNSUPPORTED,
                  "the teacher is neither");
    moeg_teacher_free(soft);
    moeg_moe_free(affine);
    moeg_expert_free(experts[0]);
    moeg_expert_free(experts[1]);
    release(&p);
}

static moeg_status allocating(void *user)
{
    const struct family *p = user;
    const moeg_sampling s = by(MOEG_METHOD_LINE);
    const double tau[2] = {0.3, 0.1};
    moeg_estimate gap[2] = {{.value = 42}, {.value = 42}};
    const moeg_status status = moeg_risk_gap(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, 2, tau, &s, gap);
    if (status != MOEG_OK)
        assert_near(gap[0].value + gap[1].value, 84, 0);
    return status;
}

static void extremes(void **state)
{
    (void)state;
    const double one = 1, minus = -1, huge = 1e200, mean = 0.2, other = 0.4;
    const moeg_sampling s = by(MOEG_METHOD_LINE);
    moeg_estimate gap;
    struct family p = make(MOEG_MARGIN_RAYLEIGH, 0, 1, 1, &one, &minus, &mean, &other);
    assert_true(fail_every_allocation(allocating, &p) >= 3);
    release(&p);
    p = make(MOEG_MARGIN_RAYLEIGH, 0, 1, 1, &huge, &minus, &mean, &other);
    const double tau = 0.3;
    moeg_leading leading = {42, 42, 42};
    assert_status(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &gap), MOEG_ERANGE, "overflows");
    assert_status(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &leading), MOEG_ERANGE, "overflows");
    release(&p);
    p = make(MOEG_MARGIN_POWER, 0.002, 1e-3, 1, &one, &minus, &mean, &other);
    assert_status(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &leading), MOEG_ERANGE, "out of range");
    assert_near(leading.coefficient + leading.power + leading.rate, 126, 0);
    release(&p);
    /* Any parameter, scale and temperature gives a finite answer: q is in (0, 1/2), so |G| <= |jump|/2 + |delta|^2/4.
     */
    static const double parameters[] = {1e-320, 1e-12, 1e-4, 0.03, 1, 299, 0.731, 1e300, 1e-300};
    static const double scales[] = {1e-300, -1e-5, 1, 1e12, 1e300};
    static const double taus[] = {0, 1e-300, 1e-20, 1e-3, 1, 1e9, 1e300};
    for (size_t i = 0; i < 9; i++)
        for (size_t k = 0; k < 5; k++) {
            const double W[2 * D] = {scales[k]}, b[2] = {0};
            moeg_router *router;
            assert_ok(moeg_router_affine_create(&router, 2, D, W, b));
            p = make(i < 6 ? MOEG_MARGIN_POWER : MOEG_MARGIN_BOUNDED, parameters[i], 1, 1, &one, &minus, &mean, &mean);
            moeg_moe *moe = make_moe(router, 1, &one, &minus);
            moeg_estimate gaps[7];
            assert_ok(moeg_risk_gap(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 7, taus, &s, gaps));
            assert_near(fabs(gaps[0].value) + gaps[0].quad_error, 0, 0);
            for (size_t t = 1; t < 7; t++) {
                assert_true(gaps[t].value <= 0 && gaps[t].value >= -1 - 1e-13);
                assert_true(gaps[t].quad_error >= 0 && gaps[t].quad_error <= 1e-9 * fabs(gaps[t].value) + 1e-320);
                /* It is not weaker at a higher temperature. */
                assert_true(gaps[t].value <= gaps[t - 1].value + gaps[t].quad_error + gaps[t - 1].quad_error);
            }
            moeg_moe_free(moe);
            moeg_router_free(router);
            release(&p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table),        cmocka_unit_test(known_coefficients),
        cmocka_unit_test(other_exponents),  cmocka_unit_test(closed_coefficients),
        cmocka_unit_test(every_gate),       cmocka_unit_test(the_leading_term_leads),
        cmocka_unit_test(sampling_agrees),  cmocka_unit_test(masses),
        cmocka_unit_test(conditions),       cmocka_unit_test(gaussian_conditions),
        cmocka_unit_test(condition_errors), cmocka_unit_test(refusals),
        cmocka_unit_test(extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
