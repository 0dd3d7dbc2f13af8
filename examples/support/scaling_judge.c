#include "scaling.h"

#include <float.h>
#include <math.h>

/* Rows must have felt the temperature (Delta <= 45 tau) this often before an interval is a fair judge: only about one
 * in ten of them carries weight. */
static const uint64_t enough_to_judge = 2000;

/* The order is fitted where the next term is below this share of the leading one. */
static const double small_term = 0.01;

/* Least-squares slope of log|gap| against log tau; of a bounded margin, of log(|gap|/tau) against -1/tau, which is
 * Delta_0. Returns the number of temperatures. */
static size_t fitted_order(const scaling *c, double *order)
{
    const int bounded = isinf(c->family->alpha);
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (!scaling_is_known(c, i) || scaling_next_term(c->family, c->tau[i]) > small_term)
            continue;
        const double log_gap = log(fabs(c->line[i].value)), log_tau = log(c->tau[i]);
        const double x = bounded ? -1 / c->tau[i] : log_tau, y = bounded ? log_gap - log_tau : log_gap;
        n++;
        const double dx = x - mean_x;
        mean_x += dx / (double)n;
        mean_y += (y - mean_y) / (double)n;
        xx += dx * (x - mean_x);
        xy += dx * (y - mean_y);
    }
    *order = xy / xx;
    return n;
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
    double worst_bound = 0, order;
    size_t judged = 0, outside = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (c->bound[i] > 0)
            worst_bound = fmax(worst_bound, fabs(c->line[i].value) / c->bound[i]);
        if (c->sampled[i].contributing >= enough_to_judge && isfinite(c->sampled[i].std_error)) {
            judged++;
            outside += !(c->sampled[i].lo <= c->line[i].value && c->line[i].value <= c->sampled[i].hi);
        }
    }
    check_leading(&v, c);
    verdict_check(&v, worst_bound <= 1, "|gap| <= certified bound: at most %.3f of it", worst_bound);
    if (fitted_order(c, &order) < 2) {
        verdict_none(&v, "too few temperatures are low enough to fit the order");
    } else {
        const int bounded = isinf(c->family->alpha);
        const double expected = bounded ? c->term.rate : c->family->alpha;
        verdict_check(&v, fabs(order - expected) <= 0.01,
                      "%s is %.6g: fitted %.6f, where the next term is below %g of the leading one",
                      bounded ? "the rate of exponential decay in 1/tau" : "the order alpha", expected, order,
                      small_term);
    }
    if (judged == 0)
        verdict_none(&v, "no temperature is felt by enough rows to hold the sample against the quadrature");
    else
        verdict_check(
            &v, outside == 0,
            "quadrature inside the sampled interval (99.9 %% for all together), where %llu rows felt tau: %zu of %zu",
            (unsigned long long)enough_to_judge, judged - outside, judged);
    return verdict_end(&v);
}
