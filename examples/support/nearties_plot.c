#include "nearties.h"

#include <math.h>
#include <stdlib.h>

enum { COLUMNS = 12 };

static void send_data(plot *p, const nearties *t)
{
    double *column[COLUMNS];
    for (size_t j = 0; j < COLUMNS; j++)
        column[j] = allocate(t->n, sizeof(double));
    for (size_t i = 0; i < t->n; i++) {
        const moeg_estimate *e = &t->exponent[i], *m = &t->sampled[i];
        column[0][i] = t->w[i];
        column[1][i] = t->exact != NULL ? t->exact[i].value : NAN;
        column[2][i] = t->leading[i];
        column[3][i] = m->value > 0 ? m->value : NAN;
        column[4][i] = fmax(m->lo, 1e-300);
        column[5][i] = m->hi;
        column[6][i] = e->contributing >= MOEG_ENOUGH_UNITS ? e->value : NAN;
        column[7][i] = e->lo;
        column[8][i] = e->hi;
        column[9][i] = t->bound[i];
        column[10][i] = fmax(t->band_lo[i], 1e-300);
        column[11][i] = t->band_hi[i];
    }
    plot_data(p, "mass", t->n, COLUMNS, (const double *const *)column);
    for (size_t j = 0; j < COLUMNS; j++)
        free(column[j]);
}

void nearties_draw(const nearties *t, const char *path, uint64_t rows)
{
    const nearties_problem *q = &t->problem;
    const char *power = q->order == 1 ? "C w" : "C w^2";
    plot p = plot_begin(path, 860, 860);
    send_data(&p, t);
    fprintf(p.gnuplot,
            "set multiplot\nset logscale x\nset format x ''\nset xrange [%g:%g]\n"
            "set lmargin at screen 0.12\nset rmargin at screen 0.965\n"
            "set tmargin at screen 0.93\nset bmargin at screen 0.40\n"
            "set title 'P(%s ≤ w) of %s: %s'\n"
            "set logscale y\nset format y '10^{%%L}'\nset yrange [%g:4]\n"
            "set ylabel 'mass P(%s ≤ w)'\nset key bottom right reverse Left opaque\n"
            "plot $mass u 1:11:12 w filledcurves fc rgb '#e9e4d4' t 'band of the whole curve, 99.9 %%', "
            "$mass u 1:10 w l ls 3 t 'pairwise bound', $mass u 1:3 w l ls 2 t '%s, C = %.6f', ",
            t->w[0] / 1.5, t->w[t->n - 1] * 1.5, q->name, q->deviation > 0 ? "two experts" : "five experts", power,
            t->leading[0] / 3, q->name, power, q->constant);
    fprintf(p.gnuplot,
            "$mass u 1:4:5:6 w yerr ls 4 pt -1 notitle, $mass u 1:4 w p ls 4 pt 8 ps 1.1 t '%llu rows sampled, "
            "99.9 %% jointly'%s\n",
            (unsigned long long)rows, t->exact != NULL ? ", $mass u 1:2 w l ls 1 lw 1.4 t 'exact'" : "");
    fprintf(
        p.gnuplot,
        "unset title\nset tmargin at screen 0.37\nset bmargin at screen 0.09\nunset logscale y\nset format y '%%g'\n"
        "set format x '10^{%%L}'\nset xlabel 'width w  (logit units)'\nset ylabel 'exponent α(w)'\n"
        "set yrange [0:%d]\nset key bottom left reverse Left noopaque\n"
        "plot %d w l ls 2 t 'theory as w → 0', "
        "$mass u 1:7:8:9 w yerr ls 4 t 'Hill’s estimate from the gaps up to w'\nunset multiplot\n",
        2 * q->order, q->order);
    plot_end(&p);
}
