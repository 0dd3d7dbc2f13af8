/* Method AUTO never fails where rows do not. */
#include "limit/auto_choice.h"
#include "support/random.h"

/* By name it fails, so; by AUTO it is rows. */
static void check_failure(const struct problem *p, moeg_status expected, const char *text)
{
    const double tau = 0.3;
    const moeg_sampling line = options_by(MOEG_METHOD_LINE, 1 << 10);
    moeg_estimate gap;
    assert_status(moeg_risk_gap(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, 1, &tau, &line, &gap), expected, text);
    check_risk(p->moe, p->teacher, p->law, 1 << 10, MOEG_METHOD_MC);
}

/* Functions that are good for some standard deviations: one says so, the other overflows. */
static int near_by(size_t n, const double *x, double *out, void *user)
{
    (void)user;
    for (size_t i = 0; i < n; i++) {
        if (fabs(x[i]) > 20)
            return 5;
        out[i] = x[i] * x[i];
    }
    return 0;
}

static int steep(size_t n, const double *x, double *out, void *user)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        out[i] = exp(20 * x[i]);
    return 0;
}

/* What overflows, or is not defined, only where lines go. */
static void what_fails_on_lines_is_left_to_rows(void **state)
{
    (void)state;
    struct problem p;
    const double w = 0.4;
    moeg_estimate mass;
    const moeg_sampling line = options_by(MOEG_METHOD_LINE, 1 << 10);
    /* A difference of logits overflows. */
    problem_draw(&p, 88, 4, 3, 1);
    p.b[0] = 1.5e308;
    p.b[1] = -1.5e308;
    problem_build(&p);
    check_failure(&p, MOEG_ERANGE, "risk_gap: a value of the lines from 0 on overflows");
    assert_status(moeg_boundary_mass(p.router, p.law, 1, &w, &line, &mass), MOEG_ERANGE,
                  "boundary_mass: a value of the lines from 0 on overflows");
    check_mass(p.router, p.law, moeg_gap_margin(), 1 << 10, MOEG_METHOD_MC);
    problem_free(&p);
    /* A teacher of the user's that overflows, or fails, where no row comes to. */
    for (int i = 0; i < 2; i++) {
        moeg_expert *own;
        problem_draw(&p, 89, 3, 1, 1);
        p.mean[0] = 0;
        p.covariance[0] = 1;
        problem_build(&p);
        assert_ok(moeg_expert_callback_create(&own, 1, 1, i == 0 ? steep : near_by, NULL, NULL));
        moeg_teacher_free(p.teacher);
        assert_ok(moeg_teacher_expert_create(&p.teacher, own));
        check_failure(&p, i == 0 ? MOEG_ERANGE : MOEG_ECALLBACK, i == 0 ? "overflows" : "returned 5");
        moeg_expert_free(own);
        problem_free(&p);
    }
    /* Fewer experts than a gate or a gap wants: neither has an answer, and rows say it. */
    problem_draw(&p, 90, 4, 3, 1);
    p.b[1] = p.b[2] = p.b[3] = -INFINITY;
    p.gate = moeg_gate_topk_renorm(2);
    problem_build(&p);
    const moeg_sampling any = options_by(MOEG_METHOD_AUTO, 100);
    assert_status(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &w, &any, &mass), MOEG_EDOM,
                  "at sample 0");
    assert_status(moeg_boundary_gap_mass(p.router, moeg_gap_top(2), p.law, 1, &w, &any, &mass), MOEG_EDOM, "masks");
    problem_free(&p);
}

/* Any problem, ties and masks among them: small rows and biases are whole numbers. */
static void draw_any(uint64_t seed, struct problem *p)
{
    static const moeg_gate gates[] = {{MOEG_GATE_SOFTMAX, 0},  {MOEG_GATE_TOPK_RENORM, 1}, {MOEG_GATE_TOPK_RENORM, 2},
                                      {MOEG_GATE_TOPK_RAW, 1}, {MOEG_GATE_TOPK_RAW, 2},    {MOEG_GATE_SUBSET, 2}};
    uint64_t random = seed;
    problem_draw(p, seed, 2 + next_bits(&random) % 4, 1 + next_bits(&random) % 3, 1);
    for (size_t i = 0; seed % 2 == 0 && i < p->K * p->d; i++)
        p->W[i] = round(p->W[i]);
    for (size_t k = 0; seed % 2 == 0 && k < p->K; k++)
        p->b[k] = round(3 * p->b[k]);
    if (seed % 5 == 0)
        p->b[next_bits(&random) % p->K] = -INFINITY;
    p->gate = gates[next_bits(&random) % 6];
    problem_build(p);
}

/* Where rows have a number AUTO has one, the same within error bars. */
static void numbers_wherever_rows_have_some(void **state)
{
    (void)state;
    size_t lines = 0;
    for (uint64_t seed = 0; seed < 120; seed++) {
        struct problem p;
        draw_any(seed, &p);
        const double w = 0.4, tau = 0.3;
        const uint64_t n = seed % 3 == 0 ? 1 + seed : 1000;
        const moeg_sampling any = options_by(MOEG_METHOD_AUTO, n), rows = options_by(MOEG_METHOD_MC, 1 << 12);
        const moeg_gap gap = {1 + seed % 2, 2 + seed % 2 + (p.K > 3)};
        moeg_estimate got, expected;
        moeg_status status =
            gap.lower > p.K ? MOEG_EINVAL : moeg_boundary_gap_mass(p.router, gap, p.law, 1, &w, &rows, &expected);
        if (status >= 0) {
            assert_true(moeg_boundary_gap_mass(p.router, gap, p.law, 1, &w, &any, &got) >= 0);
            if (got.method == MOEG_METHOD_LINE && isfinite(got.std_error))
                assert_near(got.value, expected.value, 5 * hypot(got.std_error, 0.5 / 64));
            lines += got.method == MOEG_METHOD_LINE;
        }
        status = moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, &tau, &rows, &expected);
        if (status >= 0) {
            assert_true(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, &tau, &any, &got) >= 0);
            if (got.method == MOEG_METHOD_LINE && isfinite(got.std_error) && isfinite(expected.std_error))
                assert_near(got.value, expected.value, 5 * hypot(got.std_error, expected.std_error) + 1e-12);
            lines += got.method == MOEG_METHOD_LINE;
        }
        problem_free(&p);
    }
    assert_true(lines > 120);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fails_on_lines_is_left_to_rows),
        cmocka_unit_test(numbers_wherever_rows_have_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
