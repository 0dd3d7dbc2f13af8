/* Problems under the laws with a known margin exponent: two constant experts, and a teacher that may jump. */
#ifndef MOEG_TESTS_LIMIT_MARGIN_LAWS_H
#define MOEG_TESTS_LIMIT_MARGIN_LAWS_H

#include "support/check.h"

#include <moegeom/moegeom.h>

/* s = c x_1 in d = 3, experts and teacher of m outputs, row 0 the expert of x_1 > 0 if c > 0. */
struct family {
    moeg_law *law;
    moeg_router *router;
    moeg_moe *moe;
    moeg_teacher *teacher;
};

enum { D = 3 };

static inline moeg_router *make_router(double c)
{
    const double W[2 * D] = {0.25 + c, -0.7, 1.3, 0.25, -0.7, 1.3}, b[2] = {0.4, 0.4};
    moeg_router *router;
    assert_ok(moeg_router_affine_create(&router, 2, D, W, b));
    return router;
}

static inline moeg_moe *make_moe(moeg_router *router, size_t m, const double *f0, const double *f1)
{
    moeg_expert *experts[2];
    moeg_moe *moe;
    assert_ok(moeg_expert_constant_create(&experts[0], D, m, f0));
    assert_ok(moeg_expert_constant_create(&experts[1], D, m, f1));
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), experts));
    moeg_expert_free(experts[0]);
    moeg_expert_free(experts[1]);
    return moe;
}

/* f and m of x_1 > 0, then of x_1 < 0. A constant teacher if the two are the same; else a mixture on a router of the
 * other sign and scale. */
static inline struct family make(moeg_margin_family family, double parameter, double c, size_t m, const double *f_plus,
                                 const double *f_minus, const double *m_plus, const double *m_minus)
{
    struct family p;
    assert_ok(moeg_law_margin_create(&p.law, D, family, parameter));
    p.router = make_router(c);
    p.moe = make_moe(p.router, m, c > 0 ? f_plus : f_minus, c > 0 ? f_minus : f_plus);
    if (memcmp(m_plus, m_minus, m * sizeof *m_plus) == 0) {
        moeg_expert *mean;
        assert_ok(moeg_expert_constant_create(&mean, D, m, m_plus));
        assert_ok(moeg_teacher_expert_create(&p.teacher, mean));
        moeg_expert_free(mean);
    } else {
        moeg_router *other = make_router(-1.7 * c);
        moeg_moe *moe = make_moe(other, m, c > 0 ? m_minus : m_plus, c > 0 ? m_plus : m_minus);
        assert_ok(moeg_teacher_moe_create(&p.teacher, moe, 0));
        moeg_moe_free(moe);
        moeg_router_free(other);
    }
    return p;
}

static inline void release(struct family *p)
{
    moeg_law_free(p->law);
    moeg_router_free(p->router);
    moeg_moe_free(p->moe);
    moeg_teacher_free(p->teacher);
}

static inline moeg_sampling by(moeg_method method)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = method;
    return s;
}

static const struct member {
    moeg_margin_family family;
    double parameter;
} members[] = {
    {MOEG_MARGIN_POWER, 0.01},  {MOEG_MARGIN_POWER, 0.385},   {MOEG_MARGIN_POWER, 0.5}, {MOEG_MARGIN_POWER, 1},
    {MOEG_MARGIN_POWER, 2.385}, {MOEG_MARGIN_POWER, 7.3},     {MOEG_MARGIN_POWER, 300}, {MOEG_MARGIN_RAYLEIGH, 0},
    {MOEG_MARGIN_BOUNDED, 0},   {MOEG_MARGIN_BOUNDED, 0.731},
};
enum { MEMBERS = sizeof members / sizeof *members };

#endif
