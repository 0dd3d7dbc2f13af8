/* The leading term of the gap on one side of an interface, the limit of gap/tau on a line: with the loser that ties and
 * its slope s, contrast delta, residual r and jump J = (m_k - m_j) of the teacher,
 *
 *     density(t)/s { (ln 2 - 1/2) |delta|^2 + 2 ln 2 delta.r },      loss mixing: density(t)/s ln 2 delta.(delta + 2
 * r),
 *
 * the integrals of g and g^2 over w > 0, g = 1/(1 + e^w), being ln 2 and ln 2 - 1/2. From the other side delta is
 * -delta and r is r + delta + J: both add up to 2 ln 2 J.delta - |delta|^2, delta = f_k - f_j, or without the square.
 * One half of that is `lead`; what is left, of mean 0, is `control`. */
#include "limit/ray_gap.h"

#include "base/normal.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double LN_2 = 0.693147180559945309417;

/* Sums over outputs of one line: products of the contrast, and of their magnitudes. */
typedef struct products {
    double square, residual, jump, jump_size, residual_size;
} products;

static products multiply(const moeg_ray_risk *risk, const moeg_ray *ray, size_t j, size_t stride, size_t i,
                         moeg_ray_crossing *at)
{
    const size_t m = risk->m, losers = ray->losers, constants = risk->constants;
    const moeg_ray_outputs *o = &risk->outputs[ray->cell];
    products p = {.jump = o->fixed_jump[j], .jump_size = fabs(o->fixed_jump[j])};
    for (size_t l = 0; l < m; l++) {
        const double delta = at->outputs[(j * m + l) * stride + i], r = at->outputs[(losers * m + l) * stride + i];
        const double jump = risk->pieces ? at->outputs[((losers + 1 + j) * m + l) * stride + i] : 0;
        at->tied[l * stride + i] = delta;
        p.square += delta * delta;
        p.residual += delta * r;
        p.jump += delta * jump;
        p.residual_size += fabs(delta * r);
        p.jump_size += fabs(delta * jump);
    }
    for (size_t l = 0; l < constants; l++) {
        const double delta = o->fixed[j * constants + l], r = o->fixed[losers * constants + l];
        at->tied[(m + l) * stride + i] = delta;
        p.square += delta * delta;
        p.residual += delta * r;
        p.residual_size += fabs(delta * r);
    }
    return p;
}

void moeg_ray_lead(const moeg_ray_risk *risk, moeg_mixing mixing, const moeg_ray *ray, const moeg_ray_block *block,
                   moeg_ray_crossing *at)
{
    const size_t stride = block->stride;
    for (size_t i = 0; i < stride; i++) {
        const size_t j = block->active[i];
        const double t = block->t[i], factor = moeg_normal_density(t) / ray->slope[j];
        const products p = multiply(risk, ray, j, stride, i, at);
        at->number[i] = (double)j;
        at->lead[i] = factor * (LN_2 * p.jump - (mixing == MOEG_MIX_OUTPUT ? p.square / 2 : 0));
        at->control[i] = factor * LN_2 * (p.square + 2 * p.residual - p.jump);
        const double rounding = factor > 0 ? 8 * DBL_EPSILON * (1 + t * t) * factor : 0;
        at->lead_error[i] = rounding * (p.jump_size + (mixing == MOEG_MIX_OUTPUT ? p.square : 0));
        at->control_error[i] = rounding * (p.jump_size + p.square + 2 * p.residual_size);
        if (mixing == MOEG_MIX_LOSS) /* What the kernel wants is the excess. */
            at->tied[i] = p.square + 2 * p.residual;
    }
}
