/* The problems of tau_scaling: two experts f = +1 and -1, teacher Y = 0.2. */
#include "scaling.h"

#include <math.h>
#include <stdlib.h>

enum { D = 3, K = 2 };

typedef struct problem {
    moeg_law *law;
    moeg_router *router;
    moeg_moe *moe;
    moeg_teacher *teacher;
} problem;

static problem make_problem(const scaling_family *f)
{
    /* u = (0.36, 0.48, 0.8); the part common to both rows changes nothing. */
    const double affine[K * D] = {0.3, 0.79, -0.2, -0.06, 0.31, -1.0};
    /* s = x_1, and no common part: beside it logits would tie below 1e-16, where laws with alpha < 1 have rows enough.
     */
    const double first[K * D] = {0.25, 0, 0, -0.75, 0, 0};
    const double plus = 1, minus = -1, target = 0.2;
    problem p;
    moeg_expert *experts[K], *mean;
    require(f->gaussian ? moeg_law_gaussian_create(&p.law, D, NULL, NULL)
                        : moeg_law_margin_create(&p.law, D, f->family, f->parameter));
    require(moeg_router_affine_create(&p.router, K, D, f->gaussian ? affine : first, NULL));
    require(moeg_expert_constant_create(&experts[0], D, 1, &plus));
    require(moeg_expert_constant_create(&experts[1], D, 1, &minus));
    require(moeg_expert_constant_create(&mean, D, 1, &target));
    require(moeg_moe_create(&p.moe, p.router, moeg_gate_softmax(), experts));
    require(moeg_teacher_expert_create(&p.teacher, mean));
    for (size_t k = 0; k < K; k++)
        moeg_expert_free(experts[k]);
    moeg_expert_free(mean);
    return p;
}

static void free_problem(problem *p)
{
    moeg_law_free(p->law);
    moeg_router_free(p->router);
    moeg_moe_free(p->moe);
    moeg_teacher_free(p->teacher);
}

scaling scaling_measure(const scaling_family *family, grid tau, const moeg_sampling *options)
{
    const size_t n = tau.count;
    problem p = make_problem(family);
    scaling c = {.family = family,
                 .n = n,
                 .tau = grid_values(tau),
                 .leading = allocate(n, sizeof(double)),
                 .bound = allocate(n, sizeof(double)),
                 .line = allocate(n, sizeof(moeg_estimate)),
                 .sampled = allocate(n, sizeof(moeg_estimate)),
                 .line_covariance = allocate(n * n, sizeof(double)),
                 .sampled_covariance = allocate(n * n, sizeof(double))};
    moeg_sampling s = *options;
    progress bar;
    s.method = MOEG_METHOD_LINE;
    require(
        moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, n, c.tau, &s, NULL, NULL, c.line, c.line_covariance));
    /* 99.9 % for all intervals together. */
    s.method = MOEG_METHOD_MC;
    s.level = 1 - 0.001 / (double)n;
    progress_begin(&bar, "sampling", &s);
    require(moeg_risk_curve(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, n, c.tau, &s, NULL, NULL, c.sampled,
                            c.sampled_covariance));
    progress_end(&bar, &s);
    require(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &c.term));
    const moeg_output_limits limits = {.B = 1, .M = 0.2};
    moeg_margin_condition condition;
    require(moeg_bound_margin_condition(p.router, p.law, &condition));
    require(moeg_bound_bounded(&condition, moeg_gate_softmax(), MOEG_MIX_OUTPUT, K, &limits, n, c.tau, c.bound));
    for (size_t i = 0; i < n; i++)
        c.leading[i] = c.term.coefficient * pow(c.tau[i], c.term.power) * exp(-c.term.rate / c.tau[i]);
    free_problem(&p);
    return c;
}

void scaling_free(scaling *c)
{
    free(c->tau);
    free(c->leading);
    free(c->bound);
    free(c->line);
    free(c->sampled);
    free(c->line_covariance);
    free(c->sampled_covariance);
}
