#include "routed.h"

#include <math.h>
#include <stdlib.h>

enum { COLUMNS = 5 };

/* Sizes |value| with the ends of their intervals, of none that tells its sign down to the foot of the plot; in the last
 * column those without an interval. */
static void send_method(plot *p, const char *name, const routed_curve *c, const moeg_estimate *e)
{
    double *column[COLUMNS];
    for (size_t j = 0; j < COLUMNS; j++)
        column[j] = allocate(c->n, sizeof(double));
    for (size_t i = 0; i < c->n; i++) {
        const double a = fabs(e[i].lo), b = fabs(e[i].hi), size = e[i].value != 0 ? fabs(e[i].value) : NAN;
        column[0][i] = c->x[i];
        column[1][i] = isfinite(a + b) ? size : NAN;
        column[2][i] = e[i].lo > 0 || e[i].hi < 0 ? fmin(a, b) : 1e-300;
        column[3][i] = fmax(a, b);
        column[4][i] = isfinite(a + b) ? NAN : size;
    }
    plot_data(p, name, c->n, COLUMNS, (const double *const *)column);
    for (size_t j = 0; j < COLUMNS; j++)
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

/* From well below the smallest value to above the largest, and to the bound as far as that is near. */
static void value_range(const routed_curve *c, double *low, double *high)
{
    const moeg_estimate *shown = c->line != NULL ? c->line : c->sampled;
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (shown[i].value != 0)
            least = fmin(least, fabs(shown[i].value));
        most = fmax(most, fabs(shown[i].value));
    }
    *low = isfinite(least) ? least / 30 : 1e-12;
    *high = most > 0 ? most * 100 : 1;
}

void routed_draw(const routed *r, const routed_curve *c, const char *path)
{
    const int gap = c->covariance != NULL;
    double low, high;
    value_range(c, &low, &high);
    plot p = plot_begin(path, 860, 640);
    send_method(&p, "sampled", c, c->sampled);
    if (c->line != NULL)
        send_method(&p, "line", c, c->line);
    send_theory(&p, c);
    fprintf(p.gnuplot,
            "set logscale xy\nset format xy '10^{%%L}'\nset xrange [%g:%g]\nset yrange [%g:%g]\n"
            "set title '%s: %zu experts in R^{%zu}; %s; intervals 99.9 %% jointly'\nset xlabel '%s'\nset ylabel "
            "'%s'\n"
            "set key bmargin left horizontal reverse Left maxcols 2 width -4 samplen 2\nplot ",
            c->x[0] / 1.5, c->x[c->n - 1] * 1.5, low, high, gap ? "Soft risk less hard risk" : "Near ties", r->rows.K,
            r->rows.d, c->what, gap ? "temperature τ  (logit units)" : "width w  (logit units)",
            gap ? "|L_τ − L_0|" : "P(gap ≤ w)");
    if (c->no_bound[0] == '\0')
        fprintf(p.gnuplot, "$theory u 1:3 w l ls 3 t '%s', ", c->bound_name);
    if (!isnan(c->constant.value))
        fprintf(p.gnuplot, "$theory u 1:2 w l ls 2 t 'leading term', ");
    /* Bars first, since gnuplot clears a point's place on them; then open symbols, inside which those of lines show. */
    fprintf(p.gnuplot, "$sampled u 1:2:3:4 w yerr ls 4 pt -1 notitle, ");
    if (c->line != NULL)
        fprintf(p.gnuplot, "$line u 1:2:3:4 w yerr ls 1 lw 1.4 pt -1 notitle, ");
    fprintf(p.gnuplot, "$sampled u 1:2 w p ls 4 pt 8 ps 1.1 t 'by %llu rows sampled'",
            (unsigned long long)c->sampled[0].n);
    if (gap)
        fprintf(p.gnuplot, ", $sampled u 1:5 w p pt 2 ps 0.6 lc rgb '#d0924a' t 'too few rows for an error bar'");
    if (c->line != NULL && routed_is_drawn(c))
        fprintf(p.gnuplot, ", $line u 1:2 w p ls 1 ps 0.4 t 'by %llu lines'", (unsigned long long)c->line[0].n);
    else if (c->line != NULL)
        fprintf(p.gnuplot, ", $line u 1:2 w p ls 1 ps 0.4 t 'by quadrature'");
    fprintf(p.gnuplot, "\n");
    plot_end(&p);
}
