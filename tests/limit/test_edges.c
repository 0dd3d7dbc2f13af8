/* Every kind of law, router, gate, expert and mixing at the edges: one expert, one coordinate, one row, exact ties,
 * masks, temperatures, logits and widths from 1e-300 to 1e300. A sampled number is the mean of its definition over the
 * rows, or the documented error; its error bar is there where enough rows felt something, infinite elsewhere, and never
 * around a false zero. */
#include "limit/edges_rows.h"

static const double TINY = 0x1p-990, HUGE_SCALE = 0x1p990; /* 1e-298 and 1e298 */

static const struct edge edges[] = {
    {"plain", 4, 3, EDGE_N, 1, NO_TIE, NO_MASK},
    {"one expert", 1, 3, EDGE_N, 1, NO_TIE, NO_MASK},
    {"one coordinate", 4, 1, EDGE_N, 1, NO_TIE, NO_MASK},
    {"one row", 4, 3, 1, 1, NO_TIE, NO_MASK},
    {"one of all", 1, 1, 1, 1, NO_TIE, NO_MASK},
    {"a tie of two", 4, 2, EDGE_N, 1, PAIR_TIE, NO_MASK},
    {"a tie of all", 5, 2, EDGE_N, 1, ALL_TIE, NO_MASK},
    {"a tie of two at the least scale", 3, 2, EDGE_N, TINY, PAIR_TIE, NO_MASK},
    {"some masked", 5, 3, EDGE_N, 1, NO_TIE, SOME_MASK},
    {"one left of two", 2, 1, EDGE_N, 1, NO_TIE, ONE_LEFT},
    {"one left of four", 4, 3, EDGE_N, 1, NO_TIE, ONE_LEFT},
    {"largest logits", 4, 3, EDGE_N, HUGE_SCALE, NO_TIE, NO_MASK},
    {"least logits", 4, 3, EDGE_N, TINY, NO_TIE, NO_MASK},
};
enum { EDGES = sizeof edges / sizeof *edges };

/* Whether there is an error bar, and is all in order with it. */
static void check_bar(const moeg_estimate *e, int has_bar, uint64_t n, uint64_t contributing)
{
    assert_int_equal(e->n, n);
    assert_int_equal(e->contributing, contributing);
    if (has_bar) {
        assert_true(isfinite(e->std_error) && e->std_error >= 0 && e->lo <= e->value && e->value <= e->hi);
    } else {
        assert_near(e->std_error, INFINITY, 0);
        assert_near(e->lo, -INFINITY, 0);
        assert_near(e->hi, INFINITY, 0);
    }
}

enum { TAUS = 5 };

/* One call against the rows. */
static void check_risks(const struct edge_problem *p, const struct rows *r, enum edge_law law, int is_callback,
                        moeg_gate gate, moeg_mixing mixing, uint64_t seed)
{
    const struct edge *edge = &p->logits.edge;
    const double tau[TAUS] = {0.37 * edge->scale, 0, 1e300, 1e-300, 0.021 * edge->scale};
    moeg_estimate hard, soft[TAUS], gap[TAUS];
    moeg_sampling s = moeg_sampling_default();
    s.n = edge->n;
    s.seed = seed;
    s.method = MOEG_METHOD_MC;
    moeg_moe *moe;
    assert_ok(moeg_moe_create(&moe, p->router, gate, p->experts));
    const moeg_status status = moeg_risk_curve(moe, p->teacher, p->law, mixing, TAUS, tau, &s, &hard, soft, gap, NULL);
    moeg_moe_free(moe);
    const size_t wanted = gate.kind == MOEG_GATE_SOFTMAX ? 1 : gate.k;
    int is_short = 0;
    for (size_t i = 0; i < r->n; i++)
        is_short |= finite_logits(r->K, r->a + i * r->K) < wanted;
    if (is_short) {
        check_status_at(status, MOEG_EDOM, "the router masks all but", "risk_curve", __FILE__, __LINE__);
        return;
    }
    const size_t live = is_callback ? edge->K : finite_logits(edge->K, p->logits.b);
    const int is_frozen =
        (gate.kind == MOEG_GATE_TOPK_RENORM && gate.k == 1) || live == (gate.kind == MOEG_GATE_SUBSET ? gate.k : 1);
    int is_unable = edge->n < MOEG_ENOUGH_UNITS;
    check_bar(&hard, !is_unable, edge->n, edge->n);
    for (size_t t = 0; t < TAUS; t++) {
        const struct expected e = expect(r, gate, mixing, tau[t], law == EMPIRICAL);
        /* Gates below e^-45 are off by 45 epsilon and more; sums of some dozens of products. */
        assert_near(hard.value, (double)e.hard, 1e-13 * (double)e.hard);
        assert_near(gap[t].value, (double)e.gap, 1e-12 * (double)e.size + DBL_MIN);
        assert_near(soft[t].value, (double)e.soft, 1e-12 * (double)(e.hard + e.size));
        if (is_frozen || tau[t] == 0) {
            assert_true(gap[t].value == 0 && gap[t].lo == 0 && gap[t].hi == 0 && gap[t].std_error == 0);
            assert_true(gap[t].contributing == edge->n && gap[t].n == edge->n);
            check_bar(&soft[t], edge->n >= MOEG_ENOUGH_UNITS, edge->n, edge->n);
            continue;
        }
        const int has_bar =
            e.v > 0 && e.felt >= MOEG_ENOUGH_UNITS && e.v * e.v >= MOEG_ENOUGH_UNITS * e.squares * (1 - 1e-10);
        check_bar(&gap[t], has_bar, edge->n, e.felt);
        check_bar(&soft[t], has_bar, edge->n, e.felt);
        is_unable |= !has_bar;
    }
    check_status_at(status, is_unable ? MOEG_EUNABLE : MOEG_OK, "fe", "risk_curve", __FILE__, __LINE__);
}

/* dG/dtau against a central difference of the sums in log tau, with h = 2^-20: off by h^2 (gap/tau)^3/6, and 1e-16/h.
 */
static void check_derivatives(const struct edge_problem *p, const struct rows *r, enum edge_law law, moeg_gate gate,
                              moeg_mixing mixing, uint64_t seed)
{
    const double h = 0x1p-20, scale = p->logits.edge.scale, tau[3] = {0.37 * scale, 1e300, 0.021 * scale};
    moeg_estimate derivative[3];
    moeg_sampling s = moeg_sampling_default();
    s.n = r->n;
    s.seed = seed;
    moeg_moe *moe;
    assert_ok(moeg_moe_create(&moe, p->router, gate, p->experts));
    const moeg_status status = moeg_risk_derivative(moe, p->teacher, p->law, mixing, 3, tau, &s, derivative);
    moeg_moe_free(moe);
    if (status == MOEG_EDOM)
        return; /* as the gaps, which are checked before */
    assert_true(status == MOEG_OK || status == MOEG_EUNABLE);
    for (size_t t = 0; t < 3; t++) {
        const int is_empirical = law == EMPIRICAL;
        const struct expected below = expect(r, gate, mixing, tau[t] / (1 + h), is_empirical);
        const struct expected above =
            expect(r, gate, mixing, tau[t] == 1e300 ? tau[t] : tau[t] * (1 + h), is_empirical);
        const double rise = (double)(above.gap - below.gap) / (tau[t] == 1e300 ? log1p(h) : 2 * log1p(h));
        assert_near(derivative[t].value * tau[t], rise, 1e-4 * (double)above.size + DBL_MIN);
        assert_true(derivative[t].lo <= derivative[t].value && derivative[t].value <= derivative[t].hi);
    }
}

static void check_all_gates(const struct edge_problem *p, enum edge_law law, int is_callback, uint64_t seed)
{
    const size_t K = p->logits.edge.K;
    const moeg_gate gates[] = {moeg_gate_softmax(),   moeg_gate_topk_renorm(1), moeg_gate_topk_renorm(2),
                               moeg_gate_topk_raw(1), moeg_gate_topk_raw(3),    moeg_gate_subset(1),
                               moeg_gate_subset(2),   moeg_gate_subset(K)};
    struct rows r;
    rows_make(p, seed, &r);
    for (size_t g = 0; g < sizeof gates / sizeof *gates; g++)
        for (int mixing = 0; mixing < 2; mixing++)
            if (gates[g].k <= K) {
                check_risks(p, &r, law, is_callback, gates[g], (moeg_mixing)mixing, seed);
                check_derivatives(p, &r, law, gates[g], (moeg_mixing)mixing, seed);
            }
}

static void risks_are_means_of_their_definitions(void **state)
{
    (void)state;
    for (size_t e = 0; e < EDGES; e++)
        for (int law = 0; law < LAWS; law++)
            for (int router = 0; router < ROUTERS; router++) {
                struct edge_problem p;
                edge_problem_make(&p, edges[e], (enum edge_law)law, (enum edge_router)router, e + (size_t)law);
                check_all_gates(&p, (enum edge_law)law, router == CALLBACK_ROUTER, 7 + e);
                edge_problem_free(&p);
            }
}

/* Shares of rows with Delta <= w. Under the Gaussian law, too, rows are those of the law: no edge has a row space of
 * fewer dimensions. */
static void check_masses(const struct edge_problem *p, const struct rows *r, uint64_t seed)
{
    enum { WIDTHS = 6 };
    const double scale = p->logits.edge.scale, w[WIDTHS] = {0.4 * scale, 0, DBL_MAX, 1e-300, 1.7 * scale, 1e300};
    moeg_estimate mass[WIDTHS];
    moeg_sampling s = moeg_sampling_default();
    s.n = r->n;
    s.seed = seed;
    s.method = MOEG_METHOD_MC;
    assert_ok(moeg_boundary_mass(p->router, p->law, WIDTHS, w, &s, mass));
    for (size_t j = 0; j < WIDTHS; j++) {
        uint64_t count = 0;
        for (size_t i = 0; i < r->n; i++)
            count += r->margin[i] <= w[j];
        assert_near(mass[j].value, (double)count / (double)r->n, 0);
        assert_int_equal(mass[j].n, r->n);
        assert_true(mass[j].lo >= 0 && mass[j].lo <= mass[j].value && mass[j].value <= mass[j].hi && mass[j].hi <= 1);
        assert_true(count == r->n || mass[j].hi > mass[j].value || finite_logits(r->K, p->logits.b) == 1);
        assert_true(isfinite(mass[j].std_error));
    }
}

/* Hill's sum, row by row. */
static void check_exponents(const struct edge_problem *p, const struct rows *r, uint64_t seed)
{
    enum { WIDTHS = 4 };
    const double scale = p->logits.edge.scale, w[WIDTHS] = {3 * scale, 1e300, 1e-300, 0.4 * scale};
    moeg_estimate alpha[WIDTHS];
    uint64_t ties, tied = 0;
    moeg_sampling s = moeg_sampling_default();
    s.n = r->n;
    s.seed = seed;
    const moeg_status status =
        moeg_boundary_exponent(p->router, moeg_gap_margin(), p->law, WIDTHS, w, &s, alpha, NULL, &ties);
    int is_unable = 0;
    for (size_t i = 0; i < r->n; i++)
        tied += r->margin[i] == 0;
    assert_int_equal(ties, tied);
    for (size_t j = 0; j < WIDTHS; j++) {
        long double sum = 0;
        uint64_t count = 0;
        for (size_t i = 0; i < r->n; i++)
            if (r->margin[i] > 0 && r->margin[i] <= w[j]) {
                sum += logl(w[j]) - logl(r->margin[i]);
                count++;
            }
        assert_int_equal(alpha[j].contributing, count);
        assert_true(count == 0 ? isnan(alpha[j].value) : 1);
        if (count > 0)
            assert_relative(alpha[j].value, (double)((long double)count / sum), 64 * EPS);
        assert_true(count == 0 ? alpha[j].std_error == INFINITY : alpha[j].lo < alpha[j].hi);
        is_unable |= count < MOEG_ENOUGH_UNITS;
    }
    check_status_at(status, is_unable ? MOEG_EUNABLE : MOEG_OK, "rows below it", "exponent", __FILE__, __LINE__);
}

static void masses_are_shares_of_rows(void **state)
{
    (void)state;
    for (size_t e = 0; e < EDGES; e++)
        for (int law = 0; law < LAWS; law++)
            for (int router = 0; router < ROUTERS; router++) {
                struct edge_problem p;
                struct rows r;
                edge_problem_make(&p, edges[e], (enum edge_law)law, (enum edge_router)router, e);
                rows_make(&p, 11 + e, &r);
                check_masses(&p, &r, 11 + e);
                check_exponents(&p, &r, 11 + e);
                edge_problem_free(&p);
            }
}

/* Logits, or their differences, past the largest double: an error that names the first such row, and no output. A gate
 * that needs no difference needs logits alone. */
static void logits_that_overflow_are_told(void **state)
{
    (void)state;
    const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_topk_raw(1), moeg_gate_topk_renorm(1)};
    const double grid[] = {1, 1e300};
    double x[EDGE_N * EDGE_D], a[EDGE_N * EDGE_K];
    int logits_told = 0, margins_told = 0;
    moeg_sampling s = moeg_sampling_default();
    s.n = EDGE_N;
    s.method = MOEG_METHOD_MC;
    for (int law = 0; law < LAWS; law++)
        for (int router = 0; router < 2 * ROUTERS; router++) {
            const struct edge edge = {"overflow", router % 2 ? 4 : 2, 3, EDGE_N, 0x1p1022, NO_TIE, NO_MASK};
            struct edge_problem p;
            moeg_estimate out[2] = {{.value = 42}, {.value = 42}};
            edge_problem_make(&p, edge, (enum edge_law)law, (enum edge_router)(router / 2), (size_t)law);
            assert_ok(moeg_law_sample(p.law, s.seed, 0, EDGE_N, x));
            const int logits = moeg_router_logits(p.router, EDGE_N, x, a) == MOEG_ERANGE;
            const int margins = moeg_router_margin(p.router, EDGE_N, x, a) == MOEG_ERANGE;
            logits_told += logits;
            margins_told += margins && !logits;
            for (size_t g = 0; g < 3; g++) {
                moeg_moe *moe;
                assert_ok(moeg_moe_create(&moe, p.router, gates[g], p.experts));
                if (g < 2 ? margins : logits)
                    assert_status(moeg_risk_gap(moe, p.teacher, p.law, MOEG_MIX_LOSS, 2, grid, &s, out), MOEG_ERANGE,
                                  "risk_gap: logits of sample ");
                moeg_moe_free(moe);
            }
            if (margins)
                assert_status(moeg_boundary_mass(p.router, p.law, 2, grid, &s, out), MOEG_ERANGE,
                              "boundary_mass: logits of sample ");
            assert_true(out[0].value == 42 && out[1].value == 42);
            edge_problem_free(&p);
        }
    assert_true(logits_told >= 12 && margins_told >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(risks_are_means_of_their_definitions),
        cmocka_unit_test(masses_are_shares_of_rows),
        cmocka_unit_test(logits_that_overflow_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
