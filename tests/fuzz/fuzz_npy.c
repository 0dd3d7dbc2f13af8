/* Any bytes are an array or a format error; an array that is written reads back. */
#include "fuzz/round_trip.h"
#include "io/read.h"

static moeg_status read_memory(const void *data, size_t size, moeg_array *array)
{
    moeg_source source;
    moeg_source_memory(&source, "npy_read", data, size);
    return moeg_npy_read_source(&source, array);
}

static void check_same(const moeg_array *a, const moeg_array *b)
{
    REQUIRE(a->dims == b->dims && a->size == b->size);
    REQUIRE(memcmp(a->shape, b->shape, sizeof a->shape) == 0);
    REQUIRE(same_values(a->values, b->values, a->size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    moeg_array array = {0}, back = {0};
    const moeg_status status = read_memory(data, size, &array);
    if (status != MOEG_OK) {
        REQUIRE(status == MOEG_EFORMAT);
        REQUIRE(strstr(moeg_last_error(), "npy_read: memory: ") == moeg_last_error());
        REQUIRE(array.values == NULL);
        return 0;
    }
    REQUIRE(array.dims <= MOEG_NPY_MAX_DIMS && array.values != NULL && array.size <= size / 4);
    const char *path = round_trip_file();
    REQUIRE(moeg_npy_write(path, array.dims, array.shape, MOEG_NPY_F8, array.values) == MOEG_OK);
    REQUIRE(moeg_npy_read(path, &back) == MOEG_OK);
    check_same(&array, &back);
    moeg_array_free(&back);
    moeg_array_free(&array);
    return 0;
}
