#include "line/ray.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "line/star.h"

#include <math.h>

/* Crossings: a_k - a_j = difference + (T_k - T_j).u + slope_j (t - e.u). */
static void set_crossings(const moeg_frame_logits *logits, moeg_ray *ray)
{
    const size_t r = ray->r, k = ray->cell;
    ray->flattest = INFINITY;
    for (size_t j = 0, at = 0; j < logits->K; j++) {
        if (j == k)
            continue;
        const double slope = ray->slope[at];
        double *tilt = ray->tilt + at * r;
        ray->level[at] = (logits->constant[j] - logits->constant[k]) / slope;
        for (size_t l = 0; l < r; l++)
            tilt[l] = ray->direction[l] + (logits->T[j * r + l] - logits->T[k * r + l]) / slope;
        ray->flattest = fmin(ray->flattest, slope);
        ray->steepest = fmax(ray->steepest, slope);
        at++;
    }
}

moeg_status moeg_ray_init(const char *function, const moeg_frame_logits *logits, size_t r, size_t k, moeg_ray *ray,
                          int *exists)
{
    const size_t losers = logits->K - 1;
    *ray = (moeg_ray){.cell = k, .losers = losers, .r = r};
    ray->direction = moeg_alloc(r, sizeof *ray->direction);
    ray->slope = moeg_alloc(losers, sizeof *ray->slope);
    ray->tilt = moeg_alloc(losers, r * sizeof *ray->tilt);
    ray->level = moeg_alloc(losers, sizeof *ray->level);
    moeg_status status = MOEG_OK;
    if (ray->direction == NULL || ray->slope == NULL || ray->tilt == NULL || ray->level == NULL)
        status = moeg_fail_memory(function);
    if (status == MOEG_OK)
        status = moeg_star_direction(function, logits->K, r, logits->T, k, ray->direction, ray->slope, exists);
    if (status == MOEG_OK && *exists)
        set_crossings(logits, ray);
    if (status != MOEG_OK)
        moeg_ray_free(ray);
    return status;
}

void moeg_ray_free(moeg_ray *ray)
{
    moeg_release(ray->direction);
    moeg_release(ray->slope);
    moeg_release(ray->tilt);
    moeg_release(ray->level);
    *ray = (moeg_ray){0};
}

void moeg_ray_lines(const moeg_ray *ray, size_t stride, const double *u, double *t, double *lag, uint32_t *active)
{
    moeg_kernel_affine(ray->losers, ray->r, ray->tilt, ray->level, stride, u, lag);
    for (size_t i = 0; i < stride; i++) {
        t[i] = lag[i];
        active[i] = 0;
    }
    for (size_t j = 1; j < ray->losers; j++)
        for (size_t i = 0; i < stride; i++)
            if (lag[j * stride + i] > t[i]) {
                t[i] = lag[j * stride + i];
                active[i] = (uint32_t)j;
            }
    for (size_t j = 0; j < ray->losers; j++)
        for (size_t i = 0; i < stride; i++)
            lag[j * stride + i] = t[i] - lag[j * stride + i];
}

double moeg_ray_reach(const moeg_ray *ray, size_t rank, double w, const double *lag, size_t step)
{
    /* The rank-th largest of w/slope_j - lag_j, for small ranks by selection: those above the last one taken, or equal
     * to it and not yet counted. */
    double bound = INFINITY;
    for (size_t taken = 0; taken < rank;) {
        double best = -INFINITY;
        size_t ties = 0;
        for (size_t j = 0; j < ray->losers; j++) {
            const double offset = w / ray->slope[j] - lag[j * step];
            if (offset < bound && offset >= best) {
                ties = offset == best ? ties + 1 : 1;
                best = offset;
            }
        }
        if (ties == 0) /* Rounding never brings this about; an infinite w does. */
            return bound;
        bound = best;
        taken += ties;
    }
    return bound;
}
