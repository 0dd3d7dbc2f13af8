/* Routers and laws of the tables' cases. */
#ifndef MOEG_TESTS_LIMIT_REFERENCE_PROBLEM_H
#define MOEG_TESTS_LIMIT_REFERENCE_PROBLEM_H

#include "limit/problem.h"
#include "limit/reference.h"

/* The numbers of a case's router and law. */
static inline void reference_router(const struct reference *r, const char *of, struct problem *p)
{
    reference_copy(r, of, "W", p->W);
    reference_copy(r, of, "b", p->b);
    reference_copy(r, of, "mu", p->mean);
    reference_copy(r, of, "Sigma", p->covariance);
}

/* The router and the law of a row of boundary_k3.csv, with experts that are 0. To be freed with problem_free(). */
static inline void reference_boundary(const struct reference *r, size_t row, struct problem *p)
{
    *p = (struct problem){.K = (size_t)reference_value(r, row, "K"), .d = 2, .m = 1};
    reference_router(r, reference_text(r, row, "case"), p);
    problem_build(p);
}

/* The value of a row, in 17 digits. */
static inline double reference_number(const struct reference *r, size_t row)
{
    return (double)reference_value(r, row, "value");
}

#endif
