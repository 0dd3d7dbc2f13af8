/* Method AUTO beside the method by name. */
#ifndef MOEG_TESTS_LIMIT_AUTO_CHOICE_H
#define MOEG_TESTS_LIMIT_AUTO_CHOICE_H

#include "limit/problem.h"
#include "support/estimates.h"

static inline moeg_sampling options_by(moeg_method method, uint64_t n)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = method;
    s.n = n;
    return s;
}

/* AUTO is `expected`: the same bits. Returns the estimate. */
static inline moeg_estimate check_mass(const moeg_router *router, const moeg_law *law, moeg_gap gap, uint64_t n,
                                       moeg_method expected)
{
    const double w[2] = {0.4, 1e-3};
    const moeg_sampling any = options_by(MOEG_METHOD_AUTO, n), named = options_by(expected, n);
    moeg_estimate chosen[2], mass[2];
    const moeg_status status = moeg_boundary_gap_mass(router, gap, law, 2, w, &any, chosen);
    assert_true(status >= 0);
    assert_int_equal(chosen[0].method, expected);
    assert_int_equal(moeg_boundary_gap_mass(router, gap, law, 2, w, &named, mass), status);
    assert_same_estimates(chosen, mass, 2);
    return chosen[0];
}

/* Hard and soft risks, gaps and their covariance. */
static inline moeg_estimate check_risk(const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                                       uint64_t n, moeg_method expected)
{
    const double tau[2] = {0.3, 1e-3};
    const moeg_sampling any = options_by(MOEG_METHOD_AUTO, n), named = options_by(expected, n);
    moeg_estimate chosen[5], risk[5];
    double covariance[2][4];
    const moeg_status status = moeg_risk_curve(moe, teacher, law, MOEG_MIX_OUTPUT, 2, tau, &any, chosen, chosen + 1,
                                               chosen + 3, covariance[0]);
    assert_true(status >= 0);
    assert_int_equal(chosen[3].method, expected);
    assert_int_equal(
        moeg_risk_curve(moe, teacher, law, MOEG_MIX_OUTPUT, 2, tau, &named, risk, risk + 1, risk + 3, covariance[1]),
        status);
    assert_same_estimates(chosen, risk, 5);
    assert_memory_equal(covariance[0], covariance[1], sizeof covariance[0]);
    return chosen[3];
}

#endif
