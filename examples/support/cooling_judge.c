#include "cooling.h"

#include <float.h>
#include <math.h>

/* Sums of n terms on both sides of an inequality are off by some roundings. */
static const double slack = 1e-12;

/* The shares of rows with a margin of at most w, added one by one. */
static void check_mass(verdict *v, const cooling *c)
{
    size_t right = 0;
    for (size_t j = 0; j < c->nw; j++) {
        double share = 0;
        for (size_t i = 0; i < c->n; i++)
            if (c->margin[i] <= c->w[j])
                share = c->below[i];
        /* Weights are added in another order. */
        const double allowed = c->weight == NULL ? 2 * DBL_EPSILON * share : slack;
        right += fabs(c->mass[j].value - share) <= allowed && c->mass[j].lo <= share + allowed &&
                 share - allowed <= c->mass[j].hi;
    }
    verdict_check(v, right == c->nw, "BM(w) is the share of rows counted one by one, inside its interval: %zu of %zu",
                  right, c->nw);
}

/* |gap| <= certificate at every temperature. */
static void check_certificate(verdict *v, const cooling *c, const double *certificate, const char *name)
{
    double worst = 0;
    for (size_t t = 0; t < c->ntau; t++) {
        const double gap = fabs(c->gap[t].value);
        if (gap > 0)
            worst = fmax(worst, gap / certificate[t]);
    }
    verdict_check(v, worst <= 1 + slack, "|gap| <= %s at every temperature: at most %.3g of it", name, worst);
}

static void check_differences(verdict *v, const cooling *c)
{
    double worst = 0;
    for (size_t t = 0; t < c->ntau; t++) {
        const double off = c->soft[t].value - c->hard.value - c->gap[t].value;
        worst = fmax(worst, fabs(off) / (c->soft[t].value + c->hard.value + DBL_MIN));
    }
    verdict_check(v, worst <= slack, "L_tau - L_0 is the gap summed row by row: off by at most %.2g of the risks",
                  worst);
}

/* The hard model is the fitted expert of each row's cell, on the rows that it was fitted on. */
static void check_residual(verdict *v, const cooling *c)
{
    double residual = 0, total = 0;
    for (size_t i = 0; i < c->n; i++)
        total += c->weight == NULL ? 1 : c->weight[i];
    for (size_t k = 0; k < c->K; k++)
        residual += c->fit[k].residual / total;
    const double off = fabs(c->hard.value - residual);
    const double allowed = 1e-9 * residual + c->rounding * (sqrt(residual) + c->rounding);
    verdict_check(v, off <= allowed, "L_0 is the residual of the fitted experts: %.9g and %.9g", c->hard.value,
                  residual);
}

static void check_frozen(verdict *v, const cooling *c)
{
    size_t zeros = 0;
    for (size_t t = 0; t < c->ntau; t++)
        zeros += c->gap[t].value == 0 && c->gap[t].std_error == 0;
    verdict_check(v, zeros == c->ntau, "one expert renormalised to 1 is the hard router: the gap is 0 at %zu of %zu",
                  zeros, c->ntau);
}

int cooling_judge(const cooling *c, FILE *out)
{
    verdict v = verdict_begin(out);
    check_mass(&v, c);
    if (c->ntau > 0) {
        check_differences(&v, c);
        if (c->data.first == 0 && !(c->gate.kind == MOEG_GATE_SUBSET && c->gate.k > 1))
            check_residual(&v, c);
        if (cooling_is_frozen(c))
            check_frozen(&v, c);
        check_certificate(&v, c, c->moment, "mu mean of Q exp(-margin/tau)");
        if (c->bounded != NULL)
            check_certificate(&v, c, c->bounded, "4 B (B + M) mu C tau");
        else
            verdict_none(&v, "no certificate of the form C tau: %llu rows tie", (unsigned long long)c->ties);
    }
    return verdict_end(&v);
}
