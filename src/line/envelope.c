#include "line/envelope.h"

#include "base/kernel.h"

#include <math.h>

size_t moeg_envelope_size(size_t K)
{
    return 2 * moeg_round_lanes(K);
}

void moeg_envelope_init(moeg_envelope *e, size_t K, size_t levels, const double *beta, double *workspace)
{
    *e = (moeg_envelope){.K = K, .levels = levels, .beta = beta, .alpha = workspace};
    e->order = (uint32_t *)(workspace + moeg_round_lanes(K));
}

/* Whether line i is above line j at -infinity, or of two that start there equally, by its index. */
static int starts_above(const moeg_envelope *e, uint32_t i, uint32_t j)
{
    if (e->beta[i] != e->beta[j])
        return e->beta[i] < e->beta[j];
    return e->alpha[i] != e->alpha[j] ? e->alpha[i] > e->alpha[j] : i < j;
}

/* Whether line i is above line j just after a point at which both meet a third. */
static int leaves_above(const moeg_envelope *e, uint32_t i, uint32_t j)
{
    return e->beta[i] != e->beta[j] ? e->beta[i] > e->beta[j] : starts_above(e, i, j);
}

/* The next swap: a steeper line overtakes its neighbour, within the levels or from below the last of them. */
static double find_swap(moeg_envelope *e)
{
    double first = INFINITY;
    for (size_t rank = 0; rank + 1 < e->levels; rank++) {
        const uint32_t i = e->order[rank], j = e->order[rank + 1];
        if (e->beta[j] > e->beta[i] && moeg_envelope_crossing(e, i, j) < first) {
            first = moeg_envelope_crossing(e, i, j);
            e->over = rank;
            e->under = rank + 1;
        }
    }
    const uint32_t last = e->order[e->levels - 1];
    for (size_t at = e->levels; at < e->K; at++) {
        const uint32_t j = e->order[at];
        if (!(e->beta[j] > e->beta[last]))
            continue;
        const double crossing = moeg_envelope_crossing(e, last, j);
        const int again = crossing == first && e->under >= e->levels && first < INFINITY;
        if (crossing < first || (again && leaves_above(e, j, e->order[e->under]))) {
            first = crossing;
            e->over = e->levels - 1;
            e->under = at;
        }
    }
    return first;
}

static void swap(uint32_t *order, size_t a, size_t b)
{
    const uint32_t kept = order[a];
    order[a] = order[b];
    order[b] = kept;
}

/* Through all swaps at lo, or that rounding has put before it, to the end of the piece. Each takes a steeper line to a
 * higher rank, so that they come to an end whatever the rounding. */
static void settle(moeg_envelope *e)
{
    while ((e->hi = find_swap(e)) <= e->lo)
        swap(e->order, e->over, e->under);
}

void moeg_envelope_start(moeg_envelope *e, const double *alpha, size_t step)
{
    for (size_t k = 0; k < e->K; k++) {
        e->alpha[k] = alpha[k * step];
        e->order[k] = (uint32_t)k;
    }
    for (size_t rank = 0; rank < e->levels; rank++) {
        size_t top = rank;
        for (size_t at = rank + 1; at < e->K; at++)
            if (starts_above(e, e->order[at], e->order[top]))
                top = at;
        swap(e->order, rank, top);
    }
    e->lo = -INFINITY;
    settle(e);
}

int moeg_envelope_next(moeg_envelope *e)
{
    if (e->hi == INFINITY)
        return 0;
    e->lo = e->hi;
    swap(e->order, e->over, e->under);
    settle(e);
    return 1;
}
