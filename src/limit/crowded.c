#include "limit/crowded.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of entries beside the largest, 1. */
static const double ROUNDING = 1e-10;

/* Expert j's logit less that of the expert in hand, as r slopes and a constant, in units of the largest of them and
 * with the sign that makes the first one that counts positive: experts that tie with that one in the same place are
 * alike. Those have keys that are near each other. */
typedef struct difference {
    size_t j;
    double key;
    const double *entry; /* (r + 1) */
} difference;

/* 0 if it is 0 all over. */
static int fill_difference(const moeg_frame *frame, size_t i, size_t j, double *entry, difference *out)
{
    const moeg_frame_logits *logits = &frame->logits[0];
    const size_t r = frame->r;
    double largest = 0, sign = 0;
    for (size_t l = 0; l <= r; l++) {
        entry[l] = l < r ? logits->T[j * r + l] - logits->T[i * r + l] : logits->constant[j] - logits->constant[i];
        largest = fmax(largest, fabs(entry[l]));
    }
    if (!(largest > 0 && largest < INFINITY))
        return 0;
    *out = (difference){.j = j, .entry = entry};
    for (size_t l = 0; l <= r; l++) {
        entry[l] /= largest;
        sign = sign != 0 ? sign : entry[l] > 1e3 * ROUNDING ? 1 : entry[l] < -1e3 * ROUNDING ? -1 : 0;
    }
    for (size_t l = 0; l <= r; l++) {
        entry[l] *= sign;
        out->key += entry[l] * (1 + 0.618 * (double)(l % 89));
    }
    return 1;
}

static int by_key(const void *a, const void *b)
{
    const difference *p = a, *q = b;
    return p->key < q->key ? -1 : p->key > q->key;
}

static int are_alike(size_t r, const difference *a, const difference *b)
{
    for (size_t l = 0; l <= r; l++)
        if (!(fabs(a->entry[l] - b->entry[l]) <= ROUNDING))
            return 0;
    return 1;
}

static void mark(size_t K, size_t i, size_t j, unsigned char *crowded)
{
    crowded[i * K + j] = crowded[j * K + i] = 1;
}

/* Of the differences from expert i, count of them. */
static void mark_alike(size_t K, size_t r, size_t i, size_t count, difference *all, unsigned char *crowded)
{
    qsort(all, count, sizeof *all, by_key);
    for (size_t a = 0; a < count; a++)
        for (size_t b = a + 1; b < count && all[b].key - all[a].key <= 60 * (double)(r + 1) * ROUNDING; b++)
            if (are_alike(r, &all[a], &all[b])) {
                mark(K, i, all[a].j, crowded);
                mark(K, i, all[b].j, crowded);
                mark(K, all[a].j, all[b].j, crowded);
            }
}

moeg_status moeg_crowded_pairs(const char *function, const moeg_frame *frame, unsigned char **crowded)
{
    const size_t K = frame->logits[0].K, size = frame->r + 1;
    difference *all = moeg_alloc(K, sizeof *all);
    double *entries = moeg_alloc(K, size * sizeof *entries);
    *crowded = moeg_alloc_zero(K, K);
    const int allocated = all != NULL && entries != NULL && *crowded != NULL;
    for (size_t i = 0; allocated && i < K; i++) {
        size_t count = 0;
        for (size_t j = 0; j < K; j++)
            if (j != i)
                count += (size_t)fill_difference(frame, i, j, entries + j * size, &all[count]);
        mark_alike(K, frame->r, i, count, all, *crowded);
    }
    moeg_release(all);
    moeg_release(entries);
    if (allocated)
        return MOEG_OK;
    moeg_release(*crowded);
    *crowded = NULL;
    return moeg_fail_memory(function);
}
