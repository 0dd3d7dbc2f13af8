/* Gaps between ranked logits, of rows and of blocks. An expert that is not there has the logit of a masked one:
 * a_(K+1) = -inf. */
#include "base/error.h"
#include "base/kernel.h"
#include "model/gates.h"
#include "model/logits.h"
#include "model/model.h"

#include <float.h>
#include <math.h>

moeg_gap moeg_gap_margin(void)
{
    return (moeg_gap){1, 2};
}

moeg_gap moeg_gap_order(size_t r)
{
    return (moeg_gap){1, r + 1};
}

moeg_gap moeg_gap_top(size_t k)
{
    return (moeg_gap){k, k + 1};
}

moeg_status moeg_check_gap(const char *function, moeg_gap gap, size_t K)
{
    if (K == 0)
        return moeg_fail(MOEG_EINVAL, "%s: K must be at least 1, got 0", function);
    if (gap.upper < 1 || gap.upper >= gap.lower || gap.lower - 1 > K)
        return moeg_fail(MOEG_EINVAL, "%s: the ranks of gap must be 1 <= upper < lower <= K + 1 = %zu, got %zu and %zu",
                         function, K + 1, gap.upper, gap.lower);
    return MOEG_OK;
}

int moeg_gap_row(size_t K, size_t stride, const double *logits, moeg_gap gap, double *out)
{
    const double above = logits[moeg_rank_row(K, stride, logits, gap.upper) * stride];
    const double below = gap.lower > K ? -INFINITY : logits[moeg_rank_row(K, stride, logits, gap.lower) * stride];
    *out = above - below + 0; /* + 0 turns -0, the gap of -0 and 0, into 0 */
    return *out <= DBL_MAX || below == -INFINITY;
}

moeg_status moeg_logit_gap(size_t n, size_t K, const double *logits, moeg_gap gap, double *out)
{
    static const char function[] = "logit_gap";
    moeg_status status = moeg_check_gap(function, gap, K);
    if (status == MOEG_OK)
        status = moeg_check_array(function, "logits", n, K, logits);
    if (status == MOEG_OK)
        status = moeg_check_array(function, "out", n, 1, out);
    if (status == MOEG_OK)
        status = moeg_check_logits(function, n, K, logits, gap.upper);
    if (status != MOEG_OK)
        return status;
    double value;
    for (size_t i = 0; i < n; i++)
        if (!moeg_gap_row(K, 1, logits + i * K, gap, &value))
            return moeg_fail(MOEG_ERANGE, "%s: the gap of row %zu overflows", function, i);
    for (size_t i = 0; i < n; i++)
        moeg_gap_row(K, 1, logits + i * K, gap, &out[i]);
    return MOEG_OK;
}

/* The finite logits of a unit; 0 if one is NaN or +inf. */
static size_t count_finite(size_t K, size_t stride, const double *a)
{
    size_t finite = 0;
    for (size_t k = 0; k < K; k++) {
        if (!(a[k * stride] <= DBL_MAX))
            return 0;
        finite += a[k * stride] != -INFINITY;
    }
    return finite;
}

size_t moeg_gap_block(size_t K, size_t n, size_t stride, const double *a, moeg_gap gap, double *out)
{
    const int vectors = gap.lower <= K && (gap.lower <= MOEG_GAP_RANKS || K + 1 - gap.upper <= MOEG_GAP_RANKS);
    if (vectors && !moeg_kernel_gap(K, stride, a, gap.upper, gap.lower, out))
        return n;
    for (size_t i = 0; i < n; i++) {
        const size_t finite = count_finite(K, stride, a + i);
        if (finite < gap.upper)
            return i;
        if (!vectors)
            moeg_gap_row(K, stride, a + i, gap, &out[i]);
        if (finite >= gap.lower && !(out[i] <= DBL_MAX))
            return i;
    }
    return n;
}

/* The gap past the last logit is +inf in every unit that has the finite logits that the gate wants. */
size_t moeg_gate_gap_block(moeg_gate gate, size_t K, size_t n, size_t stride, const double *a, double *gap)
{
    const size_t k = gate.kind == MOEG_GATE_SUBSET ? gate.k : 1, wanted = moeg_gate_wants(gate);
    const int constant = gate.kind == MOEG_GATE_TOPK_RENORM && gate.k == 1;
    if (wanted > k)
        n = moeg_gap_block(K, n, stride, a, (moeg_gap){wanted, K + 1}, gap);
    return moeg_gap_block(K, n, stride, a, constant ? (moeg_gap){1, K + 1} : moeg_gap_top(k), gap);
}
