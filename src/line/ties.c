#include "line/ties.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/subset.h"
#include "base/vector.h"
#include "line/flat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sweeps over the constraints of a set. What may be left of one in units of its gradient, beside the distance; after
 * the last sweep, beyond which there is no such point. */
enum { SWEEPS = 1000 };
static const double SLACK = 1e-3, MOST_SLACK = 3e-2;

/* More sets than this are not gone through: pairs at the upper rank stand for them. */
enum { MOST_SETS = 4096 };

/* The square of a distance beyond which a normal variable has no probability that a double holds. */
static const double FARTHEST = 1600;

/* A set to look at, nearer than which it cannot tie. */
typedef struct candidate {
    double bound; /* on the square of the distance */
    const size_t *member;
} candidate;

typedef struct search {
    const moeg_frame *frame;
    size_t r, upper, size;
    double cut, nearest;
    double *row;        /* (K x r) slopes along the flat of the members of differences that are to be 0 or more */
    double *level;      /* (K) their values at its centre */
    double *square;     /* (K) of the rows */
    double *multiplier; /* (K) */
    double *u;          /* (r) */
    double *flat;       /* of moeg_flat_size() */
} search;

/* The square of the distance beyond which ties are cut off. */
static double limit(const search *s)
{
    return fmin(s->nearest + 2 * s->cut, FARTHEST);
}

/* a_i - a_j = level + row.u in units of a power of two near its largest slope, whose squares do not overflow; equal
 * rows in units of 1. */
static double set_difference(const search *s, size_t i, size_t j, double *row)
{
    const moeg_frame_logits *logits = &s->frame->logits[0];
    const double *T = logits->T, level = logits->constant[i] - logits->constant[j];
    for (size_t l = 0; l < s->r; l++)
        row[l] = T[i * s->r + l] - T[j * s->r + l];
    const double largest = moeg_largest(s->r, row);
    const int exponent = largest > 0 ? ilogb(largest) : 0;
    for (size_t l = 0; l < s->r; l++)
        row[l] = ldexp(row[l], -exponent);
    return ldexp(level, -exponent);
}

/* The distance of the hyperplane of a pair; that of equal rows is 0 or infinite. */
static double pair_distance(const search *s, size_t i, size_t j)
{
    const double level = set_difference(s, i, j, s->row), square = moeg_dot(s->r, s->row, s->row);
    return level == 0 ? 0 : fabs(level) / sqrt(square);
}

static int is_member(const search *s, const size_t *member, size_t k)
{
    for (size_t m = 0; m < s->size; m++)
        if (member[m] == k)
            return 1;
    return 0;
}

/* Where all the members tie; 0 if nowhere. */
static int find_flat(const search *s, const size_t *member, moeg_flat *flat)
{
    moeg_flat_begin(s->r, s->size - 1, s->flat, flat);
    for (size_t m = 1; m < s->size; m++) {
        const moeg_tie tie = {0, member[m], member[0]};
        double y;
        if (flat->count == s->r || moeg_flat_cut(s->frame, &tie, flat, &y) == 0)
            if (!moeg_flat_holds(s->frame, flat, &tie, s->row))
                return 0;
    }
    return 1;
}

/* Of the experts that are not members the upper - 1 that are largest at a point: they are to be above the set. */
static void choose_above(const search *s, const size_t *member, const double *u, unsigned char *above)
{
    const moeg_frame_logits *logits = &s->frame->logits[0];
    memset(above, 0, logits->K);
    for (size_t n = 1; n < s->upper; n++) {
        size_t best = logits->K;
        double largest = -INFINITY;
        for (size_t k = 0; k < logits->K; k++) {
            const double logit = logits->constant[k] + moeg_dot(s->r, logits->T + k * s->r, u);
            if (!above[k] && !is_member(s, member, k) && (best == logits->K || logit > largest)) {
                best = k;
                largest = logit;
            }
        }
        if (best < logits->K)
            above[best] = 1;
    }
}

/* One sweep of Hildreth's method (dual coordinate ascent) over the inequalities along the flat, the multipliers kept
 * from 0 up. What was left of the worst one, infinite if nothing can mend it, and a lower bound on half the square of
 * the distance from the centre. */
static double sweep(search *s, const size_t *member, double *bound)
{
    const size_t K = s->frame->logits[0].K, r = s->r;
    double worst = 0, dual = 0;
    for (size_t k = 0; k < K; k++) {
        if (is_member(s, member, k))
            continue;
        const double *row = s->row + k * r;
        const double left = s->level[k] + moeg_dot(r, row, s->u);
        if (!(s->square[k] > 0)) {
            worst = left < 0 ? INFINITY : worst;
            continue;
        }
        const double next = fmax(s->multiplier[k] - left / s->square[k], 0), step = next - s->multiplier[k];
        worst = fmax(worst, fabs(step) * sqrt(s->square[k]));
        s->multiplier[k] = next;
        dual -= next * s->level[k];
        for (size_t l = 0; l < r && step != 0; l++)
            s->u[l] += step * row[l];
    }
    *bound = dual - moeg_dot(r, s->u, s->u) / 2;
    return worst;
}

/* Differences of the others from the first member, the way they are to be, along the flat. Those that do not change
 * along it to rounding have rows of 0. */
static void set_inequalities(search *s, const size_t *member, const moeg_flat *flat, const unsigned char *above)
{
    const size_t K = s->frame->logits[0].K, r = s->r, first = member[0];
    for (size_t k = 0; k < K; k++) {
        double *row = s->row + k * r;
        s->multiplier[k] = s->square[k] = s->level[k] = 0;
        if (is_member(s, member, k))
            continue;
        const double level = above[k] ? set_difference(s, k, first, row) : set_difference(s, first, k, row);
        const double square = moeg_dot(r, row, row);
        s->level[k] = level + moeg_dot(r, row, flat->centre);
        if (fabs(s->level[k]) <= 1e-12 * (fabs(level) + sqrt(square * moeg_dot(r, flat->centre, flat->centre))))
            s->level[k] = 0;
        moeg_flat_project(flat->count, r, flat->basis, row);
        s->square[k] = moeg_dot(r, row, row);
        if (!(s->square[k] > 1e-24 * square))
            s->square[k] = 0;
    }
}

/* The point nearest to 0 where the members tie below the upper - 1 that are above them at the centre of where they tie;
 * 0 if there is none, or it is farther than what is cut off. */
static int nearest_point(search *s, const size_t *member, unsigned char *above)
{
    const size_t r = s->r;
    moeg_flat flat;
    if (!find_flat(s, member, &flat) || flat.count == 0) /* nowhere, or everywhere */
        return 0;
    const double square = moeg_dot(r, flat.centre, flat.centre);
    choose_above(s, member, flat.centre, above);
    set_inequalities(s, member, &flat, above);
    memset(s->u, 0, r * sizeof *s->u);
    double slack = INFINITY;
    for (int n = 0; n < SWEEPS && slack > SLACK; n++) {
        double bound;
        const double worst = sweep(s, member, &bound);
        if (!isfinite(worst) || square / 2 + bound > limit(s) / 2)
            return 0;
        slack = worst / fmax(sqrt(square + moeg_dot(r, s->u, s->u)), 0.1);
    }
    for (size_t l = 0; l < r; l++)
        s->u[l] += flat.centre[l];
    return slack <= MOST_SLACK;
}

static int compare(const void *a, const void *b)
{
    const candidate *p = a, *q = b;
    if (p->bound != q->bound)
        return p->bound < q->bound ? -1 : 1;
    return p->member < q->member ? -1 : p->member > q->member;
}

/* All sets, those whose hyperplanes are nearest first. */
static void list_sets(const search *s, size_t count, candidate *list, size_t *members)
{
    moeg_subset_first(s->size, members);
    for (size_t n = 0; n < count; n++) {
        size_t *member = members + n * s->size;
        if (n > 0) {
            memcpy(member, member - s->size, s->size * sizeof *member);
            moeg_subset_next(s->frame->logits[0].K, s->size, member);
        }
        double bound = 0;
        for (size_t i = 0; i < s->size; i++)
            for (size_t j = i + 1; j < s->size; j++)
                bound = fmax(bound, pair_distance(s, member[i], member[j]));
        list[n] = (candidate){.bound = bound * bound, .member = member};
    }
    qsort(list, count, sizeof *list, compare);
}

/* Those that are near enough, to the front of the list, nearest first, with their squares; their points in the order of
 * their members. */
static size_t find(search *s, double near, size_t count, candidate *list, const size_t *members, unsigned char *above,
                   double *points)
{
    size_t found = 0;
    s->nearest = INFINITY;
    for (size_t n = 0; n < count && list[n].bound <= limit(s); n++) {
        const size_t *member = list[n].member;
        if (!nearest_point(s, member, above))
            continue;
        const double square = moeg_dot(s->r, s->u, s->u);
        s->nearest = fmin(s->nearest, square);
        if (s->nearest < near * near)
            return 0;
        memcpy(points + (size_t)(member - members) / s->size * s->r, s->u, s->r * sizeof *s->u);
        list[found++] = (candidate){.bound = square, .member = member};
    }
    qsort(list, found, sizeof *list, compare);
    while (found > 0 && list[found - 1].bound > limit(s))
        found--;
    return found;
}

/* Sets `ties` from what was found. */
static moeg_status copy(const char *function, size_t found, const candidate *list, const size_t *members,
                        const double *points, moeg_ties *ties)
{
    const size_t r = ties->r, size = ties->size;
    ties->square = moeg_alloc(found, sizeof *ties->square);
    ties->member = moeg_alloc(found, size * sizeof *ties->member);
    ties->point = moeg_alloc(found, r * sizeof *ties->point);
    if (ties->square == NULL || ties->member == NULL || ties->point == NULL)
        return moeg_fail_memory(function);
    ties->count = found;
    for (size_t n = 0; n < found; n++) {
        const size_t *member = list[n].member;
        ties->square[n] = list[n].bound;
        memcpy(ties->member + n * size, member, size * sizeof *member);
        memcpy(ties->point + n * r, points + (size_t)(member - members) / size * r, r * sizeof *points);
    }
    return MOEG_OK;
}

moeg_status moeg_ties_init(const char *function, const moeg_frame *frame, moeg_gap gap, double near, double cut,
                           moeg_ties *ties)
{
    const size_t K = frame->logits[0].K, r = frame->r;
    *ties = (moeg_ties){.r = r, .size = gap.lower - gap.upper + 1};
    if (gap.lower > K)
        return MOEG_OK;
    const size_t sets = moeg_subset_count(K, ties->size);
    if (sets == 0 || sets > MOST_SETS)
        ties->size = 2;
    const size_t size = ties->size, count = moeg_subset_count(K, size);
    search s = {.frame = frame, .r = r, .upper = gap.upper, .size = size, .cut = cut};
    candidate *list = moeg_alloc(count, sizeof *list);
    size_t *members = moeg_alloc(count, size * sizeof *members);
    unsigned char *above = moeg_alloc(K, sizeof *above);
    double *memory = moeg_alloc((r + 3) * K + r + moeg_flat_size(r, size) + count * r, sizeof *memory);
    moeg_status status =
        list == NULL || members == NULL || above == NULL || memory == NULL ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK) {
        s.row = memory;
        s.level = s.row + r * K;
        s.square = s.level + K;
        s.multiplier = s.square + K;
        s.u = s.multiplier + K;
        s.flat = s.u + r;
        double *points = s.flat + moeg_flat_size(r, size);
        list_sets(&s, count, list, members);
        status = copy(function, find(&s, near, count, list, members, above, points), list, members, points, ties);
    }
    moeg_release(list);
    moeg_release(members);
    moeg_release(above);
    moeg_release(memory);
    if (status != MOEG_OK)
        moeg_ties_free(ties);
    return status;
}

void moeg_ties_free(moeg_ties *ties)
{
    moeg_release(ties->square);
    moeg_release(ties->member);
    moeg_release(ties->point);
    *ties = (moeg_ties){0};
}

int moeg_ties_has(const moeg_ties *ties, size_t tie, size_t k)
{
    for (size_t m = 0; m < ties->size; m++)
        if (ties->member[tie * ties->size + m] == k)
            return 1;
    return 0;
}
