/* Risks by the one deterministic line: against the 30-digit table, closed forms, and a double-exponential quadrature in
 * long double. */
#include "limit/double_exponential.h"
#include "limit/lines.h"
#include "limit/reference_problem.h"
#include "support/failing_alloc.h"

/* The problem of a case. */
static void load(const struct reference *r, const char *of, struct problem *p)
{
    *p = (struct problem){
        .K = 2, .d = reference_parameter(r, of, "mu")->cols, .m = reference_parameter(r, of, "f1_A")->rows};
    reference_router(r, of, p);
    reference_copy(r, of, "f1_A", p->A[0]);
    reference_copy(r, of, "f1_c", p->c[0]);
    reference_copy(r, of, "f2_A", p->A[1]);
    reference_copy(r, of, "f2_c", p->c[1]);
    reference_copy(r, of, "mplus_A", p->A[2]);
    reference_copy(r, of, "mplus_c", p->c[2]);
    if (reference_parameter(r, of, "teacher_v") != NULL) {
        p->pieces = 2;
        reference_copy(r, of, "teacher_v", p->V);
        reference_copy(r, of, "teacher_e", p->e);
        reference_copy(r, of, "mminus_A", p->A[3]);
        reference_copy(r, of, "mminus_c", p->c[3]);
    }
    problem_build(p);
}

/* Within 1e-10 of the table, and within the reported error, which is itself below 1e-10. */
static void check_value(const moeg_estimate *e, long double expected, const char *what, const char *of, double tau)
{
    const long double error = fabsl(e->value - expected);
    if (!(error <= e->quad_error) || !(e->quad_error <= 1e-10L * fabsl(expected) + 1e-300L))
        fail_msg("%s of %s at tau = %g: got %.17g, expected %.20Lg, off by %.2Lg, reported %.2g", what, of, tau,
                 e->value, expected, error, e->quad_error);
}

static void the_table_is_reached(void **state)
{
    (void)state;
    struct reference *r = reference_read("gap_binary_affine.csv");
    for (size_t i = 0; i < r->row_count; i++) {
        struct problem p;
        const char *of = reference_text(r, i, "case");
        load(r, of, &p);
        const moeg_mixing mixing = strcmp(reference_text(r, i, "mixing"), "loss") == 0;
        const double tau = (double)reference_value(r, i, "tau");
        const struct answer a = line(&p, mixing, tau);
        check_value(&a.hard, reference_value(r, i, "L0"), "L_0", of, tau);
        check_value(&a.soft, reference_value(r, i, "Ltau"), "L_tau", of, tau);
        check_value(&a.gap, reference_value(r, i, "G"), "G", of, tau);
        /* And far below the table's temperatures, the leading term. */
        const double power = (double)reference_value(r, i, "lead_power");
        const struct answer limit = line(&p, mixing, 1e-100);
        assert_relative(limit.gap.value / pow(1e-100, power), (double)reference_value(r, i, "lead_coef"), 1e-13);
        problem_free(&p);
    }
    free(r);
}

static void random_problems_in_one_dimension(void **state)
{
    (void)state;
    static const double taus[] = {37.1, 2.385, 0.7, 0.04, 1.3e-4};
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct problem p;
        problem_draw(&p, seed, 2, 1, 1 + seed % 3);
        /* Up to about six deviations from the interface, and no farther: the oracle's nodes thin out. */
        p.W[0] += p.W[0] > p.W[1] ? 0.5 : -0.5;
        p.mean[0] *= 1 + 5 * (double)(seed % 4);
        problem_build(&p);
        for (size_t t = 0; t < sizeof taus / sizeof *taus; t++)
            for (int i = 0; i < 2; i++) {
                const moeg_estimate e = line(&p, both[i], taus[t]).gap;
                const long double expected = double_exponential_gap(&p, both[i], taus[t]);
                /* The oracle cancels the two sides of a loss gap: its own error is 1e-18 of a side, of order tau. */
                const long double slack = 1e-17L * fminl(taus[t], 1);
                if (!(fabsl(e.value - expected) <= e.quad_error + slack))
                    fail_msg("seed %d, tau %g, mixing %d: got %.17g, expected %.17Lg, reported %.2g", (int)seed,
                             taus[t], i, e.value, expected, e.quad_error);
                assert_true(e.quad_error <= 1e-11 * fmin(taus[t], 1));
            }
        problem_free(&p);
    }
}

/* x' = T x + t leaves every risk as it is: with W' T = W, A' T = A, T unit lower triangular. */
static void change_inputs(const struct problem *from, struct problem *to, uint64_t seed)
{
    const size_t d = from->d;
    double T[MOST_D][MOST_D] = {{0}}, TS[MOST_D][MOST_D] = {{0}};
    *to = *from;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++)
            T[i][j] = i == j ? 1 : problem_number(seed, 100 + i * d + j);
    for (size_t i = 0; i < d; i++) {
        to->mean[i] = 0;
        for (size_t j = 0; j < d; j++) {
            to->mean[i] += T[i][j] * from->mean[j];
            for (size_t k = 0; k < d; k++)
                TS[i][j] += T[i][k] * from->covariance[k * d + j];
        }
    }
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = 0; k < d; k++)
                sum += TS[i][k] * T[j][k];
            to->covariance[i * d + j] = to->covariance[j * d + i] = sum;
        }
    double *rows[1 + MOST_K + 1] = {to->W, to->A[0], to->A[1], to->A[2]};
    const size_t count[] = {2, from->m, from->m, from->m};
    for (size_t r = 0; r < 4; r++)
        for (size_t k = 0; k < count[r]; k++)
            for (size_t j = d; j-- > 0;) /* Solve row T = old row from the last column. */
                for (size_t i = j + 1; i < d; i++)
                    rows[r][k * d + j] -= rows[r][k * d + i] * T[i][j];
    problem_build(to);
}

/* With s = x_0 and a diagonal covariance, the other coordinates enter through their variances alone: the
 * one-dimensional oracle sees them as further outputs without a contrast in x_0. Here they are added by hand. */
static void more_dimensions(void **state)
{
    (void)state;
    for (uint64_t seed = 20; seed < 26; seed++) {
        struct problem one, p, changed;
        const size_t d = 2 + seed % 4, m = 1 + seed % 3;
        problem_draw(&p, seed, 2, d, m);
        memset(p.covariance, 0, sizeof p.covariance);
        for (size_t i = 0; i < d; i++)
            p.covariance[i * d + i] = 0.3 + 0.2 * (double)i;
        for (size_t k = 0; k < 2; k++)
            for (size_t i = 1; i < d; i++)
                p.W[k * d + i] = p.W[i]; /* The same in both rows. */
        problem_build(&p);
        change_inputs(&p, &changed, seed);
        one = p;
        one.d = 1;
        one.W[1] = p.W[d];
        for (size_t k = 0; k < 3; k++)
            for (size_t j = 0; j < m; j++) {
                one.A[k][j] = p.A[k][j * d];
                one.c[k][j] = p.c[k][j];
                for (size_t i = 1; i < d; i++)
                    one.c[k][j] += p.A[k][j * d + i] * p.mean[i];
            }
        for (int i = 0; i < 2; i++) {
            const double tau = 0.37;
            long double expected = double_exponential_gap(&one, both[i], tau);
            /* Each other coordinate adds Var(x_i) (q |delta_i| (q or 1) - 2 q delta_i.r_i), r_i of the winner: as one
             * output whose forms are constant, centred at 0. */
            for (size_t c = 1; c < d; c++)
                for (size_t j = 0; j < m; j++) {
                    struct problem extra = one;
                    extra.m = 1;
                    for (size_t k = 0; k < 3; k++) {
                        extra.A[k][0] = 0;
                        extra.c[k][0] = p.A[k][j * d + c];
                    }
                    expected += p.covariance[c * d + c] * double_exponential_gap(&extra, both[i], tau);
                }
            assert_near(line(&p, both[i], tau).gap.value, (double)expected, 40 * EPS * fmax(1, fabs((double)expected)));
            /* The change of inputs rounds its numbers, and they are worse conditioned. */
            assert_near(line(&changed, both[i], tau).gap.value, (double)expected, 4000 * EPS);
        }
        problem_free(&p);
        problem_free(&changed);
    }
}

/* Relabelling the experts changes no risk. */
static void experts_may_be_swapped(void **state)
{
    (void)state;
    struct problem p, swapped;
    problem_make(&p, 17, 2, 3, 2);
    swapped = p;
    for (size_t i = 0; i < 3; i++) {
        swapped.W[i] = p.W[3 + i];
        swapped.W[3 + i] = p.W[i];
    }
    swapped.b[0] = p.b[1];
    swapped.b[1] = p.b[0];
    for (size_t k = 0; k < 2; k++) {
        memcpy(swapped.A[k], p.A[1 - k], sizeof p.A[k]);
        memcpy(swapped.c[k], p.c[1 - k], sizeof p.c[k]);
    }
    problem_build(&swapped);
    for (int i = 0; i < 2; i++)
        assert_near(line(&p, both[i], 0.3).gap.value, line(&swapped, both[i], 0.3).gap.value, 0);
    problem_free(&p);
    problem_free(&swapped);
}

static moeg_status allocating(void *user)
{
    const struct problem *p = user;
    const double tau[] = {0.3, 0.1};
    const moeg_sampling s = line_options();
    moeg_estimate gap[2] = {{.value = 42}, {.value = 42}};
    const moeg_status status = moeg_risk_gap(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, 2, tau, &s, gap);
    if (status != MOEG_OK) {
        assert_near(gap[0].value, 42, 0);
        assert_near(gap[1].value, 42, 0);
    }
    return status;
}

static void errors_of_the_line(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 1, 2, 2, 1);
    assert_true(fail_every_allocation(allocating, &p) >= 4);
    problem_free(&p);
    const double tau = 0.3;
    const moeg_sampling s = line_options();
    moeg_estimate gap = {.value = 42};
    problem_make(&p, 1, 2, 2, 1);
    moeg_law *rows;
    assert_ok(moeg_law_empirical_create(&rows, 3, 2, p.W, NULL));
    assert_status(moeg_risk_gap(p.moe, p.teacher, rows, MOEG_MIX_OUTPUT, 1, &tau, &s, &gap), MOEG_EUNSUPPORTED,
                  "the law is not Gaussian");
    moeg_law_free(rows);
    problem_free(&p);
    problem_draw(&p, 1, 2, 2, 1);
    p.A[0][0] = 1e200;
    problem_build(&p);
    assert_status(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &gap), MOEG_ERANGE, "overflows");
    assert_near(gap.value, 42, 0);
    problem_free(&p);
    problem_draw(&p, 1, 2, 2, 1);
    p.W[0] = 1.7e308;
    p.W[2] = -1.7e308;
    problem_build(&p);
    assert_status(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &gap), MOEG_ERANGE,
                  "risk_gap: the difference of the logits overflows");
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_reached), cmocka_unit_test(random_problems_in_one_dimension),
        cmocka_unit_test(more_dimensions),      cmocka_unit_test(experts_may_be_swapped),
        cmocka_unit_test(errors_of_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
