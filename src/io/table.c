#include <moegeom/csv.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/names.h"
#include "io/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct indexed_name {
    const char *name;
    size_t index;
} indexed_name;

static int compare_names(const void *a, const void *b)
{
    const indexed_name *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

int moeg_names_repeat(size_t n, const char *const *names, size_t *repeat)
{
    indexed_name *sorted = moeg_alloc(n, sizeof *sorted);
    if (sorted == NULL)
        return -1;
    for (size_t i = 0; i < n; i++)
        sorted[i] = (indexed_name){names[i], i};
    qsort(sorted, n, sizeof *sorted, compare_names);
    *repeat = n;
    for (size_t i = 1; i < n; i++)
        if (strcmp(sorted[i - 1].name, sorted[i].name) == 0 && sorted[i].index < *repeat)
            *repeat = sorted[i].index;
    moeg_release(sorted);
    return 0;
}

/* The names, quoted, as many as have room; "..." stands for the rest. */
static void list_names(const moeg_table *table, char *list, size_t size)
{
    size_t used = 0;
    list[0] = '\0';
    for (size_t j = 0; j < table->cols; j++) {
        char quoted[MOEG_TEXT_QUOTED];
        moeg_text_quote(table->names[j], strlen(table->names[j]), quoted);
        const char *comma = j == 0 ? "" : ", ";
        if (used + strlen(comma) + strlen(quoted) + sizeof ", ..." > size) {
            snprintf(list + used, size - used, "%s...", comma);
            return;
        }
        used += (size_t)snprintf(list + used, size - used, "%s%s", comma, quoted);
    }
}

moeg_status moeg_table_column(const moeg_table *table, const char *name, size_t *column)
{
    const char function[] = "table_column";
    moeg_status status = moeg_check_pointer(function, "table", table);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "name", name);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "column", column);
    if (status != MOEG_OK)
        return status;
    char quoted[MOEG_TEXT_QUOTED];
    moeg_text_quote(name, strlen(name), quoted);
    if (table->names == NULL)
        return moeg_fail(MOEG_EINVAL, "%s: name %s asked for, but the table has no header", function, quoted);
    for (size_t j = 0; j < table->cols; j++)
        if (strcmp(table->names[j], name) == 0) {
            *column = j;
            return MOEG_OK;
        }
    char list[300];
    list_names(table, list, sizeof list);
    return moeg_fail(MOEG_EINVAL, "%s: name must be one of %s, got %s", function, list, quoted);
}

void moeg_table_free(moeg_table *table)
{
    if (table == NULL)
        return;
    moeg_release(table->names);
    moeg_release(table->values);
    *table = (moeg_table){0};
}
