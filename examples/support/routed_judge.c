#include "routed.h"

#include <math.h>
#include <stdlib.h>

/* Units that must have contributed before an interval is a fair judge. */
static const uint64_t enough_to_judge = 2000;

int routed_tells(const moeg_estimate *e)
{
    return isfinite(e->std_error) &&
           (e->method == MOEG_METHOD_LINE ? e->value != 0 : e->contributing >= enough_to_judge);
}

int routed_has_error(const moeg_estimate *e)
{
    return routed_tells(e) || (isfinite(e->std_error) && e->contributing >= MOEG_ENOUGH_UNITS && e->value != 0);
}

/* Whether value i of a method is held against anything. */
static int is_judged(const routed_curve *c, const moeg_estimate *e, size_t i)
{
    return (c->jump == NULL || !c->jump[i]) && routed_tells(&e[i]);
}

static void name_jumps(verdict *v, const routed_curve *c)
{
    for (size_t i = 0; i < c->n && c->jump != NULL; i++)
        if (c->jump[i])
            verdict_none(v,
                         "%s = %.6g is the constant difference of the logits of two experts: rounding says which "
                         "rows are within it",
                         c->variable, c->x[i]);
}

static void check_methods(verdict *v, const routed_curve *c)
{
    size_t judged = 0, met = 0;
    for (size_t i = 0; i < c->n && c->line != NULL; i++) {
        const moeg_estimate *a = &c->line[i], *b = &c->sampled[i];
        if (!is_judged(c, c->line, i) || !is_judged(c, c->sampled, i))
            continue;
        judged++;
        met += a->lo <= b->hi && b->lo <= a->hi;
    }
    if (c->line == NULL)
        verdict_none(v, "no lines to hold the sample against: %s", c->no_lines);
    else if (judged == 0)
        verdict_none(v, "no %s is felt by enough rows to hold the sample against the %s", c->variable,
                     routed_source(c));
    else
        verdict_check(v, met == judged,
                      "the intervals of %s and sample meet (99.9 %% for all together), where %llu rows tell: %zu of "
                      "%zu",
                      routed_source(c), (unsigned long long)enough_to_judge, met, judged);
}

/* |value| less its error is below the bound. */
static void check_bound(verdict *v, const routed_curve *c)
{
    size_t judged = 0, held = 0;
    double worst = 0;
    for (size_t i = 0; i < c->n; i++)
        for (int method = 0; method < 2; method++) {
            const moeg_estimate *e = method == 1 ? c->sampled : c->line;
            if (e == NULL || !isfinite(c->bound[i]) || !is_judged(c, e, i))
                continue;
            const double least = fmax(0, fmax(e[i].lo, -e[i].hi));
            judged++;
            held += least <= c->bound[i];
            worst = fmax(worst, least / c->bound[i]);
        }
    if (c->no_bound[0] != '\0')
        verdict_none(v, "no bound is known: %s", c->no_bound);
    else if (judged == 0)
        verdict_none(v, "no %s with an error bar to hold against the %s", c->name, c->bound_name);
    else
        verdict_check(v, held == judged, "|%s| <= %s: at %zu of %zu, at most %.3f of it, less the error", c->name,
                      c->bound_name, held, judged, worst);
}

/* The order of the first n values by lines; whether it could be fitted. */
static int fit_order(const routed_curve *c, size_t n, moeg_power_law *law)
{
    double *covariance = c->covariance == NULL ? NULL : allocate(n * n, sizeof *covariance);
    for (size_t i = 0; i < n && covariance != NULL; i++)
        for (size_t j = 0; j < n; j++)
            covariance[i * n + j] = c->covariance[i * c->n + j];
    const moeg_status status = moeg_order_fit(n, c->x, c->line, covariance, 0.999, law);
    free(covariance);
    return status == MOEG_OK;
}

/* What lines see as x -> 0. */
static void check_order(verdict *v, const routed_curve *c)
{
    moeg_power_law law;
    size_t n = 0;
    while (n < c->n && c->x[n] <= c->small)
        n++;
    if (c->line == NULL)
        verdict_none(v, "no lines to see the order in %s", c->variable);
    else if (isnan(c->constant.value))
        verdict_none(v, "no order in %s without a leading term: %s", c->variable, c->no_constant);
    else if (c->constant.value == 0)
        verdict_none(v, "the leading term is 0, so that the order in %s is another", c->variable);
    else if (c->small == 0)
        verdict_none(v, "how small %s must be for its order to show is not known%s", c->variable,
                     c->no_bound[0] != '\0' ? ": no bound is" : "");
    else if (n < 2)
        verdict_none(v, "fewer than two values of %s below %.3g, where its order shows", c->variable, c->small);
    else if (!fit_order(c, n, &law))
        verdict_none(v, "fewer than two values by lines have error bars, where %s is below %.3g and its order shows",
                     c->variable, c->small);
    else if (routed_is_drawn(c))
        verdict_check(
            v, law.order.lo - ROUTED_SMALL_TERM <= c->power && c->power <= law.order.hi + ROUTED_SMALL_TERM,
            "the order in %s is %d: fitted to %zu values by lines: %.6f, in [%.6f, %.6f], %g of which are for "
            "the next term",
            c->variable, c->power, law.used, law.order.value, law.order.lo - ROUTED_SMALL_TERM,
            law.order.hi + ROUTED_SMALL_TERM, ROUTED_SMALL_TERM);
    else
        verdict_check(v, fabs(law.order.value - c->power) <= ROUTED_SMALL_TERM,
                      "the order in %s is %d: fitted to %zu values by quadrature: %.6f, to %g for the next term",
                      c->variable, c->power, law.used, law.order.value, ROUTED_SMALL_TERM);
}

/* The curve at its lowest x against the constant. */
static void check_leading(verdict *v, const routed_curve *c)
{
    if (isnan(c->constant.value)) {
        verdict_none(v, "no leading term is known: %s", c->no_constant);
        return;
    }
    if (c->line == NULL) {
        verdict_none(v, "no lines to see the leading term");
        return;
    }
    if (c->constant.value == 0) {
        verdict_none(v, "the leading term is 0: what is left is of a higher order in %s", c->variable);
        return;
    }
    if (c->small == 0 || c->x[0] > c->small) {
        verdict_none(v, "no %s below %.3g, where the leading term is near", c->variable, c->small);
        return;
    }
    if (!routed_tells(&c->line[0])) {
        verdict_none(v, "the %s at %s = %.3g has no error bar to hold against the leading term", c->name, c->variable,
                     c->x[0]);
        return;
    }
    const double power = pow(c->x[0], c->power), leading = c->constant.value * power,
                 slack = ROUTED_SMALL_TERM * fabs(leading);
    verdict_check(v, c->line[0].lo - slack <= c->constant.hi * power && c->constant.lo * power <= c->line[0].hi + slack,
                  "%s/leading -> 1: %.6f +- %.2g at %s = %.3g, the constant %.6g +- %.2g%s", c->name,
                  c->line[0].value / leading,
                  hypot(c->line[0].std_error / leading, c->constant.std_error / c->constant.value), c->variable,
                  c->x[0], c->constant.value, c->constant.std_error, routed_is_drawn(c) ? " from other lines" : "");
}

int routed_curve_judge(const routed_curve *c, FILE *out)
{
    verdict v = verdict_begin(out);
    check_methods(&v, c);
    name_jumps(&v, c);
    check_bound(&v, c);
    check_order(&v, c);
    check_leading(&v, c);
    return verdict_end(&v);
}
