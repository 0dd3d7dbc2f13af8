#include "scaling.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Rows must have felt the temperature (Delta <= 45 tau) this often before an interval is a fair judge: only about one
 * in ten of them carries weight. */
static const uint64_t enough_to_judge = 2000;

/* The order is fitted where the next term is below this share of the leading one. */
static const double small_term = 0.01;

/* The order of the gaps where the next term is small; of a bounded margin the rate Delta_0, as gap/tau is then a power
 * law in exp(-tau_0/tau), of the order Delta_0/tau_0 (tau_0: the lowest temperature). Returns the number of gaps. */
static size_t fitted_order(const scaling *c, const moeg_estimate *gaps, const double *covariance, double level,
                           moeg_estimate *order)
{
    const int bounded = isinf(c->family->alpha);
    double *x = allocate(c->n, sizeof *x), *v = allocate(c->n * c->n, sizeof *v), lowest = INFINITY;
    size_t *index = allocate(c->n, sizeof *index), n = 0;
    moeg_estimate *gap = allocate(c->n, sizeof *gap);
    for (size_t i = 0; i < c->n; i++)
        if (scaling_is_known(c, i) && scaling_next_term(c->family, c->tau[i]) <= small_term &&
            (gaps == c->line || scaling_is_sampled(c, i))) {
            lowest = fmin(lowest, c->tau[i]);
            index[n++] = i;
        }
    for (size_t a = 0; a < n; a++) {
        const double tau = c->tau[index[a]], scale = bounded ? tau : 1;
        x[a] = bounded ? exp(-lowest / tau) : tau;
        gap[a] = gaps[index[a]];
        gap[a].value /= scale;
        gap[a].std_error /= scale;
        gap[a].quad_error /= scale;
        for (size_t b = 0; b < n; b++)
            v[a * n + b] = covariance[index[a] * c->n + index[b]] / scale / (bounded ? c->tau[index[b]] : 1);
    }
    moeg_power_law law = {.used = 0};
    const moeg_status status = n < 2 ? MOEG_EDOM : moeg_order_fit(n, x, gap, v, level, &law);
    if (status != MOEG_EDOM)
        require(status);
    *order = law.order;
    if (bounded) {
        order->value *= lowest;
        order->lo *= lowest;
        order->hi *= lowest;
    }
    free(x);
    free(v);
    free(index);
    free(gap);
    return law.used;
}

/* Of the gaps by quadrature, to what the next term bends them; of those sampled, which weigh the most where tau is
 * highest, to their interval and as much. */
static void check_order(verdict *v, const scaling *c)
{
    const int bounded = isinf(c->family->alpha);
    const double expected = bounded ? c->term.rate : c->family->alpha;
    moeg_estimate order;
    if (fitted_order(c, c->line, c->line_covariance, 0.999, &order) < 2) {
        verdict_none(v, "too few temperatures are low enough to fit the order");
        return;
    }
    verdict_check(v, fabs(order.value - expected) <= small_term,
                  "%s is %.6g: fitted %.6f, where the next term is below %g of the leading one",
                  bounded ? "the rate of exponential decay in 1/tau" : "the order alpha", expected, order.value,
                  small_term);
    const size_t used = fitted_order(c, c->sampled, c->sampled_covariance, 0.999, &order);
    if (used < 2)
        verdict_none(v, "too few of these temperatures are felt by enough rows to fit the order to the sample");
    else
        verdict_check(
            v, order.lo - small_term <= expected && expected <= order.hi + small_term,
            "fitted to %zu sampled gaps and their covariance: %.6f, in [%.6f, %.6f] (99.9 %%), %g of which are for "
            "the next term",
            used, order.value, order.lo - small_term, order.hi + small_term, small_term);
}

/* 0 <= 1 - gap/leading <= next term, to the error of the quadrature and of e^(-rate/tau). */
static void check_leading(verdict *v, const scaling *c)
{
    size_t judged = 0, right = 0;
    double closest = 0, at = NAN;
    for (size_t i = 0; i < c->n; i++) {
        if (!scaling_is_known(c, i))
            continue;
        const double off = 1 - c->line[i].value / c->leading[i], next = scaling_next_term(c->family, c->tau[i]);
        const double rounding =
            c->line[i].quad_error / fabs(c->leading[i]) + (8 + c->term.rate / c->tau[i]) * 2 * DBL_EPSILON;
        judged++;
        right += off >= -rounding && off <= next + rounding;
        if (next > 100 * rounding && off / next > closest) {
            closest = off / next;
            at = c->tau[i];
        }
    }
    verdict_check(v, right == judged,
                  "0 <= 1 - gap/leading <= next term, %.6g tau^%.3g%s: %zu of %zu, at most %.3f of it, at tau = %.3g",
                  c->family->next, c->family->rate, isinf(c->family->alpha) ? " + exp(-0.5/tau)" : "", right, judged,
                  closest, at);
}

int scaling_judge(const scaling *c, FILE *out)
{
    verdict v = verdict_begin(out);
    double worst_bound = 0;
    size_t judged = 0, outside = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (c->bound[i] > 0)
            worst_bound = fmax(worst_bound, fabs(c->line[i].value) / c->bound[i]);
        if (c->sampled[i].contributing >= enough_to_judge && scaling_is_sampled(c, i)) {
            judged++;
            outside += !(c->sampled[i].lo <= c->line[i].value && c->line[i].value <= c->sampled[i].hi);
        }
    }
    check_leading(&v, c);
    verdict_check(&v, worst_bound <= 1, "|gap| <= certified bound: at most %.3f of it", worst_bound);
    check_order(&v, c);
    if (judged == 0)
        verdict_none(&v, "no temperature is felt by enough rows to hold the sample against the quadrature");
    else
        verdict_check(
            &v, outside == 0,
            "quadrature inside the sampled interval (99.9 %% for all together), where %llu rows felt tau: %zu of %zu",
            (unsigned long long)enough_to_judge, judged - outside, judged);
    return verdict_end(&v);
}
