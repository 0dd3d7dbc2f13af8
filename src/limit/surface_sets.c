#include "limit/surface_sets.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/normal.h"
#include "base/subset.h"
#include "base/vector.h"

#include <math.h>
#include <string.h>

/* Where the set ties, and the density there: D = A B, A lower triangular, has the lengths of the cuts in its diagonal,
 * and the density is the product of phi(y_m)/A_mm. 0 if the differences are dependent. */
static int fill_differences(const moeg_frame *frame, size_t r, moeg_tie_set *set)
{
    set->density = 1;
    for (size_t m = 0; m < r; m++) {
        double y = 0;
        const double norm = moeg_flat_cut(frame, &(moeg_tie){0, set->member[m + 1], set->member[0]}, &set->flat, &y);
        if (norm == 0)
            return 0;
        set->density *= moeg_normal_density(y) / norm;
    }
    return set->density > 0;
}

/* Whether expert k ties wherever the set does. Scratch (R). */
static int is_companion(const moeg_frame *frame, const moeg_tie_set *set, size_t k, double *scratch)
{
    return moeg_flat_holds(frame, &set->flat, &(moeg_tie){0, k, set->member[0]}, scratch);
}

static int is_member(const moeg_tie_set *set, size_t r, size_t k)
{
    for (size_t m = 0; m <= r; m++)
        if (set->member[m] == k)
            return 1;
    return 0;
}

/* The axis that has the most outside of the span. */
static void fill_line(size_t r, size_t R, moeg_tie_set *set)
{
    size_t axis = 0;
    double most = -1;
    for (size_t c = 0; c < R; c++) {
        double outside = 1;
        for (size_t m = 0; m < r; m++)
            outside -= set->flat.basis[m * R + c] * set->flat.basis[m * R + c];
        if (outside > most) {
            most = outside;
            axis = c;
        }
    }
    memset(set->line, 0, R * sizeof *set->line);
    if (r == R)
        return;
    set->line[axis] = 1;
    moeg_flat_project(r, R, set->flat.basis, set->line);
    const double norm = sqrt(moeg_dot(R, set->line, set->line));
    for (size_t c = 0; c < R; c++)
        set->line[c] /= norm;
}

moeg_status moeg_tie_sets_init(const char *function, const moeg_frame *frame, size_t r, moeg_tie_sets *sets)
{
    const size_t K = frame->logits[0].K, R = frame->r, most = moeg_subset_count(K, r + 1),
                 numbers = R + moeg_flat_size(R, r);
    *sets = (moeg_tie_sets){.r = r, .R = R};
    size_t *member = moeg_alloc(r + 1, sizeof *member);
    double *scratch = moeg_alloc(R, sizeof *scratch);
    sets->set = moeg_alloc(most, sizeof *sets->set);
    sets->members = moeg_alloc(most, (r + 1) * sizeof *sets->members);
    sets->numbers = moeg_alloc(most, numbers * sizeof *sets->numbers);
    if (most == 0 || member == NULL || scratch == NULL || sets->set == NULL || sets->members == NULL ||
        sets->numbers == NULL) {
        moeg_release(scratch);
        moeg_release(member);
        moeg_tie_sets_free(sets);
        return moeg_fail_memory(function);
    }
    moeg_subset_first(r + 1, member);
    do {
        moeg_tie_set *set = &sets->set[sets->count];
        set->member = sets->members + sets->count * (r + 1);
        set->line = sets->numbers + sets->count * numbers;
        moeg_flat_begin(R, r, set->line + R, &set->flat);
        memcpy(set->member, member, (r + 1) * sizeof *member);
        if (fill_differences(frame, r, set)) {
            fill_line(r, R, set);
            set->crowded = 0;
            for (size_t k = 0; k < K; k++)
                set->crowded |= !is_member(set, r, k) && is_companion(frame, set, k, scratch);
            sets->count++;
        }
    } while (moeg_subset_next(K, r + 1, member));
    moeg_release(scratch);
    moeg_release(member);
    return MOEG_OK;
}

void moeg_tie_sets_free(moeg_tie_sets *sets)
{
    moeg_release(sets->set);
    moeg_release(sets->members);
    moeg_release(sets->numbers);
    *sets = (moeg_tie_sets){0};
}

void moeg_tie_set_across(const moeg_tie_sets *sets, const moeg_tie_set *set, const double *z, double *out)
{
    if (out != z)
        memcpy(out, z, sets->R * sizeof *out);
    moeg_flat_project(sets->r, sets->R, set->flat.basis, out);
    moeg_flat_project(sets->r < sets->R, sets->R, set->line, out);
}

double moeg_tie_set_top(const moeg_frame *frame, const moeg_tie_sets *sets, const moeg_tie_set *set, const double *z,
                        size_t step, double *scratch)
{
    const moeg_frame_logits *logits = &frame->logits[0];
    const size_t R = sets->R, first = set->member[0];
    double *u = scratch, *across = scratch + R, lo = -INFINITY, hi = INFINITY;
    for (size_t c = 0; c < R; c++)
        u[c] = z[c * step];
    moeg_tie_set_across(sets, set, u, u);
    for (size_t c = 0; c < R; c++)
        u[c] += set->flat.centre[c];
    for (size_t k = 0, m = 0; k < logits->K; k++) {
        if (m <= sets->r && set->member[m] == k) {
            m++;
            continue;
        }
        if (set->crowded && is_companion(frame, set, k, across))
            continue;
        /* height + slope t >= 0 */
        double height = logits->constant[first] - logits->constant[k], slope = 0;
        for (size_t c = 0; c < R; c++) {
            const double row = logits->T[first * R + c] - logits->T[k * R + c];
            height += row * u[c];
            slope += row * set->line[c];
        }
        if (slope > 0)
            lo = fmax(lo, -height / slope);
        else if (slope < 0)
            hi = fmin(hi, -height / slope);
        else if (height < 0)
            return 0;
    }
    return lo < hi ? moeg_normal_between(lo, hi) : 0;
}
