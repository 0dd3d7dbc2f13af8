/* Sampled risks: what a block of rows goes through, shared by risk_job.c (the job), risk_rows.c (the arithmetic), and
 * bounds that are means over the same rows. */
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
    const char *name; /* Of the job, in messages. */
    moeg_moe *moe;
    moeg_teacher *teacher;
    moeg_law *law;
    moeg_mixing mixing;
    moeg_gate gate;
    uint64_t seed;
    double noise;          /* Of the teacher: in the gaps, where they feel it; risks get it when they are read. */
    int exact;             /* An empirical law: no row is skipped. */
    const double *weights; /* Its weights, by rows; or NULL. They enter v too. */
    int slope;             /* What stands for the gaps: tau dG/dtau, of whichever gate, instead of G. */
    int frozen;            /* The gates do not depend on tau: every gap is identically 0. */
    size_t K, m, d;
    size_t block_rows;
    size_t ntau;
    double *tau;    /* (ntau), as given. */
    double *rising; /* (ntau), MOEG_FELT tau in ascending order; -1 for tau = 0, which no row feels. */
    size_t *order;  /* (ntau), the indices of the temperatures in descending order. */
} moeg_risk_context;

/* The arrays of a block, each a whole number of lanes: variables by rows, `stride` rows apart. Rows of the second half
 * are in the order of `place`: by how many temperatures they feel, most first, so that those which feel one are a
 * prefix. */
typedef struct moeg_risk_rows {
    size_t n, stride;
    double *x, *logits, *outputs, *target, *margin; /* (d), (K), (K m), (m), (1) */
    uint32_t *best, *place, *bin;                   /* (1), (1), (1) the temperatures not felt */
    double *below;                                  /* (K - 1) a_k - a_(1) of the losers, all experts but the best */
    double *contrast;                               /* ((K - 1) m) f_k - f_best; 0 where k is masked */
    double *residual;                               /* (m) f_best - y */
    double *excess;                                 /* (K - 1) |f_k - y|^2 - |f_best - y|^2: loss mixing */
    double *gate, *slope;                           /* (K - 1) scratch, (K) of a slope */
    double *winner, *spare;                         /* (1), (1) scratch */
    double *values;                                 /* (1 + ntau): the hard risk, then the gaps, as given */
    double *soft;                                   /* (ntau) */
    size_t *felt;                                   /* ntau + 1: rows that feel order[t], for each t; one spare */
    double *weight;                                 /* 2 ntau: their sums of v and v^2, v = exp(-Delta/tau), as given */
    double *share;                                  /* (1) weights of the rows, in the order of place; or NULL */
    double *scratch;                                /* of law, experts and teacher */
} moeg_risk_rows;

/* Places the arrays from `base` on; returns the doubles they take. base may be NULL. */
size_t moeg_risk_layout(const moeg_risk_context *c, size_t n, size_t stride, double *base, moeg_risk_rows *rows);

/* Whether rows go through the vector kernels of SOFTMAX; else through the loops of all gates. */
static inline int moeg_risk_is_vector(const moeg_risk_context *c)
{
    return c->gate.kind == MOEG_GATE_SOFTMAX && !c->slope;
}

/* A context that keeps the objects alive, or NULL. ntau = 0 is fine. */
moeg_risk_context *moeg_risk_context_create(const char *name, const moeg_moe *moe, const moeg_teacher *teacher,
                                            const moeg_law *law, moeg_mixing mixing, size_t ntau, const double *tau,
                                            uint64_t seed);
void moeg_risk_context_free(moeg_risk_context *c);

/* Rows first .. first + n - 1: x, outputs of all experts and the teacher, logits, best experts (SOFTMAX) and the gaps
 * that decide (margin). */
moeg_status moeg_risk_draw(const moeg_risk_context *c, uint64_t first, moeg_risk_rows *rows);

/* MOEG_ERANGE: which number made the loss of a row, one that was drawn, overflow. */
moeg_status moeg_risk_report(const moeg_risk_context *c, const moeg_risk_rows *rows, uint64_t first, size_t row);

/* From logits, outputs, target, best and margin to place, felt, below, contrast and residual. */
void moeg_risk_arrange(const moeg_risk_context *c, moeg_risk_rows *rows);

/* From there to values, soft and weight. */
void moeg_risk_evaluate(const moeg_risk_context *c, moeg_risk_rows *rows);

/* Both for a gate other than SOFTMAX, and for slopes: from logits, outputs, target and the gate's own gap in margin to
 * place (the rows' own order), felt, values, soft and weight. below (m) then holds the hard output; contrast, excess
 * and gate are those of all K experts. */
void moeg_risk_evaluate_gates(const moeg_risk_context *c, moeg_risk_rows *rows);

#endif
