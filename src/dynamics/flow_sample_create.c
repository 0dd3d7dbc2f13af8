#include "base/error.h"
#include "base/memory.h"
#include "dynamics/flow_sample.h"
#include "dynamics/symmetry.h"
#include "limit/check.h"
#include "model/block.h"
#include "model/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static const char function[] = "flow_sample";

typedef struct maker {
    moeg_flow_sample *sample;
    const moeg_teacher *teacher;
    const moeg_law *law;
    uint64_t seed;
    size_t n;
    double *workspace; /* of the law and the teacher, and features of a block by rows */
    double *x_rows, *psi_rows;
} maker;

static moeg_status check_create(const moeg_teacher *teacher, const moeg_law *law, const moeg_sampling *s,
                                const moeg_flow_options *options, moeg_flow **flow)
{
    moeg_status status = moeg_check_teacher_law(function, teacher, law);
    if (status == MOEG_OK)
        status = moeg_sampling_check(s);
    if (status == MOEG_OK)
        status = moeg_check_flow_options(function, options);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "flow", flow);
    if (status == MOEG_OK && s->method == MOEG_METHOD_LINE)
        status = moeg_fail(MOEG_EUNSUPPORTED, "%s: method must be auto or mc, got line", function);
    return status;
}

/* Rows of a block and what there is of them; memory. */
static moeg_status allocate(maker *k)
{
    moeg_flow_sample *s = k->sample;
    moeg_flow *flow = &s->flow;
    const int user = flow->options.contrast.kind == MOEG_CONTRAST_USER;
    size_t doubles, psi_size;
    if (moeg_multiply_overflows(flow->m, flow->p, &doubles) || flow->p > PTRDIFF_MAX / 64 || flow->d > PTRDIFF_MAX / 64)
        return moeg_fail_memory(function);
    s->rows = 2 + flow->d + (user ? flow->p : 0) + flow->m;
    s->stride = moeg_block_rows(s->rows + 3 * flow->m + 4);
    s->blocks = (k->n - 1) / s->stride + 1;
    const size_t law = moeg_law_workspace(k->law, s->stride), teacher = moeg_teacher_workspace(k->teacher, s->stride);
    if (moeg_multiply_overflows(s->blocks, s->rows, &doubles) ||
        moeg_multiply_overflows(doubles, s->stride, &doubles) ||
        moeg_multiply_overflows(user ? flow->p : 0, s->stride, &psi_size))
        return moeg_fail_memory(function);
    s->values = moeg_alloc(doubles, sizeof(double));
    k->workspace = moeg_alloc(law > teacher ? law : teacher, sizeof(double));
    k->x_rows = moeg_alloc(s->stride, flow->d * sizeof(double));
    k->psi_rows = moeg_alloc(psi_size, sizeof(double));
    flow->best = moeg_alloc(flow->features, flow->m * sizeof(double));
    return s->values && k->workspace && k->x_rows && k->psi_rows && flow->best ? MOEG_OK : moeg_fail_memory(function);
}

static moeg_status check_values(const char *what, size_t variables, size_t count, size_t stride, uint64_t first,
                                const double *weight, const double *values)
{
    for (size_t j = 0; j < variables; j++)
        for (size_t i = 0; i < count; i++)
            if (weight[i] > 0 && !isfinite(values[j * stride + i]))
                return moeg_fail(MOEG_ERANGE, "%s: %s %zu of sample %" PRIu64 " is not finite", function, what, j,
                                 first + i);
    return MOEG_OK;
}

/* Features of the user's own. */
static moeg_status fill_features(maker *k, size_t count, uint64_t first, double *block)
{
    const moeg_flow_sample *s = k->sample;
    const moeg_contrast *contrast = &s->flow.options.contrast;
    moeg_block_unpack(count, s->flow.d, moeg_flow_x(s, block), s->stride, k->x_rows);
    for (size_t i = 0; i < count * s->flow.p; i++)
        k->psi_rows[i] = NAN;
    const int code = contrast->function(count, k->x_rows, k->psi_rows, contrast->user);
    if (code != 0)
        return moeg_fail(MOEG_ECALLBACK, "%s: the features' function returned %d", function, code);
    moeg_block_pack(count, s->flow.p, k->psi_rows, s->stride, moeg_flow_psi(s, block));
    return check_values("feature", s->flow.p, count, s->stride, first, moeg_flow_weight(s, block),
                        moeg_flow_psi(s, block));
}

/* Rows of weight 0 are 0: 0 times a value that overflows later on would be NaN. */
static void leave_out(size_t variables, size_t count, size_t stride, const double *weight, double *values)
{
    for (size_t j = 0; j < variables; j++)
        for (size_t i = 0; i < count; i++)
            if (!(weight[i] > 0))
                values[j * stride + i] = 0;
}

/* Variables past the last row repeat it. */
static void pad(size_t variables, size_t count, size_t stride, double *values)
{
    for (size_t j = 0; j < variables; j++)
        for (size_t i = count; i < stride; i++)
            values[j * stride + i] = values[j * stride + count - 1];
}

/* One block: 1, x, psi, Y where the residual comes, and weights that are not normalised yet. */
static moeg_status fill_block(maker *k, size_t b)
{
    const moeg_flow_sample *s = k->sample;
    const size_t stride = s->stride, m = s->flow.m;
    const uint64_t first = (uint64_t)b * stride;
    const size_t count = k->n - first < stride ? (size_t)(k->n - first) : stride;
    const double *weights = moeg_law_weights(k->law);
    double *block = moeg_flow_block(s, b), *x = moeg_flow_x(s, block), *y = moeg_flow_residual(s, block);
    double *weight = moeg_flow_weight(s, block);
    for (size_t i = 0; i < stride; i++)
        weight[i] = i >= count ? 0 : weights != NULL ? weights[first + i] : 1;
    moeg_status status = moeg_law_draw(k->law, k->seed, first, count, stride, x, k->workspace);
    if (status == MOEG_OK)
        status = moeg_teacher_mean_block(k->teacher, first, count, stride, x, y, k->workspace);
    if (status == MOEG_OK)
        status = check_values("output", m, count, stride, first, weight, y);
    if (status == MOEG_OK && s->flow.options.contrast.kind == MOEG_CONTRAST_USER)
        status = fill_features(k, count, first, block);
    if (status != MOEG_OK)
        return status;
    leave_out(s->rows - 2, count, stride, weight, x);
    for (size_t i = 0; i < stride; i++)
        block[i] = 1;
    pad(s->rows - 1, count, stride, block);
    return MOEG_OK;
}

/* Weights of sum 1, and the spread of x. */
static moeg_status normalise(maker *k)
{
    moeg_flow_sample *s = k->sample;
    const size_t d = s->flow.d;
    double total = 0, root = 0;
    for (size_t i = 0; i < k->n; i++)
        total += moeg_flow_weight(s, moeg_flow_block(s, i / s->stride))[i % s->stride];
    for (size_t b = 0; b < s->blocks; b++) {
        double *block = moeg_flow_block(s, b), *x = moeg_flow_x(s, block), *weight = moeg_flow_weight(s, block);
        for (size_t i = 0; i < s->stride; i++) {
            weight[i] /= total;
            for (size_t j = 0; weight[i] > 0 && j < d; j++)
                root = hypot(root, sqrt(weight[i]) * x[j * s->stride + i]);
        }
    }
    s->flow.spread = root / sqrt((double)d);
    return isfinite(root * root) ? MOEG_OK : moeg_fail(MOEG_ERANGE, "%s: the mean of |x|^2 overflows", function);
}

static moeg_status make(maker *k)
{
    moeg_status status = allocate(k);
    for (size_t b = 0; status == MOEG_OK && b < k->sample->blocks; b++)
        status = fill_block(k, b);
    if (status == MOEG_OK)
        status = normalise(k);
    if (status == MOEG_OK)
        status = moeg_flow_sample_fit(function, k->sample, k->n);
    moeg_release(k->workspace);
    moeg_release(k->x_rows);
    moeg_release(k->psi_rows);
    return status;
}

moeg_status moeg_flow_sample_create(const moeg_teacher *teacher, const moeg_law *law, const moeg_sampling *s,
                                    const moeg_flow_options *options, moeg_flow **flow)
{
    const moeg_flow_options usual = moeg_flow_options_default();
    options = options != NULL ? options : &usual;
    moeg_status status = check_create(teacher, law, s, options, flow);
    if (status != MOEG_OK)
        return status;
    const uint64_t rows = moeg_law_rows(law), n = rows != 0 ? rows : s->n;
    if (n > SIZE_MAX / 2)
        return moeg_fail_memory(function);
    moeg_flow_sample *sample = moeg_alloc_zero(1, sizeof *sample);
    if (sample == NULL)
        return moeg_fail_memory(function);
    const size_t d = moeg_law_dim(law);
    sample->flow = (moeg_flow){.kind = &moeg_flow_sample_kind,
                               .options = *options,
                               .d = d,
                               .m = moeg_teacher_outputs(teacher),
                               .p = moeg_contrast_features(&options->contrast, d),
                               .features = moeg_symmetric_features(options->symmetric, d)};
    sample->sampling = moeg_sampling_default();
    sample->sampling.max_threads = s->max_threads;
    sample->sampling.runner = s->runner;
    sample->noise = moeg_teacher_noise(teacher);
    maker k = {.sample = sample, .teacher = teacher, .law = law, .seed = s->seed, .n = (size_t)n};
    status = make(&k);
    if (status == MOEG_OK)
        *flow = &sample->flow;
    else
        moeg_flow_free(&sample->flow);
    return status;
}
