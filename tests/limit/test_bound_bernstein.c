/* The bound from data: its formula, over any law; that it holds as often as it says; its floor. */
#include "limit/bound_problem.h"
#include "limit/damage.h"
#include "support/coverage.h"
#include "support/failing_alloc.h"

enum { TAUS = 5 };
static const double taus[TAUS] = {0, 1e-9, 0.03, 0.7, 1e3};

/* Equal weights are none, and rows without any no rows. */
static void equal_weights(void **state)
{
    (void)state;
    enum { N = 500 };
    static const double W[] = {1, 0.3, -0.6, 0.2};
    double x[2 * N], some[N - N / 5 + 1][2], weights[N], bound[2][TAUS];
    size_t left = 0;
    for (size_t i = 0; i < N; i++) {
        x[2 * i] = problem_number(4, 2 * i);
        x[2 * i + 1] = problem_number(4, 2 * i + 1);
        weights[i] = i % 5 == 3 ? 0 : 0.7;
        if (weights[i] > 0)
            memcpy(some[left++], x + 2 * i, sizeof some[0]);
    }
    const moeg_output_limits limits = {1, 2, 0};
    const moeg_sampling s = moeg_sampling_default();
    moeg_router *router;
    moeg_law *laws[2];
    assert_ok(moeg_router_affine_create(&router, 2, 2, W, NULL));
    assert_ok(moeg_law_empirical_create(&laws[0], N, 2, x, weights));
    assert_ok(moeg_law_empirical_create(&laws[1], left, 2, some[0], NULL));
    for (int i = 0; i < 2; i++) {
        assert_ok(moeg_bound_bernstein(router, moeg_gate_softmax(), MOEG_MIX_OUTPUT, laws[i], &limits, TAUS, taus, &s,
                                       bound[i]));
        moeg_law_free(laws[i]);
    }
    for (size_t t = 0; t < TAUS; t++)
        assert_relative(bound[0][t], bound[1][t], N * EPS);
    moeg_router_free(router);
}

/* From the gaps of the rows, in long double. */
static void is_its_formula(void **state)
{
    (void)state;
    moeg_sampling s = moeg_sampling_default();
    s.level = 0.9;
    for (uint64_t seed = 0; seed < 80; seed++) {
        struct bound_problem p;
        double gap[BOUND_N], bound[TAUS];
        bound_problem_make(&p, seed);
        if (p.weighted && !bound_is_uneven(&p)) {
            bound_problem_free(&p);
            continue;
        }
        if (p.weighted) {
            bound[0] = 42;
            assert_status(moeg_bound_bernstein(p.router, p.gate, MOEG_MIX_LOSS, p.data, &(moeg_output_limits){1, 1, 1},
                                               TAUS, taus, &s, bound),
                          MOEG_EUNSUPPORTED, "bound_bernstein: the rows of the law have unequal weights");
            assert_near(bound[0], 42, 0);
            bound_problem_free(&p);
            continue;
        }
        bound_gaps(&p, gap);
        const moeg_output_limits limits = bound_limits(&p);
        const size_t mu = p.gate.kind == MOEG_GATE_SUBSET        ? p.live - p.gate.k
                          : p.gate.kind == MOEG_GATE_TOPK_RENORM ? p.gate.k - 1
                                                                 : p.live - 1;
        for (int mixing = 0; mixing < 2; mixing++) {
            double size = 4 * limits.B * (limits.B + limits.M);
            if (mixing == MOEG_MIX_LOSS && p.gate.kind == MOEG_GATE_TOPK_RAW && p.gate.k < p.live)
                size = fmax(size, (limits.B + limits.M) * (limits.B + limits.M) + limits.noise);
            assert_ok(
                moeg_bound_bernstein(p.router, p.gate, (moeg_mixing)mixing, p.data, &limits, TAUS, taus, &s, bound));
            for (size_t t = 0; t < TAUS; t++) {
                long double mean = 0, square = 0, upper = 1;
                const long double n = (long double)p.n, L = logl(20);
                for (size_t i = 0; i < p.n && taus[t] > 0; i++)
                    mean += expl(-gap[i] / (long double)taus[t]) / n;
                for (size_t i = 0; i < p.n && taus[t] > 0; i++) {
                    const long double e = expl(-gap[i] / (long double)taus[t]) - mean;
                    square += e * e;
                }
                if (p.n > 1)
                    upper = fminl(1, mean + sqrtl(2 * square / (n - 1) * L / n) + 7 * L / (3 * (n - 1)));
                /* Exponents of 745 epsilon, and the logarithms of the size. */
                assert_relative(bound[t], taus[t] == 0 ? 0 : (double)((long double)(size * (double)mu) * upper),
                                1000 * EPS);
            }
        }
        bound_problem_free(&p);
    }
}

struct covered {
    moeg_router *router;
    moeg_law *law;
};

/* s ~ N(0, sigma^2): E exp(-|s|/tau) = exp(r^2/2) erfc(r/sqrt 2), r = sigma/tau. 1000 seeds, never below the level; and
 * with the same rows as a law of data. */
static void holds_as_often_as_it_says(void **state)
{
    (void)state;
    enum { RUNS = 1000, N = 150 };
    const double W[4] = {0.3, -0.7, -0.5, 0.4}, sigma = hypot(0.8, 1.1), level = 0.9;
    const double grid[3] = {1e-3 * sigma, 0.1 * sigma, sigma}, B = 0.5;
    const moeg_output_limits limits = {B, 0, 0}; /* 4 B^2 = 1 */
    size_t covered[2][3] = {{0}}, least, most;
    moeg_sampling s = moeg_sampling_default();
    moeg_law *law, *data;
    moeg_router *router;
    s.n = N;
    s.level = level;
    assert_ok(moeg_law_gaussian_create(&law, 2, NULL, NULL));
    assert_ok(moeg_router_affine_create(&router, 2, 2, W, NULL));
    for (uint64_t run = 0; run < RUNS; run++)
        for (size_t is_data = 0; is_data < 2; is_data++) {
            double x[N * 2], bound[3];
            s.seed = COVERAGE_SEED + run;
            assert_ok(moeg_law_sample(law, s.seed, 0, N, x));
            assert_ok(moeg_law_empirical_create(&data, N, 2, x, NULL));
            assert_ok(moeg_bound_bernstein(router, moeg_gate_softmax(), MOEG_MIX_LOSS, is_data ? data : law, &limits, 3,
                                           grid, &s, bound));
            for (size_t t = 0; t < 3; t++) {
                const double r = sigma / grid[t];
                /* r = 1000: erfc by its first terms. */
                const double truth =
                    t == 0 ? sqrt(2 / 3.14159265358979) / r * (1 - 1 / (r * r)) : exp(r * r / 2) * erfc(r / sqrt(2));
                covered[is_data][t] += bound[t] >= truth;
            }
            moeg_law_free(data);
        }
    coverage_band(RUNS, level, 0.0005, &least, &most);
    for (size_t is_data = 0; is_data < 2; is_data++)
        for (size_t t = 0; t < 3; t++)
            assert_true(covered[is_data][t] >= least);
    moeg_router_free(router);
    moeg_law_free(law);
}

static void falls_to_a_floor(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 3, 4, 3, 1);
    const moeg_output_limits limits = {0.5, 0, 0};
    moeg_sampling s = moeg_sampling_default();
    double grid[20], bound[20];
    for (size_t t = 0; t < 20; t++)
        grid[t] = pow(10, -(double)t);
    for (s.n = 1; s.n < 100000; s.n *= 10) {
        assert_ok(
            moeg_bound_bernstein(p.router, moeg_gate_softmax(), MOEG_MIX_OUTPUT, p.law, &limits, 20, grid, &s, bound));
        for (size_t t = 1; t < 20; t++)
            assert_true(bound[t] <= bound[t - 1]);
        const double floor = s.n == 1 ? 1 : fmin(1, 7 * log(40) / (3 * (double)(s.n - 1)));
        assert_relative(bound[19], 3 * floor, 100 * EPS);
    }
    problem_free(&p);
}

static int cancel(uint64_t done, uint64_t total, void *user)
{
    (void)total;
    return done >= *(const uint64_t *)user;
}

/* As if it had been canceled before the first block. */
static moeg_status run_none(const moeg_runner *self, const moeg_job *job, const moeg_sampling *s, uint64_t first,
                            uint64_t end, moeg_partial **partial)
{
    (void)self;
    (void)end;
    const moeg_status status = moeg_runner_openmp.run(&moeg_runner_openmp, job, s, first, first, partial);
    return status == MOEG_OK ? MOEG_ECANCELED : status;
}

static void runs_as_any_job(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 5, 4, 6, 1);
    const moeg_output_limits limits = {0.5, 0, 0};
    moeg_sampling s = moeg_sampling_default();
    double one[TAUS], more[TAUS];
    for (int threads = 1; threads <= 5; threads += 2) {
        s.max_threads = threads;
        assert_ok(moeg_bound_bernstein(p.router, moeg_gate_subset(2), MOEG_MIX_OUTPUT, p.law, &limits, TAUS, taus, &s,
                                       threads == 1 ? one : more));
        if (threads > 1)
            assert_memory_equal(one, more, sizeof one);
    }
    /* Of a run that is cut short over the rows done: a bound, but a larger one; over no row, from the range alone. */
    uint64_t wanted = 1;
    s.max_threads = 1;
    s.progress = cancel;
    s.progress_user = &wanted;
    assert_status(
        moeg_bound_bernstein(p.router, moeg_gate_subset(2), MOEG_MIX_OUTPUT, p.law, &limits, TAUS, taus, &s, more),
        MOEG_ECANCELED, "bound_bernstein: canceled");
    for (size_t t = 1; t < TAUS; t++)
        assert_true(more[t] > 0 && more[t] <= 2 * (1 + 1000 * EPS) && (t > 2 || more[t] > one[t]));
    /* 4 B (B + M) (K - k), but for tau = 0. */
    const moeg_runner none = {run_none, NULL};
    s.progress = NULL;
    s.runner = &none;
    assert_status(
        moeg_bound_bernstein(p.router, moeg_gate_subset(2), MOEG_MIX_OUTPUT, p.law, &limits, TAUS, taus, &s, more),
        MOEG_ECANCELED, "bound_bernstein: canceled");
    for (size_t t = 0; t < TAUS; t++)
        assert_near(more[t], t == 0 ? 0 : 2, 1000 * EPS);
    problem_free(&p);
}

/* A runner that brings back what no rows can have left. */
static void damaged_results_are_refused(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 5, 4, 6, 1);
    const moeg_output_limits limits = {0.5, 0, 0};
    static const double no_moments[] = {-0.1, 1e300, NAN, INFINITY};
    struct damage damage;
    const moeg_runner runner = {run_and_damage, &damage};
    moeg_sampling s = moeg_sampling_default();
    double out[2] = {42, 43};
    s.n = 500;
    s.runner = &runner;
    for (size_t at = 0; at < 5; at++)
        for (size_t i = 0; i < (at == 0 ? (size_t)NO_COUNTS : 4); i++) {
            char text[32];
            damage = (struct damage){at, at == 0 ? no_counts[i] : no_moments[i]};
            snprintf(text, sizeof text, "(state[%zu]) must be", at);
            assert_status(moeg_bound_bernstein(p.router, moeg_gate_softmax(), MOEG_MIX_OUTPUT, p.law, &limits, 2,
                                               taus + 1, &s, out),
                          MOEG_EINVAL, "bound_bernstein: the partial result is damaged: ");
            assert_non_null(strstr(moeg_last_error(), text));
            assert_true(out[0] == 42 && out[1] == 43);
        }
    problem_free(&p);
}

static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    struct problem p;
    problem_draw(&p, 7, 3, 2, 1);
    p.b[0] = p.b[2] = -INFINITY;
    problem_build(&p);
    moeg_law *line;
    const moeg_gate gate = moeg_gate_softmax(), odd = {(moeg_gate_kind)9, 0};
    const moeg_output_limits limits = {0.5, 0, 0}, bad = {-1, 0, 0};
    double tau[2] = {0.3, 0.1}, out[2] = {42, 42};
    moeg_sampling s = moeg_sampling_default(), none = s;
    none.n = 0;
    assert_ok(moeg_law_gaussian_create(&line, 1, NULL, NULL));
#define BERNSTEIN(router, gate, law, limits, n, s, out)                                                                \
    moeg_bound_bernstein(router, gate, MOEG_MIX_OUTPUT, law, limits, n, tau, s, out)
    assert_status(BERNSTEIN(NULL, gate, p.law, &limits, 2, &s, out), MOEG_EINVAL,
                  "bound_bernstein: router must not be");
    assert_status(BERNSTEIN(p.router, gate, NULL, &limits, 2, &s, out), MOEG_EINVAL, "law must not be NULL");
    assert_status(BERNSTEIN(p.router, gate, line, &limits, 2, &s, out), MOEG_EINVAL,
                  "takes dimension 2, the law has 1");
    assert_status(BERNSTEIN(p.router, odd, p.law, &limits, 2, &s, out), MOEG_EINVAL, "gate.kind must be one of");
    assert_status(moeg_bound_bernstein(p.router, gate, (moeg_mixing)-1, p.law, &limits, 2, tau, &s, out), MOEG_EINVAL,
                  "mixing must be output (0) or loss (1), got -1");
    assert_status(BERNSTEIN(p.router, gate, p.law, NULL, 2, &s, out), MOEG_EINVAL, "limits must not be NULL");
    assert_status(BERNSTEIN(p.router, gate, p.law, &bad, 2, &s, out), MOEG_EINVAL, "B must be finite and at least 0");
    assert_status(BERNSTEIN(p.router, gate, p.law, &limits, 0, &s, out), MOEG_EINVAL, "ntau must be at least 1");
    assert_status(moeg_bound_bernstein(p.router, gate, MOEG_MIX_LOSS, p.law, &limits, 2, NULL, &s, out), MOEG_EINVAL,
                  "tau must not be NULL");
    assert_status(BERNSTEIN(p.router, gate, p.law, &limits, 2, &none, out), MOEG_EINVAL, "n must be at least 1");
    assert_status(BERNSTEIN(p.router, gate, p.law, &limits, 2, NULL, out), MOEG_EINVAL, "NULL");
    assert_status(BERNSTEIN(p.router, gate, p.law, &limits, 2, &s, NULL), MOEG_EINVAL, "bound must not be NULL");
    static const double taus_off[] = {NAN, INFINITY, -1, 1e-301, 1e301};
    for (size_t i = 0; i < 5; i++) {
        tau[1] = taus_off[i];
        assert_status(BERNSTEIN(p.router, gate, p.law, &limits, 2, &s, out), MOEG_EINVAL, "tau[1] must be 0 or in");
    }
    tau[1] = 0.1;
    s.method = MOEG_METHOD_LINE;
    assert_status(BERNSTEIN(p.router, gate, p.law, &limits, 2, &s, out), MOEG_EUNSUPPORTED,
                  "method line does not apply: the bound is a mean over rows");
    s.method = MOEG_METHOD_AUTO;
    assert_status(BERNSTEIN(p.router, moeg_gate_subset(2), p.law, &limits, 2, &s, out), MOEG_EDOM,
                  "masks all but 1 experts at sample 0, fewer than gate.k = 2");
    assert_near(out[0], 42, 0);
    assert_near(out[1], 42, 0);
    /* One expert that is not masked: nothing moves. */
    assert_ok(BERNSTEIN(p.router, gate, p.law, &limits, 2, &s, out));
    assert_true(out[0] == 0 && out[1] == 0);
    moeg_law_free(line);
    problem_free(&p);
    const double steep[2] = {1e308, -1e308}, box[2] = {1, 2};
    moeg_router *router;
    out[0] = 42;
    assert_ok(moeg_law_box_create(&line, 1, &box[0], &box[1]));
    assert_ok(moeg_router_affine_create(&router, 2, 1, steep, NULL));
    assert_status(BERNSTEIN(router, gate, line, &limits, 2, &s, out), MOEG_ERANGE,
                  "bound_bernstein: logits of sample 0 overflow");
    assert_near(out[0], 42, 0);
    moeg_router_free(router);
    moeg_law_free(line);
}

static moeg_status one_run(void *user)
{
    const struct problem *p = user;
    const moeg_output_limits limits = {0.5, 0, 0};
    moeg_sampling s = moeg_sampling_default();
    double bound[TAUS] = {42};
    s.n = 300;
    s.max_threads = 1;
    const moeg_status status =
        moeg_bound_bernstein(p->router, moeg_gate_softmax(), MOEG_MIX_LOSS, p->law, &limits, TAUS, taus, &s, bound);
    assert_true(status == MOEG_OK || bound[0] == 42);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 9, 3, 5, 1);
    assert_true(fail_every_allocation(one_run, &p) >= 8);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_weights),
        cmocka_unit_test(is_its_formula),
        cmocka_unit_test(holds_as_often_as_it_says),
        cmocka_unit_test(falls_to_a_floor),
        cmocka_unit_test(runs_as_any_job),
        cmocka_unit_test(damaged_results_are_refused),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
