#include "cooling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 9 };

static void allocate_columns(size_t rows, double **column)
{
    for (size_t j = 0; j < MOST_COLUMNS; j++)
        column[j] = allocate(rows, sizeof(double));
}

static void free_columns(double **column)
{
    for (size_t j = 0; j < MOST_COLUMNS; j++)
        free(column[j]);
}

/* A panel on the screen from `bottom` to `top`; only the one at the bottom names the axis. */
static void begin_panel(plot *p, double bottom, double top, const char *xlabel)
{
    fprintf(p->gnuplot,
            "set key default textcolor rgb '#333333' spacing 1.25 samplen 2.5\nset bmargin at screen %g\nset tmargin "
            "at screen %g\nset format x '%s'\nset xlabel '%s'\n",
            bottom, top, xlabel[0] != '\0' ? "10^{%L}" : "", xlabel);
}

static void send_gaps(plot *p, const cooling *c)
{
    double *column[MOST_COLUMNS];
    allocate_columns(c->ntau, column);
    for (size_t i = 0; i < c->ntau; i++) {
        const double scale = cooling_is_perfect(c) ? 1 : 100 / c->hard.value, gap = c->gap[i].value * scale;
        const int known = isfinite(c->gap[i].std_error);
        const double two = known ? 2 * c->gap[i].std_error * scale : 0;
        column[0][i] = c->tau[i];
        column[1][i] = gap < 0 && known ? -gap : NAN;
        column[2][i] = gap > 0 && known ? gap : NAN;
        column[3][i] = fabs(gap) > two ? fabs(gap) - two : 1e-300;
        column[4][i] = fabs(gap) + two;
        column[5][i] = c->moment[i] * scale;
        column[6][i] = c->bounded != NULL ? c->bounded[i] * scale : NAN;
        column[7][i] = gap < 0 && !known ? -gap : NAN;
        column[8][i] = gap > 0 && !known ? gap : NAN;
    }
    plot_data(p, "gap", c->ntau, MOST_COLUMNS, (const double *const *)column);
    free_columns(column);
}

static void send_mass(plot *p, const cooling *c)
{
    double *column[MOST_COLUMNS];
    allocate_columns(c->nw, column);
    for (size_t i = 0; i < c->nw; i++) {
        const moeg_estimate *e = &c->exponent[i];
        column[0][i] = c->w[i];
        column[1][i] = c->mass[i].value > 0 ? c->mass[i].value : NAN;
        column[2][i] = fmax(c->mass[i].lo, 1e-300);
        column[3][i] = c->mass[i].hi;
        column[4][i] = e->contributing >= MOEG_ENOUGH_UNITS ? e->value : NAN;
        column[5][i] = e->lo;
        column[6][i] = e->hi;
    }
    plot_data(p, "mass", c->nw, 7, (const double *const *)column);
    free_columns(column);
}

/* From the smallest gap worth seeing to just above the certificate. */
static void gap_range(const cooling *c, double scale, double *low, double *high)
{
    double largest = 0, smallest = INFINITY;
    for (size_t i = 0; i < c->ntau; i++)
        largest = fmax(largest, fabs(c->gap[i].value) * scale);
    for (size_t i = 0; i < c->ntau; i++)
        if (fabs(c->gap[i].value) * scale > 1e-7 * largest)
            smallest = fmin(smallest, fabs(c->gap[i].value) * scale);
    *low = largest > 0 ? smallest / 5 : 1e-3;
    *high = largest > 0 ? 3 * fmax(largest, c->moment[c->ntau - 1] * scale) : 1;
}

static void draw_gaps(plot *p, const cooling *c)
{
    const size_t safe = cooling_safe(c);
    const int perfect = cooling_is_perfect(c);
    const double scale = perfect ? 1 : 100 / c->hard.value;
    double low, high;
    gap_range(c, scale, &low, &high);
    fprintf(p->gnuplot,
            "set logscale y\nset format y '10^{%%L}'\nset yrange [%g:%g]\nset ylabel '%s'\n"
            "set key at screen 0.12, screen 0.972 top left reverse Left vertical maxrows 4 width 3\n",
            low, high, perfect ? "|L_τ − L_0|" : "|L_τ − L_0| / L_0   (%)");
    if (!perfect && safe > 0)
        fprintf(p->gnuplot,
                "set arrow 1 from first %g, graph 0 to first %g, graph 1 nohead ls 5\n"
                "set label 1 'τ* = %.3g' at first %g, graph 0.06 right offset -0.6,0 tc rgb '#2a8f6a'\n",
                c->tau[safe - 1], c->tau[safe - 1], c->tau[safe - 1], c->tau[safe - 1]);
    fprintf(p->gnuplot, "plot $gap u 1:6 w l ls 3 t 'certificate from margins and outputs', ");
    if (c->bounded != NULL && c->bounded[0] * scale < high)
        fprintf(p->gnuplot, "$gap u 1:7 w l ls 2 t 'certificate 4B(B+M)μCτ', ");
    if (!perfect)
        fprintf(p->gnuplot, "%g w l ls 5 dt 3 t '1 %% of L_0', ", 100 * SAFE_SHARE);
    fprintf(p->gnuplot, "$gap u 1:2:4:5 w yerr lc rgb '#8fb3dc' lw 1.4 pt -1 notitle, "
                        "$gap u 1:3:4:5 w yerr lc rgb '#efc48c' lw 1.4 pt -1 notitle, "
                        "$gap u 1:2 w p ls 1 pt 11 ps 0.9 t 'gap < 0, ± 2 std. errors', "
                        "$gap u 1:3 w p ls 4 pt 9 ps 0.9 t 'gap > 0, ± 2 std. errors', "
                        "$gap u 1:8 w p ls 1 pt 10 ps 0.9 lw 1.2 t 'gap < 0, error bar unknown', "
                        "$gap u 1:9 w p ls 4 pt 8 ps 0.9 lw 1.2 t 'gap > 0, error bar unknown'\nunset "
                        "arrow 1\nunset label 1\n");
}

static void draw_mass(plot *p, const cooling *c)
{
    double smallest = 1;
    for (size_t i = 0; i < c->nw; i++)
        if (c->mass[i].value > 0)
            smallest = fmin(smallest, c->mass[i].value);
    fprintf(p->gnuplot,
            "set logscale y\nset format y '10^{%%L}'\nset yrange [%g:2]\nset ylabel 'BM(w) = P(margin ≤ w)'\n"
            "set key top left reverse Left\n"
            "plot $mass u 1:2:3:4 w yerr ls 1 t '%s'\n",
            smallest / 5, c->weight == NULL ? "share of rows, 95 % Clopper–Pearson" : "share of the weights, 95 %");
}

static void draw_exponent(plot *p)
{
    fprintf(p->gnuplot, "unset logscale y\nset format y '%%g'\nset yrange [0:2.5]\nset ylabel 'margin exponent α(w)'\n"
                        "set key top right\n"
                        "plot 1 w l ls 2 t 'α = 1', $mass u 1:5:6:7 w yerr ls 4 t 'Hill, 95 %%'\n");
}

void cooling_draw(const cooling *c, const cooling_options *o)
{
    const int risks = c->ntau > 0;
    const double low = risks ? fmin(c->w[0], c->tau[0]) : c->w[0];
    const double high = risks ? fmax(c->w[c->nw - 1], c->tau[c->ntau - 1]) : c->w[c->nw - 1];
    const char *slash = strrchr(o->data.path, '/');
    plot p = plot_begin(o->plot, 860, risks ? 1140 : 800);
    send_mass(&p, c);
    if (risks)
        send_gaps(&p, c);
    fprintf(p.gnuplot, "set multiplot title ");
    plot_text(&p, slash != NULL ? slash + 1 : o->data.path);
    fprintf(p.gnuplot,
            ".': %s' noenhanced tc rgb '#222222'\nset logscale x\nset xrange [%g:%g]\n"
            "set lmargin at screen 0.12\nset rmargin at screen 0.965\n",
            risks ? "gap, boundary mass, margin exponent" : "boundary mass, margin exponent", low / 1.3, high * 1.3);
    if (risks) {
        begin_panel(&p, 0.495, 0.885, "");
        draw_gaps(&p, c);
    }
    begin_panel(&p, risks ? 0.275 : 0.4, risks ? 0.47 : 0.94, "");
    draw_mass(&p, c);
    begin_panel(&p, risks ? 0.065 : 0.09, risks ? 0.25 : 0.365,
                risks ? "temperature τ, width w  (logit units)" : "width w  (logit units)");
    draw_exponent(&p);
    fprintf(p.gnuplot, "unset multiplot\n");
    plot_end(&p);
}
