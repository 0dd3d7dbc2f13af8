/* Problems whose cells all have a star: the set-up of the speed claims, and four experts at the corners of a
 * tetrahedron. */
#ifndef MOEG_TESTS_LIMIT_RAYS_H
#define MOEG_TESTS_LIMIT_RAYS_H

#include "limit/cells.h"
#include "limit/problem.h"
#include "support/failing_alloc.h"

/* W, b and affine experts of N(0, 1/d), one output; m = 0 or another such expert. */
enum { K = DRAWN_K, D = DRAWN_D };
struct setup {
    moeg_law *law;
    moeg_moe *moe;
    moeg_teacher *teacher, *noisy, *own; /* own: m is the hard model itself */
};

static inline moeg_expert *draw_expert(uint64_t *seed, double scale)
{
    double A[D], c = scale * next_normal(seed);
    moeg_expert *expert;
    for (int i = 0; i < D; i++)
        A[i] = scale * next_normal(seed);
    assert_ok(moeg_expert_affine_create(&expert, D, 1, A, &c));
    return expert;
}

static inline void make(uint64_t seed, double teacher, struct setup *p)
{
    const double scale = 1 / sqrt(D);
    moeg_router *router;
    moeg_expert *experts[K + 1];
    draw_cells(&seed, &router, &p->law);
    for (int k = 0; k <= K; k++)
        experts[k] = draw_expert(&seed, k < K ? scale : teacher * scale);
    assert_ok(moeg_moe_create(&p->moe, router, moeg_gate_softmax(), experts));
    assert_ok(moeg_teacher_expert_create(&p->teacher, experts[K]));
    assert_ok(moeg_teacher_noise_create(&p->noisy, p->teacher, 0.37));
    assert_ok(moeg_teacher_moe_create(&p->own, p->moe, 0));
    moeg_router_free(router);
    for (int k = 0; k <= K; k++)
        moeg_expert_free(experts[k]);
}

static inline void unmake(struct setup *p)
{
    moeg_law_free(p->law);
    moeg_moe_free(p->moe);
    moeg_teacher_free(p->teacher);
    moeg_teacher_free(p->noisy);
    moeg_teacher_free(p->own);
}

static inline void tetrahedron(struct problem *p)
{
    problem_draw(p, 31, 4, 3, 2);
    memcpy(p->W, five_rows, 4 * 3 * sizeof *p->W);
    memcpy(p->b, five_biases, 4 * sizeof *p->b);
    problem_build(p);
}

/* What fails where any allocation of a call on the tetrahedron does; their number. */
static inline size_t fail_on_tetrahedron(moeg_status (*everything)(void *user))
{
    struct problem p;
    tetrahedron(&p);
    const size_t count = fail_every_allocation(everything, &p);
    problem_free(&p);
    return count;
}

#endif
