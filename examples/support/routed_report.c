#include "routed.h"

#include <math.h>
#include <stdlib.h>

/* Units that must have contributed before an interval is a fair judge. */
static const uint64_t enough_to_judge = 2000;

/* What the next term may bend below `small`, relative to the leading one. */
static const double small_term = 0.01;

static int tells(const moeg_estimate *e)
{
    return isfinite(e->std_error) &&
           (e->method == MOEG_METHOD_LINE ? e->value != 0 : e->contributing >= enough_to_judge);
}

/* Fewer units have no error bar that says anything. */
static int has_error(const moeg_estimate *e)
{
    return tells(e) || (isfinite(e->std_error) && e->contributing >= MOEG_ENOUGH_UNITS && e->value != 0);
}

static void print_curve(const routed_curve *c, FILE *out)
{
    const char *const names[] = {c->variable,  "by lines", "std. error", "sampled",
                                 "std. error", "rows",     "leading",    "bound"};
    table *t = table_create(sizeof names / sizeof *names, names);
    for (size_t i = 0; i < c->n; i++) {
        table_number(t, c->x[i]);
        for (int method = 0; method < 2; method++) {
            const moeg_estimate *e = method == 1 ? &c->sampled[i] : c->line != NULL ? &c->line[i] : NULL;
            if (e == NULL)
                table_text(t, "-");
            else
                table_number(t, e->value);
            if (e == NULL)
                table_text(t, "-");
            else if (has_error(e))
                table_number(t, e->std_error);
            else
                table_text(t, method == 1 ? "too few rows" : "too few lines");
        }
        table_text(t, "%llu", (unsigned long long)c->sampled[i].contributing);
        if (isnan(c->constant.value))
            table_text(t, "-");
        else
            table_number(t, c->constant.value * pow(c->x[i], c->power));
        if (isfinite(c->bound[i]))
            table_number(t, c->bound[i]);
        else
            table_text(t, "-");
    }
    table_print(t, out);
    table_free(t);
}

/* The method asked for; of AUTO the lines, where there are some. */
static void write_curve(const routed_curve *c, moeg_method method, const char *path)
{
    const char *const names[] = {c->variable, c->name, "std_error", "lo", "hi", "leading", "bound"};
    table *t = table_create(sizeof names / sizeof *names, names);
    for (size_t i = 0; i < c->n; i++) {
        const moeg_estimate *e = method == MOEG_METHOD_MC || c->line == NULL ? &c->sampled[i] : &c->line[i];
        table_number(t, c->x[i]);
        table_number(t, e->value);
        table_number(t, e->std_error);
        table_number(t, e->lo);
        table_number(t, e->hi);
        if (isnan(c->constant.value))
            table_text(t, "%s", "");
        else
            table_number(t, c->constant.value * pow(c->x[i], c->power));
        if (isfinite(c->bound[i]))
            table_number(t, c->bound[i]);
        else
            table_text(t, "%s", "");
    }
    table_csv(t, path);
    table_free(t);
}

/* Sizes |value| with the ends of their intervals; of none that tells its sign down to the foot of the plot. */
static void send_method(plot *p, const char *name, const routed_curve *c, const moeg_estimate *e)
{
    double *column[4];
    for (size_t j = 0; j < 4; j++)
        column[j] = allocate(c->n, sizeof(double));
    for (size_t i = 0; i < c->n; i++) {
        const double a = fabs(e[i].lo), b = fabs(e[i].hi);
        column[0][i] = c->x[i];
        column[1][i] = e[i].value != 0 && isfinite(a + b) ? fabs(e[i].value) : NAN;
        column[2][i] = e[i].lo > 0 || e[i].hi < 0 ? fmin(a, b) : 1e-300;
        column[3][i] = fmax(a, b);
    }
    plot_data(p, name, c->n, 4, (const double *const *)column);
    for (size_t j = 0; j < 4; j++)
        free(column[j]);
}

static void send_theory(plot *p, const routed_curve *c)
{
    double *leading = allocate(c->n, sizeof *leading);
    for (size_t i = 0; i < c->n; i++)
        leading[i] = fabs(c->constant.value) * pow(c->x[i], c->power);
    const double *const columns[] = {c->x, leading, c->bound};
    plot_data(p, "theory", c->n, 3, columns);
    free(leading);
}

static void draw_curve(const routed *r, const routed_curve *c, uint64_t units, const char *path)
{
    const int gap = c->name[0] == 'g';
    const moeg_estimate *shown = c->line != NULL ? c->line : c->sampled;
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (shown[i].value != 0)
            least = fmin(least, fabs(shown[i].value));
        most = fmax(most, fabs(shown[i].value));
    }
    plot p = plot_begin(path, 860, 560);
    send_method(&p, "sampled", c, c->sampled);
    if (c->line != NULL)
        send_method(&p, "line", c, c->line);
    send_theory(&p, c);
    fprintf(p.gnuplot,
            "set logscale xy\nset format xy '10^{%%L}'\nset xrange [%g:%g]\nset yrange [%g:%g]\n"
            "set title '%s of %zu experts in R^{%zu}'\nset xlabel '%s'\nset ylabel '%s'\n"
            "set key bottom right reverse Left\nplot $theory u 1:3 w l ls 3 t '%s'",
            c->x[0] / 1.5, c->x[c->n - 1] * 1.5, isfinite(least) ? least / 30 : 1e-12, most > 0 ? most * 100 : 1,
            gap ? "Soft risk less hard risk" : "Near ties", r->K, r->d,
            gap ? "temperature τ  (logit units)" : "width w  (logit units)", gap ? "|L_τ − L_0|" : "P(gap ≤ w)",
            gap ? "certified bound" : "pairwise bound");
    if (!isnan(c->constant.value))
        fprintf(p.gnuplot, ", $theory u 1:2 w l ls 2 t 'leading term'");
    fprintf(p.gnuplot, ", $sampled u 1:2:3:4 w yerr ls 4 t 'sampled, %llu rows, 99.9 %% jointly'",
            (unsigned long long)units);
    if (c->line != NULL)
        fprintf(p.gnuplot, ", $line u 1:2:3:4 w yerr ls 1 t 'by lines, as many'");
    fprintf(p.gnuplot, "\n");
    plot_end(&p);
}

static void check_methods(verdict *v, const routed_curve *c)
{
    size_t judged = 0, met = 0;
    for (size_t i = 0; i < c->n && c->line != NULL; i++) {
        const moeg_estimate *a = &c->line[i], *b = &c->sampled[i];
        if (!tells(a) || !tells(b))
            continue;
        judged++;
        met += a->lo <= b->hi && b->lo <= a->hi;
    }
    if (c->line == NULL)
        verdict_none(v, "no lines to hold the sample against: %s", c->reason);
    else if (judged == 0)
        verdict_none(v, "no %s is felt by enough rows to hold the sample against the lines", c->variable);
    else
        verdict_check(v, met == judged,
                      "the intervals of lines and sample meet (99.9 %% for all together), where %llu rows tell: %zu of "
                      "%zu",
                      (unsigned long long)enough_to_judge, met, judged);
}

/* |value| less its error is below the bound. */
static void check_bound(verdict *v, const routed_curve *c)
{
    size_t judged = 0, held = 0;
    double worst = 0;
    for (size_t i = 0; i < c->n; i++)
        for (int method = 0; method < 2; method++) {
            const moeg_estimate *e = method == 1 ? &c->sampled[i] : c->line != NULL ? &c->line[i] : NULL;
            if (e == NULL || !isfinite(c->bound[i]) || !tells(e))
                continue;
            judged++;
            held += e->lo <= c->bound[i] && -c->bound[i] <= e->hi;
            worst = fmax(worst, fabs(e->value) / c->bound[i]);
        }
    if (judged == 0)
        verdict_none(v, "no bound is known");
    else
        verdict_check(v, held == judged, "|%s| <= bound: at %zu of %zu, at most %.3f of it", c->name, held, judged,
                      worst);
}

/* What lines see as x -> 0. */
static void check_order(verdict *v, const routed_curve *c)
{
    moeg_power_law law;
    size_t n = 0;
    while (c->line != NULL && n < c->n && c->x[n] <= c->small)
        n++;
    double *covariance = c->covariance == NULL || n == 0 ? NULL : allocate(n * n, sizeof *covariance);
    for (size_t i = 0; i < n && covariance != NULL; i++)
        for (size_t j = 0; j < n; j++)
            covariance[i * n + j] = c->covariance[i * c->n + j];
    const moeg_status status = n < 2 ? MOEG_EDOM : moeg_order_fit(n, c->x, c->line, covariance, 0.999, &law);
    free(covariance);
    if (c->power > 1 && isnan(c->constant.value))
        verdict_none(v, "the mass is known to be a power of w for order 1 and where there is a constant");
    else if (status != MOEG_OK)
        verdict_none(v, "too few values of %s below %.3g, where lines see the order", c->variable, c->small);
    else
        verdict_check(v, law.order.lo - small_term <= c->power && c->power <= law.order.hi + small_term,
                      "the order in %s is %d: fitted to %zu values by lines: %.6f, in [%.6f, %.6f], to %g", c->variable,
                      c->power, law.used, law.order.value, law.order.lo, law.order.hi, small_term);
}

static void check_leading(verdict *v, const routed_curve *c)
{
    if (isnan(c->constant.value) || c->constant.value == 0 || c->line == NULL || c->x[0] > c->small ||
        !tells(&c->line[0])) {
        verdict_none(v, "the constant of the leading term is not known, or no lines see it");
        return;
    }
    const double power = pow(c->x[0], c->power), leading = c->constant.value * power,
                 slack = small_term * fabs(leading);
    verdict_check(v, c->line[0].lo - slack <= c->constant.hi * power && c->constant.lo * power <= c->line[0].hi + slack,
                  "%s/leading -> 1: %.6f +- %.2g at %s = %.3g, the constant %.6g +- %.2g from other lines", c->name,
                  c->line[0].value / leading, fabs(c->line[0].std_error / leading), c->variable, c->x[0],
                  c->constant.value, c->constant.std_error);
}

int routed_report(const routed *r, routed_curve *c, const moeg_sampling *s, const char *csv, const char *svg)
{
    FILE *out = report_stream(csv);
    fprintf(out, "%s\n%llu rows and as many lines, seed %llu\n\n", r->text, (unsigned long long)s->n,
            (unsigned long long)s->seed);
    print_curve(c, out);
    if (csv != NULL)
        write_curve(c, s->method, csv);
    if (svg != NULL)
        draw_curve(r, c, s->n, svg);
    verdict v = verdict_begin(out);
    check_methods(&v, c);
    check_bound(&v, c);
    check_order(&v, c);
    check_leading(&v, c);
    free(c->x);
    free(c->line);
    free(c->sampled);
    free(c->covariance);
    free(c->bound);
    return verdict_end(&v);
}
