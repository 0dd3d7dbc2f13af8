#include "example.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

void plot_require(const char *path)
{
    const size_t length = strlen(path);
    if (length < 5 || strcmp(path + length - 4, ".svg") != 0)
        die("--plot: expected a file name that ends in .svg, got \"%s\"", path);
    if (strpbrk(path, "\n\r") != NULL)
        die("--plot: expected a file name without line breaks, got \"%s\"", path);
    if (system("command -v gnuplot >/dev/null 2>&1") != 0)
        die("--plot: expected the program gnuplot on the PATH, which draws \"%s\", found none", path);
}

void plot_text(plot *p, const char *text)
{
    fputc('\'', p->gnuplot);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputc('\'', p->gnuplot);
        fputc(*text, p->gnuplot);
    }
    fputc('\'', p->gnuplot);
}

plot plot_begin(const char *path, int width, int height)
{
    plot p = {.svg = output_open(path)};
    /* A gnuplot that stops early is reported by plot_end(). */
    signal(SIGPIPE, SIG_IGN);
    fflush(NULL);
    p.gnuplot = popen("gnuplot -d", "w");
    if (p.gnuplot == NULL) {
        const int error = errno;
        output_discard(&p.svg);
        die("--plot: cannot start gnuplot: %s", strerror(error));
    }
    fprintf(p.gnuplot, "set terminal svg size %d,%d font 'Helvetica,14' background '#ffffff' enhanced\nset output ",
            width, height);
    plot_text(&p, p.svg.temporary != NULL ? p.svg.temporary : path);
    fprintf(p.gnuplot, "\n"
                       "set encoding utf8\n"
                       "set border 3 lw 1 lc rgb '#555555'\n"
                       "set tics nomirror out textcolor rgb '#333333'\n"
                       "set grid xtics ytics lw 1 lc rgb '#e2e2e2' dt 1\n"
                       "set title textcolor rgb '#222222'\n"
                       "set key textcolor rgb '#333333' spacing 1.25 samplen 2.5\n"
                       "set style line 1 lc rgb '#1f5fa8' lw 2.2 pt 7 ps 0.6\n"
                       "set style line 2 lc rgb '#d1495b' lw 1.8 dt 2 pt 6 ps 0.6\n"
                       "set style line 3 lc rgb '#8a8a8a' lw 1.8 dt 4\n"
                       "set style line 4 lc rgb '#e08e1b' lw 1.4 pt 9 ps 0.7\n"
                       "set style line 5 lc rgb '#2a8f6a' lw 1.8 pt 5 ps 0.6\n");
    return p;
}

void plot_data(plot *p, const char *name, size_t rows, size_t cols, const double *const *columns)
{
    char text[32];
    fprintf(p->gnuplot, "$%s << EOD\n", name);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            /* gnuplot leaves out what it cannot read. */
            if (isfinite(columns[j][i]))
                moeg_format_double(columns[j][i], text);
            else
                strcpy(text, "NaN");
            fprintf(p->gnuplot, "%s%s", text, j + 1 == cols ? "\n" : " ");
        }
    fprintf(p->gnuplot, "EOD\n");
}

void plot_end(plot *p)
{
    fprintf(p->gnuplot, "unset output\n");
    if (pclose(p->gnuplot) != 0) {
        output_discard(&p->svg);
        die("--plot: gnuplot could not draw \"%s\"", p->svg.path);
    }
    output_commit(&p->svg);
}
