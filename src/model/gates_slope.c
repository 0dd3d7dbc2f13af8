/* tau dg/dtau of gates [theory: gates]. Of a softmax, with v = (a_(1) - a)/tau >= 0 and their mean under the gates,
 * it is g_k (v_k - mean): for the winner, whose v is 0, nothing is subtracted. */
#include "base/error.h"
#include "base/memory.h"
#include "model/gates.h"

#include <math.h>

/* Of TOPK_RAW before its cut: all gates. */
static void softmax_slope(moeg_gate all, size_t K, const double *logits, double tau, double *slope)
{
    const double top = logits[moeg_rank_row(K, 1, logits, 1)];
    moeg_twofold mean = {0, 0}; /* so that its error does not grow with K */
    moeg_gates_row(all, K, logits, tau, slope, NULL);
    for (size_t k = 0; k < K; k++)
        if (slope[k] != 0)
            mean = moeg_twofold_add(mean, (moeg_twofold){slope[k] * ((top - logits[k]) / tau), 0});
    /* Where a gate is 0 its logit may be -inf, or the difference overflow. */
    for (size_t k = 0; k < K; k++)
        slope[k] = slope[k] == 0 ? 0 : slope[k] * ((top - logits[k]) / tau - mean.hi);
}

double moeg_slope_row(moeg_gate gate, size_t K, const double *logits, double tau, double *slope, double *workspace)
{
    if (tau == 0) {
        for (size_t k = 0; k < K; k++)
            slope[k] = 0;
        return 0;
    }
    if (gate.kind == MOEG_GATE_SUBSET && gate.k > 1) {
        moeg_subset_slope(K, gate.k, logits, tau, slope, workspace);
        return 0;
    }
    const moeg_gate all = {gate.kind == MOEG_GATE_TOPK_RENORM ? gate.kind : MOEG_GATE_SOFTMAX, gate.k};
    softmax_slope(all, K, logits, tau, slope);
    return gate.kind == MOEG_GATE_TOPK_RAW ? moeg_cut_change(K, logits, moeg_cut_row(K, logits, gate.k), slope) : 0;
}

size_t moeg_slope_row_workspace(moeg_gate gate, size_t K)
{
    return gate.kind == MOEG_GATE_SUBSET && gate.k > 1 ? moeg_subset_slope_workspace(K, gate.k) : 0;
}

/* At tau = 0 a tie that decides makes the gates jump; one expert, renormalised, has no such tie. */
static moeg_status check_ties(const char *function, moeg_gate gate, size_t n, size_t K, const double *logits)
{
    const size_t k = gate.kind == MOEG_GATE_SUBSET ? gate.k : 1;
    for (size_t i = 0; i < n && !(gate.kind == MOEG_GATE_TOPK_RENORM && gate.k == 1); i++)
        if (moeg_ties_at(K, logits + i * K, k))
            return moeg_fail(MOEG_EDOM,
                             "%s: the logits of ranks %zu and %zu of row %zu tie, where the gates jump at tau = 0",
                             function, k, k + 1, i);
    return MOEG_OK;
}

moeg_status moeg_gates_derivative(moeg_gate gate, size_t n, size_t K, const double *logits, double tau,
                                  double *derivative)
{
    static const char function[] = "gates_derivative";
    moeg_status status = moeg_check_gate_rows(function, gate, n, K, logits, tau);
    if (status == MOEG_OK)
        status = moeg_check_array(function, "derivative", n, K, derivative);
    if (status == MOEG_OK && tau == 0)
        status = check_ties(function, gate, n, K, logits);
    if (status != MOEG_OK || n == 0)
        return status;
    const size_t doubles = moeg_slope_row_workspace(gate, K);
    double *workspace = doubles == 0 ? NULL : moeg_alloc(doubles, sizeof *workspace);
    if (doubles != 0 && workspace == NULL)
        return moeg_fail_memory(function);
    for (size_t i = 0; i < n; i++) {
        double *out = derivative + i * K;
        moeg_slope_row(gate, K, logits + i * K, tau, out, workspace);
        for (size_t k = 0; k < K && tau > 0; k++)
            out[k] /= tau;
    }
    moeg_release(workspace);
    return MOEG_OK;
}
