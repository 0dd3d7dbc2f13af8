/* The job behind sampled bounds: means over rows of mu Q exp(-gap/tau) at each temperature, or of Q^p. */
#ifndef MOEG_LIMIT_BOUND_JOB_H
#define MOEG_LIMIT_BOUND_JOB_H

#include <moegeom/job.h>

#include "limit/bound_rows.h"

/* Where the parts of a state begin, in doubles: the moments of `values` variables at 0, under an empirical law with
 * weights w the weighted state; the rows that felt each, and the sums of their v = w exp(-gap/tau) and v^2; its size.
 * Of Q^p, one variable, the rows where Q > 0, and no sums: it weighs by itself. */
typedef struct moeg_bound_parts {
    size_t values, felt, weight, size;
} moeg_bound_parts;

typedef struct moeg_bound_context {
    moeg_risk_context *rows;
    double p; /* 0: bounds at the temperatures of rows */
    moeg_bound_parts parts;
} moeg_bound_context;

/* p > 0 with ntau = 0, or p = 0 with temperatures; all checked. */
moeg_status moeg_bound_job_make(const char *function, moeg_job **job, const moeg_moe *moe, const moeg_teacher *teacher,
                                const moeg_law *law, moeg_mixing mixing, double p, size_t ntau, const double *tau,
                                const moeg_sampling *s);

#endif
