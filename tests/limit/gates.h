/* Gates other than SOFTMAX, in long double: k-subsets enumerated. */
#ifndef MOEG_TESTS_LIMIT_GATES_H
#define MOEG_TESTS_LIMIT_GATES_H

#include "limit/problem.h"

enum { MOST_GATES = 3 * MOST_K };

typedef long double real;

static inline size_t all_gates(size_t K, moeg_gate *gates)
{
    size_t n = 0;
    for (size_t k = 1; k <= K; k++) {
        gates[n++] = moeg_gate_topk_renorm(k);
        gates[n++] = moeg_gate_topk_raw(k);
        gates[n++] = moeg_gate_subset(k);
    }
    return n;
}

static inline int bits(unsigned set)
{
    int n = 0;
    for (; set != 0; set &= set - 1)
        n++;
    return n;
}

/* The set of the k largest, ties to the lowest index. */
static inline unsigned top_set(size_t K, const real *a, size_t k)
{
    unsigned set = 0;
    for (size_t taken = 0; taken < k; taken++) {
        size_t best = K;
        for (size_t i = 0; i < K; i++)
            if ((set >> i & 1) == 0 && (best == K || a[i] > a[best]))
                best = i;
        set |= 1u << best;
    }
    return set;
}

/* Hard gates, and the changes of the gates at tau as sums of probabilities of what the hard router does not pick. */
static inline void oracle_gates(moeg_gate gate, size_t K, const real *a, real tau, real *hard, real *change)
{
    const size_t k = gate.k, picked = gate.kind == MOEG_GATE_SUBSET ? k : 1;
    const unsigned top = top_set(K, a, picked), active = top_set(K, a, k);
    real total = 0, p[1 << MOST_K], largest = 0;
    memset(p, 0, sizeof *p << K);
    for (size_t i = 0; i < K; i++) {
        hard[i] = (top >> i & 1) != 0 ? 1.0L / (real)picked : 0;
        change[i] = 0;
        largest += (top >> i & 1) != 0 ? a[i] : 0;
    }
    if (tau == 0)
        return;
    for (unsigned set = 1; set < 1u << K; set++) {
        real sum = 0;
        if (bits(set) != (int)picked || (gate.kind == MOEG_GATE_TOPK_RENORM && (set & active) == 0))
            continue;
        for (size_t i = 0; i < K; i++)
            sum += (set >> i & 1) != 0 ? a[i] : 0;
        total += p[set] = expl((sum - largest) / tau);
    }
    for (unsigned set = 1; set < 1u << K; set++)
        for (size_t i = 0; i < K && set != top; i++) {
            const real share = p[set] / total / (real)picked;
            if ((top >> i & 1) != 0 && (set >> i & 1) == 0)
                change[i] -= share;
            else if ((top >> i & 1) == 0 && (set >> i & 1) != 0 &&
                     (gate.kind != MOEG_GATE_TOPK_RAW || (active >> i & 1) != 0))
                change[i] += share;
        }
}

#endif
