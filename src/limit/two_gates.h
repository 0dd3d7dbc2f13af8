/* What the gates are to two experts: functions of w = |s|/tau alone [theory: one dimension is enough]. */
#ifndef MOEG_LIMIT_TWO_GATES_H
#define MOEG_LIMIT_TWO_GATES_H

#include <moegeom/gate.h>
#include <moegeom/risk.h>

#include <math.h>

/* With q = 1/(1 + e^w) and p = 1 - q. */
typedef enum moeg_two_gates {
    MOEG_TWO_SOFT,   /* p of the winner, q of the other: SOFTMAX, TOPK_RENORM and TOPK_RAW with k = 2, SUBSET with 1. */
    MOEG_TWO_SWITCH, /* p of the winner, nothing of the other: TOPK_RAW with k = 1. */
    MOEG_TWO_BEST,   /* 1 of the winner: TOPK_RENORM with k = 1. */
    MOEG_TWO_MEAN    /* 1/2 of either: SUBSET with k = 2. */
} moeg_two_gates;

static inline moeg_two_gates moeg_two_gates_of(moeg_gate gate)
{
    switch (gate.kind) {
    case MOEG_GATE_TOPK_RENORM:
        return gate.k == 1 ? MOEG_TWO_BEST : MOEG_TWO_SOFT;
    case MOEG_GATE_TOPK_RAW:
        return gate.k == 1 ? MOEG_TWO_SWITCH : MOEG_TWO_SOFT;
    case MOEG_GATE_SUBSET:
        return gate.k == 2 ? MOEG_TWO_MEAN : MOEG_TWO_SOFT;
    case MOEG_GATE_SOFTMAX:
        break;
    }
    return MOEG_TWO_SOFT;
}

/* Whether tau moves them. */
static inline int moeg_two_gates_move(moeg_two_gates gates)
{
    return gates == MOEG_TWO_SOFT || gates == MOEG_TWO_SWITCH;
}

/* The output changes by -q d, d = f_win - f_lose or, of SWITCH, f_win. With r = f_win - m and c = r - d/2 a row adds to
 *
 *   G, output:        q {-2 d.r + q |d|^2} = q {-2 d.c - p |d|^2}
 *   tau dG/dtau:    p q w {-2 d.r + 2 q |d|^2} = p q w {-2 d.c - (p - q) |d|^2},
 *
 * factor {-2 d.r + direct |d|^2} or factor {-2 d.c - centred |d|^2}; and of loss mixing the factor times what the
 * losses differ by: -2 d.c, or of SWITCH -|r|^2. */
typedef struct moeg_two_weights {
    double factor, direct, centred;
} moeg_two_weights;

/* w may be infinite: w q is 0 where q has underflowed. */
static inline moeg_two_weights moeg_two_weights_at(double w, int derivative)
{
    const double e = exp(-w), p = 1 / (1 + e), q = e * p;
    if (!derivative)
        return (moeg_two_weights){q, q, p};
    return (moeg_two_weights){q > 0 ? p * q * w : 0, 2 * q, -expm1(-w) * p};
}

#endif
