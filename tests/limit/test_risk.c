/* Sampled risks, row by row against their definitions in long double: laws, teachers, masks, ties, temperatures. */
#include "limit/problem.h"

enum { MOST_TAU = 9 };
static const moeg_mixing both[] = {MOEG_MIX_OUTPUT, MOEG_MIX_LOSS};

/* Sums over all rows by the obvious loop. */
struct oracle {
    long double hard, hard_error, soft[MOST_TAU], soft_error[MOST_TAU], gap[MOST_TAU], size[MOST_TAU];
    long double covariance[MOST_TAU][MOST_TAU];
    long double weight[MOST_TAU][2];
    size_t felt[MOST_TAU];
};

/* y (n x m): the teacher's values. Two passes over n rows of losses. */
static void sum_rows(const struct problem *p, const moeg_law *law, const double *y, moeg_mixing mixing, size_t ntau,
                     const double *tau, uint64_t seed, size_t n, struct oracle *o)
{
    double *x = malloc(n * p->d * sizeof *x), *logits = malloc(n * p->K * sizeof *logits);
    struct losses *rows = malloc(n * ntau * sizeof *rows);
    assert_true(x != NULL && logits != NULL && rows != NULL);
    assert_ok(moeg_law_sample(law, seed, 0, n, x));
    assert_ok(moeg_router_logits(p->router, n, x, logits));
    memset(o, 0, sizeof *o);
    for (size_t i = 0; i < n; i++)
        for (size_t t = 0; t < ntau; t++) {
            long double target[MOST_M];
            for (size_t j = 0; j < p->m; j++)
                target[j] = y[i * p->m + j];
            struct losses l = problem_losses(p, mixing, tau[t], x + i * p->d, logits + i * p->K, target);
            if (moeg_law_rows(law) == 0 && l.margin > 45 * tau[t]) { /* A sampled row that does not feel tau. */
                l.gap = 0;
                l.soft = l.hard;
            }
            rows[i * ntau + t] = l;
            o->hard += t == 0 ? l.hard / n : 0;
            o->soft[t] += l.soft / n;
            o->gap[t] += l.gap / n;
            o->size[t] += (fabsl(l.gap) + (tau[t] > 0 ? expl(-l.margin / tau[t]) * (1 + l.hard) : 0)) / n;
            if (tau[t] == 0 || l.margin <= 45 * tau[t]) {
                const long double v = tau[t] == 0 ? 1 : fabsl(l.gap);
                o->felt[t]++;
                o->weight[t][0] += v;
                o->weight[t][1] += v * v;
            }
        }
    for (size_t i = 0; i < n; i++)
        for (size_t t = 0; t < ntau; t++) {
            const struct losses *l = rows + i * ntau;
            o->hard_error += t == 0 ? (l[0].hard - o->hard) * (l[0].hard - o->hard) : 0;
            o->soft_error[t] += (l[t].soft - o->soft[t]) * (l[t].soft - o->soft[t]);
            for (size_t u = 0; u < ntau; u++)
                o->covariance[t][u] += (l[t].gap - o->gap[t]) * (l[u].gap - o->gap[u]) / ((long double)n * (n - 1));
        }
    o->hard_error = sqrtl(o->hard_error / ((long double)n * (n - 1)));
    for (size_t t = 0; t < ntau; t++)
        o->soft_error[t] = sqrtl(o->soft_error[t] / ((long double)n * (n - 1)));
    free(x);
    free(logits);
    free(rows);
}

/* Whether as many rows of equal weight as the sample is worth are enough for an error bar. */
static int tells(const struct oracle *o, size_t t)
{
    const long double sum = o->weight[t][0], squares = o->weight[t][1];
    return o->felt[t] >= MOEG_ENOUGH_UNITS && sum * sum >= MOEG_ENOUGH_UNITS * squares;
}

static void check_estimate(const moeg_estimate *e, size_t n, size_t felt, int told, long double value,
                           long double tolerance, long double error, long double error_tolerance)
{
    assert_near(e->value, (double)value, (double)tolerance);
    assert_int_equal(e->n, n);
    assert_int_equal(e->contributing, felt);
    assert_int_equal(e->method, MOEG_METHOD_MC);
    assert_near(e->quad_error, 0, 0);
    if (!told) {
        assert_true(isinf(e->std_error) && e->lo == -INFINITY && e->hi == INFINITY);
    } else {
        assert_near(e->std_error, (double)error, (double)error_tolerance);
        assert_true(e->lo <= e->value && e->value <= e->hi);
    }
}

/* The rows' own rounding: expert outputs are sums of d + 1 products, the rest a few dozen operations. Where the teacher
 * is the model itself, a residual is rounding alone, of size 1e-14 at the most, and its square is the floor. */
#define ROW_EPS (1e-13L)
#define FLOOR (1e-28L)

static void check_curve(const struct problem *p, const moeg_law *law, moeg_teacher *teacher, moeg_mixing mixing,
                        size_t ntau, const double *tau, size_t n, uint64_t seed)
{
    moeg_sampling s = moeg_sampling_default();
    moeg_estimate hard, soft[MOST_TAU], gap[MOST_TAU];
    double covariance[MOST_TAU * MOST_TAU], *x = malloc(n * p->d * sizeof *x), *y = malloc(n * p->m * sizeof *y);
    struct oracle o;
    int few = n < MOEG_ENOUGH_UNITS;
    assert_true(x != NULL && y != NULL);
    s.method = MOEG_METHOD_MC;
    s.n = n;
    s.seed = seed;
    assert_ok(moeg_law_sample(law, seed, 0, n, x));
    assert_ok(moeg_teacher_mean(teacher, 0, n, x, y));
    sum_rows(p, law, y, mixing, ntau, tau, seed, n, &o);
    const moeg_status status =
        moeg_risk_curve(p->moe, teacher, law, mixing, ntau, tau, &s, &hard, soft, gap, covariance);
    check_estimate(&hard, n, n, n >= MOEG_ENOUGH_UNITS, o.hard, ROW_EPS * o.hard + FLOOR, o.hard_error,
                   1e-12L * o.hard_error + FLOOR);
    for (size_t t = 0; t < ntau; t++) {
        const long double size = o.size[t], scale = o.soft[t] + o.hard;
        check_estimate(soft + t, n, o.felt[t], tells(&o, t), o.soft[t], ROW_EPS * scale + FLOOR, o.soft_error[t],
                       1e-12L * scale + FLOOR);
        if (tau[t] == 0)
            assert_true(gap[t].value == 0 && gap[t].std_error == 0 && gap[t].lo == 0 && gap[t].hi == 0 &&
                        gap[t].contributing == n);
        else
            check_estimate(gap + t, n, o.felt[t], tells(&o, t), o.gap[t], ROW_EPS * size, sqrtl(o.covariance[t][t]),
                           1e-12L * sqrtl(o.covariance[t][t]) + ROW_EPS * size);
        few |= !tells(&o, t);
        for (size_t u = 0; u < ntau; u++) {
            const double got = covariance[t * ntau + u];
            const int unknown = !tells(&o, t) || !tells(&o, u);
            if (tau[t] == 0 || tau[u] == 0)
                assert_near(got, 0, 0);
            else if (unknown)
                assert_true(t == u ? got == INFINITY : isnan(got));
            else
                assert_near(got, (double)o.covariance[t][u],
                            1e-12 * (double)sqrtl(o.covariance[t][t] * o.covariance[u][u]));
        }
        if (tau[t] == 0)
            assert_near(soft[t].value, hard.value, 0);
    }
    assert_int_equal(status, few ? MOEG_EUNABLE : MOEG_OK);
    /* The gaps alone are the same numbers. */
    moeg_estimate alone[MOST_TAU];
    assert_int_equal(moeg_risk_gap(p->moe, teacher, law, mixing, ntau, tau, &s, alone), status);
    for (size_t t = 0; t < ntau; t++)
        assert_near(alone[t].value, gap[t].value, 0);
    free(x);
    free(y);
}

static const double taus[MOST_TAU] = {0.3, 1e300, 0, 37, 1e-3, 1, 0.05, 1e-300, 0.3};

static void sampled_rows(void **state)
{
    (void)state;
    static const size_t shapes[][3] = {{2, 1, 1}, {3, 2, 2}, {8, 6, 4}, {5, 1, 3}};
    static const size_t sizes[] = {2, 63, 64, 65, 3000};
    for (size_t i = 0; i < 4; i++) {
        struct problem p;
        problem_make(&p, 70 + i, shapes[i][0], shapes[i][1], shapes[i][2]);
        moeg_teacher *hard, *soft;
        assert_ok(moeg_teacher_moe_create(&hard, p.moe, 0));
        assert_ok(moeg_teacher_moe_create(&soft, p.moe, 0.7));
        for (size_t j = 0; j < 5; j++)
            for (int k = 0; k < 2; k++) {
                check_curve(&p, p.law, p.teacher, both[k], MOST_TAU, taus, sizes[j], 0x123456789abcdef0u + j);
                if (sizes[j] == 65) {
                    check_curve(&p, p.law, hard, both[k], MOST_TAU, taus, sizes[j], 5);
                    check_curve(&p, p.law, soft, both[k], MOST_TAU, taus, sizes[j], 5);
                }
            }
        moeg_teacher_free(hard);
        moeg_teacher_free(soft);
        problem_free(&p);
    }
}

/* One row has no variance, and its risks no error bar. */
static void one_row(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 75, 3, 2, 1);
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_MC;
    s.n = 1;
    const double tau = 1;
    moeg_estimate hard, gap;
    double covariance;
    assert_status(
        moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &hard, NULL, &gap, &covariance),
        MOEG_EUNABLE, "risk_curve: 1 rows are fewer than 30");
    assert_true(isfinite(hard.value) && isinf(hard.std_error) && isinf(hard.hi) && isfinite(gap.value));
    assert_true(covariance == INFINITY);
    problem_free(&p);
}

/* A soft teacher at its own temperature leaves no soft risk at all: no negative mean, no error bar around rounding. */
static void a_perfect_student(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 76, 4, 3, 2);
    moeg_teacher *soft;
    const double tau = 0.7;
    assert_ok(moeg_teacher_moe_create(&soft, p.moe, tau));
    moeg_sampling s = moeg_sampling_default();
    moeg_estimate hard, e;
    assert_ok(moeg_risk_curve(p.moe, soft, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &hard, &e, NULL, NULL));
    assert_true(e.value >= 0 && e.value < 1e-28 * hard.value);
    moeg_teacher_free(soft);
    problem_free(&p);
}

/* Data: a sum over its rows is exact, down to the smallest gaps; the options' n and seed are not looked at. */
static void data_sums_are_exact(void **state)
{
    (void)state;
    enum { N = 333 };
    struct problem p;
    problem_draw(&p, 80, 4, 3, 2);
    for (size_t k = 0; k < p.K; k++)
        p.b[k] = k == 2 ? 900 : p.b[k]; /* Every margin is near 900. */
    problem_build(&p);
    double x[N * 3], y[N * 2];
    assert_ok(moeg_stream_normals((moeg_stream){80, 3}, 0, N, 3, x));
    assert_ok(moeg_stream_normals((moeg_stream){80, 4}, 0, N, 2, y));
    moeg_law *data;
    moeg_teacher *column;
    assert_ok(moeg_law_empirical_create(&data, N, 3, x, NULL));
    assert_ok(moeg_teacher_data_create(&column, N, 2, y));
    moeg_sampling s = moeg_sampling_default();
    s.n = 7;
    /* Down to gates near e^-745, in the subnormals, where precision is absolute. */
    static const double grid[] = {1e4, 25, 19, 9, 3, 1.5, 1.28, 1.25, 1.22};
    for (int k = 0; k < 2; k++) {
        moeg_estimate hard, soft[MOST_TAU], gap[MOST_TAU];
        struct oracle o;
        sum_rows(&p, data, y, both[k], MOST_TAU, grid, 0, N, &o);
        assert_status(moeg_risk_curve(p.moe, column, data, both[k], MOST_TAU, grid, &s, &hard, soft, gap, NULL),
                      MOEG_EUNABLE, "risk_curve: tau[2] = 19 is felt by 0 of 333 rows, as much as by 0 of");
        for (size_t t = 0; t < MOST_TAU; t++) {
            /* A gate e^-w knows w to 2 epsilon w. */
            assert_near(gap[t].value, (double)o.gap[t], (double)(3000 * EPS * o.size[t]) + 200 * DBL_TRUE_MIN);
            assert_true(gap[t].value != 0);
            assert_int_equal(gap[t].n, N);
            assert_int_equal(gap[t].contributing, o.felt[t]);
            assert_near(soft[t].value, (double)o.soft[t], 1e-13 * (double)o.soft[t]);
        }
        assert_near(hard.value, (double)o.hard, 1e-13 * (double)o.hard);
    }
    moeg_law_free(data);
    moeg_teacher_free(column);
    problem_free(&p);
}

/* Integer rows tie exactly; the lowest index wins, and half of the gate is the other's at every temperature. */
static void exact_ties(void **state)
{
    (void)state;
    enum { N = 200 };
    double x[2 * N];
    for (size_t i = 0; i < N; i++) {
        x[2 * i] = (double)(i * i % 7) - 3;
        x[2 * i + 1] = (double)(i % 5) - 2;
    }
    struct problem p;
    problem_draw(&p, 81, 3, 2, 2);
    const double W[] = {1, 0, 0, 1, 0.5, 0.5}, zero[] = {0, 0, 0};
    memcpy(p.W, W, sizeof W);
    memcpy(p.b, zero, sizeof zero);
    problem_build(&p);
    moeg_law *data;
    assert_ok(moeg_law_empirical_create(&data, N, 2, x, NULL));
    static const double grid[] = {1e-300, 0.1, 0, 1, 5e-324 + 1e-299, 1e300};
    for (int k = 0; k < 2; k++)
        check_curve(&p, data, p.teacher, both[k], 6, grid, N, 1);
    moeg_law_free(data);
    problem_free(&p);
}

static void masked_experts(void **state)
{
    (void)state;
    struct problem p, without;
    problem_draw(&p, 82, 4, 3, 2);
    p.b[1] = -INFINITY;
    p.c[1][0] = 1e308; /* Its output overflows in sums: nothing of it may be seen. */
    p.A[1][0] = 1e308;
    p.A[1][1] = 1e308;
    problem_build(&p);
    without = p;
    without.K = 3;
    for (size_t k = 1; k < 3; k++) {
        memcpy(without.W + k * 3, p.W + (k + 1) * 3, 3 * sizeof(double));
        without.b[k] = p.b[k + 1];
    }
    for (size_t k = 1; k < 4; k++) {
        memcpy(without.A[k], p.A[k + 1], sizeof p.A[k]);
        memcpy(without.c[k], p.c[k + 1], sizeof p.c[k]);
    }
    problem_build(&without);
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_MC;
    const double tau[] = {0.3, 1e300};
    for (int k = 0; k < 2; k++) {
        moeg_estimate gap[2], expected[2];
        assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, both[k], 2, tau, &s, gap));
        assert_ok(moeg_risk_gap(without.moe, without.teacher, without.law, both[k], 2, tau, &s, expected));
        for (size_t t = 0; t < 2; t++) {
            /* Block sizes differ, and with them the order of sums. */
            assert_relative(gap[t].value, expected[t].value, 1e-12);
            assert_relative(gap[t].std_error, expected[t].std_error, 1e-12);
        }
    }
    problem_free(&p);
    problem_free(&without);
    /* One expert left: the gap is 0 for every input, and no sample can make that doubtful. */
    problem_draw(&p, 83, 3, 2, 1);
    p.b[0] = p.b[2] = -INFINITY;
    problem_build(&p);
    moeg_estimate hard, soft[2], gap[2];
    double covariance[4];
    assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tau, &s, &hard, soft, gap, covariance));
    for (size_t t = 0; t < 2; t++) {
        assert_near(gap[t].value, 0, 0);
        assert_true(gap[t].std_error == 0 && gap[t].lo == 0 && gap[t].hi == 0 && covariance[3 * t] == 0);
        assert_int_equal(gap[t].contributing, s.n);
        assert_near(soft[t].value, hard.value, 0);
        assert_relative(soft[t].std_error, hard.std_error, 4 * EPS); /* Two accumulators, two orders of sums. */
    }
    problem_free(&p);
}

static void no_false_zero(void **state)
{
    (void)state;
    struct problem p;
    problem_draw(&p, 84, 3, 2, 1);
    p.b[0] = 9; /* Far from any interface. */
    problem_build(&p);
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_MC;
    s.n = 1000;
    const double tau[] = {1, 1e-9};
    moeg_estimate soft[2], gap[2];
    assert_status(moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 2, tau, &s, NULL, soft, gap, NULL),
                  MOEG_EUNABLE,
                  "risk_curve: tau[1] = 1e-09 is felt by 0 of 1000 rows, as much as by 0 of equal weight; fewer than "
                  "30 do not tell a gap");
    assert_near(gap[1].value, 0, 0);
    assert_true(isinf(gap[1].std_error) && gap[1].lo == -INFINITY && gap[1].hi == INFINITY);
    assert_true(isinf(soft[1].std_error) && isinf(soft[1].hi));
    assert_true(gap[0].value != 0 && isfinite(gap[0].std_error) && gap[0].contributing >= 990);
    problem_free(&p);
}

/* As many rows as are enough, all at one margin: they weigh the same, and rounding must not make one fewer of them. */
static void rows_of_equal_weight(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 86, 3, 1, 1);
    double x[MOEG_ENOUGH_UNITS];
    for (size_t i = 0; i < MOEG_ENOUGH_UNITS; i++)
        x[i] = 0.385;
    moeg_law *data;
    assert_ok(moeg_law_empirical_create(&data, MOEG_ENOUGH_UNITS, 1, x, NULL));
    const moeg_sampling s = moeg_sampling_default();
    for (uint64_t i = 0; i < 200; i++) {
        const double tau = exp(1 + problem_number(86, 100 + i));
        moeg_estimate gap;
        assert_ok(moeg_risk_gap(p.moe, p.teacher, data, MOEG_MIX_OUTPUT, 1, &tau, &s, &gap));
        assert_true(gap.value != 0 && gap.contributing == MOEG_ENOUGH_UNITS && isfinite(gap.std_error));
    }
    moeg_law_free(data);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampled_rows),      cmocka_unit_test(one_row),
        cmocka_unit_test(a_perfect_student), cmocka_unit_test(data_sums_are_exact),
        cmocka_unit_test(exact_ties),        cmocka_unit_test(masked_experts),
        cmocka_unit_test(no_false_zero),     cmocka_unit_test(rows_of_equal_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
