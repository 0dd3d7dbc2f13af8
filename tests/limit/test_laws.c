/* Every kind of law through the estimators: boundary mass and gap against closed forms and quadrature, error bars over
 * many seeds, threads and cuts, and the failures of a callback law. */
#include "base/quad.h"
#include "limit/cut.h"
#include "limit/problem.h"
#include "support/coverage.h"
#include "support/estimates.h"

#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sf_zeta.h>

#define ROOT_TWO_OVER_PI 0.79788456080286535588
#define ROOT_HALF 0.70710678118654752440
static const double TEACHER = 0.2;

/* A law with what is judged under it, at one temperature and one width. */
struct setting {
    moeg_router *router;
    moeg_moe *moe;
    moeg_teacher *teacher;
    moeg_law *law;
    uint64_t n;
    double tau, w;
    moeg_method method;
};

/* a = (x_1, 0), experts 1 and -1, teacher 0.2: a row with s = x_1 has the soft output tanh(s/2 tau) and the gap
 * tanh^2 - 1 - 0.4 (tanh - sign). The law is handed over. */
static struct setting make_signs(size_t d, moeg_law *law, double tau, double w)
{
    struct setting s = {.law = law, .n = 1, .tau = tau, .w = w};
    double *W = calloc(2 * d, sizeof *W);
    const double one = 1, minus = -1, b[2] = {0, 0};
    moeg_expert *experts[3];
    assert_non_null(W);
    W[0] = 1;
    assert_ok(moeg_router_affine_create(&s.router, 2, d, W, b));
    assert_ok(moeg_expert_constant_create(&experts[0], d, 1, &one));
    assert_ok(moeg_expert_constant_create(&experts[1], d, 1, &minus));
    assert_ok(moeg_expert_constant_create(&experts[2], d, 1, &TEACHER));
    assert_ok(moeg_moe_create(&s.moe, s.router, moeg_gate_softmax(), experts));
    assert_ok(moeg_teacher_expert_create(&s.teacher, experts[2]));
    for (size_t k = 0; k < 3; k++)
        moeg_expert_free(experts[k]);
    free(W);
    return s;
}

static void free_setting(struct setting *s)
{
    moeg_router_free(s->router);
    moeg_moe_free(s->moe);
    moeg_teacher_free(s->teacher);
    moeg_law_free(s->law);
}

static moeg_sampling options(uint64_t n, uint64_t seed, int threads)
{
    moeg_sampling s = moeg_sampling_default();
    s.n = n;
    s.seed = seed;
    s.max_threads = threads;
    return s;
}

static moeg_status estimate_gap(uint64_t seed, void *user, moeg_estimate *gap)
{
    const struct setting *s = user;
    moeg_sampling o = options(s->n, seed, 1);
    o.method = s->method;
    return moeg_risk_gap(s->moe, s->teacher, s->law, MOEG_MIX_OUTPUT, 1, &s->tau, &o, gap);
}

static moeg_status estimate_mass(uint64_t seed, void *user, moeg_estimate *mass)
{
    const struct setting *s = user;
    moeg_sampling o = options(s->n, seed, 1);
    o.method = s->method;
    return moeg_boundary_mass(s->router, s->law, 1, &s->w, &o, mass);
}

/* One long run within four standard errors; AUTO must be MC where there is no line. */
static void check_estimates(struct setting *s, double gap, double mass)
{
    moeg_estimate e;
    s->n = 40000;
    assert_ok(estimate_gap(1, s, &e));
    assert_int_equal(e.method, MOEG_METHOD_MC);
    assert_int_equal(e.n, s->n);
    assert_near(e.value, gap, 4 * e.std_error);
    assert_ok(estimate_mass(1, s, &e));
    assert_int_equal(e.method, MOEG_METHOD_MC);
    assert_near(e.value, mass, 4 * sqrt(mass * (1 - mass) / 40000));
    if (s->method == MOEG_METHOD_MC)
        return;
    moeg_sampling line = options(s->n, 1, 1);
    line.method = MOEG_METHOD_LINE;
    assert_status(moeg_boundary_mass(s->router, s->law, 1, &s->w, &line, &e), MOEG_EUNSUPPORTED, "line");
    assert_status(moeg_risk_gap(s->moe, s->teacher, s->law, MOEG_MIX_OUTPUT, 1, &s->tau, &line, &e), MOEG_EUNSUPPORTED,
                  "line");
}

/* Error bars and intervals of the gap over 1000 seeds. */
static void check_error_bars(struct setting *s, double gap)
{
    s->n = 1000;
    assert_coverage(estimate_gap, s, 1, &gap, 0.95, 1000, COVERAGE_EXACT);
}

/* Gaps of a mixture are mixtures of gaps, and those of its components are exact, by lines. */
static void mixtures(void **state)
{
    (void)state;
    enum { COUNT = 3 };
    static const double weights[COUNT] = {2.385, 0.7, 1.3}, spread[COUNT] = {1, 2.6, 0.4};
    struct problem p;
    problem_make(&p, 31, 2, 3, 2);
    struct setting s = {.router = p.router, .moe = p.moe, .teacher = p.teacher, .n = 1, .tau = 0.8, .w = 0.7};
    moeg_law *components[COUNT];
    double gap = 0, mass = 0;
    for (size_t k = 0; k < COUNT; k++) {
        double mean[3], covariance[9];
        for (size_t i = 0; i < 9; i++)
            covariance[i] = spread[k] * p.covariance[i];
        for (size_t i = 0; i < 3; i++)
            mean[i] = p.mean[i] + 0.6 * problem_number(k, i);
        assert_ok(moeg_law_gaussian_create(&components[k], 3, mean, covariance));
        moeg_estimate e;
        s.law = components[k];
        assert_ok(estimate_gap(1, &s, &e));
        assert_int_equal(e.method, MOEG_METHOD_LINE);
        gap += weights[k] / 4.385 * e.value;
        assert_ok(estimate_mass(1, &s, &e));
        assert_int_equal(e.method, MOEG_METHOD_LINE);
        mass += weights[k] / 4.385 * e.value;
    }
    assert_ok(moeg_law_mixture_create(&s.law, COUNT, weights, components));
    check_estimates(&s, gap, mass);
    check_error_bars(&s, gap);
    moeg_law_free(s.law);
    for (size_t k = 0; k < COUNT; k++)
        moeg_law_free(components[k]);
    problem_free(&p);
}

/* Integral over [0, b] of tanh^2(s/2 tau) - 1 -+ 0.4 (tanh(s/2 tau) - 1). */
static double half_gap(double b, double tau, double sign)
{
    return -2 * tau * tanh(b / (2 * tau)) - sign * 2 * TEACHER * 2 * tau * log((1 + exp(-b / tau)) / 2);
}

static void boxes(void **state)
{
    (void)state;
    const double lo[3] = {-0.731, 1.1, -3}, hi[3] = {2.385, 1.7, 4}, a = -lo[0], b = hi[0];
    static const double taus[] = {0.5, 2, 0.1}, widths[] = {0.5, 1.3, 0.05};
    for (size_t t = 0; t < 3; t++) {
        moeg_law *law;
        assert_ok(moeg_law_box_create(&law, 3, lo, hi));
        struct setting s = make_signs(3, law, taus[t], widths[t]);
        check_estimates(&s, (half_gap(a, s.tau, -1) + half_gap(b, s.tau, 1)) / (a + b), (fmin(s.w, a) + s.w) / (a + b));
        free_setting(&s);
    }
}

/* One of the families, with what law.h says of it. */
struct member {
    moeg_margin_family family;
    double parameter, alpha, C;
    double tau, w;
    double limit; /* of gap/tau^alpha, J = 0, delta = 2: from a table of its own */
};

static const struct member members[] = {
    {MOEG_MARGIN_POWER, 1, 1, ROOT_TWO_OVER_PI, 0.5, 0.3, -1.595769},
    {MOEG_MARGIN_POWER, 2, 0.5, ROOT_TWO_OVER_PI, 0.2, 0.05, -1.075099},
    {MOEG_MARGIN_POWER, 3, 1.0 / 3, ROOT_TWO_OVER_PI, 0.1, 0.02, -0.961932},
    {MOEG_MARGIN_POWER, 5, 0.2, ROOT_TWO_OVER_PI, 0.01, 0.003, -0.887306},
    {MOEG_MARGIN_POWER, 0.5, 2, ROOT_TWO_OVER_PI, 0.6, 0.5, -4.424411},
    {MOEG_MARGIN_RAYLEIGH, 0, 2, 0.5, 0.6, 0.5, -2.772589},
    {MOEG_MARGIN_BOUNDED, 0.731, INFINITY, 0, 0.5, 0.9, NAN},
};
enum { MEMBERS = sizeof members / sizeof *members };

struct integral {
    const struct member *m;
    double tau;
};

/* The density of a latent r > 0, and the gap -sech^2(s/2 tau) at s(r), for a law symmetric in s. */
static void margin_integrand(double r, void *user, double *value)
{
    const struct integral *g = user;
    const int is_rayleigh = g->m->family == MOEG_MARGIN_RAYLEIGH;
    const double s = is_rayleigh                         ? r
                     : g->m->family == MOEG_MARGIN_POWER ? pow(r, g->m->parameter)
                                                         : g->m->parameter + r;
    const double e = exp(-s / g->tau);
    *value = -exp(-r * r / 2) * (is_rayleigh ? r : ROOT_TWO_OVER_PI) * 4 * e / ((1 + e) * (1 + e));
}

static double margin_gap(const struct member *m, double tau)
{
    struct integral g = {m, tau};
    double value;
    const double finest = m->family == MOEG_MARGIN_POWER ? pow(tau, 1 / m->parameter) : tau;
    assert_ok(moeg_quad_graded(margin_integrand, &g, 1, 0, 40, finest / 16, fmax(finest / 16, 0.25), &value, NULL));
    return value;
}

static double margin_mass(const struct member *m, double w)
{
    if (m->family == MOEG_MARGIN_RAYLEIGH)
        return -expm1(-w * w / 2);
    if (m->family == MOEG_MARGIN_BOUNDED)
        return w <= m->parameter ? 0 : erf((w - m->parameter) * ROOT_HALF);
    return erf(pow(w, 1 / m->parameter) * ROOT_HALF);
}

static void margins(void **state)
{
    (void)state;
    for (size_t v = 0; v < MEMBERS; v++) {
        const struct member *m = members + v;
        moeg_law *law;
        assert_ok(moeg_law_margin_create(&law, 2, m->family, m->parameter));
        struct setting s = make_signs(2, law, m->tau, m->w);
        s.method = MOEG_METHOD_MC;
        check_estimates(&s, margin_gap(m, s.tau), margin_mass(m, s.w));
        if (m->family == MOEG_MARGIN_RAYLEIGH)
            check_error_bars(&s, margin_gap(m, s.tau));
        if (m->family == MOEG_MARGIN_BOUNDED) {
            moeg_estimate e;
            s.w = m->parameter;
            assert_ok(estimate_mass(1, &s, &e));
            assert_int_equal(e.contributing, 0); /* none is at Delta_0, or below */
        }
        free_setting(&s);
    }
}

/* The alpha and C of law.h: P(|s| <= w) <= C w^alpha, an equality in the limit, and the gap's leading coefficient,
 * C Gamma(alpha + 1) tau^alpha (-4 eta(alpha - 1)), by the same quadrature that the samples agreed with. */
static void margin_exponents(void **state)
{
    (void)state;
    for (size_t v = 0; v < MEMBERS; v++) {
        const struct member *m = members + v;
        if (m->family == MOEG_MARGIN_BOUNDED) {
            /* sqrt(2/pi) (-4) tau e^(-Delta_0/tau), up to relative tau^2 and e^(-Delta_0/tau). */
            const double tau = 0.01, leading = -4 * ROOT_TWO_OVER_PI * tau * exp(-m->parameter / tau);
            assert_relative(margin_gap(m, tau), leading, 2 * tau * tau);
            continue;
        }
        for (double w = 1e-6; w < 100; w *= 3.7)
            assert_true(margin_mass(m, w) <= m->C * pow(w, m->alpha) * (1 + 8 * EPS));
        const double tau = 1e-6 * pow(1e-3, m->parameter / 2), scale = pow(tau, m->alpha),
                     order = fmax(scale, tau) * fmax(scale, tau);
        assert_relative(margin_mass(m, tau), m->C * scale, order + 8 * EPS);
        const double limit = -4 * m->C * gsl_sf_gamma(m->alpha + 1) * gsl_sf_eta(m->alpha - 1);
        assert_near(m->limit, limit, 1e-6);
        assert_relative(margin_gap(m, tau) / scale, limit, 50 * order + 1e-12);
    }
}

static int logistic_map(size_t n, const double *u, double *x, void *user)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        x[i] = log(u[i] / (1 - u[i]));
    return 0;
}

static void logistic_integrand(double s, void *user, double *value)
{
    const double tau = *(const double *)user, e = exp(-s / tau), f = exp(-s);
    *value = -2 * f / ((1 + f) * (1 + f)) * 4 * e / ((1 + e) * (1 + e));
}

/* Logistic by inversion: BM(w) = tanh(w/2). */
static void callbacks(void **state)
{
    (void)state;
    moeg_law *law;
    assert_ok(moeg_law_callback_create(&law, 1, 1, MOEG_LATENT_UNIFORM, logistic_map, NULL));
    struct setting s = make_signs(1, law, 0.7, 0.385);
    double gap;
    assert_ok(moeg_quad_graded(logistic_integrand, &s.tau, 1, 0, 45, 0.1, 0.25, &gap, NULL));
    check_estimates(&s, gap, tanh(s.w / 2));
    check_error_bars(&s, gap);
    free_setting(&s);
}

static int copy_map(size_t n, const double *z, double *x, void *user)
{
    memcpy(x, z, n * *(const size_t *)user * sizeof *x);
    return 0;
}

/* One law of each kind in d = 3. */
enum { KINDS = 5, D = 3 };
static size_t dimension = D;

static moeg_law *make_kind(int kind)
{
    static const double lo[D] = {-0.731, 1.1, -3}, hi[D] = {2.385, 1.7, 4}, weights[2] = {0.3, 0.7};
    moeg_law *law = NULL, *components[2];
    switch (kind) {
    case 0:
        assert_ok(moeg_law_gaussian_create(&components[0], D, lo, NULL));
        assert_ok(moeg_law_gaussian_create(&components[1], D, hi, NULL));
        assert_ok(moeg_law_mixture_create(&law, 2, weights, components));
        moeg_law_free(components[0]);
        moeg_law_free(components[1]);
        break;
    case 1:
        assert_ok(moeg_law_box_create(&law, D, lo, hi));
        break;
    case 2:
        assert_ok(moeg_law_margin_create(&law, D, MOEG_MARGIN_RAYLEIGH, 0));
        break;
    case 3:
        assert_ok(moeg_law_margin_create(&law, D, MOEG_MARGIN_POWER, 2.385));
        break;
    default:
        assert_ok(moeg_law_callback_create(&law, D, D, MOEG_LATENT_NORMAL, copy_map, &dimension));
    }
    return law;
}

/* The same bits for any number of threads, and for a run in two parts. */
static void threads_and_cuts_change_no_bit(void **state)
{
    (void)state;
    enum { N = 30001, NTAU = 2 };
    const double taus[NTAU] = {0.3, 1.7};
    struct problem p;
    problem_make(&p, 32, 4, D, 2);
    for (int kind = 0; kind < KINDS; kind++) {
        moeg_law *law = make_kind(kind);
        moeg_estimate whole[NTAU], again[NTAU];
        const moeg_sampling one = options(N, 99, 1);
        assert_ok(moeg_risk_gap(p.moe, p.teacher, law, MOEG_MIX_OUTPUT, NTAU, taus, &one, whole));
        static const int threads[] = {2, 5};
        for (size_t t = 0; t < 2; t++) {
            const moeg_sampling o = options(N, 99, threads[t]);
            assert_ok(moeg_risk_gap(p.moe, p.teacher, law, MOEG_MIX_OUTPUT, NTAU, taus, &o, again));
            for (size_t j = 0; j < NTAU; j++)
                assert_memory_equal(&again[j].value, &whole[j].value, 4 * sizeof(double));
        }
        moeg_job *job;
        assert_ok(moeg_risk_job_create(&job, p.moe, p.teacher, law, MOEG_MIX_OUTPUT, NTAU, taus, &one));
        moeg_law_free(law); /* the job keeps it */
        moeg_partial *merged = run_in_two(job, &one, 5);
        assert_ok(moeg_risk_job_result(job, merged, 0.95, NULL, NULL, again, NULL));
        for (size_t j = 0; j < NTAU; j++)
            assert_memory_equal(&again[j].value, &whole[j].value, 4 * sizeof(double));
        moeg_partial_free(merged);
        moeg_job_free(job);
    }
    problem_free(&p);
}

/* The identity map counts the rows of the standard normal law, and has its gap but for the order of the sums: blocks
 * are of another size. */
static void a_callback_law_is_the_law_it_maps_to(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 33, 4, D, 2);
    moeg_law *mapped = make_kind(4), *plain;
    assert_ok(moeg_law_gaussian_create(&plain, D, NULL, NULL));
    const double w[2] = {0.05, 0.7}, tau = 0.4;
    moeg_sampling o = options(20000, 7, 2);
    moeg_estimate a[2], b[2];
    o.method = MOEG_METHOD_MC;
    assert_ok(moeg_boundary_mass(p.router, mapped, 2, w, &o, a));
    assert_ok(moeg_boundary_mass(p.router, plain, 2, w, &o, b));
    for (size_t j = 0; j < 2; j++)
        assert_int_equal(a[j].contributing, b[j].contributing);
    assert_ok(moeg_risk_gap(p.moe, p.teacher, mapped, MOEG_MIX_LOSS, 1, &tau, &o, a));
    assert_ok(moeg_risk_gap(p.moe, p.teacher, plain, MOEG_MIX_LOSS, 1, &tau, &o, b));
    assert_near(a->value, b->value, 1e-12 * b->std_error * sqrt(20000));
    assert_relative(a->std_error, b->std_error, 1e-12);
    moeg_law_free(mapped);
    moeg_law_free(plain);
    problem_free(&p);
}

/* A map that fails where z_0 is above a limit: by its return value, or by what it writes. */
struct failing {
    double limit, value;
    int code;
};

static int failing_map(size_t n, const double *z, double *x, void *user)
{
    const struct failing *f = user;
    int result = 0;
    for (size_t i = 0; i < n; i++) {
        const int is_past = z[i * D] > f->limit;
        memcpy(x + i * D, z + i * D, D * sizeof *x);
        if (is_past && f->code != 0)
            result = f->code;
        else if (is_past)
            x[i * D + 2] = f->value;
    }
    return result;
}

static void check_failure(const struct problem *p, const moeg_law *law, moeg_status status, const char *text)
{
    enum { N = 60000 };
    const double tau = 0.4;
    moeg_estimate e, untouched;
    memset(&untouched, 42, sizeof untouched);
    static const int threads[] = {1, 2, 5};
    for (size_t t = 0; t < 3; t++) {
        const moeg_sampling o = options(N, 12, threads[t]);
        memcpy(&e, &untouched, sizeof e);
        assert_status(moeg_boundary_mass(p->router, law, 1, &tau, &o, &e), status, text);
        assert_status(moeg_boundary_exponent(p->router, moeg_gap_margin(), law, 1, &tau, &o, &e, NULL, NULL), status,
                      text);
        assert_status(moeg_risk_gap(p->moe, p->teacher, law, MOEG_MIX_OUTPUT, 1, &tau, &o, &e), status, text);
        assert_status(moeg_risk_curve(p->moe, p->teacher, law, MOEG_MIX_LOSS, 1, &tau, &o, &e, NULL, NULL, NULL),
                      status, text);
        assert_same_estimates(&e, &untouched, 1);
    }
}

static void a_failing_map_stops_the_run(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 34, 4, D, 2);
    struct failing f = {.limit = 3.9, .value = NAN};
    double z[D];
    uint64_t bad = 0;
    do
        assert_ok(moeg_stream_normals((moeg_stream){12, 0}, bad++, 1, D, z));
    while (z[0] <= f.limit);
    bad--;
    assert_true(bad > 4096 && bad < 50000); /* not in the first block, and there are more after it */
    moeg_law *law;
    assert_ok(moeg_law_callback_create(&law, D, D, MOEG_LATENT_NORMAL, failing_map, &f));
    char text[120];
    snprintf(text, sizeof text, "law_callback: coordinate 2 of sample %u must be finite, got nan from the map",
             (unsigned)bad);
    check_failure(&p, law, MOEG_ERANGE, text);
    f.code = 7;
    check_failure(&p, law, MOEG_ECALLBACK, "law_callback: the map returned 7 for samples ");
    const unsigned last = (unsigned)strtoul(strstr(moeg_last_error(), "..") + 2, NULL, 10);
    const unsigned first = (unsigned)strtoul(strstr(moeg_last_error(), "samples ") + 8, NULL, 10);
    assert_true(first <= bad && bad <= last); /* the first block that fails */
    moeg_law_free(law);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixtures),
        cmocka_unit_test(boxes),
        cmocka_unit_test(margins),
        cmocka_unit_test(margin_exponents),
        cmocka_unit_test(callbacks),
        cmocka_unit_test(threads_and_cuts_change_no_bit),
        cmocka_unit_test(a_callback_law_is_the_law_it_maps_to),
        cmocka_unit_test(a_failing_map_stops_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
