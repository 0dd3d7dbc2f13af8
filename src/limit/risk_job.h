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
    const char *name; /* Of the public function, in messages. */
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
    int frozen;            /* No gate depends on tau, or no loss on the gates: every gap is identically 0. */
    size_t K, m, d;
    size_t terms, contrasts; /* of a row, see moeg_risk_rows */
    int ranked;              /* They are found by their rank: for all but the gaps of SOFTMAX. */
    int by_rows;             /* The gates are found row by row: for slopes, and where SUBSET asks for it. */
    size_t block_rows;
    size_t ntau;
    double *tau;    /* (ntau), as given. */
    double *rising; /* (ntau), MOEG_FELT tau in ascending order; -1 for tau = 0, which no row feels. */
    size_t *order;  /* (ntau), the indices of the temperatures in descending order. */
} moeg_risk_context;

/* The arrays of a block, each a whole number of lanes: variables by rows, `stride` rows apart. Rows of the second half
 * are in the order of `place`: by how many temperatures they feel, most first, so that those which feel one are a
 * prefix.
 *
 * The experts of a row that have a gate, its terms, stand in an order of its own: under SOFTMAX the losers, all but the
 * best, by ascending index; under TOPK_RENORM those of rank 2 .. k; under TOPK_RAW those of rank 2 .. k, then all
 * others, which share a contrast; under SUBSET those of rank 1 .. k + 1, then the others. */
typedef struct moeg_risk_rows {
    size_t n, stride;
    double *x, *logits, *outputs, *target, *margin; /* (d), (K), (K m), (m), (1) */
    uint32_t *best, *place, *bin;                   /* (1), (1), (1) the temperatures not felt */
    uint32_t *index;                                /* (K + 1) experts by rank, if ranked */
    double *below;                                  /* (terms) a_k - a_(1), see moeg_kernel_mixture */
    double *apart;                                  /* (1) the margins, if ranked */
    double *contrast;                               /* (contrasts m) f_k - f_best, see risk_gates.c; 0 if masked */
    double *residual;                               /* (m) h - y, h the hard gates' output */
    double *excess;                                 /* (contrasts) what a gate adds to the risk: loss mixing */
    double *gate, *slope;                           /* (terms) scratch; tau dg/dtau */
    double *chain, *change;                         /* ..., (K) scratch */
    double *winner, *spare;                         /* (1), (1) scratch */
    double *values;                                 /* (1 + ntau): the hard risk, then the gaps, as given */
    double *soft;                                   /* (ntau) */
    size_t *felt;                                   /* ntau + 1: rows that feel order[t], for each t; one spare */
    double *size;                                   /* 2 ntau: their sums of v and v^2, v = |gap|, as given */
    double *share;                                  /* (1) weights of the rows, in the order of place; or NULL */
    double *scratch;                                /* of law, experts and teacher */
} moeg_risk_rows;

/* Places the arrays from `base` on; returns the doubles they take. base may be NULL. */
size_t moeg_risk_layout(const moeg_risk_context *c, size_t n, size_t stride, double *base, moeg_risk_rows *rows);

/* Whether all experts are one affine map, and gates sum to 1, so that the gap is 0 whatever the input: *same. 0 where
 * there is no memory. */
int moeg_risk_compare_experts(const moeg_moe *moe, int *same);

/* A context that keeps the objects alive, or NULL. ntau = 0 is fine. */
moeg_risk_context *moeg_risk_context_create(const char *name, const moeg_moe *moe, const moeg_teacher *teacher,
                                            const moeg_law *law, moeg_mixing mixing, size_t ntau, const double *tau,
                                            uint64_t seed);
void moeg_risk_context_free(moeg_risk_context *c);

/* Rows first .. first + n - 1: x, outputs of all experts and the teacher, logits, best experts (SOFTMAX) and the gaps
 * that decide (margin). */
moeg_status moeg_risk_draw(const moeg_risk_context *c, uint64_t first, moeg_risk_rows *rows);

/* Whether any of rows first .. first + n - 1 has weight; always where there are no weights. */
int moeg_risk_has_weight(const moeg_risk_context *c, uint64_t first, size_t n);

/* Puts copies of the first row of a block that has weight in the place of those that have none, which are as if they
 * were not there: so nothing of theirs overflows or is refused. */
void moeg_risk_replace_weightless(const moeg_risk_context *c, uint64_t first, moeg_risk_rows *rows);

/* The weights of the rows, in the order of place, into share. */
void moeg_risk_set_shares(const moeg_risk_context *c, uint64_t first, moeg_risk_rows *rows);

/* How many of the first `felt` rows, in the order of place, have weight. */
size_t moeg_risk_count_felt(const moeg_risk_rows *rows, size_t felt);

/* MOEG_ERANGE: which number made the loss of a row, one that was drawn, overflow. */
moeg_status moeg_risk_report(const moeg_risk_context *c, const moeg_risk_rows *rows, uint64_t first, size_t row);

/* Sets the terms of a context, from its gate, its law and whether slopes are wanted. */
void moeg_risk_set_terms(moeg_risk_context *c);

/* From logits, outputs, target, best and margin to place, felt, below, contrast and residual. */
void moeg_risk_arrange(const moeg_risk_context *c, moeg_risk_rows *rows);

/* Its part for experts by rank (risk_gates.c), from place on. */
void moeg_risk_arrange_ranks(const moeg_risk_context *c, moeg_risk_rows *rows);

/* From there the hard risks, and for loss mixing the excess of each contrast. */
void moeg_risk_evaluate_hard(const moeg_risk_context *c, moeg_risk_rows *rows);

/* Gates, and their slopes if wanted, at a temperature: row by row and as accurate as moeg_gates(). */
void moeg_risk_evaluate_gates(const moeg_risk_context *c, moeg_risk_rows *rows, double tau);

/* tau dG/dtau of the first rows from both. */
void moeg_risk_evaluate_slope(const moeg_risk_context *c, const moeg_risk_rows *r, size_t rows, double *slope);

/* From there to values, soft and size. */
void moeg_risk_evaluate(const moeg_risk_context *c, moeg_risk_rows *rows);

#endif
