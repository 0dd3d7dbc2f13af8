/* d g_i/d a_j, from what gates lack, and what pairs have in common [theory: gates]. */
#include "base/error.h"
#include "base/memory.h"
#include "model/gates.h"

#include <stdint.h>

int moeg_ties_at(size_t K, const double *logits, size_t k)
{
    if (k == K)
        return 0;
    const double a = logits[moeg_rank_row(K, 1, logits, k + 1)];
    return a != -INFINITY && a == logits[moeg_rank_row(K, 1, logits, k)];
}

static moeg_status check_ties(const char *function, moeg_gate gate, size_t n, size_t K, const double *logits,
                              double tau)
{
    const int selects = gate.kind == MOEG_GATE_TOPK_RENORM || gate.kind == MOEG_GATE_TOPK_RAW;
    if (tau > 0 && !selects)
        return MOEG_OK;
    const size_t k = tau > 0 || gate.kind == MOEG_GATE_SUBSET ? gate.k : 1;
    for (size_t i = 0; i < n; i++)
        if (moeg_ties_at(K, logits + i * K, k))
            return moeg_fail(MOEG_EDOM,
                             "%s: the logits of ranks %zu and %zu of row %zu tie, where the gates are not "
                             "differentiable",
                             function, k, k + 1, i);
    return MOEG_OK;
}

/* g_i (delta_ij - g_j)/tau from softmax gates, 1 - g of the best as the sum of the others. Of TOPK_RAW the rows outside
 * the cut are 0. workspace: 2 K. */
static void softmax_jacobian(moeg_gate gate, size_t K, const double *logits, double tau, double *jacobian,
                             double *workspace)
{
    const moeg_gate all = gate.kind == MOEG_GATE_TOPK_RENORM ? gate : moeg_gate_softmax();
    const size_t best = moeg_rank_row(K, 1, logits, 1);
    double *gates = workspace, *change = workspace + K;
    moeg_gates_row(all, K, logits, tau, gates, NULL);
    moeg_deviation_row(all, K, logits, tau, change, NULL);
    const moeg_cut cut = moeg_cut_row(K, logits, gate.kind == MOEG_GATE_TOPK_RAW ? gate.k : 1);
    for (size_t i = 0; i < K; i++) {
        const int is_zero = gate.kind == MOEG_GATE_TOPK_RAW && !moeg_is_inside(cut, logits[i], i);
        for (size_t j = 0; j < K; j++) {
            const double lack = i != j ? -gates[j] : i == best ? -change[best] : 1 - gates[i];
            jacobian[i * K + j] = is_zero ? 0 : gates[i] * lack / tau;
        }
    }
}

/* Covariances of sides: with c_i = P(i changes sides), those of i and j are c_i (1 - c_i) on the diagonal and P(both
 * change) - c_i c_j off it, negative where one is a winner and one a loser. The difference of double-doubles keeps its
 * digits. workspace: that of a row, and K double-doubles. */
static void subset_jacobian(size_t K, size_t k, const double *logits, double tau, double *jacobian, double *workspace)
{
    static const double unshift = 1 / MOEG_GATE_SHIFT;
    moeg_subset s;
    moeg_twofold *both = (moeg_twofold *)workspace;
    moeg_subset_solve(&s, K, k, logits, tau, workspace + 2 * K);
    for (size_t e = 0; e < K * K; e++)
        jacobian[e] = 0;
    for (size_t j = 0; j < s.n; j++) {
        const moeg_twofold one = {1, 0}, c = moeg_twofold_scale(s.change[j], unshift);
        moeg_subset_pairs(&s, j, both);
        for (size_t i = 0; i < s.n; i++) {
            const moeg_twofold product = moeg_twofold_times(s.change[i], s.change[j]);
            double covariance = moeg_twofold_add(both[i], moeg_twofold_minus(product)).hi * unshift * unshift;
            if (i == j)
                covariance = moeg_twofold_times(c, moeg_twofold_add(one, moeg_twofold_minus(c))).hi;
            else if ((i < k) != (j < k))
                covariance = -covariance;
            jacobian[s.index[i] * K + s.index[j]] = covariance / (double)k / tau;
        }
    }
}

moeg_status moeg_gate_jacobian(moeg_gate gate, size_t n, size_t K, const double *logits, double tau, double *jacobian)
{
    static const char function[] = "gate_jacobian";
    size_t entries;
    moeg_status status = moeg_check_gate_rows(function, gate, n, K, logits, tau);
    if (status == MOEG_OK && moeg_multiply_overflows(K, K, &entries))
        entries = SIZE_MAX;
    if (status == MOEG_OK)
        status = moeg_check_array(function, "jacobian", n, entries, jacobian);
    if (status == MOEG_OK)
        status = check_ties(function, gate, n, K, logits, tau);
    if (status != MOEG_OK || n == 0)
        return status;
    double *workspace = moeg_alloc(2 * K + moeg_gate_row_workspace(gate, K), sizeof *workspace);
    if (workspace == NULL)
        return moeg_fail_memory(function);
    for (size_t i = 0; i < n; i++) {
        double *out = jacobian + i * entries;
        if (gate.kind == MOEG_GATE_SUBSET && gate.k > 1 && tau > 0)
            subset_jacobian(K, gate.k, logits + i * K, tau, out, workspace);
        else if (tau > 0)
            softmax_jacobian(gate, K, logits + i * K, tau, out, workspace);
        for (size_t e = 0; e < entries && tau == 0; e++)
            out[e] = 0;
    }
    moeg_release(workspace);
    return MOEG_OK;
}
