/* The moment form and the moments of the Hoelder form: against their definitions row by row, their error bars, and what
 * cannot be had. */
#include "limit/bound_problem.h"
#include "support/coverage.h"
#include "support/estimates.h"
#include "support/failing_alloc.h"

enum { TAUS = 5 };
static const double taus[TAUS] = {0.7, 0, 1e-9, 0.03, 1e3};

typedef long double real;

static real norm_between(size_t m, const double *a, const double *b)
{
    real sum = 0;
    for (size_t j = 0; j < m; j++)
        sum += ((real)a[j] - (b == NULL ? 0 : b[j])) * ((real)a[j] - (b == NULL ? 0 : b[j]));
    return sqrtl(sum);
}

/* Q of one row by its definition, from the experts in the order of their logits: those before `winners` lose mass,
 * those up to `active` may get some, and if not all are active of TOPK_RAW, so may nothing. */
static real change_of(const struct bound_problem *p, moeg_mixing mixing, const size_t *order, double (*f)[BOUND_M],
                      const double *y)
{
    const int subset = p->gate.kind == MOEG_GATE_SUBSET;
    const size_t winners = subset ? p->gate.k : 1;
    const size_t active = subset || p->gate.kind == MOEG_GATE_SOFTMAX ? p->live : p->gate.k;
    real Q = 0, hard = 0;
    for (size_t j = 0; j < p->m; j++) {
        real mean = -y[j];
        for (size_t w = 0; w < winners; w++)
            mean += (real)f[order[w]][j] / (real)winners;
        hard += mean * mean;
    }
    for (size_t w = 0; w < winners; w++) {
        const double *from = f[order[w]];
        const real R = mixing == MOEG_MIX_LOSS ? norm_between(p->m, from, y) : sqrtl(hard);
        for (size_t l = winners; l < active; l++) {
            const real D = norm_between(p->m, f[order[l]], from);
            Q = fmaxl(Q, D * (2 * R + D));
        }
        const real D = norm_between(p->m, from, NULL);
        if (p->gate.kind == MOEG_GATE_TOPK_RAW && active < p->live)
            Q = fmaxl(Q, mixing == MOEG_MIX_LOSS ? R * R + p->noise : D * (2 * R + D));
    }
    return Q;
}

static void are_as_defined(void **state)
{
    (void)state;
    const moeg_sampling s = moeg_sampling_default();
    for (uint64_t seed = 0; seed < 150; seed++) {
        struct bound_problem p;
        double f[BOUND_K][BOUND_N * BOUND_M], y[BOUND_N * BOUND_M], gap[BOUND_N];
        size_t order[BOUND_N * BOUND_K];
        bound_problem_make(&p, 1000 + seed);
        bound_gaps(&p, gap);
        assert_ok(moeg_router_top(p.router, p.n, p.x, p.live, order));
        for (size_t k = 0; k < p.K; k++)
            assert_ok(moeg_expert_forward(p.experts[k], p.n, p.x, f[k]));
        assert_ok(moeg_teacher_mean(p.teacher, 0, p.n, p.x, y));
        const size_t mu = p.gate.kind == MOEG_GATE_SUBSET        ? p.live - p.gate.k
                          : p.gate.kind == MOEG_GATE_TOPK_RENORM ? p.gate.k - 1
                                                                 : p.live - 1;
        for (int mixing = 0; mixing < 2; mixing++) {
            moeg_estimate bound[TAUS], moment;
            real expected[TAUS] = {0}, power = 0;
            uint64_t felt[TAUS] = {0}, differ = 0, rows = 0;
            for (size_t i = 0; i < p.n; i++)
                rows += p.share[i] > 0;
            for (size_t i = 0; i < p.n && mu > 0; i++) {
                if (p.share[i] == 0)
                    continue;
                double row[BOUND_K][BOUND_M];
                for (size_t k = 0; k < p.K; k++)
                    memcpy(row[k], f[k] + i * p.m, p.m * sizeof(double));
                const real Q = change_of(&p, (moeg_mixing)mixing, order + i * p.live, row, y + i * p.m);
                power += powl(Q, 2.385L) * p.share[i];
                differ += Q > 0;
                for (size_t t = 0; t < TAUS; t++) {
                    expected[t] += taus[t] == 0 ? 0 : (real)mu * Q * expl(-gap[i] / (real)taus[t]) * p.share[i];
                    felt[t] += gap[i] <= 45 * taus[t];
                }
            }
            moeg_status status =
                moeg_bound_moment(p.moe, p.teacher, p.data, (moeg_mixing)mixing, TAUS, taus, &s, bound);
            assert_true(status == MOEG_OK || status == MOEG_EUNABLE);
            for (size_t t = 0; t < TAUS; t++) {
                /* Exponents of 745 epsilon. */
                assert_near(bound[t].value, (double)expected[t], 2000 * EPS * (double)expected[t] + DBL_TRUE_MIN);
                assert_int_equal(bound[t].n, rows);
                assert_int_equal(bound[t].contributing, mu == 0 || taus[t] == 0 ? rows : felt[t]);
                assert_true(bound[t].std_error >= 0 && (status == MOEG_EUNABLE || isfinite(bound[t].hi)));
            }
            status = moeg_bound_holder_moment(p.moe, p.teacher, p.data, (moeg_mixing)mixing, 2.385, &s, &moment);
            assert_true(status == MOEG_OK || status == MOEG_EUNABLE);
            assert_relative(moment.value, (double)power, 200 * EPS);
            assert_int_equal(moment.contributing, mu == 0 ? rows : differ);
        }
        bound_problem_free(&p);
    }
}

/* Rows with weights: those of weight 0 are as if they were not there; equal weights are none; and error bars are those
 * of weighted means. */
static void weights_count(void **state)
{
    (void)state;
    enum { N = 400 };
    struct bound_problem p;
    moeg_law *law, *rows;
    double x[N * BOUND_D], weights[N], equal[N];
    const double tau[2] = {0.5, 2.385};
    const moeg_sampling s = moeg_sampling_default();
    moeg_estimate all[3], some[3];
    bound_problem_make(&p, 3);
    assert_ok(moeg_law_gaussian_create(&law, p.d, NULL, NULL));
    assert_ok(moeg_law_sample(law, 1, 0, N, x));
    for (size_t i = 0; i < N; i++) {
        weights[i] = i < N / 2 ? 0.7 : 0;
        equal[i] = 0.3;
    }
    for (int kind = 0; kind < 2; kind++) {
        const size_t n = kind == 0 ? N / 2 : N;
        assert_ok(moeg_law_empirical_create(&rows, n, p.d, x, NULL));
        assert_ok(moeg_bound_moment(p.moe, p.teacher, rows, MOEG_MIX_LOSS, 2, tau, &s, some));
        assert_ok(moeg_bound_holder_moment(p.moe, p.teacher, rows, MOEG_MIX_LOSS, 1.3, &s, some + 2));
        moeg_law_free(rows);
        assert_ok(moeg_law_empirical_create(&rows, N, p.d, x, kind == 0 ? weights : equal));
        assert_ok(moeg_bound_moment(p.moe, p.teacher, rows, MOEG_MIX_LOSS, 2, tau, &s, all));
        assert_ok(moeg_bound_holder_moment(p.moe, p.teacher, rows, MOEG_MIX_LOSS, 1.3, &s, all + 2));
        moeg_law_free(rows);
        for (size_t t = 0; t < 3; t++) {
            assert_relative(all[t].value, some[t].value, 100 * EPS);
            assert_relative(all[t].std_error, some[t].std_error, 1000 * EPS);
            assert_relative(all[t].hi, some[t].hi, 1000 * EPS);
            assert_int_equal(all[t].n, n);
            assert_int_equal(all[t].contributing, some[t].contributing);
        }
    }
    /* Two rows that hold nearly all the weight tell nothing. */
    for (size_t i = 0; i < N; i++)
        weights[i] = i < 2 ? 1 : 1e-9;
    assert_ok(moeg_law_empirical_create(&rows, N, p.d, x, weights));
    assert_status(moeg_bound_moment(p.moe, p.teacher, rows, MOEG_MIX_LOSS, 2, tau, &s, all), MOEG_EUNABLE,
                  "the weights of 400 rows are worth 2 equal ones, fewer than 30");
    assert_status(moeg_bound_holder_moment(p.moe, p.teacher, rows, MOEG_MIX_LOSS, 1.3, &s, all + 2), MOEG_EUNABLE,
                  "the weights of 400 rows are worth 2 equal ones, fewer than 30");
    assert_true(isinf(all[0].hi) && isinf(all[2].hi));
    moeg_law_free(rows);
    moeg_law_free(law);
    bound_problem_free(&p);
}

/* x uniform in (-1, 1), s = x, f = x and -x, m = 0: Q = 8 x^2, so that E Q^p = 8^p/(2 p + 1), and E Q exp(-|x|/tau) is
 * an integral of parts. */
struct line_problem {
    moeg_law *law;
    moeg_moe *moe;
    moeg_teacher *teacher;
};

static void line_problem_make(struct line_problem *p)
{
    const double lo = -1, hi = 1, W[2] = {0.5, -0.5}, slopes[2] = {1, -1}, zero = 0;
    moeg_router *router;
    moeg_expert *experts[3];
    assert_ok(moeg_law_box_create(&p->law, 1, &lo, &hi));
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, NULL));
    for (size_t k = 0; k < 2; k++)
        assert_ok(moeg_expert_affine_create(&experts[k], 1, 1, &slopes[k], &zero));
    assert_ok(moeg_expert_constant_create(&experts[2], 1, 1, &zero));
    assert_ok(moeg_moe_create(&p->moe, router, moeg_gate_softmax(), experts));
    assert_ok(moeg_teacher_expert_create(&p->teacher, experts[2]));
    moeg_router_free(router);
    for (size_t k = 0; k < 3; k++)
        moeg_expert_free(experts[k]);
}

static void line_problem_free(struct line_problem *p)
{
    moeg_law_free(p->law);
    moeg_moe_free(p->moe);
    moeg_teacher_free(p->teacher);
}

static const double covered_taus[2] = {0.1, 1};

static moeg_status estimate_all(uint64_t seed, void *user, moeg_estimate *estimates)
{
    const struct line_problem *p = user;
    moeg_sampling s = moeg_sampling_default();
    s.n = 1000;
    s.seed = seed;
    s.level = 0.9;
    const moeg_status status =
        moeg_bound_moment(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, 2, covered_taus, &s, estimates);
    return status == MOEG_OK
               ? moeg_bound_holder_moment(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, 1.7, &s, estimates + 2)
               : status;
}

static void error_bars(void **state)
{
    (void)state;
    struct line_problem p;
    double truths[3];
    line_problem_make(&p);
    for (size_t t = 0; t < 2; t++) {
        /* integral of 8 x^2 exp(-x/tau) over (0, 1). */
        const double tau = covered_taus[t];
        truths[t] = 8 * (2 * tau * tau * tau - exp(-1 / tau) * (tau + 2 * tau * tau + 2 * tau * tau * tau));
    }
    truths[2] = pow(8, 1.7) / (2 * 1.7 + 1);
    assert_coverage(estimate_all, &p, 3, truths, 0.9, 1500, COVERAGE_EXACT);
    line_problem_free(&p);
}

static int cancel(uint64_t done, uint64_t total, void *user)
{
    (void)total;
    (void)user;
    return done > 0;
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    struct bound_problem p;
    moeg_sampling s = moeg_sampling_default();
    moeg_law *law;
    moeg_estimate one[TAUS + 1], many[TAUS + 1];
    bound_problem_make(&p, 3);
    assert_ok(moeg_law_gaussian_create(&law, p.d, NULL, NULL));
    for (int threads = 1; threads <= 5; threads += 2) {
        moeg_estimate *to = threads == 1 ? one : many;
        s.max_threads = threads;
        assert_true(moeg_bound_moment(p.moe, p.teacher, law, MOEG_MIX_LOSS, TAUS, taus, &s, to) >= 0);
        assert_true(moeg_bound_holder_moment(p.moe, p.teacher, law, MOEG_MIX_LOSS, 1.1, &s, to + TAUS) >= 0);
        assert_same_estimates(to, one, TAUS + 1);
    }
    s.max_threads = 1;
    s.progress = cancel;
    assert_status(moeg_bound_moment(p.moe, p.teacher, law, MOEG_MIX_LOSS, TAUS, taus, &s, many), MOEG_ECANCELED,
                  "bound_moment: canceled");
    assert_true(many[0].n > 0 && many[0].n < one[0].n);
    moeg_law_free(law);
    bound_problem_free(&p);
}

/* 1, and for one of them something else that no row sees. */
static int differs_far_out(size_t n, const double *x, double *out, void *user)
{
    for (size_t i = 0; i < n; i++)
        out[i] = user != NULL && x[i] > 60 ? x[i] : 1;
    return 0;
}

/* Rows that feel too little give no finite limit, and gates that cannot change a sure 0. */
static void no_false_bound(void **state)
{
    (void)state;
    struct line_problem p;
    moeg_sampling s = moeg_sampling_default();
    moeg_estimate bound[2], moment;
    const double tiny[2] = {1e-9, 0};
    line_problem_make(&p);
    assert_status(moeg_bound_moment(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tiny, &s, bound), MOEG_EUNABLE,
                  "bound_moment: tau[0] = 1e-09 is felt by 0 of 16384 rows");
    assert_true(isinf(bound[0].hi) && isinf(bound[0].std_error) && bound[0].contributing == 0);
    assert_true(bound[1].hi == 0 && bound[1].lo == 0 && bound[1].contributing == s.n);
    s.n = 29;
    assert_status(moeg_bound_moment(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, taus, &s, bound), MOEG_EUNABLE,
                  "29 rows are fewer than 30");
    assert_status(moeg_bound_holder_moment(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, &s, &moment), MOEG_EUNABLE,
                  "29 rows are fewer than 30");
    assert_true(isinf(moment.hi));
    /* The power of one row outweighs all others. */
    s.n = 100;
    assert_status(moeg_bound_holder_moment(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 50, &s, &moment), MOEG_EUNABLE,
                  "bound_holder_moment: experts differ in 100 of 100 rows, which tell as much as");
    assert_true(isinf(moment.hi) && moment.value > 0);
    s.n = 1000;

    /* Experts that agree in all rows seen, and are not known to be one. */
    const moeg_router *router = moeg_moe_router(p.moe);
    moeg_expert *same[2], *far[2];
    moeg_router *own;
    moeg_moe *moe;
    const double W[2] = {1, 0}, one = 1, masks[2] = {0, -INFINITY};
    for (size_t k = 0; k < 2; k++)
        assert_ok(moeg_expert_constant_create(&same[k], 1, 1, &one));
    assert_int_equal(moeg_router_experts(router), 2);
    assert_ok(moeg_router_affine_create(&own, 2, 1, W, NULL));
    for (size_t k = 0; k < 2; k++)
        assert_ok(moeg_expert_callback_create(&far[k], 1, 1, differs_far_out, NULL, k == 0 ? NULL : same[k]));
    assert_ok(moeg_moe_create(&moe, own, moeg_gate_subset(1), far));
    assert_status(moeg_bound_holder_moment(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, &s, &moment), MOEG_EUNABLE,
                  "experts differ in 0 of 1000 rows");
    assert_true(moment.value == 0 && isinf(moment.hi));
    /* All rows feel the temperature, but have nothing to change. */
    assert_status(moeg_bound_moment(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, taus + 4, &s, bound), MOEG_EUNABLE,
                  "is felt by 1000 of 1000 rows, but what they add to the bound is 0");
    assert_true(bound[0].value == 0 && isinf(bound[0].hi) && bound[0].contributing == 1000);
    moeg_moe_free(moe);
    moeg_expert_free(far[0]);
    moeg_expert_free(far[1]);

    const moeg_gate frozen[] = {moeg_gate_subset(2), moeg_gate_topk_renorm(1)};
    for (size_t g = 0; g < 3; g++) {
        moeg_router_free(own);
        assert_ok(moeg_router_affine_create(&own, 2, 1, W, g == 2 ? masks : NULL));
        assert_ok(moeg_moe_create(&moe, own, g == 2 ? moeg_gate_softmax() : frozen[g], same));
        assert_ok(moeg_bound_moment(moe, p.teacher, p.law, MOEG_MIX_LOSS, 2, tiny, &s, bound));
        assert_ok(moeg_bound_holder_moment(moe, p.teacher, p.law, MOEG_MIX_LOSS, 2, &s, &moment));
        assert_true(bound[0].hi == 0 && bound[0].value == 0 && moment.hi == 0 && moment.contributing == s.n);
        moeg_moe_free(moe);
    }
    moeg_router_free(own);
    moeg_expert_free(same[0]);
    moeg_expert_free(same[1]);
    line_problem_free(&p);
}

static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    struct line_problem p;
    moeg_sampling s = moeg_sampling_default(), none = s;
    moeg_law *plane;
    moeg_estimate out[TAUS] = {{.value = 42}};
    double tau[2] = {0.3, 0.1};
    line_problem_make(&p);
    none.n = 0;
    assert_ok(moeg_law_gaussian_create(&plane, 2, NULL, NULL));
#define MOMENT(moe, teacher, law, n, s, out) moeg_bound_moment(moe, teacher, law, MOEG_MIX_LOSS, n, tau, s, out)
#define POWER(moe, law, p, s, out) moeg_bound_holder_moment(moe, teacher, law, MOEG_MIX_LOSS, p, s, out)
    const moeg_teacher *teacher = p.teacher;
    assert_status(MOMENT(NULL, teacher, p.law, 2, &s, out), MOEG_EINVAL, "bound_moment: moe must not be NULL");
    assert_status(MOMENT(p.moe, NULL, p.law, 2, &s, out), MOEG_EINVAL, "bound_moment: teacher must not be NULL");
    assert_status(MOMENT(p.moe, teacher, NULL, 2, &s, out), MOEG_EINVAL, "bound_moment: law must not be NULL");
    assert_status(MOMENT(p.moe, teacher, plane, 2, &s, out), MOEG_EINVAL, "takes dimension 1, the law has 2");
    assert_status(MOMENT(p.moe, teacher, p.law, 0, &s, out), MOEG_EINVAL, "ntau must be at least 1, got 0");
    assert_status(MOMENT(p.moe, teacher, p.law, 2, &none, out), MOEG_EINVAL, "n must be at least 1");
    assert_status(MOMENT(p.moe, teacher, p.law, 2, NULL, out), MOEG_EINVAL, "NULL");
    assert_status(MOMENT(p.moe, teacher, p.law, 2, &s, NULL), MOEG_EINVAL, "bound must not be NULL");
    assert_status(moeg_bound_moment(p.moe, teacher, p.law, (moeg_mixing)2, 2, tau, &s, out), MOEG_EINVAL, "mixing");
    assert_status(moeg_bound_moment(p.moe, teacher, p.law, MOEG_MIX_LOSS, 2, NULL, &s, out), MOEG_EINVAL, "tau must");
    static const double off[] = {NAN, INFINITY, -1, 1e-301, 1e301}, powers[] = {1, 0.5, NAN, INFINITY};
    for (size_t i = 0; i < 5; i++) {
        tau[1] = off[i];
        assert_status(MOMENT(p.moe, teacher, p.law, 2, &s, out), MOEG_EINVAL, "bound_moment: tau[1] must be 0 or in");
    }
    tau[1] = 0.1;
    for (size_t i = 0; i < 4; i++)
        assert_status(POWER(p.moe, p.law, powers[i], &s, out), MOEG_EINVAL, "p must be above 1 and finite, got");
    assert_status(POWER(NULL, p.law, 2, &s, out), MOEG_EINVAL, "bound_holder_moment: moe must not be NULL");
    assert_status(POWER(p.moe, p.law, 2, NULL, out), MOEG_EINVAL, "NULL");
    assert_status(POWER(p.moe, p.law, 2, &s, NULL), MOEG_EINVAL, "moment must not be NULL");
    s.method = MOEG_METHOD_LINE;
    assert_status(MOMENT(p.moe, teacher, p.law, 2, &s, out), MOEG_EUNSUPPORTED, "method line does not apply");
    assert_status(POWER(p.moe, p.law, 2, &s, out), MOEG_EUNSUPPORTED, "method line does not apply");
    s.method = MOEG_METHOD_AUTO;
    /* 8 x^2 to the power 1e5 overflows somewhere in (-1, 1), and its square before that. */
    assert_status(POWER(p.moe, p.law, 1e5, &s, out), MOEG_ERANGE, "bound_holder_moment: the term of sample");
    assert_status(POWER(p.moe, p.law, 250, &s, out), MOEG_ERANGE, "the moment, or its variance, overflows");
    assert_near(out[0].value, 42, 0);
    moeg_law_free(plane);
    line_problem_free(&p);
}

/* Numbers of the rows that overflow, named; masked experts may. */
static void overflow_is_named(void **state)
{
    (void)state;
    const double x[2] = {1, 1}, W[2] = {1, 0}, steep[2] = {1e308, 1e308}, far = 1e308, zero = 0, large = 1e200;
    const double masks[2] = {0, -INFINITY};
    const moeg_sampling s = moeg_sampling_default();
    const double tau = 1;
    moeg_law *law;
    moeg_router *router;
    moeg_expert *plain, *inf, *large_one, *pair[2];
    moeg_moe *moe;
    moeg_teacher *teacher, *high;
    moeg_estimate out = {.value = 42};
    assert_ok(moeg_law_empirical_create(&law, 2, 1, x, NULL));
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, NULL));
    assert_ok(moeg_expert_constant_create(&plain, 1, 1, &zero));
    assert_ok(moeg_expert_constant_create(&large_one, 1, 1, &large));
    assert_ok(moeg_expert_affine_create(&inf, 1, 1, steep, &far));
    assert_ok(moeg_teacher_expert_create(&teacher, plain));
    assert_ok(moeg_teacher_expert_create(&high, inf));
    pair[0] = plain;
    pair[1] = inf;
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), pair));
    assert_status(moeg_bound_moment(moe, teacher, law, MOEG_MIX_OUTPUT, 1, &tau, &s, &out), MOEG_ERANGE,
                  "bound_moment: output 0 of expert 1 at sample 0 overflows");
    assert_status(moeg_bound_moment(moe, high, law, MOEG_MIX_LOSS, 1, &tau, &s, &out), MOEG_ERANGE,
                  "bound_moment: output 0 of the teacher at sample 0 overflows");
    moeg_moe_free(moe);
    pair[1] = large_one;
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), pair));
    assert_status(moeg_bound_moment(moe, teacher, law, MOEG_MIX_OUTPUT, 1, &tau, &s, &out), MOEG_ERANGE,
                  "bound_moment: the loss of sample 0 overflows");
    assert_near(out.value, 42, 0);
    moeg_moe_free(moe);
    moeg_router_free(router);
    pair[1] = inf;
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, masks));
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), pair));
    assert_ok(moeg_bound_moment(moe, teacher, law, MOEG_MIX_OUTPUT, 1, &tau, &s, &out));
    assert_near(out.hi, 0, 0);
    moeg_moe_free(moe);
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_topk_raw(2), pair));
    assert_status(moeg_bound_moment(moe, teacher, law, MOEG_MIX_OUTPUT, 1, &tau, &s, &out), MOEG_EDOM,
                  "bound_moment: the router masks all but 1 experts at sample 0, fewer than gate.k = 2");
    moeg_moe_free(moe);
    moeg_router_free(router);
    moeg_law_free(law);
    moeg_teacher_free(teacher);
    moeg_teacher_free(high);
    moeg_expert_free(plain);
    moeg_expert_free(large_one);
    moeg_expert_free(inf);
}

/* E Q^4 of affine experts: 2000 rows are too few for an interval that holds its level, and hi is infinite. */
static void moments_of_high_order(void **state)
{
    (void)state;
    struct problem p = bound_affine_pair();
    moeg_sampling s = moeg_sampling_default();
    s.n = 2000;
    for (s.seed = 0; s.seed < 20; s.seed++) {
        moeg_estimate e;
        assert_int_equal(moeg_bound_holder_moment(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 4, &s, &e), MOEG_EUNABLE);
        assert_true(isinf(e.hi) && isfinite(e.value));
        assert_ok(moeg_bound_holder_moment(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1.5, &s, &e));
    }
    problem_free(&p);
}

static moeg_status one_run(void *user)
{
    const struct line_problem *p = user;
    moeg_sampling s = moeg_sampling_default();
    moeg_estimate out[2] = {{.value = 42}, {.value = 42}};
    s.n = 1000;
    s.max_threads = 1;
    moeg_status status = moeg_bound_moment(p->moe, p->teacher, p->law, MOEG_MIX_LOSS, 1, taus, &s, out);
    assert_true(status == MOEG_OK || out[0].value == 42);
    if (status == MOEG_OK)
        status = moeg_bound_holder_moment(p->moe, p->teacher, p->law, MOEG_MIX_LOSS, 2, &s, out + 1);
    assert_true(status == MOEG_OK || out[1].value == 42);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct line_problem p;
    line_problem_make(&p);
    assert_true(fail_every_allocation(one_run, &p) >= 16);
    line_problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_as_defined),
        cmocka_unit_test(weights_count),
        cmocka_unit_test(error_bars),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(no_false_bound),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(overflow_is_named),
        cmocka_unit_test(moments_of_high_order),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
