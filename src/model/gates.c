/* Gates of many rows: what they are asked for, and blocks of them [theory: gates]. */
#include "model/gates.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/logits.h"
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

moeg_gate moeg_gate_softmax(void)
{
    return (moeg_gate){MOEG_GATE_SOFTMAX, 0};
}

moeg_gate moeg_gate_topk_renorm(size_t k)
{
    return (moeg_gate){MOEG_GATE_TOPK_RENORM, k};
}

moeg_gate moeg_gate_topk_raw(size_t k)
{
    return (moeg_gate){MOEG_GATE_TOPK_RAW, k};
}

moeg_gate moeg_gate_subset(size_t k)
{
    return (moeg_gate){MOEG_GATE_SUBSET, k};
}

moeg_status moeg_check_gate(const char *function, moeg_gate gate, size_t K)
{
    switch (gate.kind) {
    case MOEG_GATE_SOFTMAX:
        if (gate.k != 0)
            return moeg_fail(MOEG_EINVAL, "%s: gate.k must be 0 for SOFTMAX, got %zu", function, gate.k);
        return MOEG_OK;
    case MOEG_GATE_TOPK_RENORM:
    case MOEG_GATE_TOPK_RAW:
    case MOEG_GATE_SUBSET:
        if (gate.k == 0 || gate.k > K)
            return moeg_fail(MOEG_EINVAL, "%s: gate.k must be in [1, K = %zu], got %zu", function, K, gate.k);
        return MOEG_OK;
    }
    return moeg_fail(MOEG_EINVAL, "%s: gate.kind must be one of moeg_gate_kind, got %d", function, (int)gate.kind);
}

size_t moeg_gate_wants(moeg_gate gate)
{
    return gate.kind == MOEG_GATE_SOFTMAX ? 1 : gate.k;
}

moeg_status moeg_check_tau(const char *function, const char *name, double tau)
{
    if (tau == 0 || (tau >= 1e-300 && tau <= 1e300))
        return MOEG_OK;
    return moeg_fail(MOEG_EINVAL, "%s: %s must be 0 or in [1e-300, 1e300], got %g", function, name, tau);
}

/* What all functions of rows of logits check, but for their outputs. */
moeg_status moeg_check_gate_rows(const char *function, moeg_gate gate, size_t n, size_t K, const double *logits,
                                 double tau)
{
    if (K == 0)
        return moeg_fail(MOEG_EINVAL, "%s: K must be at least 1, got 0", function);
    moeg_status status = moeg_check_gate(function, gate, K);
    if (status == MOEG_OK)
        status = moeg_check_tau(function, "tau", tau);
    if (status == MOEG_OK)
        status = moeg_check_array(function, "logits", n, K, logits);
    if (status == MOEG_OK)
        status = moeg_check_logits(function, n, K, logits, moeg_gate_wants(gate));
    return status;
}

/* The gates of rows, under a function's name. */
static moeg_status gates_rows(const char *function, moeg_gate gate, size_t n, size_t K, const double *logits,
                              double tau, double *gates)
{
    moeg_status status = moeg_check_gate_rows(function, gate, n, K, logits, tau);
    if (status == MOEG_OK)
        status = moeg_check_array(function, "gates", n, K, gates);
    if (status != MOEG_OK)
        return status;
    const size_t doubles = moeg_gate_row_workspace(gate, K);
    double *workspace = doubles == 0 ? NULL : moeg_alloc(doubles, sizeof *workspace);
    if (doubles != 0 && workspace == NULL)
        return moeg_fail_memory(function);
    for (size_t i = 0; i < n; i++)
        moeg_gates_row(gate, K, logits + i * K, tau, gates + i * K, workspace);
    moeg_release(workspace);
    return MOEG_OK;
}

moeg_status moeg_gates(moeg_gate gate, size_t n, size_t K, const double *logits, double tau, double *gates)
{
    return gates_rows("gates", gate, n, K, logits, tau, gates);
}

moeg_status moeg_gates_softmax(size_t n, size_t K, const double *logits, double tau, double *gates)
{
    return gates_rows("gates_softmax", moeg_gate_softmax(), n, K, logits, tau, gates);
}

/* Two rows of K, and what a row wants. */
size_t moeg_gate_workspace(moeg_gate gate, size_t K)
{
    return 2 * K + moeg_gate_row_workspace(gate, K);
}

/* Returns what sum (NULL: not wanted) gets. */
typedef double row_function(moeg_gate gate, size_t K, const double *logits, double tau, double *out, double *workspace);

static double gates_row(moeg_gate gate, size_t K, const double *logits, double tau, double *gates, double *workspace)
{
    moeg_gates_row(gate, K, logits, tau, gates, workspace);
    return 0;
}

/* Unit by unit; NaN where the logits are not such as the gate wants. */
static void map_units(row_function *row, moeg_gate gate, size_t K, size_t stride, const double *a, double tau,
                      double *out, double *sum, double *workspace)
{
    double *logits = workspace, *made = logits + K, *rest = made + K;
    for (size_t i = 0; i < stride; i++) {
        size_t good = 0, finite = 0;
        for (size_t k = 0; k < K; k++) {
            logits[k] = a[k * stride + i];
            good += logits[k] <= DBL_MAX;
            finite += logits[k] != -INFINITY;
        }
        const int fits = good == K && finite >= moeg_gate_wants(gate);
        const double total = fits ? row(gate, K, logits, tau, made, rest) : NAN;
        if (sum != NULL)
            sum[i] = total;
        for (size_t k = 0; k < K; k++)
            out[k * stride + i] = fits ? made[k] : NAN;
    }
}

void moeg_gates_block(moeg_gate gate, size_t K, size_t stride, const double *a, double tau, double *gates,
                      double *workspace)
{
    map_units(gates_row, gate, K, stride, a, tau, gates, NULL, workspace);
}

void moeg_deviation_block(moeg_gate gate, size_t K, size_t stride, const double *a, double tau, double *change,
                          double *sum, double *workspace)
{
    map_units(moeg_deviation_row, gate, K, stride, a, tau, change, sum, workspace);
}

size_t moeg_slope_workspace(moeg_gate gate, size_t K)
{
    return 2 * K + moeg_slope_row_workspace(gate, K);
}

void moeg_slope_block(moeg_gate gate, size_t K, size_t stride, const double *a, double tau, double *slope, double *sum,
                      double *workspace)
{
    map_units(moeg_slope_row, gate, K, stride, a, tau, slope, sum, workspace);
}
