/* Rows with weights, of an empirical law. */
#include "limit/risk_job.h"

void moeg_risk_replace_weightless(const moeg_risk_context *c, uint64_t first, moeg_risk_rows *r)
{
    const double *w = c->weights + first;
    size_t with = 0;
    while (with + 1 < r->n && w[with] == 0)
        with++;
    for (size_t i = 0; i < r->stride; i++)
        for (size_t j = 0; w[i < r->n ? i : r->n - 1] == 0 && j < c->d; j++)
            r->x[j * r->stride + i] = r->x[j * r->stride + with];
}

int moeg_risk_has_weight(const moeg_risk_context *c, uint64_t first, size_t n)
{
    size_t i = 0;
    while (c->weights != NULL && i < n && c->weights[first + i] == 0)
        i++;
    return i < n;
}

void moeg_risk_set_shares(const moeg_risk_context *c, uint64_t first, moeg_risk_rows *r)
{
    for (size_t i = 0; i < r->stride; i++)
        r->share[i] = c->weights[first + r->place[i < r->n ? i : r->n - 1]];
}

size_t moeg_risk_count_felt(const moeg_risk_rows *r, size_t felt)
{
    size_t rows = 0;
    for (size_t i = 0; r->share != NULL && i < felt; i++)
        rows += r->share[i] > 0;
    return r->share == NULL ? felt : rows;
}
