/* The moment form and the moments of the Hoelder form: against their definitions row by row, their error bars,
 * weights and threads. */
#include "limit/bound_line.h"
#include "limit/bound_problem.h"
#include "support/coverage.h"
#include "support/estimates.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_as_defined),
        cmocka_unit_test(weights_count),
        cmocka_unit_test(error_bars),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(moments_of_high_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
