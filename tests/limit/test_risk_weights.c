/* Risks under weighted rows: against sums by the definition, for all gates and both mixings. */
#include "limit/problem.h"
#include "support/estimates.h"
#include "support/random.h"

enum { N = 700, NT = 4 };
static const double tau[NT] = {0.03, 1.7, 0, 0.4};

/* The weighted mean and its standard error, by the definition. */
static void weigh(const double *w, const double *v, long double *mean, long double *error)
{
    long double W = 0, Q = 0, sum = 0;
    for (size_t i = 0; i < N; i++) {
        W += w[i];
        Q += (long double)w[i] * w[i];
        *mean = 0;
    }
    for (size_t i = 0; i < N; i++)
        *mean += w[i] * v[i] / W;
    for (size_t i = 0; i < N; i++)
        sum += (long double)w[i] * w[i] * (v[i] - *mean) * (v[i] - *mean);
    *error = sqrtl(sum / (W * W - Q));
}

/* n normal rows of three features, with weights of all sizes; every eleventh has none. */
static moeg_law *weighted_rows(uint64_t seed, size_t n, double *x, double *w)
{
    moeg_law *law;
    for (size_t i = 0; i < n; i++) {
        w[i] = i % 11 == 4 ? 0 : exp(next_normal(&seed));
        for (size_t j = 0; j < 3; j++)
            x[3 * i + j] = next_normal(&seed);
    }
    assert_ok(moeg_law_empirical_create(&law, n, 3, x, w));
    return law;
}

/* Experts 1 and -1 on two logits of one feature, and a teacher that is the first. */
static struct problem line_problem(double second)
{
    struct problem p = {.K = 2, .d = 1, .m = 1, .covariance = {1}, .W = {1, second}, .pieces = 1};
    p.c[0][0] = p.c[2][0] = 1;
    p.c[1][0] = -1;
    p.gate = moeg_gate_softmax();
    problem_build(&p);
    return p;
}

/* The values of single rows come from laws of one row: what is judged here is how they are put together. */
static void risks_are_weighted_sums(void **state)
{
    (void)state;
    const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_topk_renorm(2), moeg_gate_topk_raw(1),
                               moeg_gate_subset(2)};
    static double x[N * 3], w[N], values[1 + 2 * NT][N];
    struct problem p;
    problem_make(&p, 77, 4, 3, 2);
    const moeg_sampling s = moeg_sampling_default();
    moeg_law *law = weighted_rows(3, N, x, w), *one;
    for (size_t g = 0; g < 4; g++)
        for (int mix = 0; mix < 2; mix++) {
            moeg_moe *moe = mixture_of(&p, gates[g]);
            moeg_estimate hard, soft[NT], gap[NT];
            double covariance[NT * NT];
            for (size_t i = 0; i < N; i++) {
                assert_ok(moeg_law_empirical_create(&one, 1, 3, x + 3 * i, NULL));
                assert_true(
                    moeg_risk_curve(moe, p.teacher, one, (moeg_mixing)mix, NT, tau, &s, &hard, soft, gap, NULL) >= 0);
                moeg_law_free(one);
                values[0][i] = hard.value;
                for (size_t t = 0; t < NT; t++) {
                    values[1 + t][i] = gap[t].value;
                    values[1 + NT + t][i] = soft[t].value;
                }
            }
            assert_true(
                moeg_risk_curve(moe, p.teacher, law, (moeg_mixing)mix, NT, tau, &s, &hard, soft, gap, covariance) >= 0);
            for (size_t j = 0; j < 1 + 2 * NT; j++) {
                const moeg_estimate *e = j == 0 ? &hard : j <= NT ? &gap[j - 1] : &soft[j - 1 - NT];
                long double mean, error;
                weigh(w, values[j], &mean, &error);
                assert_near(e->value, (double)mean, 1e-13 * fmax(1, fabs((double)mean)));
                assert_int_equal(e->n, N - (N + 6) / 11);
                if (isfinite(e->std_error))
                    assert_near(e->std_error, (double)error, 1e-11 * fmax((double)error, 1e-3));
            }
            for (size_t t = 0; t < NT; t++)
                if (isfinite(gap[t].std_error))
                    assert_near(covariance[t * NT + t], gap[t].std_error * gap[t].std_error,
                                1e-12 * covariance[t * NT + t]);
            moeg_moe_free(moe);
        }
    moeg_law_free(law);
    problem_free(&p);
}

/* The derivative of the weighted sum, which is a function of tau without noise: against differences. */
static void derivatives_have_the_weights_too(void **state)
{
    (void)state;
    enum { ROWS = 300 };
    double x[ROWS * 3], w[ROWS];
    struct problem p;
    problem_make(&p, 78, 4, 3, 2);
    moeg_law *law = weighted_rows(4, ROWS, x, w);
    const moeg_sampling s = moeg_sampling_default();
    const double h = 1e-3, t = 0.8, around[4] = {t - 2 * h, t - h, t + h, t + 2 * h};
    moeg_estimate slope, gap[4];
    assert_ok(moeg_risk_derivative(p.moe, p.teacher, law, MOEG_MIX_OUTPUT, 1, &t, &s, &slope));
    assert_ok(moeg_risk_gap(p.moe, p.teacher, law, MOEG_MIX_OUTPUT, 4, around, &s, gap));
    const double difference = (8 * (gap[2].value - gap[1].value) - (gap[3].value - gap[0].value)) / (12 * h);
    assert_near(slope.value, difference, 1e-10);
    moeg_law_free(law);
    problem_free(&p);
}

/* Weight where the boundary is not: the rows near it are many but weigh nothing, and the bar is infinite. */
static void weights_decide_what_contributes(void **state)
{
    (void)state;
    enum { ROWS = 200 };
    double x[ROWS], w[ROWS], same[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        x[i] = i < 100 ? 1e-3 * (double)(i + 1) : 50 + (double)i;
        w[i] = i < 100 && i != 7 ? 1e-9 : 1;
        same[i] = 2.5;
    }
    const double t = 0.1;
    struct problem p = line_problem(0);
    moeg_law *weighted, *equal, *plain;
    moeg_estimate gap, even, none;
    const moeg_sampling s = moeg_sampling_default();
    assert_ok(moeg_law_empirical_create(&weighted, ROWS, 1, x, w));
    assert_ok(moeg_law_empirical_create(&equal, ROWS, 1, x, same));
    assert_ok(moeg_law_empirical_create(&plain, ROWS, 1, x, NULL));
    assert_status(moeg_risk_gap(p.moe, p.teacher, weighted, MOEG_MIX_OUTPUT, 1, &t, &s, &gap), MOEG_EUNABLE,
                  "as much as by 1");
    assert_true(isinf(gap.std_error) && gap.contributing == 100 && gap.value > 0);
    assert_ok(moeg_risk_gap(p.moe, p.teacher, equal, MOEG_MIX_OUTPUT, 1, &t, &s, &even));
    assert_ok(moeg_risk_gap(p.moe, p.teacher, plain, MOEG_MIX_OUTPUT, 1, &t, &s, &none));
    assert_relative(even.value, none.value, 8 * EPS);
    assert_relative(even.std_error, none.std_error, 100 * EPS);
    assert_int_equal(even.contributing, none.contributing);
    moeg_law_free(weighted);
    moeg_law_free(equal);
    moeg_law_free(plain);
    problem_free(&p);
}

/* All results of a curve. */
struct curve {
    moeg_estimate hard, soft[NT], gap[NT];
    double covariance[NT * NT];
};

static moeg_status run_curve(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law, int threads,
                             struct curve *out)
{
    moeg_sampling s = moeg_sampling_default();
    s.max_threads = threads;
    memset(out, 0, sizeof *out);
    return moeg_risk_curve(moe, teacher, law, MOEG_MIX_OUTPUT, NT, tau, &s, &out->hard, out->soft, out->gap,
                           out->covariance);
}

static void assert_same_estimate(const moeg_estimate *a, const moeg_estimate *b)
{
    assert_near(a->value, b->value, 1e-13 * fmax(1, fabs(b->value)));
    assert_near(a->std_error, b->std_error, 1e-11 * b->std_error);
    assert_near(a->lo, b->lo, 1e-11 * fmax(1, fabs(b->lo)));
    assert_near(a->hi, b->hi, 1e-11 * fmax(1, fabs(b->hi)));
    assert_true(a->n == b->n && a->contributing == b->contributing);
}

/* Rows without weight and with logits, outputs or targets that overflow, in whole blocks and among others: as if they
 * were not there, on any number of threads. */
static void rows_without_weight_are_not_there(void **state)
{
    (void)state;
    enum { MANY = 9000, KEPT = 900 };
    const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_topk_raw(1), moeg_gate_subset(2)};
    static double x[MANY * 3], y[MANY * 2], w[MANY], kept_x[KEPT * 3], kept_y[KEPT * 2], kept_w[KEPT];
    struct problem p;
    uint64_t seed = 5;
    size_t kept = 0;
    problem_make(&p, 79, 4, 3, 2);
    for (size_t i = 0; i < MANY; i++) {
        const int weighs = i >= 6000 && i % 3 == 1 && kept < KEPT;
        w[i] = weighs ? exp(next_normal(&seed)) : 0;
        for (size_t j = 0; j < 3; j++)
            x[3 * i + j] = weighs ? next_normal(&seed) : i % 2 ? 1.7e308 : -1e200;
        for (size_t j = 0; j < 2; j++)
            y[2 * i + j] = weighs ? next_normal(&seed) : 1e300;
        if (weighs) {
            memcpy(kept_x + 3 * kept, x + 3 * i, 3 * sizeof *x);
            memcpy(kept_y + 2 * kept, y + 2 * i, 2 * sizeof *y);
            kept_w[kept++] = w[i];
        }
    }
    assert_int_equal(kept, KEPT);
    moeg_law *all, *some;
    moeg_teacher *teachers[2], *kept_teachers[2] = {p.teacher, NULL};
    assert_ok(moeg_law_empirical_create(&all, MANY, 3, x, w));
    assert_ok(moeg_law_empirical_create(&some, KEPT, 3, kept_x, kept_w));
    teachers[0] = p.teacher;
    assert_ok(moeg_teacher_data_create(&teachers[1], MANY, 2, y));
    assert_ok(moeg_teacher_data_create(&kept_teachers[1], KEPT, 2, kept_y));
    for (size_t g = 0; g < 3; g++) {
        moeg_moe *moe = mixture_of(&p, gates[g]);
        for (size_t t = 0; t < 2; t++) {
            struct curve a, b, threads;
            assert_true(run_curve(moe, teachers[t], all, 1, &a) >= 0);
            assert_true(run_curve(moe, kept_teachers[t], some, 1, &b) >= 0);
            assert_same_estimate(&a.hard, &b.hard);
            for (size_t i = 0; i < NT; i++) {
                assert_same_estimate(&a.soft[i], &b.soft[i]);
                assert_same_estimate(&a.gap[i], &b.gap[i]);
            }
            for (size_t i = 0; i < NT * NT; i++)
                if (isfinite(b.covariance[i]))
                    assert_near(a.covariance[i], b.covariance[i], 1e-11 * b.covariance[i / NT * (NT + 1)]);
            assert_true(run_curve(moe, teachers[t], all, 3, &threads) >= 0);
            assert_same_estimates(&a.hard, &threads.hard, 1);
            assert_same_estimates(a.soft, threads.soft, NT);
            assert_same_estimates(a.gap, threads.gap, NT);
            assert_memory_equal(a.covariance, threads.covariance, sizeof a.covariance);
        }
        moeg_moe_free(moe);
    }
    moeg_law_free(all);
    moeg_law_free(some);
    moeg_teacher_free(teachers[1]);
    moeg_teacher_free(kept_teachers[1]);
    problem_free(&p);
}

/* A row that overflows and weighs something is named, though others that overflow weigh nothing. */
static void rows_that_overflow_are_named(void **state)
{
    (void)state;
    enum { ROWS = 300 };
    double x[ROWS * 3], w[ROWS];
    struct problem p;
    struct curve c;
    moeg_law *law;
    uint64_t seed = 6;
    problem_make(&p, 80, 4, 3, 2);
    for (size_t i = 0; i < ROWS; i++) {
        w[i] = i < 40 || i == 70 ? 0 : 0.3;
        for (size_t j = 0; j < 3; j++)
            x[3 * i + j] = i == 70 || i == 123 ? 1e200 : next_normal(&seed);
    }
    assert_ok(moeg_law_empirical_create(&law, ROWS, 3, x, w));
    assert_status(run_curve(p.moe, p.teacher, law, 1, &c), MOEG_ERANGE, "the loss of sample 123 overflows");
    moeg_law_free(law);
    for (size_t j = 0; j < 3; j++)
        x[3 * 123 + j] = j == 0 ? -1.7e308 : 1.7e308;
    assert_ok(moeg_law_empirical_create(&law, ROWS, 3, x, w));
    assert_status(run_curve(p.moe, p.teacher, law, 1, &c), MOEG_ERANGE, "sample 123 overflow");
    moeg_law_free(law);
    problem_free(&p);
}

/* Weights of all magnitudes, on rows near the boundary (|x| < 1) and far from it. */
static void extreme_weights_give_no_false_bar(void **state)
{
    (void)state;
    enum { ROWS = 200 };
    const struct {
        double near, far, one;
        const char *text;
    } cases[] = {
        {1, 1, 1, NULL},
        {1e-300, 1e-300, 1e-300, NULL},
        {1e300, 1e300, 1e300, NULL},
        {1e-170, 1, 1, "is felt by 100 of 200 rows, but what they add to the gap is 0, or its squares underflow"},
        {1e-320, 1e300, 1e300, "is felt by 0 of 100 rows"},
        {1, 1, 1e3, "the weights of 200 rows are worth 1.43"},
        {1, 1, 1e300, "the weights of 200 rows are worth 1 equal ones, fewer than 30"},
    };
    struct problem p = line_problem(-1);
    struct curve plain;
    for (size_t v = 0; v < sizeof cases / sizeof *cases; v++) {
        double x[ROWS], w[ROWS];
        struct curve c;
        moeg_law *law;
        for (size_t i = 0; i < ROWS; i++) {
            x[i] = i < 100 ? 0.01 * ((double)i - 49.5) : (double)i;
            w[i] = i < 100 ? cases[v].near : cases[v].far;
        }
        w[ROWS - 1] = cases[v].one;
        assert_ok(moeg_law_empirical_create(&law, ROWS, 1, x, w));
        const moeg_status status = run_curve(p.moe, p.teacher, law, 1, &c);
        if (v == 0)
            plain = c;
        if (cases[v].text == NULL) {
            assert_true(status >= 0 && isfinite(c.gap[1].std_error) && c.gap[1].contributing == 100);
            for (size_t t = 0; t < NT; t++)
                assert_same_estimate(&c.gap[t], &plain.gap[t]);
        } else {
            assert_status(status, MOEG_EUNABLE, cases[v].text);
            for (size_t t = 0; t < NT; t++)
                assert_true(t == 2 ? c.gap[t].hi == 0 : isinf(c.gap[t].hi) && isinf(c.covariance[t * (NT + 1)]));
        }
        moeg_law_free(law);
    }
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(risks_are_weighted_sums),          cmocka_unit_test(weights_decide_what_contributes),
        cmocka_unit_test(derivatives_have_the_weights_too), cmocka_unit_test(rows_without_weight_are_not_there),
        cmocka_unit_test(rows_that_overflow_are_named),     cmocka_unit_test(extreme_weights_give_no_false_bar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
