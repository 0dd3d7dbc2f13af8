/* Random problems of every kind, for the bounds: any gate, experts constant, affine and MLP, masks and ties, and rows
 * drawn from any law, as an empirical law of which sums are exact. */
#ifndef MOEG_TESTS_LIMIT_BOUND_PROBLEM_H
#define MOEG_TESTS_LIMIT_BOUND_PROBLEM_H

#include "limit/problem.h"

enum { BOUND_K = 6, BOUND_D = 5, BOUND_M = 3, BOUND_N = 50, BOUND_H = 4 };

struct bound_problem {
    uint64_t seed, at; /* of the numbers drawn so far */
    size_t K, live, d, m, n;
    double noise;
    int masked; /* the expert that is, or -1 */
    moeg_gate gate;
    double x[BOUND_N * BOUND_D];
    int weighted;
    double share[BOUND_N]; /* of each row in the data; 0 of some if weighted */
    moeg_law *data;
    moeg_router *router;
    moeg_expert *experts[BOUND_K + 1]; /* The last is the teacher's. */
    moeg_moe *moe;
    moeg_teacher *teacher;
};

static inline double bound_number(struct bound_problem *p)
{
    return problem_number(p->seed, p->at++);
}

/* A whole number in [0, count). */
static inline size_t bound_pick(struct bound_problem *p, size_t count)
{
    return (size_t)((bound_number(p) + 1) / 2 * (double)count) % count;
}

static inline moeg_law *bound_gaussian(struct bound_problem *p)
{
    double mean[BOUND_D], covariance[BOUND_D * BOUND_D] = {0};
    moeg_law *law;
    for (size_t i = 0; i < p->d; i++) {
        mean[i] = 0.5 * bound_number(p);
        covariance[i * p->d + i] = 1.1 + bound_number(p);
    }
    assert_ok(moeg_law_gaussian_create(&law, p->d, mean, covariance));
    return law;
}

static inline moeg_law *bound_law(struct bound_problem *p, size_t kind)
{
    moeg_law *law, *parts[2];
    double lo[BOUND_D], hi[BOUND_D];
    const double weights[2] = {0.7, 1.3};
    for (size_t i = 0; i < p->d; i++) {
        lo[i] = -1.2 + bound_number(p);
        hi[i] = 1.2 + bound_number(p);
    }
    if (kind == 0)
        return bound_gaussian(p);
    if (kind == 1)
        assert_ok(moeg_law_box_create(&law, p->d, lo, hi));
    if (kind == 2)
        assert_ok(moeg_law_margin_create(&law, p->d, MOEG_MARGIN_POWER, 2.385));
    if (kind == 3) {
        parts[0] = bound_gaussian(p);
        parts[1] = bound_gaussian(p);
        assert_ok(moeg_law_mixture_create(&law, 2, weights, parts));
        moeg_law_free(parts[0]);
        moeg_law_free(parts[1]);
    }
    return law;
}

static inline moeg_expert *bound_expert(struct bound_problem *p, double scale)
{
    double numbers[BOUND_H * BOUND_D + BOUND_M * BOUND_D], c[BOUND_M];
    moeg_expert *expert;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        numbers[i] = 1.3 * scale * bound_number(p);
    for (size_t j = 0; j < p->m; j++)
        c[j] = 2.385 * scale * bound_number(p);
    const size_t kind = bound_pick(p, 3), widths[] = {p->d, BOUND_H, p->m};
    const double *const W[] = {numbers, numbers + BOUND_H * p->d}, *const b[] = {NULL, c};
    if (kind == 0)
        assert_ok(moeg_expert_constant_create(&expert, p->d, p->m, c));
    else if (kind == 1)
        assert_ok(moeg_expert_affine_create(&expert, p->d, p->m, numbers, c));
    else
        assert_ok(moeg_expert_mlp_create(&expert, 2, widths, W, b, MOEG_ACTIVATION_TANH));
    return expert;
}

/* Logits of sizes from 0.01 to 10; every seventh problem has two experts that tie everywhere, every fifth a masked
 * one. */
static inline void bound_router(struct bound_problem *p)
{
    double W[BOUND_K * BOUND_D], b[BOUND_K];
    const double scale = pow(10, 1.5 * bound_number(p) - 0.5);
    for (size_t i = 0; i < p->K * p->d; i++)
        W[i] = scale * bound_number(p);
    for (size_t k = 0; k < p->K; k++)
        b[k] = 0.3 * scale * bound_number(p);
    if (p->K > 1 && p->seed % 7 == 0) {
        memcpy(W + p->d, W, p->d * sizeof *W);
        b[1] = b[0];
    }
    p->masked = p->K > 1 && p->seed % 5 == 0 ? (int)(p->K - 1) : -1;
    p->live = p->K - (p->masked >= 0);
    if (p->masked >= 0)
        b[p->masked] = -INFINITY;
    assert_ok(moeg_router_affine_create(&p->router, p->K, p->d, W, b));
}

static inline moeg_gate bound_gate(struct bound_problem *p)
{
    const size_t kind = bound_pick(p, 4), k = 1 + bound_pick(p, p->live);
    return kind == 0   ? moeg_gate_softmax()
           : kind == 1 ? moeg_gate_topk_renorm(k)
           : kind == 2 ? moeg_gate_topk_raw(k)
                       : moeg_gate_subset(k);
}

/* Every fourth problem has weights, of which every third is 0 but the first. */
static inline void bound_weights(struct bound_problem *p)
{
    double weights[BOUND_N], sum = 0;
    p->weighted = p->seed % 4 == 2;
    for (size_t i = 0; i < p->n; i++) {
        weights[i] = !p->weighted ? 1 : i % 3 == 1 ? 0 : exp(2 * bound_number(p));
        sum += weights[i];
    }
    for (size_t i = 0; i < p->n; i++)
        p->share[i] = weights[i] / sum;
    assert_ok(moeg_law_empirical_create(&p->data, p->n, p->d, p->x, p->weighted ? weights : NULL));
}

static inline void bound_problem_make(struct bound_problem *p, uint64_t seed)
{
    *p = (struct bound_problem){.seed = 77000 + seed};
    p->K = 1 + bound_pick(p, BOUND_K);
    p->d = 1 + bound_pick(p, BOUND_D);
    p->m = 1 + bound_pick(p, BOUND_M);
    p->n = seed % 11 == 0 ? 1 : BOUND_N;
    moeg_law *law = bound_law(p, seed % 4);
    assert_ok(moeg_law_sample(law, seed, 0, p->n, p->x));
    bound_weights(p);
    moeg_law_free(law);
    bound_router(p);
    p->gate = bound_gate(p);
    for (size_t k = 0; k <= p->K; k++)
        p->experts[k] = bound_expert(p, k < p->K ? 1 : 3 * fabs(bound_number(p)));
    assert_ok(moeg_moe_create(&p->moe, p->router, p->gate, p->experts));
    moeg_teacher *mean;
    assert_ok(moeg_teacher_expert_create(&mean, p->experts[p->K]));
    p->noise = seed % 3 == 1 ? 5 * (bound_number(p) + 1) : 0;
    assert_ok(moeg_teacher_noise_create(&p->teacher, mean, p->noise));
    moeg_teacher_free(mean);
}

static inline void bound_problem_free(struct bound_problem *p)
{
    moeg_law_free(p->data);
    moeg_router_free(p->router);
    for (size_t k = 0; k <= p->K; k++)
        moeg_expert_free(p->experts[k]);
    moeg_moe_free(p->moe);
    moeg_teacher_free(p->teacher);
}

/* The gap that the bounds of the gate speak of, of every row. */
static inline void bound_gaps(const struct bound_problem *p, double *gap)
{
    if (p->gate.kind == MOEG_GATE_SUBSET)
        assert_ok(moeg_router_gap(p->router, p->n, p->x, moeg_gap_top(p->gate.k), gap));
    else
        assert_ok(moeg_router_margin(p->router, p->n, p->x, gap));
}

/* Noise, and the largest norms of the experts that are not masked and of the teacher, a little up for the rounding of
 * the squares. */
static inline moeg_output_limits bound_limits(const struct bound_problem *p)
{
    moeg_output_limits limits = {0, 0, p->noise};
    double y[BOUND_N * BOUND_M];
    for (size_t k = 0; k <= p->K; k++) {
        assert_ok(moeg_expert_forward(p->experts[k], p->n, p->x, y));
        for (size_t i = 0; i < p->n && (int)k != p->masked; i++) {
            double sum = 0;
            for (size_t j = 0; j < p->m; j++)
                sum += y[i * p->m + j] * y[i * p->m + j];
            double *most = k < p->K ? &limits.B : &limits.M;
            *most = fmax(*most, sqrt(sum) * (1 + 4 * EPS));
        }
    }
    return limits;
}

/* Outputs affine in X ~ N(0, 1), of two experts that change places at 0, and m constant. To be freed with
 * problem_free(). */
static inline struct problem bound_affine_pair(void)
{
    struct problem p = {.K = 2, .d = 1, .m = 1, .covariance = {1}, .W = {1, 0}};
    p.A[0][0] = 1;
    p.c[0][0] = 0.5;
    p.A[1][0] = -0.3;
    p.c[1][0] = -0.2;
    p.c[2][0] = 0.3;
    problem_build(&p);
    return p;
}

/* Whether two rows have different weights, neither of them 0. */
static inline int bound_is_uneven(const struct bound_problem *p)
{
    double common = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (p->share[i] > 0 && common > 0 && p->share[i] != common)
            return 1;
        common = fmax(common, p->share[i]);
    }
    return 0;
}

#endif
