#include "limit/family.h"

#include "base/error.h"

#include <math.h>

/* The alternating series sum_k (-1)^k k^j (k + 1)^-a, j = 0 or 1: Dirichlet's eta(a), and eta(a - 1) - eta(a), for a >
 * 0. Cohen, Rodriguez Villegas and Zagier (2000), algorithm 1: it continues the series where that diverges, and the
 * weights of the first terms are off by no more than 5.8^-n. */
static long double alternating(long double a, int j)
{
    enum { N = 28 };
    long double d = powl(3 + sqrtl(8), N), b = -1, sum = 0;
    d = (d + 1 / d) / 2;
    long double c = -d;
    for (int k = 0; k < N; k++) {
        c = b - c;
        sum += c * (j == 0 ? 1 : k) * powl(k + 1, -a);
        b *= (long double)(k + N) * (k - N) / ((k + 0.5L) * (k + 1));
    }
    return sum / d;
}

/* E[-2 d.c] eta(a) - E|d|^2 eta(a - 1), from the smaller terms of two ways to write it. */
static long double power_factor(const moeg_family_risk *risk, int loss, long double a)
{
    const long double eta = alternating(a, 0), below = alternating(a, 1), lower = eta + below;
    const double centre = risk->centre.value, direct = risk->direct.value, square = risk->square;
    if (loss)
        return risk->loss.value * eta;
    if (fabsl(centre * eta) + square * lower < fabsl(direct * eta) + square * fabsl(below))
        return centre * eta - square * lower;
    return direct * eta - square * below;
}

/* With a = alpha = order/p, tau << scale: E q ~ C Gamma(a + 1) eta(a) (tau/scale)^a and E q^2 the same with
 * eta(a) - eta(a - 1), C = normal/order. With Delta_0 > 0, q ~ e^(-|s|/tau): E q^k ~ normal tau/(k scale)
 * e^(-k scale Delta_0/tau), and of output mixing with r = 0 only q^2 is left. */
moeg_status moeg_family_leading(const char *function, const moeg_family_risk *risk, moeg_mixing mixing,
                                moeg_leading *leading)
{
    const moeg_family_logit *l = &risk->logit;
    const double a = l->order / l->power, rate = (double)(l->scale * l->offset);
    const int loss = mixing == MOEG_MIX_LOSS, squares = !loss && moeg_family_vanishes(&risk->direct);
    long double factor, scaled;
    if (!moeg_two_gates_move(risk->gates)) {
        *leading = (moeg_leading){.power = 1};
        return MOEG_OK;
    }
    moeg_leading result = {.power = l->offset > 0 ? 1 : a, .rate = squares ? 2 * rate : rate};
    if (l->offset > 0) {
        factor = loss ? risk->loss.value : squares ? risk->square / 2.0L : risk->direct.value;
        scaled = factor * l->normal / l->scale;
    } else {
        factor = power_factor(risk, loss, a);
        scaled = factor * l->normal / l->order * expl(lgammal((long double)a + 1) - a * logl(l->scale));
    }
    result.coefficient = (double)scaled;
    if (!isfinite(result.coefficient) || !isfinite(result.rate) || (factor != 0 && result.coefficient == 0))
        return moeg_fail(MOEG_ERANGE, "%s: the coefficient or the rate is out of range: %Lg, %g", function, scaled,
                         result.rate);
    *leading = result;
    return MOEG_OK;
}
