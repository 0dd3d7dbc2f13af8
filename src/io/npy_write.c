#include <moegeom/npy.h>

#include "base/error.h"
#include "io/file.h"
#include "io/npy_header.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char npy_write[] = "npy_write";

enum { ALIGNMENT = 64, PRELUDE = 10 };

/* The least magnitude that rounds to infinity in f4: half a unit in the last place above FLT_MAX. */
static const double f4_overflow = 0x1.ffffffp127;

static moeg_status check_values(size_t size, const double *values)
{
    for (size_t i = 0; i < size; i++)
        if (isfinite(values[i]) && fabs(values[i]) >= f4_overflow)
            return moeg_fail(MOEG_ERANGE, "%s: values[%zu] must fit f4, got %g", npy_write, i, values[i]);
    return MOEG_OK;
}

static moeg_status check_arguments(const char *path, size_t dims, const size_t *shape, moeg_npy_type type,
                                   const double *values, size_t *size)
{
    const moeg_status status = moeg_check_pointer(npy_write, "path", path);
    if (status != MOEG_OK)
        return status;
    if (dims > MOEG_NPY_MAX_DIMS)
        return moeg_fail(MOEG_EINVAL, "%s: dims must be at most %d, got %zu", npy_write, MOEG_NPY_MAX_DIMS, dims);
    if (dims > 0 && shape == NULL)
        return moeg_check_pointer(npy_write, "shape", shape);
    if (type != MOEG_NPY_F8 && type != MOEG_NPY_F4)
        return moeg_fail(MOEG_EINVAL, "%s: type must be f8 or f4, got %d", npy_write, (int)type);
    if (moeg_npy_size(dims, shape, size) != 0)
        return moeg_fail(MOEG_EINVAL, "%s: shape must have a product that fits in memory", npy_write);
    if (*size > 0 && values == NULL)
        return moeg_check_pointer(npy_write, "values", values);
    return type == MOEG_NPY_F4 ? check_values(*size, values) : MOEG_OK;
}

/* Magic, version, length and dictionary, filled up with blanks so that the data begin at a multiple of 64. */
static void put_header(moeg_sink *sink, size_t dims, const size_t *shape, moeg_npy_type type)
{
    char text[6 * ALIGNMENT]; /* at most 8 sizes of 20 digits, 22 characters each, and 70 more */
    size_t used = PRELUDE;
    used += (size_t)snprintf(text + used, sizeof text - used, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                             type == MOEG_NPY_F8 ? "<f8" : "<f4");
    for (size_t j = 0; j < dims; j++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 j + 1 < dims ? "%zu, "
                                 : dims > 1   ? "%zu"
                                              : "%zu,",
                                 shape[j]);
    used += (size_t)snprintf(text + used, sizeof text - used, "), }");
    const size_t total = (used + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(text + used, ' ', total - used);
    text[total - 1] = '\n';
    const size_t length = total - PRELUDE;
    memcpy(text, "\x93NUMPY\x01\x00", 8);
    text[8] = (char)(length & 0xff);
    text[9] = (char)(length >> 8);
    moeg_sink_put(sink, text, total);
}

static void put_bits(moeg_sink *sink, uint64_t bits, size_t bytes)
{
    unsigned char data[8];
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(bits >> 8 * i);
    moeg_sink_put(sink, data, bytes);
}

static void put_f8(moeg_sink *sink, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_bits(sink, bits, sizeof bits);
}

static void put_f4(moeg_sink *sink, double value)
{
    const float rounded = (float)value;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    put_bits(sink, bits, sizeof bits);
}

moeg_status moeg_npy_write(const char *path, size_t dims, const size_t *shape, moeg_npy_type type, const double *values)
{
    size_t size;
    moeg_status status = check_arguments(path, dims, shape, type, values, &size);
    if (status != MOEG_OK)
        return status;
    moeg_sink sink;
    status = moeg_sink_open(&sink, npy_write, path);
    if (status != MOEG_OK)
        return status;
    put_header(&sink, dims, shape, type);
    for (size_t i = 0; i < size; i++)
        if (type == MOEG_NPY_F8)
            put_f8(&sink, values[i]);
        else
            put_f4(&sink, values[i]);
    return moeg_sink_close(&sink);
}
