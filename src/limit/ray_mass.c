#include "limit/ray_mass.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/normal.h"
#include "base/tail.h"
#include "limit/line.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct masses {
    size_t rank, nw;
    const double *w;
} masses;

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
    (void)workspace;
    for (size_t j = 0; j < m->nw; j++)
        for (size_t i = 0; i < block->stride; i++) {
            const double reach = moeg_ray_reach(ray, m->rank, m->w[j], block->lag + i, block->stride) / 2;
            const double mass = reach > 0 ? moeg_normal_mass(block->t[i] + reach, reach) : 0;
            values[j * block->stride + i] = mass;
            /* Of higher ranks the reach is what is left of lags, right to the rounding of crossings. */
            const double lost =
                m->rank > 1 && mass > 0 ? (1 + fabs(block->t[i])) * moeg_normal_density(block->t[i]) : 0;
            errors[j * block->stride + i] = 16 * DBL_EPSILON * (mass + lost);
        }
}

moeg_status moeg_ray_estimate(const moeg_ray_result *result, size_t count, size_t j, double level, moeg_estimate *out)
{
    const double variance = result->covariance[j * count + j], value = result->value[j], error = result->error[j];
    *out = moeg_line_estimate(value, error, level);
    if (result->lines == 1)
        return MOEG_OK;
    out->std_error = sqrt(variance);
    out->n = out->contributing = result->lines;
    if (!(result->freedom[j] >= MOEG_ENOUGH_UNITS - 1)) {
        out->std_error = INFINITY;
        out->lo = -INFINITY;
        out->hi = INFINITY;
        return MOEG_EUNABLE;
    }
    const double reach = out->std_error * moeg_tail_student_reach(result->freedom[j], level);
    out->lo -= reach;
    out->hi += reach;
    return MOEG_OK;
}

/* r = 2: one width at a time, each with its own kinks. */
static moeg_status expect(const char *function, const moeg_rays *rays, size_t rank, size_t nw, const double *w,
                          const moeg_sampling *s, moeg_estimate *mass)
{
    const size_t together = rays->r == 2 ? 1 : nw;
    masses m = {.rank = rank, .nw = together};
    moeg_ray_quantity quantity = {
        .count = together, .workspace = no_workspace, .evaluate = evaluate_masses, .self = &m};
    moeg_status worst = MOEG_OK;
    for (size_t first = 0; first < nw; first += together) {
        moeg_ray_result result;
        m.w = w + first;
        quantity.shift = m.w[0];
        moeg_status status = moeg_rays_expect(function, rays, &quantity, s, &result);
        if (status < 0)
            return status;
        for (size_t j = 0; j < together; j++) {
            const moeg_status one = moeg_ray_estimate(&result, together, j, s->level, &mass[first + j]);
            mass[first + j].lo = fmax(mass[first + j].lo, 0);
            mass[first + j].hi = fmin(mass[first + j].hi, 1);
            status = status == MOEG_OK ? one : status;
        }
        moeg_ray_result_free(&result);
        worst = worst == MOEG_OK ? status : worst;
    }
    return worst;
}

moeg_status moeg_ray_mass(const char *function, const moeg_rays *rays, size_t rank, size_t nw, const double *w,
                          const moeg_sampling *s, moeg_estimate *mass)
{
    moeg_estimate *all = moeg_alloc(nw, sizeof *all);
    if (all == NULL)
        return moeg_fail_memory(function);
    moeg_status status = MOEG_OK;
    for (size_t j = 0; j < nw; j++)
        all[j] = moeg_line_estimate(0, 0, s->level);
    if (rank < rays->cells)
        status = expect(function, rays, rank, nw, w, s, all);
    if (status >= 0)
        memcpy(mass, all, nw * sizeof *mass);
    moeg_release(all);
    return status;
}
