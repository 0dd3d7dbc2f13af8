/* Sampled risks: what a block of rows goes through, shared by risk_job.c (the job) and risk_rows.c (the arithmetic). */
#ifndef MOEG_LIMIT_RISK_JOB_H
#define MOEG_LIMIT_RISK_JOB_H

#include <moegeom/law.h>
#include <moegeom/moe.h>
#include <moegeom/risk.h>
#include <moegeom/teacher.h>
#include <stddef.h>
#include <stdint.h>

/* A row with Delta > MOEG_FELT tau does not feel tau: 1 - g_max < K e^-45, below the rounding of its risk. */
#define MOEG_FELT 45.0

typedef struct moeg_risk_context {
    moeg_moe *moe;
    moeg_teacher *teacher;
    moeg_law *law;
    moeg_mixing mixing;
    uint64_t seed;
    int exact; /* An empirical law: no row is skipped. */
    int sole;  /* One expert is not masked: every gap is identically 0. */
    size_t K, m, d;
    size_t block_rows;
    size_t ntau;
    double *tau;   /* (ntau), as given. */
    double *cut;   /* (ntau), MOEG_FELT tau in descending order; -1 for tau = 0, which no row feels. */
    size_t *order; /* (ntau), the index of cut[t]'s tau. */
} moeg_risk_context;

/* The arrays of a block, each a whole number of lanes: variables by rows, `stride` rows apart. Rows of the second half
 * are in the order of `place`: by how many temperatures they feel, most first, so that those which feel one are a
 * prefix. */
typedef struct moeg_risk_rows {
    size_t n, stride;
    double *x, *logits, *outputs, *target, *margin; /* (d), (K), (K m), (m), (1) */
    uint32_t *best, *place;                         /* (1), (1) */
    double *below;                                  /* (K) a_k - a_(1) */
    double *contrast;                               /* (K m) f_k - f_best; 0 where k is masked */
    double *residual;                               /* (m) f_best - y */
    double *minus_margin;                           /* (1) -Delta */
    double *excess;                                 /* (K) |f_k - y|^2 - |f_best - y|^2: loss mixing */
    double *gate;                                   /* (K) scratch */
    double *values;                                 /* (1 + ntau): the hard risk, then the gaps, as given */
    double *soft;                                   /* (ntau) */
    size_t *felt;                                   /* ntau + 1: rows that feel order[t], for each t; one spare */
    double *weight;                                 /* 2 ntau: their sums of v and v^2, v = exp(-Delta/tau), as given */
    double *scratch;                                /* of law, experts and teacher */
} moeg_risk_rows;

/* Places the arrays from `base` on; returns the doubles they take. base may be NULL. */
size_t moeg_risk_layout(const moeg_risk_context *c, size_t n, size_t stride, double *base, moeg_risk_rows *rows);

/* From logits, outputs, target, best and margin to place, felt, below, contrast, residual and minus_margin. */
void moeg_risk_arrange(const moeg_risk_context *c, moeg_risk_rows *rows);

/* From there to values, soft and weight. */
void moeg_risk_evaluate(const moeg_risk_context *c, moeg_risk_rows *rows);

#endif
