/* What the example programs share: failing with one sentence, the command line, tables, plots, progress, verdict. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <moegeom/moegeom.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit status of a program whose measurement disagrees with theory, and of one that could not do its work. */
enum { EXIT_DISAGREES = 1, EXIT_CANNOT = 2 };

/* die.c */

/* Prints "error: sentence" to standard error and exits with EXIT_CANNOT. */
#if defined(__GNUC__)
__attribute__((noreturn, format(printf, 1, 2)))
#endif
void die(const char *format, ...);

/* Fails with the library's own sentence unless the status is MOEG_OK or a caveat. Returns it. */
moeg_status require(moeg_status status);

/* count * size bytes, zeroed; fails if there is no memory. */
void *allocate(size_t count, size_t size);

/* cli.c */

/* The range of the temperatures and widths that the library takes. */
#define LEAST_GRID 1e-300
#define MOST_GRID 1e300

/* A geometric grid lo, …, hi of `count` values; count = 0: none was given. */
typedef struct grid {
    double lo, hi;
    size_t count;
} grid;

typedef enum option_kind {
    OPTION_FLAG,    /* int: 1 if given */
    OPTION_TEXT,    /* const char * */
    OPTION_GRID,    /* grid: LO:HI:COUNT */
    OPTION_METHOD,  /* moeg_method */
    OPTION_COUNT,   /* uint64_t, at least 1; 1e6 is a number too */
    OPTION_EXPERTS, /* the same, at least 2 */
    OPTION_SHARE,   /* double, above 0 and below 1 */
    OPTION_SEED,    /* uint64_t */
    OPTION_THREADS, /* int, at least 0 */
} option_kind;

typedef struct option_spec {
    const char *name;
    option_kind kind;
    void *value;
    const char *argument; /* its name in the help; NULL for a flag */
    const char *help;
    int *given; /* set to 1 if the option is there; may be NULL */
} option_spec;

/* Reads the command line into the options' values; the list ends with a name of NULL. Names are those of the list in
 * full. Anything that does not fit ends the program with one sentence; --help prints the summary and the options and
 * exits with 0. From here on the program ends with EXIT_CANNOT and a sentence if its standard output is lost, whatever
 * status it returns. */
void read_options(int argc, char **argv, const char *summary, const option_spec *options);

/* The values of a grid, to be freed. */
double *grid_values(grid g);

/* output.c */

/* Where people read: standard output, or standard error where the CSV goes to standard output. */
FILE *report_stream(const char *csv);

/* A file under a temporary name beside `path`, where links are followed (a path that is there and no regular file is
 * opened itself). A file that is there keeps its permissions, and is refused if they forbid writing. */
typedef struct output {
    FILE *file;
    const char *path;
    char *target, *temporary; /* NULL: `path` itself */
} output;

/* A file that an option named to be read; path NULL: none. */
typedef struct input {
    const char *option, *path;
} input;

/* Asked before the work begins: fails if --csv or --plot (NULL: not given) is one of the `count` inputs or the other,
 * or cannot be written, or if the plot does not end in .svg or there is no gnuplot. Leaves all files as they are. */
void outputs_require(const char *csv, const char *svg, size_t count, const input *inputs);

output output_open(const char *path);

/* Closes it and gives it its name; fails with the system's reason. */
void output_commit(output *o);

/* Gives it up: what was at `path` stays. */
void output_discard(output *o);

/* table.c */

/* A table filled cell by cell, row after row. */
typedef struct table table;

table *table_create(size_t cols, const char *const *names);
void table_number(table *t, double value);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void table_text(table *t, const char *format, ...);

/* Two cells: a margin exponent and its standard error, if enough rows stand behind them. */
void table_exponent(table *t, const moeg_estimate *exponent);

/* In aligned columns, numbers to six digits. */
void table_print(const table *t, FILE *file);

/* As CSV to a file, or to standard output if path is "-": numbers in the shortest form that reads back. */
void table_csv(const table *t, const char *path);
void table_free(table *t);

/* plot.c */

/* Fails unless the path ends in .svg and gnuplot is there. */
void plot_require(const char *path);

/* A gnuplot that draws into an SVG file: write commands to its file. */
typedef struct plot {
    FILE *gnuplot;
    output svg;
} plot;

plot plot_begin(const char *path, int width, int height);

/* A string of gnuplot's, in quotes. */
void plot_text(plot *p, const char *text);

/* Data block $name of `rows` rows, the columns one after the other. */
void plot_data(plot *p, const char *name, size_t rows, size_t cols, const double *const *columns);

/* Waits for gnuplot and gives the picture its name. */
void plot_end(plot *p);

/* progress.c */

/* A bar on standard error, if that is a terminal, for runs of more than two seconds. */
typedef struct progress {
    const char *label;
    double start;
    int shown;
} progress;

/* Hangs the bar into the options: p must live until progress_end(). */
void progress_begin(progress *p, const char *label, moeg_sampling *s);
void progress_end(progress *p, moeg_sampling *s);

/* verdict.c */

/* Claims of theory, each checked and printed as it comes. */
typedef struct verdict {
    FILE *out;
    size_t checks, failures, untested;
    char failed[1024];
} verdict;

verdict verdict_begin(FILE *out);

/* One claim, whether it holds, in a sentence with its numbers. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void verdict_check(verdict *v, int holds, const char *format, ...);

/* One claim that these inputs put to no test, and why: neither held nor failed. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void verdict_none(verdict *v, const char *format, ...);

/* Prints the last line and returns the exit status. */
int verdict_end(verdict *v);

#endif
