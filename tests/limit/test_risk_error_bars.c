/* Are the error bars of sampled risks right? Intervals against the tables, and coverage over seeds. */
#include "limit/reference_problem.h"
#include "support/coverage.h"

/* The affine maps f1, f2, ... or m1, m2, ... of a case. */
static void copy_pieces(const struct reference *r, const char *of, char letter, struct problem *p)
{
    for (size_t k = 0; k < p->K; k++) {
        char name[32];
        snprintf(name, sizeof name, "%c%zu_A", letter, k + 1);
        reference_copy(r, of, name, p->A[k]);
        snprintf(name, sizeof name, "%c%zu_c", letter, k + 1);
        reference_copy(r, of, name, p->c[k]);
    }
}

/* The mixture of a case, and its teacher: one expert, or two or more with a jump at their own router's interface. */
static void load(const struct reference *r, const char *of, struct problem *p)
{
    const struct parameter *W = reference_parameter(r, of, "W"), *line = reference_parameter(r, of, "teacher_v");
    const int binary = reference_parameter(r, of, "mplus_A") != NULL;
    const int own = reference_parameter(r, of, "m1_A") != NULL;
    *p = (struct problem){.K = W->rows, .d = W->cols, .m = reference_parameter(r, of, "f1_A")->rows};
    reference_router(r, of, p);
    copy_pieces(r, of, 'f', p);
    if (!own) {
        reference_copy(r, of, binary ? "mplus_A" : "m_A", p->A[p->K]);
        reference_copy(r, of, binary ? "mplus_c" : "m_c", p->c[p->K]);
    }
    problem_build(p);
    if (line == NULL && !own)
        return;
    /* The pieces are experts of a mixture at temperature 0. */
    struct problem pieces = *p;
    if (own)
        copy_pieces(r, of, 'm', &pieces);
    else {
        memset(pieces.W, 0, sizeof pieces.W);
        memset(pieces.b, 0, sizeof pieces.b);
        reference_copy(r, of, "teacher_v", pieces.W);
        reference_copy(r, of, "teacher_e", pieces.b);
        memcpy(pieces.A[0], p->A[2], sizeof p->A[0]);
        memcpy(pieces.c[0], p->c[2], sizeof p->c[0]);
        reference_copy(r, of, "mminus_A", pieces.A[1]);
        reference_copy(r, of, "mminus_c", pieces.c[1]);
    }
    problem_build(&pieces);
    moeg_teacher_free(p->teacher);
    assert_ok(moeg_teacher_moe_create(&p->teacher, pieces.moe, 0));
    problem_free(&pieces);
}

/* Every row of a table that a sample can tell lies in its interval, at a level corrected for their number: three
 * intervals a row, all of them right with probability 0.99. Returns how many were told. */
static size_t check_table(const char *name)
{
    struct reference *r = reference_read(name);
    moeg_sampling s = moeg_sampling_default();
    size_t told = 0;
    s.method = MOEG_METHOD_MC;
    s.n = 20000;
    s.seed = 31;
    s.level = 1 - 0.01 / (3.0 * (double)r->row_count);
    for (size_t i = 0; i < r->row_count; i++) {
        const char *of = reference_text(r, i, "case");
        const struct parameter *k = reference_parameter(r, of, "k");
        if (k != NULL && k->values[0] != 1)
            continue; /* Gates that this library does not have. */
        struct problem p;
        load(r, of, &p);
        const moeg_mixing mixing = strcmp(reference_text(r, i, "mixing"), "loss") == 0;
        const double tau = (double)reference_value(r, i, "tau"), G = (double)reference_value(r, i, "G");
        const double L0 = (double)reference_value(r, i, "L0"), Ltau = (double)reference_value(r, i, "Ltau");
        moeg_estimate hard, soft, gap;
        const moeg_status status =
            moeg_risk_curve(p.moe, p.teacher, p.law, mixing, 1, &tau, &s, &hard, &soft, &gap, NULL);
        assert_int_equal(status, isinf(gap.std_error) ? MOEG_EUNABLE : MOEG_OK);
        assert_true(gap.contributing >= MOEG_ENOUGH_UNITS || isinf(gap.std_error));
        assert_true(hard.lo <= L0 && L0 <= hard.hi);
        assert_true(soft.lo <= Ltau && Ltau <= soft.hi);
        assert_true(gap.lo <= G && G <= gap.hi);
        told += status == MOEG_OK;
        problem_free(&p);
    }
    free(r);
    return told;
}

static void tables_lie_in_the_intervals(void **state)
{
    (void)state;
    assert_in_range(check_table("gap_binary_affine.csv"), 80, 112);
    assert_in_range(check_table("gap_k3.csv"), 40, 56);
}

/* A problem at one temperature; quantities: hard risk, soft risk, gap. */
struct question {
    struct problem *p;
    moeg_mixing mixing;
    double tau;
    uint64_t n;
};

static moeg_status ask(uint64_t seed, void *user, moeg_estimate *e)
{
    const struct question *q = user;
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_MC;
    s.n = q->n;
    s.seed = seed;
    s.max_threads = 1;
    return moeg_risk_curve(q->p->moe, q->p->teacher, q->p->law, q->mixing, 1, &q->tau, &s, e, e + 1, e + 2, NULL);
}

/* Coverage, size and bias over 1000 seeds; truth by the deterministic line. */
static void error_bars_are_honest(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 98, 2, 2, 2);
    for (int mixing = 0; mixing < 2; mixing++) {
        struct question q = {&p, (moeg_mixing)mixing, 0.4, 1000};
        const moeg_sampling s = moeg_sampling_default();
        moeg_estimate line[3];
        assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, q.mixing, 1, &q.tau, &s, line, line + 1, line + 2, NULL));
        assert_int_equal(line[0].method, MOEG_METHOD_LINE);
        const double truths[] = {line[0].value, line[1].value, line[2].value};
        assert_coverage(ask, &q, 3, truths, 0.95, 1000, COVERAGE_EXACT);
    }
    problem_free(&p);
}

/* Where a sample can just tell a gap (30 to 50 equal rows would add as much), intervals are not far from nominal;
 * where it cannot, there are none. Counting the rows within 45 tau alone, 30 of them would do, and 95 % would be 75 %.
 */
static void scarce_rows(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 98, 2, 2, 2);
    const moeg_sampling s = moeg_sampling_default();
    struct question q = {&p, MOEG_MIX_OUTPUT, 0.0081, 7000};
    moeg_estimate line, e[3];
    size_t hits = 0, told = 0;
    assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, q.mixing, 1, &q.tau, &s, &line));
    for (uint64_t seed = 0; seed < 1000; seed++)
        if (ask(COVERAGE_SEED + seed, &q, e) == MOEG_OK) {
            told++;
            hits += e[2].lo <= line.value && line.value <= e[2].hi;
        }
    assert_in_range(told, 950, 1000);
    assert_true((double)hits >= 0.92 * (double)told);
    q.tau = 0.0009;
    assert_status(ask(1, &q, e), MOEG_EUNABLE, "fewer than 30 do not tell a gap");
    assert_true(e[2].contributing > 2 * MOEG_ENOUGH_UNITS && isinf(e[2].std_error));
    problem_free(&p);
}

/* Rows enough feel a temperature, and what they add is 0: two experts are the same, and nearly all the gap is at the
 * rare interface with the third. No error bar rather than that of the others. */
static void rows_that_add_nothing_do_not_count(void **state)
{
    (void)state;
    static const double W[] = {1, 1, -1}, b[] = {0, 0, 0}, f[] = {1, 1, -1}, y = 0.2;
    const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_topk_renorm(2), moeg_gate_topk_raw(3)};
    moeg_router *router;
    moeg_law *law;
    moeg_expert *experts[3], *constant;
    moeg_teacher *teacher;
    assert_ok(moeg_router_affine_create(&router, 3, 1, W, b));
    assert_ok(moeg_law_gaussian_create(&law, 1, NULL, NULL));
    for (size_t k = 0; k < 3; k++)
        assert_ok(moeg_expert_constant_create(&experts[k], 1, 1, &f[k]));
    assert_ok(moeg_expert_constant_create(&constant, 1, 1, &y));
    assert_ok(moeg_teacher_expert_create(&teacher, constant));
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_MC;
    for (size_t g = 0; g < 3; g++) {
        moeg_moe *moe;
        moeg_estimate gap[3], slope[3];
        const double tau[3] = {1e-6, 1e-4, 0.3};
        assert_ok(moeg_moe_create(&moe, router, gates[g], experts));
        assert_status(moeg_risk_gap(moe, teacher, law, MOEG_MIX_OUTPUT, 3, tau, &s, gap), MOEG_EUNABLE, "tau[0]");
        assert_status(moeg_risk_derivative(moe, teacher, law, MOEG_MIX_OUTPUT, 3, tau, &s, slope), MOEG_EUNABLE, "tau");
        for (size_t t = 0; t < 2; t++) {
            assert_true(gap[t].contributing > 8000 && isinf(gap[t].std_error) && isinf(gap[t].hi));
            assert_true(isinf(slope[t].std_error));
        }
        assert_true(gates[g].kind == MOEG_GATE_TOPK_RENORM || isfinite(gap[2].std_error));
        moeg_moe_free(moe);
    }
    moeg_router_free(router);
    moeg_law_free(law);
    moeg_teacher_free(teacher);
    moeg_expert_free(constant);
    for (size_t k = 0; k < 3; k++)
        moeg_expert_free(experts[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_lie_in_the_intervals),
        cmocka_unit_test(error_bars_are_honest),
        cmocka_unit_test(scarce_rows),
        cmocka_unit_test(rows_that_add_nothing_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
