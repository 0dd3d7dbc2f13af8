#include "scaling.h"

#include <math.h>
#include <stdlib.h>

/* Columns of the data block. */
enum { TAU = 0, GAP, LEADING, BOUND, BELOW, ABOVE, LOW, HIGH, PER_LEADING, COLUMNS };

/* Returns whether a sampled gap is above 0. */
static int fill_columns(const scaling *c, double *const *column)
{
    int positive = 0;
    for (size_t i = 0; i < c->n; i++) {
        const double gap = c->sampled[i].value, two = 2 * c->sampled[i].std_error;
        const int known = scaling_is_known(c, i), sampled = known && scaling_is_sampled(c, i);
        column[TAU][i] = c->tau[i];
        column[GAP][i] = known ? fabs(c->line[i].value) : NAN;
        column[LEADING][i] = known ? fabs(c->leading[i]) : NAN;
        column[BOUND][i] = known ? c->bound[i] : NAN;
        column[BELOW][i] = sampled && gap <= 0 ? -gap : NAN;
        column[ABOVE][i] = sampled && gap > 0 ? gap : NAN;
        /* The lower end of an error bar that reaches 0 stands at the foot of a logarithmic axis. */
        column[LOW][i] = fabs(gap) > two ? fabs(gap) - two : 1e-300;
        column[HIGH][i] = fabs(gap) + two;
        column[PER_LEADING][i] = known ? 1 / c->leading[i] : NAN;
        positive |= sampled && gap > 0;
    }
    return positive;
}

/* Bars come first, since gnuplot clears a point's place on them; then open symbols, inside which those of the
 * quadrature show. */
static void draw_gap(FILE *gnuplot, const scaling *c, uint64_t rows, int positive)
{
    size_t first = 0;
    while (first + 1 < c->n && !scaling_is_known(c, first))
        first++;
    fprintf(gnuplot,
            "set multiplot\nset logscale x\nset format x ''\nset xrange [%g:%g]\n"
            "set lmargin at screen 0.15\nset rmargin at screen 0.965\n"
            "set tmargin at screen 0.93\nset bmargin at screen 0.40\n"
            "set title 'The soft risk minus the hard one is O(%s): exact constant, certified bound'\n"
            "set logscale y\nset format y '10^{%%L}'\nset yrange [%g:%g]\n"
            "set ylabel '|L_τ − L_0|' offset -1,0\nset key bottom right reverse Left\n"
            "plot $gap u 1:4 w l ls 3 t 'certified bound', $gap u 1:3 w l ls 2 t 'leading term, %.6f %s', "
            "$gap u 1:5:7:8 w yerr ls 4 pt -1 notitle, $gap u 1:6:7:8 w yerr ls 4 pt -1 notitle, "
            "$gap u 1:5 w p ls 4 pt 10 ps 1.1 t 'gap < 0, by sampling %llu rows, ± 2 std. errors', %s"
            "$gap u 1:2 w p ls 1 ps 0.4 t 'gap < 0, by quadrature'\n",
            c->tau[0] / 1.5, c->tau[c->n - 1] * 1.5, c->family->order, fmax(fabs(c->leading[first]) / 1000, 1e-305),
            4 * c->bound[c->n - 1], c->term.coefficient, c->family->order, (unsigned long long)rows,
            positive ? "$gap u 1:6 w p ls 4 pt 8 ps 1.1 t 'gap > 0, by sampling', " : "");
}

void scaling_draw(const scaling *c, const char *path, uint64_t rows)
{
    double *column[COLUMNS];
    for (size_t j = 0; j < COLUMNS; j++)
        column[j] = allocate(c->n, sizeof(double));
    const int positive = fill_columns(c, column);
    plot p = plot_begin(path, 860, 860);
    plot_data(&p, "gap", c->n, COLUMNS, (const double *const *)column);
    draw_gap(p.gnuplot, c, rows, positive);
    fprintf(
        p.gnuplot,
        "unset title\nset tmargin at screen 0.37\nset bmargin at screen 0.09\nunset logscale y\nset format y '%%g'\n"
        "set format x '10^{%%L}'\nset xlabel 'temperature τ  (logit units)'\nset ylabel 'gap / leading term'\n"
        "set yrange [0:2]\nset key bottom center reverse Left\n"
        "plot 1 w l ls 2 t 'theory as τ → 0', $gap u 1:(-$5*$9):(-$7*$9):(-$8*$9) w yerr ls 4 pt -1 notitle, "
        "$gap u 1:(-$5*$9) w p ls 4 pt 10 ps 1.1 t 'by sampling', $gap u 1:(-$2*$9) w lp ls 1 ps 0.4 t 'by "
        "quadrature'\nunset multiplot\n");
    plot_end(&p);
    for (size_t j = 0; j < COLUMNS; j++)
        free(column[j]);
}
