/* The means that risks are, by their definitions, in long double, of the problems of edges.h. */
#ifndef MOEG_TESTS_LIMIT_EDGES_ROWS_H
#define MOEG_TESTS_LIMIT_EDGES_ROWS_H

#include "limit/edges.h"
#include "model/subsets.h"

/* Rows of the law as jobs draw them, with all that the definitions speak of. */
struct rows {
    size_t K, n;
    double x[EDGE_N * EDGE_D], a[EDGE_N * EDGE_K], margin[EDGE_N];
    double f[EDGE_K][EDGE_N * EDGE_M], y[EDGE_N * EDGE_M];
};

static inline void rows_make(const struct edge_problem *p, uint64_t seed, struct rows *r)
{
    r->K = p->logits.edge.K;
    r->n = p->logits.edge.n;
    assert_ok(moeg_law_sample(p->law, seed, 0, r->n, r->x));
    assert_ok(moeg_router_logits(p->router, r->n, r->x, r->a));
    assert_ok(moeg_router_margin(p->router, r->n, r->x, r->margin));
    for (size_t k = 0; k < r->K; k++) {
        const moeg_status status = moeg_expert_forward(p->experts[k], r->n, r->x, r->f[k]);
        if (k == 1 && p->logits.edge.mask == SOME_MASK)
            memset(r->f[k], 0, sizeof r->f[k]);
        else
            assert_ok(status);
    }
    assert_ok(moeg_teacher_mean(p->teacher, 0, r->n, r->x, r->y));
}

static inline size_t finite_logits(size_t K, const double *a)
{
    size_t finite = 0;
    for (size_t k = 0; k < K; k++)
        finite += a[k] != -INFINITY;
    return finite;
}

/* a_(rank) - a_(rank + 1), +inf past the last. */
static inline long double gap_after(size_t K, const double *a, size_t rank)
{
    if (rank >= finite_logits(K, a))
        return INFINITY;
    const unsigned upper = top_set(K, a, rank) & ~top_set(K, a, rank - 1), both = top_set(K, a, rank + 1);
    const unsigned lower = both & ~top_set(K, a, rank);
    return (long double)a[__builtin_ctz(upper)] - a[__builtin_ctz(lower)];
}

/* What decides whether a row feels the temperature. */
static inline long double deciding_gap(moeg_gate gate, size_t K, const double *a)
{
    if (gate.kind == MOEG_GATE_TOPK_RENORM && gate.k == 1)
        return INFINITY;
    return gap_after(K, a, gate.kind == MOEG_GATE_SUBSET ? gate.k : 1);
}

/* Hard gates g(0) and changes c = g(tau) - g(0) of a row; a winner's change is what the others have. */
static inline void changes(moeg_gate gate, size_t K, const double *a, double tau, long double *hard,
                           long double *change)
{
    const int is_subset = gate.kind == MOEG_GATE_SUBSET;
    const size_t k = is_subset ? gate.k : 1;
    const unsigned winners = top_set(K, a, k);
    for (size_t j = 0; j < K; j++) {
        hard[j] = winners >> j & 1 ? 1.0L / (long double)k : 0;
        change[j] = 0;
    }
    if (tau == 0)
        return;
    if (is_subset) {
        const subsets s = enumerate_subsets(K, a, k, tau);
        for (size_t j = 0; j < K; j++)
            change[j] = (winners >> j & 1 ? -s.change[j] : s.change[j]) / (long double)k;
        return;
    }
    const size_t best = (size_t)__builtin_ctz(winners);
    const unsigned chosen = gate.k == 0 ? ~0u : top_set(K, a, gate.k);
    const unsigned mixed = gate.kind == MOEG_GATE_TOPK_RENORM ? chosen : ~0u;
    long double others = 0;
    for (size_t j = 0; j < K; j++)
        if (j != best && mixed >> j & 1)
            others += change[j] = expl(((long double)a[j] - a[best]) / tau);
    for (size_t j = 0; j < K; j++)
        change[j] = chosen >> j & 1 ? (j == best ? -others : change[j]) / (1 + others) : 0;
}

/* Means over the rows, and the sizes of the terms that they were added from. */
struct expected {
    long double hard, soft, gap, size;
    uint64_t felt;
    double v, squares; /* of what rows add to the gap */
};

static inline void add_row(const struct rows *r, size_t i, moeg_gate gate, moeg_mixing mixing, double tau,
                           struct expected *e)
{
    const double *a = r->a + i * r->K;
    long double hard[EDGE_K], change[EDGE_K];
    changes(gate, r->K, a, tau, hard, change);
    for (size_t j = 0; j < EDGE_M; j++) {
        long double h = 0, D = 0, size = 0;
        const long double y = r->y[i * EDGE_M + j];
        for (size_t k = 0; k < r->K; k++) {
            const long double f = r->f[k][i * EDGE_M + j], loss = (f - y) * (f - y);
            h += hard[k] * f;
            D += change[k] * f;
            size += fabsl(change[k] * f);
            if (mixing == MOEG_MIX_LOSS) {
                e->hard += hard[k] * loss;
                e->soft += (hard[k] + change[k]) * loss;
                e->gap += change[k] * loss;
                e->size += fabsl(change[k]) * loss;
            }
        }
        if (mixing == MOEG_MIX_OUTPUT) {
            e->hard += (h - y) * (h - y);
            e->soft += (h + D - y) * (h + D - y);
            e->gap += D * (D + 2 * (h - y));
            e->size += size * (size + 2 * fabsl(h - y));
        }
    }
}

/* Rows beyond 45 tau are left at their hard risk under a sampled law. */
static inline struct expected expect(const struct rows *r, moeg_gate gate, moeg_mixing mixing, double tau,
                                     int is_empirical)
{
    struct expected e = {0};
    for (size_t i = 0; i < r->n; i++) {
        const long double margin = deciding_gap(gate, r->K, r->a + i * r->K);
        const int felt = tau > 0 && (double)margin <= 45 * tau;
        const long double before = e.gap;
        e.gap = 0;
        add_row(r, i, gate, mixing, felt || is_empirical ? tau : 0, &e);
        const double v = (double)fabsl(e.gap);
        e.gap += before;
        if (felt) {
            e.felt++;
            e.v += v;
            e.squares += v * v;
        }
    }
    e.hard /= (long double)r->n;
    e.soft /= (long double)r->n;
    e.gap /= (long double)r->n;
    e.size /= (long double)r->n;
    return e;
}

#endif
