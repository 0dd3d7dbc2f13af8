/* The slow obvious way to gates: sums over all k-subsets, in long double. Ranges are as wide as the logits' differences
 * over tau: up to 11000. */
#ifndef MOEG_TESTS_MODEL_SUBSETS_H
#define MOEG_TESTS_MODEL_SUBSETS_H

#include "support/check.h"

#include <moegeom/gate.h>

/* What enumeration finds in one row: P(i changes sides against the k largest, ties to the lowest index), and P(both).
 */
typedef struct subsets {
    unsigned winners;
    long double change[8], both[8][8];
} subsets;

static inline unsigned top_set(size_t K, const double *a, size_t k)
{
    unsigned set = 0;
    for (size_t r = 0; r < k; r++) {
        size_t best = K;
        for (size_t j = 0; j < K; j++)
            if (!(set >> j & 1) && (best == K || a[j] > a[best]))
                best = j;
        set |= 1u << best;
    }
    return set;
}

/* K <= 8; at least k logits are finite. */
static inline subsets enumerate_subsets(size_t K, const double *a, size_t k, double tau)
{
    subsets found = {.winners = top_set(K, a, k)};
    long double total = 0;
    for (unsigned set = 0; set < 1u << K; set++) {
        int masked = 0;
        for (size_t i = 0; i < K; i++)
            masked |= (set >> i & 1) && a[i] == -INFINITY;
        if (masked || (size_t)__builtin_popcount(set) != k)
            continue;
        /* Exchange by exchange, of the same count: the exponent is a sum of differences to one pivot. */
        const unsigned changed = set ^ found.winners;
        long double exponent = 0;
        double pivot = NAN;
        for (size_t i = 0; i < K; i++)
            if (changed >> i & 1) {
                pivot = isnan(pivot) ? a[i] : pivot;
                const long double gap = (long double)a[i] - pivot;
                exponent += set >> i & 1 ? gap : -gap;
            }
        const long double weight = expl(exponent / tau);
        total += weight;
        for (size_t i = 0; i < K; i++)
            for (size_t j = 0; j < K && changed >> i & 1; j++)
                found.both[i][j] += changed >> j & 1 ? weight : 0;
    }
    for (size_t i = 0; i < K; i++)
        for (size_t j = 0; j < K; j++)
            found.both[i][j] /= total;
    for (size_t i = 0; i < K; i++)
        found.change[i] = found.both[i][i];
    return found;
}

#endif
