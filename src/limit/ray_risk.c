#include "limit/ray_risk.h"

#include "base/error.h"
#include "base/linalg.h"
#include "base/memory.h"
#include "base/vector.h"
#include "limit/ray_teacher.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* One affine output function, m of them: in the frame. */
typedef struct image {
    double *value, *slope, *rest; /* (m), (m x r), (m x d) */
} image;

/* Room for `count` images of m outputs, one block of memory at images[0].value. */
static image *allocate_images(size_t count, size_t m, size_t r, size_t d)
{
    image *images = moeg_alloc(count, sizeof *images);
    double *memory = moeg_alloc(count, m * (1 + r + d) * sizeof *memory);
    if (images == NULL || memory == NULL) {
        moeg_release(images);
        moeg_release(memory);
        return NULL;
    }
    for (size_t i = 0; i < count; i++, memory += m * (1 + r + d))
        images[i] = (image){memory, memory + m, memory + m * (1 + r)};
    return images;
}

static void free_images(image *images)
{
    if (images != NULL)
        moeg_release(images[0].value);
    moeg_release(images);
}

/* The image of an affine expert. form (m x d + m) is scratch. */
static void expert_image(const moeg_frame *frame, const moeg_expert *expert, double *form, image *out)
{
    const size_t m = moeg_expert_outputs(expert);
    moeg_expert_affine_form(expert, form, form + m * frame->d);
    moeg_frame_image(frame, m, form, form + m * frame->d, out->value, out->slope, out->rest);
}

/* Row i of the outputs of a cell: a - b. */
static void set_row(const moeg_ray *ray, size_t m, size_t row, const image *a, const image *b, moeg_ray_outputs *out)
{
    const size_t r = ray->r;
    for (size_t j = 0; j < m; j++) {
        const size_t at = row * m + j;
        double along = 0;
        out->value[at] = a->value[j] - b->value[j];
        for (size_t l = 0; l < r; l++) {
            out->weight[at * r + l] = a->slope[j * r + l] - b->slope[j * r + l];
            along += out->weight[at * r + l] * ray->direction[l];
        }
        for (size_t l = 0; l < r; l++)
            out->weight[at * r + l] -= along * ray->direction[l];
        out->along[at] = along;
    }
}

/* fixed: a factor of the Gram matrix of the rest of the rows, a - b of each. rest (rows x size) and gram (rows x rows)
 * are scratch. Small rows are scaled up, so that no square underflows beside a product that does not, and sums are
 * long: a matrix that rounding has made indefinite would be refused. */
static moeg_status set_fixed(const char *function, size_t rows, size_t size, double *rest, double *gram, double *fixed,
                             size_t *columns)
{
    size_t rank = 0;
    int zero = 1, *exponent = moeg_alloc(rows, sizeof *exponent);
    if (exponent == NULL)
        return moeg_fail_memory(function);
    for (size_t i = 0; i < rows; i++) {
        frexp(moeg_largest(size, rest + i * size), &exponent[i]);
        exponent[i] = exponent[i] < 0 ? exponent[i] : 0;
        for (size_t l = 0; l < size; l++)
            rest[i * size + l] = ldexp(rest[i * size + l], -exponent[i]);
        for (size_t j = 0; j <= i; j++) {
            long double sum = 0;
            for (size_t l = 0; l < size; l++)
                sum += (long double)rest[i * size + l] * rest[j * size + l];
            gram[i * rows + j] = gram[j * rows + i] = (double)sum;
            zero = zero && sum == 0;
        }
    }
    memset(fixed, 0, rows * rows * sizeof *fixed);
    const moeg_status status = zero ? MOEG_OK : moeg_linalg_factor(function, rows, gram, fixed, &rank);
    for (size_t i = 0; i < rows * rows && status == MOEG_OK; i++)
        fixed[i] = ldexp(fixed[i], exponent[i / rows]);
    if (status == MOEG_OK && !zero)
        *columns = rows;
    moeg_release(exponent);
    return status;
}

/* The outputs of cell k: of all losers, of the residual, and of the jumps. rest ((losers + 1) m d) and gram after it
 * are scratch. */
static moeg_status set_cell(const char *function, moeg_ray_risk *risk, size_t k, const image *experts,
                            const image *pieces, double *rest)
{
    const moeg_ray *ray = &risk->rays.ray[k];
    moeg_ray_outputs *out = &risk->outputs[k];
    const size_t losers = ray->losers, m = risk->m, r = ray->r, size = m * risk->rays.frame.d;
    const size_t fixed_rows = losers + 1, rows = fixed_rows + (risk->pieces ? losers : 0);
    out->value = moeg_alloc(rows, m * sizeof *out->value);
    out->weight = moeg_alloc(rows, m * r * sizeof *out->weight);
    out->along = moeg_alloc(rows, m * sizeof *out->along);
    out->fixed = moeg_alloc(fixed_rows, fixed_rows * sizeof *out->fixed);
    out->fixed_jump = moeg_alloc_zero(losers, sizeof *out->fixed_jump);
    if (out->value == NULL || out->weight == NULL || out->along == NULL || out->fixed == NULL ||
        out->fixed_jump == NULL)
        return moeg_fail_memory(function);
    for (size_t i = 0; i < fixed_rows; i++) {
        const image *a = i == losers ? &experts[k] : &experts[i < k ? i : i + 1];
        const image *b = i == losers ? &pieces[k] : &experts[k];
        set_row(ray, m, i, a, b, out);
        for (size_t l = 0; l < size; l++)
            rest[i * size + l] = a->rest[l] - b->rest[l];
    }
    for (size_t i = 0; risk->pieces && i < losers; i++) {
        const image *piece = &pieces[i < k ? i : i + 1];
        set_row(ray, m, fixed_rows + i, piece, &pieces[k], out);
        for (size_t l = 0; l < size; l++)
            out->fixed_jump[i] += rest[i * size + l] * (piece->rest[l] - pieces[k].rest[l]);
    }
    return set_fixed(function, fixed_rows, size, rest, rest + fixed_rows * size, out->fixed, &risk->constants);
}

static const char *refuse(const moeg_moe *moe)
{
    const moeg_gate gate = moeg_moe_gate(moe);
    if (gate.kind != MOEG_GATE_SOFTMAX)
        return "the gate is not softmax";
    for (size_t k = 0; k < moeg_router_experts(moeg_moe_router(moe)); k++)
        if (!moeg_expert_is_affine(moeg_moe_expert(moe, k)))
            return "an expert is neither constant nor affine";
    return NULL;
}

/* Whether image i of a block is not image j. */
static int differ(const image *images, size_t i, size_t j, size_t size)
{
    for (size_t l = 0; l < size; l++)
        if (images[i].value[l] != images[j].value[l])
            return 1;
    return 0;
}

/* What differs, of the images of K experts and K pieces. */
static void compare_images(const image *images, size_t size, moeg_ray_risk *risk)
{
    const size_t K = risk->rays.cells;
    for (size_t k = 0; k < K; k++) {
        risk->moves = risk->moves || differ(images, k, 0, size);
        risk->jumps = risk->jumps || differ(images, K + k, K, size);
        risk->errs = risk->errs || differ(images, k, K + k, size);
    }
}

/* The outputs of all cells, with the teacher's piece in each. */
static moeg_status set_outputs(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                               moeg_ray_risk *risk)
{
    const moeg_frame *frame = &risk->rays.frame;
    const size_t K = risk->rays.cells, m = risk->m, d = frame->d;
    image *images = allocate_images(2 * K, m, frame->r, d);
    double *form = moeg_alloc(m, (d + 1) * sizeof *form);
    double *rest = moeg_alloc(K, (m * d + K) * sizeof *rest);
    risk->outputs = moeg_alloc_zero(K, sizeof *risk->outputs);
    moeg_status status = MOEG_OK;
    if (images == NULL || form == NULL || rest == NULL || risk->outputs == NULL)
        status = moeg_fail_memory(function);
    if (status == MOEG_OK) {
        for (size_t k = 0; k < K; k++)
            expert_image(frame, moeg_moe_expert(moe, frame->logits[0].expert[k]), form, &images[k]);
        for (size_t k = 0; k < K; k++)
            expert_image(frame, moeg_ray_teacher_piece(teacher, frame->logits[0].expert[k]), form, &images[K + k]);
    }
    if (status == MOEG_OK)
        compare_images(images, m * (1 + frame->r + d), risk);
    for (size_t k = 0; k < K && status == MOEG_OK; k++)
        status = set_cell(function, risk, k, images, images + K, rest);
    free_images(images);
    moeg_release(form);
    moeg_release(rest);
    return status;
}

moeg_status moeg_ray_risk_init(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                               const moeg_law *law, moeg_ray_risk *risk, const char **refusal)
{
    *risk = (moeg_ray_risk){.noise = moeg_teacher_noise(teacher),
                            .m = moeg_moe_outputs(moe),
                            .pieces = moeg_teacher_expert(teacher) == NULL};
    *refusal = refuse(moe);
    moeg_status status = MOEG_OK;
    if (*refusal == NULL)
        status = moeg_rays_init(function, moeg_moe_router(moe), law, &risk->rays, refusal);
    if (status == MOEG_OK && *refusal == NULL && risk->rays.lines.count > 0)
        *refusal = "a cell has no star direction";
    if (status == MOEG_OK && *refusal == NULL)
        status = moeg_ray_teacher_refusal(function, moe, teacher, refusal);
    if (status == MOEG_OK && *refusal == NULL)
        status = set_outputs(function, moe, teacher, risk);
    if (status != MOEG_OK)
        moeg_ray_risk_free(risk);
    return status;
}

void moeg_ray_risk_free(moeg_ray_risk *risk)
{
    for (size_t k = 0; risk->outputs != NULL && k < risk->rays.cells; k++) {
        moeg_release(risk->outputs[k].value);
        moeg_release(risk->outputs[k].weight);
        moeg_release(risk->outputs[k].along);
        moeg_release(risk->outputs[k].fixed);
        moeg_release(risk->outputs[k].fixed_jump);
    }
    moeg_release(risk->outputs);
    moeg_rays_free(&risk->rays);
    *risk = (moeg_ray_risk){0};
}
