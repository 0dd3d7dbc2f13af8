/* Risks under weighted rows: against sums by the definition, for all gates and both mixings. */
#include "limit/problem.h"
#include "support/random.h"

enum { N = 700, NT = 4 };
static const double tau[NT] = {0.03, 1.7, 0, 0.4};

/* The weighted mean and its standard error, by the definition. */
static void weigh(const double *w, const double *v, long double *mean, long double *error)
{
    long double W = 0, sum = 0, rows = 0;
    for (size_t i = 0; i < N; i++) {
        W += w[i];
        rows += w[i] > 0;
        *mean = 0;
    }
    for (size_t i = 0; i < N; i++)
        *mean += w[i] * v[i] / W;
    for (size_t i = 0; i < N; i++)
        sum += (long double)w[i] * w[i] * (v[i] - *mean) * (v[i] - *mean);
    *error = sqrtl(sum / W / W * rows / (rows - 1));
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
    uint64_t seed = 3;
    for (size_t i = 0; i < N; i++) {
        w[i] = i % 11 == 4 ? 0 : exp(next_normal(&seed));
        for (size_t j = 0; j < 3; j++)
            x[3 * i + j] = next_normal(&seed);
    }
    const moeg_sampling s = moeg_sampling_default();
    moeg_law *law, *one;
    assert_ok(moeg_law_empirical_create(&law, N, 3, x, w));
    for (size_t g = 0; g < 4; g++)
        for (int mix = 0; mix < 2; mix++) {
            moeg_expert *experts[4];
            moeg_moe *moe;
            for (size_t k = 0; k < 4; k++)
                experts[k] = problem_expert(&p, k);
            assert_ok(moeg_moe_create(&moe, p.router, gates[g], experts));
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
            for (size_t k = 0; k < 4; k++)
                moeg_expert_free(experts[k]);
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
    uint64_t seed = 4;
    for (size_t i = 0; i < ROWS; i++) {
        w[i] = i % 11 == 4 ? 0 : exp(next_normal(&seed));
        for (size_t j = 0; j < 3; j++)
            x[3 * i + j] = next_normal(&seed);
    }
    moeg_law *law;
    assert_ok(moeg_law_empirical_create(&law, ROWS, 3, x, w));
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
    const double W[] = {1, 0}, t = 0.1, out[] = {1}, other[] = {-1};
    moeg_router *router;
    moeg_law *weighted, *equal, *plain;
    moeg_expert *experts[2], *m;
    moeg_moe *moe;
    moeg_teacher *teacher;
    moeg_estimate gap, even, none;
    const moeg_sampling s = moeg_sampling_default();
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, NULL));
    assert_ok(moeg_expert_constant_create(&experts[0], 1, 1, out));
    assert_ok(moeg_expert_constant_create(&experts[1], 1, 1, other));
    assert_ok(moeg_expert_constant_create(&m, 1, 1, out));
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), experts));
    assert_ok(moeg_teacher_expert_create(&teacher, m));
    assert_ok(moeg_law_empirical_create(&weighted, ROWS, 1, x, w));
    assert_ok(moeg_law_empirical_create(&equal, ROWS, 1, x, same));
    assert_ok(moeg_law_empirical_create(&plain, ROWS, 1, x, NULL));
    assert_status(moeg_risk_gap(moe, teacher, weighted, MOEG_MIX_OUTPUT, 1, &t, &s, &gap), MOEG_EUNABLE,
                  "as much as by 1");
    assert_true(isinf(gap.std_error) && gap.contributing == 100 && gap.value > 0);
    assert_ok(moeg_risk_gap(moe, teacher, equal, MOEG_MIX_OUTPUT, 1, &t, &s, &even));
    assert_ok(moeg_risk_gap(moe, teacher, plain, MOEG_MIX_OUTPUT, 1, &t, &s, &none));
    assert_relative(even.value, none.value, 8 * EPS);
    assert_relative(even.std_error, none.std_error, 100 * EPS);
    assert_int_equal(even.contributing, none.contributing);
    moeg_law_free(weighted);
    moeg_law_free(equal);
    moeg_law_free(plain);
    moeg_moe_free(moe);
    moeg_teacher_free(teacher);
    moeg_router_free(router);
    for (int k = 0; k < 2; k++)
        moeg_expert_free(experts[k]);
    moeg_expert_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(risks_are_weighted_sums),
        cmocka_unit_test(weights_decide_what_contributes),
        cmocka_unit_test(derivatives_have_the_weights_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
