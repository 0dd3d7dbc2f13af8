#include "line/flat.h"

#include "base/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

void moeg_flat_begin(size_t r, size_t most, double *memory, moeg_flat *flat)
{
    *flat = (moeg_flat){.basis = memory, .centre = memory + most * r, .lost = memory + most * r + r};
    memset(flat->centre, 0, r * sizeof *flat->centre);
}

static double project_once(size_t r, const double *b, double *x)
{
    const double share = moeg_dot(r, b, x);
    for (size_t c = 0; c < r; c++)
        x[c] -= share * b[c];
    return share;
}

void moeg_flat_project(size_t count, size_t r, const double *basis, double *x)
{
    for (size_t step = 0; step < 2 * count; step++)
        project_once(r, basis + step % count * r, x);
}

/* A difference seen from a flat: its value at the centre, and what rounding may have done to that and to each of its
 * slopes; in units of a power of two near its largest slope, whose squares do not overflow. */
typedef struct view {
    double unit, height, lost, lost_height;
} view;

/* x (r): the slopes along the flat. If D = sum_q c_q B_q + x with rows B_q that are off by lost_q, the difference is
 * off by sum_q |c_q| lost_q more, and dot products of r terms lose sqrt(r) epsilon of their size each. At a point u all
 * this counts 1 + |u|_1 times, as the rounding of a frame does. */
static view look(const moeg_frame *frame, const moeg_flat *flat, const moeg_tie *tie, double *x)
{
    const moeg_frame_logits *a = &frame->logits[tie->which];
    const size_t r = frame->r;
    double steep = 0, square = 0, reach = 1;
    int exponent;
    for (size_t c = 0; c < r; c++) {
        x[c] = a->T[tie->i * r + c] - a->T[tie->j * r + c];
        steep = fmax(steep, fabs(x[c]));
        reach += fabs(flat->centre[c]);
    }
    frexp(steep, &exponent);
    const double unit = exponent < -1000 ? 0x1p-1000 : ldexp(1, exponent - 1);
    view v = {.unit = unit,
              .height = (a->constant[tie->i] - a->constant[tie->j]) / unit,
              .lost = (a->rounding[tie->i] + a->rounding[tie->j]) / unit};
    for (size_t c = 0; c < r; c++) {
        x[c] /= unit;
        v.height += x[c] * flat->centre[c];
        square += x[c] * x[c];
    }
    v.lost += DBL_EPSILON * (double)flat->count * sqrt((double)r * square);
    for (size_t q = 0; q < flat->count; q++)
        v.lost += fabs(project_once(r, flat->basis + q * r, x)) * flat->lost[q];
    for (size_t q = 0; q < flat->count; q++)
        project_once(r, flat->basis + q * r, x);
    v.lost_height = v.lost * reach;
    return v;
}

static int all_below(size_t r, const double *x, double most)
{
    for (size_t c = 0; c < r; c++)
        if (!(fabs(x[c]) <= most))
            return 0;
    return 1;
}

double moeg_flat_cut(const moeg_frame *frame, const moeg_tie *tie, moeg_flat *flat, double *y)
{
    const size_t r = frame->r;
    double *row = flat->basis + flat->count * r;
    const view v = look(frame, flat, tie, row);
    const double norm = sqrt(moeg_dot(r, row, row));
    if (!(norm > 0 && norm < INFINITY) || all_below(r, row, v.lost))
        return 0;
    *y = -v.height / norm;
    for (size_t c = 0; c < r; c++) {
        row[c] /= norm;
        flat->centre[c] += *y * row[c];
    }
    flat->lost[flat->count++] = v.lost / norm;
    return norm * v.unit;
}

int moeg_flat_holds(const moeg_frame *frame, const moeg_flat *flat, const moeg_tie *tie, double *scratch)
{
    const view v = look(frame, flat, tie, scratch);
    return fabs(v.height) <= v.lost_height && all_below(frame->r, scratch, v.lost);
}
