#include "line/shift.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/vector.h"

#include <math.h>
#include <string.h>

/* Lines for each part more, at least, and where a tie is near, which may be all that counts. */
enum { LINES_EACH = 16, LINES_EACH_BESIDE = 128 };

/* More parts than this take longer than rows would. */
enum { MOST_PARTS = 4096 };

/* Ties down to e^-COUNTS of the nearest one's density have to be looked at. */
static const double COUNTS = 4.6;

/* Shifts as they are found: all of a stratum's but 0. */
typedef struct found {
    size_t r, count, most;
    uint32_t *stratum;
    double *shift;
} found;

static double squared_distance(size_t r, const double *a, const double *b)
{
    double sum = 0;
    for (size_t l = 0; l < r; l++)
        sum += (a[l] - b[l]) * (a[l] - b[l]);
    return sum;
}

/* Whether lines of the stratum are near a shift as they are. */
static int is_covered(const found *f, size_t stratum, const double *shift)
{
    const double near = MOEG_TIES_NEAR * MOEG_TIES_NEAR;
    int covered = moeg_dot(f->r, shift, shift) <= near;
    for (size_t c = 0; c < f->count && !covered; c++)
        covered = f->stratum[c] == stratum && squared_distance(f->r, f->shift + c * f->r, shift) <= near;
    return covered;
}

/* One more shift for lines of a stratum, unless they are near it. 0 if there is no room. */
static int add(found *f, size_t stratum, const double *shift)
{
    if (is_covered(f, stratum, shift))
        return 1;
    if (f->count == f->most)
        return 0;
    f->stratum[f->count] = (uint32_t)stratum;
    memcpy(f->shift + f->count++ * f->r, shift, f->r * sizeof *shift);
    return 1;
}

/* A shift, and what lies on the way to it: what a width or a temperature counts around a tie may begin there. */
static int add_way(found *f, size_t stratum, const double *shift, double *point)
{
    const double length = sqrt(moeg_dot(f->r, shift, shift));
    const size_t steps = (size_t)fmax(ceil(length / (2 * MOEG_TIES_NEAR)), 1);
    int room = 1;
    for (size_t n = 1; n <= steps && room; n++) {
        for (size_t l = 0; l < f->r; l++)
            point[l] = (double)n / (double)steps * shift[l];
        room = add(f, stratum, point);
    }
    return room;
}

static moeg_status find(const char *function, size_t strata, const moeg_ties *ties, moeg_shift_of shift_of,
                        const void *self, uint64_t n, double *scratch, found *f)
{
    const double near = MOEG_TIES_NEAR * MOEG_TIES_NEAR, nearest = ties->square[0];
    for (size_t tie = 0; tie < ties->count; tie++)
        for (size_t k = 0; k < strata; k++) {
            if (!shift_of(self, ties, tie, k, scratch) || add_way(f, k, scratch, scratch + f->r))
                continue;
            if (nearest < near || ties->square[tie] > nearest + 2 * COUNTS)
                return MOEG_OK;
            if (f->most == MOST_PARTS)
                return moeg_fail(MOEG_EUNSUPPORTED,
                                 "%s: method line does not apply: lines would have to be drawn around more than %d "
                                 "places on the way to ties that are far from the mean of the law",
                                 function, MOST_PARTS);
            return moeg_fail(MOEG_EINVAL,
                             "%s: n must be more than %llu: lines have to be drawn around more than %zu places on the "
                             "way to ties that are far from the mean of the law, %d for each",
                             function, (unsigned long long)n, f->most, LINES_EACH);
        }
    return MOEG_OK;
}

/* Stratum by stratum, 0 first. */
static moeg_status sort(const char *function, size_t strata, const found *f, moeg_shifts *shifts)
{
    const size_t r = shifts->r;
    shifts->stratum = moeg_alloc(strata + f->count, sizeof *shifts->stratum);
    shifts->shift = moeg_alloc_zero(strata + f->count, r * sizeof *shifts->shift);
    shifts->height = moeg_alloc_zero(strata + f->count, sizeof *shifts->height);
    if (shifts->stratum == NULL || shifts->shift == NULL || shifts->height == NULL)
        return moeg_fail_memory(function);
    for (size_t k = 0; k < strata; k++) {
        shifts->stratum[shifts->count++] = (uint32_t)k;
        for (size_t c = 0; c < f->count; c++)
            if (f->stratum[c] == k) {
                const double *shift = f->shift + c * r;
                memcpy(shifts->shift + shifts->count * r, shift, r * sizeof *shift);
                shifts->height[shifts->count] = -moeg_dot(r, shift, shift) / 2;
                shifts->stratum[shifts->count++] = (uint32_t)k;
            }
    }
    return MOEG_OK;
}

moeg_status moeg_shifts_init(const char *function, size_t strata, size_t r, const moeg_ties *ties,
                             moeg_shift_of shift_of, const void *self, uint64_t n, moeg_shifts *shifts)
{
    *shifts = (moeg_shifts){.r = r, .strata = strata};
    const int any = ties != NULL && ties->count > 0;
    const int beside = any && ties->square[0] < MOEG_TIES_NEAR * MOEG_TIES_NEAR;
    found f = {.r = r, .most = any ? (size_t)(n / (beside ? LINES_EACH_BESIDE : LINES_EACH)) : 0};
    f.most = f.most < MOST_PARTS ? f.most : MOST_PARTS;
    f.stratum = moeg_alloc(f.most, sizeof *f.stratum);
    f.shift = moeg_alloc(f.most + 2, r * sizeof *f.shift);
    moeg_status status = f.stratum == NULL || f.shift == NULL ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK && any)
        status = find(function, strata, ties, shift_of, self, n, f.shift + f.most * r, &f);
    if (status == MOEG_OK)
        status = sort(function, strata, &f, shifts);
    moeg_release(f.stratum);
    moeg_release(f.shift);
    if (status != MOEG_OK)
        moeg_shifts_free(shifts);
    return status;
}

void moeg_shifts_free(moeg_shifts *shifts)
{
    moeg_release(shifts->stratum);
    moeg_release(shifts->shift);
    moeg_release(shifts->height);
    *shifts = (moeg_shifts){0};
}

void moeg_shift_across(size_t r, const double *direction, const double *x, double *out)
{
    const double along = moeg_dot(r, direction, x);
    for (size_t l = 0; l < r; l++)
        out[l] = x[l] - along * direction[l];
}

moeg_status moeg_shifts_embed(const char *function, const moeg_frame *frame, moeg_shifts *shifts)
{
    const size_t d = frame->d, r = shifts->r;
    double *shift = moeg_alloc_zero(shifts->count, d * sizeof *shift);
    if (shift == NULL)
        return moeg_fail_memory(function);
    for (size_t c = 0; c < shifts->count; c++)
        for (size_t l = 0; l < r; l++)
            for (size_t j = 0; j < d; j++)
                shift[c * d + j] += shifts->shift[c * r + l] * frame->Q[l * d + j];
    moeg_release(shifts->shift);
    shifts->shift = shift;
    shifts->r = d;
    return MOEG_OK;
}

size_t moeg_shifts_most(const moeg_shifts *shifts)
{
    size_t most = 0;
    for (size_t first = 0, end; first < shifts->count; first = end) {
        for (end = first + 1; end < shifts->count && shifts->stratum[end] == shifts->stratum[first];)
            end++;
        most = end - first > most ? end - first : most;
    }
    return most;
}

void moeg_shifts_share(const moeg_shifts *shifts, size_t c, size_t stride, const double *u, double *workspace)
{
    const size_t r = shifts->r;
    size_t first = c, end = c + 1;
    while (first > 0 && shifts->stratum[first - 1] == shifts->stratum[c])
        first--;
    while (end < shifts->count && shifts->stratum[end] == shifts->stratum[c])
        end++;
    /* The share is that of the first term, 1, of the sum. */
    moeg_kernel_affine(end - first, r, shifts->shift + first * r, shifts->height + first, stride, u, workspace);
    moeg_kernel_softmax(end - first, 1, stride, workspace);
}
