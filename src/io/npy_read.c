#include <moegeom/npy.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/buffer.h"
#include "io/npy_header.h"
#include "io/read.h"

#include <stdint.h>
#include <string.h>

static const char npy_read[] = "npy_read";

enum {
    LONGEST_HEADER = 65535, /* three short entries; version 1.0 can have no longer one */
    CHUNK = 1 << 13         /* values made room for at a time where the size of the input is not known */
};

/* The number in `bytes` bytes, the lowest first or last: at any address, on any machine. */
static uint64_t assemble(const unsigned char *data, size_t bytes, int is_big_endian)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < bytes; i++)
        bits = bits << 8 | data[is_big_endian ? i : bytes - 1 - i];
    return bits;
}

static moeg_status fail_short(const moeg_source *source, const char *what)
{
    return moeg_fail(MOEG_EFORMAT, "%s: %s: expected %s, got the end of the file", npy_read, source->name, what);
}

/* Magic, version and the length of the header's text. */
static moeg_status read_prelude(moeg_source *source, size_t *length)
{
    unsigned char start[8], field[4];
    if (moeg_source_read(source, start, sizeof start) < sizeof start)
        return fail_short(source, "8 bytes of magic and version");
    if (memcmp(start, "\x93NUMPY", 6) != 0)
        return moeg_fail(MOEG_EFORMAT, "%s: %s: expected the magic bytes \\x93NUMPY, got others", npy_read,
                         source->name);
    if (start[6] < 1 || start[6] > 3 || start[7] != 0)
        return moeg_fail(MOEG_EFORMAT, "%s: %s: expected version 1.0, 2.0 or 3.0, got %d.%d", npy_read, source->name,
                         start[6], start[7]);
    const size_t bytes = start[6] == 1 ? 2 : 4;
    if (moeg_source_read(source, field, bytes) < bytes)
        return fail_short(source, "the length of the header");
    *length = (size_t)assemble(field, bytes, 0);
    if (*length > moeg_source_left(source))
        return moeg_fail(MOEG_EFORMAT, "%s: %s: expected a header of %zu bytes, got %zu bytes to the end of the file",
                         npy_read, source->name, *length, moeg_source_left(source));
    if (*length > LONGEST_HEADER)
        return moeg_fail(MOEG_EFORMAT, "%s: %s: expected a header of at most %d bytes, got %zu", npy_read, source->name,
                         LONGEST_HEADER, *length);
    return MOEG_OK;
}

static moeg_status read_header(moeg_source *source, moeg_npy_header *header)
{
    size_t length = 0;
    moeg_status status = read_prelude(source, &length);
    if (status != MOEG_OK)
        return status;
    char *text = moeg_alloc(length, 1);
    if (text == NULL)
        return moeg_fail_memory(npy_read);
    status = moeg_source_read(source, text, length) < length
                 ? fail_short(source, "a whole header")
                 : moeg_npy_parse_header(source->name, text, length, header);
    moeg_release(text);
    return status;
}

/* The number of values, checked to fit in memory and, where it is known, against what is left of the file. */
static moeg_status check_size(const moeg_source *source, const moeg_npy_header *header, size_t *size)
{
    if (moeg_npy_size(header->dims, header->shape, size) != 0)
        return moeg_fail(MOEG_EFORMAT, "%s: %s: expected a shape that fits in memory, got a product that overflows",
                         npy_read, source->name);
    const size_t left = moeg_source_left(source), expected = *size * header->item;
    if (left != SIZE_MAX && left != expected)
        return moeg_fail(MOEG_EFORMAT, "%s: %s: expected %zu bytes of data for the shape, got %zu", npy_read,
                         source->name, expected, left);
    return MOEG_OK;
}

static double decode(const unsigned char *data, const moeg_npy_header *header)
{
    const uint64_t bits = assemble(data, header->item, header->is_big_endian);
    if (header->item == 4) {
        const uint32_t low = (uint32_t)bits;
        float value;
        memcpy(&value, &low, sizeof value);
        return value;
    }
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Appends n values to a buffer that has room for them; returns how many there were. */
static size_t read_values(moeg_source *source, const moeg_npy_header *header, size_t n, moeg_buffer *values)
{
    unsigned char block[4096];
    double *out = (double *)values->data + values->used / sizeof(double);
    size_t done = 0, got = 1;
    while (done < n && got > 0) {
        const size_t most = sizeof block / header->item, wanted = n - done < most ? n - done : most;
        got = moeg_source_read(source, block, wanted * header->item) / header->item;
        for (size_t i = 0; i < got; i++)
            out[done + i] = decode(block + i * header->item, header);
        done += got;
    }
    values->used += done * sizeof(double);
    return done;
}

/* All values in the order of the file. Room is made at once where the file is known to hold that many, else as they
 * come. */
static moeg_status read_data(moeg_source *source, const moeg_npy_header *header, size_t size, moeg_buffer *values)
{
    const size_t step = moeg_source_left(source) != SIZE_MAX || size < CHUNK ? size : CHUNK;
    size_t done = 0;
    do {
        const size_t n = size - done < step ? size - done : step;
        if (moeg_buffer_reserve(values, n * sizeof(double)) != 0)
            return moeg_fail_memory(npy_read);
        const size_t got = read_values(source, header, n, values);
        done += got;
        if (got < n)
            return moeg_fail(MOEG_EFORMAT, "%s: %s: expected %zu values, got %zu to the end of the file", npy_read,
                             source->name, size, done);
    } while (done < size);
    if (moeg_source_get(source) >= 0)
        return moeg_fail(MOEG_EFORMAT, "%s: %s: expected %zu values, got more data behind them", npy_read, source->name,
                         size);
    return MOEG_OK;
}

/* Puts values whose first index varies fastest into row-major order. The place of a value is kept as an index in each
 * dimension, counted up as the values pass. */
static moeg_status reorder(const moeg_npy_header *header, size_t size, moeg_buffer *values)
{
    double *ordered = moeg_alloc(size, sizeof *ordered);
    if (ordered == NULL)
        return moeg_fail_memory(npy_read);
    const double *in = values->data;
    size_t stride[MOEG_NPY_MAX_DIMS], index[MOEG_NPY_MAX_DIMS] = {0}, place = 0;
    for (size_t j = header->dims, product = 1; j-- > 0; product *= header->shape[j])
        stride[j] = product;
    for (size_t i = 0; i < size; i++) {
        ordered[place] = in[i];
        for (size_t j = 0; j < header->dims; j++) {
            place += stride[j];
            if (++index[j] < header->shape[j])
                break;
            place -= stride[j] * header->shape[j];
            index[j] = 0;
        }
    }
    moeg_release(values->data);
    *values = (moeg_buffer){.data = ordered, .used = size * sizeof *ordered, .capacity = size * sizeof *ordered};
    return MOEG_OK;
}

moeg_status moeg_npy_read_source(moeg_source *source, moeg_array *array)
{
    moeg_npy_header header = {0};
    moeg_buffer values = {0};
    size_t size = 0;
    moeg_status status = read_header(source, &header);
    if (status == MOEG_OK)
        status = check_size(source, &header, &size);
    if (status == MOEG_OK)
        status = read_data(source, &header, size, &values);
    if (status == MOEG_OK && header.is_fortran && header.dims > 1 && size > 0)
        status = reorder(&header, size, &values);
    /* A failed read ends the input early, which then looks malformed. */
    if (source->error != 0)
        status = moeg_source_status(source);
    if (status != MOEG_OK) {
        moeg_release(values.data);
        return status;
    }
    array->dims = header.dims;
    memcpy(array->shape, header.shape, sizeof array->shape);
    array->size = size;
    array->values = values.data;
    return MOEG_OK;
}

moeg_status moeg_npy_read(const char *path, moeg_array *array)
{
    moeg_status status = moeg_check_pointer(npy_read, "path", path);
    if (status == MOEG_OK)
        status = moeg_check_pointer(npy_read, "array", array);
    if (status != MOEG_OK)
        return status;
    moeg_source source;
    status = moeg_source_open(&source, npy_read, path);
    if (status != MOEG_OK)
        return status;
    status = moeg_npy_read_source(&source, array);
    moeg_source_close(&source);
    return status;
}

void moeg_array_free(moeg_array *array)
{
    if (array == NULL)
        return;
    moeg_release(array->values);
    *array = (moeg_array){0};
}
