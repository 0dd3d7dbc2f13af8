/* Rows of the gates TOPK_RENORM, TOPK_RAW and SUBSET: the plain loops. With h = sum_k g_k(0) f_k the hard output,
 * phi_k = f_k - h, r = h - y, c = g(tau) - g(0) without cancellation, and s = sum_k c_k (0 but for TOPK_RAW, whose
 * gates lose what the experts left out have):
 *
 *   output mixing:  D = sum_k c_k phi_k + s h,   hard = |r|^2,   gap = D.(D + 2 r),   soft = |r + D|^2
 *   loss mixing:    l_k = |f_k - y|^2,   hard = sum_k g_k(0) l_k,   gap = sum_k c_k (l_k - |r|^2) + s (hard + sigma^2)
 *
 * in the last of which |r|^2 may stand for hard, as s = 0 where they differ; sigma^2 is the teacher's noise, which all
 * the l_k have besides. */
#include "limit/risk_job.h"

#include "model/model.h"

#include <math.h>

/* r and, in r->below, h; in r->contrast phi, 0 where an expert is masked. The hard gates stand in r->gate. */
static void centre_outputs(const moeg_risk_context *c, moeg_risk_rows *r)
{
    const size_t stride = r->stride;
    for (size_t j = 0; j < c->m; j++)
        for (size_t i = 0; i < stride; i++) {
            double h = 0;
            /* Left out where the gate is 0, not multiplied by it: there f may have overflowed. */
            for (size_t k = 0; k < c->K; k++)
                if (r->gate[k * stride + i] != 0)
                    h += r->gate[k * stride + i] * r->outputs[(k * c->m + j) * stride + i];
            for (size_t k = 0; k < c->K; k++) {
                const size_t at = (k * c->m + j) * stride + i;
                r->contrast[at] = r->logits[k * stride + i] == -INFINITY ? 0 : r->outputs[at] - h;
            }
            r->below[j * stride + i] = h;
            r->residual[j * stride + i] = h - r->target[j * stride + i];
        }
}

/* |r|^2, and for loss mixing what the active experts scatter around h; in r->excess then l_k - |r|^2. */
static void evaluate_hard(const moeg_risk_context *c, moeg_risk_rows *r)
{
    const size_t stride = r->stride;
    for (size_t i = 0; i < stride; i++) {
        double hard = 0, scatter = 0;
        for (size_t j = 0; j < c->m; j++)
            hard += r->residual[j * stride + i] * r->residual[j * stride + i];
        for (size_t k = 0; k < c->K && c->mixing == MOEG_MIX_LOSS; k++) {
            double square = 0, excess = 0;
            for (size_t j = 0; j < c->m; j++) {
                const double phi = r->contrast[(k * c->m + j) * stride + i];
                square += phi * phi;
                excess += phi * (phi + 2 * r->residual[j * stride + i]);
            }
            scatter += r->gate[k * stride + i] * square;
            r->excess[k * stride + i] = excess;
        }
        r->values[i] = hard + scatter;
    }
}

/* Gap and soft risk of unit i from the changes of its gates, whose sum stands in r->spare. */
static void mix_row(const moeg_risk_context *c, const moeg_risk_rows *r, size_t i, double *gap, double *soft)
{
    const size_t stride = r->stride;
    const double lost = r->spare[i];
    *gap = *soft = 0;
    if (c->mixing == MOEG_MIX_LOSS) {
        for (size_t k = 0; k < c->K; k++)
            *gap += r->gate[k * stride + i] * r->excess[k * stride + i];
        *gap += lost * (r->values[i] + c->noise);
        *soft = r->values[i] + *gap;
        return;
    }
    for (size_t j = 0; j < c->m; j++) {
        double D = lost * r->below[j * stride + i];
        for (size_t k = 0; k < c->K; k++)
            D += r->gate[k * stride + i] * r->contrast[(k * c->m + j) * stride + i];
        const double residual = r->residual[j * stride + i], error = residual + D;
        *gap += D * (D + 2 * residual);
        *soft += error * error;
    }
}

/* tau dG/dtau of unit i: with c' = tau dc/dtau in the place of c, of output mixing 2 D'.(D + r), D + r being what the
 * soft output is off the mean; of loss mixing, which is linear in c, the gap's own sum. */
static double slope_row(const moeg_risk_context *c, const moeg_risk_rows *r, size_t i)
{
    const size_t stride = r->stride;
    const double lost = r->spare[i], losing = r->winner[i];
    double slope = 0;
    if (c->mixing == MOEG_MIX_LOSS) {
        for (size_t k = 0; k < c->K; k++)
            slope += r->slope[k * stride + i] * r->excess[k * stride + i];
        return slope + losing * (r->values[i] + c->noise);
    }
    for (size_t j = 0; j < c->m; j++) {
        double D = lost * r->below[j * stride + i], moving = losing * r->below[j * stride + i];
        for (size_t k = 0; k < c->K; k++) {
            const double contrast = r->contrast[(k * c->m + j) * stride + i];
            D += r->gate[k * stride + i] * contrast;
            moving += r->slope[k * stride + i] * contrast;
        }
        slope += 2 * moving * (D + r->residual[j * stride + i]);
    }
    return slope;
}

/* A temperature: the changes of the gates in r->gate, then row by row. */
static void evaluate_temperature(const moeg_risk_context *c, moeg_risk_rows *r, size_t t)
{
    const size_t at = c->order[t], stride = r->stride;
    const double tau = c->tau[at];
    double *gap = r->values + (1 + at) * stride, *soft = r->soft + at * stride;
    if (tau > 0)
        moeg_deviation_block(c->gate, c->K, stride, r->logits, tau, r->gate, r->spare, r->scratch);
    if (tau > 0 && c->slope)
        moeg_slope_block(c->gate, c->K, stride, r->logits, tau, r->slope, r->winner, r->scratch);
    r->felt[t] = 0;
    for (size_t i = 0; i < stride; i++) {
        const int felt = tau > 0 && r->margin[i < r->n ? i : r->n - 1] <= MOEG_FELT * tau;
        const int summed = felt || (tau > 0 && c->exact);
        gap[i] = 0;
        soft[i] = r->values[i];
        if (summed && c->slope)
            gap[i] = slope_row(c, r, i);
        else if (summed)
            mix_row(c, r, i, gap + i, soft + i);
        if (felt && i < r->n) {
            const double v = exp(-r->margin[i] / tau) * (r->share == NULL ? 1 : r->share[i]);
            r->felt[t]++;
            r->weight[2 * at] += v;
            r->weight[2 * at + 1] += v * v;
        }
    }
}

void moeg_risk_evaluate_gates(const moeg_risk_context *c, moeg_risk_rows *r)
{
    for (size_t t = 0; t < 2 * c->ntau; t++)
        r->weight[t] = 0;
    moeg_gates_block(c->gate, c->K, r->stride, r->logits, 0, r->gate, r->scratch);
    centre_outputs(c, r);
    evaluate_hard(c, r);
    for (size_t t = 0; t < c->ntau; t++)
        evaluate_temperature(c, r, t);
}
