/* Small problems of every kind of law, router and expert, at the edges of what is defined. */
#ifndef MOEG_TESTS_LIMIT_EDGES_H
#define MOEG_TESTS_LIMIT_EDGES_H

#include "limit/problem.h"

enum { EDGE_K = 5, EDGE_D = 3, EDGE_M = 2, EDGE_N = 40, EDGE_H = 3 };
enum edge_law { GAUSSIAN, MIXTURE, BOX, MARGIN, EMPIRICAL, CALLBACK_LAW, LAWS };
enum edge_router { AFFINE, MLP, CALLBACK_ROUTER, ROUTERS };

/* Which logits tie, in all rows: none, those of experts 0 and 1, all. */
enum edge_tie { NO_TIE, PAIR_TIE, ALL_TIE };

/* Which are masked: none; expert 1, whose outputs then overflow, and, of a callback router, 3 in some rows; all but
 * one.
 */
enum edge_mask { NO_MASK, SOME_MASK, ONE_LEFT };

struct edge {
    const char *name;
    size_t K, d, n;
    double scale; /* of the logits, a power of two */
    enum edge_tie tie;
    enum edge_mask mask;
};

/* The numbers of logits: W x + b, of an MLP router W tanh(V x) + b. */
struct edge_logits {
    struct edge edge;
    double V[EDGE_H * EDGE_D], W[EDGE_K * EDGE_H], b[EDGE_K];
};

struct edge_problem {
    struct edge_logits logits;
    moeg_law *law;
    moeg_router *router;
    moeg_expert *experts[EDGE_K + 1]; /* The last is the teacher's. */
    moeg_teacher *teacher;
};

static inline int edge_callback_logits(size_t n, const double *x, double *logits, void *user)
{
    const struct edge_logits *l = user;
    const struct edge *e = &l->edge;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < e->K; k++) {
            double a = l->b[k];
            for (size_t j = 0; j < e->d; j++)
                a += l->W[k * e->d + j] * x[i * e->d + j];
            const size_t left = x[i * e->d] > 0 ? 0 : e->K - 1;
            if ((e->mask == ONE_LEFT && k != left) ||
                (e->mask == SOME_MASK && (k == 1 || (k == 3 && x[i * e->d] > 0.2))))
                a = -INFINITY;
            logits[i * e->K + k] = a;
        }
    return 0;
}

static inline moeg_router *edge_router_make(struct edge_logits *l, enum edge_router kind, struct edge edge)
{
    static const double *no_bias = NULL;
    const size_t inner = kind == MLP ? EDGE_H : edge.d;
    *l = (struct edge_logits){.edge = edge};
    for (size_t i = 0; i < EDGE_H * EDGE_D; i++)
        l->V[i] = problem_number(71, i);
    for (size_t k = 0; k < edge.K; k++) {
        const size_t from = edge.tie == ALL_TIE || (edge.tie == PAIR_TIE && k == 1) ? 0 : k;
        for (size_t j = 0; j < inner; j++)
            l->W[k * inner + j] = edge.scale * 2.385 * problem_number(72 + from, j);
        l->b[k] = edge.scale * problem_number(72 + from, 9);
        if (kind != CALLBACK_ROUTER && (edge.mask == ONE_LEFT ? k + 1 < edge.K : edge.mask == SOME_MASK && k == 1))
            l->b[k] = -INFINITY;
    }
    moeg_router *router;
    const size_t widths[] = {edge.d, EDGE_H, edge.K};
    const double *const W[] = {l->V, l->W}, *const b[] = {no_bias, l->b};
    if (kind == AFFINE)
        assert_ok(moeg_router_affine_create(&router, edge.K, edge.d, l->W, l->b));
    else if (kind == MLP)
        assert_ok(moeg_router_mlp_create(&router, 2, widths, W, b, MOEG_ACTIVATION_TANH));
    else
        assert_ok(moeg_router_callback_create(&router, edge.K, edge.d, edge_callback_logits, l));
    return router;
}

/* x = 2.385 z - 1.1, the same in every coordinate. */
static inline int edge_callback_law(size_t n, const double *z, double *x, void *user)
{
    const struct edge *e = user;
    for (size_t i = 0; i < n * e->d; i++)
        x[i] = 2.385 * z[i / e->d] - 1.1;
    return 0;
}

static inline moeg_law *edge_law_make(enum edge_law kind, struct edge *edge)
{
    static const double mean[EDGE_D] = {0.3, -0.2, 0.1}, lo[EDGE_D] = {-1.5, 0.2, -2}, hi[EDGE_D] = {1.2, 0.9, -1};
    static const double weights[2] = {0.7, 1.3};
    const size_t d = edge->d;
    moeg_law *law, *components[2];
    if (kind == GAUSSIAN)
        assert_ok(moeg_law_gaussian_create(&law, d, mean, NULL));
    else if (kind == BOX)
        assert_ok(moeg_law_box_create(&law, d, lo, hi));
    else if (kind == MARGIN)
        assert_ok(moeg_law_margin_create(&law, d, MOEG_MARGIN_POWER, 2.385));
    else if (kind == CALLBACK_LAW)
        assert_ok(moeg_law_callback_create(&law, d, 1, MOEG_LATENT_UNIFORM, edge_callback_law, edge));
    if (kind == MIXTURE || kind == EMPIRICAL) {
        assert_ok(moeg_law_gaussian_create(&components[0], d, mean, NULL));
        assert_ok(moeg_law_gaussian_create(&components[1], d, NULL, NULL));
        if (kind == MIXTURE) {
            assert_ok(moeg_law_mixture_create(&law, 2, weights, components));
        } else {
            double *x = malloc(edge->n * d * sizeof *x);
            assert_non_null(x);
            assert_ok(moeg_law_sample(components[0], 5, 0, edge->n, x));
            assert_ok(moeg_law_empirical_create(&law, edge->n, d, x, NULL));
            free(x);
        }
        moeg_law_free(components[0]);
        moeg_law_free(components[1]);
    }
    return law;
}

static inline int edge_callback_expert(size_t n, const double *x, double *y, void *user)
{
    const size_t d = *(const size_t *)user;
    for (size_t i = 0; i < n; i++) {
        y[i * EDGE_M] = sin(x[i * d]) - 0.4;
        y[i * EDGE_M + 1] = cos(0.7 * x[i * d + d - 1]);
    }
    return 0;
}

/* Of the five kinds in turn: constant, affine, MLP, gated, callback. */
static inline moeg_expert *edge_expert_make(size_t kind, size_t *d)
{
    double v[EDGE_H * EDGE_D + EDGE_M], u[EDGE_H * EDGE_D], t[EDGE_M * EDGE_H];
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        v[i] = problem_number(81 + kind, i);
    for (size_t i = 0; i < EDGE_H * EDGE_D; i++)
        u[i] = problem_number(91 + kind, i);
    for (size_t i = 0; i < EDGE_M * EDGE_H; i++)
        t[i] = 1.7 * problem_number(101 + kind, i);
    const size_t widths[] = {*d, EDGE_H, EDGE_M};
    const double *const W[] = {v, t};
    moeg_expert *expert;
    if (kind % 5 == 0)
        assert_ok(moeg_expert_constant_create(&expert, *d, EDGE_M, v));
    else if (kind % 5 == 1)
        assert_ok(moeg_expert_affine_create(&expert, *d, EDGE_M, v, v + EDGE_M * *d));
    else if (kind % 5 == 2)
        assert_ok(moeg_expert_mlp_create(&expert, 2, widths, W, NULL, MOEG_ACTIVATION_GELU));
    else if (kind % 5 == 3)
        assert_ok(moeg_expert_gated_create(&expert, *d, EDGE_H, EDGE_M, v, u, t, MOEG_ACTIVATION_SILU));
    else
        assert_ok(moeg_expert_callback_create(&expert, *d, EDGE_M, edge_callback_expert, NULL, d));
    return expert;
}

/* Experts of kinds first_kind, first_kind + 1, ...; *p must stay where it is. */
static inline void edge_problem_make(struct edge_problem *p, struct edge edge, enum edge_law law,
                                     enum edge_router router, size_t first_kind)
{
    p->router = edge_router_make(&p->logits, router, edge);
    p->law = edge_law_make(law, &p->logits.edge);
    static const double steep[EDGE_M * EDGE_D] = {1e308, 1e308, 1e308, 1e308, 1e308, 1e308},
                                       far[EDGE_M] = {1e308, 1e308};
    for (size_t k = 0; k <= edge.K; k++) {
        if (k == 1 && edge.mask == SOME_MASK)
            assert_ok(moeg_expert_affine_create(&p->experts[k], edge.d, EDGE_M, steep, far));
        else
            p->experts[k] = edge_expert_make(first_kind + k, &p->logits.edge.d);
    }
    assert_ok(moeg_teacher_expert_create(&p->teacher, p->experts[edge.K]));
}

static inline void edge_problem_free(struct edge_problem *p)
{
    moeg_law_free(p->law);
    moeg_router_free(p->router);
    for (size_t k = 0; k <= p->logits.edge.K; k++)
        moeg_expert_free(p->experts[k]);
    moeg_teacher_free(p->teacher);
}

#endif
