/* Runs cooling_report in a directory of its own, and reads what it says. */
#ifndef MOEG_TESTS_EXAMPLES_REPORT_H
#define MOEG_TESTS_EXAMPLES_REPORT_H

#include "support/check.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/moegeom-XXXXXX";

static inline const char *path(const char *name)
{
    static char text[4][128];
    static size_t next;
    char *to = text[next++ % 4];
    snprintf(to, sizeof text[0], "%s/%s", directory, name);
    return to;
}

static inline FILE *open_file(const char *name, const char *mode)
{
    FILE *file = fopen(path(name), mode);
    assert_non_null(file);
    return file;
}

/* Runs the program, its standard output into the file "report"; returns its exit status. */
static inline int run(const char *arguments)
{
    char command[2048];
    snprintf(command, sizeof command, "cd %s && " MOEG_EXAMPLES_DIR "/cooling_report %s >report 2>errors", directory,
             arguments);
    const int status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Whether a line of the report holds the text. */
static inline int reported(const char *text)
{
    char line[512];
    int found = 0;
    FILE *file = open_file("report", "r");
    while (fgets(line, sizeof line, file) != NULL)
        found |= strstr(line, text) != NULL;
    fclose(file);
    return found;
}

/* Numbers of a CSV file of exactly `rows` rows under this header. */
static inline void read_csv(const char *name, const char *header, size_t rows, size_t cols, double *values)
{
    char line[512];
    FILE *file = open_file(name, "r");
    assert_non_null(fgets(line, sizeof line, file));
    line[strcspn(line, "\n")] = '\0';
    assert_string_equal(line, header);
    for (size_t i = 0; i < rows; i++) {
        assert_non_null(fgets(line, sizeof line, file));
        char *at = line;
        for (size_t j = 0; j < cols; j++) {
            values[i * cols + j] = strtod(at, &at);
            assert_int_equal(*at++, j + 1 < cols ? ',' : '\n');
        }
    }
    assert_null(fgets(line, sizeof line, file));
    fclose(file);
}

static inline int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) == NULL;
}

static inline int remove_directory(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

#endif
