#include "line/sampler.h"

#include "base/error.h"
#include "base/kernel.h"
#include "base/memory.h"
#include "base/rounds.h"
#include "base/streams.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* Pairs of lines of a stratum that the pilot looks at, and the share of pairs that goes to all strata alike. */
enum { PILOT = 32 };
static const double FLOOR_SHARE = 0.1;

/* r = 1: crossings do not depend on the line. */
static moeg_status single_line(const char *function, const moeg_rays *rays, const moeg_ray_quantity *quantity,
                               moeg_ray_result *result)
{
    double *memory = moeg_alloc_zero(moeg_rays_room(rays, quantity, MOEG_LANES), sizeof *memory);
    if (memory == NULL)
        return moeg_fail_memory(function);
    for (size_t k = 0; k < moeg_rays_strata(rays); k++) {
        moeg_ray_buffers b;
        moeg_rays_layout(rays, k, quantity, MOEG_LANES, memory, &b);
        memset(b.u, 0, rays->r * MOEG_LANES * sizeof *b.u);
        moeg_rays_evaluate(rays, k, quantity, &b);
        for (size_t i = 0; i < quantity->count; i++) {
            result->value[i] += b.values[i * MOEG_LANES];
            result->error[i] += b.errors[i * MOEG_LANES];
        }
    }
    result->lines = 1;
    moeg_release(memory);
    return MOEG_OK;
}

/* Sampling: units are antithetic pairs of lines, u and -u, whose means vary less than those of two lines do, for
 * crossings are affine in u. A block belongs to one stratum. The state is a tally (tally.h) for each stratum. */
typedef struct plan {
    const char *function;
    const moeg_line_source *source;
    uint64_t seed, block, blocks;
    size_t strata, state; /* of one stratum */
    uint32_t *stratum;    /* (blocks) */
} plan;

/* From u (r x half) to u and -u, (r x 2 half), in place. */
static void mirror(size_t r, size_t half, double *u)
{
    for (size_t l = r; l-- > 0;)
        for (size_t i = half; i-- > 0;) {
            const double value = u[l * half + i];
            u[2 * l * half + half + i] = -value;
            u[2 * l * half + i] = value;
        }
}

/* Draws pairs first .. first + n - 1 of a stream, evaluates them in stratum k and adds them to its state. */
static moeg_status add_pairs(const plan *p, size_t k, uint32_t stream, uint64_t first, size_t n, double *memory,
                             double *state)
{
    const moeg_line_source *source = p->source;
    const size_t half = moeg_round_lanes(n), stride = 2 * half;
    moeg_line_draw b = {.first = first, .n = n, .stride = stride, .base = memory};
    source->place(source->self, k, &b);
    moeg_kernel_normals(p->seed, stream, first, source->drawn, half, b.u);
    mirror(source->drawn, half, b.u);
    const moeg_status status = source->evaluate(source->self, k, &b);
    if (status != MOEG_OK)
        return status;
    if (moeg_tally_add(source->count, n, stride, b.values, b.errors, state) != MOEG_OK)
        return moeg_fail(MOEG_ERANGE, "%s: a value of the lines from %llu on overflows", p->function,
                         2 * (unsigned long long)first);
    return MOEG_OK;
}

static moeg_status block(const void *context, uint64_t first, uint64_t count, void *workspace, double *state)
{
    const plan *p = context;
    const size_t k = p->stratum[first / p->block];
    return add_pairs(p, k, MOEG_STREAM_LINE, first, (size_t)count, workspace, state + k * p->state);
}

static void merge(const void *context, const double *right, double *left)
{
    const plan *p = context;
    for (size_t k = 0; k < p->strata; k++)
        moeg_tally_merge(p->source->count, right + k * p->state, left + k * p->state);
}

/* How much a stratum's values vary by its pilot, each beside the size of the sum over strata that it is a part of: the
 * square root of the sum of squares is what Neyman's allocation is proportional to. */
static moeg_status run_pilot(const char *function, const plan *p, double *memory, double *spread)
{
    const size_t strata = p->strata, count = p->source->count;
    double *states = moeg_alloc_zero(strata, p->state * sizeof *states);
    moeg_status status = states == NULL ? moeg_fail_memory(function) : MOEG_OK;
    for (size_t k = 0; k < strata && status == MOEG_OK; k++)
        status = add_pairs(p, k, MOEG_STREAM_PILOT, k * PILOT, PILOT, memory, states + k * p->state);
    for (size_t k = 0; k < strata && status == MOEG_OK; k++)
        spread[k] = 0;
    const size_t aim = p->source->aim, end = p->source->aims > 0 ? aim + p->source->aims : count;
    for (size_t j = aim; j < end && status == MOEG_OK; j++) {
        double size = 0;
        for (size_t k = 0; k < strata; k++)
            size += fabs(states[k * p->state + 1 + j]);
        for (size_t k = 0; k < strata && size > 0; k++)
            spread[k] += states[k * p->state + 1 + count + j * (j + 3) / 2] / size / size;
    }
    for (size_t k = 0; k < strata && status == MOEG_OK; k++)
        spread[k] = sqrt(spread[k]);
    moeg_release(states);
    return status;
}

/* Deals the blocks out, the next one to the stratum that is farthest behind its share: every beginning of the list is
 * shared out alike, and each stratum has its first block early. */
static moeg_status deal_blocks(const char *function, const double *spread, plan *p)
{
    const size_t strata = p->strata;
    double *share = moeg_alloc(2 * strata, sizeof *share), total = 0;
    if (share == NULL)
        return moeg_fail_memory(function);
    double *dealt = share + strata;
    for (size_t k = 0; k < strata; k++)
        total += spread[k];
    for (size_t k = 0; k < strata; k++) {
        share[k] =
            FLOOR_SHARE / (double)strata + (1 - FLOOR_SHARE) * (total > 0 ? spread[k] / total : 1 / (double)strata);
        dealt[k] = 0;
    }
    for (uint64_t b = 0; b < p->blocks; b++) {
        size_t next = 0;
        double most = -INFINITY;
        for (size_t k = 0; k < strata; k++) {
            /* The first round goes once through all strata. */
            const double behind = b < strata ? -dealt[k] : share[k] * (double)(b + 1) - dealt[k];
            if (behind > most) {
                most = behind;
                next = k;
            }
        }
        p->stratum[b] = (uint32_t)next;
        dealt[next]++;
    }
    moeg_release(share);
    return MOEG_OK;
}

/* Pairs of a block: few enough that every stratum gets several, whole lanes where there are enough of them. */
static uint64_t choose_block(uint64_t n, size_t strata)
{
    uint64_t size = 2;
    while (size < 128 && size * 16 * strata <= n)
        size *= 2;
    return size;
}

/* Where results of rounds are read to. */
typedef struct reading {
    const plan *plan;
    double *state;
    moeg_ray_result *result;
} reading;

/* From what was done of the job, afresh. */
static moeg_status read_partial(const reading *r, const moeg_job *job, const moeg_partial *partial)
{
    const size_t count = r->plan->source->count, size = count * sizeof(double);
    r->result->lines = 0;
    memset(r->result->value, 0, size);
    memset(r->result->error, 0, size);
    memset(r->result->freedom, 0, size);
    memset(r->result->covariance, 0, count * size);
    memset(r->result->contributing, 0, count * sizeof(uint64_t));
    const moeg_status status = moeg_partial_state(job, partial, r->state);
    if (status == MOEG_OK)
        moeg_tally_read(r->plan->strata, count, r->state, r->result);
    return status;
}

/* MOEG_ERANGE: a value or its variance is not finite. */
static moeg_status check_range(const char *function, size_t count, const moeg_ray_result *result)
{
    for (size_t j = 0; j < count; j++)
        if (!isfinite(result->value[j]) || !isfinite(result->error[j]) ||
            !isfinite(result->covariance[j * (count + 1)]))
            return moeg_fail(MOEG_ERANGE, "%s: a mean over lines, or its variance, is not finite", function);
    return MOEG_OK;
}

static moeg_status judge(void *user, const moeg_job *job, const moeg_partial *partial, double *excess)
{
    const reading *r = user;
    const moeg_line_source *source = r->plan->source;
    const moeg_status status = read_partial(r, job, partial);
    *excess = status == MOEG_OK ? source->excess(source->self, r->result) : 0;
    return status;
}

static moeg_status run_job(const char *function, const plan *p, size_t workspace, const moeg_sampling *s,
                           moeg_ray_result *result)
{
    const moeg_job_spec spec = {
        .name = "line",
        .units = s->n / 2,
        .block_size = p->block,
        .state_size = p->strata * p->state,
        .workspace_size = workspace * sizeof(double),
        .context = (void *)(uintptr_t)p,
        .block = block,
        .merge = merge,
    };
    moeg_job *job = NULL;
    moeg_partial *partial = NULL;
    double excess = 0;
    const moeg_sampling options = p->source->excess != NULL ? *s : moeg_without_tolerance(s);
    reading r = {p, moeg_alloc_zero(spec.state_size, sizeof *r.state), result};
    moeg_status status = r.state == NULL ? moeg_fail_memory(function) : moeg_job_create(&job, &spec);
    if (status == MOEG_OK)
        status = moeg_rounds_run(job, &options, judge, &r, &partial, &excess);
    if (status >= 0) {
        moeg_status read = read_partial(&r, job, partial);
        if (read == MOEG_OK && status != MOEG_ECANCELED) /* Then strata may have no line yet. */
            read = check_range(function, p->source->count, result);
        status = read == MOEG_OK ? moeg_rounds_status(function, status, s, excess) : read;
    }
    moeg_release(r.state);
    moeg_partial_free(partial);
    moeg_job_free(job);
    return status;
}

moeg_status moeg_lines_expect(const char *function, const moeg_line_source *source, const moeg_sampling *s,
                              moeg_ray_result *result)
{
    const size_t strata = source->strata;
    const uint64_t pairs = s->n / 2;
    if (pairs < 2 * strata)
        return moeg_fail(MOEG_EINVAL, "%s: n must be at least 4 lines for each of %zu strata, got %llu", function,
                         strata, (unsigned long long)s->n);
    plan p = {.function = function,
              .source = source,
              .seed = s->seed,
              .strata = strata,
              .state = moeg_tally_size(source->count)};
    p.block = choose_block(pairs, strata);
    p.blocks = (pairs + p.block - 1) / p.block;
    const size_t widest = 2 * moeg_round_lanes(p.block > PILOT ? p.block : PILOT);
    const size_t workspace = source->room(source->self, widest);
    double *memory = moeg_alloc(workspace, sizeof *memory), *spread = moeg_alloc(strata, sizeof *spread);
    p.stratum = moeg_alloc(p.blocks, sizeof *p.stratum);
    moeg_status status = memory == NULL || spread == NULL || p.stratum == NULL ? moeg_fail_memory(function) : MOEG_OK;
    if (status == MOEG_OK)
        status = run_pilot(function, &p, memory, spread);
    if (status == MOEG_OK)
        status = deal_blocks(function, spread, &p);
    if (status == MOEG_OK)
        status = run_job(function, &p, workspace, s, result);
    moeg_release(memory);
    moeg_release(spread);
    moeg_release(p.stratum);
    return status;
}

/* Rays and the lines beside them as a source. */
typedef struct rays_source {
    const moeg_rays *rays;
    const moeg_ray_quantity *quantity;
} rays_source;

static size_t rays_room(const void *self, size_t stride)
{
    const rays_source *source = self;
    return moeg_rays_room(source->rays, source->quantity, stride);
}

static void place_rays(const void *self, size_t stratum, moeg_line_draw *draw)
{
    const rays_source *source = self;
    moeg_ray_buffers b;
    moeg_rays_layout(source->rays, stratum, source->quantity, draw->stride, draw->base, &b);
    draw->u = b.u;
    draw->values = b.values;
    draw->errors = b.errors;
}

static moeg_status evaluate_rays(const void *self, size_t stratum, const moeg_line_draw *draw)
{
    const rays_source *source = self;
    moeg_ray_buffers b;
    moeg_rays_layout(source->rays, stratum, source->quantity, draw->stride, draw->base, &b);
    moeg_rays_evaluate(source->rays, stratum, source->quantity, &b);
    return MOEG_OK;
}

static double rays_excess(const void *self, moeg_ray_result *result)
{
    const moeg_ray_quantity *quantity = ((const rays_source *)self)->quantity;
    return quantity->excess(quantity->self, result);
}

static moeg_status sample_rays(const char *function, const moeg_rays *rays, const moeg_ray_quantity *quantity,
                               const moeg_sampling *s, moeg_ray_result *result)
{
    const rays_source self = {rays, quantity};
    const moeg_line_source source = {
        .strata = moeg_rays_strata(rays),
        .drawn = rays->r + quantity->extra,
        .count = quantity->count,
        .aim = quantity->aim,
        .aims = quantity->aims,
        .excess = quantity->excess != NULL ? rays_excess : NULL,
        .room = rays_room,
        .place = place_rays,
        .evaluate = evaluate_rays,
        .self = &self,
    };
    return moeg_lines_expect(function, &source, s, result);
}

static moeg_status plane(const char *function, const moeg_rays *rays, const moeg_ray_quantity *quantity,
                         moeg_ray_result *result)
{
    moeg_status status = moeg_rays_plane(function, rays, quantity, result);
    if (status == MOEG_OK)
        status = moeg_rays_plane_lines(function, rays, quantity, result);
    result->lines = 1;
    return status;
}

moeg_status moeg_rays_expect(const char *function, const moeg_rays *rays, const moeg_ray_quantity *quantity,
                             const moeg_sampling *s, moeg_ray_result *result)
{
    moeg_status status = moeg_ray_result_init(function, quantity->count, result);
    if (status != MOEG_OK)
        return status;
    status = rays->r > 2 || quantity->extra > 0 ? sample_rays(function, rays, quantity, s, result)
             : rays->r == 2                     ? plane(function, rays, quantity, result)
                                                : single_line(function, rays, quantity, result);
    if (status == MOEG_OK)
        status = check_range(function, quantity->count, result);
    if (status < 0)
        moeg_ray_result_free(result);
    return status;
}
