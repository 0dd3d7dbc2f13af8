/* .npy files made by hand, byte by byte. */
#ifndef MOEG_TESTS_IO_NPY_BYTES_H
#define MOEG_TESTS_IO_NPY_BYTES_H

#include "io/files.h"

typedef struct npy_bytes {
    unsigned char data[4096];
    size_t size;
} npy_bytes;

static inline void add_bytes(npy_bytes *b, const void *data, size_t n)
{
    assert_true(n <= sizeof b->data - b->size);
    memcpy(b->data + b->size, data, n);
    b->size += n;
}

/* The lowest byte first, or last. */
static inline void add_number(npy_bytes *b, uint64_t bits, size_t n, int is_big_endian)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned char byte = (unsigned char)(bits >> 8 * (is_big_endian ? n - 1 - i : i));
        add_bytes(b, &byte, 1);
    }
}

/* Magic, version `major`.0, the length of the header, and the header as it is: without padding, so that the data are
 * not aligned. */
static inline npy_bytes npy_with_header(int major, const char *header)
{
    npy_bytes b = {.size = 0};
    add_bytes(&b, "\x93NUMPY", 6);
    add_number(&b, (uint64_t)major, 2, 0);
    add_number(&b, strlen(header), major == 1 ? 2 : 4, 0);
    add_bytes(&b, header, strlen(header));
    return b;
}

static inline void add_f8(npy_bytes *b, double value, int is_big_endian)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_number(b, bits, 8, is_big_endian);
}

static inline void add_f4(npy_bytes *b, float value, int is_big_endian)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_number(b, bits, 4, is_big_endian);
}

#endif
