/* Problems of this chapter's tests: a law, a mixture of affine experts and a teacher, with the numbers they hold, so
 * that a test can do the same sums in long double. */
#ifndef MOEG_TESTS_LIMIT_PROBLEM_H
#define MOEG_TESTS_LIMIT_PROBLEM_H

#include "support/check.h"

#include <moegeom/moegeom.h>
#include <stdlib.h>

enum { MOST_K = 8, MOST_D = 6, MOST_M = 4 };

struct problem {
    size_t K, d, m;
    double mean[MOST_D], covariance[MOST_D * MOST_D];
    double W[MOST_K * MOST_D], b[MOST_K];
    double A[MOST_K + 2][MOST_M * MOST_D], c[MOST_K + 2][MOST_M]; /* The experts', then the teacher's one or two. */
    int pieces;                 /* 2: the teacher's second where its logit is larger. */
    double V[2 * MOST_D], e[2]; /* The teacher's router. */
    moeg_gate gate;
    double noise;
    moeg_law *law;
    moeg_router *router;
    moeg_moe *moe;
    moeg_teacher *teacher;
};

static inline moeg_expert *problem_expert(const struct problem *p, size_t k)
{
    moeg_expert *expert;
    assert_ok(moeg_expert_affine_create(&expert, p->d, p->m, p->A[k], p->c[k]));
    return expert;
}

/* The teacher of `pieces` experts, from K on. */
static inline moeg_teacher *problem_teacher(const struct problem *p)
{
    moeg_teacher *teacher;
    moeg_expert *experts[] = {problem_expert(p, p->K), problem_expert(p, p->K + 1)};
    if (p->pieces == 2) {
        moeg_router *router;
        moeg_moe *moe;
        assert_ok(moeg_router_affine_create(&router, 2, p->d, p->V, p->e));
        assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), experts));
        assert_ok(moeg_teacher_moe_create(&teacher, moe, 0));
        moeg_moe_free(moe);
        moeg_router_free(router);
    } else {
        assert_ok(moeg_teacher_expert_create(&teacher, experts[0]));
    }
    moeg_expert_free(experts[0]);
    moeg_expert_free(experts[1]);
    if (p->noise > 0) {
        moeg_teacher *mean = teacher;
        assert_ok(moeg_teacher_noise_create(&teacher, mean, p->noise));
        moeg_teacher_free(mean);
    }
    return teacher;
}

/* The objects of the numbers. */
static inline void problem_build(struct problem *p)
{
    moeg_expert *experts[MOST_K];
    assert_ok(moeg_law_gaussian_create(&p->law, p->d, p->mean, p->covariance));
    assert_ok(moeg_router_affine_create(&p->router, p->K, p->d, p->W, p->b));
    for (size_t k = 0; k < p->K; k++)
        experts[k] = problem_expert(p, k);
    assert_ok(moeg_moe_create(&p->moe, p->router, p->gate, experts));
    p->teacher = problem_teacher(p);
    for (size_t k = 0; k < p->K; k++)
        moeg_expert_free(experts[k]);
}

static inline void problem_free(struct problem *p)
{
    moeg_law_free(p->law);
    moeg_router_free(p->router);
    moeg_moe_free(p->moe);
    moeg_teacher_free(p->teacher);
}

/* The mixture of a problem with another gate. */
static inline moeg_moe *mixture_of(const struct problem *p, moeg_gate gate)
{
    moeg_expert *experts[MOST_K];
    moeg_moe *moe;
    for (size_t k = 0; k < p->K; k++)
        experts[k] = problem_expert(p, k);
    assert_ok(moeg_moe_create(&moe, p->router, gate, experts));
    for (size_t k = 0; k < p->K; k++)
        moeg_expert_free(experts[k]);
    return moe;
}

/* Numbers in (-1, 1) from (seed, which). */
static inline double problem_number(uint64_t seed, uint64_t which)
{
    double u;
    assert_ok(moeg_stream_uniforms((moeg_stream){seed, 4711}, which, 1, 1, &u));
    return 2 * u - 1;
}

/* Draws the numbers of a problem: logits of standard deviation about 1, covariance F F' + 0.1 I. */
static inline void problem_draw(struct problem *p, uint64_t seed, size_t K, size_t d, size_t m)
{
    uint64_t at = 0;
    double F[MOST_D * MOST_D];
    *p = (struct problem){.K = K, .d = d, .m = m};
    for (size_t i = 0; i < d; i++)
        p->mean[i] = 0.4 * problem_number(seed, at++);
    for (size_t i = 0; i < d * d; i++)
        F[i] = problem_number(seed, at++);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            p->covariance[i * d + j] = i == j ? 0.1 : 0;
            for (size_t k = 0; k < d; k++)
                p->covariance[i * d + j] += F[i * d + k] * F[j * d + k];
        }
    for (size_t i = 0; i < K * d; i++)
        p->W[i] = 1.3 * problem_number(seed, at++);
    for (size_t k = 0; k < K; k++)
        p->b[k] = 0.3 * problem_number(seed, at++);
    for (size_t k = 0; k <= K; k++) {
        for (size_t i = 0; i < m * d; i++)
            p->A[k][i] = problem_number(seed, at++);
        for (size_t j = 0; j < m; j++)
            p->c[k][j] = 2.385 * problem_number(seed, at++);
    }
}

static inline void problem_make(struct problem *p, uint64_t seed, size_t K, size_t d, size_t m)
{
    problem_draw(p, seed, K, d, m);
    problem_build(p);
}

/* f_k(x) (k = K: the teacher's expert) in long double. */
static inline void problem_output(const struct problem *p, size_t k, const double *x, long double *y)
{
    for (size_t j = 0; j < p->m; j++) {
        y[j] = p->c[k][j];
        for (size_t i = 0; i < p->d; i++)
            y[j] += (long double)p->A[k][j * p->d + i] * x[i];
    }
}

/* Losses of one row against y by their definitions: logits as the library gives them, all else in long double. Gates
 * relative to the largest logit; the gap from its definition as a difference, which long double can afford. */
struct losses {
    long double hard, soft, gap, margin;
};

static inline struct losses problem_losses(const struct problem *p, moeg_mixing mixing, double tau, const double *x,
                                           const double *logits, const long double *y)
{
    long double gate[MOST_K], sum = 0, mixed[MOST_M] = {0}, f[MOST_K][MOST_M];
    struct losses l = {.margin = INFINITY};
    size_t best = 0;
    for (size_t k = 0; k < p->K; k++)
        if (logits[k] > logits[best])
            best = k;
    for (size_t k = 0; k < p->K; k++) {
        const long double below = (long double)logits[k] - logits[best];
        gate[k] = tau == 0 ? (k == best) : expl(below / tau);
        sum += gate[k];
        if (k != best && -below < l.margin)
            l.margin = -below;
        problem_output(p, k, x, f[k]);
    }
    for (size_t k = 0; k < p->K; k++) {
        long double loss = 0, excess = 0;
        for (size_t j = 0; j < p->m; j++) {
            const long double delta = f[k][j] - f[best][j];
            loss += (f[k][j] - y[j]) * (f[k][j] - y[j]);
            excess += delta * delta + 2 * delta * (f[best][j] - y[j]);
            mixed[j] += gate[k] / sum * delta;
        }
        if (k == best)
            l.hard = loss;
        if (mixing == MOEG_MIX_LOSS) {
            l.soft += gate[k] / sum * loss;
            l.gap += gate[k] / sum * excess;
        }
    }
    for (size_t j = 0; mixing == MOEG_MIX_OUTPUT && j < p->m; j++) {
        const long double residual = f[best][j] - y[j];
        l.soft += (residual + mixed[j]) * (residual + mixed[j]);
        l.gap += mixed[j] * (mixed[j] + 2 * residual);
    }
    return l;
}

#endif
