/* Any bytes are a table or a format error, in memory and through a file alike; a table that is written reads back. */
#include "fuzz/round_trip.h"
#include "io/read.h"

static moeg_status read_memory(const void *data, size_t size, moeg_table *table)
{
    moeg_source source;
    moeg_source_memory(&source, "csv_read", data, size);
    return moeg_csv_read_source(&source, table);
}

static void check_same(const moeg_table *a, const moeg_table *b)
{
    REQUIRE(a->rows == b->rows && a->cols == b->cols);
    REQUIRE((a->names == NULL) == (b->names == NULL));
    for (size_t j = 0; a->names != NULL && j < a->cols; j++) {
        size_t column = a->cols;
        REQUIRE(strcmp(a->names[j], b->names[j]) == 0);
        REQUIRE(moeg_table_column(b, a->names[j], &column) == MOEG_OK && column == j);
    }
    REQUIRE(same_values(a->values, b->values, a->rows * a->cols));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    moeg_table table = {0}, back = {0};
    const moeg_status status = read_memory(data, size, &table);
    if (status != MOEG_OK) {
        REQUIRE(status == MOEG_EFORMAT);
        REQUIRE(strstr(moeg_last_error(), "csv_read: memory: line ") == moeg_last_error());
        REQUIRE(table.values == NULL && table.names == NULL);
        return 0;
    }
    REQUIRE(table.rows > 0 && table.cols > 0 && table.rows * table.cols <= size);
    const char *path = round_trip_file();
    REQUIRE(moeg_csv_write(path, table.rows, table.cols, (const char *const *)table.names, table.values) == MOEG_OK);
    REQUIRE(moeg_csv_read(path, &back) == MOEG_OK);
    check_same(&table, &back);
    moeg_table_free(&back);
    moeg_table_free(&table);
    return 0;
}
