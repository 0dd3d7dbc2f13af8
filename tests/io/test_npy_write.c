#include "io/npy_bytes.h"

#include <moegeom/npy.h>
#include <signal.h>
#include <sys/resource.h>

static const double six[] = {2.385, -1.5, 0.25, 1.0 / 3, NAN, -INFINITY};

/* Magic, version and a header of 118 bytes, so that the data begin at 128, and then the values. */
static void check_file(const char *path, const char *dictionary, size_t n, int is_f8)
{
    npy_bytes b = {.size = 0};
    char header[128];
    snprintf(header, sizeof header, "%-117s\n", dictionary);
    add_bytes(&b, "\x93NUMPY\x01\x00\x76\x00", 10);
    add_bytes(&b, header, 118);
    for (size_t i = 0; i < n; i++)
        if (is_f8)
            add_f8(&b, six[i], 0);
        else
            add_f4(&b, (float)six[i], 0);
    size_t size;
    const char *text = read_text(path, &size);
    assert_int_equal(size, b.size);
    assert_memory_equal(text, b.data, b.size);
}

static void files_are_numpys_to_the_byte(void **state)
{
    (void)state;
    const char *path = test_path("out.npy");
    assert_ok(moeg_npy_write(path, 2, (size_t[]){2, 3}, MOEG_NPY_F8, six));
    check_file(path, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", 6, 1);
    assert_ok(moeg_npy_write(path, 1, (size_t[]){6}, MOEG_NPY_F4, six));
    check_file(path, "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", 6, 0);
    assert_ok(moeg_npy_write(path, 0, NULL, MOEG_NPY_F8, six));
    check_file(path, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", 1, 1);
    assert_ok(moeg_npy_write(path, 3, (size_t[]){2, 0, 7}, MOEG_NPY_F8, NULL));
    check_file(path, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 0, 7), }", 0, 1);
}

/* The longest header there can be is aligned too. */
static void long_headers_are_aligned(void **state)
{
    (void)state;
    const size_t large = 10000000000000000000u, shape[] = {0, large, 1, 1, 1, 1, 1, 1};
    size_t size;
    const char *path = test_path("long.npy");
    assert_status(moeg_npy_write(path, 2, shape, MOEG_NPY_F8, NULL), MOEG_EINVAL, "npy_write: shape must");
    const size_t zeros[] = {0, 1000000000000000000u, 1, 1, 1, 1, 1, 1};
    assert_ok(moeg_npy_write(path, 8, zeros, MOEG_NPY_F8, NULL));
    const char *text = read_text(path, &size);
    assert_int_equal(size, 128);
    assert_int_equal(text[size - 1], '\n');
    moeg_array array;
    assert_ok(moeg_npy_read(path, &array));
    assert_memory_equal(array.shape, zeros, sizeof zeros);
    moeg_array_free(&array);
}

static void any_double_comes_back(void **state)
{
    (void)state;
    enum { N = 5000 };
    static double random[N];
    uint64_t seed = 11;
    for (size_t i = 0; i < N; i++)
        random[i] = random_double(&seed);
    const size_t shape[] = {5, 2, 4, 5, 5, 1, 5};
    const char *path = test_path("random.npy");
    assert_ok(moeg_npy_write(path, 7, shape, MOEG_NPY_F8, random));
    moeg_array array;
    assert_ok(moeg_npy_read(path, &array));
    assert_int_equal(array.dims, 7);
    assert_int_equal(array.size, N);
    assert_memory_equal(array.shape, shape, sizeof shape);
    assert_memory_equal(array.values, random, sizeof random);
    moeg_array_free(&array);
}

static void floats_are_rounded_to_nearest(void **state)
{
    (void)state;
    /* Ties to even, the edge of overflow from below, subnormal floats, and zero. */
    const double in[] = {1 + 0x1p-24, 1 + 0x3p-24, 0x1.fffffefffffffp127, 0x1p-149, 0x1p-150, 0x1.8p-149,
                         -0.0,        INFINITY};
    const double out[] = {1, 1 + 0x1p-22, 0x1.fffffep127, 0x1p-149, 0, 0x1p-148, -0.0, INFINITY};
    const char *path = test_path("f4.npy");
    assert_ok(moeg_npy_write(path, 1, (size_t[]){8}, MOEG_NPY_F4, in));
    moeg_array array;
    assert_ok(moeg_npy_read(path, &array));
    for (size_t i = 0; i < 8; i++)
        assert_true(same_bits(array.values[i], out[i]));
    moeg_array_free(&array);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    char path[512];
    strcpy(path, write_text("kept.npy", "old\n"));
    const size_t shape[9] = {2, 3, 1, 1, 1, 1, 1, 1, 1};
    assert_status(moeg_npy_write(NULL, 2, shape, MOEG_NPY_F8, six), MOEG_EINVAL, "npy_write: path must not be NULL");
    assert_status(moeg_npy_write(path, 2, NULL, MOEG_NPY_F8, six), MOEG_EINVAL, "npy_write: shape must not be NULL");
    assert_status(moeg_npy_write(path, 2, shape, MOEG_NPY_F8, NULL), MOEG_EINVAL, "npy_write: values must not be NULL");
    assert_status(moeg_npy_write(path, 0, NULL, MOEG_NPY_F8, NULL), MOEG_EINVAL, "npy_write: values must not be NULL");
    assert_status(moeg_npy_write(path, 9, shape, MOEG_NPY_F8, six), MOEG_EINVAL,
                  "npy_write: dims must be at most 8, got 9");
    assert_status(moeg_npy_write(path, 2, shape, (moeg_npy_type)2, six), MOEG_EINVAL,
                  "npy_write: type must be f8 or f4, got 2");
    const size_t overflows[][3] = {
        {4294967296, 4294967296, 1}, {0, 4294967296, 4294967296}, {2305843009213693952, 1, 1}};
    for (size_t i = 0; i < 3; i++)
        assert_status(moeg_npy_write(path, 3, overflows[i], MOEG_NPY_F8, six), MOEG_EINVAL,
                      "npy_write: shape must have a product that fits in memory");
    const double over[] = {2.385, INFINITY, 0x1.ffffffp127, 1}, under[] = {NAN, 3.4e38, 1, -1e39};
    assert_status(moeg_npy_write(path, 1, (size_t[]){4}, MOEG_NPY_F4, over), MOEG_ERANGE,
                  "npy_write: values[2] must fit f4, got 3.40282");
    assert_status(moeg_npy_write(path, 1, (size_t[]){4}, MOEG_NPY_F4, under), MOEG_ERANGE,
                  "npy_write: values[3] must fit f4, got -1e+39");
    assert_file(path, "old\n");
    assert_status(moeg_npy_write(test_path("no/where.npy"), 2, shape, MOEG_NPY_F8, six), MOEG_EIO,
                  "npy_write: cannot write ");
}

static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    static double many[20000];
    const char *path = write_text("old.npy", "old\n");
    const int entries = count_entries(test_directory);
    struct rlimit host, low;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &host), 0);
    low = host;
    low.rlim_cur = 100000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    const moeg_status status = moeg_npy_write(path, 1, (size_t[]){20000}, MOEG_NPY_F8, many);
    setrlimit(RLIMIT_FSIZE, &host);
    signal(SIGXFSZ, handler);
    assert_status(status, MOEG_EIO, "npy_write: cannot write ");
    assert_file(path, "old\n");
    assert_int_equal(count_entries(test_directory), entries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_numpys_to_the_byte), cmocka_unit_test(long_headers_are_aligned),
        cmocka_unit_test(any_double_comes_back),        cmocka_unit_test(floats_are_rounded_to_nearest),
        cmocka_unit_test(arguments_are_checked),        cmocka_unit_test(a_full_disk_leaves_the_old_file),
    };
    return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
