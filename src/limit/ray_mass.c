#include "limit/ray_mass.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/normal.h"
#include "base/rounds.h"
#include "limit/line.h"
#include "limit/ray_estimate.h"
#include "line/envelope.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct masses {
    moeg_gap gap;
    size_t r, nw;
    const double *w, *scale; /* (nw): masses times these are what lines have */
    const moeg_sampling *s;
} masses;

/* A power of two that brings a mass of the order of w^rank near 1: of errors fourth powers are formed. */
static double scale_of(double w, size_t rank)
{
    const double magnitude = w > 0 && w < 1 ? -(double)rank * ilogb(w) : 0;
    return ldexp(1, (int)fmin(magnitude, 1000));
}

static size_t no_workspace(const void *self, const moeg_ray *ray, size_t stride)
{
    (void)self;
    (void)ray;
    (void)stride;
    return 0;
}

/* From t on, up to where the loser of this rank is w below. */
static void evaluate_masses(const void *self, const moeg_ray *ray, const moeg_ray_block *block, double *workspace,
                            double *values, double *errors)
{
    const masses *m = self;
    const size_t rank = m->gap.lower - 1;
    (void)workspace;
    for (size_t j = 0; j < m->nw; j++)
        for (size_t i = 0; i < block->stride; i++) {
            const double reach = moeg_ray_reach(ray, rank, m->w[j], block->lag + i, block->stride);
            const double mass = reach > 0 ? m->scale[j] * moeg_normal_interval(block->t[i], reach) : 0;
            values[j * block->stride + i] = mass;
            /* Of higher ranks the reach is what is left of lags, right to the rounding of crossings. */
            const double lost =
                rank > 1 && mass > 0 ? m->scale[j] * (1 + fabs(block->t[i])) * moeg_normal_density(block->t[i]) : 0;
            errors[j * block->stride + i] = 16 * DBL_EPSILON * (mass + lost);
        }
}

static size_t line_workspace(const void *self, const moeg_strata *strata, size_t stride)
{
    (void)self;
    (void)stride;
    return moeg_envelope_size(strata->K);
}

/* P(from <= T <= from + length), or on the other side of it, length < 0. */
static double interval_mass(double from, double length)
{
    return length > 0 ? moeg_normal_interval(from, length) : moeg_normal_interval(-from, -length);
}

/* The mass of {gap <= w} on a piece: from the end where the gap is least up to where it is w, or all of it. *lost: the
 * density at an end that is what is left of two lengths, hence right to their rounding. */
static double piece_mass(const moeg_envelope *e, const moeg_envelope_gap *gap, double w, double *lost)
{
    *lost = 0;
    if (gap->slope == 0)
        return gap->level > w ? 0 : moeg_normal_between(e->lo, e->hi);
    const int rises = gap->slope > 0;
    const double from = rises ? e->lo : e->hi, slope = fabs(gap->slope);
    const double lag = fmax(rises ? from - gap->crossing : gap->crossing - from, 0);
    const double reach = w / slope - lag, length = fmin(reach, e->hi - e->lo);
    if (!(reach > 0 || (reach == 0 && w > 0)) || isinf(from))
        return 0;
    const double end = rises ? from + length : from - length;
    if ((lag > 0 || length < reach) && isfinite(end))
        *lost = (1 + fabs(end)) * moeg_normal_density(end);
    if (length < reach)
        return moeg_normal_between(e->lo, e->hi);
    if (length <= fabs(from))
        return interval_mass(from, rises ? length : -length);
    *lost += fabs(from) * moeg_normal_density(end);
    return rises ? moeg_normal_between(from, end) : moeg_normal_between(end, from);
}

static void add_line(const masses *m, const moeg_strata *strata, size_t l, moeg_envelope *e, size_t step,
                     double *values, double *errors)
{
    do {
        const uint32_t i = e->order[m->gap.upper - 1], k = e->order[m->gap.lower - 1];
        const double share = moeg_strata_share(strata, l, e->order[0], i, k);
        moeg_envelope_gap gap = moeg_envelope_gap_of(e, m->gap.upper, m->gap.lower);
        if (gap.slope == 0)
            gap.level = moeg_strata_level(strata, l, i, k, gap.level);
        for (size_t j = 0; j < m->nw && share > 0; j++) {
            double lost;
            const double mass = piece_mass(e, &gap, m->w[j], &lost), weight = m->scale[j] * share;
            values[j * step] += weight * mass;
            errors[j * step] += 16 * DBL_EPSILON * weight * (mass + lost);
        }
    } while (moeg_envelope_next(e));
}

static void evaluate_lines(const void *self, const moeg_strata *strata, size_t l, const moeg_line_block *block,
                           double *workspace, double *values, double *errors)
{
    const masses *m = self;
    moeg_envelope e;
    moeg_envelope_init(&e, strata->K, m->gap.lower, strata->stratum[l].slope, workspace);
    memset(values, 0, m->nw * block->stride * sizeof *values);
    memset(errors, 0, m->nw * block->stride * sizeof *errors);
    for (size_t i = 0; i < block->stride; i++) {
        moeg_envelope_start(&e, block->alpha + i, block->stride);
        add_line(m, strata, l, &e, block->stride, values + i, errors + i);
    }
}

/* The mass from its estimate times `scale`: a mean over lines may come out above 1, the mass that is reported not. */
static void unscale(double scale, moeg_estimate *mass)
{
    mass->value = mass->value > scale ? 1 : mass->value / scale; /* NaN, of a canceled run, stays NaN. */
    mass->std_error /= scale;
    mass->quad_error /= scale;
    mass->lo = fmin(fmax(mass->lo / scale, 0), 1);
    mass->hi = fmin(mass->hi / scale, 1);
}

/* Of masses of higher order, w^rank, hardly a line sees any where w is small. Where more experts tie than the logits
 * have dimensions, a mass of 0 is no accident. */
static moeg_status estimate(const masses *m, const moeg_ray_result *result, size_t j, moeg_estimate *mass)
{
    const size_t rank = m->gap.lower - m->gap.upper;
    const int rare = rank >= 2 && rank <= m->r && m->w[j] > 0;
    const moeg_status status = moeg_ray_estimate(result, m->nw, j, rare, m->s->level, mass);
    unscale(m->scale[j], mass);
    return status;
}

static double excess(const void *self, moeg_ray_result *result)
{
    const masses *m = self;
    double most = 0;
    for (size_t j = 0; j < m->nw; j++) {
        moeg_estimate mass;
        estimate(m, result, j, &mass);
        most = fmax(most, moeg_tolerance_excess(m->s, 1, &mass));
    }
    return most;
}

/* r = 2: one width at a time, each with its own kinks. */
static moeg_status expect(const char *function, const moeg_rays *rays, moeg_gap gap, size_t nw, const double *w,
                          const double *scale, const moeg_sampling *s, moeg_estimate *mass)
{
    const size_t together = rays->r == 2 ? 1 : nw;
    masses m = {.gap = gap, .r = rays->r, .nw = together, .s = s};
    moeg_ray_quantity quantity = {
        .count = together,
        .workspace = no_workspace,
        .evaluate = evaluate_masses,
        .line_workspace = line_workspace,
        .line_evaluate = evaluate_lines,
        .self = &m,
        .excess = excess,
        .gap = gap,
        .alike = 1,
    };
    moeg_status worst = MOEG_OK;
    for (size_t first = 0; first < nw; first += together) {
        moeg_ray_result result;
        m.w = w + first;
        m.scale = scale + first;
        quantity.shift = m.w[0];
        moeg_status status = moeg_rays_expect(function, rays, &quantity, s, &result);
        if (status < 0)
            return status;
        for (size_t j = 0; j < together; j++) {
            const moeg_status one = estimate(&m, &result, j, &mass[first + j]);
            status = status == MOEG_OK ? one : status;
        }
        moeg_ray_result_free(&result);
        worst = worst == MOEG_OK ? status : worst;
    }
    return worst;
}

moeg_status moeg_ray_mass(const char *function, const moeg_rays *rays, moeg_gap gap, size_t nw, const double *w,
                          const moeg_sampling *s, moeg_estimate *mass)
{
    moeg_estimate *all = moeg_alloc(nw, sizeof *all);
    double *scale = moeg_alloc(nw, sizeof *scale);
    moeg_status status = all == NULL || scale == NULL ? moeg_fail_memory(function) : MOEG_OK;
    for (size_t j = 0; j < nw && status == MOEG_OK; j++) {
        all[j] = moeg_line_estimate(0, 0, s->level);
        scale[j] = scale_of(w[j], gap.lower - gap.upper);
    }
    if (status == MOEG_OK && gap.lower <= rays->frame.logits[0].K)
        status = expect(function, rays, gap, nw, w, scale, s, all);
    moeg_ray_explain(function, status, s->n, nw, all);
    if (status >= 0)
        memcpy(mass, all, nw * sizeof *mass);
    moeg_release(all);
    moeg_release(scale);
    return status;
}
