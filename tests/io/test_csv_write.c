#include "io/files.h"
#include "support/failing_alloc.h"

#include <fcntl.h>
#include <moegeom/csv.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const double values[] = {2.385, -1.5, 1.0 / 3, 0x1p-1074};
static const char *const names[] = {"x", "y"};

static void tables_are_written(void **state)
{
    (void)state;
    const char *path = test_path("out.csv");
    assert_ok(moeg_csv_write(path, 2, 2, names, values));
    assert_file(path, "x,y\n2.385,-1.5\n0.3333333333333333,5e-324\n");
    assert_ok(moeg_csv_write(path, 4, 1, NULL, values));
    assert_file(path, "2.385\n-1.5\n0.3333333333333333\n5e-324\n");
    assert_ok(moeg_csv_write(path, 0, 2, names, NULL));
    assert_file(path, "x,y\n");
    assert_ok(moeg_csv_write(path, 0, 2, NULL, NULL));
    assert_file(path, "");
    const double special[] = {NAN, INFINITY, -INFINITY, -0.0};
    assert_ok(moeg_csv_write(path, 1, 4, NULL, special));
    assert_file(path, "nan,inf,-inf,-0\n");
}

static void names_are_quoted_where_needed(void **state)
{
    (void)state;
    const char *const odd[] = {"a,b", "c\"d\"",        "\"",  "e\nf", "g\r",        " h", "i\t",
                               "j k", "\xef\xbb\xbfl", "1.5", "'m'",  "K\xc3\xb6ln"};
    enum { COLS = sizeof odd / sizeof odd[0] };
    double row[COLS];
    for (size_t j = 0; j < COLS; j++)
        row[j] = (double)j / 7;
    const char *path = test_path("names.csv");
    assert_ok(moeg_csv_write(path, 1, COLS, odd, row));
    assert_int_equal(
        strncmp(read_text(path, NULL),
                "\"a,b\",\"c\"\"d\"\"\",\"\"\"\",\"e\nf\",\"g\r\",\" h\",\"i\t\",j k,\"\xef\xbb\xbfl\",1.5,'m',K\xc3",
                60),
        0);
    moeg_table table;
    assert_ok(moeg_csv_read(path, &table));
    assert_int_equal(table.cols, COLS);
    assert_int_equal(table.rows, 1);
    for (size_t j = 0; j < COLS; j++) {
        assert_string_equal(table.names[j], odd[j]);
        assert_true(table.values[j] == row[j]);
    }
    moeg_table_free(&table);
    /* A byte-order mark at the very beginning would be skipped. */
    assert_ok(moeg_csv_write(path, 1, 1, odd + 8, row));
    assert_file(path, "\"\xef\xbb\xbfl\"\n0\n");
}

static void any_double_comes_back(void **state)
{
    (void)state;
    enum { ROWS = 1000, COLS = 7 };
    static double random[ROWS * COLS];
    uint64_t seed = 4;
    for (size_t i = 0; i < ROWS * COLS; i++)
        random[i] = random_double(&seed);
    const char *path = test_path("random.csv");
    assert_ok(moeg_csv_write(path, ROWS, COLS, NULL, random));
    moeg_table table;
    assert_ok(moeg_csv_read(path, &table));
    assert_int_equal(table.rows, ROWS);
    assert_int_equal(table.cols, COLS);
    for (size_t i = 0; i < ROWS * COLS; i++)
        assert_true(same_bits(table.values[i], random[i]));
    moeg_table_free(&table);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    const char *path = write_text("kept.csv", "old\n");
    const char *const null[] = {"x", NULL}, *const empty[] = {"x", ""}, *const same[] = {"x", "y", "z", "y"},
                      *const numbers[] = {"1", "-inf", "nan"}, *const far[] = {"x", "-1e999"},
                      *const mixed[] = {"1", "2", "a"};
    const double row[4] = {0};
    assert_status(moeg_csv_write(NULL, 2, 2, NULL, values), MOEG_EINVAL, "csv_write: path must not be NULL");
    assert_status(moeg_csv_write(path, 2, 2, NULL, NULL), MOEG_EINVAL, "csv_write: values must not be NULL");
    assert_status(moeg_csv_write(path, 2, 0, NULL, values), MOEG_EINVAL, "csv_write: cols must be at least 1, got 0");
    assert_status(moeg_csv_write(path, SIZE_MAX / 2, 3, NULL, values), MOEG_EINVAL, "rows * cols must fit in memory");
    assert_status(moeg_csv_write(path, SIZE_MAX / 8, 2, NULL, values), MOEG_EINVAL, "rows * cols must fit in memory");
    assert_status(moeg_csv_write(path, 1, 2, null, row), MOEG_EINVAL, "csv_write: names[1] must not be NULL");
    assert_status(moeg_csv_write(path, 1, 2, empty, row), MOEG_EINVAL, "csv_write: names[1] must not be empty");
    assert_status(moeg_csv_write(path, 1, 4, same, row), MOEG_EINVAL,
                  "names[3] must differ from those before, got \"y\"");
    assert_status(moeg_csv_write(path, 1, 2, far, row), MOEG_EINVAL,
                  "names[1] must not be a number beyond the range of double, got \"-1e999\"");
    assert_status(moeg_csv_write(path, 1, 3, numbers, row), MOEG_EINVAL, "names must not all be numbers");
    assert_file(path, "old\n");
    assert_ok(moeg_csv_write(path, 1, 3, mixed, row));
    assert_file(path, "1,2,a\n0,0,0\n");
}

/* Longer than any buffer on the way, in the middle of a line. */
static void long_names_come_back(void **state)
{
    (void)state;
    static char name[50001];
    for (size_t i = 0; i + 1 < sizeof name; i++)
        name[i] = (char)('a' + i % 23);
    const char *const wanted[] = {"x", name, "y"};
    const char *path = test_path("long.csv");
    assert_ok(moeg_csv_write(path, 1, 3, wanted, (const double[]){2.385, -1.5, 0.25}));
    moeg_table table;
    assert_ok(moeg_csv_read(path, &table));
    for (size_t j = 0; j < 3; j++)
        assert_string_equal(table.names[j], wanted[j]);
    assert_near(table.values[2], 0.25, 0);
    moeg_table_free(&table);
}

static void places_that_cannot_be_written(void **state)
{
    (void)state;
    assert_status(moeg_csv_write(test_path("no/where.csv"), 2, 2, NULL, values), MOEG_EIO,
                  "no/where.csv: No such file or directory");
    assert_status(moeg_csv_write(test_directory, 2, 2, NULL, values), MOEG_EIO, ": Is a directory");
    assert_status(moeg_csv_write("", 2, 2, NULL, values), MOEG_EIO, "csv_write: cannot write : No such file");
    char file[512], below[600];
    strcpy(file, write_text("file", "old\n"));
    snprintf(below, sizeof below, "%s/below", file);
    assert_status(moeg_csv_write(below, 2, 2, NULL, values), MOEG_EIO, ": Not a directory");
    static char endless[100000];
    memset(endless, 'x', sizeof endless - 1);
    assert_status(moeg_csv_write(endless, 2, 2, NULL, values), MOEG_EIO, ": File name too long");
}

/* What is no regular file is not replaced but written. */
static void devices_and_pipes_are_written_in_place(void **state)
{
    (void)state;
    const uid_t user = become_nobody();
    const moeg_status null = moeg_csv_write("/dev/null", 2, 2, NULL, values);
    const moeg_status full =
        access("/dev/full", W_OK) == 0 ? moeg_csv_write("/dev/full", 2, 2, NULL, values) : MOEG_EUNSUPPORTED;
    become(user);
    assert_ok(null);
    if (full != MOEG_EUNSUPPORTED)
        assert_status(full, MOEG_EIO, "csv_write: cannot write /dev/full: No space left on device");
    char fifo[512], text[256] = "";
    strcpy(fifo, test_path("fifo"));
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const int fd = open(fifo, O_RDONLY | O_NONBLOCK);
    assert_ok(moeg_csv_write(fifo, 2, 2, names, values));
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    assert_string_equal(text, "x,y\n2.385,-1.5\n0.3333333333333333,5e-324\n");
    struct stat status;
    assert_int_equal(stat(fifo, &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
}

/* A disk that fills up half-way, played by a limit on the size of files. */
static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    static double many[20000];
    const char *path = write_text("old.csv", "old\n");
    const int entries = count_entries(test_directory);
    struct rlimit host, low;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &host), 0);
    low = host;
    low.rlim_cur = 20000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    const moeg_status status = moeg_csv_write(path, 10000, 2, names, many);
    setrlimit(RLIMIT_FSIZE, &host);
    signal(SIGXFSZ, handler);
    assert_status(status, MOEG_EIO, "old.csv: File too large");
    assert_file(path, "old\n");
    assert_int_equal(count_entries(test_directory), entries);
    assert_ok(moeg_csv_write(path, 10000, 2, names, many));
    assert_int_equal(count_entries(test_directory), entries);
}

/* Nothing may be written into a directory without permission, nor in place of a file without. Root may do both, so it
 * gives up its rights for a moment. */
static void permissions_are_respected(void **state)
{
    (void)state;
    char directory[512], inside[600];
    strcpy(directory, test_path("closed"));
    snprintf(inside, sizeof inside, "%s/kept.csv", directory);
    assert_int_equal(mkdir(directory, 0777), 0);
    assert_ok(moeg_csv_write(inside, 2, 2, names, values));
    const char *fixed = write_text("fixed.csv", "old\n");
    assert_int_equal(chmod(fixed, 0444), 0);
    assert_int_equal(chmod(inside, 0666), 0);
    assert_int_equal(chmod(directory, 0555), 0);
    assert_int_equal(chmod(test_directory, 0777), 0);
    const uid_t user = become_nobody();
    const moeg_status closed = moeg_csv_write(inside, 1, 1, NULL, values);
    char first[200];
    snprintf(first, sizeof first, "%.199s", strrchr(moeg_last_error(), '/'));
    const moeg_status read_only = moeg_csv_write(fixed, 1, 1, NULL, values);
    become(user);
    assert_int_equal(closed, MOEG_EIO);
    assert_string_equal(first, "/kept.csv: Permission denied");
    assert_status(read_only, MOEG_EIO, "fixed.csv: Permission denied");
    assert_file(inside, "x,y\n2.385,-1.5\n0.3333333333333333,5e-324\n");
    assert_file(fixed, "old\n");
    assert_int_equal(count_entries(directory), 1);
    assert_int_equal(chmod(directory, 0777), 0);
    assert_int_equal(remove(inside), 0);
}

static mode_t mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 0777;
}

static void new_files_obey_the_umask_and_old_ones_keep_their_mode(void **state)
{
    (void)state;
    const mode_t host = umask(027);
    const char *fresh = test_path("fresh.csv"), *secret = write_text("secret.csv", ""),
               *shared = write_text("shared.csv", "");
    assert_int_equal(chmod(secret, 0600), 0);
    assert_int_equal(chmod(shared, 0666), 0);
    assert_ok(moeg_csv_write(fresh, 2, 2, NULL, values));
    assert_ok(moeg_csv_write(secret, 2, 2, NULL, values));
    assert_ok(moeg_csv_write(shared, 2, 2, NULL, values));
    umask(host);
    assert_int_equal(mode_of(fresh), 0640);
    assert_int_equal(mode_of(secret), 0600);
    assert_int_equal(mode_of(shared), 0666);
}

static void links_are_followed(void **state)
{
    (void)state;
    char target[512], link[512];
    strcpy(target, write_text("target.csv", "old\n"));
    strcpy(link, test_path("link.csv"));
    assert_int_equal(symlink("target.csv", link), 0);
    assert_ok(moeg_csv_write(link, 1, 1, NULL, values));
    assert_file(target, "2.385\n");
    struct stat status;
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(unlink(target), 0);
    assert_ok(moeg_csv_write(link, 1, 1, NULL, values));
    assert_file(link, "2.385\n");
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISREG(status.st_mode));
}

/* Files that have the temporary names already, of another machine's process perhaps, are left alone. */
static void names_that_are_taken_are_passed_over(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    char name[64];
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, ".moegeom-%ld-%d.tmp", (long)getpid(), i);
        write_text(name, "theirs\n");
    }
    const char *path = test_path("taken.csv");
    assert_ok(moeg_csv_write(path, 1, 1, NULL, values));
    assert_file(path, "2.385\n");
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, ".moegeom-%ld-%d.tmp", (long)getpid(), i);
        assert_file(test_path(name), "theirs\n");
        assert_int_equal(remove(test_path(name)), 0);
    }
}

/* A path without a directory: the temporary file stands in the working directory. */
static void relative_paths(void **state)
{
    (void)state;
    char host[1024];
    assert_non_null(getcwd(host, sizeof host));
    assert_int_equal(chdir(test_directory), 0);
    assert_ok(moeg_csv_write("bare.csv", 1, 1, NULL, values));
    assert_ok(moeg_csv_write("./bare.csv", 1, 1, NULL, values));
    assert_file("bare.csv", "2.385\n");
    assert_int_equal(chdir(host), 0);
}

/* Runs with file descriptor 1 turned to `fd`. */
static moeg_status write_to(int fd, const char *before)
{
    fflush(stdout);
    const int host = dup(1);
    dup2(fd, 1);
    fputs(before, stdout);
    const moeg_status status = moeg_csv_write("-", 2, 2, names, values);
    fflush(stdout);
    dup2(host, 1);
    close(host);
    clearerr(stdout);
    return status;
}

static void minus_is_standard_output(void **state)
{
    (void)state;
    int ends[2];
    char text[256] = "";
    assert_int_equal(pipe(ends), 0);
    const moeg_status status = write_to(ends[1], "printed before: ");
    const ssize_t n = read(ends[0], text, sizeof text - 1);
    assert_ok(status);
    assert_true(n > 0);
    assert_string_equal(text, "printed before: x,y\n2.385,-1.5\n0.3333333333333333,5e-324\n");
    assert_int_equal(access("-", F_OK), -1);
    close(ends[0]);
    void (*handler)(int) = signal(SIGPIPE, SIG_IGN);
    const moeg_status broken = write_to(ends[1], "");
    signal(SIGPIPE, handler);
    close(ends[1]);
    assert_status(broken, MOEG_EIO, "csv_write: cannot write standard output: Broken pipe");
    FILE *full = fopen("/dev/full", "w");
    if (full != NULL) {
        assert_status(write_to(fileno(full), ""), MOEG_EIO, "standard output: No space left on device");
        assert_status(write_to(fileno(full), "x"), MOEG_EIO, "standard output: No space left on device");
        fclose(full);
    }
}

static moeg_status write_refused(void *path)
{
    const moeg_status status = moeg_csv_write(path, 2, 2, names, values);
    if (status != MOEG_OK)
        assert_file(path, "old\n");
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char path[512];
    strcpy(path, write_text("alloc.csv", "old\n"));
    assert_int_equal(fail_every_allocation(write_refused, path), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_written),
        cmocka_unit_test(names_are_quoted_where_needed),
        cmocka_unit_test(any_double_comes_back),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(long_names_come_back),
        cmocka_unit_test(places_that_cannot_be_written),
        cmocka_unit_test(devices_and_pipes_are_written_in_place),
        cmocka_unit_test(a_full_disk_leaves_the_old_file),
        cmocka_unit_test(permissions_are_respected),
        cmocka_unit_test(new_files_obey_the_umask_and_old_ones_keep_their_mode),
        cmocka_unit_test(links_are_followed),
        cmocka_unit_test(names_that_are_taken_are_passed_over),
        cmocka_unit_test(relative_paths),
        cmocka_unit_test(minus_is_standard_output),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
