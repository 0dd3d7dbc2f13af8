/* Rows of sampled bounds: those of a risk, and what a unit of moved mass can change in each. */
#ifndef MOEG_LIMIT_BOUND_ROWS_H
#define MOEG_LIMIT_BOUND_ROWS_H

#include "limit/risk_job.h"

/* What an expert is in a row: masked or never active, active at tau = 0, or one that mass may go to. */
typedef enum moeg_role { MOEG_ROLE_NONE, MOEG_ROLE_WINNER, MOEG_ROLE_LOSER } moeg_role;

typedef struct moeg_bound_rows {
    moeg_risk_rows rows;
    double *change;  /* (stride) Q */
    double *mass;    /* (stride) mu of the experts that are not masked */
    double *active;  /* (K x stride) not 0 for the k best; not for SOFTMAX */
    double *scratch; /* of the gates */
    moeg_role *role; /* (K) of one row */
} moeg_bound_rows;

/* Places the arrays from `base` on, those of the risk first; returns the doubles they take. base may be NULL. */
size_t moeg_bound_layout(const moeg_risk_context *c, size_t n, size_t stride, double *base, moeg_bound_rows *rows);

/* From rows that are drawn to change and mass of the first n. */
void moeg_bound_measure(const moeg_risk_context *c, moeg_bound_rows *rows);

#endif
