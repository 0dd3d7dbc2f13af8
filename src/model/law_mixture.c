/* X = T_k(z): z the normals 0 .. d - 1 of unit i of the stream {seed, 0}, whatever k; k from the one uniform of unit i
 * of the stream {seed, MOEG_STREAM_COMPONENT}. */
#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/streams.h"
#include "model/block.h"
#include "model/law_gaussian.h"
#include "model/law_kind.h"

#include <math.h>
#include <string.h>

typedef struct mixture_component {
    moeg_law *law;
    double upto; /* sum of the weights of this component and of those before it; 1 at the last */
} mixture_component;

typedef struct mixture_law {
    moeg_law law;
    size_t count;
    mixture_component components[];
} mixture_law;

/* A block's arrays: uniforms; the normals of one component's lanes, and their images; for each lane its component, the
 * lanes in the order of their components, and where each component's end. */
typedef struct mixture_block {
    double *u, *z, *x;
    uint32_t *pick, *place, *end;
} mixture_block;

static size_t workspace(const moeg_law *law, size_t stride)
{
    const size_t numbers = 2 * stride + ((const mixture_law *)law)->count;
    return (1 + 2 * law->dim) * stride + (numbers * sizeof(uint32_t) + sizeof(double) - 1) / sizeof(double);
}

static mixture_block lay_out(const moeg_law *law, size_t stride, double *base)
{
    mixture_block b = {.u = base};
    b.z = b.u + stride;
    b.x = b.z + law->dim * stride;
    b.pick = (uint32_t *)(b.x + law->dim * stride);
    b.place = b.pick + stride;
    b.end = b.place + stride;
    return b;
}

/* The first component with u < upto. One of weight 0 has the same upto as the one before it, or 0, and is never it. */
static uint32_t choose(const mixture_law *m, double u)
{
    size_t lo = 0, hi = m->count - 1;
    while (lo < hi) {
        const size_t middle = lo + (hi - lo) / 2;
        if (u < m->components[middle].upto)
            hi = middle;
        else
            lo = middle + 1;
    }
    return (uint32_t)lo;
}

/* Sorts the lanes by component, by counting: those of component k end before place[end[k]]. */
static void sort_lanes(const mixture_law *m, size_t stride, const mixture_block *b)
{
    memset(b->end, 0, m->count * sizeof *b->end);
    for (size_t i = 0; i < stride; i++)
        b->end[b->pick[i] = choose(m, b->u[i])]++;
    uint32_t begin = 0;
    for (size_t k = 0; k < m->count; k++) {
        const uint32_t members = b->end[k];
        b->end[k] = begin;
        begin += members;
    }
    for (size_t i = 0; i < stride; i++)
        b->place[b->end[b->pick[i]]++] = (uint32_t)i;
}

/* Maps the lanes of one component from z to x in place: packed into a block of their own, where each goes through the
 * same operations as anywhere else. */
static void map_lanes(const moeg_law *component, size_t members, const uint32_t *place, size_t stride,
                      const mixture_block *b, double *x)
{
    const size_t d = component->dim, wide = moeg_round_lanes(members);
    for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < wide; i++)
            b->z[j * wide + i] = x[j * stride + place[i < members ? i : members - 1]];
    moeg_law_gaussian_map(component, wide, b->z, b->x);
    for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < members; i++)
            x[j * stride + place[i]] = b->x[j * wide + i];
}

static moeg_status draw(const moeg_law *law, uint64_t seed, uint64_t first, size_t n, size_t stride, double *x,
                        double *scratch)
{
    (void)n;
    const mixture_law *m = (const mixture_law *)law;
    const mixture_block b = lay_out(law, stride, scratch);
    moeg_kernel_uniforms(seed, MOEG_STREAM_COMPONENT, first, 1, stride, b.u);
    moeg_kernel_normals(seed, MOEG_STREAM_LAW, first, law->dim, stride, x);
    sort_lanes(m, stride, &b);
    uint32_t begin = 0;
    for (size_t k = 0; k < m->count; k++) {
        if (b.end[k] != begin)
            map_lanes(m->components[k].law, b.end[k] - begin, b.place + begin, stride, &b, x);
        begin = b.end[k];
    }
    return MOEG_OK;
}

static void let_go(moeg_law *law)
{
    const mixture_law *m = (const mixture_law *)law;
    for (size_t k = 0; k < m->count; k++)
        moeg_law_free(m->components[k].law);
}

static const moeg_law_kind mixture_kind = {.workspace = workspace, .draw = draw, .let_go = let_go};

static moeg_status check_weights(const char *function, size_t count, const double *weights)
{
    moeg_status status = moeg_check_array(function, "weights", count, 1, weights);
    if (status == MOEG_OK)
        status = moeg_check_finite(function, "weights", count, weights);
    if (status != MOEG_OK)
        return status;
    double largest = 0;
    for (size_t k = 0; k < count; k++) {
        if (weights[k] < 0)
            return moeg_fail(MOEG_EINVAL, "%s: weights[%zu] must be at least 0, got %g", function, k, weights[k]);
        largest = fmax(largest, weights[k]);
    }
    return largest > 0 ? MOEG_OK : moeg_fail(MOEG_EINVAL, "%s: weights must not all be 0", function);
}

static moeg_status check_components(const char *function, size_t count, moeg_law *const *components)
{
    for (size_t k = 0; k < count; k++) {
        const double *mean, *covariance;
        if (components[k] == NULL)
            return moeg_fail(MOEG_EINVAL, "%s: components[%zu] must not be NULL", function, k);
        if (!moeg_law_gaussian_parts(components[k], &mean, &covariance))
            return moeg_fail(MOEG_EINVAL, "%s: components[%zu] must be a Gaussian law", function, k);
        if (components[k]->dim != components[0]->dim)
            return moeg_fail(MOEG_EINVAL, "%s: components[%zu] must have the d = %zu of components[0], got %zu",
                             function, k, components[0]->dim, components[k]->dim);
    }
    return MOEG_OK;
}

/* Weights are scaled by a power of two, which is exact, so that their sum does not overflow. */
static void accumulate(size_t count, const double *weights, mixture_component *components)
{
    double largest = 0, sum = 0;
    int exponent;
    for (size_t k = 0; k < count; k++)
        largest = fmax(largest, weights[k]);
    frexp(largest, &exponent);
    for (size_t k = 0; k < count; k++)
        components[k].upto = sum += ldexp(weights[k], -exponent);
    for (size_t k = 0; k < count; k++)
        components[k].upto /= sum;
}

moeg_status moeg_law_mixture_create(moeg_law **law, size_t count, const double *weights, moeg_law *const *components)
{
    static const char function[] = "law_mixture";
    moeg_status status = moeg_check_pointer(function, "law", law);
    if (status != MOEG_OK)
        return status;
    if (count == 0 || count > UINT32_MAX)
        return moeg_fail(MOEG_EINVAL, "%s: count must be in [1, 2^32), got %zu", function, count);
    status = check_weights(function, count, weights);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "components", components);
    if (status == MOEG_OK)
        status = check_components(function, count, components);
    if (status != MOEG_OK)
        return status;
    _Static_assert(sizeof(mixture_component) == 2 * sizeof(double), "components take the room of doubles");
    mixture_law *m = moeg_object_alloc(sizeof *m, 2 * count);
    if (m == NULL)
        return moeg_fail_memory(function);
    m->law.kind = &mixture_kind;
    m->law.dim = components[0]->dim;
    m->law.rows = 0;
    m->count = count;
    for (size_t k = 0; k < count; k++)
        m->components[k].law = moeg_law_retain(components[k]);
    accumulate(count, weights, m->components);
    *law = &m->law;
    return MOEG_OK;
}
