#include "io/npy_bytes.h"
#include "support/failing_alloc.h"

#include <fcntl.h>
#include <moegeom/npy.h>
#include <pthread.h>
#include <sys/stat.h>

static const double six[] = {2.385, -1.5, 0.25, 1.0 / 3, NAN, -INFINITY};

static moeg_array read_array(const npy_bytes *b)
{
    moeg_array array;
    assert_ok(moeg_npy_read(write_bytes("in.npy", b->data, b->size), &array));
    return array;
}

static void check_values(const npy_bytes *b, size_t dims, const size_t *shape, size_t size, const double *values)
{
    moeg_array array = read_array(b);
    assert_int_equal(array.dims, dims);
    assert_int_equal(array.size, size);
    assert_non_null(array.values);
    for (size_t j = 0; j < MOEG_NPY_MAX_DIMS; j++)
        assert_int_equal(array.shape[j], j < dims ? shape[j] : 1);
    for (size_t i = 0; i < size; i++)
        if (!same_bits(array.values[i], values[i]))
            fail_msg("value %zu: got %a, expected %a", i, array.values[i], values[i]);
    moeg_array_free(&array);
    assert_null(array.values);
    assert_int_equal(array.size, 0);
    moeg_array_free(&array);
}

static void every_type_and_version_is_read(void **state)
{
    (void)state;
    const char *types[] = {"<f8", ">f8", "<f4", ">f4"};
    for (int major = 1; major <= 3; major++)
        for (size_t t = 0; t < 4; t++)
            /* Padding that puts the data at any offset, as the format allows. */
            for (int padding = 0; padding < 9; padding++) {
                char header[128];
                snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (2, 3), }%*s\n",
                         types[t], padding, "");
                npy_bytes b = npy_with_header(major, header);
                double expected[6];
                for (size_t i = 0; i < 6; i++) {
                    expected[i] = t < 2 ? six[i] : (double)(float)six[i];
                    if (t < 2)
                        add_f8(&b, six[i], t == 1);
                    else
                        add_f4(&b, (float)six[i], t == 3);
                }
                check_values(&b, 2, (size_t[]){2, 3}, 6, expected);
            }
}

static void headers_in_any_writing(void **state)
{
    (void)state;
    const char *headers[] = {
        "{'descr':'<f8','fortran_order':False,'shape':(6,)}",
        "{'shape': (6,), 'descr': '<f8', 'fortran_order': False}",
        " \t{\n'fortran_order' : False ,\r\n \"shape\" :( 6 , ) , 'descr': \"<f8\" , } \n\n",
        "{'fortran_order': True, 'descr': '<f8', 'shape': (6,), }\n",
    };
    for (size_t h = 0; h < sizeof headers / sizeof headers[0]; h++) {
        npy_bytes b = npy_with_header(1, headers[h]);
        for (size_t i = 0; i < 6; i++)
            add_f8(&b, six[i], 0);
        check_values(&b, 1, (size_t[]){6}, 6, six);
    }
}

static npy_bytes array_of(const char *shape, int is_fortran, size_t n, const double *values)
{
    char header[256];
    snprintf(header, sizeof header, "{'descr': '<f8', 'fortran_order': %s, 'shape': %s, }\n",
             is_fortran ? "True" : "False", shape);
    npy_bytes b = npy_with_header(1, header);
    for (size_t i = 0; i < n; i++)
        add_f8(&b, values[i], 0);
    return b;
}

static void shapes_of_all_kinds(void **state)
{
    (void)state;
    npy_bytes b = array_of("()", 0, 1, six);
    check_values(&b, 0, NULL, 1, six);
    b = array_of("()", 1, 1, six);
    check_values(&b, 0, NULL, 1, six);
    b = array_of("(1, 1, 2, 1, 3, 1, 1, 1,)", 0, 6, six);
    check_values(&b, 8, (size_t[]){1, 1, 2, 1, 3, 1, 1, 1}, 6, six);
    for (int is_fortran = 0; is_fortran < 2; is_fortran++) {
        b = array_of("(0,)", is_fortran, 0, NULL);
        check_values(&b, 1, (size_t[]){0}, 0, NULL);
        b = array_of("(3, 0)", is_fortran, 0, NULL);
        check_values(&b, 2, (size_t[]){3, 0}, 0, NULL);
        b = array_of("(0, 1000000000000)", is_fortran, 0, NULL);
        check_values(&b, 2, (size_t[]){0, 1000000000000}, 0, NULL);
    }
}

/* Value at index (i, j, …) of a Fortran array stands at place i + m (j + n (…)): the slow way, digit by digit. */
static void fortran_order_becomes_row_major(void **state)
{
    (void)state;
    const size_t shapes[][4] = {{2, 3, 1, 1}, {3, 2, 1, 1}, {2, 3, 4, 1}, {1, 5, 1, 3}, {3, 2, 4, 2}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        const size_t *n = shapes[s], size = n[0] * n[1] * n[2] * n[3];
        double in[48], expected[48];
        for (size_t place = 0; place < size; place++) {
            const size_t i = place % n[0], j = place / n[0] % n[1], k = place / n[0] / n[1] % n[2],
                         l = place / n[0] / n[1] / n[2];
            in[place] = 2.385 + (double)place / 7;
            expected[((i * n[1] + j) * n[2] + k) * n[3] + l] = in[place];
        }
        char shape[64];
        snprintf(shape, sizeof shape, "(%zu, %zu, %zu, %zu)", n[0], n[1], n[2], n[3]);
        const npy_bytes b = array_of(shape, 1, size, in);
        check_values(&b, 4, n, size, expected);
    }
}

/* What a file says must be refused before its words are believed: nothing larger than the file is ever asked for. */
static void check_refused(const npy_bytes *b, const char *message)
{
    moeg_array array = {.size = 77};
    size_t largest = 0;
    const char *path = write_bytes("bad.npy", b->data, b->size);
    moeg_alloc_set_hook(note_largest, &largest);
    const moeg_status status = moeg_npy_read(path, &array);
    moeg_alloc_set_hook(NULL, NULL);
    assert_status(status, MOEG_EFORMAT, "npy_read: /tmp/moegeom-test-");
    assert_status(status, MOEG_EFORMAT, message);
    assert_true(largest <= b->size + 64);
    assert_int_equal(array.size, 77);
    assert_null(array.values);
}

static void malformed_headers_are_refused(void **state)
{
    (void)state;
    const struct {
        const char *header, *message;
    } cases[] = {
        {"", "header, byte 0: expected a dictionary, got the end of the header"},
        {"[1]", "header, byte 0: expected a dictionary, got \"[1]\""},
        {"{", "expected a key in quotes, or }, got the end of the header"},
        {"{}", "header: expected the key descr, which is missing"},
        {"{'descr': '<f8', 'shape': (1,)}", "expected the key fortran_order, which is missing"},
        {"{'descr': '<f8', 'fortran_order': False}", "expected the key shape, which is missing"},
        {"{descr: '<f8'}", "header, byte 1: expected a key in quotes, or }, got \"descr: '<f8'}\""},
        {"{'descr' '<f8'}", "header, byte 9: expected a colon, got \"'<f8'}\""},
        {"{'descr': '<f8', 'descr': '<f8'}", "header, byte 17: expected each key once, got \"'descr'"},
        {"{'descr': '<f8', 'order': 1}", "expected one of the keys descr, fortran_order, shape, got \"'order'"},
        {"{'descr\\x00': '<f8'}", "expected one of the keys"},
        {"{'descr': '<f8' 'shape': (1,)}", "header, byte 16: expected a comma or }"},
        {"{'descr': '<f8',, 'shape': (1,)}", "expected a key in quotes"},
        {"{,}", "expected a key in quotes"},
        {"{'descr': '<f8", "expected a string with a closing quote"},
        {"{'descr': \"<f8'", "expected a string with a closing quote"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}",
         "expected dtype '<f4', '>f4', '<f8' or '>f8', got \"<i8\""},
        {"{'descr': '|b1'}", "got \"|b1\""},
        {"{'descr': '=f8'}", "got \"=f8\""},
        {"{'descr': '|f8'}", "got \"|f8\""},
        {"{'descr': 'f8'}", "got \"f8\""},
        {"{'descr': '<f2'}", "got \"<f2\""},
        {"{'descr': '<f16'}", "got \"<f16\""},
        {"{'descr': '<c8'}", "got \"<c8\""},
        {"{'descr': '|O'}", "got \"|O\""},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (1,)}", "got \"<i4\""},
        {"{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (1,)}",
         "expected dtype '<f4', '>f4', '<f8' or '>f8', got \"[('x', '<f8')]"},
        {"{'descr': [('\xc3\xa9', '<f8')], 'fortran_order': False, 'shape': (1,)}", "got \"[('\\xc3\\xa9', '<f8')]"},
        {"{'fortran_order': 0}", "expected True or False for fortran_order, got \"0}\""},
        {"{'fortran_order': true}", "expected True or False"},
        {"{'fortran_order': Falsely}", "expected a comma or }, got \"ly}\""},
        {"{'shape': 3}", "expected a tuple for shape, got \"3}\""},
        {"{'shape': [3]}", "expected a tuple for shape, got \"[3]}\""},
        {"{'shape': (3)}", "expected a comma in shape, got \")}\""},
        {"{'shape': (3 4)}", "expected a comma in shape, got \"4)}\""},
        {"{'shape': (3, 4 5)}", "expected a comma or ) in shape, got \"5)}\""},
        {"{'shape': (,)}", "expected a size, got \",)}\""},
        {"{'shape': (3,,4)}", "expected a size, got \",4)}\""},
        {"{'shape': (-1,)}", "expected a size, got \"-1,)}\""},
        {"{'shape': (3L,)}", "expected a comma in shape, got \"L,)}\""},
        {"{'shape': (3.0,)}", "expected a comma in shape, got \".0,)}\""},
        {"{'shape': (03,)}", "expected a size, got \"03,)}\""},
        {"{'shape': (1_0,)}", "expected a comma in shape, got \"_0,)}\""},
        {"{'shape': (0x3,)}", "expected a comma in shape, got \"x3,)}\""},
        {"{'shape': (3", "expected a comma in shape, got the end of the header"},
        {"{'shape': (", "expected a size, got the end of the header"},
        {"{'shape': (18446744073709551616,)}", "expected a size that fits in memory, got \"18446744073709551616,)}\""},
        {"{'shape': (99999999999999999999999999,)}", "expected a size that fits in memory"},
        {"{'shape': (1,1,1,1,1,1,1,1,1)}", "expected at most 8 dimensions, got more"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} x",
         "expected nothing behind the dictionary, got \"x\""},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}}", "expected nothing behind the dictionary"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int major = 1; major <= 3; major++) {
            npy_bytes b = npy_with_header(major, cases[i].header);
            check_refused(&b, cases[i].message);
            /* With data behind it too. */
            add_f8(&b, 2.385, 0);
            check_refused(&b, cases[i].message);
        }
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    const char *overflow[] = {"(4294967296, 4294967296)",    "(2305843009213693952,)",      "(18446744073709551615,)",
                              "(4294967296, 4294967296, 0)", "(0, 4294967296, 4294967296)", "(3, 6148914691236517206)"};
    for (size_t i = 0; i < sizeof overflow / sizeof overflow[0]; i++) {
        const npy_bytes b = array_of(overflow[i], 0, 2, six);
        check_refused(&b, "expected a shape that fits in memory, got a product that overflows");
    }
    const char *larger[] = {"(2305843009213693951,)", "(1000000, 1000000)", "(1073741824,)", "(3,)"};
    for (size_t i = 0; i < sizeof larger / sizeof larger[0]; i++) {
        const npy_bytes b = array_of(larger[i], (int)(i % 2), 2, six);
        check_refused(&b, "bytes of data for the shape, got 16");
    }
}

static void data_of_another_size_are_refused(void **state)
{
    (void)state;
    npy_bytes b = array_of("(2, 3)", 0, 6, six);
    b.size--;
    check_refused(&b, "expected 48 bytes of data for the shape, got 47");
    b.size += 2;
    check_refused(&b, "expected 48 bytes of data for the shape, got 49");
    b = array_of("()", 0, 0, six);
    check_refused(&b, "expected 8 bytes of data for the shape, got 0");
    b = array_of("(0,)", 0, 1, six);
    check_refused(&b, "expected 0 bytes of data for the shape, got 8");
    b = npy_with_header(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}");
    add_f8(&b, 1, 0);
    add_f8(&b, 1, 0);
    check_refused(&b, "expected 8 bytes of data for the shape, got 16");
}

static void bad_beginnings_are_refused(void **state)
{
    (void)state;
    npy_bytes b = array_of("(2, 3)", 0, 6, six);
    const npy_bytes good = b;
    for (b.size = 0; b.size < good.size; b.size++)
        check_refused(&b, b.size < 8                ? "expected 8 bytes of magic and version, got the end of the file"
                          : b.size < 10             ? "expected the length of the header, got the end of the file"
                          : b.size < good.size - 48 ? "expected a header of"
                                                    : "expected 48 bytes of data for the shape, got");
    b = good;
    b.data[0] = 'N';
    check_refused(&b, "expected the magic bytes \\x93NUMPY, got others");
    const unsigned char versions[][2] = {{0, 0}, {4, 0}, {1, 1}, {2, 7}, {255, 255}};
    for (size_t i = 0; i < 5; i++) {
        b = good;
        memcpy(b.data + 6, versions[i], 2);
        char message[64];
        snprintf(message, sizeof message, "expected version 1.0, 2.0 or 3.0, got %d.%d", versions[i][0],
                 versions[i][1]);
        check_refused(&b, message);
    }
    /* A length that would ask for 4 GiB, and one that the file has, but no header needs. */
    b = (npy_bytes){.size = 0};
    add_bytes(&b, "\x93NUMPY\x02\x00", 8);
    add_number(&b, 0xfffffff0, 4, 0);
    check_refused(&b, "expected a header of 4294967280 bytes, got 0 bytes to the end of the file");
    b.data[6] = 1;
    b.size = 10;
    check_refused(&b, "expected a header of 65520 bytes, got 0 bytes to the end of the file");
    static unsigned char padded[70000];
    memset(padded, ' ', sizeof padded);
    memcpy(padded, "\x93NUMPY\x02\x00\x00\x00\x01\x00", 12);
    moeg_array array;
    assert_status(moeg_npy_read(write_bytes("bad.npy", padded, sizeof padded), &array), MOEG_EFORMAT,
                  "expected a header of at most 65535 bytes, got 65536");
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    moeg_array array = {.size = 77};
    assert_status(moeg_npy_read(NULL, &array), MOEG_EINVAL, "npy_read: path must not be NULL");
    assert_status(moeg_npy_read("x", NULL), MOEG_EINVAL, "npy_read: array must not be NULL");
    assert_status(moeg_npy_read(test_path("none.npy"), &array), MOEG_EIO, "none.npy: No such file or directory");
    assert_status(moeg_npy_read(test_directory, &array), MOEG_EIO, ": Is a directory");
    assert_int_equal(array.size, 77);
    moeg_array_free(NULL);
}

typedef struct feeder {
    char path[512];
    const unsigned char *data;
    size_t size;
} feeder;

static void *feed(void *user)
{
    const feeder *f = user;
    const int fd = open(f->path, O_WRONLY);
    for (size_t at = 0; at < f->size; at += 4099)
        (void)!write(fd, f->data + at, f->size - at < 4099 ? f->size - at : 4099);
    close(fd);
    return NULL;
}

static moeg_status read_through_pipe(const unsigned char *data, size_t size, moeg_array *array)
{
    feeder f = {.data = data, .size = size};
    strcpy(f.path, test_path("fifo"));
    assert_int_equal(mkfifo(f.path, 0600), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, feed, &f), 0);
    const moeg_status status = moeg_npy_read(f.path, array);
    pthread_join(thread, NULL);
    assert_int_equal(remove(f.path), 0);
    return status;
}

/* Without a size to check against, memory grows with what has come. */
static void pipes_are_read(void **state)
{
    (void)state;
    enum { COUNT = 30011 };
    static unsigned char data[128 + 8 * COUNT];
    npy_bytes b = npy_with_header(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (30011,), }\n");
    memcpy(data, b.data, b.size);
    size_t size = b.size;
    for (size_t i = 0; i < COUNT; i++, size += 8) {
        b.size = 0;
        add_f8(&b, (double)i / 7, 0);
        memcpy(data + size, b.data, 8);
    }
    moeg_array array = {.size = 77};
    assert_ok(read_through_pipe(data, size, &array));
    assert_int_equal(array.size, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(array.values[i] == (double)i / 7);
    moeg_array_free(&array);
    assert_status(read_through_pipe(data, size - 9, &array), MOEG_EFORMAT,
                  "expected 30011 values, got 30009 to the end of the file");
    assert_status(read_through_pipe(data, size + 1, &array), MOEG_EFORMAT,
                  "expected 30011 values, got more data behind them");
    /* 8 EiB are said to come. */
    b = array_of("(1152921504606846975,)", 1, 6, six);
    size_t largest = 0;
    moeg_alloc_set_hook(note_largest, &largest);
    const moeg_status status = read_through_pipe(b.data, b.size, &array);
    moeg_alloc_set_hook(NULL, NULL);
    assert_status(status, MOEG_EFORMAT, "expected 1152921504606846975 values, got 6 to the end of the file");
    assert_true(largest <= 65536);
    b = npy_with_header(2, "{'descr'");
    b.data[9] = 100;
    assert_status(read_through_pipe(b.data, b.size, &array), MOEG_EFORMAT, "expected a whole header");
    b.data[11] = 100;
    assert_status(read_through_pipe(b.data, b.size, &array), MOEG_EFORMAT, "expected a header of at most 65535 bytes");
    assert_int_equal(array.size, 0);
}

static moeg_status read_refused(void *path)
{
    moeg_array array = {.size = 77};
    const moeg_status status = moeg_npy_read(path, &array);
    if (status == MOEG_OK)
        moeg_array_free(&array);
    else
        assert_int_equal(array.size, 77);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char path[512];
    const npy_bytes b = array_of("(2, 3)", 1, 6, six);
    strcpy(path, write_bytes("in.npy", b.data, b.size));
    /* Header, values, and their order. */
    assert_int_equal(fail_every_allocation(read_refused, path), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_version_is_read),
        cmocka_unit_test(headers_in_any_writing),
        cmocka_unit_test(shapes_of_all_kinds),
        cmocka_unit_test(fortran_order_becomes_row_major),
        cmocka_unit_test(malformed_headers_are_refused),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(data_of_another_size_are_refused),
        cmocka_unit_test(bad_beginnings_are_refused),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(pipes_are_read),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
