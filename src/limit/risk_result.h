/* The sampled risk as a job, and the estimates read from its state. */
#ifndef MOEG_LIMIT_RISK_RESULT_H
#define MOEG_LIMIT_RISK_RESULT_H

#include <moegeom/job.h>
#include <moegeom/risk.h>

#include "limit/risk_job.h"

/* Where the parts of a state begin, in doubles: the covariance at 0, then these; its size. */
typedef struct moeg_risk_parts {
    size_t soft, felt, weight, size;
} moeg_risk_parts;

moeg_risk_parts moeg_risk_state_parts(size_t ntau, int weighted);

/* The context of a risk job, or NULL if it is another job. */
const moeg_risk_context *moeg_risk_context_of(const moeg_job *job);

/* moeg_risk_job_create() after its checks, on behalf of `function`; slope: tau dG/dtau instead of gaps. */
moeg_status moeg_risk_job_make(const char *function, moeg_job **job, int slope, const moeg_moe *moe,
                               const moeg_teacher *teacher, const moeg_law *law, moeg_mixing mixing, size_t ntau,
                               const double *tau, const moeg_sampling *s);

/* moeg_risk_job_result() after its checks, on behalf of `function`. */
moeg_status moeg_risk_job_read(const char *function, const moeg_job *job, const moeg_partial *partial, double level,
                               moeg_estimate *hard, moeg_estimate *soft, moeg_estimate *gap, double *gap_covariance);

/* The run of such a job, and its results. */
moeg_status moeg_risk_sample(const char *function, int slope, const moeg_moe *moe, const moeg_teacher *teacher,
                             const moeg_law *law, moeg_mixing mixing, size_t ntau, const double *tau,
                             const moeg_sampling *s, moeg_estimate *hard, moeg_estimate *soft, moeg_estimate *gap,
                             double *gap_covariance);

#endif
