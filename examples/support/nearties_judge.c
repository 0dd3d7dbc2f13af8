#include "nearties.h"

#include <math.h>

/* Exponent, constant and quantiles are judged where this many rows lie below, and where the mass is below this one:
 * the leading term is then right to `small_term`, or as far as curvature() says. */
static const uint64_t enough_rows = 1000;
static const double small_mass = 0.02, small_term = 0.02;

/* Of two experts |BM(w) - slope w| <= max|p''| w^3/3 and max|p''| = 1/(sqrt(2 pi) sigma^3) for a normal density p. */
static double curvature(const nearties *t, size_t i)
{
    const double w = t->w[i] / t->problem.deviation;
    return w * w * w / (3 * sqrt(2 * acos(-1)));
}

static void check_exact(verdict *v, const nearties *t)
{
    size_t inside = 0;
    double worst = 0, off_bound = 0;
    for (size_t i = 0; i < t->n; i++) {
        /* A few roundings of the exact value are not curvature. */
        const double off = fabs(t->exact[i].value - t->leading[i]) - 1e-14 * t->leading[i];
        worst = fmax(worst, off / curvature(t, i));
        inside += t->sampled[i].lo <= t->exact[i].value && t->exact[i].value <= t->sampled[i].hi;
        off_bound = fmax(off_bound, fabs(t->bound[i] / t->exact[i].value - 1));
    }
    verdict_check(v, worst <= 1,
                  "mass/(slope w) -> 1: |mass - slope w| <= w^3/(3 sqrt(2 pi) sigma^3), at most %.3f of it", worst);
    verdict_check(v, inside == t->n,
                  "exact mass inside the sampled interval (99.9 %% for all together): %zu of %zu widths", inside, t->n);
    verdict_check(v, off_bound <= 1e-14, "the pairwise bound of one pair is the mass: to %.2g", off_bound);
}

/* The smallest width with enough rows below it, if the mass is small there; else n. */
static size_t place_to_judge(const nearties *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->exponent[i].contributing >= enough_rows)
            return t->sampled[i].value <= small_mass ? i : t->n;
    return t->n;
}

/* The curvature that bends the mass biases Hill's estimate by at most twice what it does to the mass. */
static void check_power(verdict *v, const nearties *t)
{
    const nearties_problem *p = &t->problem;
    const size_t i = place_to_judge(t);
    if (i == t->n) {
        verdict_none(v, "no width has %llu rows below it and a mass below %g: the exponent is put to no test",
                     (unsigned long long)enough_rows, small_mass);
        return;
    }
    const moeg_estimate *e = &t->exponent[i];
    const double bias = t->exact != NULL ? 2 * curvature(t, i) / t->leading[i] : small_term * p->order;
    verdict_check(v, e->lo - bias <= p->order && p->order <= e->hi + bias,
                  "alpha = %d inside Hill's interval [%.4f, %.4f] at w = %.3g (%llu rows; bias at most %.2g)", p->order,
                  e->lo, e->hi, t->w[i], (unsigned long long)e->contributing, bias);
    if (t->exact == NULL)
        verdict_check(v,
                      t->sampled[i].lo <= t->leading[i] * (1 + small_term) &&
                          t->leading[i] * (1 - small_term) <= t->sampled[i].hi,
                      "mass/w^%d is C = %.6f: in [%.6f, %.6f] at w = %.3g, to %g", p->order, p->constant,
                      t->sampled[i].lo / pow(t->w[i], p->order), t->sampled[i].hi / pow(t->w[i], p->order), t->w[i],
                      small_term);
}

/* A gap between neighbouring ranks, or any larger one, is at least that of some pair. */
static void check_bound(verdict *v, const nearties *t)
{
    size_t held = 0;
    for (size_t i = 0; i < t->n; i++)
        held += t->sampled[i].lo <= t->bound[i];
    verdict_check(v, held == t->n, "the pairwise bound holds: at %zu of %zu widths", held, t->n);
    if (t->problem.order == 1)
        verdict_check(v, t->slope >= t->problem.constant * (1 - 1e-12),
                      "its slope is above that of the mass: %.6f and %.6f, a slack of %.4f as w -> 0", t->slope,
                      t->problem.constant, t->slope / t->problem.constant);
}

static void check_quantiles(verdict *v, const nearties *t)
{
    size_t judged = 0, inside = 0;
    for (size_t j = 0; j < NEARTIES_QUANTILES; j++) {
        const moeg_estimate *q = &t->quantile[j];
        const double slack = t->exact != NULL ? 0 : small_term;
        /* Of five experts only the leading term is known, where the mass is small. */
        if (t->exact == NULL && t->p[j] > small_mass)
            continue;
        judged++;
        inside += q->lo <= t->width[j] * (1 + slack) && t->width[j] * (1 - slack) <= q->hi;
    }
    verdict_check(v, inside == judged, "widths of given masses inside their intervals (99.9 %% together): %zu of %zu",
                  inside, judged);
}

int nearties_judge(const nearties *t, FILE *out)
{
    verdict v = verdict_begin(out);
    if (t->exact != NULL)
        check_exact(&v, t);
    check_power(&v, t);
    if (t->exact == NULL)
        check_bound(&v, t);
    check_quantiles(&v, t);
    return verdict_end(&v);
}
