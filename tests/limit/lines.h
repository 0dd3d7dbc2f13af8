/* Risks of a problem by method LINE. */
#ifndef MOEG_TESTS_LIMIT_LINES_H
#define MOEG_TESTS_LIMIT_LINES_H

#include "limit/problem.h"

static const moeg_mixing both[] = {MOEG_MIX_OUTPUT, MOEG_MIX_LOSS};

static inline moeg_sampling line_options(void)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_LINE;
    return s;
}

/* All numbers of one temperature. */
struct answer {
    moeg_estimate hard, soft, gap, slope;
};

static inline struct answer line(const struct problem *p, moeg_mixing mixing, double tau)
{
    const moeg_sampling s = line_options();
    struct answer a = {.slope = {.value = 0}};
    double covariance = NAN;
    assert_ok(moeg_risk_curve(p->moe, p->teacher, p->law, mixing, 1, &tau, &s, &a.hard, &a.soft, &a.gap, &covariance));
    assert_near(covariance, 0, 0);
    if (tau > 0)
        assert_ok(moeg_risk_derivative(p->moe, p->teacher, p->law, mixing, 1, &tau, &s, &a.slope));
    const moeg_estimate *all[] = {&a.hard, &a.soft, &a.gap, &a.slope};
    for (int i = 0; i < (tau > 0 ? 4 : 3); i++) {
        assert_int_equal(all[i]->method, MOEG_METHOD_LINE);
        assert_near(all[i]->std_error, 0, 0);
        assert_near(all[i]->lo, all[i]->value - all[i]->quad_error, 0);
        assert_near(all[i]->hi, all[i]->value + all[i]->quad_error, 0);
        assert_int_equal(all[i]->n, 1);
    }
    return a;
}

#endif
