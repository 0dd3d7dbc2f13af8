/* General lines, also where the library has faster ones. */
#ifndef MOEG_TESTS_LIMIT_NODES_RUN_H
#define MOEG_TESTS_LIMIT_NODES_RUN_H

#include "limit/lines.h"
#include "limit/nodes.h"

static inline moeg_sampling lines_of(uint64_t n)
{
    moeg_sampling s = line_options();
    s.n = n;
    return s;
}

/* 0 on each of n lines, whatever the line. */
static inline void assert_zero(const moeg_estimate *e, uint64_t n)
{
    assert_true(e->value == 0 && e->lo == 0 && e->hi == 0 && e->std_error == 0 && e->n == n && e->contributing == n);
}

static inline void assert_unknown(const moeg_estimate *e)
{
    assert_true(isinf(e->std_error) && e->lo == -INFINITY && e->hi == INFINITY);
}

/* To be freed with moeg_nodes_free(), if it is MOEG_OK. */
static inline moeg_status nodes_of(const struct problem *p, moeg_nodes *nodes)
{
    const char *refusal;
    const moeg_status status = moeg_nodes_init("test", p->moe, p->teacher, p->law, nodes, &refusal);
    if (status == MOEG_OK)
        assert_null(refusal);
    return status;
}

static inline moeg_status nodes_curve(const struct problem *p, moeg_mixing mixing, size_t ntau, const double *tau,
                                      const moeg_sampling *s, moeg_estimate *hard, moeg_estimate *soft,
                                      moeg_estimate *gap, double *covariance)
{
    moeg_nodes nodes;
    moeg_status status = nodes_of(p, &nodes);
    if (status != MOEG_OK)
        return status;
    status = moeg_nodes_risk_curve("test", &nodes, mixing, ntau, tau, s, hard, soft, gap, covariance);
    moeg_nodes_free(&nodes);
    return status;
}

static inline moeg_status nodes_remainder(const struct problem *p, moeg_mixing mixing, size_t ntau, const double *tau,
                                          const moeg_sampling *s, moeg_estimate *slope, moeg_estimate *remainder)
{
    moeg_nodes nodes;
    moeg_status status = nodes_of(p, &nodes);
    if (status != MOEG_OK)
        return status;
    status = moeg_nodes_remainder("test", &nodes, mixing, ntau, tau, s, slope, remainder);
    moeg_nodes_free(&nodes);
    return status;
}

static inline struct answer nodes_answer(const struct problem *p, moeg_mixing mixing, double tau)
{
    const moeg_sampling s = line_options();
    struct answer a = {.slope = {.value = 0}};
    assert_ok(nodes_curve(p, mixing, 1, &tau, &s, &a.hard, &a.soft, &a.gap, NULL));
    assert_true(a.gap.n == 1 && a.gap.std_error == 0 && a.gap.method == MOEG_METHOD_LINE);
    return a;
}

#endif
