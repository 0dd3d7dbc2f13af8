#include "breaking.h"

#include <math.h>
#include <stdlib.h>

static const char *const colour[BREAKING_TEACHERS] = {"#1f5fa8", "#d1495b", "#2a8f6a", "#e08e1b", "#7a4fa3", "#555555"};

static size_t index_of(const breaking_teacher *t)
{
    return (size_t)(t - breaking_teachers);
}

/* Block $plane0, $sample0, ... of a teacher: 1/tau and the measured growth. Returns its rows; none: no block. */
static size_t send_growths(plot *p, const breaking *b, size_t teacher, int sampled)
{
    char name[32];
    size_t n = 0;
    double *column[2] = {allocate(b->growths, sizeof(double)), allocate(b->growths, sizeof(double))};
    for (size_t i = 0; i < b->growths; i++) {
        const breaking_growth *g = &b->growth[i];
        if (index_of(g->teacher) != teacher || (g->d > 0) != sampled || !(g->measured.value > 0))
            continue;
        column[0][n] = 1 / g->tau;
        column[1][n++] = g->measured.value;
    }
    snprintf(name, sizeof name, "%s%zu", sampled ? "sample" : "plane", teacher);
    if (n > 0)
        plot_data(p, name, n, 2, (const double *const *)column);
    free(column[0]);
    free(column[1]);
    return n;
}

/* Block $course0, ...: time in units of tau/sigma1, |u|/tau, rate times tau, and the cosine with v. */
static void send_course(plot *p, const breaking_course *c, size_t number)
{
    char name[32];
    double *column[4];
    for (size_t j = 0; j < 4; j++)
        column[j] = allocate(c->n, sizeof(double));
    for (size_t i = 0; i < c->n; i++) {
        column[0][i] = c->time[i] * c->sigma / c->tau;
        column[1][i] = c->size[i] / c->tau;
        column[2][i] = c->rate[i] > 0 ? c->rate[i] * c->tau : NAN;
        column[3][i] = c->with_v[i];
    }
    snprintf(name, sizeof name, "course%zu", number);
    if (c->n > 0)
        plot_data(p, name, c->n, 4, (const double *const *)column);
    for (size_t j = 0; j < 4; j++)
        free(column[j]);
}

/* Block $parts or $stays: tau and lambda where the flow does. Returns its rows; none: no block. */
static size_t send_phase(plot *p, const breaking *b, const char *name, int parts)
{
    const size_t cells = b->phase_taus * b->phase_lambdas;
    size_t n = 0;
    double *column[2] = {allocate(cells, sizeof(double)), allocate(cells, sizeof(double))};
    for (size_t i = 0; i < cells; i++)
        if (parts ? b->phase[i].measured.value > 0 : b->phase[i].measured.value < 0) {
            column[0][n] = b->phase[i].tau;
            column[1][n++] = b->phase[i].lambda;
        }
    if (n > 0)
        plot_data(p, name, n, 2, (const double *const *)column);
    free(column[0]);
    free(column[1]);
    return n;
}

static void panel(FILE *gnuplot, double left, double right, double bottom, double top, const char *title)
{
    fprintf(gnuplot,
            "set lmargin at screen %g\nset rmargin at screen %g\nset bmargin at screen %g\nset tmargin at screen "
            "%g\nset title '%s'\n",
            left, right, bottom, top, title);
}

static void draw_growth(plot *p, const breaking *b)
{
    size_t rows[BREAKING_ALGEBRAIC][2];
    for (size_t t = 0; t < BREAKING_ALGEBRAIC; t++)
        for (int sampled = 0; sampled < 2; sampled++)
            rows[t][sampled] = send_growths(p, b, t, sampled);
    panel(p->gnuplot, 0.09, 0.48, 0.74, 0.965, "Early growth is σ_1/τ");
    fprintf(p->gnuplot,
            "set logscale xy\nset xlabel '1/τ'\nset ylabel 'rate of growth'\nset format '%%g'\nset xrange [%g:%g]\n"
            "set key top left reverse Left\nplot NaN w p pt 7 ps 0.6 lc rgb '#333333' t 'population', NaN w p pt 6 ps "
            "1.1 lc rgb '#333333' t 'sample', NaN w l lw 1.4 dt 2 lc rgb '#333333' t 'theory'",
            0.7 / b->tau[b->taus - 1], 1.4 / b->tau[0]);
    for (size_t t = 0; t < BREAKING_ALGEBRAIC; t++) {
        const double sigma = b->operator[t * b->operators / BREAKING_TEACHERS].sigma;
        fprintf(p->gnuplot, ", %.17g*x w l lw 1.4 dt 2 lc rgb '%s' notitle", sigma, colour[t]);
        if (rows[t][0] > 0)
            fprintf(p->gnuplot, ", $plane%zu u 1:2 w p pt 7 ps 0.6 lc rgb '%s' notitle", t, colour[t]);
        if (rows[t][1] > 0)
            fprintf(p->gnuplot, ", $sample%zu u 1:2 w p pt 6 ps 1.1 lc rgb '%s' notitle", t, colour[t]);
    }
    fprintf(p->gnuplot, "\n");
}

/* Two columns of the courses; those of one teacher have one colour and one title. */
static void draw_courses(FILE *gnuplot, const breaking *b, const char *columns, int algebraic, int titles)
{
    const breaking_teacher *last = NULL;
    const char *separator = "plot ";
    for (size_t i = 0; i < b->courses; i++) {
        const breaking_course *c = &b->course[i];
        if (c->n == 0 || (index_of(c->teacher) == BREAKING_ALGEBRAIC && !algebraic))
            continue;
        fprintf(gnuplot, "%s$course%zu u %s w l lw 1.8 lc rgb '%s' ", separator, i, columns,
                colour[index_of(c->teacher)]);
        if (titles && c->teacher != last)
            fprintf(gnuplot, "t '%s'", c->teacher->name);
        else
            fprintf(gnuplot, "notitle");
        last = c->teacher;
        separator = ", ";
    }
    fprintf(gnuplot, "\n");
}

static void draw_all_courses(FILE *gnuplot, const breaking *b)
{
    panel(gnuplot, 0.59, 0.98, 0.74, 0.965, "A constant rate; where M = 0, one ∝ |u|^2");
    fprintf(gnuplot, "set xlabel '|u|/τ'\nset ylabel 'τ d log |u|/dt'\nset format '10^{%%L}'\nset xrange [1e-4:10]\n"
                     "set yrange [1e-7:5]\nset key left center reverse Left\n");
    draw_courses(gnuplot, b, "2:3", 1, 1);
    panel(gnuplot, 0.09, 0.48, 0.41, 0.635, "From small random starts");
    fprintf(gnuplot, "set xlabel 'time in units of τ/σ_1'\nset ylabel '|u|/τ'\nunset logscale x\nset format x '%%g'\n"
                     "set xrange [0:30]\nset yrange [1e-6:10]\nset key bottom right reverse Left\n");
    draw_courses(gnuplot, b, "1:2", 0, 1);
    panel(gnuplot, 0.59, 0.98, 0.41, 0.635, "u turns to the top direction of M (dashed)");
    fprintf(gnuplot,
            "set ylabel 'cosine between u and v'\nunset logscale y\nset format y '%%g'\nset yrange [0:1.05]\n");
    /* Where theory has one direction. */
    for (size_t t = 0; t < BREAKING_ALGEBRAIC; t++) {
        const breaking_operator *m = &b->operator[t * b->operators / BREAKING_TEACHERS];
        if (m->multiple == 1)
            fprintf(gnuplot, "set arrow from 0,%g to 30,%g nohead lw 1.4 dt 2 lc rgb '%s'\n", m->most, m->most,
                    colour[t]);
    }
    draw_courses(gnuplot, b, "1:4", 0, 0);
    fprintf(gnuplot, "unset arrow\n");
}

static void draw_phase(plot *p, const breaking *b)
{
    const size_t last = b->phase_taus * b->phase_lambdas - 1;
    const size_t parts = send_phase(p, b, "parts", 1), stays = send_phase(p, b, "stays", 0);
    panel(p->gnuplot, 0.09, 0.75, 0.07, 0.305, "With decay λ the experts part below τ = σ_1/λ");
    fprintf(p->gnuplot,
            "set logscale xy\nset format '%%g'\nset xlabel 'temperature τ  (logit units)'\nset ylabel 'decay λ of u "
            "and c'\nset xrange [%g:%g]\nset yrange [%g:%g]\nset key outside right center reverse Left\nplot %.17g/x w "
            "l ls 2 t 'theory: λ = σ_1/τ'",
            b->phase[0].tau / 1.4, b->phase[last].tau * 1.4, b->phase[0].lambda / 1.4, b->phase[last].lambda * 1.4,
            b->phase[0].sigma);
    if (parts > 0)
        fprintf(p->gnuplot, ", $parts u 1:2 w p pt 7 ps 0.9 lc rgb '#1f5fa8' t 'the experts part'");
    if (stays > 0)
        fprintf(p->gnuplot, ", $stays u 1:2 w p pt 2 ps 0.8 lc rgb '#8a8a8a' t 'they stay alike'");
    fprintf(p->gnuplot, "\n");
}

void breaking_draw(const breaking *b, const char *path)
{
    plot p = plot_begin(path, 1000, 1240);
    for (size_t i = 0; i < b->courses; i++)
        send_course(&p, &b->course[i], i);
    fprintf(p.gnuplot, "set multiplot\n");
    draw_growth(&p, b);
    draw_all_courses(p.gnuplot, b);
    draw_phase(&p, b);
    fprintf(p.gnuplot, "unset multiplot\n");
    plot_end(&p);
}
