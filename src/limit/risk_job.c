#include <moegeom/estimate.h>
#include <moegeom/job.h>

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "limit/check.h"
#include "limit/risk_job.h"
#include "limit/risk_result.h"
#include "model/model.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* State: the covariance of (hard, gaps), the moments of the soft risks, or both with weights, the rows that felt each
 * tau, and the sums of their weights v = |gap of the row| and v^2. */
moeg_risk_parts moeg_risk_state_parts(size_t ntau, int weighted)
{
    const size_t covariance = weighted ? moeg_weighted_size(1 + ntau) : moeg_covariance_size(1 + ntau);
    const size_t moments = weighted ? moeg_weighted_size(ntau) : moeg_moments_size(ntau);
    return (moeg_risk_parts){.soft = covariance,
                             .felt = covariance + moments,
                             .weight = covariance + moments + ntau,
                             .size = covariance + moments + 3 * ntau};
}

moeg_status moeg_risk_report(const moeg_risk_context *c, const moeg_risk_rows *r, uint64_t first, size_t row)
{
    const uint64_t sample = first + row;
    for (size_t j = 0; j < c->m; j++)
        if (!isfinite(r->target[j * r->stride + row]))
            return moeg_fail(MOEG_ERANGE, "%s: output %zu of the teacher at sample %" PRIu64 " overflows", c->name, j,
                             sample);
    for (size_t k = 0; k < c->K; k++)
        for (size_t j = 0; j < c->m; j++)
            if (r->logits[k * r->stride + row] != -INFINITY && !isfinite(r->outputs[(k * c->m + j) * r->stride + row]))
                return moeg_fail(MOEG_ERANGE, "%s: output %zu of expert %zu at sample %" PRIu64 " overflows", c->name,
                                 j, k, sample);
    return moeg_fail(MOEG_ERANGE, "%s: the loss of sample %" PRIu64 " overflows", c->name, sample);
}

/* Says which number of which sample made the losses of a block overflow. */
static moeg_status report_overflow(const moeg_risk_context *c, const moeg_risk_rows *r, uint64_t first)
{
    size_t i = 0;
    for (int finite = 1; finite && i < r->n; i += finite)
        for (size_t t = 0; t <= c->ntau && finite && (r->share == NULL || r->share[i] > 0); t++)
            finite = isfinite(r->values[t * r->stride + i]) && (t == 0 || isfinite(r->soft[(t - 1) * r->stride + i]));
    return moeg_risk_report(c, r, first, r->place[i < r->n ? i : 0]);
}

moeg_status moeg_risk_draw(const moeg_risk_context *c, uint64_t first, moeg_risk_rows *r)
{
    moeg_status status = moeg_law_draw(c->law, c->seed, first, r->n, r->stride, r->x, r->scratch);
    if (status == MOEG_OK && c->weights != NULL)
        moeg_risk_replace_weightless(c, first, r);
    if (status == MOEG_OK)
        status = moeg_router_logits_block(moeg_moe_router(c->moe), r->n, r->stride, r->x, r->logits, r->scratch);
    if (status != MOEG_OK)
        return status;
    const size_t bad = c->gate.kind == MOEG_GATE_SOFTMAX
                           ? moeg_margin_block(c->K, r->n, r->stride, r->logits, r->best, r->margin)
                           : moeg_gate_gap_block(c->gate, c->K, r->n, r->stride, r->logits, r->margin);
    if (bad < r->n)
        return moeg_report_logits(c->name, c->gate, c->K, r->stride, r->logits, bad, first + bad);
    for (size_t k = 0; k < c->K && status == MOEG_OK; k++)
        status = moeg_expert_forward_block(moeg_moe_expert(c->moe, k), r->n, r->stride, r->x,
                                           r->outputs + k * c->m * r->stride, r->scratch);
    if (status == MOEG_OK)
        status = moeg_teacher_mean_block(c->teacher, first, r->n, r->stride, r->x, r->target, r->scratch);
    return status;
}

static moeg_status add_values(const moeg_risk_context *c, const moeg_risk_rows *r, const moeg_risk_parts *parts,
                              double *state)
{
    const size_t ntau = c->ntau;
    if (r->share == NULL) {
        const moeg_status status = moeg_covariance_add(1 + ntau, r->n, r->stride, r->values, state);
        return status != MOEG_OK ? status : moeg_moments_add(ntau, r->n, r->stride, r->soft, state + parts->soft);
    }
    const moeg_status status = moeg_weighted_add(1 + ntau, r->n, r->stride, r->values, r->share, state);
    return status != MOEG_OK ? status
                             : moeg_weighted_add(ntau, r->n, r->stride, r->soft, r->share, state + parts->soft);
}

static moeg_status block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    const moeg_risk_context *c = context;
    const moeg_risk_parts parts = moeg_risk_state_parts(c->ntau, c->weights != NULL);
    const size_t n = (size_t)count;
    moeg_risk_rows rows;
    if (!moeg_risk_has_weight(c, first, n))
        return MOEG_OK;
    moeg_risk_layout(c, n, moeg_round_lanes(n), workspace, &rows);
    const moeg_status status = moeg_risk_draw(c, first, &rows);
    if (status != MOEG_OK)
        return status;
    moeg_risk_arrange(c, &rows);
    if (rows.share != NULL)
        moeg_risk_set_shares(c, first, &rows);
    moeg_risk_evaluate(c, &rows);
    if (add_values(c, &rows, &parts, state) != MOEG_OK)
        return report_overflow(c, &rows, first);
    for (size_t t = 0; t < c->ntau; t++)
        state[parts.felt + c->order[t]] += (double)moeg_risk_count_felt(&rows, rows.felt[t]);
    for (size_t t = 0; t < 2 * c->ntau; t++)
        state[parts.weight + t] += rows.size[t];
    return MOEG_OK;
}

static void merge(const void *context, const double *right, double *left)
{
    const moeg_risk_context *c = context;
    const moeg_risk_parts parts = moeg_risk_state_parts(c->ntau, c->weights != NULL);
    if (c->weights != NULL) {
        moeg_weighted_merge(1 + c->ntau, right, left);
        moeg_weighted_merge(c->ntau, right + parts.soft, left + parts.soft);
    } else {
        moeg_covariance_merge(1 + c->ntau, right, left);
        moeg_moments_merge(c->ntau, right + parts.soft, left + parts.soft);
    }
    for (size_t t = parts.felt; t < parts.size; t++)
        left[t] += right[t];
}

void moeg_risk_context_free(moeg_risk_context *c)
{
    moeg_moe_free(c->moe);
    moeg_teacher_free(c->teacher);
    moeg_law_free(c->law);
    moeg_release(c->tau);
    moeg_release(c->rising);
    moeg_release(c->order);
    moeg_release(c);
}

static void destroy(void *context)
{
    moeg_risk_context_free(context);
}

const moeg_risk_context *moeg_risk_context_of(const moeg_job *job)
{
    const moeg_job_spec *spec = moeg_job_get_spec(job);
    return spec->block == block ? spec->context : NULL;
}

/* Descending tau by insertion: grids are short, and usually in order. */
static void sort_temperatures(moeg_risk_context *c)
{
    for (size_t t = 0; t < c->ntau; t++) {
        size_t at = t;
        for (; at > 0 && c->tau[c->order[at - 1]] < c->tau[t]; at--)
            c->order[at] = c->order[at - 1];
        c->order[at] = t;
    }
    for (size_t t = 0; t < c->ntau; t++)
        c->rising[c->ntau - 1 - t] = c->tau[c->order[t]] > 0 ? MOEG_FELT * c->tau[c->order[t]] : -1;
}

/* Whether no temperature moves the gates: one expert is renormalised to 1, or there is but one that the router's bias
 * does not mask, or as many as the k of SUBSET. */
static int is_frozen(moeg_gate gate, const moeg_router *router)
{
    if (gate.kind == MOEG_GATE_TOPK_RENORM && gate.k == 1)
        return 1;
    return moeg_router_live(router) == (gate.kind == MOEG_GATE_SUBSET ? gate.k : 1);
}

int moeg_risk_compare_experts(const moeg_moe *moe, int *same)
{
    const size_t K = moeg_router_experts(moeg_moe_router(moe));
    const size_t size = moeg_moe_outputs(moe) * moeg_moe_dim(moe), all = size + moeg_moe_outputs(moe);
    const moeg_gate gate = moeg_moe_gate(moe);
    *same = gate.kind != MOEG_GATE_TOPK_RAW || gate.k == K;
    for (size_t k = 0; k < K && *same; k++)
        *same = moeg_expert_is_affine(moeg_moe_expert(moe, k));
    if (!*same)
        return 1;
    double *first = moeg_alloc(2 * all, sizeof *first);
    if (first == NULL)
        return 0;
    moeg_expert_affine_form(moeg_moe_expert(moe, 0), first, first + size);
    for (size_t k = 1; k < K && *same; k++) {
        double *other = first + all;
        moeg_expert_affine_form(moeg_moe_expert(moe, k), other, other + size);
        for (size_t j = 0; j < all && *same; j++)
            *same = first[j] == other[j];
    }
    moeg_release(first);
    return 1;
}

static size_t choose_block(const moeg_risk_context *c)
{
    moeg_risk_rows rows;
    return moeg_block_rows_from(moeg_risk_layout(c, MOEG_BLOCK_PROBE, MOEG_BLOCK_PROBE, NULL, &rows));
}

moeg_risk_context *moeg_risk_context_create(const char *name, const moeg_moe *moe, const moeg_teacher *teacher,
                                            const moeg_law *law, moeg_mixing mixing, size_t ntau, const double *tau,
                                            uint64_t seed)
{
    moeg_risk_context *c = moeg_alloc_zero(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->tau = moeg_alloc(ntau, sizeof *c->tau);
    c->rising = moeg_alloc(ntau, sizeof *c->rising);
    c->order = moeg_alloc(ntau, sizeof *c->order);
    int same;
    if (c->tau == NULL || c->rising == NULL || c->order == NULL || !moeg_risk_compare_experts(moe, &same)) {
        moeg_risk_context_free(c);
        return NULL;
    }
    c->name = name;
    c->moe = moeg_moe_retain(moe);
    c->teacher = moeg_teacher_retain(teacher);
    c->law = moeg_law_retain(law);
    c->mixing = mixing;
    c->noise = moeg_teacher_noise(teacher);
    c->seed = seed;
    c->exact = moeg_law_rows(law) != 0;
    c->weights = moeg_law_weights(law);
    c->gate = moeg_moe_gate(moe);
    c->K = moeg_router_experts(moeg_moe_router(moe));
    c->frozen = same || is_frozen(c->gate, moeg_moe_router(moe));
    c->m = moeg_moe_outputs(moe);
    moeg_risk_set_terms(c);
    c->d = moeg_moe_dim(moe);
    c->ntau = ntau;
    for (size_t t = 0; t < ntau; t++)
        c->tau[t] = tau[t];
    sort_temperatures(c);
    c->block_rows = choose_block(c);
    return c;
}

moeg_status moeg_risk_job_make(const char *function, moeg_job **job, int slope, const moeg_moe *moe,
                               const moeg_teacher *teacher, const moeg_law *law, moeg_mixing mixing, size_t ntau,
                               const double *tau, const moeg_sampling *s)
{
    size_t pairs;
    if (ntau > SIZE_MAX / 64 || moeg_multiply_overflows(ntau + 1, (ntau + 2) * sizeof(double), &pairs))
        return moeg_fail_memory(function);
    moeg_risk_context *c = moeg_risk_context_create(function, moe, teacher, law, mixing, ntau, tau, s->seed);
    if (c == NULL)
        return moeg_fail_memory(function);
    c->slope = slope;
    moeg_risk_set_terms(c);
    c->block_rows = choose_block(c);
    moeg_risk_rows rows;
    const moeg_job_spec spec = {
        .name = "risk",
        .units = moeg_sample_units(law, s),
        .block_size = c->block_rows,
        .state_size = moeg_risk_state_parts(ntau, c->weights != NULL).size,
        .workspace_size = moeg_risk_layout(c, c->block_rows, c->block_rows, NULL, &rows) * sizeof(double),
        .context = c,
        .block = block,
        .merge = merge,
        .destroy = destroy,
    };
    const moeg_status status = moeg_job_create(job, &spec);
    if (status != MOEG_OK)
        moeg_risk_context_free(c);
    return status;
}
