/* Gates of one row of K logits, each finite or -inf, as many finite as the gate wants. */
#ifndef MOEG_MODEL_GATES_H
#define MOEG_MODEL_GATES_H

#include "model/twofold.h"

#include <moegeom/gate.h>
#include <moegeom/status.h>
#include <stddef.h>

/* Gates carry this factor where they would be subnormal: terms of a softmax, changes of a SUBSET. */
#define MOEG_GATE_SHIFT 0x1p64

/* MOEG_OK, or what is wrong with the arguments that functions of rows of logits have in common. */
moeg_status moeg_check_gate_rows(const char *function, moeg_gate gate, size_t n, size_t K, const double *logits,
                                 double tau);

/* The finite logits that a row must have: k, or 1. */
size_t moeg_gate_wants(moeg_gate gate);

/* Doubles that the functions of rows below want. SIZE_MAX/4, which no memory holds, where that overflows. */
size_t moeg_gate_row_workspace(moeg_gate gate, size_t K);

/* The index of the logit of that rank (1: the largest), ties in the order of the index. Logit j stands at
 * logits[j * stride]. 1 <= rank <= K. Cost O(K rank). */
size_t moeg_rank_row(size_t K, size_t stride, const double *logits, size_t rank);

/* The k largest logits, ties to the lowest index: those that stand before or at the one of rank k in that order. */
typedef struct moeg_cut {
    double bound;
    size_t last;
} moeg_cut;

moeg_cut moeg_cut_row(size_t K, const double *logits, size_t k);

/* Whether logit j, of that value, is one of them. */
static inline int moeg_is_inside(moeg_cut cut, double logit, size_t j)
{
    return logit > cut.bound || (logit == cut.bound && j <= cut.last);
}

/* MOEG_GATE_SHIFT exp((a - top)/tau), a <= top both finite, to 1.6 epsilon; 0 below half the least subnormal number. */
double moeg_gate_term(double a, double top, double tau);

/* SOFTMAX; at least one logit is finite; gates may be logits. */
void moeg_softmax_row(size_t K, const double *logits, double tau, double *gates);

/* Any gate; gates may be logits. */
void moeg_gates_row(moeg_gate gate, size_t K, const double *logits, double tau, double *gates, double *workspace);

/* change[k] = g_k(tau) - g_k(0), without cancellation; change is not logits. Returns their sum, 0 but for TOPK_RAW:
 * minus the gates of the experts outside the cut. */
double moeg_deviation_row(moeg_gate gate, size_t K, const double *logits, double tau, double *change,
                          double *workspace);

/* A row under SUBSET, tau > 0 (gates_subset.c): n experts are not masked, of whom the k first of `index` win. Not to be
 * written to by others. */
typedef struct moeg_subset {
    size_t n, k, depth;
    size_t *index;         /* (n): the winners, then the losers, each by ascending index */
    moeg_twofold *odds;    /* (n) */
    double *scale;         /* (n) */
    moeg_twofold *back;    /* (n + 1) x (depth + 1) */
    moeg_twofold *forward; /* (depth + 1) */
    moeg_twofold *change;  /* (n) */
    moeg_twofold total;
} moeg_subset;

/* slope[k] = tau dg_k/dtau, 0 at tau = 0; slope is not logits. Returns their sum, 0 but for TOPK_RAW. */
double moeg_slope_row(moeg_gate gate, size_t K, const double *logits, double tau, double *slope, double *workspace);
size_t moeg_slope_row_workspace(moeg_gate gate, size_t K);

/* Whether the logits of ranks k and k + 1 tie and are finite. */
int moeg_ties_at(size_t K, const double *logits, size_t k);

/* Sets change[k] of the experts outside the cut to 0. Returns minus what they had together. */
double moeg_cut_change(size_t K, const double *logits, moeg_cut cut, double *change);

/* Doubles; SIZE_MAX/4 where that overflows. */
size_t moeg_subset_workspace(size_t K, size_t k);

/* s->change[i] = MOEG_GATE_SHIFT times the probability that expert index[i] changes sides: that a winner is not in S,
 * or that a loser is. 0 for all if only k logits are finite. */
void moeg_subset_solve(moeg_subset *s, size_t K, size_t k, const double *logits, double tau, double *workspace);

/* out_r = (in_r + x in_{r+step}) scale, 0 <= r <= depth, with 0 for in outside: the recurrence past expert i. Backward
 * past a winner and forward past a loser step is 1, else -1. out may be in. */
void moeg_subset_advance(const moeg_subset *s, size_t i, int step, const moeg_twofold *in, moeg_twofold *out);

/* moeg_slope_row() of SUBSET, k > 1; and its doubles. */
void moeg_subset_slope(size_t K, size_t k, const double *logits, double tau, double *slope, double *workspace);
size_t moeg_subset_slope_workspace(size_t K, size_t k);

/* both[i] = MOEG_GATE_SHIFT^2 times the probability that experts index[i] and index[j] both change sides, i != j;
 * both[j] is 0. */
void moeg_subset_pairs(moeg_subset *s, size_t j, moeg_twofold *both);

#endif
