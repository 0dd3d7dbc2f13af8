#include "example.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_POINTS = 10000, HELP_INDENT = 25, HELP_WIDTH = 100 };

static void refuse(const char *name, const char *expected, const char *text)
{
    die("--%s: expected %s, got \"%s\"", name, expected, text);
}

/* What parse_count() takes at most. */
#define MOST_COUNT " and at most 18446744073709551615 (2^53 if not in digits alone)"

/* An unsigned number with nothing but digits. */
static int parse_digits(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno == ERANGE)
        return 0;
    *value = number;
    return 1;
}

static int parse_count(const char *text, uint64_t least, uint64_t *value)
{
    double number;
    if (parse_digits(text, value))
        return *value >= least;
    if (moeg_parse_double(text, &number) != MOEG_OK || !(number >= 1 && number <= 0x1p53) || number != floor(number))
        return 0;
    *value = (uint64_t)number;
    return *value >= least;
}

/* LO:HI:COUNT; the range is that of the temperatures the library takes. */
static int parse_grid(const char *text, grid *g)
{
    char copy[256];
    uint64_t count;
    grid found;
    if (strlen(text) >= sizeof copy)
        return 0;
    strcpy(copy, text);
    char *first = strchr(copy, ':');
    char *second = first != NULL ? strchr(first + 1, ':') : NULL;
    if (second == NULL)
        return 0;
    *first = *second = '\0';
    if (moeg_parse_double(copy, &found.lo) != MOEG_OK || moeg_parse_double(first + 1, &found.hi) != MOEG_OK ||
        !parse_digits(second + 1, &count) || count < 1 || count > MOST_POINTS)
        return 0;
    found.count = (size_t)count;
    if (!(found.lo >= LEAST_GRID && found.lo <= found.hi && found.hi <= MOST_GRID) ||
        (count == 1) != (found.lo == found.hi))
        return 0;
    *g = found;
    return 1;
}

static int parse_method(const char *text, moeg_method *method)
{
    const moeg_method known[] = {MOEG_METHOD_AUTO, MOEG_METHOD_MC, MOEG_METHOD_LINE};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(text, moeg_method_name(known[i])) == 0) {
            *method = known[i];
            return 1;
        }
    return 0;
}

static void set_option(const option_spec *option, const char *text)
{
    uint64_t number;
    double share;
    if (option->given != NULL)
        *option->given = 1;
    switch (option->kind) {
    case OPTION_FLAG:
        *(int *)option->value = 1;
        break;
    case OPTION_TEXT:
        *(const char **)option->value = text;
        if (text[0] == '\0')
            refuse(option->name, "a value", text);
        break;
    case OPTION_GRID:
        if (!parse_grid(text, option->value))
            refuse(option->name,
                   "LO:HI:COUNT with 1e-300 <= LO < HI <= 1e300 and COUNT from 2 to 10000 (or LO = HI and COUNT 1)",
                   text);
        break;
    case OPTION_METHOD:
        if (!parse_method(text, option->value))
            refuse(option->name, "auto, mc or line", text);
        break;
    case OPTION_COUNT:
        if (!parse_count(text, 1, option->value))
            refuse(option->name, "a whole number, at least 1" MOST_COUNT, text);
        break;
    case OPTION_EXPERTS:
        if (!parse_count(text, 2, option->value))
            refuse(option->name, "a whole number, at least 2" MOST_COUNT, text);
        break;
    case OPTION_SHARE:
        if (moeg_parse_double(text, &share) != MOEG_OK || !(share > 0 && share < 1))
            refuse(option->name, "a number between 0 and 1", text);
        *(double *)option->value = share;
        break;
    case OPTION_SEED:
        if (!parse_digits(text, option->value))
            refuse(option->name, "a whole number from 0 to 18446744073709551615", text);
        break;
    case OPTION_THREADS:
        if (!parse_digits(text, &number) || number > 4096)
            refuse(option->name, "a whole number from 0 to 4096", text);
        *(int *)option->value = (int)number;
        break;
    }
}

/* Text in lines of at most HELP_WIDTH characters, all but the first after HELP_INDENT blanks. */
static void print_wrapped(const char *text)
{
    size_t column = HELP_INDENT;
    while (*text != '\0') {
        const size_t length = strcspn(text, " ");
        if (column > HELP_INDENT && column + 1 + length > HELP_WIDTH) {
            printf("\n%*s", HELP_INDENT, "");
            column = HELP_INDENT;
        } else if (column > HELP_INDENT) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)length, text);
        column += length;
        text += length + strspn(text + length, " ");
    }
    putchar('\n');
}

static void print_help(const char *program, const char *summary, const option_spec *options)
{
    printf("usage: %s [options]\n\n%s\n\noptions:\n", program, summary);
    for (const option_spec *o = options; o->name != NULL; o++) {
        char head[64];
        snprintf(head, sizeof head, "--%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
        printf("  %-*s ", HELP_INDENT - 3, head);
        print_wrapped(o->help);
    }
    printf("  %-*s print this and stop\n\n", HELP_INDENT - 3, "-h, --help");
    printf("exit status: 0 if measurement and theory agree, 1 if they do not, 2 if the work could not be done\n");
}

/* At exit: what was printed may be lost only now, when the last of it is written. */
static void close_standard_output(void)
{
    errno = 0;
    const int lost = ferror(stdout) != 0;
    if (fclose(stdout) != 0 || lost) {
        fprintf(stderr, "error: cannot write to standard output%s%s\n", errno != 0 ? ": " : "",
                errno != 0 ? strerror(errno) : "");
        _Exit(EXIT_CANNOT);
    }
    if (ferror(stderr))
        _Exit(EXIT_CANNOT);
}

/* A standard stream that is closed would share its number with the next file opened, and print into that. */
static void require_standard_streams(void)
{
    while (fcntl(STDIN_FILENO, F_GETFD) < 0 && open("/dev/null", O_RDONLY) >= 0)
        continue;
    if (fcntl(STDOUT_FILENO, F_GETFD) < 0)
        die("cannot write to standard output: %s", strerror(errno));
    while (fcntl(STDERR_FILENO, F_GETFD) < 0 && open("/dev/null", O_WRONLY) >= 0)
        continue;
    if (atexit(close_standard_output) != 0)
        die("cannot have standard output closed at the end");
}

/* The option that is called --name=value or --name in full: no beginnings of names, whose meaning a new option would
 * change. NULL if there is none. */
static const option_spec *find_option(const option_spec *options, const char *name, size_t length)
{
    for (; options->name != NULL; options++)
        if (strlen(options->name) == length && strncmp(options->name, name, length) == 0)
            return options;
    return NULL;
}

void read_options(int argc, char **argv, const char *summary, const option_spec *options)
{
    require_standard_streams();
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *name = word + 2;
        if (word[0] != '-' || word[1] == '\0' || strcmp(word, "--") == 0)
            die("unexpected argument \"%s\": expected options only, see --help", word);
        if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
            print_help(argv[0], summary, options);
            exit(EXIT_SUCCESS);
        }
        const size_t length = word[1] == '-' ? strcspn(name, "=") : 0;
        const option_spec *option = find_option(options, name, length);
        const int help = strncmp(word, "--help=", 7) == 0, value = length > 0 && name[length] == '=';
        if (option == NULL && !help)
            die("unknown option \"%s\": expected one of those that --help lists", word);
        if (help || (option->kind == OPTION_FLAG && value))
            die("--%.*s: expected no value, got \"%s\"", (int)length, name, word);
        if (option->kind == OPTION_FLAG)
            set_option(option, "");
        else if (value)
            set_option(option, name + length + 1);
        else if (++i < argc)
            set_option(option, argv[i]);
        else
            die("--%s: expected %s after it, got nothing", option->name, option->argument);
    }
}

double *grid_values(grid g)
{
    double *values = allocate(g.count, sizeof *values);
    const double step = g.count > 1 ? (log(g.hi) - log(g.lo)) / (double)(g.count - 1) : 0;
    for (size_t i = 0; i < g.count; i++)
        values[i] = exp(log(g.lo) + step * (double)i);
    /* The ends exactly as they were asked for. */
    values[0] = g.lo;
    values[g.count - 1] = g.hi;
    return values;
}
