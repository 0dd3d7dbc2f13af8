/* The flow of a sample: its velocity against the complex step of the risk as it is defined, over rows that are known.
 */
#include "dynamics/flow_rows.h"

#include <complex.h>

/* Where features of a kind of contrast, and of a symmetric expert, begin in (1, x), and how many there are. */
static size_t expand(size_t first, size_t count, const double *x, double *out)
{
    for (size_t j = 0; j < count; j++)
        out[j] = first + j == 0 ? 1 : x[first + j - 1];
    return count;
}

static size_t expand_symmetric(moeg_symmetric symmetric, const double *x, double *out)
{
    static const size_t first[] = {0, 0, 1, 0}, count[] = {0, 1, D, D + 1};
    return expand(first[symmetric], count[symmetric], x, out);
}

static size_t expand_contrast(moeg_contrast_kind kind, const double *x, double *out)
{
    if (kind == MOEG_CONTRAST_USER) {
        features(1, x, out, NULL);
        return FEATURES;
    }
    return kind == MOEG_CONTRAST_CONSTANT
               ? expand(0, 1, x, out)
               : expand(kind == MOEG_CONTRAST_LINEAR, D + (kind == MOEG_CONTRAST_AFFINE), x, out);
}

/* The risk as it is defined. */
static long double complex risk_of(const struct rows *r, const moeg_flow_options *o, const long double complex *state)
{
    long double complex sum = 0;
    long double total = 0;
    for (int i = 0; i < N; i++) {
        double psi[D + 2], tilde[D + 1];
        const double *x = r->x + i * D;
        const size_t p = expand_contrast(o->contrast.kind, x, psi), b = expand_symmetric(o->symmetric, x, tilde);
        long double complex s = 0, plus = 0, minus = 0, mixed = 0;
        for (int j = 0; j < D; j++)
            s += state[j] * x[j];
        const long double complex t = ctanhl(s / (2 * (long double)o->tau));
        for (size_t k = 0; k < OUTPUTS; k++) {
            long double complex h = 0, e = r->y[i * OUTPUTS + (int)k];
            for (size_t j = 0; j < p; j++)
                h += state[D + k * p + j] * psi[j];
            for (size_t j = 0; j < b; j++)
                e -= state[D + OUTPUTS * p + k * b + j] * tilde[j];
            plus += (e - h) * (e - h);
            minus += (e + h) * (e + h);
            mixed += (e - t * h) * (e - t * h);
        }
        total += r->w[i];
        sum += r->w[i] * (o->mixing == MOEG_MIX_OUTPUT ? mixed : (1 + t) / 2 * plus + (1 - t) / 2 * minus);
    }
    return sum / total;
}

static moeg_flow *make_flow(const struct rows *r, const moeg_flow_options *options, int threads)
{
    moeg_law *law = NULL;
    moeg_teacher *teacher = NULL;
    moeg_flow *flow = NULL;
    assert_ok(moeg_law_empirical_create(&law, N, D, r->x, r->w));
    assert_ok(moeg_teacher_data_create(&teacher, N, OUTPUTS, r->y));
    moeg_sampling s = moeg_sampling_default();
    s.max_threads = threads;
    assert_ok(moeg_flow_sample_create(teacher, law, &s, options, &flow));
    moeg_law_free(law);
    moeg_teacher_free(teacher);
    return flow;
}

static moeg_flow_options options_of(int kind)
{
    const moeg_contrast contrasts[] = {moeg_contrast_user(FEATURES, features, NULL), moeg_contrast_constant(),
                                       moeg_contrast_linear(), moeg_contrast_affine()};
    return (moeg_flow_options){.tau = 0.37,
                               .mixing = (moeg_mixing)(kind / 16),
                               .rates = {.eta_u = 0.7, .eta_c = 1.9, .lambda_u = 0.21, .lambda_c = 0.05},
                               .eta_f = kind % 3 == 0 ? 0 : 0.4,
                               .symmetric = (moeg_symmetric)(kind % 4),
                               .contrast = contrasts[kind / 4 % 4]};
}

/* The right side is minus the complex step of the risk, which is exact to rounding, times the rates, less decay: of
 * both mixings, all classes and contrasts. Where a residual is orthogonal to x~ the library leaves it out, which is
 * 1e-15 of it. */
static void test_complex_step(void **state)
{
    (void)state;
    struct rows r;
    fill(&r);
    for (int kind = 0; kind < 32; kind++) {
        const moeg_flow_options o = options_of(kind);
        moeg_flow *flow = make_flow(&r, &o, 1);
        const size_t c = moeg_flow_contrast_size(flow), size = D + c + moeg_flow_symmetric_size(flow);
        double at[MOST], velocity[MOST], risk;
        long double complex moved[MOST];
        uint64_t seed = 77;
        for (size_t i = 0; i < size; i++)
            moved[i] = at[i] = next_uniform(&seed);
        assert_ok(moeg_flow_velocity(flow, at, &risk, velocity));
        assert_relative(risk, (double)creall(risk_of(&r, &o, moved)), 1e-13);
        for (size_t i = 0; i < size; i++) {
            const long double step = 1e-300L;
            moved[i] = at[i] + step * I;
            const double slope = (double)(cimagl(risk_of(&r, &o, moved)) / step);
            moved[i] = at[i];
            const double eta = i < D ? o.rates.eta_u : i < D + c ? o.rates.eta_c : o.eta_f;
            const double lambda = i < D ? o.rates.lambda_u : i < D + c ? o.rates.lambda_c : 0;
            assert_near(velocity[i], -eta * slope - lambda * at[i], 2e-14 * (1 + fabs(slope)));
        }
        moeg_flow_free(flow);
    }
}

/* A run at time 0 has the best B: the slope of the risk there is 0 along B. */
static void test_best(void **state)
{
    (void)state;
    struct rows r;
    fill(&r);
    for (int kind = 0; kind < 4; kind++) {
        const moeg_flow_options o = options_of(kind);
        moeg_flow *flow = make_flow(&r, &o, 1);
        const size_t c = moeg_flow_contrast_size(flow), size = D + c + moeg_flow_symmetric_size(flow);
        const double zeros[MOST] = {0}, time = 0;
        double at[MOST];
        long double complex moved[MOST];
        assert_ok(moeg_flow_run(flow, zeros, zeros, 1, &time, 1e-9, 1e-9, at, NULL));
        for (size_t i = 0; i < size; i++)
            moved[i] = at[i];
        for (size_t i = D + c; i < size; i++) {
            moved[i] = at[i] + 1e-300L * I;
            assert_near((double)(cimagl(risk_of(&r, &o, moved)) / 1e-300L), 0, 1e-13);
            moved[i] = at[i];
        }
        moeg_flow_free(flow);
    }
}

/* M is what the velocity of u is at u = 0 under each contrast, over eta_u/tau. */
static void test_operator(void **state)
{
    (void)state;
    struct rows r;
    fill(&r);
    for (int kind = 0; kind < 16; kind++) {
        moeg_flow_options o = options_of(kind);
        o.rates.lambda_u = 0;
        o.mixing = MOEG_MIX_LOSS; /* no square of the contrast is felt at u = 0 */
        moeg_flow *flow = make_flow(&r, &o, 1);
        const size_t q = moeg_flow_contrast_size(flow);
        double at[MOST], velocity[MOST], M[D * OUTPUTS * FEATURES], c[OUTPUTS * FEATURES] = {0};
        const double zeros[D] = {0}, time = 0;
        assert_ok(moeg_flow_operator(flow, M));
        for (size_t j = 0; j < q; j++) {
            c[j] = 1;
            assert_ok(moeg_flow_run(flow, zeros, c, 1, &time, 1e-9, 1e-9, at, NULL));
            c[j] = 0;
            assert_ok(moeg_flow_velocity(flow, at, NULL, velocity));
            for (size_t i = 0; i < D; i++)
                assert_near(velocity[i] * o.tau / o.rates.eta_u, M[i * q + j], 1e-13);
        }
        moeg_flow_free(flow);
    }
}

/* Rows of a law that are drawn: the same bits on 1, 2 and 5 threads; those of the sample under that seed; and noise in
 * the risk alone. */
static void test_threads(void **state)
{
    (void)state;
    enum { WIDE = 17, ROWS = 3001, SIZE = 3 * WIDE + 1 };
    static double x[ROWS * WIDE];
    double v[WIDE], beta[WIDE], at[SIZE], bits[2][SIZE], risks[4], M[2][WIDE * WIDE];
    uint64_t seed = 3;
    for (int i = 0; i < SIZE; i++)
        at[i] = 0.3 * next_uniform(&seed);
    for (int j = 0; j < WIDE; j++) {
        v[j] = next_normal(&seed);
        beta[j] = next_normal(&seed);
    }
    moeg_law *law = NULL, *kept = NULL;
    moeg_teacher *teacher = halves_teacher(WIDE, v, beta, 0.25), *plain = halves_teacher(WIDE, v, beta, 0);
    assert_ok(moeg_law_gaussian_create(&law, WIDE, NULL, NULL));
    assert_ok(moeg_law_sample(law, 9, 0, ROWS, x));
    assert_ok(moeg_law_empirical_create(&kept, ROWS, WIDE, x, NULL));
    moeg_sampling s = moeg_sampling_default();
    s.n = ROWS;
    s.seed = 9;
    moeg_flow_options options = moeg_flow_options_default();
    options.eta_f = 1;
    options.tau = 0.4;
    for (int k = 0; k < 4; k++) {
        static const int threads[] = {1, 2, 5, 0};
        s.max_threads = threads[k];
        moeg_flow *flow = NULL;
        assert_ok(moeg_flow_sample_create(k < 3 ? teacher : plain, k < 3 ? law : kept, &s, &options, &flow));
        double velocity[SIZE];
        assert_ok(moeg_flow_velocity(flow, at, &risks[k], velocity));
        assert_ok(moeg_flow_operator(flow, M[k > 0]));
        memcpy(bits[k > 0], velocity, sizeof velocity);
        assert_memory_equal(bits[k > 0], bits[0], sizeof velocity);
        assert_memory_equal(M[k > 0], M[0], sizeof M[0]);
        moeg_flow_free(flow);
    }
    assert_true(risks[0] == risks[1] && risks[0] == risks[2]);
    assert_relative(risks[3] + 0.25, risks[0], 1e-15);
    moeg_teacher_free(teacher);
    moeg_teacher_free(plain);
    moeg_law_free(law);
    moeg_law_free(kept);
}

/* The plane's velocity, but for errors of the sample: root mean square difference over 40 seeds in proportion to
 * n^(-1/2), and no bias. */
static void test_population(void **state)
{
    (void)state;
    enum { SEEDS = 40, ROWS = 4000, SIZE = 7 };
    const double v[2] = {1, 0}, beta[2] = {0.7, 1.1}, at[SIZE] = {0.4, 0.3, 0.5, -0.6, 0.1, 0.2, 0.3};
    const moeg_halves halves = {.d = 2, .outputs = 1, .v = v, .beta = beta};
    moeg_flow_options options = moeg_flow_options_default();
    options.tau = 0.3;
    moeg_flow *plane = NULL;
    moeg_law *law = NULL;
    moeg_teacher *teacher = halves_teacher(2, v, beta, 0);
    double exact[SIZE], sum[SIZE] = {0}, square[SIZE] = {0};
    assert_ok(moeg_flow_plane_create(&halves, 1, &options, &plane));
    assert_ok(moeg_flow_velocity(plane, at, NULL, exact));
    assert_ok(moeg_law_gaussian_create(&law, 2, NULL, NULL));
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        moeg_sampling s = moeg_sampling_default();
        s.n = ROWS;
        s.seed = 1000 + seed;
        moeg_flow *flow = NULL;
        double velocity[SIZE];
        assert_ok(moeg_flow_sample_create(teacher, law, &s, &options, &flow));
        assert_ok(moeg_flow_velocity(flow, at, NULL, velocity));
        for (int i = 0; i < 4; i++) {
            sum[i] += velocity[i] - exact[i];
            square[i] += (velocity[i] - exact[i]) * (velocity[i] - exact[i]);
        }
        moeg_flow_free(flow);
    }
    for (int i = 0; i < 4; i++) {
        assert_true(square[i] > 0 && sqrt(square[i] / SEEDS) < 5 / sqrt(ROWS) * (1 + fabs(exact[i])));
        assert_true(fabs(sum[i]) < 4 * sqrt(square[i])); /* 4 standard errors */
    }
    moeg_flow_free(plane);
    moeg_teacher_free(teacher);
    moeg_law_free(law);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complex_step), cmocka_unit_test(test_best),       cmocka_unit_test(test_operator),
        cmocka_unit_test(test_threads),      cmocka_unit_test(test_population),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
