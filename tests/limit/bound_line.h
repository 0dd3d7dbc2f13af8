/* One dimension and two experts, where moments are known. */
#ifndef MOEG_TESTS_LIMIT_BOUND_LINE_H
#define MOEG_TESTS_LIMIT_BOUND_LINE_H

#include "support/check.h"

#include <moegeom/moegeom.h>

/* x uniform in (-1, 1), s = x, f = x and -x, m = 0: Q = 8 x^2, so that E Q^p = 8^p/(2 p + 1), and E Q exp(-|x|/tau) is
 * an integral of parts. */
struct line_problem {
    moeg_law *law;
    moeg_moe *moe;
    moeg_teacher *teacher;
};

static inline void line_problem_make(struct line_problem *p)
{
    const double lo = -1, hi = 1, W[2] = {0.5, -0.5}, slopes[2] = {1, -1}, zero = 0;
    moeg_router *router;
    moeg_expert *experts[3];
    assert_ok(moeg_law_box_create(&p->law, 1, &lo, &hi));
    assert_ok(moeg_router_affine_create(&router, 2, 1, W, NULL));
    for (size_t k = 0; k < 2; k++)
        assert_ok(moeg_expert_affine_create(&experts[k], 1, 1, &slopes[k], &zero));
    assert_ok(moeg_expert_constant_create(&experts[2], 1, 1, &zero));
    assert_ok(moeg_moe_create(&p->moe, router, moeg_gate_softmax(), experts));
    assert_ok(moeg_teacher_expert_create(&p->teacher, experts[2]));
    moeg_router_free(router);
    for (size_t k = 0; k < 3; k++)
        moeg_expert_free(experts[k]);
}

static inline void line_problem_free(struct line_problem *p)
{
    moeg_law_free(p->law);
    moeg_moe_free(p->moe);
    moeg_teacher_free(p->teacher);
}

#endif
