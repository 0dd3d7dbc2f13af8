#include "line/sampler.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"

#include <string.h>

void moeg_rays_free(moeg_rays *rays)
{
    for (size_t k = 0; k < rays->cells; k++)
        moeg_ray_free(&rays->ray[k]);
    moeg_release(rays->ray);
    moeg_strata_free(&rays->lines);
    moeg_frame_free(&rays->frame);
    *rays = (moeg_rays){0};
}

/* The rays of the cells that have a star; which ones, in `has_ray` (K). */
static moeg_status make_rays(const char *function, moeg_rays *rays, unsigned char *has_ray)
{
    const moeg_frame_logits *logits = &rays->frame.logits[0];
    rays->ray = moeg_alloc_zero(logits->K, sizeof *rays->ray);
    if (rays->ray == NULL)
        return moeg_fail_memory(function);
    moeg_status status = MOEG_OK;
    for (size_t k = 0; k < logits->K && status == MOEG_OK; k++) {
        int exists = 0;
        moeg_ray *ray = &rays->ray[rays->cells];
        status = moeg_ray_init(function, logits, rays->r, k, ray, &exists);
        has_ray[k] = exists != 0;
        if (status == MOEG_OK && exists)
            rays->cells++;
        else
            moeg_ray_free(ray);
    }
    return status;
}

/* Lines for what rays leave. In one dimension there is one line, which sees everything; in two a tie that is at the
 * same t on every line wants the least of a quadrature. */
static moeg_status make_lines(const char *function, moeg_rays *rays, const unsigned char *has_ray, size_t n,
                              const double *directions)
{
    const moeg_sharing sharing = rays->r < 2            ? MOEG_SHARING_WHOLE
                                 : rays->r > 2 || n > 0 ? MOEG_SHARING_BALANCE
                                                        : MOEG_SHARING_PAIR;
    return moeg_strata_init(function, &rays->frame, sharing, has_ray, n, directions, &rays->lines);
}

static moeg_status make_strata(const char *function, int with_rays, size_t n, const double *directions, moeg_rays *rays)
{
    const size_t K = rays->frame.logits[0].K;
    if (!with_rays)
        return make_lines(function, rays, NULL, n, directions);
    unsigned char *has_ray = moeg_alloc(K, sizeof *has_ray);
    if (has_ray == NULL)
        return moeg_fail_memory(function);
    moeg_status status = make_rays(function, rays, has_ray);
    if (status == MOEG_OK && rays->cells < K)
        status = make_lines(function, rays, has_ray, 0, NULL);
    moeg_release(has_ray);
    return status;
}

static moeg_status make_frame(const char *function, const moeg_router *router, const moeg_law *law, moeg_rays *rays,
                              const char **refusal)
{
    *rays = (moeg_rays){0};
    *refusal = moeg_frame_refusal(router, law);
    if (*refusal != NULL)
        return MOEG_OK;
    const moeg_status status = moeg_frame_init(function, 1, &router, law, &rays->frame);
    rays->r = rays->frame.r;
    if (status == MOEG_OK && rays->frame.logits[0].K < 2)
        *refusal = "all experts but one are masked";
    return status;
}

moeg_status moeg_rays_init(const char *function, const moeg_router *router, const moeg_law *law, moeg_rays *rays,
                           const char **refusal)
{
    moeg_status status = make_frame(function, router, law, rays, refusal);
    if (status == MOEG_OK && *refusal == NULL && rays->r == 0)
        *refusal = "the logits do not vary";
    if (status == MOEG_OK && *refusal == NULL)
        status = make_strata(function, 1, 0, NULL, rays);
    if (status != MOEG_OK)
        moeg_rays_free(rays);
    return status;
}

static moeg_status check_directions(const char *function, size_t d, const moeg_sampling *s)
{
    return s->directions == NULL ? MOEG_OK
                                 : moeg_check_rows(function, "directions", s->direction_count, d, s->directions);
}

moeg_status moeg_rays_init_gap(const char *function, const moeg_router *router, const moeg_law *law, moeg_gap gap,
                               const moeg_sampling *s, moeg_rays *rays, const char **refusal)
{
    moeg_status status = make_frame(function, router, law, rays, refusal);
    if (status == MOEG_OK && *refusal == NULL)
        status = check_directions(function, rays->frame.d, s);
    if (status == MOEG_OK && *refusal == NULL)
        status = make_strata(function, gap.upper == 1 && rays->r > 0 && s->directions == NULL, s->direction_count,
                             s->directions, rays);
    if (status != MOEG_OK)
        moeg_rays_free(rays);
    return status;
}

size_t moeg_rays_layout(const moeg_rays *rays, size_t stratum, const moeg_ray_quantity *quantity, size_t stride,
                        double *base, moeg_ray_buffers *buffers)
{
    size_t used = 0;
    *buffers = (moeg_ray_buffers){.stride = stride, .u = moeg_take(base, &used, (rays->r + quantity->extra) * stride)};
    buffers->values = moeg_take(base, &used, (quantity->count + 1) * stride);
    buffers->errors = moeg_take(base, &used, (quantity->count + 1) * stride);
    if (stratum < rays->cells) {
        const moeg_ray *ray = &rays->ray[stratum];
        buffers->block = (moeg_ray_block){
            .stride = stride,
            .u = buffers->u,
            .t = moeg_take(base, &used, stride),
            .lag = moeg_take(base, &used, ray->losers * stride),
            .active = (uint32_t *)moeg_take(base, &used, stride),
        };
        buffers->scratch = moeg_take(base, &used, quantity->workspace(quantity->self, ray, stride));
    } else {
        buffers->lines = (moeg_line_block){
            .stride = stride,
            .u = buffers->u,
            .alpha = moeg_take(base, &used, rays->lines.K * stride),
        };
        buffers->scratch = moeg_take(base, &used, quantity->line_workspace(quantity->self, &rays->lines, stride));
    }
    return used;
}

size_t moeg_rays_room(const moeg_rays *rays, const moeg_ray_quantity *quantity, size_t stride)
{
    size_t most = 0;
    /* All strata of lines take the same. */
    for (size_t k = 0; k < rays->cells + (rays->lines.count > 0); k++) {
        moeg_ray_buffers buffers;
        const size_t size = moeg_rays_layout(rays, k, quantity, stride, NULL, &buffers);
        most = size > most ? size : most;
    }
    return most;
}

void moeg_rays_evaluate(const moeg_rays *rays, size_t stratum, const moeg_ray_quantity *quantity,
                        moeg_ray_buffers *buffers)
{
    if (stratum < rays->cells) {
        const moeg_ray *ray = &rays->ray[stratum];
        const moeg_ray_block *b = &buffers->block;
        moeg_ray_lines(ray, b->stride, b->u, b->t, b->lag, b->active);
        quantity->evaluate(quantity->self, ray, b, buffers->scratch, buffers->values, buffers->errors);
        return;
    }
    const size_t l = stratum - rays->cells;
    const moeg_line_block *b = &buffers->lines;
    moeg_strata_lines(&rays->lines, l, b->stride, b->u, b->alpha);
    quantity->line_evaluate(quantity->self, &rays->lines, l, b, buffers->scratch, buffers->values, buffers->errors);
}
