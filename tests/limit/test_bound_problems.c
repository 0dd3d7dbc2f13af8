/* No gap passes any bound: random problems of every kind, of which gaps and bounds are exact sums over rows, or, for
 * two experts, integrals. Bounds come close to the gaps, too: a bound that is far from all would pass any test. */
#include "limit/bound_problem.h"

enum { PROBLEMS = 400, TAUS = 10, FORMS = 4 };
static const double taus[TAUS] = {0, 1e-6, 1e-4, 3e-3, 0.02, 0.1, 0.4, 1.7, 30, 1e3};
enum form { BOUNDED, MOMENT, HOLDER, BERNSTEIN };

/* |G|/bound is at most 1; gates and exponentials, and the sums, are right to so much: |log g| epsilon, at most 745. */
static const double rounding = 1e4 * EPS;

static void check_ratio(double gap, double bound, double *largest)
{
    assert_true(fabs(gap) <= bound * (1 + rounding));
    if (bound > 0 && isfinite(bound))
        *largest = fmax(*largest, fabs(gap) / bound);
}

/* The empirical law meets P(gap <= t) <= C t^alpha with C = max_i P(gap <= gap_i)/gap_i^alpha, for every t; false if
 * rows tie. */
static int data_condition(const struct bound_problem *p, double alpha, moeg_margin_condition *condition)
{
    double gap[BOUND_N], C = 0;
    bound_gaps(p, gap);
    for (size_t i = 0; i < p->n; i++) {
        double mass = 0;
        for (size_t j = 0; j < p->n; j++)
            mass += gap[j] <= gap[i] ? p->share[j] : 0;
        C = fmax(C, mass == 0 ? 0 : mass / pow(gap[i], alpha) * (1 + BOUND_N * EPS));
    }
    *condition = (moeg_margin_condition){C, alpha, INFINITY};
    return isfinite(C);
}

static void check_problem(const struct bound_problem *p, moeg_mixing mixing, double largest[FORMS])
{
    double bound[TAUS];
    moeg_estimate gap[TAUS], moment[TAUS];
    moeg_margin_condition condition;
    const moeg_output_limits limits = bound_limits(p);
    moeg_sampling s = moeg_sampling_default();
    s.level = 1 - 1e-12;
    assert_true(moeg_risk_gap(p->moe, p->teacher, p->data, mixing, TAUS, taus, &s, gap) >= 0);
    assert_true(moeg_bound_moment(p->moe, p->teacher, p->data, mixing, TAUS, taus, &s, moment) >= 0);
    for (size_t t = 0; t < TAUS; t++) {
        check_ratio(gap[t].value, moment[t].value, &largest[MOMENT]);
        assert_true(moment[t].value <= moment[t].hi);
    }
    assert_true(gap[0].value == 0 && moment[0].hi == 0);
    const moeg_status status =
        moeg_bound_bernstein(p->router, p->gate, mixing, p->data, &limits, TAUS, taus, &s, bound);
    assert_int_equal(status, bound_is_uneven(p) ? MOEG_EUNSUPPORTED : MOEG_OK);
    for (size_t t = 0; t < TAUS && status == MOEG_OK; t++)
        check_ratio(gap[t].value, bound[t], &largest[BERNSTEIN]);
    /* K is that of all experts, or of those that are not masked. */
    for (size_t K = p->live; K <= p->K; K++)
        for (int i = 0; i < 3; i++) {
            static const double alphas[] = {0.5, 1, 2.385}, ps[] = {1.3, 2, 6};
            moeg_estimate power;
            if (!data_condition(p, alphas[i], &condition))
                continue;
            assert_ok(moeg_bound_bounded(&condition, p->gate, mixing, K, &limits, TAUS, taus, bound));
            for (size_t t = 0; t < TAUS; t++)
                check_ratio(gap[t].value, bound[t], &largest[BOUNDED]);
            assert_true(moeg_bound_holder_moment(p->moe, p->teacher, p->data, mixing, ps[i], &s, &power) >= 0);
            assert_ok(moeg_bound_holder(&condition, p->gate, K, ps[i], power.value, TAUS, taus, bound));
            for (size_t t = 0; t < TAUS; t++)
                check_ratio(gap[t].value, bound[t], &largest[HOLDER]);
        }
}

static void no_gap_passes_them(void **state)
{
    (void)state;
    static const double least[FORMS] = {0.15, 0.99, 0.4, 0.2};
    double largest[4][FORMS] = {{0}}, overall[FORMS] = {0};
    for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
        struct bound_problem p;
        bound_problem_make(&p, seed);
        for (int mixing = 0; mixing < 2; mixing++)
            check_problem(&p, (moeg_mixing)mixing, largest[p.gate.kind]);
        bound_problem_free(&p);
    }
    for (size_t kind = 0; kind < 4; kind++)
        for (size_t form = 0; form < FORMS; form++) {
            overall[form] = fmax(overall[form], largest[kind][form]);
            assert_true(largest[kind][form] > 0.02);
        }
    for (size_t form = 0; form < FORMS; form++)
        assert_true(overall[form] > least[form]);
}

/* One row, k winners that tie and losers that tie, a gap below them: T is mu exp(-gap/tau) but for a share of it that
 * is as small. Outputs -1 of winners, 1 of losers, m = -M far away: nearly all bounds are attained, and so is mu. */
static void check_sharp(moeg_gate gate, size_t K, moeg_mixing mixing)
{
    const double x = 1, tau = 0.05, M = 1000, m = -M, sides[2] = {1, -1};
    const moeg_margin_condition condition = {0, 1, 1};
    const size_t winners = gate.kind == MOEG_GATE_SUBSET ? gate.k : 1;
    const int dropped = gate.kind == MOEG_GATE_TOPK_RAW && gate.k < K;
    /* Mass that is dropped changes outputs half as much, and losses the other way than the rest. */
    const double least = !dropped ? 0.99 : mixing == MOEG_MIX_OUTPUT ? 0.49 : gate.k == 1 ? 0.99 : 0;
    double W[BOUND_K], bound;
    moeg_law *law;
    moeg_router *router;
    moeg_expert *experts[BOUND_K + 1];
    moeg_moe *moe;
    moeg_teacher *teacher;
    moeg_estimate gap, moment, power;
    const moeg_sampling s = moeg_sampling_default();
    for (size_t k = 0; k < K; k++) {
        W[k] = k < winners ? 1 : 0;
        assert_ok(moeg_expert_constant_create(&experts[k], 1, 1, &sides[k < winners]));
    }
    assert_ok(moeg_expert_constant_create(&experts[K], 1, 1, &m));
    assert_ok(moeg_law_empirical_create(&law, 1, 1, &x, NULL));
    assert_ok(moeg_router_affine_create(&router, K, 1, W, NULL));
    assert_ok(moeg_moe_create(&moe, router, gate, experts));
    assert_ok(moeg_teacher_expert_create(&teacher, experts[K]));
    assert_true(moeg_risk_gap(moe, teacher, law, mixing, 1, &tau, &s, &gap) >= 0);
    const double size = fabs(gap.value);

    assert_true(moeg_bound_moment(moe, teacher, law, mixing, 1, &tau, &s, &moment) >= 0);
    assert_true(size <= moment.value * (1 + 8 * EPS) && size >= least * moment.value);
    assert_true(moeg_bound_holder_moment(moe, teacher, law, mixing, 2.385, &s, &power) >= 0);
    assert_ok(moeg_bound_holder(&condition, gate, K, 2.385, power.value, 1, &tau, &bound));
    assert_relative(bound, moment.value, 1000 * EPS);
    assert_ok(moeg_bound_bounded(&condition, gate, mixing, K, &(moeg_output_limits){1, M, 0}, 1, &tau, &bound));
    assert_true(size <= bound && size >= least * bound);

    moeg_law_free(law);
    moeg_router_free(router);
    moeg_moe_free(moe);
    moeg_teacher_free(teacher);
    for (size_t k = 0; k <= K; k++)
        moeg_expert_free(experts[k]);
}

static void bounds_are_attained(void **state)
{
    (void)state;
    for (size_t K = 2; K <= BOUND_K; K++)
        for (int mixing = 0; mixing < 2; mixing++) {
            check_sharp(moeg_gate_softmax(), K, (moeg_mixing)mixing);
            for (size_t k = 1; k <= K; k++) {
                if (k > 1)
                    check_sharp(moeg_gate_topk_renorm(k), K, (moeg_mixing)mixing);
                if (k < K)
                    check_sharp(moeg_gate_subset(k), K, (moeg_mixing)mixing);
                check_sharp(moeg_gate_topk_raw(k), K, (moeg_mixing)mixing);
            }
        }
}

/* Constant experts, and as teacher one more, or one and its opposite in the two cells. */
static void make_constant(struct problem *p, int pieces)
{
    moeg_expert *experts[2], *sides[2];
    moeg_moe *cells;
    double opposite[MOST_M];
    for (size_t j = 0; j < p->m; j++)
        opposite[j] = -p->c[2][j];
    for (size_t k = 0; k < 2; k++) {
        assert_ok(moeg_expert_constant_create(&experts[k], p->d, p->m, p->c[k]));
        assert_ok(moeg_expert_constant_create(&sides[k], p->d, p->m, k == 0 ? p->c[2] : opposite));
    }
    assert_ok(moeg_moe_create(&p->moe, p->router, moeg_gate_softmax(), experts));
    assert_ok(moeg_moe_create(&cells, p->router, moeg_gate_softmax(), sides));
    if (pieces)
        assert_ok(moeg_teacher_moe_create(&p->teacher, cells, 0));
    else
        assert_ok(moeg_teacher_expert_create(&p->teacher, sides[0]));
    moeg_moe_free(cells);
    for (size_t k = 0; k < 2; k++) {
        moeg_expert_free(experts[k]);
        moeg_expert_free(sides[k]);
    }
}

/* Two experts, gaps by quadrature: the proven conditions of Gaussian laws and known exponents. */
static void check_line(uint64_t seed, double largest[FORMS])
{
    struct problem p;
    problem_draw(&p, 4000 + seed, 2, 1 + seed % 5, 1 + seed % 3);
    const int constant = seed % 2 == 0, family = seed % 4 == 0;
    memset(p.A, 0, constant ? sizeof p.A : 0);
    /* Bounds come closest where experts are opposite, and the teacher between them or, of two pieces, far from both. */
    for (size_t j = 0; j < p.m && seed % 3 == 0; j++) {
        p.c[1][j] = -p.c[0][j];
        p.c[2][j] = family ? 30 * p.c[0][j] : 0;
    }
    for (size_t k = 0; k < 2 && family; k++) {
        p.b[k] = 0;
        for (size_t j = 1; j < p.d; j++)
            p.W[k * p.d + j] = 0;
    }
    problem_build(&p);
    if (family) {
        moeg_moe_free(p.moe);
        moeg_teacher_free(p.teacher);
        moeg_law_free(p.law);
        make_constant(&p, seed % 3 == 0);
        const moeg_margin_family kind = (moeg_margin_family)(seed / 4 % 3);
        assert_ok(
            moeg_law_margin_create(&p.law, p.d, kind, kind == MOEG_MARGIN_RAYLEIGH ? 0 : 0.7 + (double)(seed % 5)));
    }
    moeg_margin_condition condition;
    moeg_output_limits limits = {0, 0, 0};
    moeg_estimate gap[TAUS], power;
    moeg_sampling s = moeg_sampling_default(), sampling = s;
    double bound[TAUS];
    sampling.n = 4000;
    sampling.level = 1 - 1e-9;
    assert_ok(moeg_bound_margin_condition(p.router, p.law, &condition));
    s.method = MOEG_METHOD_LINE;
    for (size_t k = 0; k <= 2; k++) {
        double sum = 0;
        for (size_t j = 0; j < p.m; j++)
            sum += p.c[k][j] * p.c[k][j];
        double *most = k < 2 ? &limits.B : &limits.M;
        *most = fmax(*most, sqrt(sum) * (1 + 4 * EPS));
    }
    for (int mixing = 0; mixing < 2; mixing++) {
        assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, (moeg_mixing)mixing, TAUS, taus, &s, gap));
        assert_ok(
            moeg_bound_bounded(&condition, moeg_gate_softmax(), (moeg_mixing)mixing, 2, &limits, TAUS, taus, bound));
        for (size_t t = 0; t < TAUS && constant; t++)
            check_ratio(gap[t].value, bound[t], &largest[BOUNDED]);
        /* Constant experts: p = 6, for which 30 p^2 rows will do. Affine ones: E Q^2 below its upper limit. */
        const double order = constant ? 6 : 2;
        assert_ok(moeg_bound_holder_moment(p.moe, p.teacher, p.law, (moeg_mixing)mixing, order, &sampling, &power));
        assert_ok(moeg_bound_holder(&condition, moeg_gate_softmax(), 2, order, power.hi, TAUS, taus, bound));
        for (size_t t = 0; t < TAUS; t++)
            check_ratio(gap[t].value, bound[t], &largest[HOLDER]);
        assert_ok(moeg_bound_bernstein(p.router, moeg_gate_softmax(), (moeg_mixing)mixing, p.law, &limits, TAUS, taus,
                                       &sampling, bound));
        for (size_t t = 0; t < TAUS && constant; t++)
            check_ratio(gap[t].value, bound[t], &largest[BERNSTEIN]);
    }
    problem_free(&p);
}

static void no_integral_passes_them(void **state)
{
    (void)state;
    double largest[FORMS] = {0};
    for (uint64_t seed = 0; seed < 60; seed++)
        check_line(seed, largest);
    assert_true(largest[BOUNDED] > 0.7 && largest[HOLDER] > 0.55 && largest[BERNSTEIN] > 0.4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_gap_passes_them),
        cmocka_unit_test(bounds_are_attained),
        cmocka_unit_test(no_integral_passes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
