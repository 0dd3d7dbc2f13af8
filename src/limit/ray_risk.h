/* Risks on rays (line/ray.h): affine experts and a teacher that is affine in every cell (ray_teacher.h),
 * softmax gates.
 *
 * Seen from the row space an affine output is one of u, and a part of z orthogonal to the rows, which the gates do not
 * see: mixed and squared, it leaves in the mean sum_jk c_j c_k <rest_j, rest_k>, as if there were further outputs that
 * do not change with x, the rows of a factor of that Gram matrix [theory: row space]. */
#ifndef MOEG_LIMIT_RAY_RISK_H
#define MOEG_LIMIT_RAY_RISK_H

#include "line/sampler.h"

#include <moegeom/estimate.h>
#include <moegeom/law.h>
#include <moegeom/moe.h>
#include <moegeom/options.h>
#include <moegeom/risk.h>
#include <moegeom/teacher.h>

/* What the rays of cell k see of the outputs: rows are those of losers j, f_j - f_k, then the residual f_k - m, then,
 * of a teacher in pieces, its jumps m_j - m_k; m outputs each. At the crossing they are value + weight.u + along t;
 * offset o on, + along o. */
typedef struct moeg_ray_outputs {
    double *value, *weight, *along; /* (rows m), (rows m x r), (rows m) */
    double *fixed;                  /* ((losers + 1) x fixed outputs), of contrasts and the residual */
    double *fixed_jump;             /* (losers) the jump's part of the contrast that does not change: <rest, rest> */
} moeg_ray_outputs;

typedef struct moeg_ray_risk {
    moeg_rays rays;
    double noise; /* of the teacher, in both risks */
    size_t m, constants;
    int pieces;                /* the teacher has one for each cell */
    int jumps, moves, errs;    /* two pieces differ, two experts do, a piece does from its cell's expert */
    moeg_ray_outputs *outputs; /* (cells) */
} moeg_ray_risk;

/* *refusal: NULL if the risks can be had on rays, else why not. To be freed with moeg_ray_risk_free(). MOEG_ENOMEM,
 * MOEG_ERANGE. Cost O(K^2 (d^2 + K m d)). */
moeg_status moeg_ray_risk_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                               const moeg_law *law, moeg_ray_risk *risk, const char **refusal);
void moeg_ray_risk_free(moeg_ray_risk *risk);

/* As moeg_leading_remainder(). */
moeg_status moeg_ray_remainder(const char *function, const moeg_ray_risk *risk, moeg_mixing mixing, size_t ntau,
                               const double *tau, const moeg_sampling *s, moeg_estimate *slope,
                               moeg_estimate *remainder);

/* As moeg_risk_curve(). */
moeg_status moeg_ray_risk_curve(const char *function, const moeg_ray_risk *risk, moeg_mixing mixing, size_t ntau,
                                const double *tau, const moeg_sampling *s, moeg_estimate *hard, moeg_estimate *soft,
                                moeg_estimate *gap, double *gap_covariance);

#endif
