#include <moegeom/surface.h>

#include "base/error.h"
#include "base/memory.h"
#include "limit/boundary_pairwise.h"
#include "limit/check.h"
#include "limit/line.h"
#include "limit/ray_estimate.h"
#include "limit/surface_points.h"
#include "line/crowded.h"
#include "model/model.h"

#include <string.h>

/* L Q': x moves by it with a point of the row space. */
static void fill_map(const moeg_frame *frame, double *map)
{
    const size_t d = frame->d, r = frame->r;
    for (size_t c = 0; c < d; c++)
        for (size_t l = 0; l < r; l++) {
            map[c * r + l] = frame->factor == NULL ? frame->Q[l * d + c] : 0;
            for (size_t e = 0; frame->factor != NULL && e < d; e++)
                map[c * r + l] += frame->factor[c * d + e] * frame->Q[l * d + e];
        }
}

/* The status of a run that wrote the result, or that ended because q failed. */
static moeg_status judge(const char *function, const moeg_surface *surface, moeg_status status, moeg_ray_result *result)
{
    moeg_status worse = status;
    if (atomic_load(&surface->what[0]) != 0)
        worse = moeg_fail(MOEG_ECALLBACK, "%s: q returned %d", function, atomic_load(&surface->what[0]));
    else if (atomic_load(&surface->what[1]) != 0)
        worse = moeg_fail(MOEG_EDOM, "%s: two experts tie everywhere where they have the ranks %zu and %zu", function,
                          surface->k, surface->k + 1);
    else if (atomic_load(&surface->what[2]) != 0)
        worse = moeg_fail(MOEG_EDOM, "%s: more than two experts tie wherever two that do have the ranks %zu and %zu",
                          function, surface->k, surface->k + 1);
    if (worse < 0 && status >= 0)
        moeg_ray_result_free(result);
    return worse;
}

static moeg_status read(const char *function, const moeg_surface *surface, const moeg_sampling *s,
                        const moeg_ray_result *result, moeg_status status, moeg_estimate *all)
{
    moeg_status worst = status;
    for (size_t j = 0; j < surface->count; j++) {
        const moeg_status one = moeg_ray_estimate(result, surface->count, j, surface->q != NULL, s->level, &all[j]);
        worst = worst == MOEG_OK ? one : worst;
    }
    moeg_ray_explain(function, worst, s->n, surface->count, all);
    if (worst == MOEG_ECANCELED)
        moeg_fail(worst, "%s: canceled by the progress callback", function);
    return worst;
}

static moeg_status integrate(const char *function, const moeg_law *law, const moeg_sampling *s, moeg_surface *surface,
                             moeg_estimate *all)
{
    const moeg_frame *frame = &surface->rays->frame;
    atomic_int what[3] = {0, 0, 0};
    moeg_ray_result result;
    surface->what = what;
    surface->d = moeg_law_dim(law);
    surface->extra = surface->q != NULL && frame->r < frame->d ? frame->d : 0;
    surface->map = moeg_alloc(frame->d, frame->r * sizeof *surface->map);
    moeg_status status = surface->map == NULL ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK)
        status = moeg_crowded_pairs(function, frame, &surface->third);
    if (status == MOEG_OK) {
        fill_map(frame, surface->map);
        const moeg_ray_quantity quantity = moeg_surface_quantity(surface);
        status = judge(function, surface, moeg_rays_expect(function, surface->rays, &quantity, s, &result), &result);
        if (status >= 0) {
            status = read(function, surface, s, &result, status, all);
            moeg_ray_result_free(&result);
        }
    }
    moeg_release(surface->third);
    moeg_release(surface->map);
    return status;
}

static moeg_status check(const char *function, const moeg_router *router, size_t k, const moeg_law *law,
                         const moeg_sampling *s)
{
    moeg_status status = moeg_check_router_law(function, router, law);
    if (status == MOEG_OK && !(k >= 1 && k < moeg_router_experts(router)))
        status = moeg_fail(MOEG_EINVAL, "%s: k must be at least 1 and below K = %zu, got %zu", function,
                           moeg_router_experts(router), k);
    if (status == MOEG_OK)
        status = moeg_sampling_check(s);
    if (status == MOEG_OK && s->method == MOEG_METHOD_MC)
        status = moeg_fail(MOEG_EUNSUPPORTED, "%s: no row lies on an interface: method must be auto or line, got mc",
                           function);
    if (status == MOEG_OK && moeg_router_live(router) < k)
        status = moeg_fail(MOEG_EDOM, "%s: the router masks all but %zu experts, fewer than k = %zu", function,
                           moeg_router_live(router), k);
    return status;
}

/* After the checks. */
static moeg_status run(const char *function, const moeg_router *router, const moeg_law *law, const moeg_sampling *s,
                       moeg_surface *surface, moeg_estimate *all)
{
    moeg_rays rays;
    const char *why;
    const moeg_gap gap = {surface->k, surface->k + 1};
    moeg_status status = moeg_rays_init_gap(function, router, law, gap, s, &rays, &why);
    if (status != MOEG_OK)
        return status;
    surface->rays = &rays;
    for (size_t j = 0; j < surface->count; j++)
        all[j] = moeg_line_estimate(0, 0, s->level);
    if (moeg_frame_refusal(router, law) != NULL)
        status = moeg_fail(MOEG_EUNSUPPORTED, "%s: %s", function, why);
    else if (gap.lower <= rays.frame.logits[0].K)
        status = integrate(function, law, s, surface, all);
    moeg_rays_free(&rays);
    return status;
}

moeg_status moeg_surface_integral(const moeg_router *router, size_t k, const moeg_law *law, size_t count,
                                  moeg_surface_function q, void *user, const moeg_sampling *s, moeg_estimate *integral)
{
    static const char function[] = "surface_integral";
    moeg_status status = check(function, router, k, law, s);
    if (status == MOEG_OK && count == 0)
        status = moeg_fail(MOEG_EINVAL, "%s: count must be at least 1, got 0", function);
    if (status == MOEG_OK && q == NULL && count > 1)
        status = moeg_fail(MOEG_EINVAL, "%s: count must be 1 if q is NULL, got %zu", function, count);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "integral", integral);
    if (status != MOEG_OK)
        return status;
    moeg_surface surface = {.k = k, .count = count, .q = q, .user = user};
    moeg_estimate *all = moeg_alloc(count, sizeof *all);
    if (all == NULL)
        return moeg_fail_memory(function);
    status = run(function, router, law, s, &surface, all);
    if (status >= 0)
        memcpy(integral, all, count * sizeof *all);
    moeg_release(all);
    return status;
}

/* An estimate times a factor > 0. */
static moeg_estimate scaled(moeg_estimate e, double factor)
{
    e.value *= factor;
    e.std_error *= factor;
    e.lo *= factor;
    e.hi *= factor;
    e.quad_error *= factor;
    return e;
}

static moeg_status find_slope(const char *function, const moeg_router *router, size_t k, const moeg_law *law,
                              const moeg_sampling *s, moeg_estimate *slope)
{
    moeg_surface surface = {.k = k, .count = 1};
    moeg_estimate one;
    const moeg_status status = run(function, router, law, s, &surface, &one);
    if (status >= 0) {
        *slope = scaled(one, 2);
        slope->lo = fmax(slope->lo, 0);
    }
    return status;
}

moeg_status moeg_surface_slope(const moeg_router *router, size_t k, const moeg_law *law, const moeg_sampling *s,
                               moeg_estimate *slope)
{
    static const char function[] = "surface_slope";
    moeg_status status = check(function, router, k, law, s);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "slope", slope);
    return status == MOEG_OK ? find_slope(function, router, k, law, s, slope) : status;
}

moeg_status moeg_surface_slack(const moeg_router *router, const moeg_law *law, const moeg_sampling *s,
                               moeg_estimate *slack)
{
    static const char function[] = "surface_slack";
    double bound;
    moeg_estimate slope;
    moeg_status status = check(function, router, 1, law, s);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "slack", slack);
    if (status == MOEG_OK)
        status = moeg_pairwise_slope(function, router, law, &bound);
    if (status == MOEG_OK)
        status = find_slope(function, router, 1, law, s, &slope);
    if (status < 0)
        return status;
    if (isnan(slope.value)) { /* Of a canceled run. */
        *slack = slope;
        return status;
    }
    if (!(slope.value > 0))
        return moeg_fail(MOEG_EDOM, "%s: the boundary mass has no slope", function);
    /* First order: the bound is exact to rounding. */
    const double ratio = bound / slope.value, share = ratio / slope.value;
    *slack = slope;
    slack->value = fmax(ratio, 1);
    slack->std_error = slope.std_error * share;
    slack->quad_error = slope.quad_error * share;
    slack->lo = fmax(bound / slope.hi, 1);
    slack->hi = fmax(bound / slope.lo, 1);
    return status;
}
