#include "line/vertex.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "line/envelope.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Logits count as tied if they are this near, beside their size. */
static const double NEAR = 1e-9;

typedef struct finder {
    const char *function;
    size_t K;
    const double *T, *constant; /* (K x 2), (K) */
    moeg_gap gap;
    double shift, size[3]; /* size: of the largest constant and of the largest entries of T */
    moeg_vertices *found;
} finder;

static double logit(const finder *f, size_t k, const double *u)
{
    return f->constant[k] + f->T[2 * k] * u[0] + f->T[2 * k + 1] * u[1];
}

/* u where a_i - a_j = s and a_k - a_l = t; 0 if there is no such point. */
static int meet(const finder *f, size_t i, size_t j, double s, size_t k, size_t l, double t, double *u)
{
    const double *Ti = f->T + 2 * i, *Tj = f->T + 2 * j, *Tk = f->T + 2 * k, *Tl = f->T + 2 * l;
    const double a = Ti[0] - Tj[0], b = Ti[1] - Tj[1], c = Tk[0] - Tl[0], d = Tk[1] - Tl[1];
    const double p = s - (f->constant[i] - f->constant[j]), q = t - (f->constant[k] - f->constant[l]);
    const double determinant = a * d - b * c;
    u[0] = (p * d - q * b) / determinant;
    u[1] = (a * q - c * p) / determinant;
    return isfinite(hypot(u[0], u[1]));
}

/* Whether a logit of this value may have the rank, `tolerance` given or taken. */
static int may_rank(const finder *f, const double *u, double value, double tolerance, size_t rank)
{
    size_t above = 0, level = 0;
    for (size_t k = 0; k < f->K && above < rank; k++) {
        const double difference = logit(f, k, u) - value;
        above += difference > tolerance;
        level += fabs(difference) <= tolerance;
    }
    return above < rank && rank <= above + level;
}

static double tolerance_at(const finder *f, const double *u)
{
    return NEAR * (f->size[0] + f->size[1] * fabs(u[0]) + f->size[2] * fabs(u[1]));
}

/* Whether two points are one but for rounding. */
static int are_one(const double *u, const double *v)
{
    static const double rounding = 1e-13;
    return fabs(u[0] - v[0]) <= rounding * fabs(u[0]) && fabs(u[1] - v[1]) <= rounding * fabs(u[1]);
}

static moeg_status add(const finder *f, const double *u)
{
    moeg_vertices *v = f->found;
    /* Where many experts tie at one point, it comes again and again. */
    if (v->count > 0 && are_one(u, v->point + 2 * (v->count - 1)))
        return MOEG_OK;
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

static int by_coordinates(const void *a, const void *b)
{
    const double *u = a, *v = b;
    const size_t at = u[0] != v[0] ? 0 : 1;
    return u[at] < v[at] ? -1 : u[at] > v[at];
}

/* Each point once. */
static void merge(moeg_vertices *v)
{
    size_t kept = 0;
    if (v->count > 0)
        qsort(v->point, v->count, 2 * sizeof *v->point, by_coordinates);
    for (size_t i = 0; i < v->count; i++)
        if (kept == 0 || !are_one(v->point + 2 * i, v->point + 2 * (kept - 1)))
            memmove(v->point + 2 * kept++, v->point + 2 * i, 2 * sizeof *v->point);
    v->count = kept;
}

static moeg_status set_may(const finder *f)
{
    moeg_vertices *v = f->found;
    v->may = moeg_alloc_zero(v->count, f->K * sizeof *v->may);
    if (v->may == NULL)
        return moeg_fail_memory(f->function);
    for (size_t i = 0; i < v->count; i++) {
        const double *u = v->point + 2 * i, tolerance = tolerance_at(f, u);
        for (size_t k = 0; k < f->K; k++) {
            const double value = logit(f, k, u);
            if (may_rank(f, u, value, tolerance, f->gap.upper))
                v->may[i * f->K + k] |= MOEG_MAY_UPPER;
            if (may_rank(f, u, value, tolerance, f->gap.lower))
                v->may[i * f->K + k] |= MOEG_MAY_LOWER;
        }
    }
    return MOEG_OK;
}

moeg_status moeg_vertices_find(const char *function, const moeg_frame *frame, moeg_gap gap, double shift,
                               moeg_vertices *vertices)
{
    const moeg_frame_logits *logits = &frame->logits[0];
    *vertices = (moeg_vertices){.K = logits->K};
    finder f = {function, logits->K, logits->T, logits->constant, gap, shift, {0}, vertices};
    for (size_t k = 0; k < f.K; k++) {
        f.size[0] = fmax(f.size[0], fabs(f.constant[k]));
        f.size[1] = fmax(f.size[1], fabs(f.T[2 * k]));
        f.size[2] = fmax(f.size[2], fabs(f.T[2 * k + 1]));
    }
    moeg_status status = MOEG_OK;
    for (size_t i = 0; i < f.K; i++)
        for (size_t j = i + 1; j < f.K && status == MOEG_OK; j++)
            status = search_pair(&f, i, j);
    if (status == MOEG_OK) {
        merge(vertices);
        status = set_may(&f);
    }
    if (status != MOEG_OK)
        moeg_vertices_free(vertices);
    return status;
}

/* The pairs along the line at y across the direction e. */
static void walk(const moeg_frame_logits *logits, moeg_gap gap, const double *e, double y, double *alpha,
                 moeg_envelope *envelope, unsigned char *pairs)
{
    const size_t K = logits->K;
    for (size_t k = 0; k < K; k++)
        alpha[k] = logits->constant[k] + y * (logits->T[2 * k + 1] * e[0] - logits->T[2 * k] * e[1]);
    moeg_envelope_start(envelope, alpha, 1);
    do {
        const size_t i = envelope->order[gap.upper - 1], j = envelope->order[gap.lower - 1];
        pairs[i * K + j] = pairs[j * K + i] = 1;
    } while (moeg_envelope_next(envelope));
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

moeg_status moeg_vertices_pairs(const char *function, const moeg_frame *frame, moeg_gap gap,
                                const moeg_vertices *vertices, unsigned char *pairs)
{
    /* No tie of anyone's lies along this. */
    static const double e[2] = {0.61803398874989485, 0.78615137775742329};
    const moeg_frame_logits *logits = &frame->logits[0];
    const size_t K = logits->K, n = vertices->count, room = moeg_round_lanes(K);
    double *memory = moeg_alloc(2 * room + moeg_envelope_size(K), sizeof *memory), *y = moeg_alloc(n + 2, sizeof *y);
    if (memory == NULL || y == NULL) {
        moeg_release(memory);
        moeg_release(y);
        return moeg_fail_memory(function);
    }
    double *beta = memory, *alpha = memory + room, outermost = 0;
    moeg_envelope envelope;
    for (size_t k = 0; k < K; k++)
        beta[k] = logits->T[2 * k] * e[0] + logits->T[2 * k + 1] * e[1];
    for (size_t i = 0; i < n; i++) {
        y[i] = vertices->point[2 * i + 1] * e[0] - vertices->point[2 * i] * e[1];
        outermost = fmax(outermost, fabs(y[i]));
    }
    y[n] = -2 * outermost - 1;
    y[n + 1] = 2 * outermost + 1;
    qsort(y, n + 2, sizeof *y, ascending);
    memset(pairs, 0, K * K * sizeof *pairs);
    moeg_envelope_init(&envelope, K, gap.lower, beta, memory + 2 * room);
    for (size_t i = 0; i <= n; i++)
        walk(logits, gap, e, y[i] + (y[i + 1] - y[i]) / 2, alpha, &envelope, pairs);
    moeg_release(memory);
    moeg_release(y);
    return MOEG_OK;
}

void moeg_vertices_free(moeg_vertices *vertices)
{
    moeg_release(vertices->point);
    moeg_release(vertices->may);
    *vertices = (moeg_vertices){0};
}
