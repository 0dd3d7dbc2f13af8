/* Every function that samples gives the same bits on 1, 2 and 5 threads: by rows, under every kind of law, router,
 * expert and gate; and by lines, if it draws some. A new one has to be listed here: tests/checks/threads.sh looks for
 * it, in the one list and in the other. */
#include "limit/edges.h"
#include "limit/rays.h"
#include "support/estimates.h"

#include <moegeom/flow.h>
#include <moegeom/surface.h>
#include <moegeom/symmetry.h>

enum { TAUS = 3, ROWS = 4001 };
static const double tau[TAUS] = {0.37, 0.05, 0}, w[TAUS] = {0.4, 0.02, 1.7};
static const int threads[] = {1, 2, 5};

/* All that a function writes, as bytes; what it leaves alone stays 0. */
struct outputs {
    moeg_estimate estimates[3 * TAUS];
    double numbers[TAUS * TAUS];
    uint64_t counts[1];
    moeg_status status;
};

struct call {
    const moeg_router *router;
    const moeg_moe *moe;
    const moeg_teacher *teacher;
    const moeg_law *law;
    moeg_mixing mixing;
    moeg_sampling s;
};

#define ON c->moe, c->teacher, c->law, c->mixing

static moeg_status curve(const struct call *c, struct outputs *o)
{
    moeg_estimate *e = o->estimates;
    return moeg_risk_curve(ON, TAUS, tau, &c->s, e, e + 1, e + 1 + TAUS, o->numbers);
}

static moeg_status gap(const struct call *c, struct outputs *o)
{
    return moeg_risk_gap(ON, TAUS, tau, &c->s, o->estimates);
}

static moeg_status derivative(const struct call *c, struct outputs *o)
{
    return moeg_risk_derivative(ON, TAUS - 1, tau, &c->s, o->estimates);
}

static moeg_status temperature(const struct call *c, struct outputs *o)
{
    return moeg_risk_temperature(ON, 0.1, 0.02, 2.385, &c->s, o->estimates);
}

static moeg_status moment(const struct call *c, struct outputs *o)
{
    return moeg_bound_moment(ON, TAUS, tau, &c->s, o->estimates);
}

static moeg_status holder_moment(const struct call *c, struct outputs *o)
{
    return moeg_bound_holder_moment(ON, 2.385, &c->s, o->estimates);
}

static moeg_status bernstein(const struct call *c, struct outputs *o)
{
    const moeg_output_limits limits = {.B = 1.5, .M = 0.7, .noise = 0.2};
    return moeg_bound_bernstein(c->router, moeg_moe_gate(c->moe), c->mixing, c->law, &limits, TAUS, tau, &c->s,
                                o->numbers);
}

static moeg_status mass(const struct call *c, struct outputs *o)
{
    return moeg_boundary_mass(c->router, c->law, TAUS, w, &c->s, o->estimates);
}

static moeg_status exponent(const struct call *c, struct outputs *o)
{
    moeg_estimate *e = o->estimates;
    return moeg_boundary_exponent(c->router, moeg_gap_margin(), c->law, TAUS, w, &c->s, e, e + TAUS, o->counts);
}

static moeg_status gap_mass(const struct call *c, struct outputs *o)
{
    return moeg_boundary_gap_mass(c->router, moeg_gap_order(2), c->law, TAUS, w, &c->s, o->estimates);
}

static moeg_status quantile(const struct call *c, struct outputs *o)
{
    static const double p[TAUS] = {0.03, 0.5, 0.8};
    return moeg_boundary_quantile(c->router, moeg_gap_top(2), c->law, TAUS, p, &c->s, o->estimates);
}

static moeg_status risk_job(const struct call *c, struct outputs *o)
{
    moeg_job *job;
    moeg_partial *partial;
    moeg_estimate *e = o->estimates;
    assert_ok(moeg_risk_job_create(&job, ON, TAUS, tau, &c->s));
    assert_ok(moeg_job_run(job, &c->s, 0, moeg_job_blocks(job), &partial));
    const moeg_status status = moeg_risk_job_result(job, partial, 0.9, e, e + 1, e + 1 + TAUS, o->numbers);
    moeg_partial_free(partial);
    moeg_job_free(job);
    return status;
}

static moeg_status boundary_job(const struct call *c, struct outputs *o)
{
    moeg_job *job;
    moeg_partial *partial;
    assert_ok(moeg_boundary_job_create(&job, c->router, moeg_gap_top(2), c->law, TAUS, w, &c->s));
    assert_ok(moeg_job_run(job, &c->s, 0, moeg_job_blocks(job), &partial));
    moeg_estimate *e = o->estimates;
    const moeg_status status = moeg_boundary_job_result(job, partial, 0.9, e, e + TAUS, e + 2 * TAUS, o->counts);
    moeg_partial_free(partial);
    moeg_job_free(job);
    return status;
}

static moeg_status slope(const struct call *c, struct outputs *o)
{
    return moeg_leading_slope(ON, &c->s, o->estimates);
}

static moeg_status remainder_of_gap(const struct call *c, struct outputs *o)
{
    return moeg_leading_remainder(ON, TAUS - 1, tau, &c->s, o->estimates, o->estimates + 1);
}

/* The flow of a sample: its risk and what comes first of its velocity. */
static moeg_status flow(const struct call *c, struct outputs *o)
{
    double state[64], velocity[64];
    moeg_flow *made = NULL;
    moeg_flow_options options = moeg_flow_options_default();
    options.mixing = c->mixing;
    options.symmetric = MOEG_SYMMETRIC_CONSTANT;
    options.eta_f = 1;
    moeg_status status = moeg_flow_sample_create(c->teacher, c->law, &c->s, &options, &made);
    if (status != MOEG_OK)
        return status;
    for (size_t i = 0; i < 64; i++)
        state[i] = 0.1 + 0.01 * (double)i;
    assert_true(moeg_flow_router_size(made) + moeg_flow_contrast_size(made) + moeg_flow_symmetric_size(made) <= 64);
    status = moeg_flow_velocity(made, state, o->numbers, velocity);
    memcpy(o->numbers + 1, velocity, (TAUS * TAUS - 1) * sizeof *velocity);
    moeg_flow_free(made);
    return status;
}

/* A user's feature, so that third moments are those of rows whatever the law. */
static int first_square(size_t n, const double *x, double *psi, void *user)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        psi[i] = x[EDGE_D * i] * x[EDGE_D * i];
    return 0;
}

static moeg_status symmetry(const struct call *c, struct outputs *o)
{
    const moeg_contrast contrast = moeg_contrast_user(1, first_square, NULL);
    return moeg_symmetry_sample(c->teacher, c->law, MOEG_SYMMETRIC_CONSTANT, &contrast, &c->s, o->estimates);
}

typedef moeg_status function(const struct call *c, struct outputs *o);
static function *const by_rows[] = {
    curve,    gap,      derivative, temperature, moment,       holder_moment, bernstein, mass,
    gap_mass, exponent, quantile,   risk_job,    boundary_job, flow,          symmetry,
};
static function *const by_lines[] = {curve, gap, mass, gap_mass, slope, remainder_of_gap};

static void check_call(struct call *c, size_t number, function *run)
{
    struct outputs first, other;
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        struct outputs *o = t == 0 ? &first : &other;
        memset(o, 0, sizeof *o);
        c->s.max_threads = threads[t];
        o->status = run(c, o);
        if (o->status < 0) {
            print_error("function %zu: %s\n", number, moeg_last_error());
            fail();
        }
        if (t == 0)
            continue;
        assert_same_estimates(other.estimates, first.estimates, 3 * TAUS);
        assert_memory_equal(other.numbers, first.numbers, sizeof first.numbers);
        assert_memory_equal(other.counts, first.counts, sizeof first.counts);
        assert_int_equal(other.status, first.status);
    }
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_topk_renorm(2), moeg_gate_topk_raw(2),
                               moeg_gate_subset(2)};
    const struct edge edge = {"threads", 4, 3, ROWS, 1, NO_TIE, NO_MASK};
    for (int law = 0; law < LAWS; law++)
        for (size_t g = (size_t)law % 2; g < 4; g += 2) {
            struct edge_problem p;
            moeg_moe *moe;
            edge_problem_make(&p, edge, (enum edge_law)law, (enum edge_router)(((size_t)law + g) % ROUTERS), g);
            assert_ok(moeg_moe_create(&moe, p.router, gates[g], p.experts));
            struct call c = {p.router, moe, p.teacher, p.law, (moeg_mixing)(law % 2), moeg_sampling_default()};
            c.s.n = ROWS;
            c.s.seed = 7;
            c.s.method = MOEG_METHOD_MC;
            for (size_t f = 0; f < sizeof by_rows / sizeof *by_rows; f++)
                check_call(&c, f, by_rows[f]);
            moeg_moe_free(moe);
            edge_problem_free(&p);
        }
}

static void lines_change_no_bit(void **state)
{
    (void)state;
    struct problem p;
    tetrahedron(&p);
    for (int mixing = 0; mixing < 2; mixing++) {
        struct call c = {p.router, p.moe, p.teacher, p.law, (moeg_mixing)mixing, moeg_sampling_default()};
        c.s.n = 600;
        c.s.method = MOEG_METHOD_LINE;
        for (size_t f = 0; f < sizeof by_lines / sizeof *by_lines; f++)
            check_call(&c, f, by_lines[f]);
    }
    problem_free(&p);
}

static int square(size_t n, const double *x, const size_t *i, const size_t *j, double *q, void *user)
{
    const size_t d = *(size_t *)user;
    for (size_t p = 0; p < n; p++)
        q[p] = x[p * d] * x[p * d] + (double)(i[p] + j[p]);
    return 0;
}

/* Interfaces and masses: five logits of three dimensions, in four. */
static void interfaces_change_no_bit(void **state)
{
    (void)state;
    static const double W[5 * 4] = {1, 1, 1, 0, 1, -1, -1, 0, -1, 1, -1, 0, -1, -1.3, 1, 0, 0.1, -0.05, 0.02, 0};
    size_t d = 4;
    moeg_router *router;
    moeg_law *law;
    moeg_estimate first[6], other[6];
    assert_ok(moeg_router_affine_create(&router, 5, d, W, NULL));
    assert_ok(moeg_law_gaussian_create(&law, d, NULL, NULL));
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        moeg_estimate *e = t == 0 ? first : other;
        moeg_sampling s = moeg_sampling_default();
        s.n = ROWS;
        s.method = MOEG_METHOD_LINE;
        s.max_threads = threads[t];
        assert_ok(moeg_surface_integral(router, 2, law, 1, square, &d, &s, e));
        assert_ok(moeg_surface_slope(router, 3, law, &s, e + 1));
        assert_ok(moeg_surface_slack(router, law, &s, e + 2));
        assert_ok(moeg_surface_order_constant(router, 1, law, &s, e + 3));
        assert_ok(moeg_boundary_mass(router, law, 1, w, &s, e + 4));
        assert_ok(moeg_boundary_gap_mass(router, moeg_gap_top(2), law, 1, w, &s, e + 5));
        if (t > 0)
            assert_same_estimates(other, first, 6);
    }
    moeg_router_free(router);
    moeg_law_free(law);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(lines_change_no_bit),
        cmocka_unit_test(interfaces_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
