#include "line/vertex.h"

#include "base/error.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Logits count as tied if they are this near, beside their size. */
static const double NEAR = 1e-9;

typedef struct finder {
    const char *function;
    size_t K;
    const double *T, *constant; /* (K x 2), (K) */
    moeg_gap gap;
    double shift, reach;
    moeg_vertices *found;
} finder;

static double logit(const finder *f, size_t k, const double *u)
{
    return f->constant[k] + f->T[2 * k] * u[0] + f->T[2 * k + 1] * u[1];
}

/* u where a_i - a_j = s and a_k - a_l = t; 0 if there is no such point, or none within reach. */
static int meet(const finder *f, size_t i, size_t j, double s, size_t k, size_t l, double t, double *u)
{
    const double *Ti = f->T + 2 * i, *Tj = f->T + 2 * j, *Tk = f->T + 2 * k, *Tl = f->T + 2 * l;
    const double a = Ti[0] - Tj[0], b = Ti[1] - Tj[1], c = Tk[0] - Tl[0], d = Tk[1] - Tl[1];
    const double p = s - (f->constant[i] - f->constant[j]), q = t - (f->constant[k] - f->constant[l]);
    const double determinant = a * d - b * c;
    u[0] = (p * d - q * b) / determinant;
    u[1] = (a * q - c * p) / determinant;
    return hypot(u[0], u[1]) <= f->reach;
}

/* Whether a logit of this value may have the rank, `tolerance` given or taken. */
static int may_rank(const finder *f, const double *u, double value, double tolerance, size_t rank)
{
    size_t above = 0, level = 0;
    for (size_t k = 0; k < f->K; k++) {
        const double difference = logit(f, k, u) - value;
        above += difference > tolerance;
        level += fabs(difference) <= tolerance;
    }
    return above < rank && rank <= above + level;
}

static double tolerance_at(const finder *f, const double *u)
{
    double size = 0;
    for (size_t k = 0; k < f->K; k++)
        size = fmax(size, fabs(f->constant[k]) + fabs(f->T[2 * k] * u[0]) + fabs(f->T[2 * k + 1] * u[1]));
    return NEAR * size;
}

static moeg_status add(const finder *f, const double *u)
{
    moeg_vertices *v = f->found;
    if (v->count == v->room) {
        const size_t room = 2 * v->room + 16;
        double *larger = moeg_alloc(room, 2 * sizeof *larger);
        if (larger == NULL)
            return moeg_fail_memory(f->function);
        if (v->count > 0)
            memcpy(larger, v->point, 2 * v->count * sizeof *larger);
        moeg_release(v->point);
        v->point = larger;
        v->room = room;
    }
    v->point[2 * v->count] = u[0];
    v->point[2 * v->count++ + 1] = u[1];
    return MOEG_OK;
}

static moeg_status add_triple(const finder *f, size_t i, size_t j, size_t k)
{
    double u[2];
    if (!meet(f, i, j, 0, i, k, 0, u))
        return MOEG_OK;
    const double tolerance = tolerance_at(f, u), value = logit(f, i, u);
    for (size_t rank = f->gap.upper; rank <= f->gap.lower; rank++)
        if (may_rank(f, u, value, tolerance, rank))
            return add(f, u);
    return MOEG_OK;
}

/* i above j by the shift, and c level with one of them. */
static moeg_status add_shifted(const finder *f, size_t i, size_t j, size_t c)
{
    double u[2];
    const size_t level[2] = {i, j};
    for (size_t m = 0; m < 2; m++) {
        if (!meet(f, i, j, f->shift, level[m], c, 0, u))
            continue;
        const double tolerance = tolerance_at(f, u);
        if (may_rank(f, u, logit(f, i, u), tolerance, f->gap.upper) &&
            may_rank(f, u, logit(f, j, u), tolerance, f->gap.lower)) {
            const moeg_status status = add(f, u);
            if (status != MOEG_OK)
                return status;
        }
    }
    return MOEG_OK;
}

/* i and j tie at one rank of the gap, k and l at the other. */
static moeg_status add_quadruple(const finder *f, size_t i, size_t j, size_t k, size_t l)
{
    double u[2];
    if (!meet(f, i, j, 0, k, l, 0, u))
        return MOEG_OK;
    const double tolerance = tolerance_at(f, u), a = logit(f, i, u), b = logit(f, k, u);
    return may_rank(f, u, fmax(a, b), tolerance, f->gap.upper) && may_rank(f, u, fmin(a, b), tolerance, f->gap.lower)
               ? add(f, u)
               : MOEG_OK;
}

static moeg_status search_pair(const finder *f, size_t i, size_t j)
{
    moeg_status status = MOEG_OK;
    for (size_t c = 0; c < f->K && status == MOEG_OK; c++) {
        if (c > j)
            status = add_triple(f, i, j, c);
        if (c != i && c != j && f->shift > 0 && status == MOEG_OK)
            status = add_shifted(f, i, j, c);
        if (c != i && c != j && f->shift > 0 && status == MOEG_OK)
            status = add_shifted(f, j, i, c);
        for (size_t l = c + 1; f->gap.lower > 2 && c > i && c != j && l < f->K && status == MOEG_OK; l++)
            if (l != j)
                status = add_quadruple(f, i, j, c, l);
    }
    return status;
}

moeg_status moeg_vertices_find(const char *function, const moeg_frame *frame, moeg_gap gap, double shift, double reach,
                               moeg_vertices *vertices)
{
    const moeg_frame_logits *logits = &frame->logits[0];
    *vertices = (moeg_vertices){0};
    const finder f = {function, logits->K, logits->T, logits->constant, gap, shift, reach, vertices};
    moeg_status status = MOEG_OK;
    for (size_t i = 0; i < f.K; i++)
        for (size_t j = i + 1; j < f.K && status == MOEG_OK; j++)
            status = search_pair(&f, i, j);
    if (status != MOEG_OK)
        moeg_vertices_free(vertices);
    return status;
}

void moeg_vertices_free(moeg_vertices *vertices)
{
    moeg_release(vertices->point);
    *vertices = (moeg_vertices){0};
}
