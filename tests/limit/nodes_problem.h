/* Problems for general lines: those of gap_k3.csv with any gate, two experts and a teacher of every lay, five cells of
 * which one is bounded, and experts that are not affine. */
#ifndef MOEG_TESTS_LIMIT_NODES_PROBLEM_H
#define MOEG_TESTS_LIMIT_NODES_PROBLEM_H

#include "limit/cells.h"
#include "limit/reference_problem.h"

/* Expert `name` of a case of the table, or NULL. */
static inline moeg_expert *reference_expert(const struct reference *r, const char *of, const char *name)
{
    char array[32];
    double A[2], c;
    moeg_expert *expert;
    snprintf(array, sizeof array, "%s_A", name);
    if (reference_parameter(r, of, array) == NULL)
        return NULL;
    reference_copy(r, of, array, A);
    snprintf(array, sizeof array, "%s_c", name);
    reference_copy(r, of, array, &c);
    assert_ok(moeg_expert_affine_create(&expert, 2, 1, A, &c));
    return expert;
}

/* The mixture of a case, and its teacher: one expert, or pieces in the router's own cells, the experts themselves if
 * none are named. */
static inline void reference_problem(const struct reference *r, size_t row, struct problem *p)
{
    const char *of = reference_text(r, row, "case");
    const size_t k = (size_t)reference_value(r, row, "k");
    *p = (struct problem){.K = (size_t)reference_value(r, row, "K"), .d = 2, .m = 1};
    moeg_expert *experts[MOST_K], *pieces[MOST_K], *whole = reference_expert(r, of, "m");
    reference_router(r, of, p);
    assert_ok(moeg_law_gaussian_create(&p->law, 2, p->mean, p->covariance));
    assert_ok(moeg_router_affine_create(&p->router, p->K, 2, p->W, p->b));
    for (size_t i = 0; i < p->K; i++) {
        char name[2][8];
        snprintf(name[0], sizeof name[0], "f%d", (int)i + 1);
        snprintf(name[1], sizeof name[1], "m%d", (int)i + 1);
        experts[i] = reference_expert(r, of, name[0]);
        pieces[i] = reference_expert(r, of, name[reference_parameter(r, of, "m1_A") != NULL]);
    }
    assert_ok(moeg_moe_create(&p->moe, p->router, k > 1 ? moeg_gate_subset(k) : moeg_gate_softmax(), experts));
    if (whole != NULL) {
        assert_ok(moeg_teacher_expert_create(&p->teacher, whole));
    } else {
        moeg_moe *moe;
        assert_ok(moeg_moe_create(&moe, p->router, moeg_gate_softmax(), pieces));
        assert_ok(moeg_teacher_moe_create(&p->teacher, moe, 0));
        moeg_moe_free(moe);
    }
    for (size_t i = 0; i < p->K; i++) {
        moeg_expert_free(experts[i]);
        moeg_expert_free(pieces[i]);
    }
    moeg_expert_free(whole);
}

/* How the interface of a teacher of two pieces lies. */
enum lay { WHOLE, SAME, OPPOSITE, PARALLEL, OBLIQUE, LAYS };

static inline void draw_two(struct problem *p, uint64_t seed, size_t d, enum lay lay)
{
    problem_draw(p, seed, 2, d, 1 + seed % 3);
    p->W[0] += p->W[0] > p->W[d] ? 0.5 : -0.5; /* So that the interface is not far. */
    p->pieces = lay == WHOLE ? 1 : 2;
    p->noise = 0.731;
    for (size_t i = 0; i < 2 * d; i++)
        p->V[i] = lay == OBLIQUE ? problem_number(seed, 300 + i) : (lay == OPPOSITE ? -4 : 2) * p->W[i];
    for (size_t k = 0; k < 2; k++)
        p->e[k] = (lay == OPPOSITE ? -4 : 2) * p->b[k] + (lay == PARALLEL && k == 0 ? 0.385 : 0);
    for (size_t i = 0; i < p->m * d; i++)
        p->A[3][i] = problem_number(seed, 400 + i);
    for (size_t j = 0; j < p->m; j++)
        p->c[3][j] = 2.385 * problem_number(seed, 500 + j);
    const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_topk_raw(1), moeg_gate_topk_raw(2),
                               moeg_gate_topk_renorm(1), moeg_gate_subset(2)};
    p->gate = gates[seed % 5];
    problem_build(p);
}

/* Four of the cells, and a fifth that is bounded; the teacher jumps where experts 0 and 1 tie, with noise. */
static inline void five_experts(struct problem *p, moeg_gate gate)
{
    problem_draw(p, 31, 5, 3, 2);
    memcpy(p->W, five_rows, sizeof five_rows);
    memcpy(p->b, five_biases, sizeof five_biases);
    memcpy(p->V, five_rows, sizeof p->V);
    memcpy(p->e, five_biases, sizeof p->e);
    memcpy(p->A[6], p->A[2], sizeof p->A[2]);
    p->c[6][1] = 1.3;
    p->pieces = 2;
    p->noise = 0.385;
    p->gate = gate;
    problem_build(p);
}

/* One hidden layer of three, or a function of the user's. */
static inline moeg_expert *draw_mlp(uint64_t *seed, size_t d, moeg_activation activation)
{
    double numbers[64];
    for (int i = 0; i < 64; i++)
        numbers[i] = next_normal(seed) / 2;
    const size_t widths[] = {d, 3, 1};
    const double *W[] = {numbers, numbers + 3 * d}, *b[] = {numbers + 40, numbers + 50};
    moeg_expert *expert;
    assert_ok(moeg_expert_mlp_create(&expert, 2, widths, W, b, activation));
    return expert;
}

static inline void curved(struct problem *p, size_t d, int soft)
{
    uint64_t seed = 17;
    moeg_expert *experts[3];
    moeg_moe *moe;
    problem_draw(p, 77, 3, d, 1);
    assert_ok(moeg_law_gaussian_create(&p->law, d, p->mean, p->covariance));
    assert_ok(moeg_router_affine_create(&p->router, 3, d, p->W, p->b));
    for (int k = 0; k < 3; k++)
        experts[k] = draw_mlp(&seed, d, MOEG_ACTIVATION_TANH);
    assert_ok(moeg_moe_create(&p->moe, p->router, moeg_gate_softmax(), experts));
    moeg_expert *turned[3] = {experts[1], experts[2], experts[0]};
    assert_ok(moeg_moe_create(&moe, p->router, soft ? moeg_gate_softmax() : moeg_gate_subset(2), turned));
    assert_ok(moeg_teacher_moe_create(&p->teacher, moe, soft ? 0.5 : 0));
    moeg_moe_free(moe);
    for (int k = 0; k < 3; k++)
        moeg_expert_free(experts[k]);
}

#endif
