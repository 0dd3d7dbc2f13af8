#include "line/frame.h"

#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "base/vector.h"
#include "line/triangle.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* row = w L; L = I if factor is NULL. */
static void transform_row(size_t d, const double *w, const double *factor, double *row)
{
    if (factor == NULL) {
        memcpy(row, w, d * sizeof *row);
        return;
    }
    memset(row, 0, d * sizeof *row);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            row[j] += w[i] * factor[i * d + j];
}

/* The last columns of the factor of a singular covariance are 0. */
static int is_singular(size_t d, const double *factor)
{
    double last = factor == NULL ? 1 : 0;
    for (size_t i = 0; factor != NULL && i < d; i++)
        last = fmax(last, fabs(factor[i * d + d - 1]));
    return last == 0;
}

/* How far a unit of each coordinate's weight may move an entry of a row. What a singular factor D F cancels is as large
 * as the largest entry of F, in the units D of the coordinate [linalg.h]. */
static void fill_reach(const moeg_frame *frame, const double *covariance, double *reach)
{
    const size_t d = frame->d;
    double all = 0;
    for (size_t j = 0; j < d; j++)
        reach[j] = frame->factor == NULL ? 1 : moeg_largest(d, frame->factor + j * d);
    for (size_t j = 0; frame->singular && j < d; j++)
        all = fmax(all, ldexp(reach[j], -moeg_linalg_half_exponent(covariance[j * d + j])));
    for (size_t j = 0; frame->singular && j < d; j++)
        if (covariance[j * d + j] > 0)
            reach[j] = ldexp(all, moeg_linalg_half_exponent(covariance[j * d + j]));
}

/* Rows W L of the experts that are not masked, (K x d), and their constants W mean + b; in `size`, of both together. */
static void fill_rows(const moeg_frame *frame, const double *W, const double *b, const moeg_frame_logits *logits,
                      const double *reach, double *row, double *size)
{
    const size_t d = frame->d;
    for (size_t i = 0; i < logits->K; i++) {
        const double *w = W + logits->expert[i] * d, unit = moeg_triangle_rounding(d);
        transform_row(d, w, frame->factor, row + i * d);
        logits->constant[i] = b[logits->expert[i]] + moeg_dot(d, w, frame->mean);
        size[i] = fabs(logits->constant[i]) + moeg_largest(d, row + i * d);
        logits->rounding[i] = unit * fabs(b[logits->expert[i]]);
        for (size_t j = 0; j < d; j++)
            logits->rounding[i] += unit * fabs(w[j]) * (reach[j] + fabs(frame->mean[j]));
    }
}

/* All rows less the one of the smallest size, so that none loses more than the rounding of its own terms; that one
 * becomes zeros. 1, or 0 if some number is not finite. */
static int subtract_reference(size_t d, const moeg_frame_logits *logits, const double *size, double *row)
{
    size_t reference = 0;
    for (size_t k = 1; k < logits->K; k++)
        if (size[k] < size[reference])
            reference = k;
    int finite = 1;
    for (size_t step = 1; step <= logits->K; step++) {
        const size_t k = (reference + step) % logits->K; /* the reference last */
        for (size_t j = 0; j < d; j++) {
            /* + 0 turns -0 into 0: equal rows are then equal in all bits. */
            row[k * d + j] = row[k * d + j] - row[reference * d + j] + 0;
            finite &= isfinite(row[k * d + j]) != 0;
        }
        logits->constant[k] = logits->constant[k] - logits->constant[reference] + 0;
        logits->rounding[k] = k == reference ? 0 : logits->rounding[k] + logits->rounding[reference];
        finite &= isfinite(logits->constant[k]) != 0;
    }
    return finite;
}

/* T of one router from its rows of the triangle, scaled back; rows that were equal in all bits, as twin says, are so
 * again. 0 if a number overflows. */
static int make_weights(size_t d, size_t r, size_t first, const double *row, const int *exponent, const size_t *twin,
                        moeg_frame_logits *logits)
{
    int finite = 1;
    for (size_t k = 0; k < logits->K; k++)
        for (size_t j = 0; j < r; j++) {
            const size_t from = twin[first + k];
            logits->T[k * r + j] = ldexp(row[from * d + j], exponent[from]);
            finite &= isfinite(logits->T[k * r + j]) != 0;
        }
    return finite;
}

/* twin[k]: the first row that is equal to row k in all bits. */
static void find_twins(size_t count, size_t d, const double *row, size_t *twin)
{
    for (size_t k = 0; k < count; k++) {
        twin[k] = 0;
        while (memcmp(row + twin[k] * d, row + k * d, d * sizeof *row) != 0)
            twin[k]++;
    }
}

/* The memory of one frame that the work needs on the way. */
typedef struct scratch {
    double *row, *size, *v; /* (count x d), (count), (min(count, d) x d) */
    double *reach, *lost;   /* (d), (count) */
    int *exponent;          /* (count) */
    size_t *twin;           /* (count) */
} scratch;

static int allocate(size_t count, moeg_frame *frame, scratch *s)
{
    const size_t most = count < frame->d ? count : frame->d;
    s->row = moeg_alloc(count, frame->d * sizeof *s->row);
    s->size = moeg_alloc(count, sizeof *s->size);
    s->v = moeg_alloc(most, frame->d * sizeof *s->v);
    s->reach = moeg_alloc(frame->d, sizeof *s->reach);
    s->lost = moeg_alloc_zero(count, sizeof *s->lost);
    s->exponent = moeg_alloc(count, sizeof *s->exponent);
    s->twin = moeg_alloc(count, sizeof *s->twin);
    frame->Q = moeg_alloc(most, frame->d * sizeof *frame->Q);
    int done = s->row != NULL && s->size != NULL && s->v != NULL && s->reach != NULL && s->lost != NULL &&
               s->exponent != NULL && s->twin != NULL && frame->Q != NULL;
    for (size_t i = 0; i < frame->routers; i++) {
        moeg_frame_logits *logits = &frame->logits[i];
        logits->expert = moeg_alloc(logits->K, sizeof *logits->expert);
        logits->constant = moeg_alloc(logits->K, sizeof *logits->constant);
        logits->rounding = moeg_alloc(logits->K, sizeof *logits->rounding);
        logits->T = moeg_alloc(logits->K, most * sizeof *logits->T);
        done =
            done && logits->expert != NULL && logits->constant != NULL && logits->rounding != NULL && logits->T != NULL;
    }
    return done;
}

static void release(scratch *s)
{
    moeg_release(s->row);
    moeg_release(s->size);
    moeg_release(s->v);
    moeg_release(s->reach);
    moeg_release(s->lost);
    moeg_release(s->exponent);
    moeg_release(s->twin);
}

static size_t count_live(const moeg_router *router, size_t *expert)
{
    const double *W, *b;
    size_t live = 0;
    moeg_router_affine_parts(router, &W, &b);
    for (size_t k = 0; k < moeg_router_experts(router); k++)
        if (b[k] != -INFINITY) {
            if (expert != NULL)
                expert[live] = k;
            live++;
        }
    return live;
}

/* Differences of all routers, one below the other, then their triangle. 0 if a number overflows. */
static int make_frame(size_t count, const moeg_router *const *routers, const double *covariance, moeg_frame *frame,
                      scratch *s)
{
    const double *W, *b;
    int finite = 1;
    fill_reach(frame, covariance, s->reach);
    for (size_t i = 0, first = 0; i < frame->routers; first += frame->logits[i].K, i++) {
        moeg_router_affine_parts(routers[i], &W, &b);
        count_live(routers[i], frame->logits[i].expert);
        fill_rows(frame, W, b, &frame->logits[i], s->reach, s->row + first * frame->d, s->size + first);
        finite &= subtract_reference(frame->d, &frame->logits[i], s->size + first, s->row + first * frame->d);
        if (frame->singular)
            memcpy(s->lost + first, frame->logits[i].rounding, frame->logits[i].K * sizeof *s->lost);
    }
    if (!finite)
        return 0;
    find_twins(count, frame->d, s->row, s->twin);
    frame->r = moeg_triangulate(count, frame->d, s->row, s->lost, s->exponent, s->v);
    moeg_triangle_basis(frame->d, frame->r, s->v, frame->Q);
    for (size_t i = 0, first = 0; i < frame->routers; first += frame->logits[i].K, i++)
        finite &= make_weights(frame->d, frame->r, first, s->row, s->exponent, s->twin, &frame->logits[i]);
    return finite;
}

const char *moeg_frame_refusal(const moeg_router *router, const moeg_law *law)
{
    const double *W, *b, *mean, *covariance;
    if (!moeg_router_affine_parts(router, &W, &b))
        return "the router is not affine";
    return moeg_law_gaussian_parts(law, &mean, &covariance) ? NULL : "the law is not Gaussian";
}

moeg_status moeg_frame_init(const char *function, size_t count, const moeg_router *const *routers, const moeg_law *law,
                            moeg_frame *frame)
{
    const double *covariance;
    scratch s = {0};
    *frame = (moeg_frame){.d = moeg_law_dim(law), .factor = moeg_law_gaussian_factor(law), .routers = count};
    moeg_law_gaussian_parts(law, &frame->mean, &covariance);
    frame->singular = is_singular(frame->d, frame->factor);
    size_t rows = 0;
    for (size_t i = 0; i < count; i++)
        rows += frame->logits[i].K = count_live(routers[i], NULL);
    moeg_status status = MOEG_OK;
    if (!allocate(rows, frame, &s))
        status = moeg_fail_memory(function);
    else if (!make_frame(rows, routers, covariance, frame, &s))
        status = moeg_fail(MOEG_ERANGE, "%s: the differences of the logits overflow", function);
    release(&s);
    if (status != MOEG_OK)
        moeg_frame_free(frame);
    return status;
}

void moeg_frame_free(moeg_frame *frame)
{
    for (size_t i = 0; i < frame->routers; i++) {
        moeg_release(frame->logits[i].expert);
        moeg_release(frame->logits[i].T);
        moeg_release(frame->logits[i].constant);
        moeg_release(frame->logits[i].rounding);
    }
    moeg_release(frame->Q);
    *frame = (moeg_frame){0};
}

void moeg_frame_image(const moeg_frame *frame, size_t m, const double *F, const double *h, double *value, double *slope,
                      double *rest)
{
    const size_t d = frame->d, r = frame->r;
    for (size_t i = 0; i < m; i++) {
        transform_row(d, F + i * d, frame->factor, rest + i * d);
        value[i] = h[i] + moeg_dot(d, F + i * d, frame->mean);
        for (size_t j = 0; j < r; j++)
            slope[i * r + j] = moeg_dot(d, rest + i * d, frame->Q + j * d);
        for (size_t j = 0; j < r; j++)
            for (size_t l = 0; l < d; l++)
                rest[i * d + l] -= slope[i * r + j] * frame->Q[j * d + l];
    }
}
