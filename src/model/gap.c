/* Gaps between ranked logits, of rows and of blocks: the top-k gap a_(k) - a_(k+1), and that of order r, a_(1) -
 * a_(r+1). An expert that is not there has the logit of a masked one: a_(K+1) = -inf. */
#include "base/error.h"
#include "model/gates.h"
#include "model/logits.h"
#include "model/model.h"

#include <float.h>
#include <math.h>

int moeg_gap_row(size_t K, size_t stride, const double *logits, size_t upper, size_t lower, double *gap)
{
    const double above = logits[moeg_rank_row(K, stride, logits, upper) * stride];
    const double below = lower > K ? -INFINITY : logits[moeg_rank_row(K, stride, logits, lower) * stride];
    *gap = above - below + 0; /* + 0 turns -0, the gap of -0 and 0, into 0 */
    return *gap <= DBL_MAX || below == -INFINITY;
}

/* `rank` is what was asked for, called `name`. */
static moeg_status gaps(const char *function, const char *name, size_t rank, size_t n, size_t K, const double *logits,
                        size_t upper, double *gap)
{
    if (K == 0)
        return moeg_fail(MOEG_EINVAL, "%s: K must be at least 1, got 0", function);
    if (rank == 0 || rank > K)
        return moeg_fail(MOEG_EINVAL, "%s: %s must be in [1, K = %zu], got %zu", function, name, K, rank);
    moeg_status status = moeg_check_array(function, "logits", n, K, logits);
    if (status == MOEG_OK)
        status = moeg_check_array(function, "gap", n, 1, gap);
    if (status == MOEG_OK)
        status = moeg_check_logits(function, n, K, logits, upper);
    if (status != MOEG_OK)
        return status;
    double value;
    for (size_t i = 0; i < n; i++)
        if (!moeg_gap_row(K, 1, logits + i * K, upper, rank + 1, &value))
            return moeg_fail(MOEG_ERANGE, "%s: the gap of row %zu overflows", function, i);
    for (size_t i = 0; i < n; i++)
        moeg_gap_row(K, 1, logits + i * K, upper, rank + 1, &gap[i]);
    return MOEG_OK;
}

moeg_status moeg_top_gap(size_t n, size_t K, const double *logits, size_t k, double *gap)
{
    return gaps("top_gap", "k", k, n, K, logits, k, gap);
}

moeg_status moeg_order_gap(size_t n, size_t K, const double *logits, size_t r, double *gap)
{
    return gaps("order_gap", "r", r, n, K, logits, 1, gap);
}

/* One unit: every logit is finite or -inf, and as many are finite as wanted. */
static int is_unit_fit(size_t K, size_t stride, const double *a, size_t wanted)
{
    size_t finite = 0;
    for (size_t k = 0; k < K; k++) {
        if (!(a[k * stride] <= DBL_MAX))
            return 0;
        finite += a[k * stride] != -INFINITY;
    }
    return finite >= wanted;
}

size_t moeg_gap_block(size_t K, size_t n, size_t stride, const double *a, size_t upper, size_t lower, double *gap)
{
    for (size_t i = 0; i < n; i++)
        if (!is_unit_fit(K, stride, a + i, upper) || !moeg_gap_row(K, stride, a + i, upper, lower, &gap[i]))
            return i;
    return n;
}

size_t moeg_gate_gap_block(moeg_gate gate, size_t K, size_t n, size_t stride, const double *a, double *gap)
{
    const size_t k = gate.kind == MOEG_GATE_SUBSET ? gate.k : 1;
    const int constant = gate.kind == MOEG_GATE_TOPK_RENORM && gate.k == 1;
    for (size_t i = 0; i < n; i++) {
        gap[i] = INFINITY;
        if (!is_unit_fit(K, stride, a + i, moeg_gate_wants(gate)) ||
            (!constant && !moeg_gap_row(K, stride, a + i, k, k + 1, &gap[i])))
            return i;
    }
    return n;
}
