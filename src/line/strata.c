#include "line/strata.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/vector.h"
#include "line/star.h"

#include <math.h>
#include <string.h>

/* A pair is seen well by a direction along which its difference grows by this share of its gradient. The user's own
 * directions may be worse, down to the second. */
static const double SEEN_WELL = 0.1, SEEN = 1e-3;

/* Lines with less of a tie than this add little to its variance, however seldom they meet it. */
static const double LEAST_SHARE = 1e-2;

/* Directions as they come together: unit vectors. */
typedef struct pool {
    size_t r, count, room;
    double *direction; /* (room x r) */
} pool;

/* |x|, and x/|x| in its place; 0 if that is not above 0. By a power of two, so that no square over- or underflows. */
static double normalise(size_t r, double *x)
{
    double largest = 0;
    for (size_t l = 0; l < r; l++)
        largest = fmax(largest, fabs(x[l]));
    if (!(largest > 0 && isfinite(largest)))
        return 0;
    const int exponent = ilogb(largest);
    for (size_t l = 0; l < r; l++)
        x[l] = ldexp(x[l], -exponent);
    const double norm = sqrt(moeg_dot(r, x, x));
    for (size_t l = 0; l < r; l++)
        x[l] /= norm;
    return ldexp(norm, exponent);
}

/* T_i - T_j, normalised; its norm. */
static double pair_normal(const moeg_frame_logits *logits, size_t r, size_t i, size_t j, double *normal)
{
    for (size_t l = 0; l < r; l++)
        normal[l] = logits->T[i * r + l] - logits->T[j * r + l];
    return normalise(r, normal);
}

/* The share of a pair's unit normal that the best of the directions sees. */
static double seen_by(const pool *p, const double *normal)
{
    double best = 0;
    for (size_t l = 0; l < p->count; l++)
        best = fmax(best, fabs(moeg_dot(p->r, p->direction + l * p->r, normal)));
    return best;
}

/* One more direction, of any length, unless it is there already; one that is 0 is none. */
static moeg_status add_direction(const char *function, const double *direction, pool *p)
{
    if (p->count == p->room) {
        const size_t room = 2 * p->room + 8;
        double *larger = moeg_alloc(room, p->r * sizeof *larger);
        if (larger == NULL)
            return moeg_fail_memory(function);
        if (p->count > 0)
            memcpy(larger, p->direction, p->count * p->r * sizeof *larger);
        moeg_release(p->direction);
        p->direction = larger;
        p->room = room;
    }
    double *place = p->direction + p->count * p->r;
    memcpy(place, direction, p->r * sizeof *place);
    if (normalise(p->r, place) > 0 && seen_by(p, place) < 1 - 1e-12)
        p->count++;
    return MOEG_OK;
}

/* Star directions, or where there is none T_k less the mean of all. */
static moeg_status add_stars(const char *function, const moeg_frame_logits *logits, double *scratch, pool *p)
{
    const size_t K = logits->K, r = p->r;
    double *direction = scratch, *slope = scratch + r;
    moeg_status status = MOEG_OK;
    for (size_t k = 0; k < K && status == MOEG_OK; k++) {
        int exists;
        status = moeg_star_direction(function, K, r, logits->T, k, direction, slope, &exists);
        if (status == MOEG_OK && !exists)
            for (size_t l = 0; l < r; l++) {
                direction[l] = 0;
                for (size_t j = 0; j < K; j++)
                    direction[l] += (logits->T[k * r + l] - logits->T[j * r + l]) / (double)K;
            }
        if (status == MOEG_OK)
            status = add_direction(function, direction, p);
    }
    return status;
}

/* Whether the pair decides anywhere that is to be shared. */
static int matters(const unsigned char *elsewhere, size_t i, size_t j)
{
    return elsewhere == NULL || !elsewhere[i] || !elsewhere[j];
}

/* The normals of pairs: of all, or of those that the directions so far see badly. */
static moeg_status add_normals(const char *function, const moeg_frame_logits *logits, const unsigned char *elsewhere,
                               double *normal, pool *p)
{
    moeg_status status = MOEG_OK;
    for (size_t i = 0; i < logits->K; i++)
        for (size_t j = i + 1; j < logits->K && status == MOEG_OK; j++)
            if (matters(elsewhere, i, j) && pair_normal(logits, p->r, i, j, normal) > 0 &&
                seen_by(p, normal) < SEEN_WELL)
                status = add_direction(function, normal, p);
    return status;
}

/* The user's gradients, as seen in the row space. */
static moeg_status add_gradients(const char *function, const moeg_frame *frame, size_t n, const double *gradients,
                                 double *scratch, pool *p)
{
    const size_t d = frame->d, r = frame->r;
    const double zero = 0;
    double value, *slope = scratch, *rest = scratch + r;
    for (size_t i = 0; i < n; i++) {
        moeg_frame_image(frame, 1, gradients + i * d, &zero, &value, slope, rest);
        const double inside = normalise(r, slope), outside = normalise(d, rest);
        if (!(inside > 1e-12 * outside && isfinite(inside)))
            return moeg_fail(MOEG_EINVAL, "%s: directions[%zu] must be one along which the logits differ", function, i);
        const moeg_status status = add_direction(function, slope, p);
        if (status != MOEG_OK)
            return status;
    }
    return MOEG_OK;
}

static moeg_status check_gradients(const char *function, const moeg_frame_logits *logits,
                                   const unsigned char *elsewhere, double *normal, const pool *p)
{
    for (size_t i = 0; i < logits->K; i++)
        for (size_t j = i + 1; j < logits->K; j++)
            if (matters(elsewhere, i, j) && pair_normal(logits, p->r, i, j, normal) > 0 && seen_by(p, normal) < SEEN)
                return moeg_fail(MOEG_EINVAL, "%s: no row of directions sees the tie of experts %zu and %zu", function,
                                 logits->expert[i], logits->expert[j]);
    return MOEG_OK;
}

static moeg_status fill_stratum(const char *function, const moeg_frame *frame, const double *direction, moeg_stratum *s)
{
    const moeg_frame_logits *logits = &frame->logits[0];
    const size_t K = logits->K, r = frame->r;
    s->direction = moeg_alloc(r, sizeof *s->direction);
    s->slope = moeg_alloc(K, sizeof *s->slope);
    s->tilt = moeg_alloc(K, r * sizeof *s->tilt);
    if (s->direction == NULL || s->slope == NULL || s->tilt == NULL)
        return moeg_fail_memory(function);
    memcpy(s->direction, direction, r * sizeof *direction);
    for (size_t k = 0; k < K; k++) {
        s->slope[k] = moeg_dot(r, logits->T + k * r, direction);
        for (size_t l = 0; l < r; l++)
            s->tilt[k * r + l] = logits->T[k * r + l] - s->slope[k] * direction[l];
    }
    return MOEG_OK;
}

static moeg_status fill_balance(const char *function, const moeg_frame *frame, const pool *p, moeg_strata *strata)
{
    const size_t K = strata->K;
    strata->stratum = moeg_alloc_zero(p->count, sizeof *strata->stratum);
    strata->seen = moeg_alloc_zero(K, K * sizeof *strata->seen);
    if (strata->stratum == NULL || strata->seen == NULL)
        return moeg_fail_memory(function);
    strata->count = p->count;
    for (size_t l = 0; l < p->count; l++) {
        const moeg_status status = fill_stratum(function, frame, p->direction + l * p->r, &strata->stratum[l]);
        if (status != MOEG_OK)
            return status;
        const double *slope = strata->stratum[l].slope;
        for (size_t i = 0; i < K; i++)
            for (size_t j = 0; j < K; j++)
                strata->seen[i * K + j] += fabs(slope[i] - slope[j]);
    }
    return MOEG_OK;
}

static moeg_status make_balance(const char *function, const moeg_frame *frame, size_t n, const double *gradients,
                                double *scratch, moeg_strata *strata)
{
    const moeg_frame_logits *logits = &frame->logits[0];
    pool p = {.r = frame->r};
    moeg_status status;
    if (n > 0) {
        status = add_gradients(function, frame, n, gradients, scratch, &p);
        if (status == MOEG_OK)
            status = check_gradients(function, logits, strata->elsewhere, scratch, &p);
    } else {
        status = add_stars(function, logits, scratch, &p);
        if (status == MOEG_OK)
            status = add_normals(function, logits, strata->elsewhere, scratch, &p);
    }
    if (status == MOEG_OK)
        status = fill_balance(function, frame, &p, strata);
    moeg_release(p.direction);
    return status;
}

/* A stratum for each pair; those of equal rows lie along the first axis, which is as good as any. */
static moeg_status make_pairs(const char *function, const moeg_frame *frame, double *normal, moeg_strata *strata)
{
    const size_t K = strata->K;
    strata->stratum = moeg_alloc_zero(K * (K - 1) / 2, sizeof *strata->stratum);
    if (strata->stratum == NULL)
        return moeg_fail_memory(function);
    strata->count = K * (K - 1) / 2;
    moeg_stratum *s = strata->stratum;
    for (size_t i = 0; i < K; i++)
        for (size_t j = i + 1; j < K; j++, s++) {
            s->i = i;
            s->j = j;
            if (!(pair_normal(&frame->logits[0], frame->r, i, j, normal) > 0)) {
                memset(normal, 0, frame->r * sizeof *normal);
                normal[0] = 1;
            }
            const moeg_status status = fill_stratum(function, frame, normal, s);
            if (status != MOEG_OK)
                return status;
        }
    return MOEG_OK;
}

static moeg_status make_whole(const char *function, const moeg_frame *frame, moeg_strata *strata)
{
    const double axis = 1;
    strata->stratum = moeg_alloc_zero(1, sizeof *strata->stratum);
    if (strata->stratum == NULL)
        return moeg_fail_memory(function);
    strata->count = 1;
    return fill_stratum(function, frame, &axis, strata->stratum);
}

moeg_status moeg_strata_init(const char *function, const moeg_frame *frame, moeg_sharing sharing,
                             const unsigned char *elsewhere, size_t n, const double *gradients, moeg_strata *strata)
{
    const moeg_frame_logits *logits = &frame->logits[0];
    const size_t K = logits->K;
    *strata = (moeg_strata){.sharing = sharing, .K = K, .r = frame->r, .constant = logits->constant};
    double *scratch = moeg_alloc(frame->r + frame->d + K, sizeof *scratch);
    moeg_status status = scratch == NULL ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK && elsewhere != NULL) {
        strata->elsewhere = moeg_alloc(K, sizeof *elsewhere);
        if (strata->elsewhere == NULL)
            status = moeg_fail_memory(function);
        else
            memcpy(strata->elsewhere, elsewhere, K * sizeof *elsewhere);
    }
    if (status == MOEG_OK)
        status = sharing == MOEG_SHARING_WHOLE  ? make_whole(function, frame, strata)
                 : sharing == MOEG_SHARING_PAIR ? make_pairs(function, frame, scratch, strata)
                                                : make_balance(function, frame, n, gradients, scratch, strata);
    moeg_release(scratch);
    if (status != MOEG_OK)
        moeg_strata_free(strata);
    return status;
}

void moeg_strata_free(moeg_strata *strata)
{
    for (size_t l = 0; l < strata->count; l++) {
        moeg_release(strata->stratum[l].direction);
        moeg_release(strata->stratum[l].slope);
        moeg_release(strata->stratum[l].tilt);
    }
    moeg_release(strata->stratum);
    moeg_release(strata->seen);
    moeg_release(strata->elsewhere);
    *strata = (moeg_strata){0};
}

double moeg_strata_share(const moeg_strata *strata, size_t l, size_t best, size_t i, size_t j)
{
    const moeg_stratum *s = &strata->stratum[l];
    if (strata->elsewhere != NULL && strata->elsewhere[best])
        return 0;
    if (strata->sharing == MOEG_SHARING_WHOLE)
        return 1;
    if (strata->sharing == MOEG_SHARING_PAIR)
        return (s->i == i && s->j == j) || (s->i == j && s->j == i) ? 1 : 0;
    const double seen = strata->seen[i * strata->K + j];
    return seen > 0 ? fabs(s->slope[i] - s->slope[j]) / seen : 1 / (double)strata->count;
}

int moeg_strata_sees(const moeg_strata *strata, size_t l, const moeg_ties *ties, size_t tie)
{
    const size_t *member = ties->member + tie * ties->size;
    for (size_t m = 0; m < ties->size; m++)
        for (size_t other = 0; other < ties->size; other++)
            if (other != m && moeg_strata_share(strata, l, member[m], member[m], member[other]) >= LEAST_SHARE)
                return 1;
    return 0;
}

double moeg_strata_level(const moeg_strata *strata, size_t l, size_t i, size_t j, double level)
{
    const double *tilt = strata->stratum[l].tilt;
    const size_t r = strata->r;
    const int parallel = memcmp(tilt + i * r, tilt + j * r, r * sizeof *tilt) == 0;
    return parallel ? fmax(strata->constant[i] - strata->constant[j], 0) : level;
}

void moeg_strata_lines(const moeg_strata *strata, size_t l, size_t stride, const double *u, double *alpha)
{
    moeg_kernel_affine(strata->K, strata->r, strata->stratum[l].tilt, strata->constant, stride, u, alpha);
}
