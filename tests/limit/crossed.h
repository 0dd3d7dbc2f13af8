/* Four experts in the plane and a teacher whose interfaces are some of the router's and run on past its corners, or
 * cross them, or each other. All outputs are constants. */
#ifndef MOEG_TESTS_LIMIT_CROSSED_H
#define MOEG_TESTS_LIMIT_CROSSED_H

#include "limit/gates.h"

enum { K = 4, MOST_PIECES = 3, INTERFACES = K * (K - 1) / 2 + 3 };

/* Which rows the teacher has. */
enum jumps { ON_A_TIE, ON_THREE_TIES, ON_A_TIE_AND_OFF, OFF_TIES, OF_TWO_OF_THREE, WAYS };

struct crossed {
    struct problem p; /* V and e are not used */
    size_t pieces, winners;
    double V[2 * MOST_PIECES], e[MOST_PIECES];
    real a[K + MOST_PIECES][3]; /* logits, of the teacher's after the router's, and... */
    real out[K + MOST_PIECES];  /* ...outputs: the same everywhere */
};

/* Logits in u, x = mean + factor u, u ~ N(0, I). */
static inline void set_logits(struct crossed *c, size_t at, const double *w, double constant)
{
    const double *S = c->p.covariance;
    const real a = sqrtl(S[0]), b = S[1] / a, f = sqrtl(S[3] - b * b);
    c->a[at][0] = w[0] * a + w[1] * b;
    c->a[at][1] = w[1] * f;
    c->a[at][2] = constant + (real)w[0] * c->p.mean[0] + (real)w[1] * c->p.mean[1];
}

static inline void set_teacher(struct crossed *c, enum jumps way, uint64_t seed)
{
    c->pieces = way == ON_A_TIE ? 2 : 3;
    c->winners = way == OF_TWO_OF_THREE ? 2 : 1;
    for (size_t k = 0; k < c->pieces; k++) {
        const int own = way == OFF_TIES || (way == ON_A_TIE_AND_OFF && k == 2);
        for (size_t l = 0; l < 2; l++)
            c->V[2 * k + l] = own ? problem_number(seed, 600 + 2 * k + l) : 0.5 * c->p.W[2 * k + l];
        c->e[k] = own ? 0.3 * problem_number(seed, 610 + k) : 0.5 * c->p.b[k];
    }
}

/* In pieces by rows V and e; gives the experts back. */
static inline moeg_teacher *hard_teacher(size_t pieces, const double *V, const double *e, size_t winners,
                                         moeg_expert **experts)
{
    moeg_router *router;
    moeg_moe *moe;
    moeg_teacher *teacher;
    assert_ok(moeg_router_affine_create(&router, pieces, 2, V, e));
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_subset(winners), experts));
    assert_ok(moeg_teacher_moe_create(&teacher, moe, 0));
    moeg_moe_free(moe);
    moeg_router_free(router);
    for (size_t k = 0; k < pieces; k++)
        moeg_expert_free(experts[k]);
    return teacher;
}

static inline void make(struct crossed *c, enum jumps way, uint64_t seed)
{
    struct problem *p = &c->p;
    problem_draw(p, seed, K, 2, 1);
    memset(p->A, 0, sizeof p->A);
    p->pieces = 1;
    p->gate = moeg_gate_softmax();
    problem_build(p);
    moeg_teacher_free(p->teacher);
    set_teacher(c, way, seed);
    moeg_expert *experts[MOST_PIECES];
    for (size_t k = 0; k < c->pieces; k++) {
        const double A[2] = {0, 0}, value = 2 * problem_number(seed, 620 + k);
        assert_ok(moeg_expert_affine_create(&experts[k], 2, 1, A, &value));
        set_logits(c, K + k, c->V + 2 * k, c->e[k]);
        c->out[K + k] = value;
    }
    for (size_t k = 0; k < K; k++) {
        set_logits(c, k, p->W + 2 * k, p->b[k]);
        c->out[k] = p->c[k][0];
    }
    p->teacher = hard_teacher(c->pieces, c->V, c->e, c->winners, experts);
}

/* The same with another gate. */
static inline void set_gate(struct crossed *c, moeg_gate gate)
{
    moeg_moe *moe = mixture_of(&c->p, gate);
    moeg_moe_free(c->p.moe);
    c->p.moe = moe;
    c->p.gate = gate;
}

static inline void logits_at(const struct crossed *c, size_t from, size_t count, real u, real v, real *a)
{
    for (size_t k = 0; k < count; k++)
        a[k] = c->a[from + k][0] * u + c->a[from + k][1] * v + c->a[from + k][2];
}

static inline real teacher_at(const struct crossed *c, real u, real v)
{
    real a[MOST_PIECES], sum = 0;
    logits_at(c, K, c->pieces, u, v, a);
    const unsigned top = top_set(c->pieces, a, c->winners);
    for (size_t k = 0; k < c->pieces; k++)
        sum += (top >> k & 1) != 0 ? c->out[K + k] : 0;
    return sum / (real)c->winners;
}

/* Where the logits of two are level: g.(u, v) + h = 0. */
struct interface {
    size_t of, i, j;
    real g[2], h;
};

static inline size_t interfaces_of(const struct crossed *c, struct interface *all)
{
    size_t n = 0;
    for (size_t of = 0; of < 2; of++)
        for (size_t i = 0; i < (of == 0 ? K : c->pieces); i++)
            for (size_t j = i + 1; j < (of == 0 ? K : c->pieces); j++) {
                const real *a = c->a[of * K + i], *b = c->a[of * K + j];
                all[n++] = (struct interface){of, i, j, {a[0] - b[0], a[1] - b[1]}, a[2] - b[2]};
            }
    return n;
}

static inline int ascending(const void *a, const void *b)
{
    const real x = *(const real *)a, y = *(const real *)b;
    return x < y ? -1 : x > y;
}

#endif
