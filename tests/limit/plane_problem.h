/* The problems of gap_k3.csv with softmax gates: three experts in the plane. */
#ifndef MOEG_TESTS_LIMIT_PLANE_PROBLEM_H
#define MOEG_TESTS_LIMIT_PLANE_PROBLEM_H

#include "limit/reference_problem.h"

/* A teacher of its own experts, in pieces that are the cells of the problem's router (of a fourth expert: all 0). */
static inline moeg_teacher *pieces_of(const struct problem *p, const struct reference *r, const char *of)
{
    moeg_expert *experts[4];
    moeg_moe *moe;
    moeg_teacher *teacher;
    for (size_t k = 0; k < p->K; k++) {
        char name[2][32];
        double A[3] = {0}, c = 0;
        snprintf(name[0], sizeof name[0], "m%zu_A", k + 1);
        snprintf(name[1], sizeof name[1], "m%zu_c", k + 1);
        if (k < 3) {
            reference_copy(r, of, name[0], A);
            reference_copy(r, of, name[1], &c);
        }
        assert_ok(moeg_expert_affine_create(&experts[k], p->d, 1, A, &c));
    }
    assert_ok(moeg_moe_create(&moe, p->router, moeg_gate_softmax(), experts));
    assert_ok(moeg_teacher_moe_create(&teacher, moe, 0));
    moeg_moe_free(moe);
    for (size_t k = 0; k < p->K; k++)
        moeg_expert_free(experts[k]);
    return teacher;
}

static inline moeg_mixing plane_mixing(const struct reference *r, size_t row)
{
    return strcmp(reference_text(r, row, "mixing"), "loss") == 0 ? MOEG_MIX_LOSS : MOEG_MIX_OUTPUT;
}

/* The numbers of a row's case. */
static inline void plane_read(const struct reference *r, size_t row, struct problem *p)
{
    const char *of = reference_text(r, row, "case");
    *p = (struct problem){.K = 3, .d = 2, .m = 1};
    reference_router(r, of, p);
    for (size_t k = 0; k < 4; k++) {
        char name[2][32];
        snprintf(name[0], sizeof name[0], k < 3 ? "f%zu_A" : "m_A", k + 1);
        snprintf(name[1], sizeof name[1], k < 3 ? "f%zu_c" : "m_c", k + 1);
        if (k == 3 && reference_parameter(r, of, "m_A") == NULL)
            continue;
        reference_copy(r, of, name[0], p->A[k]);
        reference_copy(r, of, name[1], p->c[k]);
    }
}

static inline void plane_build(const struct reference *r, size_t row, struct problem *p)
{
    const char *of = reference_text(r, row, "case");
    problem_build(p);
    if (reference_parameter(r, of, "m_A") == NULL) {
        moeg_teacher_free(p->teacher);
        p->teacher = pieces_of(p, r, of);
    }
}

/* To be freed with problem_free(). */
static inline void plane_problem(const struct reference *r, size_t row, struct problem *p)
{
    plane_read(r, row, p);
    plane_build(r, row, p);
}

/* The same with a third coordinate, N(0, 1), and a fourth expert that depends on it and never wins: nor does it matter,
 * by e^-60/tau. */
static inline void plane_in_space(const struct reference *r, size_t row, struct problem *p)
{
    struct problem plane;
    plane_read(r, row, &plane);
    *p = (struct problem){.K = 4, .d = 3, .m = 1, .b = {plane.b[0], plane.b[1], plane.b[2], -60}};
    for (size_t i = 0; i < 2; i++) {
        p->mean[i] = plane.mean[i];
        for (size_t j = 0; j < 2; j++)
            p->covariance[3 * i + j] = plane.covariance[2 * i + j];
    }
    p->covariance[8] = 1;
    p->W[11] = 1;
    for (size_t k = 0; k < 3; k++)
        memcpy(p->W + 3 * k, plane.W + 2 * k, 2 * sizeof *p->W);
    for (size_t k = 0; k < 4; k++) {
        const size_t to = k < 3 ? k : 4; /* The teacher's, last. */
        memcpy(p->A[to], plane.A[k], 2 * sizeof **p->A);
        p->c[to][0] = plane.c[k][0];
    }
    plane_build(r, row, p);
}

#endif
