/* Strata of parallel lines that between them see every tie [theory: lines].
 *
 * Stratum l: u + (t - e_l.u) e_l, u ~ N(0, I_r), t ~ N(0, 1) independent. Each point x has shares omega_l(x) of sum 1,
 * by the pair {i, j} of ranks that decides there what is averaged, and E h = sum_l E [integral of density(t) omega_l
 * h]. */
#ifndef MOEG_LINE_STRATA_H
#define MOEG_LINE_STRATA_H

#include "line/frame.h"
#include "line/ties.h"

#include <stddef.h>
#include <stdint.h>

/* How shares are dealt.
 *
 * WHOLE    one stratum, which has all: the logits vary in one dimension at most.
 * BALANCE  |beta^l_ij| / sum_l' |beta^l'_ij|, beta^l_ij the slope of a_i - a_j along e_l: a crossing on any line then
 * has the weight 1/sum_l' |beta^l'_ij|, however flat. A pair of equal rows, which no line sees, is shared alike. PAIR
 * a stratum for each pair, along its normal, which has all where the pair decides: its tie is at the same t on every
 * line. */
typedef enum moeg_sharing { MOEG_SHARING_WHOLE, MOEG_SHARING_BALANCE, MOEG_SHARING_PAIR } moeg_sharing;

typedef struct moeg_stratum {
    double *direction; /* (r) e */
    double *slope;     /* (K) beta_k */
    double *tilt;      /* (K x r) perpendicular to e: alpha_k = constant_k + tilt_k.u */
    size_t i, j;       /* PAIR: i < j */
} moeg_stratum;

typedef struct moeg_strata {
    moeg_sharing sharing;
    size_t K, r, count;
    const double *constant;   /* (K) of the frame */
    moeg_stratum *stratum;    /* (count) */
    double *seen;             /* BALANCE: (K x K) sum_l |beta^l_ij| */
    unsigned char *elsewhere; /* (K): where these experts are the best nothing is left to share; or NULL */
} moeg_strata;

/* Strata for the logits of a frame's first router, which must outlive them. `elsewhere` (K) or NULL. BALANCE takes
 * the star directions, and where a cell has none the distance of its row from the mean; and the normals of pairs that
 * these see badly. Or, n > 0, the user's own: gradients (n x d), as rows of a router are. MOEG_EINVAL (a gradient that
 * is not finite, or that no logit differs along; a pair that no direction sees), MOEG_ENOMEM. To be freed with
 * moeg_strata_free(). */
moeg_status moeg_strata_init(const char *function, const moeg_frame *frame, moeg_sharing sharing,
                             const unsigned char *elsewhere, size_t n, const double *gradients, moeg_strata *strata);
void moeg_strata_free(moeg_strata *strata);

/* omega_l where `best` is the best expert and i and j decide. */
double moeg_strata_share(const moeg_strata *strata, size_t l, size_t best, size_t i, size_t j);

/* Whether lines of stratum l have a share around a tie that is worth their looking there. */
int moeg_strata_sees(const moeg_strata *strata, size_t l, const moeg_ties *ties, size_t tie);

/* a_i - a_j on a line on which both have the same slope: where that is so on all lines to the same bits, for the order
 * of a constant gap and a width is not to change from line to line. `level` is alpha_i - alpha_j. */
double moeg_strata_level(const moeg_strata *strata, size_t l, size_t i, size_t j, double level);

/* Lines of a block, variable-major: from u (r x stride) to alpha (K x stride). */
void moeg_strata_lines(const moeg_strata *strata, size_t l, size_t stride, const double *u, double *alpha);

#endif
