/* The rows of gap_k3.csv as the expansion G = tau (lead + tau rest). */
#ifndef MOEG_TESTS_LIMIT_EXPANSION_H
#define MOEG_TESTS_LIMIT_EXPANSION_H

#include "limit/plane_problem.h"

struct expansion {
    const struct reference *r;
    size_t row;
    moeg_mixing mixing;
    int softmax, leads; /* the gate is SOFTMAX; there is a leading term: else it is 0 */
    double tau, gap, lead, rest;
};

/* 1 if it is a row to look at. */
typedef int (*expansion_check)(const struct expansion *e);

static inline void check_expansions(expansion_check check, size_t rows)
{
    struct reference *r = reference_read("gap_k3.csv");
    size_t seen = 0;
    for (size_t row = 0; row < r->row_count; row++) {
        const long double tau = reference_value(r, row, "tau"), gap = reference_value(r, row, "G"),
                          known = reference_value(r, row, "lead_coef"), lead = isnan((double)known) ? 0 : known;
        seen += (size_t)check(&(struct expansion){
            .r = r,
            .row = row,
            .mixing = plane_mixing(r, row),
            .softmax = reference_value(r, row, "k") <= 1,
            .leads = !isnan((double)known),
            .tau = (double)tau,
            .gap = (double)gap,
            .lead = (double)lead,
            .rest = (double)((gap / (double)tau - lead) / (double)tau),
        });
    }
    assert_int_equal(seen, rows);
    free(r);
}

#endif
