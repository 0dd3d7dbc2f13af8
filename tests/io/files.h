/* Files for the tests of readers and writers: a directory for each program, bytes in and out, and a watch on memory. */
#ifndef MOEG_TESTS_IO_FILES_H
#define MOEG_TESTS_IO_FILES_H

#include "base/memory.h"
#include "support/check.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

static char test_directory[64];

static inline int make_test_directory(void **state)
{
    (void)state;
    strcpy(test_directory, "/tmp/moegeom-test-XXXXXX");
    return mkdtemp(test_directory) == NULL;
}

/* A path in the test's directory; the text lives until the fourth call from this one. */
static inline const char *test_path(const char *name)
{
    static char paths[4][512];
    static size_t turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", test_directory, name);
    return path;
}

/* Entries of a directory other than itself and its parent; -1 if it cannot be opened. */
static inline int count_entries(const char *path)
{
    DIR *directory = opendir(path);
    if (directory == NULL)
        return -1;
    int count = -2;
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static inline int remove_test_directory(void **state)
{
    (void)state;
    DIR *directory = opendir(test_directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.')
            remove(test_path(entry->d_name));
    closedir(directory);
    /* Fails, and the program with it, if a temporary file is left. */
    return rmdir(test_directory);
}

/* Writes a file of that name, and returns its path. */
static inline const char *write_bytes(const char *name, const void *data, size_t n)
{
    const char *path = test_path(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    return path;
}

static inline const char *write_text(const char *name, const char *text)
{
    return write_bytes(name, text, strlen(text));
}

/* The contents of a small file, ended by a NUL; lives until the next call. */
static inline const char *read_text(const char *path, size_t *size)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    if (size != NULL)
        *size = n;
    return text;
}

static inline void assert_file(const char *path, const char *expected)
{
    assert_string_equal(read_text(path, NULL), expected);
}

/* Root can replace anything, a device too, and a test must not be able to: it runs what should be refused, or written
 * in place, without that right. Returns the user to be given to become(). */
static inline uid_t become_nobody(void)
{
    const uid_t user = geteuid();
    if (user == 0)
        assert_int_equal(seteuid(65534), 0);
    return user;
}

static inline void become(uid_t user)
{
    if (user == 0)
        assert_int_equal(seteuid(user), 0);
}

static inline int note_largest(size_t bytes, void *user)
{
    size_t *largest = user;
    *largest = bytes > *largest ? bytes : *largest;
    return 0;
}

/* Bits, so that -0 and NaN count. */
static inline int same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static inline uint64_t next_random(uint64_t *state)
{
    /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Any bit pattern: subnormals, infinities, NaN. */
static inline double random_double(uint64_t *state)
{
    const uint64_t bits = next_random(state);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
