/* SOFTMAX gates g_k = exp((a_k - a_(1))/tau) / sum [theory: gates]. */
#include "base/error.h"
#include "model/block.h"
#include "model/logits.h"
#include "model/model.h"

#include <math.h>

moeg_status moeg_check_tau(const char *function, const char *name, double tau)
{
    if (tau == 0 || (tau >= 1e-300 && tau <= 1e300))
        return MOEG_OK;
    return moeg_fail(MOEG_EINVAL, "%s: %s must be 0 or in [1e-300, 1e300], got %g", function, name, tau);
}

/* 2^64 exp((a - top)/tau), a <= top both finite.
 *
 * The difference is formed exactly, s + e (TwoDiff); one that overflows is far below -746 tau, where the term is 0. The
 * quotient is q + low, low from the exact remainder of s/tau; exp(q + low) = exp(q)(1 + low) since |low| < 1e-13. The
 * factor 2^64 keeps the term normal down to the smallest gate there is, so that no rounding but that of the final
 * quotient is subnormal: there exp(q + 64 log 2) is taken instead. Error below 1.6 epsilon, by that of exp and one
 * rounding. */
static double scaled_term(double a, double top, double tau)
{
    static const double shift = 0x1.62e42fefa39efp+5, shift_low = 0x1.abc9e3b39803fp-50;
    const double s = a - top, b = s - a;
    const double e = (a - (s - b)) - (top + b);
    const double q = s / tau;
    if (q < -746) /* below half the smallest subnormal number */
        return 0;
    const double low = (fma(-q, tau, s) + e) / tau;
    if (q > -700) {
        const double term = exp(q);
        return 0x1p64 * fma(term, low, term);
    }
    const double shifted = q + shift;
    const double term = exp(shifted);
    return fma(term, low + ((shift - (shifted - q)) + shift_low), term);
}

static void one_hot(size_t K, size_t chosen, double *gates)
{
    for (size_t k = 0; k < K; k++)
        gates[k] = k == chosen;
}

/* The sum is compensated (TwoSum), so that a gate's error, below 4 epsilon, does not grow with K. */
void moeg_softmax_row(size_t K, const double *logits, double tau, double *gates)
{
    size_t best;
    moeg_top_row(K, logits, 1, &best);
    if (tau == 0) {
        one_hot(K, best, gates);
        return;
    }
    const double top = logits[best];
    double sum = 0, lost = 0;
    for (size_t k = 0; k < K; k++) {
        gates[k] = logits[k] == -INFINITY ? 0 : scaled_term(logits[k], top, tau);
        const double next = sum + gates[k], part = next - sum;
        lost += (sum - (next - part)) + (gates[k] - part);
        sum = next;
    }
    for (size_t k = 0; k < K; k++)
        gates[k] /= sum + lost;
}

moeg_status moeg_gates_softmax(size_t n, size_t K, const double *logits, double tau, double *gates)
{
    static const char function[] = "gates_softmax";
    if (K == 0)
        return moeg_fail(MOEG_EINVAL, "%s: K must be at least 1, got 0", function);
    moeg_status status = moeg_check_tau(function, "tau", tau);
    if (status == MOEG_OK)
        status = moeg_check_array(function, "logits", n, K, logits);
    if (status == MOEG_OK)
        status = moeg_check_array(function, "gates", n, K, gates);
    if (status == MOEG_OK)
        status = moeg_check_logits(function, n, K, logits, 1);
    for (size_t i = 0; i < n && status == MOEG_OK; i++)
        moeg_softmax_row(K, logits + i * K, tau, gates + i * K);
    return status;
}
