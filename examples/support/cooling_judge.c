#include "cooling.h"

#include <float.h>
#include <math.h>

/* Sums of n terms on both sides of an inequality are off by some roundings. */
static const double slack = 1e-12;

/* The shares of rows with a margin of at most w, counted one by one. */
static void check_mass(verdict *v, const cooling *c)
{
    size_t right = 0;
    for (size_t j = 0; j < c->nw; j++) {
        size_t count = 0;
        for (size_t i = 0; i < c->data.n; i++)
            count += c->margin[i] <= c->w[j];
        const double share = (double)count / (double)c->data.n;
        right += fabs(c->mass[j].value - share) <= 2 * DBL_EPSILON * share && c->mass[j].lo <= share &&
                 share <= c->mass[j].hi;
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

static void check_risks(verdict *v, const cooling *c)
{
    double residual = 0, worst = 0;
    for (size_t k = 0; k < c->K; k++)
        residual += c->fit[k].residual / (double)c->data.n;
    for (size_t t = 0; t < c->ntau; t++) {
        const double off = c->soft[t].value - c->hard.value - c->gap[t].value;
        worst = fmax(worst, fabs(off) / (c->soft[t].value + c->hard.value + DBL_MIN));
    }
    verdict_check(v, worst <= slack, "L_tau - L_0 is the gap summed row by row: off by at most %.2g of the risks",
                  worst);
    const double off = fabs(c->hard.value - residual);
    const double allowed = 1e-9 * residual + c->rounding * (sqrt(residual) + c->rounding);
    verdict_check(v, off <= allowed, "L_0 is the residual of the fitted experts: %.9g and %.9g", c->hard.value,
                  residual);
}

int cooling_judge(const cooling *c, FILE *out)
{
    verdict v = verdict_begin(out);
    check_mass(&v, c);
    if (c->ntau > 0) {
        check_risks(&v, c);
        check_certificate(&v, c, c->moment, "(K - 1) mean of D (2 R + D) exp(-margin/tau)");
        if (c->bounded != NULL)
            check_certificate(&v, c, c->bounded, "4 B (B + M) (K - 1) C tau");
        else
            verdict_none(&v, "no certificate of the form C tau: %llu rows tie", (unsigned long long)c->ties);
    }
    return verdict_end(&v);
}
