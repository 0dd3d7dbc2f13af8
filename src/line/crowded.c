#include "line/crowded.h"

#include "base/error.h"
#include "base/memory.h"
#include "line/flat.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Expert j beside the one in hand. Of three experts that tie in one place each of the outer two sees the others on one
 * side: their differences are positive multiples of each other, and have keys that are near each other. A key is a
 * weighted sum of the slopes and the constant, in units of the largest of them. `lost`: what rounding may have done, in
 * units of the steepest slope. */
typedef struct rival {
    size_t j;
    double key, lost;
} rival;

/* The experts that tie with one, in the order of their keys, and memory for the flat of a tie. */
typedef struct rivals {
    const moeg_frame *frame;
    double *weight; /* (r + 1) of the numbers in keys; so small that no sum overflows */
    size_t i, count;
    rival *all;
    double most_lost;
    double *memory;
} rivals;

enum { MOST_WEIGHT = 56 };

static void fill_weights(size_t r, double *weight)
{
    for (size_t l = 0; l <= r; l++)
        weight[l] = (1 + 0.618 * (double)(l % 89)) / MOST_WEIGHT / (double)(r + 1);
}

/* 0 if the two tie everywhere or nowhere. */
static int fill_rival(const rivals *s, size_t j, rival *out)
{
    const moeg_frame_logits *a = &s->frame->logits[0];
    const size_t r = s->frame->r;
    const double *mine = a->T + s->i * r, *other = a->T + j * r;
    const double constant = a->constant[j] - a->constant[s->i], lost = a->rounding[s->i] + a->rounding[j];
    double steep = 0, sum = constant * s->weight[r];
    for (size_t l = 0; l < r; l++) {
        const double slope = other[l] - mine[l], size = fabs(slope);
        sum += slope * s->weight[l];
        steep = size > steep ? size : steep;
    }
    const double largest = fmax(steep, fabs(constant));
    if (!(steep > lost && largest < INFINITY))
        return 0;
    *out = (rival){j, sum / largest, lost / steep + (double)r * DBL_EPSILON};
    return 1;
}

static int by_key(const void *a, const void *b)
{
    const rival *p = a, *q = b;
    if (p->key != q->key)
        return p->key < q->key ? -1 : 1;
    return p->j < q->j ? -1 : p->j > q->j;
}

/* Differences b = f a + e are alike if e is at most L = lost_b + |f| lost_a in the slopes and L (1 + |centre|_1) in the
 * constant, |centre|_1 <= sqrt(r) |constant|/steep: beside the largest number each is (1 + sqrt(r)) (lost_a + lost_b)
 * at most, in the units of a rival; twice that, for the units differ as well. Weights are below 1/(r + 1). */
static int are_near(const rivals *s, const rival *a, const rival *b)
{
    const double r = (double)s->frame->r;
    return fabs(a->key - b->key) <= 2 * (1 + sqrt(r)) * (a->lost + s->most_lost);
}

/* Another rival that ties with the expert wherever number a does, or NULL: next to a on one side or on the other. */
static const rival *find_partner(const rivals *s, size_t a)
{
    const size_t r = s->frame->r, i = s->i;
    moeg_flat flat;
    double y;
    moeg_flat_begin(r, 1, s->memory, &flat);
    for (int back = 0; back < 2; back++)
        for (size_t step = 1; back ? step <= a : a + step < s->count; step++) {
            const rival *b = &s->all[back ? a - step : a + step];
            if (!are_near(s, &s->all[a], b))
                break;
            if (flat.count == 0 && moeg_flat_cut(s->frame, &(moeg_tie){0, s->all[a].j, i}, &flat, &y) == 0)
                return NULL;
            if (moeg_flat_holds(s->frame, &flat, &(moeg_tie){0, b->j, i}, s->memory + moeg_flat_size(r, 1)))
                return b;
        }
    return NULL;
}

static void mark_expert(rivals *s, uint32_t *third)
{
    const size_t K = s->frame->logits[0].K, i = s->i;
    s->count = 0;
    s->most_lost = 0;
    for (size_t j = 0; j < K; j++)
        if (j != i && fill_rival(s, j, &s->all[s->count])) {
            s->most_lost = fmax(s->most_lost, s->all[s->count].lost);
            s->count++;
        }
    qsort(s->all, s->count, sizeof *s->all, by_key);
    for (size_t a = 0; a < s->count; a++) {
        const size_t j = s->all[a].j;
        const rival *partner = third[i * K + j] == 0 ? find_partner(s, a) : NULL;
        if (partner != NULL)
            third[i * K + j] = third[j * K + i] = (uint32_t)(partner->j + 1);
    }
}

moeg_status moeg_crowded_pairs(const char *function, const moeg_frame *frame, uint32_t **third)
{
    const size_t K = frame->logits[0].K, r = frame->r;
    rivals s = {.frame = frame,
                .weight = moeg_alloc(r + 1, sizeof *s.weight),
                .all = moeg_alloc(K, sizeof *s.all),
                .memory = moeg_alloc(moeg_flat_size(r, 1) + r, sizeof *s.memory)};
    *third = moeg_alloc_zero(K, K * sizeof **third);
    const int allocated = s.weight != NULL && s.all != NULL && s.memory != NULL && *third != NULL;
    if (allocated)
        fill_weights(r, s.weight);
    for (; allocated && s.i < K; s.i++)
        mark_expert(&s, *third);
    moeg_release(s.weight);
    moeg_release(s.all);
    moeg_release(s.memory);
    if (allocated)
        return MOEG_OK;
    moeg_release(*third);
    *third = NULL;
    return moeg_fail_memory(function);
}
