#include "io/files.h"
#include "io/read.h"
#include "support/failing_alloc.h"

#include <fcntl.h>
#include <moegeom/csv.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

static moeg_table read_table(const char *text)
{
    moeg_table table;
    assert_ok(moeg_csv_read(write_text("in.csv", text), &table));
    return table;
}

/* names: joined by '|', or NULL for no header. */
static void check_table(const char *text, size_t rows, size_t cols, const char *names, const double *values)
{
    moeg_table table = read_table(text);
    assert_int_equal(table.rows, rows);
    assert_int_equal(table.cols, cols);
    if (names == NULL) {
        assert_null(table.names);
    } else {
        char joined[256] = "";
        for (size_t j = 0; j < cols; j++)
            snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", j > 0 ? "|" : "", table.names[j]);
        assert_string_equal(joined, names);
    }
    for (size_t i = 0; i < rows * cols; i++)
        if (!same_bits(table.values[i], values[i]))
            fail_msg("value %zu of %s: got %a, expected %a", i, text, table.values[i], values[i]);
    moeg_table_free(&table);
    assert_null(table.names);
    assert_null(table.values);
    assert_int_equal(table.rows, 0);
    assert_int_equal(table.cols, 0);
    moeg_table_free(&table);
}

static void tables_are_read(void **state)
{
    (void)state;
    const double v[] = {2.385, -1.5, 0.25, 4e-9};
    check_table("2.385,-1.5\n0.25,4e-9\n", 2, 2, NULL, v);
    check_table("2.385,-1.5\n0.25,4e-9", 2, 2, NULL, v);
    check_table("2.385,-1.5\r\n0.25,4e-9\r\n", 2, 2, NULL, v);
    check_table("x,y\n2.385,-1.5\n0.25,4e-9\n", 2, 2, "x|y", v);
    check_table("x,y\r\n2.385,-1.5\r\n0.25,4e-9", 2, 2, "x|y", v);
    check_table("\xef\xbb\xbfx,y\n2.385,-1.5\n0.25,4e-9\n", 2, 2, "x|y", v);
    check_table("\xef\xbb\xbf"
                "2.385,-1.5\n0.25,4e-9\n",
                2, 2, NULL, v);
    check_table(" 2.385\t, -1.5 \n\t0.25 ,\t4e-9\n", 2, 2, NULL, v);
    check_table("\"2.385\",\"-1.5\"\n\" 0.25 \", \"4e-9\" \n", 2, 2, NULL, v);
    check_table("2.385,-1.5\n0.25,4e-9\n\n\r\n  \n\t", 2, 2, NULL, v);
    check_table("2.385,-1.5,0.25,4e-9", 1, 4, NULL, v);
    check_table("2.385\n-1.5\n0.25\n4e-9\n", 4, 1, NULL, v);
    check_table("z\n2.385\n-1.5\n0.25\n4e-9\n", 4, 1, "z", v);
    check_table("7", 1, 1, NULL, &(double){7});
    const double special[] = {NAN, INFINITY, -INFINITY, -0.0, 0x1p-1074, DBL_MAX};
    check_table("nan,inf,-INF,-0,5e-324,1.7976931348623157e+308\n", 1, 6, NULL, special);
    check_table("a,b,c,d,e,f\nNaN,+Infinity,-infinity,-0.0,4.9e-324,1.7976931348623157e308\n", 1, 6, "a|b|c|d|e|f",
                special);
}

static void headers_are_understood(void **state)
{
    (void)state;
    const double v[] = {1.25, 2.5, 3.75};
    check_table("1,2,x\n1.25,2.5,3.75\n", 1, 3, "1|2|x", v);
    check_table(" loss , d model,\tK\t\n1.25,2.5,3.75\n", 1, 3, "loss|d model|K", v);
    check_table("\" loss \",\"a,b\",\"c\"\"d\"\n1.25,2.5,3.75\n", 1, 3, " loss |a,b|c\"d", v);
    check_table("\"two\nlines\",\"cr\r\nlf\",\"\"\"\"\n1.25,2.5,3.75\n", 1, 3, "two\nlines|cr\r\nlf|\"", v);
    check_table("x,X,xx\n1.25,2.5,3.75\n", 1, 3, "x|X|xx", v);
}

static void names_are_found(void **state)
{
    (void)state;
    moeg_table table = read_table("loss,\"K \",K\xc3\xb6ln\n1,2,3\n");
    size_t column = 77;
    assert_ok(moeg_table_column(&table, "loss", &column));
    assert_int_equal(column, 0);
    assert_ok(moeg_table_column(&table, "K ", &column));
    assert_int_equal(column, 1);
    assert_ok(moeg_table_column(&table, "K\xc3\xb6ln", &column));
    assert_int_equal(column, 2);
    assert_status(moeg_table_column(&table, "K", &column), MOEG_EINVAL,
                  "table_column: name must be one of \"loss\", \"K \", \"K\\xc3\\xb6ln\", got \"K\"");
    assert_status(moeg_table_column(NULL, "K", &column), MOEG_EINVAL, "table must not be NULL");
    assert_status(moeg_table_column(&table, NULL, &column), MOEG_EINVAL, "name must not be NULL");
    assert_status(moeg_table_column(&table, "K ", NULL), MOEG_EINVAL, "column must not be NULL");
    assert_int_equal(column, 2);
    moeg_table_free(&table);
    table = read_table("1,2,3\n");
    assert_status(moeg_table_column(&table, "K", &column), MOEG_EINVAL,
                  "table_column: name \"K\" asked for, but the table has no header");
    assert_int_equal(column, 2);
    moeg_table_free(&table);
    moeg_table_free(NULL);
}

/* With many names, or long ones, the message lists what has room. */
static void long_lists_of_names_are_cut(void **state)
{
    (void)state;
    char text[20000] = "";
    for (int j = 0; j < 1000; j++)
        snprintf(text + strlen(text), 16, "%scolumn%d", j > 0 ? "," : "", j);
    strcat(text, "\n0");
    for (int j = 1; j < 1000; j++)
        strcat(text, ",0");
    moeg_table table = read_table(text);
    size_t column = 0;
    assert_ok(moeg_table_column(&table, "column999", &column));
    assert_int_equal(column, 999);
    assert_status(moeg_table_column(&table, "q", &column), MOEG_EINVAL, "\"column1\", \"column2\"");
    assert_status(moeg_table_column(&table, "q", &column), MOEG_EINVAL, ", ..., got \"q\"");
    moeg_table_free(&table);
}

/* The largest request while a file is refused is what its bytes justify: a buffer at most doubles. */
static void check_refused(const char *data, size_t size, const char *message)
{
    moeg_table table = {.rows = 77};
    size_t largest = 0;
    const char *path = write_bytes("bad.csv", data, size);
    moeg_alloc_set_hook(note_largest, &largest);
    const moeg_status status = moeg_csv_read(path, &table);
    moeg_alloc_set_hook(NULL, NULL);
    assert_status(status, MOEG_EFORMAT, message);
    assert_status(status, MOEG_EFORMAT, "csv_read: ");
    assert_status(status, MOEG_EFORMAT, "bad.csv: line ");
    assert_int_equal(table.rows, 77);
    assert_null(table.values);
    assert_true(largest <= 2 * size + 256);
}

static void malformed_text_is_refused_with_its_place(void **state)
{
    (void)state;
    const struct {
        const char *text, *message;
    } cases[] = {
        {"", "line 1, column 1: expected a row of numbers, got the end of the file"},
        {"\n", "line 2, column 1: expected a row of numbers, got the end of the file"},
        {"\xef\xbb\xbf", "line 1, column 1: expected a row of numbers"},
        {"x,y", "line 1, column 1: expected a row of numbers"},
        {"x,y\n", "line 2, column 1: expected a row of numbers, got the end of the file"},
        {"x,y\n\n", "line 3, column 1: expected a row of numbers"},
        {"1,2\n3,1d3\n", "line 2, column 2: expected a number, got \"1d3\""},
        {"1,2\n3,x\n", "line 2, column 2: expected a number, got \"x\""},
        {"1,2\n0x10,4\n", "line 2, column 1: expected a number, got \"0x10\""},
        {"x\n1\n1_000\n", "line 3, column 1: expected a number, got \"1_000\""},
        {"x\n1\n1 2\n", "line 3, column 1: expected a number, got \"1 2\""},
        {"x\n1\n2;3\n", "line 3, column 1: expected a number, got \"2;3\""},
        {"x,y\n1,2\nx,y\n", "line 3, column 1: expected a number, got \"x\""},
        {"1,2\n3,1e999\n", "line 2, column 2: expected a number in the range of double, got \"1e999\""},
        {"1,-1e999\n3,4\n", "line 1, column 2: expected a number in the range of double, got \"-1e999\""},
        {"x,1e999\n3,4\n", "line 1, column 2: expected a number in the range of double"},
        {"1,2\n3,\n", "line 2, column 2: expected a number, got an empty field"},
        {"1,2\n,4\n", "line 2, column 1: expected a number, got an empty field"},
        {"1,2\n3,\"\"\n", "line 2, column 2: expected a number, got an empty field"},
        {"1\n\"\"\n", "line 2, column 1: expected a number, got an empty field"},
        {"1,2\n3, \t\n", "line 2, column 2: expected a number, got an empty field"},
        {"1,2,\n", "line 1, column 3: expected a number, got an empty field"},
        {"1,2,", "line 1, column 3: expected a number, got an empty field"},
        {"1,2\n3,4,\n", "line 2, column 3: expected 2 fields as in the first row, got more"},
        {"1,2\n3,4,5\n", "line 2, column 3: expected 2 fields as in the first row, got more"},
        {"1,2,3\n4,5\n", "line 2, column 2: expected 3 fields as in the first row, got 2"},
        {"x,y\n1\n", "line 2, column 1: expected 2 fields as in the first row, got 1"},
        {"1,2,3\n4", "line 2, column 1: expected 3 fields as in the first row, got 1"},
        {"1\n\n2\n", "line 2, column 1: expected a row, got an empty line"},
        {"1,2\n  \n\n3,4\n", "line 2, column 1: expected a row, got an empty line"},
        {"\n1,2\n", "line 1, column 1: expected a row, got an empty line"},
        {"1,2\n\"3,4\n5,6\n",
         "line 2, column 1: expected a closing quote, got the end of the file after \"3,4\\x0a5,6"},
        {"1,2\n3,\"", "line 2, column 2: expected a closing quote"},
        {"1,2\n\"3\"4,5\n",
         "line 2, column 1: expected a comma or the end of the line behind the closing quote of \"3\""},
        {"1,2\n3,\"4\" x\n", "line 2, column 2: expected a comma or the end of the line behind the closing quote"},
        {"1,2\n3,\"4\"\"\n", "line 2, column 2: expected a closing quote"},
        {"a\"b,c\n1,2\n", "line 1, column 1: expected no quote inside a plain field, got one after \"a\""},
        {"1\r2\r3\r", "line 1, column 1: expected a line feed behind the carriage return after \"1\""},
        {"1\n2\r", "line 2, column 1: expected a line feed behind the carriage return after \"2\""},
        {"1\n2\r\r\n", "line 2, column 1: expected a line feed behind the carriage return"},
        {"x,y,x\n1,2,3\n", "line 1, column 3: expected names that differ, got \"x\" again"},
        {"x,\"y\",y,x \n1,2,3,4\n", "line 1, column 3: expected names that differ, got \"y\" again"},
        {"y,x,x,y\n1,2,3,4\n", "line 1, column 3: expected names that differ, got \"x\" again"},
        {"x,,z\n1,2,3\n", "line 1, column 2: expected a column name, got an empty field"},
        {"x,\"\",z\n1,2,3\n", "line 1, column 2: expected a column name, got an empty field"},
        {"x,y,\n1,2,3\n", "line 1, column 3: expected a column name, got an empty field"},
        {",x\n1,2\n", "line 1, column 1: expected a column name, got an empty field"},
        {"\"a\nb\",c\n1,2\n3,q\n", "line 4, column 2: expected a number, got \"q\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_refused(cases[i].text, strlen(cases[i].text), cases[i].message);
}

static void nul_bytes_are_refused(void **state)
{
    (void)state;
    check_refused("1,2\n3,4\0\n", 9, "line 2, column 2: expected text, got a NUL byte after \"4\"");
    check_refused("1,2\n3,\"4\0\"\n", 11, "line 2, column 2: expected text, got a NUL byte after \"4\"");
    check_refused("1,2\n3,\"4\"\0\n", 11, "line 2, column 2: expected text, got a NUL byte after \"4\"");
    check_refused("\0"
                  "1,2\n",
                  5, "line 1, column 1: expected text, got a NUL byte after \"\"");
    check_refused("1,2\n3,4\n\0", 9, "line 3, column 1: expected text, got a NUL byte");
    /* UTF-16 */
    check_refused("\xff\xfe"
                  "1\0,\0"
                  "2\0\n\0",
                  10, "line 1, column 1: expected text, got a NUL byte after \"\\xff\\xfe1\"");
}

static void offending_text_is_shortened(void **state)
{
    (void)state;
    static char text[100000];
    memset(text, 'x', sizeof text);
    memcpy(text, "1,2\n3,\x1b[31m", 11);
    check_refused(text, sizeof text, "line 2, column 2: expected a number, got \"\\x1b[31mxxx");
    assert_non_null(strstr(moeg_last_error(), "xxx...\""));
    assert_true(strlen(moeg_last_error()) < 300);
    /* The name of the file too: what is wrong comes after it. */
    char path[2000] = "/";
    for (int i = 0; i < 100; i++)
        strcat(path, "\xc3\xa9-directory/");
    moeg_table table;
    assert_status(moeg_csv_read(path, &table), MOEG_EIO, "csv_read: cannot open ");
    assert_non_null(strstr(moeg_last_error(), ": No such file or directory"));
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    moeg_table table = {.rows = 77};
    assert_status(moeg_csv_read(NULL, &table), MOEG_EINVAL, "csv_read: path must not be NULL");
    assert_status(moeg_csv_read("x", NULL), MOEG_EINVAL, "csv_read: table must not be NULL");
    assert_status(moeg_csv_read(test_path("none.csv"), &table), MOEG_EIO, "none.csv: No such file or directory");
    assert_status(moeg_csv_read(test_directory, &table), MOEG_EIO, "csv_read: cannot read /tmp/moegeom-test-");
    assert_status(moeg_csv_read(test_directory, &table), MOEG_EIO, ": Is a directory");
    assert_int_equal(table.rows, 77);
}

static void *feed(void *path)
{
    const int fd = open(path, O_WRONLY);
    /* Not a multiple of any buffer, and split inside the byte-order mark and inside a number. */
    const char *parts[] = {"\xef", "\xbb\xbfx,", "y\n2.", "385,-1", ".5\n"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        (void)!write(fd, parts[i], strlen(parts[i]));
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    close(fd);
    return NULL;
}

static void pipes_are_read(void **state)
{
    (void)state;
    static char path[512];
    strcpy(path, test_path("fifo"));
    assert_int_equal(mkfifo(path, 0600), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, feed, path), 0);
    moeg_table table;
    assert_ok(moeg_csv_read(path, &table));
    pthread_join(thread, NULL);
    assert_int_equal(table.rows, 1);
    assert_string_equal(table.names[0], "x");
    assert_string_equal(table.names[1], "y");
    assert_true(table.values[0] == 2.385 && table.values[1] == -1.5);
    moeg_table_free(&table);
}

/* Rows enough to pass every buffer many times, with fields longer than the buffer. */
static void long_files_and_fields(void **state)
{
    (void)state;
    const size_t rows = 20000, zeros = 50000;
    FILE *file = fopen(test_path("long.csv"), "wb");
    fprintf(file, "x,\"");
    for (size_t i = 0; i < zeros; i++)
        fputc('q', file);
    fprintf(file, "\"\n");
    for (size_t i = 0; i < rows; i++)
        fprintf(file, "%zu,%.17g\n", i, (double)i / 7);
    fprintf(file, "20000,");
    for (size_t i = 0; i < zeros; i++)
        fputc('0', file);
    fprintf(file, "1.5\n");
    fclose(file);
    moeg_table table;
    assert_ok(moeg_csv_read(test_path("long.csv"), &table));
    assert_int_equal(table.rows, rows + 1);
    assert_int_equal(strlen(table.names[1]), zeros);
    for (size_t i = 0; i < rows; i++)
        assert_true(table.values[2 * i] == (double)i && table.values[2 * i + 1] == (double)i / 7);
    assert_true(table.values[2 * rows + 1] == 1.5);
    moeg_table_free(&table);
}

static moeg_status read_refused(void *path)
{
    moeg_table table = {.rows = 77};
    const moeg_status status = moeg_csv_read(path, &table);
    if (status != MOEG_OK) {
        assert_int_equal(table.rows, 77);
        assert_null(table.values);
        return status;
    }
    moeg_table_free(&table);
    return MOEG_OK;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char text[2000] = "x,y\n";
    for (int i = 0; i < 40; i++)
        strcat(text, "2.385,-1.5\n");
    char path[512];
    strcpy(path, write_text("in.csv", text));
    /* Field, first row, values twice, names, and their order. */
    assert_int_equal(fail_every_allocation(read_refused, path), 7);
    strcpy(path, write_text("in.csv", strchr(text, '\n') + 1));
    assert_true(fail_every_allocation(read_refused, path) >= 4);
}

static void memory_is_a_source(void **state)
{
    (void)state;
    moeg_source source;
    moeg_table table;
    moeg_source_memory(&source, "csv_read",
                       "\xef\xbb\xbf"
                       "1,2\n3,4",
                       10);
    assert_ok(moeg_csv_read_source(&source, &table));
    assert_int_equal(table.rows, 2);
    moeg_table_free(&table);
    moeg_source_memory(&source, "csv_read", "1,x", 2);
    assert_status(moeg_csv_read_source(&source, &table), MOEG_EFORMAT, "csv_read: memory: line 1, column 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_read),
        cmocka_unit_test(headers_are_understood),
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(long_lists_of_names_are_cut),
        cmocka_unit_test(malformed_text_is_refused_with_its_place),
        cmocka_unit_test(nul_bytes_are_refused),
        cmocka_unit_test(offending_text_is_shortened),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(pipes_are_read),
        cmocka_unit_test(long_files_and_fields),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(memory_is_a_source),
    };
    return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
