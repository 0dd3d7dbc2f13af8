#include "limit/nodes.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/vector.h"
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Expert k of the frame, or piece k - K of the teacher. */
static const moeg_expert *output_of(const moeg_nodes *p, size_t k)
{
    if (k < p->K)
        return moeg_moe_expert(p->moe, p->frame.logits[0].expert[k]);
    return p->mixture != NULL ? moeg_moe_expert(p->mixture, p->frame.logits[1].expert[k - p->K])
                              : moeg_teacher_expert(p->teacher);
}

static int all_affine(const moeg_nodes *p)
{
    int affine = p->mixture != NULL || moeg_teacher_expert(p->teacher) != NULL;
    for (size_t k = 0; affine && k < p->K + p->pieces; k++)
        affine = moeg_expert_is_affine(output_of(p, k));
    return affine;
}

/* Coordinates of rows (count x size) in an orthonormal basis of what they span (Gram and Schmidt, twice), to
 * coordinates (count x count), which are 0 to begin with. Returns how many there are. basis (count x size) and v (size)
 * are scratch. What is left of a row by rounding alone gets none. */
static size_t span_rows(size_t count, size_t size, const double *rows, double *basis, double *v, double *coordinates)
{
    size_t rank = 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(v, rows + i * size, size * sizeof *v);
        for (size_t step = 0; step < 2 * rank; step++) {
            const double *b = basis + step % rank * size, part = moeg_dot(size, v, b);
            coordinates[i * count + step % rank] += part;
            for (size_t l = 0; l < size; l++)
                v[l] -= part * b[l];
        }
        const double norm = sqrt(moeg_dot(size, v, v)), rounding = 8 * DBL_EPSILON * sqrt((double)size);
        if (!(norm > rounding * sqrt(moeg_dot(size, rows + i * size, rows + i * size))))
            continue;
        coordinates[i * count + rank] = norm;
        for (size_t l = 0; l < size; l++)
            basis[rank * size + l] = v[l] / norm;
        rank++;
    }
    return rank;
}

/* Affine outputs in the frame: m of each, then those that stand for what is orthogonal to it. */
static moeg_status set_affine(const char *function, moeg_nodes *p)
{
    const size_t count = p->K + p->pieces, m = p->m, r = p->r, d = p->frame.d, size = m * d;
    double *form = moeg_alloc(m, (d + 1) * sizeof *form), *images = moeg_alloc(count, m * (1 + r) * sizeof *images);
    double *rest = moeg_alloc(2 * count + 1, size * sizeof *rest);
    double *fixed = moeg_alloc_zero(count, count * sizeof *fixed);
    moeg_status status = MOEG_OK;
    if (form == NULL || images == NULL || rest == NULL || fixed == NULL) {
        status = moeg_fail_memory(function);
        goto cleanup;
    }
    for (size_t k = 0; k < count; k++) {
        double *image = images + k * m * (1 + r);
        moeg_expert_affine_form(output_of(p, k), form, form + size);
        moeg_frame_image(&p->frame, m, form, form + size, image, image + m, rest + k * size);
    }
    const size_t further =
        r < d ? span_rows(count, size, rest, rest + count * size, rest + 2 * count * size, fixed) : 0;
    p->outputs = m + further;
    p->value = moeg_alloc(count, p->outputs * sizeof *p->value);
    p->slope = moeg_alloc_zero(count, p->outputs * r * sizeof *p->slope);
    if (p->value == NULL || p->slope == NULL) {
        status = moeg_fail_memory(function);
        goto cleanup;
    }
    for (size_t k = 0; k < count; k++) {
        memcpy(p->value + k * p->outputs, images + k * m * (1 + r), m * sizeof *p->value);
        memcpy(p->value + k * p->outputs + m, fixed + k * count, further * sizeof *p->value);
        memcpy(p->slope + k * p->outputs * r, images + k * m * (1 + r) + m, m * r * sizeof *p->slope);
    }
cleanup:
    moeg_release(form);
    moeg_release(images);
    moeg_release(rest);
    moeg_release(fixed);
    return status;
}

int moeg_nodes_agree(const moeg_nodes *p, size_t first, size_t count)
{
    const size_t m = p->outputs, r = p->r;
    int agree = p->affine;
    for (size_t k = first + 1; k < first + count && agree; k++) {
        for (size_t i = 0; i < m; i++)
            agree = agree && p->value[k * m + i] == p->value[first * m + i];
        for (size_t i = 0; i < m * r; i++)
            agree = agree && p->slope[k * m * r + i] == p->slope[first * m * r + i];
    }
    return agree;
}

/* MOEG_OK, or MOEG_EDOM: masks leave a gate as many experts as it wants. */
static moeg_status check_masks(const char *function, const char *whose, const moeg_moe *moe)
{
    const moeg_gate gate = moeg_moe_gate(moe);
    const size_t live = moeg_router_live(moeg_moe_router(moe));
    return live >= gate.k ? MOEG_OK
                          : moeg_fail(MOEG_EDOM, "%s: %s router masks all but %zu experts, fewer than gate.k = %zu",
                                      function, whose, live, gate.k);
}

/* The ranks that count. */
static void set_ranks(int same, moeg_nodes *p)
{
    const size_t k = p->gate.k;
    const int subset = p->gate.kind == MOEG_GATE_SUBSET;
    p->frozen = same || (p->gate.kind == MOEG_GATE_TOPK_RENORM && k == 1) || (subset && k == p->K);
    p->rank = subset && k < p->K ? k : 1;
    p->levels = subset && k < p->K ? k + 1 : k > 2 ? k : 2;
}

/* The frame, and why there is none. */
static moeg_status set_frame(const char *function, moeg_nodes *p, const char **refusal)
{
    const moeg_router *routers[2] = {moeg_moe_router(p->moe), p->mixture == NULL ? NULL : moeg_moe_router(p->mixture)};
    *refusal = moeg_frame_refusal(routers[0], p->law);
    if (*refusal != NULL)
        return MOEG_OK;
    moeg_status status = check_masks(function, "the", p->moe);
    if (status == MOEG_OK && p->mixture != NULL)
        status = check_masks(function, "the teacher's", p->mixture);
    if (status == MOEG_OK)
        status = moeg_frame_init(function, p->mixture == NULL ? 1 : 2, routers, p->law, &p->frame);
    if (status != MOEG_OK)
        return status;
    p->K = p->frame.logits[0].K;
    p->pieces = p->mixture == NULL ? 1 : p->frame.logits[1].K;
    p->r = p->frame.r;
    double varies = 0;
    for (size_t i = 0; i < p->K * p->r; i++)
        varies = fmax(varies, fabs(p->frame.logits[0].T[i]));
    if (p->K < 2)
        *refusal = "all experts but one are masked";
    else if (varies == 0)
        *refusal = "the logits do not vary";
    return MOEG_OK;
}

moeg_status moeg_nodes_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                            moeg_nodes *p, const char **refusal)
{
    *p = (moeg_nodes){.moe = moe, .teacher = teacher, .law = law, .gate = moeg_moe_gate(moe)};
    p->m = p->outputs = moeg_moe_outputs(moe);
    *refusal = moeg_nodes_read_teacher(teacher, p);
    moeg_status status = MOEG_OK;
    if (*refusal == NULL)
        status = set_frame(function, p, refusal);
    if (status != MOEG_OK || *refusal != NULL)
        return status;
    int same;
    if (!moeg_risk_compare_experts(moe, &same)) {
        moeg_nodes_free(p);
        return moeg_fail_memory(function);
    }
    set_ranks(same, p);
    p->affine = all_affine(p);
    p->drawn = p->affine ? p->r : p->frame.d;
    if (p->mixture != NULL)
        status = moeg_nodes_find_twins(function, p);
    if (status == MOEG_OK && p->affine)
        status = set_affine(function, p);
    p->jumps = status == MOEG_OK && moeg_nodes_may_jump(p);
    if (status != MOEG_OK)
        moeg_nodes_free(p);
    return status;
}

void moeg_nodes_free(moeg_nodes *p)
{
    moeg_frame_free(&p->frame);
    moeg_release(p->twin);
    moeg_release(p->student_twin);
    moeg_release(p->value);
    moeg_release(p->slope);
    *p = (moeg_nodes){0};
}

moeg_status moeg_nodes_way_init(const char *function, const moeg_nodes *p, const double *e, moeg_nodes_way *way)
{
    const size_t r = p->r, d = p->frame.d, count = p->K + p->pieces;
    *way = (moeg_nodes_way){
        .e = moeg_alloc(r, sizeof *way->e),
        .ahead = moeg_alloc_zero(p->drawn, sizeof *way->ahead),
        .step = moeg_alloc_zero(d, sizeof *way->step),
        .beta = moeg_alloc_zero(count, sizeof *way->beta),
        .along = moeg_alloc_zero(count, p->outputs * sizeof *way->along),
    };
    if (way->e == NULL || way->ahead == NULL || way->step == NULL || way->beta == NULL || way->along == NULL) {
        moeg_nodes_way_free(way);
        return moeg_fail_memory(function);
    }
    memcpy(way->e, e, r * sizeof *e);
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0, at = 0; i < p->frame.routers; at += p->frame.logits[i++].K)
        for (size_t k = 0; k < p->frame.logits[i].K; k++)
            way->beta[at + k] = moeg_dot(r, p->frame.logits[i].T + k * r, e) + 0;
    for (size_t k = 0; k < p->K; k++) {
        least = fmin(least, way->beta[k]);
        most = fmax(most, way->beta[k]);
    }
    way->spread = most - least;
    for (size_t i = 0; p->affine && i < count * p->outputs; i++)
        way->along[i] = moeg_dot(r, p->slope + i * r, e);
    if (p->affine) {
        memcpy(way->ahead, e, r * sizeof *e);
        return MOEG_OK;
    }
    for (size_t l = 0; l < r; l++)
        for (size_t j = 0; j < d; j++)
            way->ahead[j] += e[l] * p->frame.Q[l * d + j];
    for (size_t j = 0; j < d; j++)
        way->step[j] = p->frame.factor == NULL ? way->ahead[j] : moeg_dot(d, p->frame.factor + j * d, way->ahead);
    return MOEG_OK;
}

void moeg_nodes_way_free(moeg_nodes_way *way)
{
    moeg_release(way->e);
    moeg_release(way->ahead);
    moeg_release(way->step);
    moeg_release(way->beta);
    moeg_release(way->along);
    *way = (moeg_nodes_way){0};
}
